/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "alloc_fail.h"
#include "cmocka_all.h"

#include "../../src/textfile.c"

static char dir[] = "/tmp/wubi-test-textfile-XXXXXX";

static int enter_folder(void **state)
{
	(void)state;
	(void)umask(077); /* the modes are not to depend on it */
	return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

/* A group's folder is left as it was made: each test removes what it made. */
static int leave_folder(void **state)
{
	(void)state;
	return chdir("/") == 0 && rmdir(dir) == 0 ? 0 : -1;
}

/* With hidden ones: what a failed write leaves begins with a dot. */
static size_t files_in(const char *folder)
{
	DIR *d = opendir(folder);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void put(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void assert_file_is(const char *path, const char *text)
{
	AUTO_FREE char *now = NULL;
	struct err e = ERR_INIT;

	if (textfile_read(path, &now, &e))
		fail_msg("%s", e.text);
	assert_string_equal(now, text);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode;
}

static void cannot_read(const char *path, int code)
{
	char *text = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(textfile_read(path, &text, &e), code);
	assert_text_has(e.text, path);
	assert_null(text);
}

static void test_what_cannot_be_read(void **state)
{
	(void)state;
	cannot_read("nowhere", -ENOENT);
	cannot_read(".", -EISDIR);
	cannot_read("/dev/null", -EINVAL);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	cannot_read("fifo", -EINVAL);
	put("file", "a\0b", 3);
	cannot_read("file", -EINVAL);
	put("file", "ab\0", 3);
	cannot_read("file", -EINVAL);
	assert_int_equal(truncate("file", TEXTFILE_MAX_BYTES + 1), 0);
	cannot_read("file", -EFBIG);
	assert_int_equal(unlink("file"), 0);
	assert_int_equal(unlink("fifo"), 0);
}

static void test_read(void **state)
{
	AUTO_FREE char *large = malloc(TEXTFILE_MAX_BYTES + 1);
	AUTO_FREE char *number = NULL;

	(void)state;
	put("file", "", 0);
	assert_file_is("file", "");
	put("file", "one\ntwo", 7);
	assert_file_is("file", "one\ntwo");
	memset(large, 'x', TEXTFILE_MAX_BYTES);
	large[TEXTFILE_MAX_BYTES] = '\0';
	put("file", large, TEXTFILE_MAX_BYTES);
	assert_file_is("file", large);
	put("file", large, 4095);
	large[4095] = '\0';
	assert_file_is("file", large);
	assert_int_equal(unlink("file"), 0);
	assert_int_equal(textfile_read("/proc/self/stat", &number, NULL), 0); /* its size is 0 */
	assert_true(strlen(number) > 20);
}

static void test_write(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	if (textfile_write("file", "new\n", &e))
		fail_msg("%s", e.text);
	assert_file_is("file", "new\n");
	assert_int_equal(mode_of("file"), S_IFREG | 0644);
	assert_int_equal(chmod("file", 0640), 0);
	assert_int_equal(textfile_write("file", "", &e), 0);
	assert_file_is("file", "");
	assert_int_equal(mode_of("file"), S_IFREG | 0640);
	assert_int_equal(files_in("."), 1);
	assert_int_equal(unlink("file"), 0);
}

/* Whoever has the old file open reads the old text to its end. */
static void test_the_old_file_is_not_touched(void **state)
{
	char text[8] = "";
	FILE *f;

	(void)state;
	put("file", "old", 3);
	f = fopen("file", "r");
	assert_non_null(f);
	assert_int_equal(textfile_write("file", "longer text", NULL), 0);
	assert_non_null(fgets(text, sizeof(text), f));
	assert_string_equal(text, "old");
	assert_int_equal(fclose(f), 0);
	assert_file_is("file", "longer text");
	assert_int_equal(unlink("file"), 0);
}

static void test_missing_folders_are_made(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	if (textfile_write("a/b//c/file", "x", &e))
		fail_msg("%s", e.text);
	assert_file_is("a/b/c/file", "x");
	assert_int_equal(mode_of("a"), S_IFDIR | 0755);
	assert_int_equal(mode_of("a/b/c"), S_IFDIR | 0755);
	assert_int_equal(textfile_write("a/b/c/file/d/file", "y", &e), -ENOTDIR);
	assert_int_equal(textfile_write("a/b/c/", "y", &e), -EISDIR);
	assert_int_equal(textfile_write("a/b/c", "y", &e), -EISDIR);
	assert_int_equal(textfile_write("", "y", &e), -EISDIR);
	assert_int_equal(files_in("a/b/c"), 1);
	assert_int_equal(textfile_remove("a/b/c/file", &e), 0);
	assert_int_equal(rmdir("a/b/c") | rmdir("a/b") | rmdir("a"), 0);
}

static void test_links_are_followed(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	put("file", "old", 3);
	assert_int_equal(mkdir("d", 0755), 0);
	assert_int_equal(symlink("../file", "d/link"), 0);
	assert_int_equal(symlink("d/link", "link"), 0);
	assert_int_equal(textfile_write("link", "new", &e), 0);
	assert_true(S_ISLNK(mode_of("link")) && S_ISLNK(mode_of("d/link")));
	assert_file_is("file", "new");
	assert_int_equal(files_in("d"), 1);
	assert_int_equal(files_in("."), 3);
	assert_int_equal(unlink("file"), 0);
	assert_int_equal(textfile_write("link", "again", &e), 0); /* both hang in the air */
	assert_file_is("file", "again");
	assert_int_equal(textfile_remove("link", &e), 0);
	assert_file_is("file", "again"); /* a link that is removed is the link */
	assert_int_equal(unlink("file") | unlink("d/link") | rmdir("d"), 0);
}

static void test_a_link_into_a_missing_folder(void **state)
{
	char absolute[128];
	struct err e = ERR_INIT;

	(void)state;
	(void)snprintf(absolute, sizeof(absolute), "%s/e/f/file", dir);
	assert_int_equal(symlink(absolute, "link"), 0);
	assert_int_equal(textfile_write("link", "new", &e), 0);
	assert_file_is("e/f/file", "new");
	assert_int_equal(unlink("e/f/file") | rmdir("e/f") | rmdir("e") | unlink("link"), 0);
	assert_int_equal(symlink("link", "link"), 0);
	assert_int_equal(textfile_write("link", "new", &e), -ELOOP);
	assert_int_equal(unlink("link"), 0);
}

/* As sysctl.d files are masked. */
static void test_a_device_is_not_replaced(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(symlink("/dev/null", "link"), 0);
	assert_int_equal(textfile_write("link", "new", &e), -EINVAL);
	assert_text_has(e.text, "/dev/null");
	assert_true(S_ISCHR(mode_of("/dev/null")));
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(textfile_write("fifo", "new", &e), -EINVAL);
	assert_true(S_ISFIFO(mode_of("fifo")));
	assert_int_equal(unlink("link") | unlink("fifo"), 0);
	assert_int_equal(files_in("."), 0);
}

static void test_too_long_names(void **state)
{
	char path[PATH_MAX + 8];
	struct err e = ERR_INIT;

	(void)state;
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(textfile_write(path, "x", &e), -ENAMETOOLONG);
	path[NAME_MAX] = '\0'; /* the temporary file's would be longer */
	assert_int_equal(textfile_write(path, "x", &e), -ENAMETOOLONG);
	assert_int_equal(files_in("."), 0);
}

/* As a full disk: some of the text gets in, the rest does not. */
static void test_half_a_write(void **state)
{
	const struct rlimit small = { 2000, RLIM_INFINITY }, all = { RLIM_INFINITY, RLIM_INFINITY };
	char text[4000];
	struct err e = ERR_INIT;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	put("file", "old", 3);
	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(textfile_write("file", text, &e), -EFBIG);
	assert_text_has(e.text, "'file'");
	assert_int_equal(textfile_write("other", text, &e), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	assert_file_is("file", "old");
	assert_int_equal(files_in("."), 1); /* no temporary file stays */
	assert_int_equal(textfile_write("file", text, &e), 0);
	assert_file_is("file", text);
	assert_int_equal(unlink("file"), 0);
}

static void test_no_memory(void **state)
{
	char *text = NULL;
	struct err e = ERR_INIT;

	(void)state;
	put("file", "old", 3);
	alloc_fail_at = 1;
	assert_int_equal(textfile_read("file", &text, &e), -ENOMEM);
	assert_null(text);
	assert_int_equal(truncate("file", 0), 0);
	assert_int_equal(unlink("file"), 0);
}

static void test_remove(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	put("file", "x", 1);
	assert_int_equal(textfile_remove("file", &e), 0);
	assert_int_equal(files_in("."), 0);
	assert_int_equal(textfile_remove("file", &e), 0);
	assert_int_equal(textfile_remove("no/such/folder", &e), 0);
	assert_int_equal(mkdir("d", 0755), 0);
	assert_true(textfile_remove("d", &e) < 0);
	assert_text_has(e.text, "'d'");
	assert_int_equal(rmdir("d"), 0);
}

/* Of another system: absolute links and '..' lead to places of its own, also to such that are not there yet. */
static void test_resolve(void **state)
{
	static const struct {
		const char *path, *wanted;
	} rows[] = {
		{ "/etc/file", "/etc/file" }, { "/abs/file", "/etc/file" }, { "/up/file", "/etc/file" },
		{ "/abs/../file", "/file" }, { "/../../file", "/file" }, { "/etc/./missing//file", "/etc/missing/file" },
		{ "/etc/last", "/nowhere/file" },
	};
	char root[PATH_MAX], path[PATH_MAX], wanted[PATH_MAX + 32];

	(void)state;
	assert_non_null(getcwd(root, sizeof(root)));
	assert_int_equal(mkdir("etc", 0700), 0);
	assert_int_equal(symlink("/etc", "abs"), 0);
	assert_int_equal(symlink("../../etc", "up"), 0);
	assert_int_equal(symlink("/nowhere/file", "etc/last"), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(textfile_resolve(root, rows[i].path, path), 0);
		(void)snprintf(wanted, sizeof(wanted), "%s%s", root, rows[i].wanted);
		assert_string_equal(path, wanted);
	}
	assert_int_equal(textfile_resolve("", "/abs/../file", path), 0);
	assert_string_equal(path, "/abs/../file");
	assert_int_equal(textfile_resolve(root, "/loop", path), -1);
	assert_int_equal(errno, ELOOP);
	assert_int_equal(unlink("loop") + unlink("etc/last") + unlink("up") + unlink("abs") + rmdir("etc"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_cannot_be_read),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_the_old_file_is_not_touched),
		cmocka_unit_test(test_missing_folders_are_made),
		cmocka_unit_test(test_links_are_followed),
		cmocka_unit_test(test_a_link_into_a_missing_folder),
		cmocka_unit_test(test_a_device_is_not_replaced),
		cmocka_unit_test(test_too_long_names),
		cmocka_unit_test(test_half_a_write),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_remove),
		cmocka_unit_test(test_resolve),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
