/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"
#include "report.h"

static void more_than_fit_are_dropped(void **state)
{
	struct report r = { .count = 0 };
	struct err e = ERR_INIT;
	char long_text[2000];

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	for (int i = 0; i < REPORT_MAX + 5; i++)
		report_add(&r, long_text, "%s", long_text);
	assert_int_equal(r.count, REPORT_MAX);
	assert_int_equal(strlen(r.items[0].text), sizeof(r.items[0].text) - 1);
	assert_int_equal(strlen(r.items[0].reason), ERR_REASON_MAX - 1);
	assert_int_equal(report_refuse(&r, &e), -EPERM);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
}

static void only_refusals_are_taken(void **state)
{
	struct report r = { .count = 0 };
	struct err e = ERR_INIT;

	(void)state;
	err_set(&e, -EIO, "read");
	assert_false(report_take(&r, &e));
	assert_false(report_take(&r, NULL));
	assert_int_equal(r.count, 0);
	assert_int_equal(e.code, -EIO);
	err_refuse(&e, "dirty", "volume is dirty");
	assert_true(report_take(&r, &e));
	assert_int_equal(e.code, 0);
	assert_true(report_has(&r, "dirty"));
	assert_string_equal(r.items[0].text, "volume is dirty");
}

static void nothing_found_is_no_refusal(void **state)
{
	struct report r = { .count = 0 };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(report_refuse(&r, &e), 0);
	assert_int_equal(e.code, 0);
	assert_false(report_has(&r, "dirty"));
}

static void all_texts_and_the_first_reason(void **state)
{
	struct report r = { .count = 0 };
	struct err e = ERR_INIT;

	(void)state;
	report_add(&r, "dirty", "a %d", 1);
	report_add(&r, "image-exists", "b");
	assert_int_equal(report_refuse(&r, &e), -EPERM);
	assert_string_equal(e.reason, "dirty");
	assert_string_equal(e.text, "a 1; b");
	assert_int_equal(report_refuse(&r, NULL), -EPERM);
	assert_true(report_has(&r, "image-exists"));
	assert_false(report_has(&r, "image"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_than_fit_are_dropped),
		cmocka_unit_test(only_refusals_are_taken),
		cmocka_unit_test(nothing_found_is_no_refusal),
		cmocka_unit_test(all_texts_and_the_first_reason),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
