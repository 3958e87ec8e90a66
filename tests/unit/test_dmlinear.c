/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pure part, dmlinear_format() and the rows of a table; what needs a kernel with device-mapper is in tests/vm/dm.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "dmlinear_private.h"

#define SECTOR UINT64_C(512)
#define LIST __attribute__((cleanup(auto_extent_list))) struct extent_list

/* Exactly as given, in sectors: what a list that nobody checked may hold. */
static void push(struct extent_list *l, uint64_t logical, uint64_t physical, uint64_t length)
{
	const struct extent x = { logical * SECTOR, physical * SECTOR, length * SECTOR };

	assert_int_equal(extent_list_push(l, &x, NULL), 0);
}

static void assert_refused(const struct extent_list *l, const char *device)
{
	char *text = (char *)"untouched";
	struct err e = ERR_INIT;

	assert_int_equal(dmlinear_format(l, device, &text, &e), -EINVAL);
	assert_string_equal(text, "untouched");
	assert_int_equal(e.code, -EINVAL);
	assert_non_null(strstr(e.text, "device-mapper table"));
	assert_int_equal(dmlinear_format(l, device, &text, NULL), -EINVAL);
}

static void assert_table(const struct extent_list *l, const char *device, const char *wanted)
{
	AUTO_FREE char *text = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(dmlinear_format(l, device, &text, &e), 0);
	assert_string_equal(text, wanted);
	assert_int_equal(e.code, 0);
}

static void test_empty_is_refused(void **state)
{
	LIST l = { 0 };

	(void)state;
	assert_refused(&l, "/dev/sda2");
}

/* C17: what dmsetup would answer with "Gap in table" and what it would accept and should not. */
static void test_bad_rows_are_refused(void **state)
{
	static const uint64_t rows[][2][3] = {
		{ { 0, 100, 8 }, { 16, 200, 8 } },  /* a hole */
		{ { 0, 100, 8 }, { 4, 200, 8 } },   /* an overlap in the file */
		{ { 8, 100, 8 }, { 16, 200, 8 } },  /* does not start at 0 */
		{ { 8, 100, 8 }, { 0, 200, 8 } },   /* not sorted */
		{ { 0, 100, 8 }, { 8, 200, 0 } },   /* length 0 at the end */
		{ { 0, 100, 0 }, { 0, 200, 8 } },   /* length 0 at the start */
		{ { 0, 100, 8 }, { 8, 108, 8 } },   /* one run in two rows */
		{ { 0, 100, 8 }, { 8, 104, 8 } },   /* the same sectors twice */
		{ { 0, 100, 8 }, { 8, 100, 8 } },   /* the same run twice */
		{ { 0, 100, 8 }, { 8, UINT64_MAX / SECTOR, 8 } }, /* beyond any device */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		LIST l = { 0 };

		for (size_t k = 0; k < 2; k++)
			push(&l, rows[i][k][0], rows[i][k][1], rows[i][k][2]);
		assert_refused(&l, "8:2");
	}
}

static void test_remainders_are_refused(void **state)
{
	static const struct extent rows[] = {
		{ 0, 4096, 4097 }, { 0, 4097, 4096 }, { 0, 256, 4096 }, { 0, 4096, 511 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		LIST l = { 0 };

		assert_int_equal(extent_list_push(&l, &rows[i], NULL), 0);
		assert_refused(&l, "8:2");
	}
}

/* dmsetup splits a row at white space: such a name would shift the fields. */
static void test_bad_device_names_are_refused(void **state)
{
	static const char *const names[] = { "", " ", "/dev/my disk", "8:2\n", "8:2\t0" };
	LIST l = { 0 };

	(void)state;
	push(&l, 0, 100, 8);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_refused(&l, names[i]);
}

static void test_one_two_three_runs(void **state)
{
	LIST l = { 0 };

	(void)state;
	push(&l, 0, 2048, 64);
	assert_table(&l, "/dev/sda2", "0 64 linear /dev/sda2 2048\n");
	push(&l, 64, 100, 8);
	assert_table(&l, "8:2", "0 64 linear 8:2 2048\n64 8 linear 8:2 100\n");
	push(&l, 72, 4096, 1);
	assert_table(&l, "8:2", "0 64 linear 8:2 2048\n64 8 linear 8:2 100\n72 1 linear 8:2 4096\n");
}

/* Appended as a run list gives them: adjacent ones become one row, empty ones none. */
static void test_appended_runs_merge(void **state)
{
	LIST l = { 0 };

	(void)state;
	assert_int_equal(extent_list_append(&l, 100 * SECTOR, 8 * SECTOR, NULL), 0);
	assert_int_equal(extent_list_append(&l, 108 * SECTOR, 8 * SECTOR, NULL), 0);
	assert_int_equal(extent_list_append(&l, 500 * SECTOR, 0, NULL), 0);
	assert_int_equal(extent_list_append(&l, 116 * SECTOR, 8 * SECTOR, NULL), 0);
	assert_table(&l, "8:2", "0 24 linear 8:2 100\n");
}

static void test_first_and_last_sector(void **state)
{
	const uint64_t last = (uint64_t)INT64_MAX / SECTOR;
	char wanted[128];
	LIST l = { 0 };

	(void)state;
	push(&l, 0, last - 8, 8);
	push(&l, 8, 0, 8);
	(void)snprintf(wanted, sizeof(wanted), "0 8 linear 8:2 %llu\n8 8 linear 8:2 0\n",
		       (unsigned long long)(last - 8));
	assert_table(&l, "8:2", wanted);
}

static void test_many_rows(void **state)
{
	AUTO_FREE char *text = NULL;
	size_t rows = 0;
	LIST l = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 5000; i++)
		push(&l, i * 8, (4999 - i) * 16, 8);
	assert_int_equal(dmlinear_format(&l, "8:2", &text, NULL), 0);
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		rows++;
	assert_int_equal(rows, 5000);
	assert_non_null(strstr(text, "\n39992 8 linear 8:2 0\n"));
}

