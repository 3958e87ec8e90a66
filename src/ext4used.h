/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ext4used - which parts of an ext4 hold something, and what the start of a copy of it looks like that is no twin of the
 * original: another UUID. Reads only. A part of ext4fmt's adapter, by libext2fs.
 */
#ifndef WUBI_EXT4USED_H
#define WUBI_EXT4USED_H

#include <stdbool.h>
#include <stdint.h>

#include "auto.h"
#include "blkio.h"

/*
 * What is held back of a copy until all else of it is on the disk: without it nothing takes the rest for a file system. It holds
 * the superblock, whatever the size of a block is.
 */
#define EXT4USED_HEAD_BYTES 4096

struct ext4used; /* io of ext4used_open() is borrowed until ext4used_free() */

struct ext4used_info {
	uint64_t fs_bytes;    /* all of the file system; io may be larger */
	uint64_t used_bytes;  /* of it, what ext4used_each() tells; the head is counted */
	uint32_t block_bytes;
	bool is_whole;        /* its bitmaps are not the truth (a journal to be replayed, damage): all of it counts as used */
};

/*
 * -ENODATA: no ext2, ext3 or ext4. -EIO: read error, or it is damaged so that it cannot be opened. -EINVAL: it is larger than io.
 * -ENOMEM.
 */
int ext4used_open(const struct blkio *io, struct ext4used **ret, struct ext4used_info *ret_info, struct err *e);
void ext4used_free(struct ext4used *u);
DEFINE_AUTO(ext4used, struct ext4used *, ext4used_free);

/* In rising order, without the head, and in pieces of any length. fn's error, which ends it, is returned. */
typedef int ext4used_fn(void *ctx, uint64_t offset_bytes, uint64_t n, struct err *e);
int ext4used_each(const struct ext4used *u, ext4used_fn *fn, void *ctx, struct err *e);

/*
 * The head of a copy with another UUID and label (at most EXT4FMT_LABEL_MAX bytes). Checksums of metadata are made of the UUID;
 * so that they stay right, the feature metadata_csum_seed is set, which keeps the old seed: *ret_seeded, and 'tune2fs -O
 * ^metadata_csum_seed' makes them anew and takes it away. Where checksums depend on the UUID and there is no such way (uninit_bg
 * without metadata_csum), the old UUID stays: *ret_renamed is false. Read errors.
 */
int ext4used_head(const struct ext4used *u, const uint8_t uuid[16], const char *label, uint8_t ret[EXT4USED_HEAD_BYTES],
		  bool *ret_renamed, bool *ret_seeded, struct err *e);

#endif
