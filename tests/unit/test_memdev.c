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

static void test_zeros_by_default(void **state)
{
	AUTO(blkio) struct blkio *io = NULL;
	uint8_t b[4] = { 1, 2, 3, 4 };

	(void)state;
	assert_int_equal(memdev_new(NULL, 1024, true, &io, NULL), 0);
	assert_int_equal(io->size_bytes, 1024);
	assert_int_equal(io->sector_bytes, 512);
	assert_int_equal(blkio_read(io, 1020, b, 4, NULL), 0);
	assert_memory_equal(b, "\0\0\0\0", 4);
}

static void test_content_is_copied(void **state)
{
	AUTO(blkio) struct blkio *io = NULL;
	char text[] = "hello";

	(void)state;
	assert_int_equal(memdev_new(text, 5, true, &io, NULL), 0);
	text[0] = 'J';
	assert_memory_equal(memdev_bytes(io), "hello", 5);
	assert_int_equal(blkio_write(io, 1, "a", 1, NULL), 0);
	assert_int_equal(blkio_zero(io, 4, 1, NULL), 0);
	assert_int_equal(blkio_flush(io, NULL), 0);
	assert_memory_equal(memdev_bytes(io), "hall\0", 5);
	assert_string_equal(text, "Jello");
}

static void test_limits(void **state)
{
	AUTO(blkio) struct blkio *ro = NULL;
	AUTO(blkio) struct blkio *empty = NULL;
	char b;

	(void)state;
	assert_int_equal(memdev_new("x", 1, false, &ro, NULL), 0);
	assert_int_equal(blkio_write(ro, 0, "y", 1, NULL), -EROFS);
	assert_int_equal(memdev_new(NULL, 0, true, &empty, NULL), 0);
	assert_int_equal(blkio_read(empty, 0, &b, 1, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zeros_by_default),
		cmocka_unit_test(test_content_is_copied),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
