/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * map - the extent map of one image, as data and as text. No I/O.
 *
 * The text (docs/architecture.md has the format): strict, canonical, one way to write a map, so that a changed digit
 * is seen. Header lines 'key value', lines 'extent LOGICAL PHYSICAL COUNT' in 512-byte sectors relative to the
 * partition's start, last line 'crc32 XXXXXXXX' over every byte before it. Fixed order of keys, '\n' ends each line.
 */
#ifndef WUBI_MAP_H
#define WUBI_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "extent.h"

#define MAP_VERSION 1
#define MAP_SECTOR_BYTES 512
#define MAP_UUID_TEXT 37 /* 36 characters and NUL, lower case */
#define MAP_TEXT_MAX (64u * 1024 * 1024)

struct map_host {
	uint64_t serial;             /* NTFS volume serial number, boot sector offset 0x48 */
	char partuuid[MAP_UUID_TEXT]; /* empty: the partition has none (a plain file, no table) */
	uint64_t partition_bytes;    /* size of the block device or file; a multiple of 512 */
	uint32_t cluster_bytes;
	uint32_t sector_bytes;
};

struct map {
	char map_id[MAP_UUID_TEXT]; /* random, made once per image */
	uint64_t generation;        /* 1 at create, + 1 each time the map is written again */
	char name[32];              /* 'root': [a-z][a-z0-9-]{0,30}, but not 'host' */
	char image[1024];           /* '/ubuntu/disks/root.disk', UTF-8, absolute, see map_image_is_valid() */
	uint64_t size_bytes;        /* of the image; the sum of the extents */
	uint64_t mft_record;
	uint16_t mft_sequence;
	struct map_host host;
	char fs_type[8];            /* "ext4", "swap", "none" */
	char fs_uuid[MAP_UUID_TEXT]; /* empty when fs_type is "none" */
	struct extent_list extents;
};

/* Text to map. Refuses (-EINVAL, with the line number) all that is not exactly what map_format() writes. *ret is the
 * caller's, release with map_free(). -ENOMEM. */
int map_parse(const char *text, size_t n, struct map **ret, struct err *e);

/* Map to text, after map_check(). *ret_text is the caller's, with a NUL behind ret_n bytes; free(). */
int map_format(const struct map *m, char **ret_text, size_t *ret_n, struct err *e);

/* Is the map sound in itself: names, sizes, extents inside the partition, alignment to the sector size? -EINVAL. */
int map_check(const struct map *m, struct err *e);

int map_copy(const struct map *m, struct map **ret, struct err *e);

/*
 * Is this a usable map name / image path? "host" is no name: /dev/mapper/wubi-host is taken (hostdev.h).
 * A path is absolute UTF-8, shorter than 1024 bytes, without empty components,
 * a '/' at the end, control characters, what Win32 forbids (\ : * ? " < > |), or components that end in '.' or ' '
 * (Windows cannot open those; "." and ".." are among them).
 */
bool map_name_is_valid(const char *name);
bool map_image_is_valid(const char *path);

void map_free(struct map *m); /* NULL is fine */
DEFINE_AUTO(map, struct map *, map_free);

#endif
