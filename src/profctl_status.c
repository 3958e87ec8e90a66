/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What should be in force, what is, and who made the difference. */
#include "profctl_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "sysctld.h"
#include "vmknobs.h"

#define FSTAB "/etc/fstab"

/* The groups of knobs: of the first two one member counts. */
static const char *const keys[][2] = {
	{ "vm.dirty_bytes", "vm.dirty_ratio" },
	{ "vm.dirty_background_bytes", "vm.dirty_background_ratio" },
	{ "vm.dirty_expire_centisecs", NULL },
	{ "vm.dirty_writeback_centisecs", NULL },
};
#define GROUPS (sizeof(keys) / sizeof(keys[0]))

struct member {
	const char *key;
	uint64_t value;
};

static struct member pair_member(size_t group, uint64_t bytes, uint64_t ratio)
{
	return bytes ? (struct member){ keys[group][0], bytes } : (struct member){ keys[group][1], ratio };
}

static struct member member_of(const struct profile_knobs *k, size_t group)
{
	switch (group) {
	case 0:
		return pair_member(0, k->dirty_bytes, k->dirty_ratio);
	case 1:
		return pair_member(1, k->background_bytes, k->background_ratio);
	case 2:
		return (struct member){ keys[2][0], k->expire_cs };
	default:
		return (struct member){ keys[3][0], k->writeback_cs };
	}
}

static bool is_same(struct member a, struct member b)
{
	return a.key == b.key && a.value == b.value;
}

/* The next place in the list; the last one takes all that do not fit, so that none hides that there are some. */
static struct profctl_difference *add(struct profctl_status *s, const char *what)
{
	size_t at = s->difference_count < PROFCTL_DIFFERENCES_MAX ? s->difference_count++ : PROFCTL_DIFFERENCES_MAX - 1;
	struct profctl_difference *d = &s->differences[at];

	*d = (struct profctl_difference){ .who = "" };
	(void)snprintf(d->what, sizeof(d->what), "%.63s", what);
	return d;
}

/* ---- knobs ---- */

/* Programs that are known to set such values, by what is there while they do. */
static const struct {
	const char *path, *name;
} others[] = {
	{ "/run/tuned/tuned.pid", "tuned" },
	{ "/run/laptop-mode-tools/enabled", "laptop-mode-tools" },
	{ "/run/tlp/last_pwr", "tlp" },
};

static void name_other(char *ret, size_t size)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (access(others[i].path, F_OK))
			continue;
		(void)snprintf(ret, size, "another program or by hand ('sysctl -w'); '%s' runs, which sets such values",
			       others[i].name);
		return;
	}
	(void)snprintf(ret, size, "another program or by hand ('sysctl -w'): no file does");
}

static bool sets(const struct sysctld_setting *w, struct member m)
{
	char value[32];

	(void)snprintf(value, sizeof(value), "%" PRIu64, m.value);
	return w->path[0] && strcmp(w->key, m.key) == 0 && strcmp(w->value, value) == 0;
}

static void add_knob(struct profctl_status *s, struct member wanted, struct member seen, const struct sysctld_setting *w)
{
	struct profctl_difference *d = add(s, wanted.key);

	(void)snprintf(d->wanted, sizeof(d->wanted), "%" PRIu64, wanted.value);
	if (seen.key == wanted.key)
		(void)snprintf(d->seen, sizeof(d->seen), "%" PRIu64, seen.value);
	else
		(void)snprintf(d->seen, sizeof(d->seen), "%s = %" PRIu64, seen.key, seen.value);
	if (s->phase_is_stale)
		(void)snprintf(d->who, sizeof(d->who), "the run of process %d, which was killed", (int)s->phase_pid);
	else if (!w)
		(void)snprintf(d->who, sizeof(d->who), "cannot be told: a file of sysctl.d cannot be read");
	else if (sets(w, seen) && strcmp(w->path, PROFCTL_SYSCTL) == 0)
		(void)snprintf(d->who, sizeof(d->who), "%s:%u, of an earlier 'wubi-profile set': do it again", w->path, w->line);
	else if (sets(w, seen))
		(void)snprintf(d->who, sizeof(d->who), "%s:%u", w->path, w->line);
	else if (s->is_chosen)
		name_other(d->who, sizeof(d->who));
}

/* What sysctl.d would make of it the next time that all is read: now it is as it should be. */
static void add_file(struct profctl_status *s, struct member wanted, const struct sysctld_setting *w)
{
	struct profctl_difference *d = add(s, wanted.key);

	(void)snprintf(d->wanted, sizeof(d->wanted), "%" PRIu64, wanted.value);
	if (!w->path[0]) {
		(void)snprintf(d->seen, sizeof(d->seen), "in no file: '" PROFCTL_SYSCTL "' is missing or has lost it");
		return;
	}
	(void)snprintf(d->seen, sizeof(d->seen), "%.40s = %.30s after the next 'sysctl --system'", w->key, w->value);
	(void)snprintf(d->who, sizeof(d->who), "%s:%u", w->path, w->line);
}

