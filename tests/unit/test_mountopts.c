/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "mountopts.h"

static void test_refused_options_are_named(void **state)
{
	static const struct {
		const char *options, *named;
	} bad[] = {
		{ "syncio", "'syncio'" },
		{ "sync,noatime", "'noatime'" },
		{ "SYNC", "'SYNC'" },
		{ "sync ", "'sync '" },
		{ "ro", "'ro'" },
		{ "dirsync", "'dirsync'" },
		{ "errors=continue", "'errors=continue'" },
		{ "data", "'data'" },
		{ "data=", "'data='" },
		{ "data=none", "'data=none'" },
		{ "barrier=2", "'barrier=2'" },
		{ "commit", "'commit'" },
		{ "commit=", "'commit='" },
		{ "commit=0", "'commit=0'" },
		{ "commit=301", "'commit=301'" },
		{ "commit=5s", "'commit=5s'" },
		{ "commit=-1", "'commit=-1'" },
		{ "commit=05", "'commit=05'" },
		{ "commit=18446744073709551617", "'commit=18446744073709551617'" },
		{ ",", "comma" },
		{ ",sync", "comma" },
		{ "sync,", "comma" },
		{ "sync,,commit=5", "comma" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = ERR_INIT;

		if (mountopts_check(bad[i].options, &e) != -EINVAL)
			fail_msg("'%s' is taken", bad[i].options);
		assert_text_has(e.text, bad[i].named);
		assert_text_has(e.text, "allowed");
	}
}

/* Also what is one option twice: which of them was meant? */
static void test_contradictions_are_refused(void **state)
{
	static const char *const bad[][3] = {
		{ "sync,async", "'sync'", "'async'" },
		{ "sync,sync", "'sync'", "'sync'" },
		{ "commit=5,sync,commit=5", "'commit=5'", "'commit=5'" },
		{ "commit=5,commit=6", "'commit=5'", "'commit=6'" },
		{ "lazytime,nolazytime", "'lazytime'", "'nolazytime'" },
		{ "auto_da_alloc,noauto_da_alloc", "'auto_da_alloc'", "'noauto_da_alloc'" },
		{ "delalloc,nodelalloc", "'delalloc'", "'nodelalloc'" },
		{ "barrier,barrier=1", "'barrier'", "'barrier=1'" },
		{ "data=journal,data=ordered", "'data=journal'", "'data=ordered'" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = ERR_INIT;

		if (mountopts_check(bad[i][0], &e) != -EINVAL)
			fail_msg("'%s' is taken", bad[i][0]);
		assert_text_has(e.text, bad[i][1]);
		assert_text_has(e.text, bad[i][2]);
	}
}

static void test_no_profile_can_break_fsync(void **state)
{
	static const char *const bad[] = { "nobarrier", "barrier=0", "sync,commit=5,nobarrier", "barrier,nobarrier" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = ERR_INIT;

		if (mountopts_check(bad[i], &e) != -EINVAL)
			fail_msg("'%s' is taken", bad[i]);
		assert_text_has(e.text, "fsync");
	}
}

/* With these the kernel would not mount the root file system at the next boot. */
static void test_F08_what_cannot_be_mounted_is_refused(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(mountopts_check("journal_async_commit", &e), -EINVAL);
	assert_text_has(e.text, "data=writeback");
	assert_int_equal(mountopts_check("data=ordered,journal_async_commit", NULL), -EINVAL);
	assert_int_equal(mountopts_check("delalloc,data=journal", &e), -EINVAL);
	assert_text_has(e.text, "'delalloc'");
	assert_int_equal(mountopts_check("data=writeback,journal_async_commit", NULL), 0);
	assert_int_equal(mountopts_check("data=journal,nodelalloc", NULL), 0);
}

/* Times that stay in memory for a day are no window of seconds; a synchronous mount does not promise them. */
static void test_lazytime_takes_sync(void **state)
{
	static const char *const bad[] = { "lazytime", "lazytime,async", "async,commit=1,lazytime" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = ERR_INIT;

		if (mountopts_check(bad[i], &e) != -EINVAL)
			fail_msg("'%s' is taken", bad[i]);
		assert_text_has(e.text, "'lazytime'");
		assert_text_has(e.text, "allowed is nolazytime, or lazytime with sync");
	}
	assert_int_equal(mountopts_check("lazytime,sync", NULL), 0);
	assert_int_equal(mountopts_check("async,nolazytime", NULL), 0);
}

static void test_too_many_characters(void **state)
{
	char text[MOUNTOPTS_TEXT + 1];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(mountopts_check(text, NULL), -EINVAL);
	text[MOUNTOPTS_TEXT - 1] = '\0';
	assert_int_equal(mountopts_check(text, NULL), -EINVAL);
}

static void test_allowed(void **state)
{
	static const char *const good[] = {
		"", "sync", "async", "commit=1", "commit=300",
		"sync,commit=5,barrier,auto_da_alloc,delalloc,nolazytime,data=ordered",
		"async,barrier=1,noauto_da_alloc,nodelalloc,nolazytime,data=writeback,journal_async_commit",
		"sync,lazytime",
	};
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++)
		if (mountopts_check(good[i], &e))
			fail_msg("'%s': %s", good[i], e.text);
}

static void test_commit_as_shown(void **state)
{
	(void)state;
	assert_int_equal(mountopts_commit_ms(""), 5000);
	assert_int_equal(mountopts_commit_ms("rw,errors=remount-ro"), 5000);
	assert_int_equal(mountopts_commit_ms("rw,commit=30,data=ordered"), 30000);
	assert_int_equal(mountopts_commit_ms("commit=600"), 600000); /* somebody's own */
	assert_int_equal(mountopts_commit_ms("commit=0"), 5000);
	assert_int_equal(mountopts_commit_ms("commit=x"), 5000);
	assert_int_equal(mountopts_commit_ms("nocommit=7,xcommit=8"), 5000);
	assert_true(mountopts_commit_ms("commit=21474836") == UINT_MAX);
}

static void test_sync_and_barriers_as_shown(void **state)
{
	(void)state;
	assert_true(mountopts_is_sync("rw,sync"));
	assert_true(mountopts_is_sync("sync,rw,errors=remount-ro"));
	assert_false(mountopts_is_sync(""));
	assert_false(mountopts_is_sync("rw,dirsync"));
	assert_false(mountopts_is_sync("rw,async"));
	assert_false(mountopts_is_sync("rw,syncio,xsync,sync=1"));
	assert_true(mountopts_has_barriers("rw,sync"));
	assert_true(mountopts_has_barriers("rw,barrier=1"));
	assert_false(mountopts_has_barriers("rw,nobarrier"));
	assert_false(mountopts_has_barriers("rw,barrier=0,sync"));
}

static void test_F08_split(void **state)
{
	char remount[MOUNTOPTS_TEXT] = "untouched", first[MOUNTOPTS_TEXT] = "untouched";
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(mountopts_split("data=writeback,nobarrier", remount, first, &e), -EINVAL);
	assert_text_has(e.text, "'nobarrier'");
	assert_string_equal(remount, "untouched");
	assert_string_equal(first, "untouched");
	assert_int_equal(mountopts_split("data=writeback,commit=30,journal_async_commit,sync", remount, first, NULL), 0);
	assert_string_equal(remount, "commit=30,sync");
	assert_string_equal(first, "data=writeback,journal_async_commit");
	assert_int_equal(mountopts_split("sync", remount, first, NULL), 0);
	assert_string_equal(remount, "sync");
	assert_string_equal(first, "");
	assert_int_equal(mountopts_split("", remount, first, NULL), 0);
	assert_string_equal(remount, "");
}

static void test_missing(void **state)
{
	static const char *const rows[][3] = {
		/* wanted, shown, missing */
		{ "", "rw", "" },
		{ "sync", "rw,sync", "" },
		{ "sync", "rw", "sync" },
		{ "async", "rw", "" },
		{ "async", "rw,sync", "async" },
		{ "commit=5", "rw", "" },
		{ "commit=5", "rw,commit=5", "" },
		{ "commit=5", "rw,commit=30", "commit=5" },
		{ "commit=1", "rw", "commit=1" },
		{ "sync,commit=30,data=writeback", "rw,sync,commit=30,data=writeback", "" },
		{ "sync,commit=30,data=writeback", "rw,errors=remount-ro", "sync,commit=30,data=writeback" },
		{ "data=ordered", "rw", "" },
		{ "data=ordered", "rw,data=ordered", "" }, /* as older kernels show it */
		{ "barrier", "rw,nobarrier", "barrier" },
		{ "barrier=1", "rw", "" },
		{ "barrier=1", "rw,barrier=0", "barrier=1" },
		{ "auto_da_alloc,delalloc,nolazytime", "rw", "" },
		{ "auto_da_alloc,delalloc,nolazytime", "rw,noauto_da_alloc,nodelalloc,lazytime",
		  "auto_da_alloc,delalloc,nolazytime" },
		{ "noauto_da_alloc,nodelalloc,sync,lazytime", "sync,lazytime,nodelalloc", "noauto_da_alloc" },
		{ "data=writeback,journal_async_commit", "rw,data=writeback", "journal_async_commit" },
		{ "data=writeback,journal_async_commit", "rw,journal_checksum,journal_async_commit,data=writeback", "" },
	};
	char missing[MOUNTOPTS_TEXT] = "untouched";

	(void)state;
	assert_int_equal(mountopts_missing("syncio", "rw", missing, NULL), -EINVAL);
	assert_string_equal(missing, "untouched");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(mountopts_missing(rows[i][0], rows[i][1], missing, NULL), 0);
		if (strcmp(missing, rows[i][2]) != 0)
			fail_msg("of '%s', '%s' lacks '%s'", rows[i][0], rows[i][1], missing);
	}
}

