/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ext4io - private to ext4fmt: a blkio as libext2fs sees one, with progress, cancelling and the
 * first error latched.
 *
 * Nothing is cached: each call of the library is one call of the blkio; zeroing goes in steps.
 */
#ifndef WUBI_EXT4IO_H
#define WUBI_EXT4IO_H

#include <stdbool.h>
#include <stdint.h>

#include <ext2fs/ext2fs.h>

#include "blkio.h"
#include "progress.h"

#define EXT4IO_PHASE "format ext4"

struct ext4io {
	const struct blkio *io;          /* borrowed */
	const struct progress *progress; /* borrowed, or NULL */
	uint64_t total_bytes;            /* about what will be written, for progress */
	uint64_t put_bytes;              /* written and zeroed so far */
	uint64_t flushed_bytes;          /* of put_bytes */
	uint64_t written_bytes;          /* of put_bytes, without what was zeroed */
	int code;                        /* the first failure: all fails with it from then on */
	struct err first;
};

/* The library's way in: names what the next open of the manager is for (NULL: nothing). */
io_manager ext4io_expose(struct ext4io *x);

/* Ours: the same checks and the same latch. 0, or the latched negative errno. */
int ext4io_step(struct ext4io *x);
int ext4io_zero(struct ext4io *x, uint64_t offset_bytes, uint64_t n);
int ext4io_flush(struct ext4io *x);

#endif
