/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dmlinear_private.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "dmnames.h"

#define TARGET_TEXT 64
#define REMOVE_TRIES 6
#define REMOVE_PAUSE_NS (100 * 1000 * 1000L)

/* "8:2 2048": a linear target's arguments, as the kernel prints them too. A zero target has none. */
static void target_text(const struct dmlinear_row *row, dev_t device, char buf[TARGET_TEXT])
{
	const struct extent *x = row->extent;

	buf[0] = '\0';
	if (x)
		(void)snprintf(buf, TARGET_TEXT, "%u:%u %" PRIu64, major(device), minor(device),
			       x->physical_bytes / DMLINEAR_SECTOR_BYTES);
}

static const char *target_type(const struct dmlinear_row *row)
{
	return row->extent ? "linear" : "zero";
}

/* Does the active table consist of exactly our lines? */
static int table_is_ours(const struct dmlinear_params *p, bool *ret, struct err *e)
{
	AUTO(dm_task) struct dm_task *t = dmlinear_task_new(DM_DEVICE_TABLE, p->name, e);
	char wanted[TARGET_TEXT], *type = NULL, *text = NULL;
	struct dmlinear_cursor at = { 0, 0 };
	uint64_t start = 0, length = 0;
	struct dmlinear_row row;
	void *next = NULL;
	bool same = true;

	if (!t)
		return -ENOMEM;
	if (!dm_task_run(t))
		return dmlinear_task_fail(t, "read the table of", p->name, e);
	do {
		next = dm_get_next_target(t, next, &start, &length, &type, &text);
		same = dmlinear_row_next(p->extents, p->size_bytes, &at, &row);
		if (!same)
			break;
		target_text(&row, p->device, wanted);
		same = type && strcmp(type, target_type(&row)) == 0 && strcmp(text ? text : "", wanted) == 0 &&
		       start == row.start_sectors && length == row.length_sectors;
	} while (same && next);
	*ret = same && !dmlinear_row_next(p->extents, p->size_bytes, &at, &row);
	return 0;
}

/* ---- prepare ---- */

static int name_check(const char *name, struct err *e)
{
	if (name[0] == '\0' || strlen(name) >= DMLINEAR_NAME_BYTES || strchr(name, '/'))
		return err_set(e, -EINVAL, "'%s' is no name of a device-mapper device", name);
	return 0;
}

static int params_check(const struct dmlinear_params *p, struct err *e)
{
	int r = name_check(p->name, e);

	if (r < 0)
		return r;
	if (!dmnames_uuid_is_ours(p->uuid) || strlen(p->uuid) >= DMLINEAR_UUID_BYTES)
		return err_set(e, -EINVAL, "device '%s': '%s' is no uuid of ours", p->name, p->uuid);
	r = dmlinear_extents_check(p->extents, p->size_bytes, e);
	return r < 0 ? err_wrap(e, r, "device '%s'", p->name) : 0;
}

/*
 * A writable table over a read-only partition loads without complaint, and then each write fails.
 * False also when sysfs is not there: the kernel has the last word.
 */
static bool partition_is_readonly(dev_t device)
{
	char path[64], answer = '0';
	FILE *f = NULL;

	(void)snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/ro", major(device), minor(device));
	f = fopen(path, "re");
	if (!f)
		return false;
	(void)fread(&answer, 1, 1, f); /* nothing read leaves '0' */
	(void)fclose(f);               /* read only */
	return answer == '1';
}

/* The errno of a table load is all that the kernel tells; its reason is only in dmesg. */
static int table_error(const struct dmlinear_params *p, int code, struct err *e)
{
	const char *text = NULL;

	switch (code) {
	case -EBUSY:
		text = "is in use (mounted, or held by a device): unmount or detach it, then retry";
		break;
	case -ENXIO:
	case -ENODEV: /* as our result it would mean that there is no device-mapper */
		text = "does not exist";
		code = -ENXIO;
		break;
	case -EACCES:
	case -EROFS:
		text = "is read-only: make it writable ('blockdev --setrw'), or attach it read-only";
		code = -EROFS;
		break;
	case -EINVAL:
		text = "does not take this table (an extent beyond its end? see dmesg)";
		break;
	default:
		text = dmlinear_why(code);
	}
	return err_set(e, code, "device '%s': partition %u:%u %s", p->name, major(p->device),
		       minor(p->device), text);
}

