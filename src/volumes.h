/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * volumes - where could Linux go? Every partition of every disk, what is on it, and of NTFS volumes whether an image can be made
 * there, with the reason if not. Reads only, but for volumes_unmount().
 */
#ifndef WUBI_VOLUMES_H
#define WUBI_VOLUMES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "disks.h"
#include "err.h"
#include "image.h"
#include "report.h"

enum volumes_kind { VOLUMES_OTHER, VOLUMES_NTFS, VOLUMES_ESP };

struct volumes_row {
	const struct disks_disk *disk;           /* in the list's disks */
	char path[DISKS_PATH_MAX];               /* of the partition, or of a disk without a table */
	enum volumes_kind kind;
	char what[40];                           /* "ntfs", "vfat", "BitLocker", "ext4", "-" */
	char label[128];                         /* the file system's */
	char partuuid[37];
	char serial[17];                         /* NTFS: 16 hex digits */
	char esp_uuid[16];                       /* ESP: "ABCD-1234" */
	uint64_t size_bytes, free_bytes, largest_run_bytes; /* of what is free; 0 where it is not known */
	char mounted[PATH_MAX];                  /* "" not; the live desktop's automount mostly */
	bool is_usable;                          /* an image of needed_bytes can be made */
	char state[40];                          /* for the table: "ok", "dirty", "Fast Startup", "mounted", "-" ... */
	char reason[ERR_REASON_MAX];             /* of the refusal, as in docs/architecture.md; "" none */
	char text[400];                          /* what was found, what it risks, what to do */
	size_t image_count;                      /* images of ours that are there */
	char image[128];                         /* the first one's path */
};

struct volumes { /* zero-initialised is empty; volumes_clear() */
	struct disks disks;
	struct volumes_row *rows;
	size_t count;
};

/*
 * paths as for disks_read(). needed_bytes: of the image in one run; 0: any size. What cannot be read is a row that says so,
 * without a reason when it is a failure (I/O) and no refusal. *ret is an initialised one, replaced on success; the disks stay
 * locked against udev's second look at their tables (disks.h) until volumes_clear().
 */
int volumes_scan(const char *const *paths, uint64_t needed_bytes, struct volumes *ret, struct err *e);
void volumes_clear(struct volumes *v);

/*
 * The row that 'spec' names: "/dev/sda3" (or a link to it), "PARTUUID=...", "LABEL=...", "SERIAL=...", "UUID=..." (the serial as
 * blkid has it), or any of these values without the word; labels count case. kind: what it has to be. There is no default: spec
 * NULL or "" is refused. Refusals: "no-volume" (none, or one of another kind: lists what there is), "several-volumes" (names
 * them); of kind VOLUMES_ESP "no-esp", "several-esps"; a partition of no known kind whose row has a reason, that reason. One that
 * could not be read is -EIO. Whether an image can be made there is not looked at.
 */
int volumes_choose(const struct volumes *v, const char *spec, enum volumes_kind kind, const struct volumes_row **ret,
		   struct err *e);

/*
 * The EFI system partition that goes with this volume: the only one on the same disk; none there: the only one of all disks, but
 * not that of a live medium (a disk with an ISO 9660 file system on it). spec NULL or ""; else as volumes_choose(). Refusals
 * "no-esp", "several-esps".
 */
int volumes_esp(const struct volumes *v, const struct volumes_row *volume, const char *spec, const struct volumes_row **ret,
		struct err *e);

/*
 * Unmounts all mounts of the block device (for --unmount), the last first, and waits until the driver has let go of it: it can be
 * claimed then. 0 also when it is not mounted. -EBUSY: in use, with what to do.
 */
int volumes_unmount(const char *path, struct err *e);

static inline void auto_volumes(struct volumes *v)
{
	volumes_clear(v);
}

#endif
