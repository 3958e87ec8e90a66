/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of an image that grows: copied, compared, zeroed - in clusters that are free until the commit. */
#include "image_grow_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "num.h"

#define CHUNK_BYTES NUM_MIB
#define STEP_BYTES (64 * NUM_MIB) /* between two flushes */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

struct copy {
	struct blkio *from, *to; /* the image where it is, and where it will be */
	uint8_t *buf, *again;
};

static int copy_range(const struct copy *c, uint64_t at, uint64_t n, struct err *e)
{
	int code = 0;

	for (uint64_t done = 0; !code && done < n; done += CHUNK_BYTES) {
		size_t part = (size_t)least(CHUNK_BYTES, n - done);

		code = blkio_read(c->from, at + done, c->buf, part, e);
		if (!code)
			code = blkio_write(c->to, at + done, c->buf, part, e);
	}
	return code;
}

/* Both from the medium, as far as the kernel can be told to go there. */
static int compare_range(const struct copy *c, uint64_t at, uint64_t n, struct err *e)
{
	int code = 0;

	for (uint64_t done = 0; !code && done < n; done += CHUNK_BYTES) {
		size_t part = (size_t)least(CHUNK_BYTES, n - done);

		code = blkio_read(c->from, at + done, c->buf, part, e);
		if (!code)
			code = blkio_read(c->to, at + done, c->again, part, e);
		if (!code && memcmp(c->buf, c->again, part) != 0)
			code = err_set(e, -EIO, "the copy of the %zu bytes at %llu of the image reads differently: the disk may "
				       "be failing; nothing was changed", part, (unsigned long long)(at + done));
	}
	return code;
}

static int copy_all(const struct copy *c, const struct session *s, uint64_t bytes, const struct progress *p, struct err *e)
{
	for (uint64_t at = 0; at < bytes;) {
		uint64_t n = least(STEP_BYTES, bytes - at);
		int code = copy_range(c, at, n, e);

		if (!code)
			code = blkio_flush(s->io, e); /* progress counts what is on the disk */
		if (!code)
			code = filedev_drop_cache(s->io, e);
		if (!code)
			code = compare_range(c, at, n, e);
		at += n;
		if (!code)
			code = progress_step(p, "copy the image", at, bytes, e);
		if (code)
			return code;
	}
	return 0;
}

static int relocate(const struct session *s, const struct image_grow_plan *plan, const struct progress *p, struct err *e)
{
	AUTO(blkio) struct blkio *from = NULL;
	AUTO(blkio) struct blkio *to = NULL;
	AUTO_FREE uint8_t *buf = malloc(2 * CHUNK_BYTES);
	int code;

	if (!buf)
		return err_set(e, -ENOMEM, "copy the image: out of memory");
	code = mapdev_new(s->io, &plan->before, &from, e);
	if (!code)
		code = mapdev_new(s->io, &plan->image.extents, &to, e);
	if (code)
		return code;
	return copy_all(&(struct copy){ from, to, buf, buf + CHUNK_BYTES }, s, plan->before_bytes, p, e);
}

/* What is behind the old end. */
static int zero_rest(const struct session *s, const struct image_grow_plan *plan, const struct progress *p, struct err *e)
{
	AUTO(blkio) struct blkio *image = NULL;
	uint64_t end = plan->image.size_bytes, all = end - plan->before_bytes;
	int code = mapdev_new(s->io, &plan->image.extents, &image, e);

	for (uint64_t at = plan->before_bytes; !code && at < end;) {
		uint64_t n = least(STEP_BYTES, end - at);

		code = blkio_zero(image, at, n, e);
		if (!code)
			code = blkio_flush(s->io, e);
		at += n;
		if (!code)
			code = progress_step(p, "zero what is new", at - plan->before_bytes, all, e);
	}
	return code;
}

int image_grow_write_data(const struct image_grow_params *par, const struct session *s, const struct image_grow_plan *plan,
			  const struct progress *p, struct err *e)
{
	int code = plan->relocates ? relocate(s, plan, p, e) : 0;

	return !code && par->zero ? zero_rest(s, plan, p, e) : code;
}
