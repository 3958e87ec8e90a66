/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonin.h"
#include "jsonout.h"

static struct jsonin *parse(const char *text)
{
	struct jsonin *j = NULL;
	struct err e = ERR_INIT;

	if (jsonin_parse(text, &j, &e))
		fail_msg("%s: %s", text, e.text);
	return j;
}

static void refused(const char *text)
{
	struct jsonin *j = (struct jsonin *)text; /* anything: it stays */
	struct err e = ERR_INIT;

	if (jsonin_parse(text, &j, &e) != -EINVAL)
		fail_msg("taken: %.100s", text);
	assert_ptr_equal(j, text);
	assert_text_has(e.text, "not JSON");
}

static void test_what_is_no_json(void **state)
{
	static const char *const texts[] = {
		"", " ", "\n", "{", "[", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "[1", "[1,", "\"a", "tru", "nul", "-",
		"{\"a\":1}x", "{\"a\":1}{\"b\":2}", "[1] 2", "1 2", "{}]", "{} {}",
		"{\"a\":1,}", "[1,]", "{a:1}", "[1 2]", "{\"a\" 1}", "// c\n1", "/* c */ 1",
		"01", "+1", ".5", "0x10", "True", "\"\xff\"", "{\"a\":\"\xc3\"}", "\xef\xbb\xbf{}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		refused(texts[i]);
}

static void test_every_truncation(void **state)
{
	static const char whole[] = "{\"version\":1,\"setting\":{\"knobs\":{\"a\":18446744073709551615},"
				    "\"m\":[{\"n\":\"\\u00e4\"},null]}}";
	char part[sizeof(whole)];

	(void)state;
	for (size_t n = 0; n + 1 < sizeof(whole); n++) {
		memcpy(part, whole, n);
		part[n] = '\0';
		refused(part);
	}
	jsonin_free(parse(whole));
}

static void test_depth_bombs(void **state)
{
	const size_t n = 1000000;
	char *text = malloc(2 * n + 1);

	(void)state;
	assert_non_null(text);
	memset(text, '[', n);
	memset(text + n, ']', n);
	text[2 * n] = '\0';
	refused(text);
	text[n] = '\0';
	refused(text);
	for (size_t i = 0; i + 5 < n; i += 5)
		memcpy(text + i, "{\"a\":", 5);
	text[n - n % 5] = '\0';
	refused(text);
	free(text);
	jsonin_free(parse("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]")); /* 30 */
}

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		bool taken;
		uint64_t value;
	} rows[] = {
		{ "0", true, 0 }, { "-0", true, 0 }, { "1", true, 1 }, { "9223372036854775807", true, INT64_MAX },
		{ "9223372036854775808", true, UINT64_C(9223372036854775808) },
		{ "18446744073709551614", true, UINT64_MAX - 1 },
		{ "1.99", true, 1 }, { "1e3", true, 1000 }, { "0.5", true, 0 }, { "-0.0", true, 0 },
		{ "1.8e19", true, UINT64_C(18000000000000000000) },
		{ "-1", false, 0 }, { "-0.5", false, 0 }, { "-9223372036854775808", false, 0 },
		{ "1.8446744073709551616e19", false, 0 },
		{ "1e300", false, 0 }, { "1e999", false, 0 }, { "NaN", false, 0 }, { "Infinity", false, 0 },
		{ "-1e999", false, 0 }, { "\"1\"", false, 0 }, { "true", false, 0 },
		{ "null", false, 0 }, { "[1]", false, 0 }, { "{\"n\":1}", false, 0 },
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO(jsonin) struct jsonin *j = NULL;
		uint64_t value = 77;

		(void)snprintf(text, sizeof(text), "{\"n\":%s}", rows[i].text);
		j = parse(text);
		if (jsonin_get_u64(j, "n", &value) != rows[i].taken || value != (rows[i].taken ? rows[i].value : 77))
			fail_msg("%s: %" PRIu64, rows[i].text, value);
	}
}

/* Beyond 64 bits: not cut to what fits. The largest that fits cannot be told from these. */
static void test_huge_numbers(void **state)
{
	static const char *const numbers[] = { "18446744073709551615", "18446744073709551616", "99999999999999999999",
					       "-9223372036854775809", "-99999999999999999999" };
	char text[2048];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(numbers) + 1; i++) {
		struct jsonin *j = NULL;
		uint64_t value = 77;

		if (i < COUNT_OF(numbers))
			(void)snprintf(text, sizeof(text), "{\"n\":%s}", numbers[i]);
		else
			(void)snprintf(text, sizeof(text), "{\"n\":%01500d}", 9);
		if (i == COUNT_OF(numbers))
			memset(text + 5, '9', 1500);
		if (jsonin_parse(text, &j, NULL) == 0)
			assert_false(jsonin_get_u64(j, "n", &value));
		assert_int_equal(value, 77);
		jsonin_free(j);
	}
}

