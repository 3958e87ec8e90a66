/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A phase with a profile of its own while something runs, and what a run that was killed leaves. */
#include "profctl_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"
#include "jsonin.h"
#include "jsonout.h"
#include "mountfs.h"
#include "vmknobs.h"

/* ---- the file of a run ---- */

/*
 * When the process was started, in ticks since the boot: with it a number that was given again is told apart. False: it has
 * ended.
 */
static bool process_start(pid_t pid, uint64_t *ret)
{
	char path[64], text[1024] = "", state = 'X';
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0'; /* it ended meanwhile */
	(void)fclose(f); /* it was only read */
	/* proc(5): field 22; the second is a name in brackets, which may hold any character */
	return strrchr(text, ')') &&
	       sscanf(strrchr(text, ')') + 1,
		      " %c " /* 3, and then 4 to 21 */
		      "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
		      &state, ret) == 2 && state != 'Z' && state != 'X';
}

static int run_parse(const struct jsonin *root, struct profctl_run *run, uint64_t *ret_ticks, struct err *e)
{
	uint64_t version = 0, pid = 0;

	if (!jsonin_get_u64(root, "version", &version) || version != 1)
		return err_set(e, -EINVAL, "no version 1");
	if (!jsonin_get_u64(root, "pid", &pid) || pid < 1 || pid > INT32_MAX || !jsonin_get_u64(root, "start_ticks", ret_ticks) ||
	    !jsonin_get_string(root, "profile", run->profile, sizeof(run->profile)) || !profile_name_is_valid(run->profile))
		return err_set(e, -EINVAL, "no process or profile");
	run->pid = (pid_t)pid;
	return profset_from_json(jsonin_get(root, "setting"), &run->before, e);
}

static bool is_of_this_boot(const struct jsonin *root)
{
	char mine[64], its[64];

	profctl_boot_id(mine);
	return !jsonin_get_string(root, "boot_id", its, sizeof(its)) || strcmp(mine, its) == 0;
}

static void run_judge(const char *text, struct profctl_run *run)
{
	AUTO(jsonin) struct jsonin *root = NULL;
	uint64_t ticks = 0, seen = 0;
	int r = jsonin_parse(text, &root, &run->why);

	if (!r && !is_of_this_boot(root)) /* its settings went with that boot */
		return;
	if (!r)
		r = run_parse(root, run, &ticks, &run->why);
	if (r)
		(void)err_wrap(&run->why, r, "'" PROFCTL_PHASE "'"); /* for who needs what is in it */
	run->is_broken = r != 0;
	run->state = !r && process_start(run->pid, &seen) && seen == ticks ? PROFCTL_RUN_LIVE : PROFCTL_RUN_STALE;
}

int profctl_run_read(const struct profctl_params *par, struct profctl_run *ret, struct err *e)
{
	struct profctl_run run = { .state = PROFCTL_RUN_NONE };
	AUTO_FREE char *text = NULL;
	int r = profctl_is_elsewhere(par) ? 0 : profctl_read(par, PROFCTL_PHASE, &text, e);

	run.is_there = text || r == -EINVAL || r == -EFBIG;
	if (r && !run.is_there)
		return r;
	if (r)
		err_clear(e);
	if (run.is_there)
		run_judge(text ? text : "", &run); /* "": what is no text is no JSON either */
	*ret = run;
	return 0;
}

static int run_write(const struct profctl_params *par, const char *phase, const struct profile *p, const struct profset *before,
		     struct err *e)
{
	AUTO(jsonout) struct jsonout *root = jsonout_object();
	uint64_t ticks = 0;
	char boot_id[64];

	if (!process_start(getpid(), &ticks))
		return err_set(e, -EIO, "'/proc/%d/stat': it does not tell when this process began", (int)getpid());
	profctl_boot_id(boot_id);
	jsonout_add_u64(root, "version", 1);
	jsonout_add_string(root, "boot_id", boot_id);
	jsonout_add_string(root, "phase", phase);
	jsonout_add_string(root, "profile", p->name);
	jsonout_add_u64(root, "pid", (uint64_t)getpid());
	jsonout_add_u64(root, "start_ticks", ticks);
	profset_to_json(before, jsonout_add_object(root, "setting"));
	return profctl_json_write(par, PROFCTL_PHASE, root, e);
}

int profctl_run_refuse(const struct profctl_run *run, struct err *e)
{
	return err_refuse(e, "phase-running", "a 'wubi-profile run' or an installation with profile '%s' is at work (process "
			  "%d), and puts back what was before when it ends: wait for it, or end it, then retry", run->profile,
			  (int)run->pid);
}

int profctl_run_settle(const struct profctl_params *par, bool *ret_changed, struct err *e)
{
	struct profctl_run run;
	bool changed = false;
	int r = profctl_run_read(par, &run, e);

	if (r || !run.is_there)
		return r;
	if (run.state == PROFCTL_RUN_LIVE)
		return profctl_run_refuse(&run, e);
	if (run.is_broken)
		return err_set(e, run.why.code, "%s; what was in force before a run that was killed cannot be told from it: "
			       "'wubi-profile reset' goes back to what was before the first 'set'", run.why.text);
	if (run.state == PROFCTL_RUN_STALE)
		r = profset_restore(&run.before, &changed, e);
	if (r)
		return err_wrap(e, r, "put back what was before the run of process %d, which was killed", (int)run.pid);
	*ret_changed = *ret_changed || changed;
	return profctl_remove(par, PROFCTL_PHASE, e);
}

