/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profset.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"
#include "dmnames.h"
#include "mountfs.h"
#include "sysfs.h"
#include "vmknobs.h"

/* ---- what is in force ---- */

static const struct profset_mount *find_uuid(const struct profset *s, const char *uuid)
{
	for (size_t i = 0; i < s->mount_count; i++)
		if (strcmp(s->mounts[i].uuid, uuid) == 0)
			return &s->mounts[i];
	return NULL;
}

static const struct profset_mount *find_target(const struct profset *s, const char *target)
{
	for (size_t i = 0; i < s->mount_count; i++)
		if (strcmp(s->mounts[i].target, target) == 0)
			return &s->mounts[i];
	return NULL;
}

/* False: not in an image of ours, or no ext4. */
static bool describe_mount(const struct mountfs_super *super, struct profset_mount *ret)
{
	struct profset_mount m = { .name = "" };
	char name[128] = "";
	struct stat st;

	/* one with another mount over it cannot be reached to be changed, nor to be written to */
	if (strcmp(super->type, "ext4") != 0 || stat(super->target, &st) || st.st_dev != super->device ||
	    !sysfs_read_line(sysfs_path(super->device, "dm/uuid").text, m.uuid, sizeof(m.uuid)) ||
	    !dmnames_uuid_is_ours(m.uuid) || dmnames_uuid_is_host(m.uuid))
		return false;
	(void)sysfs_read_line(sysfs_path(super->device, "dm/name").text, name, sizeof(name)); /* only to show it */
	(void)snprintf(m.name, sizeof(m.name), "%.31s", dmnames_of_operand(name));
	(void)snprintf(m.target, sizeof(m.target), "%s", super->target);
	(void)snprintf(m.options, sizeof(m.options), "%s", super->options);
	m.is_root = strcmp(m.target, "/") == 0;
	*ret = m;
	return true;
}

static int read_mounts(struct profset *s, struct err *e)
{
	AUTO_FREE struct mountfs_super *supers = NULL;
	struct profset_mount m;
	size_t count = 0;
	int r = mountfs_supers(&supers, &count, e);

	for (size_t i = 0; !r && i < count; i++) {
		if (!describe_mount(&supers[i], &m))
			continue;
		if (s->mount_count == PROFSET_MOUNTS_MAX)
			return err_set(e, -E2BIG, "more than %d images are mounted: unmount those that are not in use",
				       PROFSET_MOUNTS_MAX);
		s->mounts[s->mount_count++] = m;
	}
	return r;
}

int profset_read(struct profset *ret, struct err *e)
{
	struct profset s = { .mount_count = 0 };
	int r = vmknobs_read(&s.knobs, e);

	if (!r)
		r = read_mounts(&s, e);
	if (!r)
		*ret = s;
	return r;
}

/* ---- what to change ---- */

static int append_option(char list[MOUNTOPTS_TEXT], const char *option, struct err *e)
{
	size_t used = strlen(list);
	int n = snprintf(list + used, MOUNTOPTS_TEXT - used, "%s%s", used ? "," : "", option);

	if (n > 0 && (size_t)n < MOUNTOPTS_TEXT - used)
		return 0;
	list[used] = '\0';
	return err_set(e, -ENAMETOOLONG, "mount options '%s' and '%s': too long together", list, option);
}

/* Adds to 'list' those of 'options' about which 'named' says nothing. */
static int append_unnamed(char list[MOUNTOPTS_TEXT], const char *options, const char *named, struct err *e)
{
	char copy[MOUNTOPTS_TEXT];
	char *next = copy, *option;
	int r = 0;

	(void)snprintf(copy, sizeof(copy), "%s", options);
	while (!r && (option = strsep(&next, ",")) != NULL)
		if (*option && !mountopts_is_about(named, option))
			r = append_option(list, option, e);
	return r;
}

static int plan_mount(const char *wanted, const struct profset_mount *now, const struct profset_mount *base,
		      char ret[MOUNTOPTS_TEXT], struct err *e)
{
	char back[MOUNTOPTS_TEXT];
	int r = mountopts_missing(wanted, now->options, ret, e);

	if (!r && base) {
		r = mountopts_back(now->options, base->options, back, e);
		if (!r)
			r = append_unnamed(ret, back, wanted, e);
	}
	return r ? err_wrap(e, r, "mount '%s'", now->target) : 0;
}