/* Every profile promises fsync, also one that says nothing about barriers. */
static void test_F08_wanted(void **state)
{
	static const char *const rows[][2] = {
		{ "", "barrier" },
		{ "sync", "sync,barrier" },
		{ "barrier=1,sync", "barrier=1,sync" },
		{ "data=writeback,commit=7", "commit=7,barrier" },
	};
	char wanted[MOUNTOPTS_TEXT] = "untouched";

	(void)state;
	assert_int_equal(mountopts_wanted("nobarrier", wanted, NULL), -EINVAL);
	assert_string_equal(wanted, "untouched");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(mountopts_wanted(rows[i][0], wanted, NULL), 0);
		assert_string_equal(wanted, rows[i][1]);
	}
}

static void test_about_the_same(void **state)
{
	(void)state;
	assert_true(mountopts_is_about("rw,nobarrier", "barrier"));
	assert_true(mountopts_is_about("commit=5", "commit=30"));
	assert_true(mountopts_is_about("commit=5,lazytime", "lazytime"));
	assert_false(mountopts_is_about("", "sync"));
	assert_false(mountopts_is_about("rw,commit=5", "sync"));
	assert_false(mountopts_is_about("noatime", "noatime"));
	assert_true(mountopts_contradict("defaults,nobarrier", "sync,barrier"));
	assert_true(mountopts_contradict("noatime,lazytime", "nolazytime"));
	assert_true(mountopts_contradict("commit=30,errors=remount-ro", "async,commit=5"));
	assert_false(mountopts_contradict("barrier=1,commit=5", "barrier,commit=5"));
	assert_false(mountopts_contradict("defaults,commit=30", "sync"));
	assert_false(mountopts_contradict("", "sync"));
}

