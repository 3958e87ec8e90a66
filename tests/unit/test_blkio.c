/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "blkio.h"

/* A back end that counts calls and bytes, and answers as it is told. */
struct probe {
	unsigned writes, zeros, flushes, releases;
	uint64_t written_bytes;
	size_t largest_write;
	int answer;
};

static int probe_read_at(void *ctx, uint64_t offset_bytes, void *buf, size_t n, struct err *e)
{
	(void)ctx;
	(void)offset_bytes;
	memset(buf, 0x5a, n);
	(void)e;
	return 0;
}

static int probe_write_at(void *ctx, uint64_t offset_bytes, const void *buf, size_t n, struct err *e)
{
	struct probe *p = ctx;
	const uint8_t *b = buf;

	(void)offset_bytes;
	assert_int_equal(b[0], 0);
	assert_int_equal(b[n - 1], 0);
	p->writes++;
	p->written_bytes += n;
	if (n > p->largest_write)
		p->largest_write = n;
	return p->writes == 3 && p->answer == -EIO ? err_set(e, -EIO, "third write") : 0;
}

static int probe_zero_at(void *ctx, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	struct probe *p = ctx;

	(void)offset_bytes;
	(void)n;
	p->zeros++;
	return p->answer != 0 ? err_set(e, p->answer, "zero answer") : 0;
}

static int probe_flush(void *ctx, struct err *e)
{
	struct probe *p = ctx;

	p->flushes++;
	return p->answer != 0 ? err_set(e, p->answer, "flush answer") : 0;
}

static void probe_release(void *ctx)
{
	struct probe *p = ctx;

	p->releases++;
}

static const struct blkio_ops ops_full = { probe_read_at, probe_write_at, probe_zero_at, probe_flush, probe_release };
static const struct blkio_ops ops_bare = { probe_read_at, probe_write_at, NULL, NULL, NULL };

static struct blkio device(const struct blkio_ops *ops, struct probe *p, uint64_t size_bytes)
{
	struct blkio io = { .ops = ops, .ctx = p, .size_bytes = size_bytes, .sector_bytes = 512, .writable = true };

	(void)snprintf(io.name, sizeof(io.name), "probe");
	return io;
}

static void test_range_outside_is_refused(void **state)
{
	struct probe p = { 0 };
	struct blkio io = device(&ops_full, &p, 1000);
	struct err e = ERR_INIT;
	uint8_t b[16];

	(void)state;
	assert_int_equal(blkio_read(&io, 1000, b, 1, &e), -EINVAL);
	assert_non_null(strstr(e.text, "'probe'"));
	assert_non_null(strstr(e.text, "1000"));
	assert_int_equal(blkio_read(&io, 990, b, 11, NULL), -EINVAL);
	assert_int_equal(blkio_read(&io, UINT64_MAX, b, 2, NULL), -EINVAL);
	assert_int_equal(blkio_write(&io, UINT64_MAX - 3, b, 16, NULL), -EINVAL);
	assert_int_equal(blkio_zero(&io, 1, 1000, NULL), -EINVAL);
	assert_int_equal(blkio_zero(&io, 1, UINT64_MAX, NULL), -EINVAL);
	assert_int_equal(p.writes + p.zeros, 0);
	assert_int_equal(blkio_read(&io, 990, b, 10, NULL), 0);
}

static void test_offsets_beyond_off_t_are_refused(void **state)
{
	struct probe p = { 0 };
	struct blkio io = device(&ops_full, &p, UINT64_MAX);
	uint8_t b[2];

	(void)state;
	assert_int_equal(blkio_read(&io, INT64_MAX, b, 1, NULL), -EINVAL);
	assert_int_equal(blkio_read(&io, (uint64_t)INT64_MAX - 1, b, 1, NULL), 0);
	assert_int_equal(blkio_zero(&io, 0, UINT64_MAX, NULL), -EINVAL);
}

