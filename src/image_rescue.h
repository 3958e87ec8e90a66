/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image_rescue - an image that is gone, by a map that was kept: what is left of it, copied out, or made a file again in place.
 *
 * Looking and copying only read the volume, whatever state it is in; what of NTFS cannot be read is said, and the copy is made
 * all the same. In place writes NTFS as create does, and only when nothing at all speaks against it.
 */
#ifndef WUBI_IMAGE_RESCUE_H
#define WUBI_IMAGE_RESCUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "canary.h"
#include "err.h"
#include "ext4fmt.h"
#include "map.h"
#include "ntfsvol.h"
#include "picture.h"
#include "progress.h"
#include "reuse.h"
#include "salvage.h"
#include "verdict.h"

#define IMAGE_RESCUE_OWNERS 20
#define IMAGE_RESCUE_TEXT 512

struct image_rescue_params { /* all borrowed */
	const char *volume;
	const struct map *map;
	const char *output;  /* a new file, or a block device; NULL: only look */
	bool replace;        /* a file or device that is there may be overwritten */
	bool host_map;       /* in place: write NAME.map beside the image */
	bool check_only;     /* everything but the writes */
};

struct image_rescue_owner {
	uint64_t record;
	uint64_t bytes;              /* of the old clusters */
	char path[NTFSVOL_PATH_MAX]; /* "": no folder leads to it */
};

enum image_rescue_fsck { IMAGE_RESCUE_FSCK_NOT_RUN, IMAGE_RESCUE_FSCK_CLEAN, IMAGE_RESCUE_FSCK_ERRORS, IMAGE_RESCUE_FSCK_FAILED };

/* What was found and done. Release with image_rescue_clear(). */
struct image_rescue {
	uint64_t total_bytes;
	bool known;                       /* false: what became of the clusters could not be told */
	char problem[IMAGE_RESCUE_TEXT];  /* why */
	struct verdict_result verdict;    /* of the map; VERDICT_UNKNOWN as well when not known */
	struct reuse_sums sums;
	struct reuse_sums *extents;       /* of each of the map's; NULL when not known */
	struct image_rescue_owner owners[IMAGE_RESCUE_OWNERS]; /* the most bytes first */
	size_t owner_count;               /* of the array */
	size_t owners_in_all;
	uint64_t damaged_records;         /* of $MFT: what they own is not known */
	struct picture picture;
	struct canary_result superblock;
	bool health_known;                /* it is an ext4 */
	struct ext4fmt_health health;
	bool copied;
	struct salvage_result copy;
	enum image_rescue_fsck fsck;      /* of the copy */
	char fsck_text[IMAGE_RESCUE_TEXT]; /* its last words */
	/* "" when all is as it should be, else the first that is true of: "reused", "unknown", "unowned", "bad-sectors",
	 * "superblock", "file-system" */
	const char *reason;
};

/*
 * Looks, and copies out when there is an output. *ret is overwritten, and holds what was found also after an error; an output is
 * complete, or it is not there (a device: whatever was written). Refusals: "not-this-volume", "bitlocker", "busy",
 * "same-volume", and what salvage_check() refuses. -ECANCELED.
 */
int image_rescue(const struct image_rescue_params *par, const struct progress *p, struct image_rescue *ret, struct err *e);

/*
 * Makes the file again over its old clusters. Refuses when the volume is unsafe, not all of them are free ("reused", "unowned",
 * "unknown"), the file system in there is not the map's ("superblock"), or its name is taken ("image-exists", "verdict-NAME").
 * *ret_map: the new map, with the id of the old one and the next generation, the caller's.
 */
int image_rescue_in_place(const struct image_rescue_params *par, const struct progress *p, struct image_rescue *ret,
			  struct map **ret_map, struct err *e);

void image_rescue_clear(struct image_rescue *r);

static inline void auto_image_rescue(struct image_rescue *r)
{
	image_rescue_clear(r);
}

#endif
