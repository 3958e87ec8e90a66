/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blkio - the seam between what computes and what stores: bytes at an offset.
 *
 * Back ends: filedev (a file or block device), memdev (tests), mapdev (an image seen through its extents), stage (an
 * overlay in memory over another one). Short reads and writes are errors; every range is checked against size_bytes.
 */
#ifndef WUBI_BLKIO_H
#define WUBI_BLKIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auto.h"
#include "err.h"

struct blkio_ops {
	int (*read_at)(void *ctx, uint64_t offset_bytes, void *buf, size_t n, struct err *e);
	int (*write_at)(void *ctx, uint64_t offset_bytes, const void *buf, size_t n, struct err *e);
	/* Makes a range read as zeros, without moving bytes where the storage can do that itself. NULL, or -EOPNOTSUPP
	 * before anything was changed: blkio_zero() writes zeros through write_at. */
	int (*zero_at)(void *ctx, uint64_t offset_bytes, uint64_t n, struct err *e);
	int (*flush)(void *ctx, struct err *e); /* 0: all writes so far are on the medium */
	void (*release)(void *ctx);             /* frees ctx; never writes. NULL: nothing to free */
};

struct blkio {
	const struct blkio_ops *ops;
	void *ctx;
	uint64_t size_bytes;
	uint32_t sector_bytes; /* logical sector of the device; 512 for files unless told otherwise */
	bool writable;
	char name[256];        /* for messages: the path, or "image of '/dev/sda2'" */
};

/*
 * All return 0 or a negative errno with e set: -EINVAL for a range outside the device, -EROFS for a write to one that
 * is not writable, otherwise what the back end says. n == 0 succeeds. Errors name the object and the offset.
 */
int blkio_read(const struct blkio *io, uint64_t offset_bytes, void *buf, size_t n, struct err *e);
int blkio_write(const struct blkio *io, uint64_t offset_bytes, const void *buf, size_t n, struct err *e);
int blkio_zero(const struct blkio *io, uint64_t offset_bytes, uint64_t n, struct err *e);
int blkio_flush(const struct blkio *io, struct err *e);

/* NULL is fine; releases the back end and frees io itself. Flushes nothing. */
void blkio_free(struct blkio *io);
DEFINE_AUTO(blkio, struct blkio *, blkio_free);

#endif
