/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes: old signatures away, what is in use over, and is it there? */
#include "export_private.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "filedev.h"
#include "num.h"

#define STEP_BYTES NUM_MIB
#define FLUSH_BYTES (UINT64_C(64) * NUM_MIB)
#define WIPE_BYTES NUM_MIB /* as ext4fmt does: signatures of md, btrfs, ZFS and ISO 9660 lie in there */

#define PHASE_COPY "copy"
#define PHASE_COMPARE "compare"

struct copy {
	struct export_job *j;
	uint8_t *data, *other;   /* STEP_BYTES each */
	uint64_t put_bytes, flushed_bytes;
};

int export_wipe(struct export_job *j, struct err *e)
{
	uint64_t size = j->target->size_bytes, n = size < WIPE_BYTES ? size : WIPE_BYTES;
	int code = blkio_zero(j->target, 0, n, e);

	if (!code)
		code = blkio_zero(j->target, size - n, n, e);
	return code ? code : blkio_flush(j->target, e);
}

static int told(const struct copy *c, const char *phase, uint64_t done_bytes, struct err *e)
{
	return progress_step(c->j->progress, phase, done_bytes, c->j->info.used_bytes - EXT4USED_HEAD_BYTES, e);
}

static int flush(struct copy *c, struct err *e)
{
	int code = blkio_flush(c->j->target, e);

	if (!code)
		c->flushed_bytes = c->put_bytes;
	return code;
}

static int copy_step(struct copy *c, uint64_t offset_bytes, size_t n, struct err *e)
{
	int code = told(c, PHASE_COPY, c->flushed_bytes, e);

	if (!code)
		code = blkio_read(c->j->image, offset_bytes, c->data, n, e);
	if (!code)
		code = blkio_write(c->j->target, offset_bytes, c->data, n, e);
	c->put_bytes += n;
	return !code && c->put_bytes - c->flushed_bytes >= FLUSH_BYTES ? flush(c, e) : code;
}

static int compare_step(struct copy *c, uint64_t offset_bytes, size_t n, struct err *e)
{
	int code = told(c, PHASE_COMPARE, c->put_bytes, e);

	if (!code)
		code = blkio_read(c->j->image, offset_bytes, c->data, n, e);
	if (!code)
		code = blkio_read(c->j->target, offset_bytes, c->other, n, e);
	if (!code && memcmp(c->data, c->other, n) != 0)
		code = err_set(e, -EIO, "'%s' gives something else than was written to it, within %zu bytes from byte %" PRIu64
			       ": the disk or its cable is bad", c->j->target->name, n, offset_bytes);
	c->put_bytes += n;
	return code;
}

static int in_steps(struct copy *c, uint64_t offset_bytes, uint64_t n,
		    int (*step)(struct copy *c, uint64_t offset_bytes, size_t n, struct err *e), struct err *e)
{
	int code = 0;

	while (!code && n > 0) {
		size_t part = n < STEP_BYTES ? (size_t)n : STEP_BYTES;

		code = step(c, offset_bytes, part, e);
		offset_bytes += part;
		n -= part;
	}
	return code;
}

static int copy_piece(void *ctx, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	return in_steps(ctx, offset_bytes, n, copy_step, e);
}

static int compare_piece(void *ctx, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	return in_steps(ctx, offset_bytes, n, compare_step, e);
}

int export_copy(struct export_job *j, struct err *e)
{
	AUTO_FREE uint8_t *data = malloc(STEP_BYTES);
	struct copy c = { .j = j, .data = data };
	int code = data ? ext4used_each(j->used, copy_piece, &c, e) : err_set(e, -ENOMEM, "copy: out of memory");

	if (!code)
		code = flush(&c, e);
	return code ? code : told(&c, PHASE_COPY, c.flushed_bytes, e);
}

int export_compare(struct export_job *j, struct err *e)
{
	AUTO_FREE uint8_t *data = malloc(STEP_BYTES), *other = malloc(STEP_BYTES);
	struct copy c = { .j = j, .data = data, .other = other };
	int code = data && other ? filedev_drop_cache(j->target, e) : err_set(e, -ENOMEM, "compare: out of memory");

	if (!code)
		code = ext4used_each(j->used, compare_piece, &c, e);
	return code ? code : told(&c, PHASE_COMPARE, c.put_bytes, e);
}
