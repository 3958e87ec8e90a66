/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image_grow - makes an image larger: in place, or by moving it to a free run that holds all of it.
 *
 * The order: preflight (one report) -> data, written and flushed into clusters that are still free -> the file, by one commit
 * that changes one MFT record -> a fresh open verifies the result -> the maps -> the file system in the image. Killed anywhere,
 * the volume's file is the old or the new one, and a map of the old one leads to either (VERDICT_GROWN, VERDICT_MOVED); what is
 * left to do then, the next run does.
 */
#ifndef WUBI_IMAGE_GROW_H
#define WUBI_IMAGE_GROW_H

#include "image.h"

struct image_grow_params { /* all borrowed */
	const char *volume;
	const char *maps[IMAGE_MAPS_MAX]; /* the first is read; all of them are written */
	size_t map_count;                 /* at least 1 */
	uint64_t size_bytes;              /* the whole size, or with 'more' what comes to the size of the map */
	bool more;
	unsigned max_extents;             /* of all of the image; 0: as many as it has, with relocate: 1 */
	bool relocate;                    /* move all of it */
	bool zero;                        /* zero what is new */
};

/* What preflight found and grow will do. Release with image_grow_plan_clear(). */
struct image_grow_plan {
	struct image_plan image;   /* as of create: the volume, the report, the image as it will be */
	struct map *map;           /* the one that was read; NULL: it could not be */
	struct extent_list before; /* where the file lies now */
	struct extent_list added;  /* clusters to take, by place */
	uint64_t before_bytes;     /* of the file now */
	uint64_t fs_bytes;         /* of the file system in it now, 0: none is known */
	bool grows;                /* the file changes: size, or place */
	bool relocates;
	bool stale_map;            /* the file is not where the map says: an earlier run did not come to its end */
};

void image_grow_plan_clear(struct image_grow_plan *plan);

enum image_grown_fs {
	IMAGE_GROWN_FS_FULL,    /* it had the size already, or there is none */
	IMAGE_GROWN_FS_DONE,
	IMAGE_GROWN_FS_PENDING, /* it is right, and smaller than the image: the installed system can grow it */
};

struct image_grown { /* release with image_grown_clear() */
	struct map *map;         /* as it was written */
	uint64_t before_bytes;
	bool grew, relocated;
	bool wrote_maps;
	enum image_grown_fs fs;
};

void image_grown_clear(struct image_grown *g);

/* shown: called with the plan after the preflight and before the first write; non-zero stops there, and is returned as 1. */
typedef int image_grow_shown_fn(void *ctx, const struct image_grow_plan *plan);

/*
 * Does all of it. Refusals as the report: those of create, and "attached", "shrink", "verdict-NAME" (the map is not the file's),
 * "suspended", "no-space", "fragmented", "attribute-list", "no-program". -EINVAL: a size that no volume can hold. -ECANCELED: p
 * asked to stop before the commit, and the volume's files are as they were.
 */
int image_grow(const struct image_grow_params *par, image_grow_shown_fn *shown, void *ctx, const struct progress *p,
	       struct image_grown *ret, struct err *e);

#endif