static int table_load(const struct dmlinear_params *p, struct err *e)
{
	AUTO(dm_task) struct dm_task *t = dmlinear_task_new(DM_DEVICE_RELOAD, p->name, e);
	struct dmlinear_cursor at = { 0, 0 };
	struct dmlinear_row row;
	char text[TARGET_TEXT];
	bool ok = true;

	if (!t)
		return -ENOMEM;
	if (p->readonly)
		ok = dm_task_set_ro(t);
	while (ok && dmlinear_row_next(p->extents, p->size_bytes, &at, &row)) {
		target_text(&row, p->device, text);
		ok = dm_task_add_target(t, row.start_sectors, row.length_sectors, target_type(&row), text);
	}
	if (!ok)
		return err_set(e, -ENOMEM, "device '%s': no memory for the table", p->name);
	return dm_task_run(t) ? 0 : table_error(p, dmlinear_task_error(t), e);
}

static int device_create(const struct dmlinear_params *p, struct err *e)
{
	AUTO(dm_task) struct dm_task *t = NULL;
	struct dmlinear_device other;
	int r = dmlinear_device_query(NULL, p->uuid, &other, e);

	if (r < 0)
		return r;
	if (other.exists)
		return err_set(e, -EEXIST, "device '%s': '%s' has its uuid '%s': detach that first",
			       p->name, other.name, p->uuid);
	t = dmlinear_task_new(DM_DEVICE_CREATE, p->name, e);
	if (!t)
		return -ENOMEM;
	if (!dm_task_set_uuid(t, p->uuid))
		return err_set(e, -ENOMEM, "device '%s': no memory for the uuid", p->name);
	if (dm_task_run(t))
		return 0;
	/* The kernel says EBUSY when the name or uuid is taken: by a device made since the queries. */
	r = dmlinear_task_error(t);
	if (r == -EBUSY || r == -EEXIST)
		return err_set(e, -EEXIST, "device '%s' was made by another program just now: retry",
			       p->name);
	return dmlinear_task_fail(t, "create device", p->name, e);
}

/* A device without an active table has no reader, no writer and no node: no work is lost. */
static void device_drop(const char *name)
{
	AUTO(dm_task) struct dm_task *t = dmlinear_task_new(DM_DEVICE_REMOVE, name, NULL);

	if (t)
		(void)dm_task_run(t); /* the first error is the one to tell */
}

/* The name is taken by an active device: is it the one that we would make? */
static int live_device_check(const struct dmlinear_params *p, const struct dmlinear_device *d,
			     struct err *e)
{
	const char *text = NULL;
	bool same = false;
	int r = table_is_ours(p, &same, e);

	if (r < 0)
		return r;
	if (!same)
		text = "with another table";
	else if (d->readonly != p->readonly)
		text = d->readonly ? "read-only" : "read-write";
	else
		return 0;
	return err_set(e, -EEXIST, "device '%s' is active %s: detach it first ('%s')", p->name, text,
		       strcmp(p->name, DMNAMES_HOST) ? "wubi-disk detach" : "wubi-host stop");
}

static int uuid_check(const struct dmlinear_params *p, const struct dmlinear_device *d, struct err *e)
{
	if (strcmp(d->uuid, p->uuid) == 0)
		return 0;
	return err_set(e, -EEXIST, "device '%s' exists and has another uuid ('%s', not '%s')%s", p->name, d->uuid, p->uuid,
		       strcmp(p->name, DMNAMES_HOST) ? "" : ": remove it ('wubi-host stop'), then retry");
}

/* What the kernel accepts, and must not be. */
static int partition_check(const struct dmlinear_params *p, struct err *e)
{
	char other[DMLINEAR_NAME_BYTES] = "";
	int r = dmlinear_find_collision(p, other, e);

	if (r < 0)
		return r;
	if (other[0])
		return err_set(e, -EBUSY, "device '%s': device '%s' shows the same bytes of partition "
			       "%u:%u: remove that first%s", p->name, other, major(p->device),
			       minor(p->device), strcmp(other, DMNAMES_HOST) ? "" : " ('wubi-host stop')");
	if (!p->readonly && partition_is_readonly(p->device))
		return table_error(p, -EROFS, e);
	return 0;
}

static int device_prepare(const struct dmlinear_params *p, bool *ret_active, struct err *e)
{
	struct dmlinear_device d = { 0 };
	int r = dmlinear_device_query(p->name, NULL, &d, e);

	if (r == 0 && d.exists)
		r = uuid_check(p, &d, e);
	if (r == 0 && d.live)
		r = live_device_check(p, &d, e);
	if (r < 0)
		return r;
	if (d.live && !d.suspended) {
		*ret_active = true;
		return 0;
	}
	r = partition_check(p, e);
	/* One without an active table was left by a run killed before activate: used again. */
	if (r == 0 && !d.exists)
		r = device_create(p, e);
	if (r < 0)
		return r;
	r = table_load(p, e);
	if (r < 0 && !d.live)
		device_drop(p->name);
	if (r == 0)
		*ret_active = false;
	return r;
}