int profset_plan(const struct profile *p, const struct profile_machine *m, const struct profset *base, const struct profset *now,
		 struct profset_change *ret, struct err *e)
{
	struct profset_change c = { .mount_count = now->mount_count };
	char wanted[MOUNTOPTS_TEXT];
	int r = profile_resolve(p, m, &c.knobs, e);

	if (!r)
		r = mountopts_wanted(p->mount, wanted, e);
	for (size_t i = 0; !r && i < now->mount_count; i++) {
		const struct profset_mount *was = base ? find_uuid(base, now->mounts[i].uuid) : NULL;

		(void)snprintf(c.mounts[i].target, sizeof(c.mounts[i].target), "%s", now->mounts[i].target);
		r = plan_mount(wanted, &now->mounts[i], was, c.mounts[i].options, e);
	}
	if (!r)
		*ret = c;
	return r ? err_wrap(e, r, "profile '%s'", p->name) : 0;
}

int profset_plan_back(const struct profset *saved, const struct profset *now, struct profset_change *ret, struct err *e)
{
	struct profset_change c = { .knobs = saved->knobs, .mount_count = now->mount_count };

	for (size_t i = 0; i < now->mount_count; i++) {
		const struct profset_mount *was = find_uuid(saved, now->mounts[i].uuid);
		int r;

		(void)snprintf(c.mounts[i].target, sizeof(c.mounts[i].target), "%s", now->mounts[i].target);
		if (!was)
			continue;
		r = mountopts_back(now->mounts[i].options, was->options, c.mounts[i].options, e);
		if (r)
			return err_wrap(e, r, "mount '%s'", now->mounts[i].target);
	}
	*ret = c;
	return 0;
}

/*
 * How the data mode was and is not any more, "" if it is; of an option that is off when it is not named there is nothing to
 * say.
 */
static int add_old_mode(char list[MOUNTOPTS_TEXT], const char *was, const char *now, const char *named, struct err *e)
{
	static const char *const modes[] = { "data=ordered", "data=writeback", "data=journal" };
	char not_then[MOUNTOPTS_TEXT], not_now[MOUNTOPTS_TEXT];
	int r = 0;

	for (size_t i = 0; !r && i < sizeof(modes) / sizeof(modes[0]); i++) {
		r = mountopts_missing(modes[i], was, not_then, e);
		if (!r)
			r = mountopts_missing(modes[i], now, not_now, e);
		if (!r && !not_then[0] && not_now[0])
			r = append_unnamed(list, modes[i], named, e);
	}
	return r;
}

int profset_after_reboot(const char *wanted, const struct profset *saved, const struct profset *now, char ret[MOUNTOPTS_TEXT],
			 struct err *e)
{
	const struct profset_mount *root = find_target(now, "/"), *was;
	char remount[MOUNTOPTS_TEXT], first[MOUNTOPTS_TEXT], list[MOUNTOPTS_TEXT] = "";
	int r = root ? mountopts_split(wanted, remount, first, e) : 0;

	if (!r && root)
		r = mountopts_missing(first, root->options, list, e);
	was = !r && root && saved ? find_uuid(saved, root->uuid) : NULL;
	if (was)
		r = add_old_mode(list, was->options, root->options, first, e);
	if (!r)
		(void)snprintf(ret, MOUNTOPTS_TEXT, "%s", list);
	return r;
}

/* ---- the change ---- */

bool profset_is_changing(const struct profset_change *c, const struct profset *now)
{
	if (!profile_knobs_equal(&c->knobs, &now->knobs))
		return true;
	for (size_t i = 0; i < c->mount_count; i++)
		if (c->mounts[i].options[0])
			return true;
	return false;
}

int profset_check(const struct profset_change *c, struct err *e)
{
	int r = vmknobs_check_writable(e);

	for (size_t i = 0; !r && i < c->mount_count; i++)
		if (c->mounts[i].options[0])
			r = mountfs_reconfigure(c->mounts[i].target, "", e);
	return r;
}

