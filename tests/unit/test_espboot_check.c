/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of initrdcheck's findings keeps an initramfs from being copied, and which system it is held against. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"

#include "initrdcheck.h"

static struct {
	int code;
	const char *reasons[2];
	const char *root; /* that it is asked about */
} fake;

static int fake_run(const struct initrdcheck_params *p, struct initrdcheck_result *ret, struct err *e)
{
	const char *root = fake.root[0] ? fake.root : "/";

	assert_string_equal(p->image, "/x/initrd.img-1");
	assert_string_equal(p->kernel, "1");
	assert_string_equal(p->system.root, root);
	assert_text_has(p->system.maps, fake.root);
	assert_text_has(p->system.fstab, fake.root);
	assert_text_has(p->modules, fake.root);
	assert_text_has(p->programs, fake.root);
	/* a live system's command line is not the one of the system that it installs */
	assert_int_equal(fake.root[0] == '\0', strcmp(p->system.cmdlines[0], "/proc/cmdline") == 0);
	if (fake.code)
		return err_set(e, fake.code, "no");
	*ret = (struct initrdcheck_result){ .maps = 1 };
	for (size_t i = 0; i < COUNT_OF(fake.reasons) && fake.reasons[i]; i++)
		report_add(&ret->findings, fake.reasons[i], "about %s", fake.reasons[i]);
	return 0;
}

#define initrdcheck_run fake_run

#include "../../src/espboot_check.c"

static void expect(const char *lack)
{
	char text[ESPBOOT_LACK_MAX] = "x";
	struct err e = ERR_INIT;

	assert_int_equal(espboot_check_initrd(fake.root, "/x/initrd.img-1", "1", text, &e), 0);
	assert_string_equal(text, lack);
	assert_int_equal(e.code, 0);
}

static int set_up(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.root = "";
	return 0;
}

static void test_no_memory(void **state)
{
	char text[ESPBOOT_LACK_MAX];

	(void)state;
	fake.code = -ENOMEM;
	assert_int_equal(espboot_check_initrd("", "/x/initrd.img-1", "1", text, NULL), -ENOMEM);
}

/* The menu, which says where the image lies, must not wait for what nobody can look into. */
static void test_what_cannot_be_told_is_not_bad(void **state)
{
	(void)state;
	fake.code = -ENOTSUP;
	expect("");
	fake.code = -EIO;
	expect("");
}

static void test_lacks(void **state)
{
	(void)state;
	expect("");
	fake.reasons[0] = "no-program";
	expect("about no-program");
}

/* It boots by following the image. */
static void test_an_old_map_is_no_lack(void **state)
{
	(void)state;
	fake.reasons[0] = "stale-map";
	expect("");
	fake.reasons[1] = "no-hook";
	expect("about no-hook");
}

static void test_another_root(void **state)
{
	(void)state;
	fake.root = "/target";
	expect("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_no_memory, set_up),
		cmocka_unit_test_setup(test_what_cannot_be_told_is_not_bad, set_up),
		cmocka_unit_test_setup(test_lacks, set_up),
		cmocka_unit_test_setup(test_an_old_map_is_no_lack, set_up),
		cmocka_unit_test_setup(test_another_root, set_up),
	};

	return cmocka_run_group_tests_name("espboot_check", tests, NULL, NULL);
}
