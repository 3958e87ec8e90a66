/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>


#include "ids.h"

static void test_text(void **state)
{
	static const char text[] = "0fc63daf-8483-4772-8e79-3d69d8477de4";
	static const uint8_t bytes[16] = { 0x0f, 0xc6, 0x3d, 0xaf, 0x84, 0x83, 0x47, 0x72,
					   0x8e, 0x79, 0x3d, 0x69, 0xd8, 0x47, 0x7d, 0xe4 };
	uint8_t id[16] = { 0 };
	char back[IDS_TEXT];

	(void)state;
	assert_true(ids_from_text(text, id));
	assert_memory_equal(id, bytes, 16);
	ids_to_text(id, back);
	assert_string_equal(back, text);
	assert_true(ids_from_text("0FC63DAF-8483-4772-8E79-3D69D8477DE4", id));
	assert_memory_equal(id, bytes, 16);
}

static void test_bad_text_leaves_the_result_alone(void **state)
{
	static const char *const bad[] = { "", "0fc63daf", "0fc63daf-8483-4772-8e79-3d69d8477de",
					   "0fc63daf-8483-4772-8e79-3d69d8477de45", "0fc63daf-8483-4772-8e79-3d69d8477deg",
					   "0fc63daf+8483-4772-8e79-3d69d8477de4", " 0fc63daf-8483-4772-8e79-3d69d8477de" };
	uint8_t id[16];
	uint8_t before[16];

	(void)state;
	memset(id, 0xaa, sizeof(id));
	memcpy(before, id, sizeof(id));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(ids_from_text(bad[i], id));
		assert_memory_equal(id, before, 16);
	}
}

static void test_random_ids_differ_and_are_version_4(void **state)
{
	uint8_t a[16], b[16];

	(void)state;
	ids_random(a);
	ids_random(b);
	assert_memory_not_equal(a, b, 16);
	assert_int_equal(a[6] >> 4, 4);
	assert_int_equal(a[8] >> 6, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_bad_text_leaves_the_result_alone),
		cmocka_unit_test(test_random_ids_differ_and_are_version_4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
