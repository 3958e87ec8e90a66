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

#include "jsonout.h"

static void expect(const struct jsonout *j, const char *text)
{
	AUTO_FREE char *out = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&out, &n);

	assert_non_null(f);
	assert_int_equal(jsonout_print(j, f, NULL), 0);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(out, text);
}

static void test_values(void **state)
{
	AUTO(jsonout) struct jsonout *j = jsonout_object();
	struct jsonout *array, *object;

	(void)state;
	jsonout_add_string(j, "path", "/dev/disk/by-\"id\"\n\x01");
	jsonout_add_string(j, "none", NULL);
	jsonout_add_u64(j, "max", UINT64_MAX);
	jsonout_add_u64(j, "zero", 0);
	jsonout_add_bool(j, "yes", true);
	array = jsonout_add_array(j, "list");
	jsonout_add_u64(array, NULL, 7);
	jsonout_add_string(array, NULL, NULL);
	object = jsonout_add_object(array, NULL);
	jsonout_add_bool(object, "no", false);
	(void)jsonout_add_array(object, "empty");
	expect(j, "{\"path\":\"/dev/disk/by-\\\"id\\\"\\n\\u0001\",\"none\":null,\"max\":18446744073709551615,"
		  "\"zero\":0,\"yes\":true,\"list\":[7,null,{\"no\":false,\"empty\":[]}]}\n");
}

static void test_text_that_is_not_utf8(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "plain", "plain" },
		{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "a\xff"
		  "b",
		  "a\xef\xbf\xbd"
		  "b" },
		{ "\xe4", "\xef\xbf\xbd" },                                 /* Latin-1, cut by the end */
		{ "\xea\xb0\x80\xea\xb0", "\xea\xb0\x80\xef\xbf\xbd\xef\xbf\xbd" }, /* a text cut in a character */
		{ "\xf0\x9f\x98", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },                 /* overlong */
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* surrogate */
		{ "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		AUTO(jsonout) struct jsonout *j = jsonout_object();
		char text[64];

		jsonout_add_string(j, "s", rows[i].in);
		(void)snprintf(text, sizeof(text), "{\"s\":\"%s\"}\n", rows[i].out);
		expect(j, text);
	}
}

static void test_failures_are_latched_and_reported(void **state)
{
	AUTO(jsonout) struct jsonout *j = jsonout_object();
	struct err e = ERR_INIT;
	FILE *full = fopen("/dev/full", "we");

	(void)state;
	/* what a failed add returns can be used on */
	jsonout_add_u64(NULL, "x", 1);
	jsonout_add_string(NULL, "x", "y");
	assert_null(jsonout_add_object(NULL, "x"));
	assert_null(jsonout_add_array(NULL, "x"));
	assert_int_equal(jsonout_print(NULL, stdout, &e), -ENOMEM);
	assert_non_null(full);
	assert_int_equal(jsonout_print(j, full, &e), -EIO);
	(void)fclose(full);
	jsonout_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_text_that_is_not_utf8),
		cmocka_unit_test(test_failures_are_latched_and_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
