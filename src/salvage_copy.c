/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes: read in large pieces, in small ones where that fails, and written where they are not zeros. */
#include "salvage_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "num.h"

#define PHASE "copy the image"
#define PIECE_BYTES NUM_MIB
#define RETRY_BYTES 4096u
#define HOLE_BYTES 4096u            /* what is looked at for zeros: a block of most file systems */
#define WINDOW_FIRST (16 * NUM_MIB) /* between two flushes: about a second, so that progress moves and a signal is seen */
#define WINDOW_MIN (8 * NUM_MIB)
#define WINDOW_MAX (256 * NUM_MIB)  /* a flush waits for all that is under way: few of them */

struct copy {
	const struct blkio *from;
	struct salvage *s;
	struct salvage_result *result;
	size_t capacity;        /* of result->bad */
	uint64_t read_bytes;    /* that were not bad */
	uint64_t flushed, window;
	int64_t flushed_ms;     /* when */
	uint8_t *buf;
};

/* What a medium says of sectors that it cannot give (block/blk-core.c: I/O, medium, protection and target errors). */
static bool is_bad_sector(int code)
{
	return code == -EIO || code == -ENODATA || code == -EILSEQ || code == -EREMOTEIO;
}

static int add_bad(struct copy *c, uint64_t offset, uint64_t n, struct err *e)
{
	struct salvage_result *r = c->result;
	struct salvage_range *last = r->bad_count ? &r->bad[r->bad_count - 1] : NULL;

	r->bad_bytes += n;
	if (last && last->offset_bytes + last->length_bytes == offset) {
		last->length_bytes += n;
		return 0;
	}
	if (!r->bad || r->bad_count == c->capacity) {
		size_t more = c->capacity ? 2 * c->capacity : 64;
		void *bigger = reallocarray(r->bad, more, sizeof(*r->bad));

		if (!bigger)
			return err_set(e, -ENOMEM, "list the bad ranges: out of memory");
		r->bad = bigger;
		c->capacity = more;
	}
	r->bad[r->bad_count++] = (struct salvage_range){ offset, n };
	return 0;
}

/* Reads n bytes in steps; a step that fails is read in smaller ones, and zeros where there are none. */
static int read_steps(struct copy *c, uint64_t offset, uint8_t *to, size_t n, size_t step, struct err *e)
{
	int code = 0;

	for (size_t at = 0; !code && at < n; at += step) {
		size_t part = n - at < step ? n - at : step;
		struct err why = ERR_INIT;

		code = blkio_read(c->from, offset + at, to + at, part, &why);
		if (!code) {
			c->read_bytes += part;
		} else if (!is_bad_sector(code)) {
			return err_set(e, code, "%s", why.text);
		} else if (step > RETRY_BYTES && step > c->from->sector_bytes) {
			code = read_steps(c, offset + at, to + at, part, RETRY_BYTES, e);
		} else if (step > c->from->sector_bytes) {
			code = read_steps(c, offset + at, to + at, part, c->from->sector_bytes, e);
		} else {
			memset(to + at, 0, part);
			code = add_bad(c, offset + at, part, e);
		}
	}
	return code;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	return p[0] == 0 && !memcmp(p, p + 1, n - 1);
}

static int put(const struct salvage *s, const uint8_t *p, size_t n, uint64_t offset, struct err *e)
{
	while (n) {
		ssize_t done = pwrite(s->fd, p, n, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			if (!done)
				errno = ENOSPC;
			return err_errno(e, "'%s': write at byte %" PRIu64, s->path, offset);
		}
		p += done;
		offset += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}

/* A new file is all holes; a device has something else where zeros belong. */
static int put_sparse(const struct salvage *s, const uint8_t *p, size_t n, uint64_t offset, struct err *e)
{
	size_t from = 0;
	int code = 0;

	if (s->is_block)
		return put(s, p, n, offset, e);
	for (size_t at = 0; !code && at < n;) {
		size_t part = n - at < HOLE_BYTES ? n - at : HOLE_BYTES;

		if (is_zero(p + at, part)) {
			code = put(s, p + from, at - from, offset + from, e);
			from = at + part;
		}
		at += part;
	}
	return code ? code : put(s, p + from, n - from, offset + from, e);
}

static int64_t now_ms(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* without a clock the window grows */
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int flush(struct copy *c, uint64_t done, bool last, struct err *e)
{
	int64_t took_ms;

	if (!last && done - c->flushed < c->window)
		return 0;
	if (fdatasync(c->s->fd)) /* never repeated: a second one after EIO reports success although the pages are lost */
		return err_errno(e, "'%s': flush", c->s->path);
	took_ms = now_ms() - c->flushed_ms;
	c->flushed_ms += took_ms;
	c->flushed = done;
	if (took_ms < 500 && c->window < WINDOW_MAX)
		c->window *= 2;
	else if (took_ms > 2000 && c->window > WINDOW_MIN)
		c->window /= 2;
	return 0;
}

static int copy_all(struct copy *c, const struct progress *p, struct err *e)
{
	uint64_t total = c->from->size_bytes;
	int code = progress_step(p, PHASE, 0, total, e);

	for (uint64_t at = 0; !code && at < total;) {
		size_t n = total - at < PIECE_BYTES ? (size_t)(total - at) : PIECE_BYTES;

		code = read_steps(c, at, c->buf, n, n, e);
		if (!code)
			code = put_sparse(c->s, c->buf, n, at, e);
		at += n;
		if (!code)
			code = flush(c, at, at == total, e);
		if (!code)
			code = progress_step(p, PHASE, c->flushed, total, e);
	}
	if (!code && !c->read_bytes)
		code = err_set(e, -EIO, "'%s': not one sector could be read: is the disk there?", c->from->name);
	return code;
}

int salvage_copy(const struct blkio *from, struct salvage *s, const struct progress *p, struct salvage_result *ret,
		 struct err *e)
{
	struct copy c = { .from = from, .s = s, .result = ret, .window = WINDOW_FIRST, .flushed_ms = now_ms() };
	int code;

	c.buf = malloc(PIECE_BYTES);
	if (!c.buf)
		return err_set(e, -ENOMEM, "'%s': out of memory", s->path);
	code = copy_all(&c, p, e);
	free(c.buf);
	return code;
}
