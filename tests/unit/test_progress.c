/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "progress.h"

struct seen {
	int calls;
	int answer;
	uint64_t done_bytes;
	uint64_t total_bytes;
};

static int note(void *ctx, const char *phase, uint64_t done_bytes, uint64_t total_bytes)
{
	struct seen *s = ctx;

	assert_string_equal(phase, "zero");
	s->calls++;
	s->done_bytes = done_bytes;
	s->total_bytes = total_bytes;
	return s->answer;
}

static void any_answer_but_0_cancels(void **state)
{
	struct seen s = { .answer = 1 };
	struct progress p = { note, &s };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(progress_step(&p, "zero", 1, 2, &e), -ECANCELED);
	assert_text_has(e.text, "interrupted during zero");
	s.answer = -5;
	assert_int_equal(progress_step(&p, "zero", 1, 2, NULL), -ECANCELED);
}

static void nobody_listening_goes_on(void **state)
{
	struct progress p = { NULL, NULL };

	(void)state;
	assert_int_equal(progress_step(NULL, "zero", 1, 2, NULL), 0);
	assert_int_equal(progress_step(&p, "zero", 1, 2, NULL), 0);
}

static void numbers_arrive(void **state)
{
	struct seen s = { .answer = 0 };
	struct progress p = { note, &s };

	(void)state;
	assert_int_equal(progress_step(&p, "zero", 5, UINT64_MAX, NULL), 0);
	assert_int_equal(s.calls, 1);
	assert_int_equal(s.done_bytes, 5);
	assert_true(s.total_bytes == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_answer_but_0_cancels),
		cmocka_unit_test(nobody_listening_goes_on),
		cmocka_unit_test(numbers_arrive),
	};

	return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
