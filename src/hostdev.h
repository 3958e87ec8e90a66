/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostdev - /dev/mapper/wubi-host: the whole host partition with the images' extents replaced by zeros, so that the Windows files
 * can be mounted while Linux runs from the same partition.
 *
 * Zeros and not errors, because whoever probes a volume reads all over it. Nothing else shows the images' bytes twice: a second
 * cache over blocks that the running system writes would be stale, and a second writer would destroy them.
 */
#ifndef WUBI_HOSTDEV_H
#define WUBI_HOSTDEV_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "extent.h"
#include "report.h"

#define HOSTDEV_MOUNT_DEFAULT "/host"
#define HOSTDEV_PACKAGE "ntfs-3g" /* what to install where the kernel has no ntfs3 */

struct hostdev_params {
	const char *maps;   /* folder of the maps */
	const char *mount;  /* folder to mount at; made if it is not there */
	const char *device; /* the partition, when images lie on several; NULL: the one that / or else wubi-root lies on */
	bool read_write;
	bool check_only;    /* everything but the changes */
};

/* What start would do. Release with hostdev_plan_clear(). */
struct hostdev_plan {
	dev_t device;              /* the partition */
	char path[256];            /* its node */
	char uuid[64];             /* of the device to be made */
	uint64_t size_bytes;       /* of the partition */
	struct extent_list hidden; /* what the images have of it; in no order, and perhaps twice */
	struct extent_list shown;  /* the rest, in order */
	uint64_t hidden_bytes;
	bool settled;              /* not hibernated, no Fast Startup, journal clean, not dirty */
	size_t image_count;        /* images attached on this partition */
	struct report notes;       /* no reason to stop, but worth a line: maps that could not be used */
};

/* What is there. */
struct hostdev_state {
	bool active;
	bool readonly;
	char path[256];        /* the partition's node */
	char mount[PATH_MAX];  /* "": not mounted */
	char driver[32];       /* "ntfs3", "fuseblk" (ntfs-3g) */
	uint64_t size_bytes, hidden_bytes;
};

/*
 * Reads only. Refusals: "no-image" (nothing of ours is attached, so the partition can be mounted as it is), "several-volumes",
 * "not-this-volume" (params->device has no attached image), "not-ntfs"; with read_write also "hibernated", "fast-startup",
 * "journal", "dirty", and "lost-image" (a map whose image is not safe where it is: a driver could give its clusters away).
 */
int hostdev_plan(const struct hostdev_params *par, struct hostdev_plan *ret, struct err *e);
void hostdev_plan_clear(struct hostdev_plan *p);

/*
 * Makes the device and mounts it. *ret_changed false: it was so already. Refusals: those of the plan, "no-driver" (the text names
 * the package), "other-mode" (it is there read-only and read-write was asked for, or the reverse, or elsewhere), "mount-point"
 * (in use, or no folder), "busy". After an error there is no device that this call made. Links in params->mount are followed.
 * plan: NULL, or takes what was done.
 */
int hostdev_start(const struct hostdev_params *par, struct hostdev_plan *plan, bool *ret_changed, struct err *e);

/*
 * Unmounts and removes, also a device without a table, which a start that was killed can leave. *ret_changed false: there was
 * none. Refuses "busy" while something uses a file in it.
 */
int hostdev_stop(bool *ret_changed, struct err *e);

int hostdev_status(struct hostdev_state *ret, struct err *e);

static inline void auto_hostdev_plan(struct hostdev_plan *p)
{
	hostdev_plan_clear(p);
}

#endif
