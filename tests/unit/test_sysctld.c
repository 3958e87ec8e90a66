/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sysctld.h"
#include "textfile.h"

static char root[] = "/tmp/wubi-test-sysctld-XXXXXX";

static const char *const limit[] = { "vm.dirty_bytes", "vm.dirty_ratio" };
static const char *const background[] = { "vm.dirty_background_bytes", "vm.dirty_background_ratio" };
static const char *const expire[] = { "vm.dirty_expire_centisecs" };

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static int make_root(void **state)
{
	(void)state;
	strcpy(root + strlen(root) - 6, "XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	(void)state;
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *in_root(const char *path)
{
	static char whole[PATH_MAX];

	(void)snprintf(whole, sizeof(whole), "%s%s", root, path);
	return whole;
}

static void put(const char *path, const char *text)
{
	struct err e = ERR_INIT;

	if (textfile_write(in_root(path), text, &e))
		fail_msg("%s", e.text);
}

static void put_link(const char *target, const char *path)
{
	put(path, "");
	assert_int_equal(unlink(in_root(path)), 0);
	assert_int_equal(symlink(target, in_root(path)), 0);
}

/* Who sets one of the keys: "vm.dirty_bytes=5 /etc/sysctl.d/a.conf:1", "" if none does. */
static const char *winner(const char *const *keys, size_t count)
{
	static char text[PATH_MAX + 160];
	struct sysctld_setting s;
	struct err e = ERR_INIT;

	if (sysctld_winner(root, keys, count, &s, &e))
		fail_msg("%s", e.text);
	(void)snprintf(text, sizeof(text), "%s=%s %s:%u", s.key, s.value, s.path, s.line);
	return s.path[0] ? text : "";
}

#define assert_winner(keys, text) assert_string_equal(winner((keys), COUNT_OF(keys)), (text))

static void test_nothing(void **state)
{
	static const char *const none[] = { "vm.there_is_no_such_thing" };
	struct sysctld_setting s = { .line = 9 };

	(void)state;
	assert_winner(limit, "");
	put("/etc/sysctl.d/a.conf", "");
	put("/etc/sysctl.conf", "");
	assert_winner(limit, "");
	assert_int_equal(sysctld_winner("", none, 1, &s, NULL), 0); /* this machine's */
	assert_string_equal(s.path, "");
	assert_int_equal(sysctld_winner("", none, 0, &s, NULL), 0);
	assert_string_equal(s.path, "");
}

static void test_bad_places(void **state)
{
	static const char *const long_key[] = { "vm.0123456789012345678901234567890123456789012345678901234567890123" };
	struct sysctld_setting s = { .line = 9 };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(sysctld_winner("/nowhere/root", limit, 2, &s, &e), 0); /* no folder, no setting */
	assert_int_equal(sysctld_winner(root, long_key, 1, &s, &e), -EINVAL);
	put("/etc/sysctl.d/large.conf", "");
	assert_int_equal(truncate(in_root("/etc/sysctl.d/large.conf"), 2 << 20), 0);
	assert_int_equal(sysctld_winner(root, limit, 2, &s, &e), -EFBIG);
	assert_text_has(e.text, "'/etc/sysctl.d/large.conf'");
	assert_int_equal(unlink(in_root("/etc/sysctl.d/large.conf")), 0);
	put("/etc/sysctl.d/dir.conf/x", "");
	assert_int_equal(mkfifo(in_root("/etc/sysctl.d/fifo.conf"), 0600), 0);
	put_link("loop.conf", "/etc/sysctl.d/loop.conf");
	put_link("/no/such/file", "/etc/sysctl.d/broken.conf");
	put("/etc/sysctl.d/a.conf", "vm.dirty_bytes=5\n");
	assert_winner(limit, "vm.dirty_bytes=5 /etc/sysctl.d/a.conf:1");
}

static void test_folders(void **state)
{
	static const char *const folders[] = { "/lib", "/usr/lib", "/usr/local/lib", "/run", "/etc" };
	char path[64], text[128];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(folders); i++) { /* of one name, each hides the one before, and all that it has */
		(void)snprintf(path, sizeof(path), "%s/sysctl.d/50-x.conf", folders[i]);
		(void)snprintf(text, sizeof(text), "vm.dirty_bytes = %zu%s", i + 1, i == 0 ? "\nvm.dirty_ratio = 8" : "");
		put(path, text);
		(void)snprintf(text, sizeof(text), "vm.dirty_bytes=%zu %s:1", i + 1, path);
		assert_winner(limit, i == 0 ? "vm.dirty_ratio=8 /lib/sysctl.d/50-x.conf:2" : text);
	}
}

static void test_names_not_folders_are_the_order(void **state)
{
	(void)state;
	put("/etc/sysctl.d/10-a.conf", "vm.dirty_bytes=1\n");
	put("/usr/lib/sysctl.d/90-b.conf", "vm.dirty_bytes=2\n");
	put("/run/sysctl.d/50-c.conf", "vm.dirty_bytes=3\n");
	put("/etc/sysctl.d/99.conf.bak", "vm.dirty_bytes=4\n");
	put("/etc/sysctl.d/.99.conf", "vm.dirty_bytes=4\n");
	put("/etc/sysctl.d/99-conf", "vm.dirty_bytes=4\n");
	put("/etc/sysctl.d/.conf", "vm.dirty_bytes=4\n");
	assert_winner(limit, "vm.dirty_bytes=2 /usr/lib/sysctl.d/90-b.conf:1");
	put("/etc/sysctl.d/9.conf", "vm.dirty_bytes=5\n"); /* as text: before 90, behind 10 */
	assert_winner(limit, "vm.dirty_bytes=2 /usr/lib/sysctl.d/90-b.conf:1");
	put("/etc/sysctl.d/90-b.conf", "# nothing\n");
	assert_winner(limit, "vm.dirty_bytes=5 /etc/sysctl.d/9.conf:1");
	put("/etc/sysctl.d/zz.conf", "vm.dirty_ratio=6\n");
	assert_winner(limit, "vm.dirty_ratio=6 /etc/sysctl.d/zz.conf:1");
}

static void test_masked(void **state)
{
	(void)state;
	put("/usr/lib/sysctl.d/90-b.conf", "vm.dirty_bytes=2\n");
	put_link("/dev/null", "/etc/sysctl.d/90-b.conf");
	assert_winner(limit, "");
	put("/run/sysctl.d/10-a.conf", "vm.dirty_bytes=1\n");
	assert_winner(limit, "vm.dirty_bytes=1 /run/sysctl.d/10-a.conf:1");
}

static void test_lines(void **state)
{
	static const struct {
		const char *text, *winner;
	} rows[] = {
		{ "vm.dirty_bytes=1", "vm.dirty_bytes=1 /etc/sysctl.d/a.conf:1" },
		{ "\n\n  vm.dirty_bytes \t=\t 1 \r\n", "vm.dirty_bytes=1 /etc/sysctl.d/a.conf:3" },
		{ "vm/dirty_bytes=1", "vm.dirty_bytes=1 /etc/sysctl.d/a.conf:1" },
		{ "/vm//dirty_bytes=1", "vm.dirty_bytes=1 /etc/sysctl.d/a.conf:1" },
		{ "-vm.dirty_bytes=1", "vm.dirty_bytes=1 /etc/sysctl.d/a.conf:1" },
		{ "- vm.dirty_bytes = 1", "vm.dirty_bytes=1 /etc/sysctl.d/a.conf:1" },
		{ "vm.dirty_bytes = 1 = 2", "vm.dirty_bytes=1 = 2 /etc/sysctl.d/a.conf:1" },
		{ "# vm.dirty_bytes=1\n;vm.dirty_bytes=2\n  #vm.dirty_bytes=3", "" },
		{ "vm.dirty_bytes 1\nvm.dirty_bytes\n=5\n-\n-=1\n", "" },
		{ "vm/dirty.bytes=1\nvm.dirty_bytes.x=1\nvm.dirty_byte=1\nVM.dirty_bytes=1\nvm=1", "" },
		{ "vm.dirty_bytes=1\nvm.dirty_bytes=2", "vm.dirty_bytes=2 /etc/sysctl.d/a.conf:2" },
		{ "vm.dirty_bytes=1\nvm.dirty_ratio=2", "vm.dirty_ratio=2 /etc/sysctl.d/a.conf:2" },
		{ "vm.dirty_ratio=2\nvm.dirty_bytes=1\nvm.swappiness=1", "vm.dirty_bytes=1 /etc/sysctl.d/a.conf:2" },
		/* the kernel refuses a 0 here */
		{ "vm.dirty_ratio=2\nvm.dirty_bytes=0", "vm.dirty_ratio=2 /etc/sysctl.d/a.conf:1" },
		{ "vm.dirty_bytes=0", "" },
		/* the same value again stays where it was first, so that the ratio is written last */
		{ "vm.dirty_bytes=1\nvm.dirty_ratio=2\nvm.dirty_bytes=1", "vm.dirty_ratio=2 /etc/sysctl.d/a.conf:2" },
		{ "vm.dirty_bytes=1\nvm.dirty_ratio=2\nvm.dirty_bytes=3", "vm.dirty_bytes=3 /etc/sysctl.d/a.conf:3" },
		/* '-key' without a value takes an earlier line away */
		{ "vm.dirty_bytes=1\n-vm.dirty_bytes", "" },
		{ "-vm.dirty_bytes\nvm.dirty_bytes=1", "vm.dirty_bytes=1 /etc/sysctl.d/a.conf:2" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		put("/etc/sysctl.d/a.conf", rows[i].text);
		assert_winner(limit, rows[i].winner);
	}
}

static void test_globs(void **state)
{
	static const struct {
		const char *text, *of_limit, *of_background;
	} rows[] = {
		/* in the order of the names: bytes, then ratio */
		{ "vm.dirty_* = 5", "vm.dirty_ratio=5 /etc/sysctl.d/a.conf:1",
		  "vm.dirty_background_ratio=5 /etc/sysctl.d/a.conf:1" },
		{ "vm/dirty_[b]ytes=5", "vm.dirty_bytes=5 /etc/sysctl.d/a.conf:1", "" },
		{ "vm.dirty_byte?=5", "vm.dirty_bytes=5 /etc/sysctl.d/a.conf:1", "" },
		{ "*.dirty_bytes=5", "vm.dirty_bytes=5 /etc/sysctl.d/a.conf:1", "" },
		{ "*=5\n*dirty_bytes=5\nvm.dirty_x*=5", "", "" },
		/* a line that names the key counts more, even before */
		{ "vm.dirty_ratio=1\nvm.dirty_*=5", "vm.dirty_bytes=5 /etc/sysctl.d/a.conf:2",
		  "vm.dirty_background_ratio=5 /etc/sysctl.d/a.conf:2" },
		{ "vm.dirty_ratio=1\nvm.dirty_bytes=2\nvm.dirty_*=5", "vm.dirty_bytes=2 /etc/sysctl.d/a.conf:2",
		  "vm.dirty_background_ratio=5 /etc/sysctl.d/a.conf:3" },
		{ "vm.dirty_*=5\n-vm.dirty_ratio", "vm.dirty_bytes=5 /etc/sysctl.d/a.conf:1",
		  "vm.dirty_background_ratio=5 /etc/sysctl.d/a.conf:1" },
		{ "-vm.dirty_ratio\n-vm.dirty_bytes\n-vm.dirty_background_*=7", "",
		  "vm.dirty_background_ratio=7 /etc/sysctl.d/a.conf:3" },
		{ "vm.dirty_*=5\nvm.*=6\nvm.dirty_*=7", "vm.dirty_ratio=7 /etc/sysctl.d/a.conf:3",
		  "vm.dirty_background_ratio=7 /etc/sysctl.d/a.conf:3" },
		{ "vm.dirty_*=5\nvm.*=6\nvm.dirty_*=5", "vm.dirty_ratio=6 /etc/sysctl.d/a.conf:2",
		  "vm.dirty_background_ratio=6 /etc/sysctl.d/a.conf:2" },
		{ "vm.dirty_*_bytes=0", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		put("/etc/sysctl.d/a.conf", rows[i].text);
		assert_winner(limit, rows[i].of_limit);
		assert_winner(background, rows[i].of_background);
	}
	put("/etc/sysctl.d/a.conf", "vm.dirty_*=5\nvm.dirty_expire_centisecs=0");
	assert_winner(expire, "vm.dirty_expire_centisecs=0 /etc/sysctl.d/a.conf:2");
	put("/etc/sysctl.d/a.conf", "vm.dirty_*=5");
	assert_winner(expire, "vm.dirty_expire_centisecs=5 /etc/sysctl.d/a.conf:1");
}

static void test_long_lines(void **state)
{
	char text[10000], expected[128];

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, "vm.", 3);
	memcpy(text + 5000, "=1\nvm.dirty_bytes=", 18);
	memset(text + 5018, '7', 4000);
	text[9018] = '\0';
	put("/etc/sysctl.d/a.conf", text);
	(void)snprintf(expected, sizeof(expected), "vm.dirty_bytes=%.63s /etc/sysctl.d/a.conf:2", text + 5018);
	assert_winner(limit, expected);
}

static void test_sysctl_conf_is_linked(void **state)
{
	static const char *const links[] = { "../sysctl.conf", "/etc/sysctl.conf" };

	(void)state;
	put("/etc/sysctl.conf", "vm.dirty_bytes=1\n");
	put("/etc/sysctl.d/50-a.conf", "vm.dirty_bytes=2\n");
	put("/etc/sysctl.d/zz.conf", "vm.dirty_bytes=3\n");
	for (size_t i = 0; i < COUNT_OF(links); i++) {
		put_link(links[i], "/etc/sysctl.d/99-sysctl.conf");
		assert_winner(limit, "vm.dirty_bytes=3 /etc/sysctl.d/zz.conf:1");
		put("/etc/sysctl.d/zz.conf", "");
		assert_winner(limit, "vm.dirty_bytes=1 /etc/sysctl.d/99-sysctl.conf:1");
		put("/etc/sysctl.d/zz.conf", "vm.dirty_bytes=3\n");
		assert_int_equal(unlink(in_root("/etc/sysctl.d/99-sysctl.conf")), 0);
	}
	put_link("../sysctl.conf", "/etc/sysctl.d/00-mine.conf"); /* under another name */
	assert_winner(limit, "vm.dirty_bytes=3 /etc/sysctl.d/zz.conf:1");
	assert_int_equal(unlink(in_root("/etc/sysctl.d/00-mine.conf")), 0);
	put_link("/dev/null", "/etc/sysctl.d/99-sysctl.conf"); /* the link is masked: then it is not read */
	assert_winner(limit, "vm.dirty_bytes=3 /etc/sysctl.d/zz.conf:1");
}

static void test_sysctl_conf_is_not_linked(void **state)
{
	(void)state;
	put("/etc/sysctl.conf", "# x\nvm.dirty_bytes=1\n");
	assert_winner(limit, "vm.dirty_bytes=1 /etc/sysctl.conf:2");
	put("/etc/sysctl.d/zz.conf", "vm.dirty_bytes=3\nvm.dirty_background_ratio=4\n");
	assert_winner(limit, "vm.dirty_bytes=1 /etc/sysctl.conf:2");
	assert_winner(background, "vm.dirty_background_ratio=4 /etc/sysctl.d/zz.conf:2");
}

/* An absolute link of another system is not one of ours. */
static void test_links_stay_in_the_root(void **state)
{
	(void)state;
	put("/usr/lib/sysctl.d/a.conf", "vm.dirty_bytes=1\n");
	assert_int_equal(symlink("/usr/lib", in_root("/lib")), 0);
	assert_int_equal(mkdir(in_root("/etc"), 0755), 0);
	assert_int_equal(symlink("/usr/my", in_root("/etc/sysctl.d")), 0);
	assert_winner(limit, "vm.dirty_bytes=1 /usr/lib/sysctl.d/a.conf:1");
	put("/usr/my/b.conf", "vm.dirty_bytes=2\n");
	assert_winner(limit, "vm.dirty_bytes=2 /etc/sysctl.d/b.conf:1");
	assert_int_equal(symlink("../../../../../../../../usr/my/b.conf", in_root("/usr/my/c.conf")), 0);
	put("/usr/my/b.conf", "vm.dirty_bytes=3\n");
	assert_winner(limit, "vm.dirty_bytes=3 /etc/sysctl.d/b.conf:1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_bad_places, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_folders, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_names_not_folders_are_the_order, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_masked, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_lines, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_globs, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_long_lines, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_sysctl_conf_is_linked, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_sysctl_conf_is_not_linked, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_links_stay_in_the_root, make_root, remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
