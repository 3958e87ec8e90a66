/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <string.h>

#include "bootargs.h"

static void nothing_is_asked(void **state)
{
	struct bootargs a;

	(void)state;
	bootargs_parse("", &a);
	assert_false(a.off || a.allow_unsettled || a.resume || a.timeout_given || a.root[0] || a.loop[0] || a.map[0]);
	bootargs_parse("BOOT_IMAGE=/vmlinuz ro quiet splash wubix=1 wubixx.timeout=3 -- wubi\n", &a);
	assert_int_equal(a.problem_count, 1); /* the bare word 'wubi' */
	assert_false(a.off);
}

static void ours(void **state)
{
	struct bootargs a;

	(void)state;
	bootargs_parse("root=/dev/mapper/wubi-root ro wubi.unsettled=allow wubi.timeout=60 wubi.map=/m/x.map wubi.host=1\n", &a);
	assert_string_equal(a.root, "/dev/mapper/wubi-root");
	assert_true(a.allow_unsettled && a.timeout_given && !a.off);
	assert_int_equal(a.timeout_s, 60);
	assert_string_equal(a.map, "/m/x.map");
	assert_int_equal(a.problem_count, 0);
	bootargs_parse("wubi=off", &a);
	assert_true(a.off);
}

/* A misspelt parameter is told, and never taken for another one. */
static void not_understood(void **state)
{
	static const char *const lines[] = {
		"wubi=on", "wubi.unsettled=yes", "wubi.unsettled", "wubi.timeout=", "wubi.timeout=-1", "wubi.timeout=1e3",
		"wubi.timeout=86401", "wubi.timeout=99999999999999999999", "wubi.map=root.map", "wubi.hosts=1", "wubi.host=2",
		"wubi.Unsettled=allow",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		struct bootargs a;

		bootargs_parse(lines[i], &a);
		if (a.problem_count != 1 || a.off || a.allow_unsettled || a.timeout_given || a.map[0])
			fail_msg("'%s' is taken", lines[i]);
	}
}

static void last_one_counts_and_quotes_keep_space(void **state)
{
	struct bootargs a;

	(void)state;
	bootargs_parse("root=/dev/sda1 \"loop=/my disks/root.disk\" root=UUID=01D2AB34CD56EF78 wubi.timeout=5 "
		       "wubi.timeout=7", &a);
	assert_string_equal(a.root, "UUID=01D2AB34CD56EF78");
	assert_string_equal(a.loop, "/my disks/root.disk");
	assert_int_equal(a.timeout_s, 7);
	bootargs_parse("loop=\"/a b=c\"x\t\troot=\"\"", &a);
	assert_string_equal(a.loop, "/a b=cx");
	assert_string_equal(a.root, "");
}

static void a_value_that_is_too_long_is_no_value(void **state)
{
	char line[BOOTARGS_VALUE_MAX + 200];
	struct bootargs a;

	(void)state;
	memset(line, 'x', sizeof(line));
	memcpy(line, "root=", 5);
	line[sizeof(line) - 1] = '\0';
	bootargs_parse(line, &a);
	assert_string_equal(a.root, "");
	assert_int_equal(a.problem_count, 1);
}

static void problems_have_a_limit(void **state)
{
	struct bootargs a;

	(void)state;
	bootargs_parse("wubi.a wubi.b wubi.c wubi.d wubi.e wubi.f wubi.g wubi.h wubi.i wubi.j", &a);
	assert_int_equal(a.problem_count, BOOTARGS_PROBLEMS_MAX);
}

static void resume(void **state)
{
	struct bootargs a;

	(void)state;
	bootargs_parse("resume=/dev/mapper/wubi-swap", &a);
	assert_true(a.resume);
	bootargs_parse("resume=/dev/mapper/wubi-swap noresume", &a);
	assert_false(a.resume);
	bootargs_parse("noresume resume=UUID=1", &a);
	assert_false(a.resume);
	bootargs_parse("resume=none", &a);
	assert_false(a.resume);
	bootargs_parse("resume=", &a);
	assert_false(a.resume);
}

/* With an offset the session lies in a file of that device, not in a swap area. */
static void resume_of_a_swap_file(void **state)
{
	struct bootargs a;

	(void)state;
	bootargs_parse("resume=/dev/mapper/wubi-swap", &a);
	assert_string_equal(a.resume_device, "/dev/mapper/wubi-swap");
	assert_false(a.resume_offset);
	bootargs_parse("resume=/dev/mapper/wubi-root resume_offset=4096", &a);
	assert_string_equal(a.resume_device, "/dev/mapper/wubi-root");
	assert_true(a.resume && a.resume_offset);
	bootargs_parse("resume=/dev/mapper/wubi-root resume_offset=4096 noresume", &a);
	assert_false(a.resume);
}

/* As people wrote it into menus by hand, and as Wubi did. */
static void loop_is_a_path_as_maps_have_it(void **state)
{
	static const char *const good[] = {
		"loop=/ubuntu/disks/root.disk", "loop=//ubuntu/disks//root.disk", "loop=ubuntu/disks/root.disk",
		"loop=///ubuntu///disks/root.disk",
	};
	static const char *const bad[] = {
		"loop=/ubuntu/../x", "loop=", "loop=/", "loop=/ubuntu/disks/", "loop=../x", "loop=/a:b", "loop=/./x", "loop",
	};
	struct bootargs a;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		bootargs_parse(good[i], &a);
		if (strcmp(a.loop, "/ubuntu/disks/root.disk") != 0 || a.problem_count)
			fail_msg("'%s' is '%s'", good[i], a.loop);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		bootargs_parse(bad[i], &a);
		if (a.loop[0] || a.problem_count != 1)
			fail_msg("'%s' is '%s'", bad[i], a.loop);
	}
}

static void serial_number_of_an_old_root(void **state)
{
	unsigned long long serial = 1;
	struct bootargs a;

	(void)state;
	bootargs_parse("root=UUID=01D2AB34cd56EF78", &a);
	assert_true(bootargs_root_serial(&a, &serial));
	assert_true(serial == 0x01d2ab34cd56ef78ULL);
	bootargs_parse("root=UUID=1234-ABCD", &a);
	assert_false(bootargs_root_serial(&a, &serial));
	bootargs_parse("root=UUID=0f2a6ab0-1cda-4a3e-a2d5-7f3b5b9a5d11", &a);
	assert_false(bootargs_root_serial(&a, &serial));
	bootargs_parse("root=UUID=01D2AB34cd56EF7g", &a);
	assert_false(bootargs_root_serial(&a, &serial));
	bootargs_parse("root=01D2AB34cd56EF78", &a);
	assert_false(bootargs_root_serial(&a, &serial));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_asked),
		cmocka_unit_test(ours),
		cmocka_unit_test(not_understood),
		cmocka_unit_test(last_one_counts_and_quotes_keep_space),
		cmocka_unit_test(a_value_that_is_too_long_is_no_value),
		cmocka_unit_test(problems_have_a_limit),
		cmocka_unit_test(resume),
		cmocka_unit_test(resume_of_a_swap_file),
		cmocka_unit_test(loop_is_a_path_as_maps_have_it),
		cmocka_unit_test(serial_number_of_an_old_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
