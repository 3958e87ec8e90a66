/* SPDX-License-Identifier: GPL-2.0-or-later */
/* start, stop, status. */
#include "hostdev_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "attach.h"
#include "auto.h"
#include "dmnames.h"
#include "mountfs.h"
#include "sysfs.h"

#define DEVICE_NODE DMNAMES_FOLDER DMNAMES_HOST
#define UMOUNT_MAX 16

/* ---- status ---- */

static int read_state(const struct dmlinear_active_list *active, struct hostdev_state *ret, struct err *e)
{
	const struct dmlinear_active *a = hostdev_find(active);
	struct mountfs_entry m;
	int code;

	*ret = (struct hostdev_state){ .active = a != NULL };
	if (!a)
		return 0;
	ret->readonly = a->readonly;
	ret->size_bytes = a->size_bytes;
	ret->hidden_bytes = a->size_bytes - extent_list_bytes(&a->extents);
	(void)sysfs_node(a->device, ret->path, sizeof(ret->path)); /* empty: it has gone */
	code = mountfs_find(a->number, &m, e);
	if (code)
		return code;
	(void)snprintf(ret->mount, sizeof(ret->mount), "%s", m.target);
	(void)snprintf(ret->driver, sizeof(ret->driver), "%s", m.type);
	return 0;
}

int hostdev_status(struct hostdev_state *ret, struct err *e)
{
	__attribute__((cleanup(auto_dmlinear_active))) struct dmlinear_active_list active = { NULL, 0 };
	int code = dmlinear_active(&active, e);

	return code ? code : read_state(&active, ret, e);
}

/* ---- start ---- */

/* Is it there as it was asked for? One that is there and not mounted is completed. */
static int check_state(const struct hostdev_params *par, const struct hostdev_state *s, bool *ret_done, struct err *e)
{
	*ret_done = false;
	if (!s->active)
		return 0;
	if (s->readonly == par->read_write)
		return err_refuse(e, "other-mode", DMNAMES_FOLDER DMNAMES_HOST " is active %s: 'wubi-host stop' first",
				  s->readonly ? "read-only" : "read-write");
	if (!s->mount[0])
		return 0;
	if (strcmp(s->mount, par->mount) != 0)
		return err_refuse(e, "other-mode", "the Windows files are mounted at '%s' already: 'wubi-host stop' first",
				  s->mount);
	*ret_done = true;
	return 0;
}

static int check_mount_point(const char *folder, struct err *e)
{
	struct stat st;
	bool taken = false;
	int code;

	if (stat(folder, &st))
		return errno == ENOENT ? 0 : err_errno(e, "folder '%s'", folder);
	if (!S_ISDIR(st.st_mode))
		return err_refuse(e, "mount-point", "'%s' is no folder: name another one with --mount", folder);
	code = mountfs_is_target(folder, &taken, e);
	if (!code && taken)
		code = err_refuse(e, "mount-point", "something is mounted at '%s': unmount it, or name another folder with "
				  "--mount", folder);
	return code;
}

static int make_mount_point(const char *folder, struct err *e)
{
	if (mkdir(folder, 0755) && errno != EEXIST)
		return err_errno(e, "make the folder '%s'", folder);
	return 0;
}

/*
 * As the kernel will call it, without links and slashes too many: what is compared with the list of mounts. ret: may not be there
 * yet, but its folder is.
 */
static int resolve_mount_point(const char *given, char ret[PATH_MAX], struct err *e)
{
	AUTO_FREE char *parent = NULL;
	size_t n = strlen(given);
	char *slash;

	if (given[0] != '/')
		return err_refuse(e, "mount-point", "'%s' is no absolute path: name the folder to mount at as /host", given);
	if (realpath(given, ret))
		return 0;
	if (errno != ENOENT)
		return err_errno(e, "folder '%s'", given);
	while (n > 1 && given[n - 1] == '/')
		n--;
	parent = strndup(given, n);
	if (!parent)
		return err_set(e, -ENOMEM, "out of memory");
	slash = strrchr(parent, '/');
	*slash = '\0';
	if (!realpath(slash == parent ? "/" : parent, ret))
		return err_errno(e, "folder '%s'", slash == parent ? "/" : parent);
	n = strlen(ret);
	if (n + strlen(slash + 1) + 2 > PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "'%.300s': %s", given, strerror(ENAMETOOLONG));
	(void)snprintf(ret + n, PATH_MAX - n, "%s%s", n > 1 ? "/" : "", slash + 1);
	return 0;
}

