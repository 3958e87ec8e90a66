/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which devices are there. */
#include "dmlinear_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "dmnames.h"

struct search {
	/* Only active devices are asked about; *ret is false before. */
	int (*matches)(const struct dmlinear_device *d, const struct search *s, bool *ret,
		       struct err *e);
	dev_t device;
	const struct dmlinear_params *params; /* only for collisions */
	struct dmlinear_active_list *list;    /* only for a list of ours */
};

/* The kernel's encoding of a device number in 64 bits, which is not glibc's for large majors. */
static bool dependency_is(uint64_t encoded, dev_t device)
{
	uint64_t major_number = (encoded & 0xfff00) >> 8;
	uint64_t minor_number = (encoded & 0xff) | ((encoded >> 12) & 0xfff00);

	return major_number == major(device) && minor_number == minor(device);
}

static int depends_on(const char *name, dev_t device, bool *ret, struct err *e)
{
	AUTO(dm_task) struct dm_task *t = dmlinear_task_new(DM_DEVICE_DEPS, name, e);
	struct dm_deps *deps = NULL;
	bool found = false;

	if (!t)
		return -ENOMEM;
	if (!dm_task_run(t))
		return dmlinear_task_fail(t, "query what lies below", name, e);
	deps = dm_task_get_deps(t);
	for (uint32_t i = 0; deps && i < deps->count && !found; i++)
		found = dependency_is(deps->device[i], device);
	*ret = found;
	return 0;
}

static int is_ours_on(const struct dmlinear_device *d, const struct search *s, bool *ret,
		      struct err *e)
{
	return dmnames_uuid_is_ours(d->uuid) ? depends_on(d->name, s->device, ret, e) : 0;
}

/* Fits nothing, so that the search goes on to the end. */
static int collect_ours(const struct dmlinear_device *d, const struct search *s, bool *ret, struct err *e)
{
	(void)ret;
	return dmnames_uuid_is_ours(d->uuid) ? dmlinear_active_add(s->list, d, e) : 0;
}

/* Adds to the list what one row of a table shows of the partition. False: that cannot be told. */
static bool target_bytes(const char *type, const char *text, uint64_t sectors, dev_t device,
			 struct extent_list *l)
{
	struct extent x = { 0, 0, sectors * DMLINEAR_SECTOR_BYTES };
	unsigned major_number = 0, minor_number = 0;

	if (strcmp(type, "zero") == 0 || strcmp(type, "error") == 0)
		return true;
	if (strcmp(type, "linear") != 0 ||
	    sscanf(text, "%u:%u %" SCNu64, &major_number, &minor_number, &x.physical_bytes) != 3)
		return false;
	if (major_number != major(device) || minor_number != minor(device))
		return true;
	x.physical_bytes *= DMLINEAR_SECTOR_BYTES;
	return extent_list_push(l, &x, NULL) == 0;
}

/*
 * All of device-mapper is one holder to the kernel, so its claim on a partition keeps mounts out but
 * not other dm devices: two writers of the same bytes would not notice each other.
 */
static int is_collision(const struct dmlinear_device *d, const struct search *s, bool *ret,
			struct err *e)
{
	AUTO(extent_list) struct extent_list l = { 0 };
	AUTO(dm_task) struct dm_task *t = NULL;
	char *type = NULL, *text = NULL;
	uint64_t start = 0, sectors = 0;
	void *next = NULL;
	bool told = true;

	if (strcmp(d->name, s->params->name) == 0)
		return 0;
	t = dmlinear_task_new(DM_DEVICE_TABLE, d->name, e);
	if (!t)
		return -ENOMEM;
	if (!dm_task_run(t))
		return dmlinear_task_fail(t, "read the table of", d->name, e);
	do {
		next = dm_get_next_target(t, next, &start, &sectors, &type, &text);
		told = told && (!type || target_bytes(type, text, sectors, s->device, &l));
	} while (next);
	if (!told)
		return depends_on(d->name, s->device, ret, e);
	return extent_list_overlaps(&l, s->params->extents, ret, e);
}

/* Does the search's question fit this device? One that has been removed by now does not. */
static int device_matches(const char *name, const struct search *s, bool *ret, struct err *e)
{
	struct dmlinear_device d = { 0 };
	int r = dmlinear_device_query(name, NULL, &d, e);

	*ret = false;
	if (r == 0 && d.live)
		r = s->matches(&d, s, ret, e);
	if (r == -ENXIO) {
		err_clear(e);
		return 0;
	}
	return r;
}

static int devices_search(const struct search *s, char ret_name[128], struct err *e)
{
	AUTO(dm_task) struct dm_task *t = dmlinear_task_new(DM_DEVICE_LIST, NULL, e);
	const struct dm_names *names = NULL;
	bool found = false;
	int r;

	if (!t)
		return -ENOMEM;
	if (!dm_task_run(t))
		return dmlinear_task_fail(t, "list devices on", "device-mapper", e);
	names = dm_task_get_names(t);
	if (names && names->dev == 0) /* the list's way to be empty */
		names = NULL;
	while (names) {
		r = device_matches(names->name, s, &found, e);
		if (r < 0)
			return r;
		if (found)
			break;
		/* records one behind the other, each says how far it is to the next */
		names = names->next ? (const void *)((const char *)names + names->next) : NULL;
	}
	(void)snprintf(ret_name, DMLINEAR_NAME_BYTES, "%s", names ? names->name : "");
	return 0;
}

int dmlinear_find_collision(const struct dmlinear_params *p, char ret_name[128], struct err *e)
{
	const struct search s = { .matches = is_collision, .device = p->device, .params = p };

	return devices_search(&s, ret_name, e);
}

int dmlinear_find_on(dev_t device, char ret_name[128], struct err *e)
{
	const struct search s = { .matches = is_ours_on, .device = device };
	int r;

	/* A known answer; and looking must not leave a control node behind. */
	if (!dmlinear_kernel_has_dm()) {
		ret_name[0] = '\0';
		return 0;
	}
	r = dmlinear_session_begin(e);
	if (r == 0)
		r = devices_search(&s, ret_name, e);
	dm_lib_release();
	return r;
}

int dmlinear_find_uuid(const char *uuid, char ret_name[128], struct err *e)
{
	struct dmlinear_device d = { 0 };
	int r = dmlinear_kernel_has_dm() ? dmlinear_session_begin(e) : dmlinear_no_device_mapper(e);

	if (r == 0)
		r = dmlinear_device_query(NULL, uuid, &d, e);
	if (r == 0)
		(void)snprintf(ret_name, DMLINEAR_NAME_BYTES, "%s", d.live ? d.name : "");
	dm_lib_release();
	return r;
}

int dmlinear_active(struct dmlinear_active_list *ret, struct err *e)
{
	__attribute__((cleanup(auto_dmlinear_active))) struct dmlinear_active_list l = { NULL, 0 };
	const struct search s = { .matches = collect_ours, .list = &l };
	char none[DMLINEAR_NAME_BYTES];
	int r = 0;

	if (dmlinear_kernel_has_dm()) { /* as in dmlinear_find_on() */
		r = dmlinear_session_begin(e);
		if (r == 0)
			r = devices_search(&s, none, e);
		dm_lib_release();
	}
	if (r < 0)
		return r;
	*ret = l;
	l = (struct dmlinear_active_list){ NULL, 0 };
	return 0;
}
