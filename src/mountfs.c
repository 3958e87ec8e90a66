/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mountfs.h"

#include <errno.h>
#include <libmount.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "auto.h"

#define MOUNTINFO "/proc/self/mountinfo"

static void context_free(struct libmnt_context *c)
{
	if (c)
		mnt_free_context(c);
}
DEFINE_AUTO(context, struct libmnt_context *, context_free);

static void table_unref(struct libmnt_table *t)
{
	if (t)
		mnt_unref_table(t);
}
DEFINE_AUTO(table, struct libmnt_table *, table_unref);

static void iter_free(struct libmnt_iter *i)
{
	if (i)
		mnt_free_iter(i);
}
DEFINE_AUTO(iter, struct libmnt_iter *, iter_free);

/* libmount's own errors are negative and mostly errnos, the system call's are positive, a helper has a status only. */
static int context_error(struct libmnt_context *c, int rc, const char *what, const char *target, struct err *e)
{
	char text[256] = "";
	int code = rc < 0 ? rc : -EIO;

	(void)mnt_context_get_excode(c, rc, text, sizeof(text)); /* only for the text */
	if (mnt_context_helper_executed(c))
		return err_set(e, -EIO, "%s '%s': its helper ended with status %d", what, target,
			       mnt_context_get_helper_status(c));
	if (mnt_context_syscall_called(c) && mnt_context_get_syscall_errno(c) > 0)
		code = -mnt_context_get_syscall_errno(c);
	if (code < -4095) /* libmount's own numbers lie beyond the errnos */
		code = -EIO;
	return err_set(e, code, "%s '%s': %s", what, target, text[0] ? text : strerror(-code));
}

int mountfs_mount(const char *source, const char *target, const char *type, const char *options, struct err *e)
{
	AUTO(context) struct libmnt_context *c = mnt_new_context();
	int rc;

	if (!c || mnt_context_set_optsmode(c, MNT_OMODE_NOTAB) || mnt_context_set_source(c, source) ||
	    mnt_context_set_target(c, target) || mnt_context_set_fstype(c, type) || mnt_context_set_options(c, options))
		return err_set(e, -ENOMEM, "mount '%s': out of memory", target);
	/* a device that is read-only must not become a read-only mount unasked */
	(void)mnt_context_enable_rwonly_mount(c, 1);
	rc = mnt_context_mount(c);
	if (rc == 0 && mnt_context_get_status(c) == 1)
		return 0;
	return context_error(c, rc, "mount", target, e);
}

int mountfs_unmount(const char *target, struct err *e)
{
	AUTO(context) struct libmnt_context *c = mnt_new_context();
	int rc;

	if (!c || mnt_context_set_target(c, target))
		return err_set(e, -ENOMEM, "unmount '%s': out of memory", target);
	rc = mnt_context_umount(c);
	if (rc == 0 && mnt_context_get_status(c) == 1)
		return 0;
	return context_error(c, rc, "unmount", target, e);
}

/* direction: MNT_ITER_BACKWARD is the last mount first. */
static int mounts_open(int direction, struct libmnt_table **ret, struct libmnt_iter **ret_iter, struct err *e)
{
	*ret_iter = mnt_new_iter(direction);
	errno = 0;
	*ret = mnt_new_table_from_file(MOUNTINFO);
	if (!*ret && errno)
		return err_errno(e, "read '%s'", MOUNTINFO);
	return *ret && *ret_iter ? 0 : err_set(e, -ENOMEM, "read '%s': out of memory", MOUNTINFO);
}

/* Of the last mount there. False: none. */
static bool find_below(struct libmnt_table *t, struct libmnt_iter *i, const char *folder, char ret[PATH_MAX])
{
	struct libmnt_fs *fs = NULL;
	size_t n = strlen(folder);

	while (mnt_table_next_fs(t, i, &fs) == 0) {
		const char *target = mnt_fs_get_target(fs);

		if (!target || strncmp(target, folder, n) != 0 || target[n] != '/')
			continue;
		(void)snprintf(ret, PATH_MAX, "%s", target);
		return true;
	}
	return false;
}

