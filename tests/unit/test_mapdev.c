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

#include "mapdev.h"
#include "memdev.h"

#define KIB 1024u

/* base of 64 KiB, each byte its page number; the image is pages 8-9, 2, 12-14 */
static struct blkio *new_base(bool writable)
{
	struct blkio *io = NULL;
	uint8_t *bytes = malloc(64 * KIB);

	assert_non_null(bytes);
	for (unsigned i = 0; i < 64 * KIB; i++)
		bytes[i] = (uint8_t)(i / 4096);
	assert_int_equal(memdev_new(bytes, 64 * KIB, writable, &io, NULL), 0);
	free(bytes);
	return io;
}

static void new_list(struct extent_list *l)
{
	assert_int_equal(extent_list_append(l, 32 * KIB, 8 * KIB, NULL), 0);
	assert_int_equal(extent_list_append(l, 8 * KIB, 4 * KIB, NULL), 0);
	assert_int_equal(extent_list_append(l, 48 * KIB, 12 * KIB, NULL), 0);
}

static void test_bad_lists_are_refused(void **state)
{
	AUTO(blkio) struct blkio *base = new_base(true);
	__attribute__((cleanup(auto_extent_list))) struct extent_list l = { 0 };
	struct blkio *io = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(mapdev_new(base, &l, &io, &e), -EINVAL); /* empty */
	assert_int_equal(extent_list_append(&l, 60 * KIB, 8 * KIB, NULL), 0);
	assert_int_equal(mapdev_new(base, &l, &io, &e), -EINVAL); /* beyond the device */
	extent_list_clear(&l);
	assert_int_equal(extent_list_append(&l, 512, 4 * KIB, NULL), 0);
	base->sector_bytes = 4096; /* a 512-byte start on a 4096 device */
	assert_int_equal(mapdev_new(base, &l, &io, &e), -EINVAL);
	assert_null(io);
	base->sector_bytes = 512;
	assert_int_equal(mapdev_new(base, &l, &io, &e), 0);
	blkio_free(io);
}

static void test_read_across_extents(void **state)
{
	AUTO(blkio) struct blkio *base = new_base(false);
	AUTO(blkio) struct blkio *io = NULL;
	struct extent_list l = { 0 };
	uint8_t b[24 * KIB];

	(void)state;
	new_list(&l);
	assert_int_equal(mapdev_new(base, &l, &io, NULL), 0);
	extent_list_clear(&l); /* the extents were copied */
	assert_int_equal(io->size_bytes, 24 * KIB);
	assert_false(io->writable);
	assert_string_equal(io->name, "image of 'memory'");
	assert_int_equal(blkio_read(io, 0, b, sizeof(b), NULL), 0);
	for (unsigned i = 0; i < sizeof(b); i++)
		assert_int_equal(b[i], "\x08\x09\x02\x0c\x0d\x0e"[i / 4096]);
	assert_int_equal(blkio_read(io, 8 * KIB - 1, b, 3, NULL), 0);
	assert_memory_equal(b, "\x09\x02\x02", 3);
	assert_int_equal(blkio_read(io, 24 * KIB - 1, b, 2, NULL), -EINVAL);
	assert_int_equal(blkio_write(io, 0, b, 1, NULL), -EROFS);
}

static void test_write_and_zero_across_extents(void **state)
{
	AUTO(blkio) struct blkio *base = new_base(true);
	AUTO(blkio) struct blkio *io = NULL;
	struct extent_list l = { 0 };
	const uint8_t *m = memdev_bytes(base);
	unsigned changed = 0;
	uint8_t b[4 * KIB + 2];

	(void)state;
	new_list(&l);
	assert_int_equal(mapdev_new(base, &l, &io, NULL), 0);
	extent_list_clear(&l);
	memset(b, 0xee, sizeof(b));
	assert_int_equal(blkio_write(io, 8 * KIB - 1, b, sizeof(b), NULL), 0);
	assert_int_equal(blkio_zero(io, 12 * KIB, 12 * KIB, NULL), 0);
	assert_int_equal(blkio_flush(io, NULL), 0);
	assert_int_equal(m[40 * KIB - 2], 9);
	assert_int_equal(m[40 * KIB - 1], 0xee);
	assert_int_equal(m[8 * KIB], 0xee);
	assert_int_equal(m[12 * KIB - 1], 0xee);
	for (unsigned i = 0; i < 64 * KIB; i++)
		changed += m[i] != i / 4096;
	assert_int_equal(changed, 1 + 4 * KIB + 12 * KIB); /* nothing outside the image */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_lists_are_refused),
		cmocka_unit_test(test_read_across_extents),
		cmocka_unit_test(test_write_and_zero_across_extents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