/* Mounts first: it is these that a kernel refuses. */
static int change_all(const struct profset_change *c, struct err *e)
{
	int r = 0;

	for (size_t i = 0; !r && i < c->mount_count; i++)
		if (c->mounts[i].options[0])
			r = mountfs_reconfigure(c->mounts[i].target, c->mounts[i].options, e);
	return r ? r : vmknobs_write(&c->knobs, e);
}

/* What was there before need not be what a profile may have ('nobarrier'): that is shown as it is written. */
static bool is_shown(const char *option, const char *shown)
{
	char missing[MOUNTOPTS_TEXT];
	size_t n = strlen(option);

	if (mountopts_missing(option, shown, missing, NULL) == 0)
		return !missing[0];
	for (const char *at = shown; (at = strstr(at, option)) != NULL; at += n)
		if ((at == shown || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
			return true;
	return false;
}

static int check_mount(const struct profset *seen, const char *target, const char *options, struct err *e)
{
	const struct profset_mount *m = find_target(seen, target);
	char copy[MOUNTOPTS_TEXT];
	char *next = copy, *option;

	if (!*options)
		return 0;
	if (!m)
		return err_set(e, -ENOENT, "mount '%s': it is not mounted any more", target);
	(void)snprintf(copy, sizeof(copy), "%s", options);
	while ((option = strsep(&next, ",")) != NULL)
		if (!is_shown(option, m->options))
			return err_set(e, -EIO, "mount '%s': the kernel took '%s' without an error, but has '%.300s'", target,
				       option, m->options);
	return 0;
}

/* What the kernel takes silently and ignores is a failure. */
static int check_all(const struct profset_change *c, struct err *e)
{
	struct profset seen;
	int r = profset_read(&seen, e);

	if (!r && !profile_knobs_equal(&seen.knobs, &c->knobs))
		r = err_set(e, -EIO, "/proc/sys/vm: another program has changed the values meanwhile");
	for (size_t i = 0; !r && i < c->mount_count; i++)
		r = check_mount(&seen, c->mounts[i].target, c->mounts[i].options, e);
	return r;
}

/* One that cannot be put back does not keep the others from it: each counts for what a power cut may cost. */
static int change_most(const struct profset_change *c, struct err *e)
{
	struct err why = ERR_INIT;
	int first = 0;

	for (size_t i = 0; i < c->mount_count; i++)
		if (c->mounts[i].options[0] && mountfs_reconfigure(c->mounts[i].target, c->mounts[i].options, &why) && !first)
			first = err_set(e, why.code, "%s", why.text);
	if (vmknobs_write(&c->knobs, &why) && !first)
		first = err_set(e, why.code, "%s", why.text);
	return first;
}

int profset_restore(const struct profset *saved, bool *ret_changed, struct err *e)
{
	struct profset_change c;
	struct profset now;
	int r = profset_read(&now, e);

	if (!r)
		r = profset_plan_back(saved, &now, &c, e);
	if (!r)
		r = change_most(&c, e);
	if (!r)
		r = check_all(&c, e);
	if (!r)
		*ret_changed = profset_is_changing(&c, &now);
	return r;
}

int profset_apply(const struct profset_change *c, const struct profset *now, struct err *e)
{
	struct err why = ERR_INIT, more = ERR_INIT;
	int r = profset_check(c, e);
	bool ignored;

	if (r)
		return r;
	r = change_all(c, &why);
	if (!r)
		r = check_all(c, &why);
	if (!r)
		return 0;
	if (profset_restore(now, &ignored, &more) == 0)
		return err_set(e, r, "%s", why.text);
	return err_set(e, r, "%.300s; and what was already changed could not be set back: %.200s; 'wubi-profile status' shows "
		       "what is in force, 'wubi-profile reset' tries again", why.text, more.text);
}

bool profset_is_in_force(const struct profset *s)
{
	struct profset_change c;
	struct profset now;

	return profset_read(&now, NULL) == 0 && profset_plan_back(s, &now, &c, NULL) == 0 && !profset_is_changing(&c, &now);
}

/* ---- as JSON ---- */

void profset_knobs_to_json(const struct profile_knobs *k, struct jsonout *object)
{
	struct jsonout *knobs = jsonout_add_object(object, "knobs");

	for (int knob = 0; knob < PROFILE_KNOBS; knob++)
		jsonout_add_u64(knobs, profile_knob_name(knob), profile_knob_get(k, knob));
}

void profset_to_json(const struct profset *s, struct jsonout *object)
{
	struct jsonout *mounts, *mount;

	profset_knobs_to_json(&s->knobs, object);
	mounts = jsonout_add_array(object, "mounts");
	for (size_t i = 0; i < s->mount_count; i++) {
		mount = jsonout_add_object(mounts, NULL);
		jsonout_add_string(mount, "name", s->mounts[i].name);
		jsonout_add_string(mount, "uuid", s->mounts[i].uuid);
		jsonout_add_string(mount, "target", s->mounts[i].target);
		jsonout_add_string(mount, "options", s->mounts[i].options);
	}
}

/* The kernel's own rules are not asked for here: what was in force may be odd, and comes back as it was. */
static int read_knobs(const struct jsonin *object, struct profile_knobs *ret, struct err *e)
{
	const struct jsonin *knobs = jsonin_get(object, "knobs");
	struct profile_knobs k = { 0 };
	uint64_t value;

	for (int knob = 0; knob < PROFILE_KNOBS; knob++) {
		if (!knobs || !jsonin_get_u64(knobs, profile_knob_name(knob), &value) || value > INT64_MAX)
			return err_set(e, -EINVAL, "'knobs': no number '%s', or a bad one", profile_knob_name(knob));
		profile_knob_put(&k, knob, value);
	}
	if ((k.dirty_bytes && k.dirty_ratio) || (k.background_bytes && k.background_ratio))
		return err_set(e, -EINVAL, "'knobs': a pair of bytes and ratio with two values, which no kernel has");
	if (k.dirty_ratio > 100 || k.background_ratio > 100)
		return err_set(e, -EINVAL, "'knobs': more than 100 per cent");
	*ret = k;
	return 0;
}

static int read_mount(const struct jsonin *object, struct profset_mount *ret, struct err *e)
{
	struct profset_mount m = { .is_root = false };

	if (!object || !jsonin_get_string(object, "name", m.name, sizeof(m.name)) ||
	    !jsonin_get_string(object, "uuid", m.uuid, sizeof(m.uuid)) ||
	    !jsonin_get_string(object, "target", m.target, sizeof(m.target)) ||
	    !jsonin_get_string(object, "options", m.options, sizeof(m.options)))
		return err_set(e, -EINVAL, "'mounts': an entry without name, uuid, target or options, or with a bad one");
	if (!dmnames_uuid_is_ours(m.uuid) || dmnames_uuid_is_host(m.uuid) || m.target[0] != '/')
		return err_set(e, -EINVAL, "'mounts': an entry that is no mounted image of ours");
	m.is_root = strcmp(m.target, "/") == 0;
	*ret = m;
	return 0;
}

int profset_from_json(const struct jsonin *object, struct profset *ret, struct err *e)
{
	const struct jsonin *mounts;
	struct profset s = { .mount_count = 0 };
	size_t count;
	int r;

	if (!object)
		return err_set(e, -EINVAL, "no object");
	r = read_knobs(object, &s.knobs, e);
	if (r)
		return r;
	mounts = jsonin_get(object, "mounts");
	count = mounts ? jsonin_count(mounts) : 0;
	if (!mounts || count > PROFSET_MOUNTS_MAX)
		return err_set(e, -EINVAL, "no list 'mounts' of at most %d", PROFSET_MOUNTS_MAX);
	for (size_t i = 0; !r && i < count; i++) {
		r = read_mount(jsonin_at(mounts, i), &s.mounts[i], e);
		if (!r && find_uuid(&s, s.mounts[i].uuid))
			r = err_set(e, -EINVAL, "'mounts': the same image twice");
		s.mount_count = i + 1;
	}
	if (!r)
		*ret = s;
	return r;
}