/* *ret_made: the device was not there before. */
static int make_device(const struct hostdev_params *par, const struct hostdev_plan *p, bool *ret_made, struct err *e)
{
	const struct dmlinear_params dm = {
		.name = DMNAMES_HOST,
		.uuid = p->uuid,
		.device = p->device,
		.extents = &p->shown,
		.size_bytes = p->size_bytes,
		.readonly = !par->read_write,
		.no_links = true, /* by-uuid is the partition's: whoever finds a volume by it must find one */
		.udev_timeout_ms = ATTACH_UDEV_TIMEOUT_MS,
	};
	struct err why = ERR_INIT;
	bool active = false;
	int code = dmlinear_prepare(&dm, &active, &why);

	if (!code && !active) {
		code = dmlinear_activate(&dm, &why);
		if (code)
			(void)dmlinear_remove(dm.name, dm.udev_timeout_ms, NULL); /* the first error counts */
	}
	*ret_made = !code && !active;
	if (code == -EBUSY || code == -EEXIST)
		return err_refuse(e, "busy", "%s", why.text);
	return code ? err_set(e, code, "%s", why.text) : 0;
}

static int refuse_driver(const struct hostdev_plan *p, struct err *e)
{
	if (!p->settled)
		return err_refuse(e, "no-driver", "Windows has not settled '%s', and only ntfs-3g shows such a volume without "
				  "writing to it: install the package '" HOSTDEV_PACKAGE "', then retry", p->path);
	return err_refuse(e, "no-driver", "neither the kernel's ntfs3 nor ntfs-3g is here, so the Windows files cannot be "
			  "mounted: install the package '" HOSTDEV_PACKAGE "', then retry");
}

/*
 * The kernel's driver first: it needs no process that must live as long as the mount. But not on a volume that is not settled:
 * ntfs3 looks into the journal at mount time, and the kernel lets its own drivers write to a read-only device (bio_check_ro()
 * only warns), while ntfs-3g as a process cannot. umask: only root writes, when anybody does. windows_names: no file that Windows
 * could not open.
 */
static int mount_device(const struct hostdev_params *par, const struct hostdev_plan *p, struct err *e)
{
	static const struct {
		const char *type, *options;
	} drivers[] = {
		{ "ntfs3", "nosuid,nodev,noatime,umask=022,iocharset=utf8" },
		{ "ntfs-3g", "nosuid,nodev,noatime,umask=022,windows_names" },
	};
	struct err why[2] = { { -ENODEV, "", "" }, ERR_INIT };
	char options[128];
	int code = 0;

	for (size_t i = p->settled ? 0 : 1; i < 2; i++) {
		(void)snprintf(options, sizeof(options), "%s,%s", par->read_write ? "rw" : "ro", drivers[i].options);
		code = mountfs_mount(DEVICE_NODE, par->mount, drivers[i].type, options, &why[i]);
		if (!code)
			return 0;
	}
	if (why[0].code == -ENODEV && why[1].code == -ENODEV)
		return refuse_driver(p, e);
	if (why[1].code == -ENODEV)
		return err_set(e, why[0].code, "%s (ntfs3); the package '" HOSTDEV_PACKAGE "' has another driver", why[0].text);
	return err_set(e, code, "%s (ntfs-3g)", why[1].text);
}

