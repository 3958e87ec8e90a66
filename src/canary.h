/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * canary - does the image's content look like the file system that the map names? A second line of defence, not the proof.
 *
 * ext4: the superblock (offset 1024) and backup superblocks of sparse_super groups (1, and the last two that the image has)
 * carry the UUID; the superblock's block count must fit the mapped length (smaller is fine: a file system that was not
 * grown yet). swap: the header's signature and UUID. Read with our own parser: the boot program links no libext2fs.
 * Layout: Linux Documentation/filesystems/ext4/super.rst.
 */
#ifndef WUBI_CANARY_H
#define WUBI_CANARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blkio.h"

struct canary_result {
	bool known;       /* fs_type is one we have canaries for */
	bool ok;          /* all right */
	unsigned checked; /* places looked at */
	uint64_t fs_bytes; /* how large the file system says it is; 0: it is none, or not sane */
	bool other_uuid;  /* not ok for this alone: it is whole, and has another UUID than was asked for */
	bool suspended;   /* swap: it holds a hibernated session */
	char reason[160]; /* when not ok: which place, what was there */
};

/* Reads only. image is a mapdev. 0 with *ret, or the read error. fs_type "ext4", "swap"; others give known == false. */
int canary_check(const struct blkio *image, const char *fs_type, const char *fs_uuid, struct canary_result *ret,
		 struct err *e);

/* What is in there: fs_type[8] "ext4", "swap" or "none" and its UUID text, for the map of an image that exists. */
int canary_identify(const struct blkio *image, char ret_type[8], char ret_uuid[37], struct err *e);

#endif