static void test_back(void **state)
{
	static const char *const rows[][3] = { /* now, saved, what a remount is given */
		{ "rw", "rw", "" },
		{ "rw,sync", "rw", "async" },
		{ "rw", "rw,sync", "sync" },
		{ "rw,commit=30", "rw", "commit=5" },
		{ "rw", "rw,commit=30", "commit=30" },
		{ "rw,commit=1", "rw,commit=600", "commit=600" }, /* more than a profile may have, but it was there */
		{ "rw,commit=5", "rw", "" },
		{ "rw", "rw,nobarrier", "nobarrier" },
		{ "rw,noauto_da_alloc,nodelalloc,lazytime", "rw", "auto_da_alloc,delalloc,nolazytime" },
		{ "rw,sync,commit=1", "rw,noauto_da_alloc,commit=7,errors=remount-ro", "async,commit=7,noauto_da_alloc" },
		{ "rw,data=writeback,journal_async_commit", "rw", "" }, /* no remount takes these */
		{ "rw,errors=continue,noatime", "ro,discard", "" },     /* not ours */
	};
	char back[MOUNTOPTS_TEXT];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(mountopts_back(rows[i][0], rows[i][1], back, NULL), 0);
		if (strcmp(back, rows[i][2]) != 0)
			fail_msg("from '%s' to '%s' by '%s'", rows[i][0], rows[i][1], back);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused_options_are_named),
		cmocka_unit_test(test_contradictions_are_refused),
		cmocka_unit_test(test_no_profile_can_break_fsync),
		cmocka_unit_test(test_F08_what_cannot_be_mounted_is_refused),
		cmocka_unit_test(test_lazytime_takes_sync),
		cmocka_unit_test(test_too_many_characters),
		cmocka_unit_test(test_allowed),
		cmocka_unit_test(test_commit_as_shown),
		cmocka_unit_test(test_sync_and_barriers_as_shown),
		cmocka_unit_test(test_F08_split),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_F08_wanted),
		cmocka_unit_test(test_about_the_same),
		cmocka_unit_test(test_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
