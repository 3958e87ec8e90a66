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

/* For reading, what is damaged too: where the medium fails, that is finding "unreadable", and s->v is NULL. */
int session_open_damaged(const char *volume, struct session *ret, struct err *e);

enum session_dirty { SESSION_DIRTY_REFUSED, SESSION_DIRTY_CAN_BE_FORCED, SESSION_DIRTY_FORCED };

/* Adds the unsafe states of an open volume: hibernated, fast-startup, journal, dirty (unless forced). */
void session_check_state(struct session *s, enum session_dirty dirty);

void session_close(struct session *s);

static inline void auto_session(struct session *s)
{
	session_close(s);
}

/*
 * An active device of ours on the volume, "" for none: dm's claim makes the open fail, but a user wants to read 'attached', not
 * 'busy'.
 */
int image_find_attached(const char *volume, char ret_name[128], struct err *e);

/* An image that chkdsk put into a found.NNN folder: a file whose content is an ext4 or swap. */
typedef int session_found_fn(void *ctx, const struct image_found *image, struct err *e);
int session_walk_found(struct session *s, session_found_fn *fn, void *ctx, const struct progress *p, struct err *e);

/* Adds a finding "image-in-found" for each of them. */
int session_check_found(struct session *s, struct report *r, const struct progress *p, struct err *e);

/* What is in a file of the volume: ext4, swap or none, and its UUID. */
int session_identify(struct session *s, const struct extent_list *extents, char ret_type[8], char ret_uuid[37],
		     struct err *e);

#define IMAGE_HOST_MAP_MAX (4u * 1024 * 1024) /* bytes of a map on the volume: 100,000 extents */
#define IMAGE_HOST_MAPS_MAX 16

/* A file of the volume as a map; 0 with *ret untouched when it cannot be one. I/O errors and -ENOMEM are errors. */
int session_read_map(struct session *s, uint64_t record, struct map **ret, struct err *e);

/* What a map is compared with. */
struct image_ident {
	const char *path;
	const struct ntfsvol_ref *ref; /* NULL: it is not there yet */
	const char *fs_uuid;           /* "" unknown */
};

/*
 * Is a map one of this image? Always of this volume, by its serial number. By its record; or by its path when the file system in
 * it is the map's (a restored backup copy): a path alone says nothing, other files come to lie there.
 */
enum map_match { MAP_MATCH_NONE, MAP_MATCH_CONTENT, MAP_MATCH_RECORD };
enum map_match session_match_map(const struct session *s, const struct map *m, const struct image_ident *id);

/* The maps in the image's folder (*.map) that are of this image. */
struct image_host_maps {
	struct {
		char path[NTFSVOL_PATH_MAX];
		struct map *map;
		enum map_match match;
	} items[IMAGE_HOST_MAPS_MAX];
	size_t count;
};
int session_maps_beside(struct session *s, const struct image_ident *id, struct image_host_maps *ret, struct err *e);
void image_host_maps_clear(struct image_host_maps *maps);

/* The one to continue: by record before by content, of this name before others, the highest generation. NULL: none. */
const struct map *image_host_maps_best(const struct image_host_maps *maps, const char *name);

/*
 * May a map of this name be put beside the image? Adds finding "map-exists" when something is at its path that is no map, the map
 * of another image, or the only map of one that is gone while its clusters may still hold the data.
 */
int session_check_host_map(struct session *s, const struct image_ident *id, const char *name, struct report *r,
			   struct err *e);

/* Stages the map beside its image, as text: what rescue goes by when the image's record is gone. */
int session_stage_host_map(struct session *s, const struct map *m, struct err *e);

/*
 * Is the image on the volume what its map says, from a fresh open, and strictly: sizes and attributes in its folder, too? -EIO.
 * The volume must not be open.
 */
int image_check_result(const char *volume, bool force_dirty, const struct map *m, struct err *e);

/*
 * Adds finding "lost-image" for each map in the image's folder or in /ubuntu/disks whose image is gone and whose clusters these
 * extents would take.
 */
int session_check_lost(struct session *s, const char *image, const struct extent_list *extents, struct report *r,
		       struct err *e);

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

/* "/ubuntu/disks/root.disk" and "root" to "/ubuntu/disks/root.map". -EINVAL: longer than a path can be. */
int image_map_path(const char *image, const char *name, char ret[NTFSVOL_PATH_MAX], struct err *e);

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
