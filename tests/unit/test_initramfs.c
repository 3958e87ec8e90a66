/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "initramfs.h"

static char dir[] = "/tmp/wubi-test-initramfs-XXXXXX";

static int enter_folder(void **state)
{
	char path[128];

	(void)state;
	if (!mkdtemp(dir) || chdir(dir))
		return -1;
	(void)snprintf(path, sizeof(path), "/nowhere::%s", dir);
	return setenv("PATH", path, 1);
}

static void forget_tools(void)
{
	(void)unlink("update-initramfs"); /* those that a test made */
	(void)unlink("dracut");
	(void)unlink("said");
}

static int leave_folder(void **state)
{
	(void)state;
	forget_tools();
	return chdir("/") == 0 && rmdir(dir) == 0 ? 0 : -1;
}

static void put_tool(const char *name, const char *command)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	assert_true(fprintf(f, "#!/bin/sh\necho \"$0 $*\" >%s/said\n%s\n", dir, command) > 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(name, 0755), 0);
}

static void assert_said(const char *words)
{
	char text[256] = "";
	FILE *f = fopen("said", "r");

	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_text_has(text, words);
}

static void test_none(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	forget_tools();
	assert_null(initramfs_tool());
	assert_int_equal(initramfs_rebuild(&e), -ENOENT);
	assert_text_has(e.text, "update-initramfs");
	assert_text_has(e.text, "dracut");
}

static void test_each(void **state)
{
	(void)state;
	forget_tools();
	put_tool("dracut", "exit 0");
	assert_string_equal(initramfs_tool(), "dracut");
	assert_int_equal(initramfs_rebuild(NULL), 0);
	assert_said("dracut --regenerate-all --force\n");
	put_tool("update-initramfs", "exit 0");
	assert_string_equal(initramfs_tool(), "update-initramfs");
	assert_int_equal(initramfs_rebuild(NULL), 0);
	assert_said("update-initramfs -u -k all\n");
	assert_int_equal(chmod("update-initramfs", 0644), 0); /* not to be run */
	assert_string_equal(initramfs_tool(), "dracut");
}

static void test_failures(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	forget_tools();
	put_tool("dracut", "exit 3");
	assert_int_equal(initramfs_rebuild(&e), -EIO);
	assert_text_has(e.text, "status 3");
	put_tool("dracut", "kill -9 $$");
	assert_int_equal(initramfs_rebuild(&e), -EIO);
	assert_text_has(e.text, "signal 9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
