/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mapdev.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct mapdev {
	const struct blkio *base;
	struct extent_list extents;
};

/* The contiguous piece at 'logical_bytes', cut to at most n bytes. */
static int mapdev_find(const struct mapdev *m, uint64_t logical_bytes, uint64_t n, struct extent *ret, struct err *e)
{
	if (!extent_list_find(&m->extents, logical_bytes, ret))
		return err_set(e, -EINVAL, "image of '%s': no extent holds byte %" PRIu64, m->base->name,
			       logical_bytes);
	if (ret->length_bytes > n)
		ret->length_bytes = n;
	return 0;
}

static int mapdev_wrap(const struct mapdev *m, uint64_t logical_bytes, int rc, struct err *e)
{
	return err_wrap(e, rc, "image of '%s': byte %" PRIu64, m->base->name, logical_bytes);
}

static int mapdev_read_at(void *ctx, uint64_t offset_bytes, void *buf, size_t n, struct err *e)
{
	const struct mapdev *m = ctx;
	uint8_t *p = buf;

	while (n > 0) {
		struct extent x;
		int rc = mapdev_find(m, offset_bytes, n, &x, e);

		if (rc != 0)
			return rc;
		rc = blkio_read(m->base, x.physical_bytes, p, (size_t)x.length_bytes, e);
		if (rc != 0)
			return mapdev_wrap(m, offset_bytes, rc, e);
		offset_bytes += x.length_bytes;
		p += x.length_bytes;
		n -= (size_t)x.length_bytes;
	}
	return 0;
}

static int mapdev_write_at(void *ctx, uint64_t offset_bytes, const void *buf, size_t n, struct err *e)
{
	const struct mapdev *m = ctx;
	const uint8_t *p = buf;

	while (n > 0) {
		struct extent x;
		int rc = mapdev_find(m, offset_bytes, n, &x, e);

		if (rc != 0)
			return rc;
		rc = blkio_write(m->base, x.physical_bytes, p, (size_t)x.length_bytes, e);
		if (rc != 0)
			return mapdev_wrap(m, offset_bytes, rc, e);
		offset_bytes += x.length_bytes;
		p += x.length_bytes;
		n -= (size_t)x.length_bytes;
	}
	return 0;
}

static int mapdev_zero_at(void *ctx, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	const struct mapdev *m = ctx;

	while (n > 0) {
		struct extent x;
		int rc = mapdev_find(m, offset_bytes, n, &x, e);

		if (rc != 0)
			return rc;
		rc = blkio_zero(m->base, x.physical_bytes, x.length_bytes, e);
		if (rc != 0)
			return mapdev_wrap(m, offset_bytes, rc, e);
		offset_bytes += x.length_bytes;
		n -= x.length_bytes;
	}
	return 0;
}

static int mapdev_flush(void *ctx, struct err *e)
{
	const struct mapdev *m = ctx;

	return blkio_flush(m->base, e);
}

static void mapdev_release(void *ctx)
{
	struct mapdev *m = ctx;

	extent_list_clear(&m->extents);
	free(m);
}

static const struct blkio_ops mapdev_ops = {
	.read_at = mapdev_read_at,
	.write_at = mapdev_write_at,
	.zero_at = mapdev_zero_at,
	.flush = mapdev_flush,
	.release = mapdev_release,
};

int mapdev_new(const struct blkio *base, const struct extent_list *extents, struct blkio **ret, struct err *e)
{
	uint64_t bytes = extent_list_bytes(extents);
	AUTO(blkio) struct blkio *io = NULL;
	struct mapdev *m;
	int rc;

	rc = extent_list_check(extents, bytes, base->size_bytes, base->sector_bytes, e);
	if (rc != 0)
		return err_wrap(e, rc, "image of '%s'", base->name);
	m = calloc(1, sizeof(*m));
	io = calloc(1, sizeof(*io));
	if (m == NULL || io == NULL) {
		free(m);
		return err_set(e, -ENOMEM, "image of '%s': out of memory", base->name);
	}
	m->base = base;
	io->ops = &mapdev_ops;
	io->ctx = m;
	rc = extent_list_copy(extents, &m->extents, e);
	if (rc != 0)
		return err_wrap(e, rc, "image of '%s'", base->name);
	io->size_bytes = bytes;
	io->sector_bytes = base->sector_bytes;
	io->writable = base->writable;
	/* cut short where it does not fit: the name is for messages only */
	(void)snprintf(io->name, sizeof(io->name), "image of '%.240s'", base->name);
	*ret = TAKE(io);
	return 0;
}
