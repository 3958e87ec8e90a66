/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gunzip.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>

#define BUFFER_BYTES 65536
#define GZIP_ONLY (16 + MAX_WBITS) /* inflateInit2(): neither zlib's format nor a bare stream */

struct gunzip {
	gunzip_read_fn *read;
	void *ctx;
	z_stream z;
	uint64_t read_bytes;
	bool at_end;
	unsigned char buffer[BUFFER_BYTES];
};

int gunzip_new(gunzip_read_fn *read, void *ctx, struct gunzip **ret, struct err *e)
{
	struct gunzip *g = calloc(1, sizeof(*g));

	if (!g || inflateInit2(&g->z, GZIP_ONLY) != Z_OK) {
		free(g);
		return err_set(e, -ENOMEM, "out of memory");
	}
	g->read = read;
	g->ctx = ctx;
	*ret = g;
	return 0;
}

static int fill(struct gunzip *g, struct err *e)
{
	size_t n;
	int r = g->read(g->ctx, g->buffer, sizeof(g->buffer), &n, e);

	if (r)
		return r;
	if (n == 0)
		return err_set(e, -EINVAL, "gzip: cut off");
	g->z.next_in = g->buffer;
	g->z.avail_in = (uInt)n;
	g->read_bytes += n;
	return 0;
}

int gunzip_read(struct gunzip *g, void *buf, size_t n, size_t *ret_n, struct err *e)
{
	uInt room = n < UINT_MAX ? (uInt)n : UINT_MAX;
	int r;

	g->z.next_out = buf;
	g->z.avail_out = room;
	while (!g->at_end && g->z.avail_out == room) {
		r = g->z.avail_in ? 0 : fill(g, e);
		if (r)
			return r;
		r = inflate(&g->z, Z_NO_FLUSH);
		if (r == Z_MEM_ERROR)
			return err_set(e, -ENOMEM, "out of memory");
		if (r != Z_OK && r != Z_STREAM_END)
			return err_set(e, -EINVAL, "gzip: %s", g->z.msg ? g->z.msg : "damaged");
		g->at_end = r == Z_STREAM_END;
	}
	*ret_n = room - g->z.avail_out;
	return 0;
}

uint64_t gunzip_used_bytes(const struct gunzip *g)
{
	return g->read_bytes - g->z.avail_in;
}

void gunzip_free(struct gunzip *g)
{
	if (!g)
		return;
	(void)inflateEnd(&g->z); /* only frees */
	free(g);
}