static void test_wrong_kinds(void **state)
{
	static const char *const values[] = { "1", "1.5", "\"x\"", "true", "null", "[]", "[1]", "{}", "{\"n\":1}" };
	char text[64], string[8];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(values); i++) {
		AUTO(jsonin) struct jsonin *j = NULL;
		bool is_bool = strcmp(values[i], "true") == 0, is_string = values[i][0] == '"', flag = false;
		const struct jsonin *value;

		(void)snprintf(text, sizeof(text), "{\"n\":%s}", values[i]);
		j = parse(text);
		value = jsonin_get(j, "n");
		strcpy(string, "old");
		assert_int_equal(jsonin_get_bool(j, "n", &flag), is_bool);
		assert_int_equal(flag, is_bool);
		assert_int_equal(jsonin_get_string(j, "n", string, sizeof(string)), is_string);
		assert_string_equal(string, is_string ? "x" : "old");
		assert_int_equal(jsonin_count(value), strcmp(values[i], "[1]") == 0);
		assert_int_equal(jsonin_at(value, 0) != NULL, strcmp(values[i], "[1]") == 0);
		assert_int_equal(jsonin_get(value, "n") != NULL, strcmp(values[i], "{\"n\":1}") == 0);
		assert_false(jsonin_get_u64(j, "other", &(uint64_t){ 0 }));
	}
}

static void test_nothing_at_all(void **state)
{
	struct jsonin *j = (struct jsonin *)&(int){ 0 };
	uint64_t n;
	bool b;
	char s[4];

	(void)state;
	assert_int_equal(jsonin_parse("null", &j, NULL), 0);
	for (int i = 0; i < 2; i++) {
		assert_null(jsonin_get(j, "a"));
		assert_null(jsonin_at(j, 0));
		assert_int_equal(jsonin_count(j), 0);
		assert_false(jsonin_get_u64(j, "a", &n) || jsonin_get_bool(j, "a", &b) || jsonin_get_string(j, "a", s, 4));
		jsonin_free(j);
		j = parse("5");
	}
	jsonin_free(j);
	jsonin_free(NULL);
}

static void test_strings(void **state)
{
	AUTO(jsonin) struct jsonin *j = parse("{\"four\":\"abcd\",\"nul\":\"a\\u0000b\",\"empty\":\"\","
					      "\"esc\":\"\\\"\\u00e4\\n\"}");
	char s[5] = "old";

	(void)state;
	assert_false(jsonin_get_string(j, "four", s, 4));
	assert_string_equal(s, "old");
	assert_false(jsonin_get_string(j, "four", s, 0));
	assert_false(jsonin_get_string(j, "nul", s, sizeof(s)));
	assert_string_equal(s, "old");
	assert_true(jsonin_get_string(j, "four", s, 5));
	assert_string_equal(s, "abcd");
	assert_true(jsonin_get_string(j, "esc", s, 5));
	assert_string_equal(s, "\"\xc3\xa4\n");
	assert_true(jsonin_get_string(j, "empty", s, 1));
	assert_string_equal(s, "");
}

static void test_arrays(void **state)
{
	AUTO(jsonin) struct jsonin *j = parse("[{\"a\":1},null,{\"a\":3}]\n ");
	uint64_t n = 0;

	(void)state;
	assert_int_equal(jsonin_count(j), 3);
	assert_true(jsonin_get_u64(jsonin_at(j, 2), "a", &n));
	assert_int_equal(n, 3);
	assert_null(jsonin_at(j, 1));
	assert_null(jsonin_at(j, 3));
	assert_null(jsonin_at(j, SIZE_MAX));
	assert_null(jsonin_get(j, "a"));
}

static void test_what_jsonout_writes(void **state)
{
	AUTO(jsonout) struct jsonout *out = jsonout_object();
	AUTO(jsonin) struct jsonin *in = NULL;
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	uint64_t n = 0;
	bool b = true;
	char s[32];

	(void)state;
	jsonout_add_u64(jsonout_add_object(out, "knobs"), "max", UINT64_MAX - 1);
	jsonout_add_bool(out, "no", false);
	jsonout_add_string(out, "text", "/a \"b\"\\ \x01");
	assert_int_equal(jsonout_print(out, f, NULL), 0);
	assert_int_equal(fclose(f), 0);
	in = parse(text);
	assert_true(jsonin_get_u64(jsonin_get(in, "knobs"), "max", &n));
	assert_true(n == UINT64_MAX - 1);
	assert_true(jsonin_get_bool(in, "no", &b));
	assert_false(b);
	assert_true(jsonin_get_string(in, "text", s, sizeof(s)));
	assert_string_equal(s, "/a \"b\"\\ \x01");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_no_json),
		cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_depth_bombs),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_huge_numbers),
		cmocka_unit_test(test_wrong_kinds),
		cmocka_unit_test(test_nothing_at_all),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_what_jsonout_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