int mountfs_unmount_below(const char *folder, struct err *e)
{
	char target[PATH_MAX];
	bool is_found = true;
	int code = 0;

	while (!code && is_found) {
		AUTO(table) struct libmnt_table *t = NULL;
		AUTO(iter) struct libmnt_iter *i = NULL;

		code = mounts_open(MNT_ITER_BACKWARD, &t, &i, e);
		is_found = !code && find_below(t, i, folder, target);
		if (is_found)
			code = mountfs_unmount(target, e);
	}
	return code;
}

static bool has_option(const char *options, const char *name)
{
	return options && mnt_optstr_get_option(options, name, NULL, NULL) == 0;
}

int mountfs_find(dev_t device, struct mountfs_entry *ret, struct err *e)
{
	AUTO(table) struct libmnt_table *t = NULL;
	AUTO(iter) struct libmnt_iter *i = NULL;
	struct libmnt_fs *fs = NULL;
	int code = mounts_open(MNT_ITER_BACKWARD, &t, &i, e);

	if (code)
		return code;
	*ret = (struct mountfs_entry){ .target = "" };
	while (mnt_table_next_fs(t, i, &fs) == 0) {
		const char *target = mnt_fs_get_target(fs), *type = mnt_fs_get_fstype(fs);

		if (mnt_fs_get_devno(fs) != device || !target)
			continue;
		(void)snprintf(ret->target, sizeof(ret->target), "%s", target);
		(void)snprintf(ret->type, sizeof(ret->type), "%s", type ? type : "");
		ret->super_is_readonly = has_option(mnt_fs_get_fs_options(fs), "ro");
		ret->readonly = ret->super_is_readonly || has_option(mnt_fs_get_vfs_options(fs), "ro");
		break;
	}
	return 0;
}

/* Not if something else is mounted over it: then its path leads there. */
static bool is_reached(const char *target, dev_t device)
{
	struct stat st;

	return stat(target, &st) == 0 && st.st_dev == device;
}

static void fill_super(struct libmnt_fs *fs, struct mountfs_super *ret)
{
	const char *type = mnt_fs_get_fstype(fs), *options = mnt_fs_get_fs_options(fs);

	ret->device = mnt_fs_get_devno(fs);
	(void)snprintf(ret->target, sizeof(ret->target), "%s", mnt_fs_get_target(fs));
	(void)snprintf(ret->type, sizeof(ret->type), "%s", type ? type : "");
	(void)snprintf(ret->options, sizeof(ret->options), "%s", options ? options : "");
}

/* A new one behind the list, or a better target for one that is in it. */
static int add_super(struct libmnt_fs *fs, struct mountfs_super **list, size_t *count, struct err *e)
{
	dev_t device = mnt_fs_get_devno(fs);
	struct mountfs_super *wider;

	if (major(device) == 0 || !mnt_fs_get_target(fs)) /* not a block device's */
		return 0;
	for (size_t i = 0; i < *count; i++) {
		if ((*list)[i].device != device)
			continue;
		if (!is_reached((*list)[i].target, device) && is_reached(mnt_fs_get_target(fs), device))
			fill_super(fs, &(*list)[i]);
		return 0;
	}
	wider = reallocarray(*list, *count + 1, sizeof(*wider));
	if (!wider)
		return err_set(e, -ENOMEM, "read '%s': out of memory", MOUNTINFO);
	*list = wider;
	fill_super(fs, &wider[(*count)++]);
	return 0;
}

int mountfs_supers(struct mountfs_super **ret, size_t *ret_count, struct err *e)
{
	AUTO(table) struct libmnt_table *t = NULL;
	AUTO(iter) struct libmnt_iter *i = NULL;
	AUTO_FREE struct mountfs_super *list = NULL;
	struct libmnt_fs *fs = NULL;
	size_t count = 0;
	int code = mounts_open(MNT_ITER_FORWARD, &t, &i, e);

	while (!code && mnt_table_next_fs(t, i, &fs) == 0)
		code = add_super(fs, &list, &count, e);
	if (code)
		return code;
	*ret = TAKE(list);
	*ret_count = count;
	return 0;
}

int mountfs_is_target(const char *folder, bool *ret, struct err *e)
{
	AUTO(table) struct libmnt_table *t = NULL;
	AUTO(iter) struct libmnt_iter *i = NULL;
	int code = mounts_open(MNT_ITER_BACKWARD, &t, &i, e);

	if (!code)
		*ret = mnt_table_find_target(t, folder, MNT_ITER_BACKWARD) != NULL;
	return code;
}
