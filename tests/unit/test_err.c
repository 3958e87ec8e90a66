/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "err.h"

static void null_is_accepted_everywhere(void **state)
{
	(void)state;
	errno = ENOENT;
	assert_int_equal(err_errno(NULL, "x"), -ENOENT);
	assert_int_equal(err_set(NULL, -EINVAL, "x"), -EINVAL);
	assert_int_equal(err_wrap(NULL, -EIO, "x"), -EIO);
	assert_int_equal(err_refuse(NULL, "dirty", "x"), -EPERM);
	assert_false(err_is_refusal(NULL));
	err_clear(NULL);
}

static void errno_of_0_is_still_a_failure(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	errno = 0;
	assert_int_equal(err_errno(&e, "read"), -EIO);
	assert_int_equal(e.code, -EIO);
	errno = 0;
	assert_int_equal(err_errno(NULL, "read"), -EIO);
}

static void long_texts_are_cut_and_stay_utf8(void **state)
{
	struct err e = ERR_INIT;
	char euro[sizeof(e.text) * 3];

	(void)state;
	for (size_t i = 0; i + 3 < sizeof(euro); i += 3)
		memcpy(euro + i, "\xe2\x82\xac", 4);
	for (size_t shift = 0; shift < 3; shift++) {
		err_set(&e, -EINVAL, "%s%s", &"ab"[2 - shift], euro);
		assert_in_range(strlen(e.text), sizeof(e.text) - 4, sizeof(e.text) - 1);
		assert_int_equal((strlen(e.text) - shift) % 3, 0);
	}
	err_set(&e, -EINVAL, "%s", "inner");
	err_wrap(&e, -EINVAL, "%s", euro);
	assert_true(strlen(e.text) < sizeof(e.text));
	err_set(&e, -EINVAL, "whole \xe2\x82\xac");
	assert_string_equal(e.text, "whole \xe2\x82\xac");
	err_set(&e, -EINVAL, "half \xe2\x82");
	assert_string_equal(e.text, "half ");
	err_set(&e, -EINVAL, "\x82\x82\x82\x82\x82\x82"); /* nonsense must not make it run away */
}

static void wrap_puts_context_before_and_keeps_code_and_reason(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(err_refuse(&e, "dirty", "volume is dirty"), -EPERM);
	assert_int_equal(err_wrap(&e, -EPERM, "map '%s'", "root"), -EPERM);
	assert_string_equal(e.text, "map 'root': volume is dirty");
	assert_string_equal(e.reason, "dirty");
	assert_int_equal(e.code, -EPERM);
	assert_true(err_is_refusal(&e));
}

static void wrap_of_nothing_tells_the_code(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(err_wrap(&e, -ENOENT, "open"), -ENOENT);
	assert_int_equal(e.code, -ENOENT);
	assert_string_equal(e.text, "open: No such file or directory");
}

static void set_forgets_an_older_reason(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	err_refuse(&e, "dirty", "x");
	err_set(&e, -EIO, "y");
	assert_false(err_is_refusal(&e));
	err_refuse(&e, "dirty", "x");
	errno = EIO;
	err_errno(&e, "y");
	assert_false(err_is_refusal(&e));
	assert_string_equal(e.text, "y: Input/output error");
	err_clear(&e);
	assert_int_equal(e.code, 0);
	assert_string_equal(e.text, "");
}

static void own_text_may_be_an_argument(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	err_refuse(&e, "dirty", "a");
	err_set(&e, -EIO, "<%s>", e.text);
	assert_string_equal(e.text, "<a>");
	err_refuse(&e, "dirty", "a");
	err_refuse(&e, e.reason, "[%s]", e.text);
	assert_string_equal(e.text, "[a]");
	assert_string_equal(e.reason, "dirty");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_is_accepted_everywhere),
		cmocka_unit_test(errno_of_0_is_still_a_failure),
		cmocka_unit_test(long_texts_are_cut_and_stay_utf8),
		cmocka_unit_test(wrap_puts_context_before_and_keeps_code_and_reason),
		cmocka_unit_test(wrap_of_nothing_tells_the_code),
		cmocka_unit_test(set_forgets_an_older_reason),
		cmocka_unit_test(own_text_may_be_an_argument),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