struct wanted_row {
	uint64_t start, length;
	size_t extent; /* SIZE_MAX: zero */
};

#define ZERO SIZE_MAX

static void assert_rows(const struct extent_list *l, uint64_t size_sectors, const struct wanted_row *wanted, size_t count)
{
	struct dmlinear_cursor at = { 0, 0 };
	struct dmlinear_row row = { 0, 0, NULL };

	assert_int_equal(dmlinear_extents_check(l, size_sectors * SECTOR, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		assert_true(dmlinear_row_next(l, size_sectors * SECTOR, &at, &row));
		assert_int_equal(row.start_sectors, wanted[i].start);
		assert_int_equal(row.length_sectors, wanted[i].length);
		assert_ptr_equal(row.extent, wanted[i].extent == ZERO ? NULL : &l->items[wanted[i].extent]);
	}
	assert_false(dmlinear_row_next(l, size_sectors * SECTOR, &at, &row));
	assert_false(dmlinear_row_next(l, size_sectors * SECTOR, &at, &row)); /* and it stays so */
}

static void test_holes_become_zero_rows(void **state)
{
	static const struct wanted_row both_ends[] = { { 0, 100, ZERO }, { 100, 8, 0 }, { 108, 92, ZERO } };
	static const struct wanted_row middle[] = { { 0, 8, 0 }, { 8, 92, ZERO }, { 100, 8, 1 } };
	static const struct wanted_row touching[] = { { 0, 8, 0 }, { 8, 8, 1 } };
	LIST a = { 0 };
	LIST b = { 0 };
	LIST c = { 0 };

	(void)state;
	push(&a, 100, 100, 8);
	assert_rows(&a, 200, both_ends, 3);
	assert_rows(&a, 108, both_ends, 2);
	push(&b, 0, 0, 8);
	push(&b, 100, 100, 8);
	assert_rows(&b, 108, middle, 3);
	push(&c, 0, 500, 8);
	push(&c, 8, 508, 8);
	assert_rows(&c, 16, touching, 2);
}

static void test_bad_lists_with_holes_are_refused(void **state)
{
	static const uint64_t rows[][2][3] = {
		{ { 0, 0, 8 }, { 4, 200, 8 } },    /* an overlap */
		{ { 100, 0, 8 }, { 0, 200, 8 } },  /* not in order */
		{ { 0, 0, 8 }, { 100, 200, 0 } },  /* empty */
		{ { 0, 0, 8 }, { 193, 200, 8 } },  /* beyond the device */
		{ { 0, 0, 8 }, { 300, 200, 8 } },  /* all of it */
		{ { 0, 0, 8 }, { 100, UINT64_MAX / SECTOR, 8 } },
		{ { 0, 0, 8 }, { 100, 200, UINT64_MAX / SECTOR } },
	};
	static const struct extent unaligned = { 4096, 4096, 4097 };
	LIST none = { 0 };

	(void)state;
	assert_int_equal(dmlinear_extents_check(&none, 200 * SECTOR, NULL), -EINVAL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		LIST l = { 0 };

		push(&l, rows[i][0][0], rows[i][0][1], rows[i][0][2]);
		assert_int_equal(dmlinear_extents_check(&l, 200 * SECTOR, NULL), 0);
		assert_int_equal(dmlinear_extents_check(&l, 200 * SECTOR + 1, NULL), -EINVAL);
		push(&l, rows[i][1][0], rows[i][1][1], rows[i][1][2]);
		assert_int_equal(dmlinear_extents_check(&l, 200 * SECTOR, NULL), -EINVAL);
	}
	assert_int_equal(extent_list_push(&none, &unaligned, NULL), 0);
	assert_int_equal(dmlinear_extents_check(&none, 200 * SECTOR, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_is_refused),
		cmocka_unit_test(test_bad_rows_are_refused),
		cmocka_unit_test(test_remainders_are_refused),
		cmocka_unit_test(test_bad_device_names_are_refused),
		cmocka_unit_test(test_one_two_three_runs),
		cmocka_unit_test(test_appended_runs_merge),
		cmocka_unit_test(test_first_and_last_sector),
		cmocka_unit_test(test_many_rows),
		cmocka_unit_test(test_holes_become_zero_rows),
		cmocka_unit_test(test_bad_lists_with_holes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
