/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostscan - the block devices that could be the host of a map, found by what is on them and never by their names.
 *
 * Left out: devices of our own, those without a medium or smaller than an NTFS volume can be, and those that another driver
 * has built a device on (a path of a multipath device, a RAID member): there that device is the candidate.
 */
#ifndef WUBI_HOSTSCAN_H
#define WUBI_HOSTSCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bootsect.h"
#include "err.h"
#include "map.h"

struct hostscan_device {
	char path[272];       /* the node in /dev; it is opened by this */
	dev_t device;
	unsigned long long diskseq; /* tells a disk from the next one with its number; 0: a kernel before 5.15 */
	struct bootsect boot; /* kind BOOTSECT_OTHER when it could not be read */
	char partuuid[37];    /* "" none, or not asked: see hostscan_run() */
	char text[512];       /* what it is, for the log: "NTFS, serial ...", "no NTFS (ext)", "cannot be read: ..." */
};

struct hostscan { /* zero-initialised is empty; release with hostscan_clear() */
	struct hostscan_device *items;
	size_t count;
};

/*
 * Looks at all block devices once: one sector of each, so that a damaged or encrypted volume costs no time, and the partition
 * table entry of partitions when want_partuuid, once for each that was not among the last (NULL: none). *ret is an initialised
 * one, not last, replaced on success. A device that cannot be read is an entry whose text says so. -ENOMEM, and the error of
 * listing /sys/class/block.
 */
int hostscan_run(bool want_partuuid, const struct hostscan *last, struct hostscan *ret, struct err *e);
void hostscan_clear(struct hostscan *s);

/* Is it worth a look: by the NTFS serial number, or by PARTUUID (whatever is on it now)? Size is no identity. */
bool hostscan_is_candidate(const struct hostscan_device *d, const struct map *m);

static inline void auto_hostscan(struct hostscan *s)
{
	hostscan_clear(s);
}

#endif