static int start(const struct hostdev_params *par, struct hostdev_plan *p, struct err *e)
{
	bool made = false;
	int code = check_mount_point(par->mount, e);

	if (!code)
		code = hostdev_plan(par, p, e);
	if (code || par->check_only)
		return code;
	code = make_mount_point(par->mount, e);
	if (!code)
		code = make_device(par, p, &made, e);
	if (code)
		return code;
	code = mount_device(par, p, e);
	if (code && made)
		(void)dmlinear_remove(DMNAMES_HOST, ATTACH_UDEV_TIMEOUT_MS, NULL); /* the first error counts */
	return code;
}

int hostdev_start(const struct hostdev_params *par, struct hostdev_plan *plan, bool *ret_changed, struct err *e)
{
	__attribute__((cleanup(auto_hostdev_plan))) struct hostdev_plan p = { .device = 0 };
	struct hostdev_params real = *par;
	char mount[PATH_MAX];
	struct hostdev_state s;
	AUTO_FD int lock = -1;
	bool done = false;
	int code = resolve_mount_point(par->mount, mount, e);

	real.mount = mount;
	if (!code && !par->check_only)
		code = hostdev_lock(&lock, e);
	if (!code)
		code = hostdev_status(&s, e);
	if (!code)
		code = check_state(&real, &s, &done, e);
	if (!code && !done)
		code = start(&real, &p, e);
	if (code)
		return code;
	*ret_changed = !done;
	if (plan) {
		*plan = p;
		p.hidden = p.shown = (struct extent_list){ NULL, 0, 0 };
	}
	return 0;
}

/* ---- stop ---- */

static int unmount(dev_t number, struct err *e)
{
	struct mountfs_entry m;
	struct err why = ERR_INIT;
	int code = 0;

	/* bound at a second place, or over itself */
	for (int i = 0; !code && i < UMOUNT_MAX; i++) {
		code = mountfs_find(number, &m, e);
		if (code || !m.target[0])
			return code;
		code = mountfs_unmount(m.target, &why);
		if (code == -EINVAL)
			code = 0; /* systemd did it just now, at shutdown */
	}
	if (code == -EBUSY)
		return err_refuse(e, "busy", "'%s' is in use: close what uses files in it ('fuser -vm %s' tells), then retry",
				  m.target, m.target);
	return code ? err_set(e, code, "%s", why.text) : err_set(e, -EBUSY, "'%s' is mounted again and again", m.target);
}

/* A start that was killed before its device had a table leaves one that no list of active devices has, and that holds nothing. */
static int remove_leftover(bool *ret_changed, struct err *e)
{
	struct err why = ERR_INIT;
	int code = dmlinear_remove(DMNAMES_HOST, ATTACH_UDEV_TIMEOUT_MS, &why);

	*ret_changed = !code;
	if (!code || code == -ENXIO || code == -ENODEV || err_is_refusal(&why)) /* none, no device-mapper, or not ours */
		return 0;
	return err_set(e, code, "%s", why.text);
}

static int stop(bool *ret_changed, struct err *e)
{
	__attribute__((cleanup(auto_dmlinear_active))) struct dmlinear_active_list active = { NULL, 0 };
	const struct dmlinear_active *a;
	struct err why = ERR_INIT;
	int code = dmlinear_active(&active, e);

	if (code)
		return code;
	a = hostdev_find(&active);
	if (!a)
		return remove_leftover(ret_changed, e);
	code = unmount(a->number, e);
	if (code)
		return code;
	/* ntfs-3g lets go of the device some time after the unmount: the removal tries for a while */
	code = dmlinear_remove(a->name, ATTACH_UDEV_TIMEOUT_MS, &why);
	if (code == -EBUSY)
		return err_refuse(e, "busy", "/dev/mapper/%s is in use ('fuser -v /dev/mapper/%s' tells): end that, then retry",
				  a->name, a->name);
	if (code && code != -ENXIO)
		return err_set(e, code, "%s", why.text);
	*ret_changed = true;
	return 0;
}

int hostdev_stop(bool *ret_changed, struct err *e)
{
	AUTO_FD int lock = -1;
	int code = hostdev_lock(&lock, e);

	return code ? code : stop(ret_changed, e);
}