int dmlinear_prepare(const struct dmlinear_params *params, bool *ret_active, struct err *e)
{
	int r = params_check(params, e);

	if (r == 0)
		r = dmlinear_session_begin(e);
	if (r == 0)
		r = device_prepare(params, ret_active, e);
	dm_lib_release();
	return r;
}

/* ---- activate ---- */

static bool node_is_right(const char *path, const struct dmlinear_device *d)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISBLK(st.st_mode) &&
	       st.st_rdev == makedev(d->major, d->minor);
}

static int node_ensure(const struct dmlinear_device *d, struct err *e)
{
	AUTO(dm_task) struct dm_task *t = NULL;
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", dm_dir(), d->name);
	if (node_is_right(path, d))
		return 0;
	/* libdevmapper before 2026 cannot make a node in the place of a dangling link of udev's. */
	if (access(path, F_OK) != 0)
		(void)unlink(path); /* mostly there is none */
	t = dmlinear_task_new(DM_DEVICE_MKNODES, d->name, e);
	if (!t)
		return -ENOMEM;
	if (!dm_task_run(t))
		return dmlinear_task_fail(t, "make the node of", d->name, e);
	dm_task_update_nodes();
	if (node_is_right(path, d))
		return 0;
	return err_set(e, -EIO, "'%s' is not the block device %u:%u, and cannot be made so: %s", path,
		       d->major, d->minor, dmlinear_why(-EEXIST));
}

static int device_activate(const struct dmlinear_params *p, struct err *e)
{
	struct dmlinear_device d;
	int r = dmlinear_device_query(p->name, NULL, &d, e);

	if (r < 0)
		return r;
	if (!d.live && !d.inactive)
		return err_set(e, -ENXIO, "there is no device '%s' with a table", p->name);
	r = uuid_check(p, &d, e);
	if (r == 0)
		r = dmlinear_task_run_synced(DM_DEVICE_RESUME, p->name,
					     p->no_links ? DM_UDEV_DISABLE_DISK_RULES_FLAG : 0, p->udev_timeout_ms, e);
	return r < 0 ? r : node_ensure(&d, e);
}

int dmlinear_activate(const struct dmlinear_params *params, struct err *e)
{
	int r = params_check(params, e);

	if (r == 0)
		r = dmlinear_session_begin(e);
	if (r == 0)
		r = device_activate(params, e);
	dm_lib_release();
	return r;
}

/* ---- remove ---- */

static int device_remove(const char *name, unsigned udev_timeout_ms, struct err *e)
{
	struct dmlinear_device d;
	int r = dmlinear_device_query(name, NULL, &d, e);

	if (r < 0)
		return r;
	if (!d.exists)
		return err_set(e, -ENXIO, "there is no device '%s'", name);
	if (!dmnames_uuid_is_ours(d.uuid))
		return err_refuse(e, "not-ours",
				  "device '%s' is not one of wubi-tools (uuid '%s'): remove it with "
				  "the tool that made it", name, d.uuid);
	r = dmlinear_task_run_synced(DM_DEVICE_REMOVE, name, 0, udev_timeout_ms, NULL);
	for (int i = 1; r == -EBUSY && i < REMOVE_TRIES; i++) {
		dmlinear_pause_ns(REMOVE_PAUSE_NS); /* udev's probes open a device for a moment */
		r = dmlinear_task_run_synced(DM_DEVICE_REMOVE, name, 0, udev_timeout_ms, NULL);
	}
	if (r == -EBUSY)
		return err_set(e, r, "device '%s' is in use: unmount what is on it, then retry", name);
	return r < 0 ? err_set(e, r, "remove device '%s': %s", name, dmlinear_why(r)) : 0;
}

int dmlinear_remove(const char *name, unsigned udev_timeout_ms, struct err *e)
{
	int r = name_check(name, e);

	if (r == 0)
		r = dmlinear_kernel_has_dm() ? dmlinear_session_begin(e) : dmlinear_no_device_mapper(e);
	if (r == 0)
		r = device_remove(name, udev_timeout_ms, e);
	dm_lib_release();
	return r;
}