/* ---- a phase ---- */

struct profctl_phase {
	struct profctl_params par;
	struct profset before;
	bool is_left;
	/* what may be written to: opened before the phase, so that no error of a write since then is missed */
	struct {
		int fd;
		dev_t device;
		char uuid[129];
		char target[PATH_MAX];
	} systems[PROFSET_MOUNTS_MAX + 1];
	size_t system_count;
};

static int add_system(struct profctl_phase *p, const char *target, const char *uuid, struct err *e)
{
	size_t at = p->system_count;
	struct stat st = { .st_dev = 0 };

	if (at == PROFSET_MOUNTS_MAX + 1)
		return err_set(e, -E2BIG, "'%s': more file systems than could be", target);
	p->systems[at].fd = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->systems[at].fd < 0)
		return err_errno(e, "'%s'", target);
	p->system_count++;
	if (fstat(p->systems[at].fd, &st) < 0)
		return err_errno(e, "'%s'", target);
	p->systems[at].device = st.st_dev;
	(void)snprintf(p->systems[at].uuid, sizeof(p->systems[at].uuid), "%s", uuid);
	(void)snprintf(p->systems[at].target, sizeof(p->systems[at].target), "%s", target);
	return 0;
}

/* Those of our images that are not known yet. */
static int add_images(struct profctl_phase *p, const struct profset *now, struct err *e)
{
	int r = 0;

	for (size_t i = 0; !r && i < now->mount_count; i++) {
		bool known = false;

		for (size_t k = 0; k < p->system_count; k++)
			known = known || strcmp(p->systems[k].uuid, now->mounts[i].uuid) == 0;
		if (!known)
			r = add_system(p, now->mounts[i].target, now->mounts[i].uuid, e);
	}
	return r;
}

/* '/' also when it is no image: the knobs are for all file systems. */
static int open_systems(struct profctl_phase *p, struct err *e)
{
	int r = add_images(p, &p->before, e);

	for (size_t i = 0; !r && i < p->before.mount_count; i++)
		if (p->before.mounts[i].is_root)
			return 0;
	return r ? r : add_system(p, "/", "", e);
}

static int choose(const struct profctl_params *par, enum profile_phase phase, struct conf *conf, const struct profile **ret,
		  struct err *e)
{
	struct conf_choice choice;
	int r = profctl_choice_read(par, &choice, e);

	if (r)
		return r;
	return profctl_find(conf, profctl_name_of(conf, &choice, phase), choice.profile[phase][0] ? PROFCTL_CHOICE : CONF_DEFAULT,
			    ret, e);
}

/* All that can be known before something is changed; p->before is what is in force. */
static int plan(struct profctl_phase *p, const struct profile *profile, struct profset_change *ret, struct err *e)
{
	struct profile_machine machine;
	struct profset saved;
	bool is_saved = false, ignored = false;
	int r = profctl_run_settle(&p->par, &ignored, e);

	if (!r)
		r = profset_read(&p->before, e);
	if (!r)
		r = profctl_saved_read(&p->par, &is_saved, &saved, e);
	if (!r)
		r = profctl_machine(&p->par, profile, &p->before, &machine, e);
	if (!r)
		r = profset_plan(profile, &machine, is_saved ? &saved : NULL, &p->before, ret, e);
	if (!r)
		r = profset_check(ret, e);
	return r ? r : open_systems(p, e);
}

static int put_in_force(struct profctl_phase *p, const char *phase, const struct profile *profile, struct err *e)
{
	struct profset_change change;
	struct err why = ERR_INIT;
	AUTO_FD int lock = -1;
	int r = profctl_lock(&p->par, &lock, e);

	if (!r)
		r = plan(p, profile, &change, e);
	if (r)
		return r;
	/* on record before it is in force: a kill in between leaves a run that changed nothing */
	r = run_write(&p->par, phase, profile, &p->before, &why);
	if (!r)
		r = profset_apply(&change, &p->before, &why);
	if (!r) {
		p->is_left = false;
		return 0;
	}
	/* what could not be set back stays on record as well: status tells, and reset tries again */
	if (profset_is_in_force(&p->before))
		(void)profctl_remove(&p->par, PROFCTL_PHASE, NULL);
	return err_set(e, r, "%s", why.text);
}

/* name NULL: the profile of the phase. */
static int enter(const struct profctl_params *par, enum profile_phase phase, const char *name, struct profctl_phase **ret,
		 struct err *e)
{
	AUTO(profctl_phase) struct profctl_phase *p = calloc(1, sizeof(*p));
	AUTO_FREE struct conf *conf = calloc(1, sizeof(*conf));
	const struct profile *profile = NULL;
	int r;

