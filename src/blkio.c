/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "blkio.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define BLKIO_ZERO_PIECE (1024u * 1024)

static int blkio_check(const struct blkio *io, const char *verb, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	/* off_t is signed: nothing beyond INT64_MAX can be reached, whatever the back end claims as its size */
	if (n <= io->size_bytes && offset_bytes <= io->size_bytes - n && offset_bytes + n <= INT64_MAX)
		return 0;
	return err_set(e, -EINVAL,
		       "'%s': %s %" PRIu64 " bytes at %" PRIu64 ": outside the device, which has %" PRIu64 " bytes",
		       io->name, verb, n, offset_bytes, io->size_bytes);
}

static int blkio_check_write(const struct blkio *io, const char *verb, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	int rc = blkio_check(io, verb, offset_bytes, n, e);

	if (rc != 0)
		return rc;
	if (io->writable && io->ops->write_at != NULL)
		return 0;
	return err_set(e, -EROFS, "'%s': %s %" PRIu64 " bytes at %" PRIu64 ": not opened for writing", io->name, verb,
		       n, offset_bytes);
}

int blkio_read(const struct blkio *io, uint64_t offset_bytes, void *buf, size_t n, struct err *e)
{
	int rc;

	if (n == 0)
		return 0;
	rc = blkio_check(io, "read", offset_bytes, n, e);
	if (rc != 0)
		return rc;
	return io->ops->read_at(io->ctx, offset_bytes, buf, n, e);
}

int blkio_write(const struct blkio *io, uint64_t offset_bytes, const void *buf, size_t n, struct err *e)
{
	int rc;

	if (n == 0)
		return 0;
	rc = blkio_check_write(io, "write", offset_bytes, n, e);
	if (rc != 0)
		return rc;
	return io->ops->write_at(io->ctx, offset_bytes, buf, n, e);
}

static int blkio_write_zeros(const struct blkio *io, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	size_t piece = n < BLKIO_ZERO_PIECE ? (size_t)n : BLKIO_ZERO_PIECE;
	AUTO_FREE void *zeros = calloc(1, piece);
	int rc = 0;

	if (zeros == NULL)
		return err_set(e, -ENOMEM, "'%s': out of memory", io->name);
	while (n > 0 && rc == 0) {
		size_t part = n < piece ? (size_t)n : piece;

		rc = io->ops->write_at(io->ctx, offset_bytes, zeros, part, e);
		offset_bytes += part;
		n -= part;
	}
	return rc;
}

int blkio_zero(const struct blkio *io, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	int rc;

	if (n == 0)
		return 0;
	rc = blkio_check_write(io, "zero", offset_bytes, n, e);
	if (rc != 0)
		return rc;
	if (io->ops->zero_at != NULL) {
		rc = io->ops->zero_at(io->ctx, offset_bytes, n, e);
		if (rc != -EOPNOTSUPP)
			return rc;
		err_clear(e);
	}
	return blkio_write_zeros(io, offset_bytes, n, e);
}

int blkio_flush(const struct blkio *io, struct err *e)
{
	if (io->ops->flush == NULL)
		return 0;
	return io->ops->flush(io->ctx, e);
}

void blkio_free(struct blkio *io)
{
	if (io == NULL)
		return;
	if (io->ops != NULL && io->ops->release != NULL)
		io->ops->release(io->ctx);
	free(io);
}
