/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What our active devices show of which partition. */
#include "dmlinear_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "dmnames.h"

void dmlinear_active_clear(struct dmlinear_active_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		extent_list_clear(&l->items[i].extents);
	free(l->items);
	*l = (struct dmlinear_active_list){ NULL, 0 };
}

static int refuse_table(const struct dmlinear_active *a, const char *type, const char *text, struct err *e)
{
	return err_set(e, -EINVAL, "device '%s' has a table that wubi-tools do not make ('%s %s'): remove it with the tool that "
		       "made it", a->name, type, text ? text : "");
}

/* Takes one row of the table. All linear rows lie on one partition. */
static int take_row(struct dmlinear_active *a, uint64_t start, uint64_t sectors, const char *type, const char *text,
		    struct err *e)
{
	struct extent x = { start * DMLINEAR_SECTOR_BYTES, 0, sectors * DMLINEAR_SECTOR_BYTES };
	unsigned major_number = 0, minor_number = 0;
	dev_t device;

	a->size_bytes = x.logical_bytes + x.length_bytes;
	if (strcmp(type, "zero") == 0)
		return 0;
	if (strcmp(type, "linear") != 0 ||
	    sscanf(text, "%u:%u %" SCNu64, &major_number, &minor_number, &x.physical_bytes) != 3)
		return refuse_table(a, type, text, e);
	device = makedev(major_number, minor_number);
	if (a->extents.count && a->device != device)
		return refuse_table(a, type, text, e);
	a->device = device;
	x.physical_bytes *= DMLINEAR_SECTOR_BYTES;
	return extent_list_push(&a->extents, &x, e);
}

static int read_table(struct dmlinear_active *a, struct err *e)
{
	AUTO(dm_task) struct dm_task *t = dmlinear_task_new(DM_DEVICE_TABLE, a->name, e);
	char *type = NULL, *text = NULL;
	uint64_t start = 0, sectors = 0;
	void *next = NULL;
	int r = 0;

	if (!t)
		return -ENOMEM;
	if (!dm_task_run(t))
		return dmlinear_task_fail(t, "read the table of", a->name, e);
	do {
		next = dm_get_next_target(t, next, &start, &sectors, &type, &text);
		if (type)
			r = take_row(a, start, sectors, type, text, e);
	} while (r == 0 && next);
	return r;
}

int dmlinear_active_add(struct dmlinear_active_list *l, const struct dmlinear_device *d, struct err *e)
{
	struct dmlinear_active *items = reallocarray(l->items, l->count + 1, sizeof(*items));
	struct dmlinear_active *a;
	int r;

	if (!items)
		return err_set(e, -ENOMEM, "out of memory for the list of devices");
	l->items = items;
	a = &items[l->count];
	*a = (struct dmlinear_active){
		.number = makedev(d->major, d->minor),
		.readonly = d->readonly,
		.is_host = dmnames_uuid_is_host(d->uuid),
	};
	(void)snprintf(a->name, sizeof(a->name), "%s", d->name); /* of the same size */
	(void)snprintf(a->uuid, sizeof(a->uuid), "%s", d->uuid);
	r = read_table(a, e);
	if (r < 0)
		extent_list_clear(&a->extents);
	else
		l->count++;
	return r;
}