/* A file that cannot be read: what the others have may count, or not. */
static void add_untold(struct profctl_status *s, const struct err *why)
{
	struct profctl_difference *d = add(s, "the files of sysctl.d");

	(void)snprintf(d->wanted, sizeof(d->wanted), "all can be read");
	(void)snprintf(d->seen, sizeof(d->seen), "which of them wins at boot cannot be told");
	(void)snprintf(d->who, sizeof(d->who), "%.300s", why->text);
}

static int compare_knobs(const struct profctl_params *par, const struct profile_knobs *wanted_knobs, struct profctl_status *s,
			 struct err *e)
{
	for (size_t group = 0; group < GROUPS; group++) {
		struct member wanted = member_of(wanted_knobs, group), seen = member_of(&s->now.knobs, group);
		struct sysctld_setting w = { .line = 0 };
		struct err why = ERR_INIT;
		int r = sysctld_winner(par->root ? par->root : "", keys[group], keys[group][1] ? 2 : 1, &w, &why);
		bool named = r != 0; /* one that cannot be read may be the one */

		if (r == -ENOMEM)
			return err_set(e, r, "%s", why.text);
		if (r && group == 0) /* it is the same for the others */
			add_untold(s, &why);
		if (!is_same(wanted, seen)) {
			add_knob(s, wanted, seen, r ? NULL : &w);
			named = named || sets(&w, seen);
		}
		/* while something runs with another profile, the files are those of the normal one */
		if (s->is_chosen && !s->phase_runs && !named && !sets(&w, wanted))
			add_file(s, wanted, &w);
	}
	return 0;
}

/* ---- mounts ---- */

/* The line of fstab by which a mount has something else than wanted; 0: none. */
static int find_in_fstab(const struct profctl_params *par, const char *target, const char *wanted, unsigned *ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	char *next, *line;
	int r = profctl_read(par, FSTAB, &text, e);

	*ret = 0;
	next = text;
	for (unsigned number = 1; !r && !*ret && next && (line = strsep(&next, "\n")) != NULL; number++) {
		char *fields[4] = { NULL };
		char *at = line;

		for (size_t i = 0; i < 4; i++)
			fields[i] = strtok_r(i ? NULL : at, " \t", &at);
		if (fields[3] && fields[0][0] != '#' && strcmp(fields[1], target) == 0 && mountopts_contradict(fields[3], wanted))
			*ret = number;
	}
	return r;
}

static int add_mount(const struct profctl_params *par, struct profctl_status *s, const struct profset_mount *m,
		     const char *missing, struct err *e)
{
	struct profctl_difference *d;
	char what[64];
	unsigned line = 0;
	int r = find_in_fstab(par, m->target, missing, &line, e);

	if (r)
		return r;
	(void)snprintf(what, sizeof(what), "mount %.50s", m->target);
	d = add(s, what);
	(void)snprintf(d->wanted, sizeof(d->wanted), "%.127s", missing);
	(void)snprintf(d->seen, sizeof(d->seen), "%.127s", m->options);
	if (s->phase_is_stale)
		(void)snprintf(d->who, sizeof(d->who), "the run of process %d, which was killed", (int)s->phase_pid);
	else if (line)
		(void)snprintf(d->who, sizeof(d->who), FSTAB ":%u, at a remount or before 'wubi-profile apply'", line);
	else if (s->is_chosen)
		(void)snprintf(d->who, sizeof(d->who), "a mount or remount by another program or by hand, with no 'wubi-profile "
			       "apply' since then");
	return 0;
}

static int compare_mounts(const struct profctl_params *par, const struct profset *saved, struct profctl_status *s, struct err *e)
{
	char wanted[MOUNTOPTS_TEXT], missing[MOUNTOPTS_TEXT];
	struct profctl_difference *d;
	int r = mountopts_wanted(s->expected->mount, wanted, e);

	for (size_t i = 0; !r && i < s->now.mount_count; i++) {
		r = mountopts_missing(wanted, s->now.mounts[i].options, missing, e);
		if (!r && missing[0])
			r = add_mount(par, s, &s->now.mounts[i], missing, e);
	}
	/* a phase is over before the next boot */
	if (r || s->phase_runs)
		return r;
	r = profset_after_reboot(s->expected->mount, saved, &s->now, missing, e);
	if (r || !missing[0])
		return r;
	d = add(s, "mount /");
	(void)snprintf(d->wanted, sizeof(d->wanted), "%.127s", missing);
	for (size_t i = 0; i < s->now.mount_count; i++)
		if (s->now.mounts[i].is_root)
			(void)snprintf(d->seen, sizeof(d->seen), "%.127s", s->now.mounts[i].options);
	if (s->is_chosen)
		(void)snprintf(d->who, sizeof(d->who), "the last boot; no remount changes it, the next boot does");
	return 0;
}

