/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach - from a map and the volume that holds its image to /dev/mapper/wubi-NAME. For wubi-disk and for the boot program.
 *
 * The order is the promise that no write goes through a stale map: verify; make the device and load its table, which claims
 * the partition; verify again under the claim; only then resume.
 */
#ifndef WUBI_ATTACH_H
#define WUBI_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>

#include "blkio.h"
#include "blockdev.h"
#include "err.h"
#include "extent.h"
#include "map.h"
#include "verdict.h"
#include "verify.h"

#define ATTACH_NAME_MAX 48   /* "wubi-" and a map's name */
#define ATTACH_UUID_MAX 96   /* "WUBI-<map id>-<name>" */
#define ATTACH_UDEV_TIMEOUT_MS 10000

/* A block device, opened once for reading: all looks go through this descriptor, whatever its name leads to by then. */
struct attach_volume {
	char path[272];
	struct blkio *io;
	struct blockdev_info info;
	dev_t device;
};

/*
 * Refuses "not-a-block-device", and a part of something larger: "partitioned", "ldm", "storage-spaces", "raid". *ret is the
 * caller's: attach_volume_close().
 */
int attach_volume_open(const char *path, struct attach_volume *ret, struct err *e);
void attach_volume_close(struct attach_volume *v); /* a zeroed one is fine */

struct attach_request {
	const struct map *map;
	bool readonly;
	bool allow_unsettled; /* attach although the host is not settled, when its runs are the map's */
};

/* The device-mapper name and UUID of a map's device. */
void attach_names(const struct map *m, char ret_name[ATTACH_NAME_MAX], char ret_uuid[ATTACH_UUID_MAX]);

/* Is this verdict good enough for the request? */
bool attach_is_allowed(const struct verdict_result *r, bool allow_unsettled);

/* Verifies. A verdict that is not good enough is a refusal "verdict-NAME" with its reasons. *ret_extents: the caller's. */
int attach_check(const struct attach_volume *v, const struct attach_request *req, struct extent_list *ret_extents,
		 struct err *e);

/*
 * Does the rest. extents: what attach_check() saw, or verify_volume() through the same volume. Attached already by the same
 * table is success. Refusals "busy", "exists", "read-only" (the partition is), "changed", and the verdict's; on any error the
 * device is gone again.
 */
int attach_run(const struct attach_volume *v, const struct attach_request *req, const struct extent_list *extents,
	       char ret_name[ATTACH_NAME_MAX], struct err *e);

static inline void auto_attach_volume(struct attach_volume *v)
{
	attach_volume_close(v);
}

#endif
