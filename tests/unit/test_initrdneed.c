/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cmocka_all.h"

static char sysfs_root[80];
#define SYSFS_ROOT sysfs_root

#include "../../src/initrdneed.c" /* after SYSFS_ROOT: sysfs.c too is taken in, so that it looks into a tree of the test's */
#include "../../src/sysfs.c"

static char top[64];

static const char *at(const char *name, char ret[PATH_MAX])
{
	(void)snprintf(ret, PATH_MAX, "%s/%s", top, name);
	return ret;
}

static void put(const char *name, const char *text)
{
	char path[PATH_MAX], command[PATH_MAX + 32];
	FILE *f;

	(void)snprintf(command, sizeof(command), "mkdir -p $(dirname %s)", at(name, path));
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a path of mkdtemp() */
	f = fopen(path, "w");
	assert_non_null(f);
	(void)fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static struct initrdneed look(int code)
{
	char maps[PATH_MAX], fstab[PATH_MAX], now[PATH_MAX], later[PATH_MAX];
	const struct initrdneed_system s = { at("maps", maps), top, at("fstab", fstab), { at("cmdline", now), at("later",
														 later) } };
	struct initrdneed n = { .why = "untouched" };
	struct err e = ERR_INIT;

	assert_int_equal(initrdneed_look(&s, &n, &e), code);
	return n;
}

static int make_top(void **state)
{
	(void)state;
	strcpy(top, "/tmp/wubi-test.XXXXXX"); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy): fits */
	assert_non_null(mkdtemp(top));
	(void)snprintf(sysfs_root, sizeof(sysfs_root), "%s/sys", top);
	return 0;
}

static int remove_top(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -r %s", top);
	return system(command); /* NOLINT(cert-env33-c): a path of mkdtemp() */
}

static void nothing_there_says_nothing(void **state)
{
	struct initrdneed n = look(0);

	(void)state;
	assert_false(n.needed || n.goes_without_map);
	put("maps/README", "x");
	put("maps/.hidden.map", "x");
	put("fstab", "# /dev/mapper/wubi-root / ext4\n/dev/mapper/wubi-home /home ext4 defaults 0 2\nUUID=1 / ext4 defaults 0 "
	    "1\n");
	put("cmdline", "root=UUID=9f3c1f0e-1111-4222-8333-444455556666 loop=/x quiet\n");
	n = look(0);
	assert_false(n.needed || n.goes_without_map);
}

static void a_map_says_yes(void **state)
{
	struct initrdneed n;

	(void)state;
	put("maps/swap.map", "even a damaged one");
	n = look(0);
	assert_true(n.needed && !n.goes_without_map);
	assert_text_has(n.why, "swap.map");
}

static void fstab_says_yes(void **state)
{
	struct initrdneed n;

	(void)state;
	put("fstab", "/dev/mapper/wubi-root / ext4 defaults 0 1\n");
	n = look(0);
	assert_true(n.needed && !n.goes_without_map);
	assert_text_has(n.why, "/dev/mapper/wubi-root");
	assert_int_equal(n.root_count, 1);
	assert_string_equal(n.roots[0].name, "root");
	assert_string_equal(n.roots[0].id, "");
}

static void a_root_device_says_yes(void **state)
{
	struct initrdneed n;
	char path[PATH_MAX];
	struct stat st;

	(void)state;
	assert_int_equal(stat(top, &st), 0);
	(void)snprintf(path, sizeof(path), "sys/dev/block/%u:%u/dm/uuid", major(st.st_dev), minor(st.st_dev));
	put(path, "LVM-WUBI-1\n");
	assert_false(look(0).needed);
	put(path, "WUBI-9f3c1f0e-1111-4222-8333-444455556666-root\n");
	n = look(0);
	assert_true(n.needed && !n.goes_without_map);
	assert_text_has(n.why, "WUBI-9f3c1f0e");
	assert_int_equal(n.root_count, 1);
	assert_string_equal(n.roots[0].name, "root");
	assert_string_equal(n.roots[0].id, "9f3c1f0e-1111-4222-8333-444455556666");
	put("fstab", "/dev/mapper/wubi-other / ext4 defaults 0 1\n");
	assert_int_equal(look(0).root_count, 2);
}

static void an_old_disk_goes_without_map(void **state)
{
	struct initrdneed n;

	(void)state;
	put("later", "ro root=UUID=01D2A3B4C5D6E7F8 loop=/ubuntu/disks/root.disk quiet splash\n");
	n = look(0);
	assert_true(n.needed && n.goes_without_map);
	assert_text_has(n.why, "/ubuntu/disks/root.disk");
	put("maps/home.map", "x");
	n = look(0);
	assert_true(n.needed && n.goes_without_map);
	assert_text_has(n.why, "home.map");
}

static void what_cannot_be_read_is_no_no(void **state)
{
	(void)state;
	put("maps", "a file");
	assert_false(look(-ENOTDIR).needed);
}

int main(void)
{
#define WITH_TOP(test) cmocka_unit_test_setup_teardown(test, make_top, remove_top)
	const struct CMUnitTest tests[] = {
		WITH_TOP(nothing_there_says_nothing),
		WITH_TOP(a_map_says_yes),
		WITH_TOP(fstab_says_yes),
		WITH_TOP(a_root_device_says_yes),
		WITH_TOP(an_old_disk_goes_without_map),
		WITH_TOP(what_cannot_be_read_is_no_no),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
