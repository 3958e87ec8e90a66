/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include "dmnames.h"

static void whose_a_uuid_is(void **state)
{
	(void)state;
	assert_true(dmnames_uuid_is_ours("WUBI-0f2a6ab0-1cda-4a3e-a2d5-7f3b5b9a5d11-root"));
	assert_false(dmnames_uuid_is_host("WUBI-0f2a6ab0-1cda-4a3e-a2d5-7f3b5b9a5d11-root"));
	assert_true(dmnames_uuid_is_ours("WUBI-host-260d1e8f4ada6bcd"));
	assert_true(dmnames_uuid_is_host("WUBI-host-260d1e8f4ada6bcd"));
	assert_false(dmnames_uuid_is_ours("LVM-WUBI-"));
	assert_false(dmnames_uuid_is_ours("WUBI"));
	assert_false(dmnames_uuid_is_ours(""));
}

static void of_a_node(void **state)
{
	(void)state;
	assert_string_equal(dmnames_of_node("/dev/mapper/wubi-root"), "root");
	assert_string_equal(dmnames_of_node("/dev/mapper/wubi-"), "");
	assert_null(dmnames_of_node("/dev/mapper/root"));
	assert_null(dmnames_of_node("wubi-root"));
	assert_null(dmnames_of_node("/dev/sda1"));
}

static void of_an_operand(void **state)
{
	(void)state;
	assert_string_equal(dmnames_of_operand("root"), "root");
	assert_string_equal(dmnames_of_operand("wubi-root"), "root");
	assert_string_equal(dmnames_of_operand("/dev/mapper/wubi-root"), "root");
	assert_string_equal(dmnames_of_operand("/dev/sda1"), "/dev/sda1"); /* no name at all: nothing will be found */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whose_a_uuid_is),
		cmocka_unit_test(of_a_node),
		cmocka_unit_test(of_an_operand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
