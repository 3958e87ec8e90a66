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

/* Adds the unsafe states of an open volume: hibernated, fast-startup, journal, dirty (unless forced). */
void session_check_state(struct session *s, bool force_dirty);

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

/* "/ubuntu/disks/root.disk" and "root" to "/ubuntu/disks/root.map". */
void image_map_path(const char *image, const char *name, char ret[NTFSVOL_PATH_MAX]);

/* "/ubuntu/disks/root.disk" to "root", "" if that gives no usable name. */
void image_name_from_path(const char *image, char ret[32]);

/* The host part of a map, from what is open. */
void session_fill_host(const struct session *s, struct map_host *ret);

/* Writes the map to each file, in order; the first failure stops. */
int image_write_maps(const struct map *m, const char *const *files, size_t count, struct err *e);

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
