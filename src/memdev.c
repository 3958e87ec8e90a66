/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "memdev.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct memdev {
	uint8_t *bytes;
};

static int memdev_read_at(void *ctx, uint64_t offset_bytes, void *buf, size_t n, struct err *e)
{
	const struct memdev *m = ctx;

	(void)e; /* memory does not fail */
	memcpy(buf, m->bytes + offset_bytes, n);
	return 0;
}

static int memdev_write_at(void *ctx, uint64_t offset_bytes, const void *buf, size_t n, struct err *e)
{
	struct memdev *m = ctx;

	(void)e;
	memcpy(m->bytes + offset_bytes, buf, n);
	return 0;
}

static int memdev_zero_at(void *ctx, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	struct memdev *m = ctx;

	(void)e;
	memset(m->bytes + offset_bytes, 0, (size_t)n);
	return 0;
}

static int memdev_flush(void *ctx, struct err *e)
{
	(void)ctx;
	(void)e;
	return 0;
}

static void memdev_release(void *ctx)
{
	struct memdev *m = ctx;

	free(m->bytes);
	free(m);
}

static const struct blkio_ops memdev_ops = {
	.read_at = memdev_read_at,
	.write_at = memdev_write_at,
	.zero_at = memdev_zero_at,
	.flush = memdev_flush,
	.release = memdev_release,
};

int memdev_new(const void *bytes, size_t n, bool writable, struct blkio **ret, struct err *e)
{
	struct memdev *m = calloc(1, sizeof(*m));
	AUTO(blkio) struct blkio *io = calloc(1, sizeof(*io));

	if (m == NULL || io == NULL) {
		free(m);
		return err_set(e, -ENOMEM, "memory device: out of memory");
	}
	io->ops = &memdev_ops;
	io->ctx = m;
	m->bytes = calloc(1, n == 0 ? 1 : n);
	if (m->bytes == NULL)
		return err_set(e, -ENOMEM, "memory device: out of memory");
	if (bytes != NULL)
		memcpy(m->bytes, bytes, n);
	io->size_bytes = n;
	io->sector_bytes = 512;
	io->writable = writable;
	(void)snprintf(io->name, sizeof(io->name), "memory"); /* fits */
	*ret = TAKE(io);
	return 0;
}

const uint8_t *memdev_bytes(const struct blkio *io)
{
	const struct memdev *m = io->ctx;

	return m->bytes;
}