static void test_read_only_is_erofs(void **state)
{
	struct probe p = { 0 };
	struct blkio io = device(&ops_full, &p, 1000);
	struct err e = ERR_INIT;
	uint8_t b = 0;

	(void)state;
	io.writable = false;
	assert_int_equal(blkio_write(&io, 0, &b, 1, &e), -EROFS);
	assert_non_null(strstr(e.text, "'probe'"));
	assert_int_equal(blkio_zero(&io, 0, 1, NULL), -EROFS);
	assert_int_equal(p.writes + p.zeros, 0);
	assert_int_equal(blkio_flush(&io, NULL), 0);
}

static void test_nothing_to_do_succeeds(void **state)
{
	struct blkio io = device(&ops_bare, NULL, 10);

	(void)state;
	io.writable = false;
	assert_int_equal(blkio_read(&io, 99, NULL, 0, NULL), 0);
	assert_int_equal(blkio_write(&io, 99, NULL, 0, NULL), 0);
	assert_int_equal(blkio_zero(&io, 99, 0, NULL), 0);
}

static void test_zero_in_pieces_without_an_operation(void **state)
{
	struct probe p = { 0 };
	struct blkio io = device(&ops_bare, &p, 8u << 20);

	(void)state;
	assert_int_equal(blkio_zero(&io, 5, (3u << 20) + 7, NULL), 0);
	assert_int_equal(p.written_bytes, (3u << 20) + 7);
	assert_int_equal(p.largest_write, 1u << 20);
	assert_int_equal(blkio_flush(&io, NULL), 0);
}

static void test_zero_failure_ends_it(void **state)
{
	struct probe p = { .answer = -EIO };
	struct blkio io = device(&ops_bare, &p, 8u << 20);
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(blkio_zero(&io, 0, 8u << 20, &e), -EIO);
	assert_int_equal(p.writes, 3);
	assert_string_equal(e.text, "third write");
}

static void test_zero_falls_back_only_when_unsupported(void **state)
{
	struct probe p = { .answer = -EOPNOTSUPP };
	struct blkio io = device(&ops_full, &p, 4096);
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(blkio_zero(&io, 0, 4096, &e), 0);
	assert_int_equal(p.zeros, 1);
	assert_int_equal(p.written_bytes, 4096);
	assert_int_equal(e.code, 0);
	p.answer = -ENOSPC;
	assert_int_equal(blkio_zero(&io, 0, 4096, &e), -ENOSPC);
	assert_int_equal(p.written_bytes, 4096);
	assert_string_equal(e.text, "zero answer");
}

static void test_flush_error_is_reported(void **state)
{
	struct probe p = { .answer = -EIO };
	struct blkio io = device(&ops_full, &p, 4096);

	(void)state;
	assert_int_equal(blkio_flush(&io, NULL), -EIO);
	assert_int_equal(p.flushes, 1);
}

static void test_release_and_free(void **state)
{
	struct probe p = { 0 };
	struct blkio *io = calloc(1, sizeof(*io));

	(void)state;
	assert_non_null(io);
	*io = device(&ops_full, &p, 1);
	blkio_free(io);
	assert_int_equal(p.releases, 1);
	assert_int_equal(p.flushes, 0);
	blkio_free(NULL);
	blkio_free(calloc(1, sizeof(*io))); /* half-built */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_range_outside_is_refused),
		cmocka_unit_test(test_offsets_beyond_off_t_are_refused),
		cmocka_unit_test(test_read_only_is_erofs),
		cmocka_unit_test(test_nothing_to_do_succeeds),
		cmocka_unit_test(test_zero_in_pieces_without_an_operation),
		cmocka_unit_test(test_zero_failure_ends_it),
		cmocka_unit_test(test_zero_falls_back_only_when_unsupported),
		cmocka_unit_test(test_flush_error_is_reported),
		cmocka_unit_test(test_release_and_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