/* ---- what should be, and is ---- */

/* The worst of all mounts of ours. */
static void judge_window(struct profctl_status *s)
{
	const struct profile *p = s->expected;
	struct profile_window w;

	profile_window(&s->now.knobs, &s->machine, s->now.mount_count ? s->now.mounts[0].options : "", &s->window);
	for (size_t i = 1; i < s->now.mount_count; i++) {
		profile_window(&s->now.knobs, &s->machine, s->now.mounts[i].options, &w);
		s->window.calls_are_durable = s->window.calls_are_durable && w.calls_are_durable;
		s->window.fsync_is_durable = s->window.fsync_is_durable && w.fsync_is_durable;
		if (w.ms > s->window.ms)
			s->window.ms = w.ms;
	}
	s->window_is_kept = s->window.fsync_is_durable &&
			    (s->window.calls_are_durable ||
			     (p->loss_ms > 0 && s->window.speed_is_known && s->window.ms <= p->loss_ms));
}

static int read_phase(const struct profctl_params *par, struct profctl_status *s, struct err *e)
{
	const char *name = profctl_name_of(&s->conf, &s->choice, PROFILE_NORMAL);
	const char *where = s->is_chosen ? PROFCTL_CHOICE : CONF_DEFAULT;
	struct profctl_run run;
	int r = profctl_run_read(par, &run, e);

	if (r)
		return r;
	s->phase_runs = run.state == PROFCTL_RUN_LIVE;
	s->phase_is_stale = run.state == PROFCTL_RUN_STALE;
	s->phase_pid = run.state == PROFCTL_RUN_NONE ? 0 : run.pid;
	if (s->phase_runs) {
		name = run.profile;
		where = PROFCTL_PHASE;
	}
	return profctl_find(&s->conf, name, where, &s->expected, e);
}

/* What was before the first set; damaged, it is a difference and no reason to tell nothing else. */
static int read_saved(const struct profctl_params *par, struct profctl_status *s, bool *ret_found, struct profset *ret,
		      struct err *e)
{
	int r = profctl_saved_read(par, ret_found, ret, e);
	struct profctl_difference *d;

	if (r != -EINVAL)
		return r;
	err_clear(e);
	d = add(s, PROFCTL_SAVED);
	(void)snprintf(d->wanted, sizeof(d->wanted), "what was in force before the first 'set'");
	(void)snprintf(d->seen, sizeof(d->seen), "something else: 'wubi-profile reset' cannot go by it");
	return 0;
}

static int compare(const struct profctl_params *par, struct profctl_status *s, struct err *e)
{
	struct profile_knobs wanted;
	struct profset saved;
	bool is_saved = false;
	int r = read_saved(par, s, &is_saved, &saved, e);

	if (r)
		return r;
	if (profctl_needs_speed(s->expected) && !s->machine.disk_bytes_per_s) {
		struct profctl_difference *d = add(s, "the disk's speed");

		(void)snprintf(d->wanted, sizeof(d->wanted), "measured ('wubi-profile set' does it)");
		(void)snprintf(d->seen, sizeof(d->seen), "not known");
	} else {
		r = profile_resolve(s->expected, &s->machine, &wanted, e);
		if (!r)
			r = compare_knobs(par, &wanted, s, e);
	}
	return r ? r : compare_mounts(par, is_saved ? &saved : NULL, s, e);
}

static int fill(const struct profctl_params *par, struct profctl_status *s, struct err *e)
{
	int r = profctl_conf_read(par, &s->conf, e);

	if (!r)
		r = profctl_choice_read(par, &s->choice, e);
	if (r)
		return r;
	s->is_chosen = s->choice.profile[PROFILE_NORMAL][0] != '\0';
	r = read_phase(par, s, e);
	if (!r)
		r = profset_read(&s->now, e);
	if (!r)
		r = vmknobs_machine(&s->machine, e);
	if (!r)
		r = profctl_speed_read(par->root, &s->machine.disk_bytes_per_s, e);
	if (!r)
		r = compare(par, s, e);
	if (!r)
		judge_window(s);
	return r;
}

int profctl_status(const struct profctl_params *par, struct profctl_status *ret, struct err *e)
{
	AUTO_FREE struct profctl_status *s = calloc(1, sizeof(*s));
	int r = s ? fill(par, s, e) : err_set(e, -ENOMEM, "out of memory");

	if (r)
		return r;
	*ret = *s;
	ret->expected = conf_find(&ret->conf, s->expected->name);
	return 0;
}
