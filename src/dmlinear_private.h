/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dmlinear_private - what the dmlinear*.c files share. The only file that includes libdevmapper.
 *
 * A public function begins with dmlinear_session_begin() and ends with dm_lib_release(), whatever
 * the begin returned.
 */
#ifndef WUBI_DMLINEAR_PRIVATE_H
#define WUBI_DMLINEAR_PRIVATE_H

#include <libdevmapper.h>
#include <stdbool.h>
#include <stdint.h>

#include "auto.h"
#include "dmlinear.h"

#define DMLINEAR_SECTOR_BYTES 512U
#define DMLINEAR_NAME_BYTES 128 /* DM_NAME_LEN with its NUL */
#define DMLINEAR_UUID_BYTES 129 /* DM_UUID_LEN with its NUL */

struct dmlinear_device {
	bool exists, live, inactive, suspended, readonly; /* live: it has an active table */
	uint32_t major, minor;
	char name[DMLINEAR_NAME_BYTES];
	char uuid[DMLINEAR_UUID_BYTES];
};

/* One line of a table. */
struct dmlinear_row {
	uint64_t start_sectors, length_sectors;
	const struct extent *extent; /* NULL: a "zero" target */
};

struct dmlinear_cursor { /* zero-initialised: before the first row */
	size_t next;
	uint64_t at_bytes;
};

/* The rows of a list that passed dmlinear_extents_check(). size_bytes as in struct dmlinear_params. False: there are no more. */
bool dmlinear_row_next(const struct extent_list *l, uint64_t size_bytes, struct dmlinear_cursor *c, struct dmlinear_row *ret);

static inline void dmlinear_task_free(struct dm_task *t)
{
	if (t)
		dm_task_destroy(t);
}
DEFINE_AUTO(dm_task, struct dm_task *, dmlinear_task_free);

/* Takes over the library's global state. -EACCES, -ENODEV. */
int dmlinear_session_begin(struct err *e);

/* Is the driver there? True also when nobody can tell: then the library's own attempt decides. */
bool dmlinear_kernel_has_dm(void);

/* Returns -ENODEV and sets the text with the remedy. */
int dmlinear_no_device_mapper(struct err *e);

/* What libdevmapper complained of first since the session began, or what 'code' means. Never empty. */
const char *dmlinear_why(int code);

/* The caller's, NULL with e set (-ENOMEM) on an error. name may be NULL. */
struct dm_task *dmlinear_task_new(int type, const char *name, struct err *e);

int dmlinear_task_error(struct dm_task *t); /* of one that failed: a negative errno, never 0 */
int dmlinear_task_fail(struct dm_task *t, const char *what, const char *name, struct err *e);

/*
 * Resume or remove: makes udev act (udev_flags: DM_UDEV_DISABLE_...), waits for it at most timeout_ms, does itself what udev left
 * undone.
 */
int dmlinear_task_run_synced(int type, const char *name, uint16_t udev_flags, unsigned timeout_ms, struct err *e);

/* By name, or by UUID if name is NULL. A device that is not there is no error: ret->exists is false. */
int dmlinear_device_query(const char *name, const char *uuid, struct dmlinear_device *ret,
			  struct err *e);

/* Another active device that shows a byte of the params' extents, of whoever; "" if none. */
int dmlinear_find_collision(const struct dmlinear_params *p, char ret_name[128], struct err *e);

/* Adds an active device with its table. On an error the list is as it was. */
int dmlinear_active_add(struct dmlinear_active_list *l, const struct dmlinear_device *d, struct err *e);

int dmlinear_extents_check(const struct extent_list *l, uint64_t size_bytes, struct err *e);

void dmlinear_pause_ns(long ns);

#endif
