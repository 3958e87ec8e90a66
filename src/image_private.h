/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_private - what the image_*.c files share: an opened volume with what is known of it. */
#ifndef WUBI_IMAGE_PRIVATE_H
#define WUBI_IMAGE_PRIVATE_H

#include "canary.h"
#include "filedev.h"
#include "image.h"
#include "mapdev.h"
#include "mapfile.h"

#define IMAGE_README "/ubuntu/README.txt"
extern const char image_readme[]; /* what create puts there, and remove takes away when it is still that */

struct session {
	struct blkio *io;
	bool claimed;             /* opened for writing: nobody else has it */
	struct ntfsvol *v;        /* NULL: not NTFS or damaged; the report says so */
	struct blockdev_info device;
	struct bootsect boot;
	struct report report;     /* what is wrong with the volume as such */
};

/*
 * Opens the volume, claimed for writing when 'writable'. What forbids a change goes to the report, all of it: users,
 * partition type, BitLocker, not NTFS, damage. A busy volume is opened for reading, so that the report is whole.
 */
int session_open(const char *volume, bool writable, struct session *ret, struct err *e);

enum session_dirty { SESSION_DIRTY_REFUSED, SESSION_DIRTY_CAN_BE_FORCED, SESSION_DIRTY_FORCED };

/* Adds the unsafe states of an open volume: hibernated, fast-startup, journal, dirty (unless forced). */
void session_check_state(struct session *s, enum session_dirty dirty);

void session_close(struct session *s);

static inline void auto_session(struct session *s)
{
	session_close(s);
}

/* An image that chkdsk put into a found.NNN folder: a file whose content is an ext4 or swap. */
typedef int session_found_fn(void *ctx, const struct image_found *image, struct err *e);
int session_walk_found(struct session *s, session_found_fn *fn, void *ctx, struct err *e);

/* Adds a finding "image-in-found" for each of them. */
int session_check_found(struct session *s, struct report *r, struct err *e);

/* What is in a file of the volume: ext4, swap or none, and its UUID. */
int session_identify(struct session *s, const struct extent_list *extents, char ret_type[8], char ret_uuid[37],
		     struct err *e);

#define IMAGE_HOST_MAP_MAX (4u * 1024 * 1024) /* bytes of a map on the volume: 100,000 extents */

/* A file of the volume as a map; 0 with *ret untouched when it cannot be one. I/O errors and -ENOMEM are errors. */
int session_read_map(struct session *s, const char *path, struct map **ret, struct err *e);

/*
 * The map that lies beside an image: a *.map in its folder that names this path, or this record. *ret is NULL when there is
 * none; ret_path is where it lies. Only what can be parsed counts.
 */
int session_find_map(struct session *s, const char *image, const struct ntfsvol_ref *ref, struct map **ret,
		     char ret_path[NTFSVOL_PATH_MAX], struct err *e);

/*
 * May a map of this name be put beside the image? Adds finding "map-exists" when something is at its path that is not a map of
 * this very image, or the only map of an image that is lost but whose clusters are still free. ref is NULL for an image that
 * is not there yet.
 */
int session_check_host_map(struct session *s, const char *image, const char *name, const struct ntfsvol_ref *ref,
			   struct report *r, struct err *e);

/* May each of these files be written? Refusals and failures become findings "map-file"; -ENOMEM. */
int image_check_map_files(const char *const *files, size_t count, const char *volume, struct report *r, struct err *e);

/* Maps written beside their targets, to be put in place when the image is proven. Release with image_maps_drop(). */
struct image_maps {
	struct mapfile_pending items[IMAGE_MAPS_MAX];
	size_t count;
};
int image_maps_stage(const struct map *m, const char *const *files, size_t count, struct image_maps *ret, struct err *e);
int image_maps_publish(struct image_maps *maps, struct err *e);
void image_maps_drop(struct image_maps *maps);

/* "/ubuntu/disks/root.disk" and "root" to "/ubuntu/disks/root.map". */
void image_map_path(const char *image, const char *name, char ret[NTFSVOL_PATH_MAX]);

/* "/ubuntu/disks/root.disk" to "root", "" if that gives no usable name. */
void image_name_from_path(const char *image, char ret[32]);

/* The host part of a map, from what is open. */
void session_fill_host(const struct session *s, struct map_host *ret);

/* The name of a free-space cell's worth of clusters, for the picture. ctx is a struct picture_feed. */
struct picture_feed {
	struct picture *picture;
	uint32_t cluster_bytes;
};
void image_feed_picture(void *ctx, uint64_t lcn, uint64_t clusters);

/* Scans $Bitmap into a new freespace and the picture. params is completed from the session (volume, zone, bad clusters). */
int session_scan(struct session *s, struct freespace_params *params, struct picture *picture,
		 const struct progress *p, struct freespace **ret, struct freespace_summary *ret_summary,
		 struct err *e);

#endif
