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

#include "memdev.h"
#include "stage.h"

#define SIZE (64u * 1024 + 1536) /* the last page is three sectors */

static struct blkio *new_base(bool writable)
{
	struct blkio *io = NULL;
	uint8_t *bytes = malloc(SIZE);

	assert_non_null(bytes);
	for (unsigned i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)(i / 512);
	assert_int_equal(memdev_new(bytes, SIZE, writable, &io, NULL), 0);
	free(bytes);
	return io;
}

static void write_all_out(const struct blkio *stage)
{
	struct stage_run *runs = NULL;
	size_t count = 0;

	assert_int_equal(stage_runs(stage, &runs, &count, NULL), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(stage_write_out(stage, runs[i].offset_bytes, runs[i].n, NULL), 0);
	free(runs);
	assert_int_equal(stage_bytes(stage), 0);
	assert_int_equal(stage_runs(stage, &runs, &count, NULL), 0);
	assert_int_equal(count, 0);
	free(runs);
}

static void test_limits(void **state)
{
	AUTO(blkio) struct blkio *base = new_base(false);
	AUTO(blkio) struct blkio *st = NULL;
	uint8_t b[2] = { 0 };

	(void)state;
	assert_int_equal(stage_new(base, &st, NULL), 0);
	assert_int_equal(st->size_bytes, SIZE);
	assert_string_equal(st->name, base->name);
	assert_true(st->writable);
	assert_int_equal(blkio_read(st, SIZE - 1, b, 2, NULL), -EINVAL);
	assert_int_equal(blkio_write(st, SIZE - 1, b, 2, NULL), -EINVAL);
	assert_int_equal(stage_bytes(st), 0);
	assert_int_equal(blkio_flush(st, NULL), 0);
}

static void test_partial_sector_keeps_the_rest(void **state)
{
	AUTO(blkio) struct blkio *base = new_base(false);
	AUTO(blkio) struct blkio *st = NULL;
	struct stage_run *runs = NULL;
	size_t count = 0;
	uint8_t b[SIZE];

	(void)state;
	assert_int_equal(stage_new(base, &st, NULL), 0);
	assert_int_equal(blkio_write(st, 4096 * 2 - 3, "abcdefg", 7, NULL), 0); /* two pages, two sectors */
	assert_int_equal(stage_bytes(st), 1024);
	assert_int_equal(blkio_read(st, 0, b, SIZE, NULL), 0);
	assert_memory_equal(b + 4096 * 2 - 3, "abcdefg", 7);
	for (unsigned i = 0; i < SIZE; i++)
		if (i < 4096 * 2 - 3 || i >= 4096 * 2 + 4)
			assert_int_equal(b[i], (uint8_t)(i / 512));
	assert_int_equal(memdev_bytes(base)[4096 * 2 - 3], 15); /* base is untouched */
	assert_int_equal(stage_runs(st, &runs, &count, NULL), 0);
	assert_int_equal(count, 2); /* split at the page border */
	assert_int_equal(runs[0].offset_bytes, 4096 * 2 - 512);
	assert_int_equal(runs[0].n, 512);
	assert_int_equal(runs[0].bytes[0], 15);
	assert_int_equal(runs[1].offset_bytes, 4096 * 2);
	assert_int_equal(stage_write_out(st, runs[0].offset_bytes, runs[0].n, NULL), -EROFS);
	assert_int_equal(stage_bytes(st), 1024);
	free(runs);
}

static void test_last_page_is_partial(void **state)
{
	AUTO(blkio) struct blkio *base = new_base(true);
	AUTO(blkio) struct blkio *st = NULL;
	struct stage_run *runs = NULL;
	size_t count = 0;

	(void)state;
	assert_int_equal(stage_new(base, &st, NULL), 0);
	assert_int_equal(blkio_write(st, SIZE - 1, "z", 1, NULL), 0);
	assert_int_equal(blkio_zero(st, SIZE - 1536, 512, NULL), 0);
	assert_int_equal(stage_runs(st, &runs, &count, NULL), 0);
	assert_int_equal(count, 2);
	assert_int_equal(runs[0].offset_bytes, SIZE - 1536);
	assert_int_equal(runs[1].offset_bytes, SIZE - 512);
	assert_int_equal(runs[1].n, 512);
	free(runs);
	write_all_out(st);
	assert_int_equal(memdev_bytes(base)[SIZE - 1], 'z');
	assert_int_equal(memdev_bytes(base)[SIZE - 2], 130);
	assert_int_equal(memdev_bytes(base)[SIZE - 1025], 0);
	assert_int_equal(memdev_bytes(base)[SIZE - 1024], 129);
}

static void test_written_out_stays_readable_and_can_be_staged_again(void **state)
{
	AUTO(blkio) struct blkio *base = new_base(true);
	AUTO(blkio) struct blkio *st = NULL;
	struct stage_run *runs = NULL;
	size_t count = 0;
	char b[3];

	(void)state;
	assert_int_equal(stage_new(base, &st, NULL), 0);
	assert_int_equal(blkio_write(st, 1000, "one", 3, NULL), 0);
	assert_int_equal(stage_runs(st, &runs, &count, NULL), 0);
	assert_int_equal(stage_seq(st, runs[0].offset_bytes, runs[0].n), 1);
	free(runs);
	write_all_out(st);
	assert_int_equal(blkio_read(st, 1000, b, 3, NULL), 0);
	assert_memory_equal(b, "one", 3);
	assert_int_equal(blkio_write(st, 1000, "two", 3, NULL), 0);
	assert_memory_equal(memdev_bytes(base) + 1000, "one", 3);
	assert_int_equal(stage_runs(st, &runs, &count, NULL), 0);
	assert_int_equal(count, 1);
	assert_true(stage_seq(st, runs[0].offset_bytes, runs[0].n) > 1);
	free(runs);
	write_all_out(st);
	assert_memory_equal(memdev_bytes(base) + 1000, "two", 3);
}

/* A range is written in one go; what was not staged in it keeps base's bytes. */
static void test_write_out_over_a_gap(void **state)
{
	AUTO(blkio) struct blkio *base = new_base(true);
	AUTO(blkio) struct blkio *st = NULL;
	uint8_t before[SIZE];

	(void)state;
	assert_int_equal(stage_new(base, &st, NULL), 0);
	memcpy(before, memdev_bytes(base), SIZE);
	assert_int_equal(blkio_write(st, 4096, "first", 5, NULL), 0);
	assert_int_equal(blkio_write(st, 12288, "second", 6, NULL), 0);
	assert_int_equal(blkio_write(st, 20480, "third", 5, NULL), 0);
	assert_int_equal(stage_seq(st, 4096, 512), 1);
	assert_int_equal(stage_seq(st, 4608, 7680), 0);
	assert_int_equal(stage_seq(st, 0, 16384), 2);
	assert_int_equal(stage_write_out(st, 4096, 8704, NULL), 0);
	assert_int_equal(stage_bytes(st), 512); /* the third */
	memcpy(before + 4096, "first", 5);
	memcpy(before + 12288, "second", 6);
	assert_memory_equal(memdev_bytes(base), before, SIZE);
	assert_int_equal(stage_write_out(st, SIZE - 512, 1024, NULL), -EINVAL);
}

static void test_through(void **state)
{
	AUTO(blkio) struct blkio *base = new_base(true);
	AUTO(blkio) struct blkio *st = NULL;
	uint8_t sector[512];
	char b[4];

	(void)state;
	memset(sector, 0xcc, sizeof(sector));
	assert_int_equal(stage_new(base, &st, NULL), 0);
	assert_int_equal(blkio_write(st, 512, "staged", 6, NULL), 0);
	assert_int_equal(blkio_write(st, 1024, "staged", 6, NULL), 0);
	stage_set_through(st, true);
	assert_int_equal(blkio_write(st, 512, sector, 512, NULL), 0); /* the whole sector: base has the last word */
	assert_int_equal(stage_bytes(st), 512);
	assert_int_equal(blkio_write(st, 1024, "X", 1, NULL), 0); /* a part of a staged one: the rest is still due */
	assert_int_equal(stage_bytes(st), 512);
	assert_int_equal(memdev_bytes(base)[512], 0xcc);
	assert_memory_equal(memdev_bytes(base) + 1024, "X\2\2", 3);
	assert_int_equal(blkio_write(st, 1536, "Y", 1, NULL), 0); /* same page, not staged */
	assert_int_equal(blkio_zero(st, 8192, 512, NULL), 0);     /* a page that is not there */
	assert_int_equal(memdev_bytes(base)[8192], 0);
	assert_int_equal(blkio_flush(st, NULL), 0);
	stage_set_through(st, false);
	assert_int_equal(blkio_read(st, 1536, b, 2, NULL), 0);
	assert_memory_equal(b, "Y\3", 2);
	assert_int_equal(blkio_write(st, 1538, "Z", 1, NULL), 0);
	assert_int_equal(blkio_read(st, 1536, b, 4, NULL), 0);
	assert_memory_equal(b, "Y\3Z\3", 4);
	write_all_out(st);
	assert_memory_equal(memdev_bytes(base) + 1024, "Xtaged\2", 7);
	assert_memory_equal(memdev_bytes(base) + 1536, "Y\3Z\3", 4);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Against a plain array: whatever the order of writes, write-outs and through writes, reads and base come out the same. */
static void test_random_against_a_plain_array(void **state)
{
	AUTO(blkio) struct blkio *base = new_base(true);
	AUTO(blkio) struct blkio *st = NULL;
	uint8_t model[SIZE], b[SIZE];
	uint32_t seed = 7;

	(void)state;
	assert_int_equal(stage_new(base, &st, NULL), 0);
	memcpy(model, memdev_bytes(base), SIZE);
	for (unsigned i = 0; i < 6000; i++) {
		uint32_t at = next_random(&seed) % SIZE;
		uint32_t n = 1 + next_random(&seed) % 9000;

		n = n > SIZE - at ? SIZE - at : n;
		memset(b, (int)(i & 0xff), n);
		if (i % 500 == 499)
			write_all_out(st);
		stage_set_through(st, i % 7 == 0);
		if (i % 3 == 0) {
			memset(b, 0, n);
			assert_int_equal(blkio_zero(st, at, n, NULL), 0);
		} else {
			assert_int_equal(blkio_write(st, at, b, n, NULL), 0);
		}
		memcpy(model + at, b, n);
		assert_int_equal(blkio_read(st, at / 2, b, SIZE - at, NULL), 0);
		assert_memory_equal(b, model + at / 2, SIZE - at);
	}
	write_all_out(st);
	assert_memory_equal(memdev_bytes(base), model, SIZE);
}

/* A base of 1 TiB that reads as zeros and counts reads. */
static int big_read_at(void *ctx, uint64_t offset_bytes, void *buf, size_t n, struct err *e)
{
	unsigned *reads = ctx;

	(void)offset_bytes;
	(void)e;
	(*reads)++;
	memset(buf, 0, n);
	return 0;
}

static const struct blkio_ops big_ops = { .read_at = big_read_at };

static void test_large_stage(void **state)
{
	unsigned reads = 0;
	struct blkio big = { .ops = &big_ops, .ctx = &reads, .size_bytes = UINT64_C(1) << 40, .sector_bytes = 512 };
	AUTO(blkio) struct blkio *st = NULL;
	AUTO_FREE uint8_t *b = malloc(1u << 20);
	struct stage_run *runs = NULL;
	size_t count = 0;

	(void)state;
	assert_non_null(b);
	memset(b, 0xff, 1u << 20);
	assert_int_equal(stage_new(&big, &st, NULL), 0);
	for (unsigned i = 32; i-- > 0;) /* downwards, far apart and aligned: hard on a poor hash */
		assert_int_equal(blkio_write(st, (uint64_t)i << 34, b, 1u << 20, NULL), 0);
	assert_int_equal(reads, 0); /* whole sectors need nothing from base */
	assert_int_equal(stage_bytes(st), 32u << 20);
	assert_int_equal(stage_runs(st, &runs, &count, NULL), 0);
	assert_int_equal(count, 8192);
	for (size_t i = 1; i < count; i++)
		assert_true(runs[i].offset_bytes > runs[i - 1].offset_bytes);
	assert_int_equal(stage_seq(st, runs[count - 1].offset_bytes, 4096), 1);
	assert_int_equal(stage_seq(st, 0, 1u << 20), 32);
	assert_int_equal(stage_seq(st, 1u << 20, 1u << 20), 0); /* nothing there */
	free(runs);
	assert_int_equal(blkio_read(st, UINT64_C(1) << 39, b, 1u << 20, NULL), 0);
	assert_int_equal(reads, 1); /* what is not staged comes in one read */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_partial_sector_keeps_the_rest),
		cmocka_unit_test(test_last_page_is_partial),
		cmocka_unit_test(test_written_out_stays_readable_and_can_be_staged_again),
		cmocka_unit_test(test_write_out_over_a_gap),
		cmocka_unit_test(test_through),
		cmocka_unit_test(test_random_against_a_plain_array),
		cmocka_unit_test(test_large_stage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
