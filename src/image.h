/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image - create, map and remove an image file on an NTFS volume: the steps and their order.
 *
 * create: preflight (one report) -> choose the runs -> write and flush the file system into clusters that are still
 * free -> commit the NTFS metadata -> write the maps -> verify from a fresh open. Nothing is written before the
 * preflight has passed, and no NTFS metadata before the data is flushed.
 */
#ifndef WUBI_IMAGE_H
#define WUBI_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blockdev.h"
#include "bootsect.h"
#include "err.h"
#include "extent.h"
#include "freespace.h"
#include "map.h"
#include "ntfsvol.h"
#include "picture.h"
#include "progress.h"
#include "report.h"
#include "verify.h"

#define IMAGE_MAPS_MAX 8
#define IMAGE_FOUND_MAX 32

struct image_params {
	const char *volume;
	const char *name;      /* "root" */
	const char *path;      /* image on the volume, or NULL: /ubuntu/disks/NAME.disk */
	uint64_t size_bytes;   /* as asked; rounded up to 1 MiB and to clusters */
	unsigned max_extents;
	const char *fs;        /* "ext4", "swap", "none" */
	const char *label;     /* of the file system, NULL: none */
	bool zero;             /* zero the image before formatting */
	bool host_map;         /* put NAME.map beside the image */
	bool force_dirty;      /* go on although the volume is dirty; it stays so */
	const char *maps[IMAGE_MAPS_MAX]; /* files to write the map to */
	size_t map_count;
};

/* What preflight found and create will do. Release with image_plan_clear(). */
struct image_plan {
	struct blockdev_info device;
	struct bootsect boot;
	struct ntfsvol_info volume;
	bool volume_known;                 /* false: not NTFS or cannot be opened, 'volume' is empty */
	struct freespace_summary free;
	bool free_known;
	char path[NTFSVOL_PATH_MAX];
	uint64_t size_bytes;               /* rounded */
	struct extent_list extents;        /* empty when the report has a finding that prevents the choice */
	struct picture picture;
	struct report report;              /* empty: create may go on */
};

/*
 * Reads only. 0 also when the report is not empty. A failure (I/O error, out of memory) is a negative errno.
 * It claims the volume as create would, so that "busy" is found.
 */
int image_preflight(const struct image_params *par, struct image_plan *ret, const struct progress *p, struct err *e);
void image_plan_clear(struct image_plan *plan);

/* shown: called with the plan after preflight and before the first write; non-zero stops there (dry run): returns 1. */
typedef int image_shown_fn(void *ctx, const struct image_plan *plan);

/*
 * Does all of it. *ret_map is the map that was written and verified, the caller's (map_free). Refusals as the report.
 * -ECANCELED when p asked to stop before the commit: the volume's metadata is as it was.
 */
int image_create(const struct image_params *par, image_shown_fn *shown, void *ctx, const struct progress *p,
		 struct map **ret_map, struct err *e);

/*
 * Derives a map from the MFT for an image that exists (also a restored backup). previous: a map of the same image to keep
 * the id of and count the generation from, NULL: the one beside the image, else a new id. -EINVAL: a bad request.
 * Refuses "compressed", "encrypted", "sparse", "resident", "reparse-point", "initialized-size", "map-exists", "map-file",
 * "busy", and the unsafe states. Writes nothing to the
 * volume unless host_map.
 */
struct image_map_params {
	const char *volume;
	const char *path;           /* NULL: /ubuntu/disks/root.disk */
	const char *name;           /* NULL: from the path's last part */
	const struct map *previous;
	bool host_map;
	bool force_dirty;
	bool check_only;            /* everything but the writes */
	const char *maps[IMAGE_MAPS_MAX];
	size_t map_count;
};
int image_map(const struct image_map_params *par, const struct progress *p, struct map **ret_map, struct err *e);

/*
 * Reads only: the map of an image as it is on the volume, without writing it anywhere. ret_picture NULL: $Bitmap is not read
 * for it.
 */
int image_derive(const char *volume, const char *path, struct map **ret_map, struct picture *ret_picture, struct err *e);

/*
 * m's file is gone, and another one with its file system has the name: a copy that was put back, or the image made again. Was it
 * taken over, so that the map beside it is m's successor: the same id, name, path and file system, another MFT reference? *ret is
 * the caller's, NULL: there is none. It has to be verified as any map. Reads only. -ENOMEM, -EIO.
 */
int image_successor(const struct blkio *io, const struct map *m, struct map **ret, struct err *e);

/*
 * Removes exactly this image (and the map beside it, README.txt and the folders when nothing else is left in them), and frees
 * its clusters. Refuses when the volume is unsafe or the image attached. check_only: everything but the writes.
 */
int image_remove(const char *volume, const char *path, bool check_only, const struct progress *p, uint64_t *ret_bytes,
		 struct err *e);

/* What 'info' shows. Holds nothing that must be released. */
struct image_found {
	char path[NTFSVOL_PATH_MAX];
	uint64_t size_bytes;
	uint64_t extents;
	char fs_type[8];
	char fs_uuid[37];
};

struct image_info {
	struct blockdev_info device;
	struct bootsect boot;
	struct ntfsvol_info volume;
	bool volume_known;
	struct freespace_summary free;
	struct image_found images[IMAGE_FOUND_MAX]; /* *.disk below /ubuntu/disks, and what found.NNN holds */
	size_t image_count;
	struct picture picture;
	struct report report; /* what create would refuse, states only */
};

int image_info(const char *volume, struct image_info *ret, const struct progress *p, struct err *e);

/* "/ubuntu/disks/root.disk" to "root", "" if that gives no usable name. */
void image_name_from_path(const char *image, char ret[32]);

/* Where an image of this name lies by default. */
void image_default_path(const char *name, char ret[NTFSVOL_PATH_MAX]);

/*
 * Attaches by a verified map: dm device created, table loaded (this claims the partition), verified once more, resumed. volume is
 * a block device. Refusals: verdicts (reason "verdict-NAME"), "not-a-block-device", "busy". *ret_name: "wubi-root".
 * image_attach_check() does all that comes before the dm device; *ret_extents is the caller's to clear.
 */
int image_attach_check(const char *volume, const struct map *m, struct extent_list *ret_extents, struct err *e);
int image_attach(const char *volume, const struct map *m, bool readonly, char ret_name[128], struct err *e);
int image_detach(const char *name, struct err *e); /* "root", "wubi-root" or /dev/mapper/wubi-root */

#endif
