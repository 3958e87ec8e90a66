/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * export - moving out: the ext4 in an image becomes the file system of a partition. The image is only read.
 *
 * Checks first, all of them. Then: both ends of the partition are zeroed -> what the file system has in use is copied, but for
 * its head with the superblock -> flush -> compared, past the cache -> the head, with a new UUID and a label that says that it is
 * not complete -> e2fsck, checksums for the new UUID (tune2fs), resize2fs to the size of the partition, e2fsck -> the label.
 * So whatever interrupts it, the partition holds nothing that is taken for a file system, or one that says that it is incomplete.
 * A second one with the UUID of the image is there only while e2fsck replays the journal of one that was not unmounted, and for
 * an old one whose checksums need that (uninit_bg) until tune2fs has made them anew.
 */
#ifndef WUBI_EXPORT_H
#define WUBI_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "blockdev.h"
#include "err.h"
#include "ext4fmt.h"
#include "map.h"
#include "ntfsvol.h"
#include "progress.h"
#include "report.h"

#define EXPORT_LABEL_INCOMPLETE "linux-incomplete" /* EXT4FMT_LABEL_MAX bytes */
#define EXPORT_LABEL_PREFIX "linux-"               /* and the name of the map, as far as it fits */

struct export_params { /* all borrowed */
	const char *volume;      /* the NTFS volume, a block device or a plain file */
	const struct map *map;
	const char *partition;   /* a block device, or a plain file that stands for one: its size stays */
	bool overwrite;          /* although something is on it */
};

struct export_plan {
	char image[NTFSVOL_PATH_MAX];  /* on the volume, as the map has it */
	uint64_t image_bytes, fs_bytes, used_bytes; /* used: what is copied, 0 if it could not be told */
	bool is_whole;                 /* all is copied: the journal is replayed in the copy, or the bitmaps are damaged */
	uint64_t partition_bytes;
	char found[160];               /* what is on the partition: "an 'ntfs'"; "": it is empty */
	struct report report;          /* what 'overwrite' does not help against; empty: it can go on */
};

/*
 * Reads only, but claims both as export_run() does. Findings about the partition: "same-volume", "busy", "attached",
 * "partitioned", "ldm", "storage-spaces", "raid", "reserved" (the EFI system partition and the like), "too-small",
 * "sector-size". Refusals about the image are returned: those of attach (verdicts), "not-ext4", "attached" and "busy" of the
 * volume. -ENOENT: a program of e2fsprogs is not there.
 */
int export_check(const struct export_params *par, const struct progress *p, struct export_plan *ret, struct err *e);

/* Refuses "not-empty", unless par->overwrite. */
int export_check_empty(const struct export_params *par, const struct export_plan *plan, struct err *e);

struct export_result {
	struct export_plan plan;
	char fs_uuid[37];              /* of the copy */
	char label[EXT4FMT_LABEL_MAX + 1];
};

/*
 * Does it; checks again first, and refuses "not-empty" unless par->overwrite. Phases of p: "copy", "compare" (bytes that are on
 * the disk), and the programs. -ECANCELED, errors of reading and writing, -ENOENT: a program of e2fsprogs is not there. The text
 * says what the partition is then.
 */
int export_run(const struct export_params *par, const struct progress *p, struct export_result *ret, struct err *e);

#endif