	if (p)
		p->is_left = true; /* not yet entered */
	if (!p || !conf)
		return err_set(e, -ENOMEM, "out of memory");
	p->par.root = "";
	if (profctl_is_elsewhere(par))
		return err_set(e, -EINVAL, "'%s': a phase is one of the running system", par->root);
	r = vmknobs_check_writable(e);
	if (!r)
		r = profctl_conf_read(par, conf, e);
	if (!r && name)
		r = profctl_find(conf, name, par->conf ? par->conf : CONF_DEFAULT, &profile, e);
	else if (!r)
		r = choose(par, phase, conf, &profile, e);
	if (!r)
		r = put_in_force(p, name ? "none" : profile_phase_name(phase), profile, e);
	if (!r)
		*ret = TAKE(p);
	return r;
}

int profctl_phase_enter(const struct profctl_params *par, enum profile_phase phase, struct profctl_phase **ret, struct err *e)
{
	return enter(par, phase, NULL, ret, e);
}

int profctl_phase_enter_profile(const struct profctl_params *par, const char *name, struct profctl_phase **ret, struct err *e)
{
	return enter(par, PROFILE_NORMAL, name, ret, e);
}

static int sync_error(const char *target, struct err *e)
{
	return err_errno(e, "'%s': not all that was written since the beginning is on the disk, it cannot be relied on", target);
}

static bool is_open(const struct profctl_phase *p, dev_t device)
{
	for (size_t i = 0; i < p->system_count; i++)
		if (p->systems[i].device == device)
			return true;
	return false;
}

static bool is_read_only(const struct mountfs_super *super)
{
	return strncmp(super->options, "ro", 2) == 0 && (super->options[2] == ',' || super->options[2] == '\0');
}

/*
 * *ret -1 with success: it has no path. Something is mounted over it, it was unmounted meanwhile (which has written it), or
 * it is in a FUSE file system of another user's. O_NONBLOCK: a single file can be what is mounted.
 */
static int open_super(const struct mountfs_super *super, int *ret, struct err *e)
{
	AUTO_FD int fd = -1;
	struct stat st;

	*ret = -1;
	if (stat(super->target, &st) < 0 || st.st_dev != super->device || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
		return 0;
	fd = open(super->target, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno != EACCES && errno != EPERM && errno != ENOENT && errno != ENOTCONN)
		return err_errno(e, "'%s'", super->target);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == super->device)
		*ret = TAKE_FD(fd);
	return 0;
}

/*
 * What is neither an image of ours nor '/'. The command may want to unmount one of these, and so they are not open from the
 * beginning on: an error that somebody else has been told meanwhile is not told again. What has no path is written by
 * sync(2), which tells no errors.
 */
static int sync_others(const struct profctl_phase *p, struct err *e)
{
	AUTO_FREE struct mountfs_super *supers = NULL;
	struct err why = ERR_INIT;
	bool is_hidden = false;
	size_t count = 0;
	int first = mountfs_supers(&supers, &count, e);

	/* the last mount first: it may lie in a file of an earlier one */
	for (size_t i = count; i-- > 0;) {
		AUTO_FD int fd = -1;
		int r;

		if (is_read_only(&supers[i]) || is_open(p, supers[i].device))
			continue;
		r = open_super(&supers[i], &fd, &why);
		is_hidden = is_hidden || fd < 0;
		if (!r && fd >= 0 && syncfs(fd) < 0)
			r = sync_error(supers[i].target, &why);
		if (r && !first)
			first = err_set(e, r, "%s", why.text);
	}
	if (is_hidden)
		sync();
	return first;
}

/* The first error is told when all are synced. */
int profctl_phase_sync(struct profctl_phase *p, struct err *e)
{
	struct err why = ERR_INIT;
	struct profset now;
	int first = profset_read(&now, e), r;

	/* what was mounted meanwhile; an error of before that nobody has seen counts for the one who opens it first */
	if (!first)
		first = add_images(p, &now, e);
	for (size_t i = 0; i < p->system_count; i++)
		if (syncfs(p->systems[i].fd) < 0 && !first)
			first = sync_error(p->systems[i].target, e);
	r = sync_others(p, &why);
	return r && !first ? err_set(e, r, "%s", why.text) : first;
}

int profctl_phase_leave(struct profctl_phase *p, struct err *e)
{
	AUTO_FD int lock = -1;
	bool ignored;
	int r = p->is_left ? 0 : profctl_lock(&p->par, &lock, e);

	if (r || p->is_left)
		return r;
	r = profset_restore(&p->before, &ignored, e);
	if (r)
		return err_wrap(e, r, "put back what was before the run");
	p->is_left = true;
	return profctl_remove(&p->par, PROFCTL_PHASE, e);
}

void profctl_phase_free(struct profctl_phase *p)
{
	if (!p)
		return;
	(void)profctl_phase_leave(p, NULL); /* what it cannot, status tells */
	for (size_t i = 0; i < p->system_count; i++)
		(void)close(p->systems[i].fd);
	free(p);
}
