/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"
#include "num.h"

static void arithmetic_refuses_overflow_and_leaves_ret(void **state)
{
	uint64_t x = 7;

	(void)state;
	assert_int_equal(num_add(UINT64_MAX, 1, &x), -EOVERFLOW);
	assert_int_equal(num_mul(UINT64_MAX / 2 + 1, 2, &x), -EOVERFLOW);
	assert_int_equal(num_align_up(UINT64_MAX, 4096, &x), -EOVERFLOW);
	assert_int_equal(num_align_up(5, 0, &x), -EINVAL);
	assert_int_equal(num_align_up(5, 3, &x), -EINVAL);
	assert_int_equal(x, 7);
	assert_int_equal(num_add(UINT64_MAX - 1, 1, &x), 0);
	assert_true(x == UINT64_MAX);
	assert_int_equal(num_mul(UINT64_MAX, 0, &x), 0);
	assert_int_equal(x, 0);
	assert_int_equal(num_align_up(4097, 4096, &x), 0);
	assert_int_equal(x, 8192);
	assert_int_equal(num_align_up(0, 4096, &x), 0);
	assert_int_equal(x, 0);
	assert_false(num_is_power_of_two(0));
	assert_false(num_is_power_of_two(6));
	assert_true(num_is_power_of_two(1));
	assert_true(num_is_power_of_two(UINT64_C(1) << 63));
}

static void bad_sizes_are_refused(void **state)
{
	static const char *const bad[] = { "",		 " ",	"G",	"-1",  "+1",	" 1",
					   "1 ",	 "1 G", "1.5G", "1GG", "1Gi",	"1GIB",
					   "1gib ",	 "1Gb", "0x10", "1e3", "1E",	"1B",
					   "1iB",	 "1,0", "1G\n", "\t1", "1KiBx", "G1",
					   "1\xc2\xa0G", "one" };
	static const char *const large[] = { "18446744073709551616", "99999999999999999999999",
					     "16384P", "18447PB", "18014398509481984K" };
	struct err e;
	uint64_t x = 7;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(num_parse_bytes(bad[i], &x, &e), -EINVAL);
		assert_text_has(e.text, bad[i]);
	}
	for (size_t i = 0; i < COUNT_OF(large); i++)
		assert_int_equal(num_parse_bytes(large[i], &x, &e), -ERANGE);
	assert_int_equal(num_parse_bytes("x", &x, NULL), -EINVAL);
	assert_int_equal(x, 7);
}

static void sizes_with_units(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "30G", 30 * NUM_GIB },
		{ "30GiB", 30 * NUM_GIB },
		{ "30GB", UINT64_C(30000000000) },
		{ "30g", 30 * NUM_GIB },
		{ "30giB", 30 * NUM_GIB },
		{ "1k", 1024 },
		{ "1kB", 1000 },
		{ "2M", 2 * NUM_MIB },
		{ "2MB", 2000000 },
		{ "3T", 3 * NUM_TIB },
		{ "3TB", UINT64_C(3000000000000) },
		{ "1P", 1024 * NUM_TIB },
		{ "18446744073709551615", UINT64_MAX },
		{ "16383P", UINT64_C(16383) * 1024 * NUM_TIB },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		uint64_t x = 1;
		struct err e = ERR_INIT;

		assert_int_equal(num_parse_bytes(good[i].text, &x, &e), 0);
		assert_true(x == good[i].bytes);
	}
}

static void only_canonical_numbers(void **state)
{
	static const char *const bad[] = { "",	 "00", "01",  "-0",  "+1", " 1",
					   "1 ", "1k", "0x1", "1\n", "a" };
	uint64_t x = 7;
	struct err e;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(num_parse_u64(bad[i], &x, &e), -EINVAL);
	assert_int_equal(num_parse_u64("18446744073709551616", &x, &e), -ERANGE);
	assert_int_equal(x, 7);
	assert_int_equal(num_parse_u64("0", &x, &e), 0);
	assert_int_equal(x, 0);
	assert_int_equal(num_parse_u64("18446744073709551615", &x, NULL), 0);
	assert_true(x == UINT64_MAX);
}

static void sizes_for_people(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 1536, "1.5 KiB" },
		{ 30 * NUM_GIB, "30.0 GiB" },
		{ NUM_GIB - 1, "1.0 GiB" },
		{ NUM_MIB - 1, "1.0 MiB" },
		{ 3 * NUM_TIB / 2, "1.5 TiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};
	char buf[NUM_BYTES_TEXT];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_ptr_equal(num_format_bytes(rows[i].bytes, buf), buf);
		assert_string_equal(buf, rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arithmetic_refuses_overflow_and_leaves_ret),
		cmocka_unit_test(bad_sizes_are_refused),
		cmocka_unit_test(sizes_with_units),
		cmocka_unit_test(only_canonical_numbers),
		cmocka_unit_test(sizes_for_people),
	};

	return cmocka_run_group_tests_name("num", tests, NULL, NULL);
}
