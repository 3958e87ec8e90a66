/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "alloc_fail.h"
#include "cmocka_all.h"
#include "num.h"

#include "../../src/picture.c"

static struct picture pic;

/* The columns that a terminal shows: without the colours' escapes. */
static size_t visible(const char *s, const char *end)
{
	size_t n = 0;

	while (s < end) {
		if (*s == '\033') {
			while (*s != 'm')
				s++;
		} else {
			n++;
		}
		s++;
	}
	return n;
}

static char *render(bool colour)
{
	struct err e = ERR_INIT;
	char *text = NULL;

	assert_int_equal(picture_render(&pic, colour, &text, &e), 0);
	for (const char *s = text, *end; *s; s = end + 1) {
		end = strchr(s, '\n');
		assert_non_null(end);
		assert_true(visible(s, end) <= 80);
	}
	return text;
}

/* In the rows only: the legend's letters are not counted. */
static size_t count(const char *text, char letter)
{
	size_t n = 0;

	for (const char *s = text; *s;) {
		const char *end = strchr(s, '\n');
		const char *bar = memchr(s, '|', (size_t)(end - s));

		for (const char *p = bar; p && p < end; p++)
			n += *p == letter;
		s = end + 1;
	}
	return n;
}

static void add_image(uint64_t physical_bytes, uint64_t n)
{
	struct extent x = { 0, physical_bytes, n };
	const struct extent_list l = { &x, 1, 1 };

	picture_add_image(&pic, &l);
}

static void what_lies_beyond_the_volume_is_not_drawn(void **state)
{
	AUTO_FREE char *text = NULL;

	(void)state;
	picture_init(&pic, 512 * NUM_MIB);
	picture_add_free(&pic, 512 * NUM_MIB, 1);
	picture_add_free(&pic, UINT64_MAX, UINT64_MAX);
	add_image(511 * NUM_MIB, UINT64_MAX);
	add_image(UINT64_MAX - 1, 2);
	text = render(false);
	assert_int_equal(count(text, '#'), 1);
	assert_int_equal(count(text, '='), PICTURE_CELLS - 1);
}

static void sizes_that_do_not_divide(void **state)
{
	static const uint64_t sizes[] = {
		0, 1, 511, 512, 513, 4096, 65537, NUM_TIB + 7, UINT64_MAX
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		AUTO_FREE char *text = NULL;

		picture_init(&pic, sizes[i]);
		picture_add_free(&pic, 0, sizes[i]);
		text = render(true);
		assert_true(count(text, '.') <= PICTURE_CELLS);
		assert_int_equal(count(text, '-'), 0);
		assert_int_equal(count(text, '='), 0);
		assert_true(sizes[i] == 0 || count(text, '.') > 0);
	}
}

static void one_small_extent_is_never_lost(void **state)
{
	(void)state;
	for (uint64_t cell = 0; cell < PICTURE_CELLS; cell += 73) {
		AUTO_FREE char *text = NULL;

		picture_init(&pic, 2 * NUM_TIB);
		picture_add_free(&pic, 0, 2 * NUM_TIB);
		add_image(cell * 4 * NUM_GIB + 4 * NUM_GIB - 4096, 4096);
		text = render(false);
		assert_int_equal(count(text, '#'), 1);
		assert_int_equal(count(text, '.'), PICTURE_CELLS - 1);
	}
}

static void free_partly_and_used_differ(void **state)
{
	AUTO_FREE char *text = NULL;

	(void)state;
	picture_init(&pic, 512 * NUM_MIB);
	picture_add_free(&pic, 0, 10 * NUM_MIB + 4096);
	picture_add_free(&pic, 20 * NUM_MIB, 1);
	picture_add_free(&pic, 30 * NUM_MIB, NUM_MIB / 2);
	picture_add_free(&pic, 30 * NUM_MIB + NUM_MIB / 2, NUM_MIB / 2);
	text = render(false);
	assert_int_equal(count(text, '.'), 11);
	assert_int_equal(count(text, '-'), 2);
	assert_int_equal(count(text, '='), PICTURE_CELLS - 13);
	assert_text_has(text, "       0 B |..........-");
	assert_text_has(text, " 448.0 MiB |");
	assert_text_has(text, "one cell: 1.0 MiB");
	assert_null(strchr(text, '\033'));
}

static void a_map_alone_knows_nothing_of_the_rest(void **state)
{
	AUTO_FREE char *text = NULL;

	(void)state;
	picture_init(&pic, 512 * NUM_MIB);
	add_image(NUM_MIB, 3 * NUM_MIB);
	text = render(true);
	assert_int_equal(count(text, '#'), 3);
	assert_int_equal(count(text, '?'), PICTURE_CELLS - 3);
	assert_non_null(strchr(text, '\033'));
	assert_null(strstr(text, "used"));
}

static void a_failed_allocation_is_enomem(void **state)
{
	char *text = NULL;

	(void)state;
	picture_init(&pic, NUM_GIB);
	alloc_fail_at = 1;
	assert_int_equal(picture_render(&pic, false, &text, NULL), -ENOMEM);
	assert_null(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_lies_beyond_the_volume_is_not_drawn),
		cmocka_unit_test(sizes_that_do_not_divide),
		cmocka_unit_test(one_small_extent_is_never_lost),
		cmocka_unit_test(free_partly_and_used_differ),
		cmocka_unit_test(a_map_alone_knows_nothing_of_the_rest),
		cmocka_unit_test(a_failed_allocation_is_enomem),
	};

	return cmocka_run_group_tests_name("picture", tests, NULL, NULL);
}
