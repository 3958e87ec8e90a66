/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "alloc_fail.h"
#include "cmocka_all.h"

#include "../../src/mapfile.c"

static char dir[] = "/tmp/wubi-test-mapfile-XXXXXX";

static int enter_folder(void **state)
{
	(void)state;
	return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
	static const char *const names[] = { "a", "link", "fifo", "dangling", "deep/a" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++)
		(void)unlink(names[i]); /* those that a test made */
	(void)rmdir("deep");
	return chdir("/") == 0 && rmdir(dir) == 0 ? 0 : -1;
}

static size_t files_here(void)
{
	DIR *d = opendir(".");
	size_t n = 0;

	assert_non_null(d);
	for (const struct dirent *entry; (entry = readdir(d)) != NULL;)
		n += entry->d_name[0] != '.';
	closedir(d);
	return n;
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
	char buf[4096];
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(buf, 1, sizeof(buf) - 1, f);
	(void)fclose(f);
	buf[n] = '\0';
	assert_string_equal(buf, text);
}

/* Its one extent lies at the start of the partition. */
static void make_map(struct map *m)
{
	*m = (struct map){
		.map_id = "0f2a7c1e-9b3d-4e55-8a61-c0ffee123456",
		.generation = 1,
		.name = "root",
		.image = "/ubuntu/disks/root.disk",
		.size_bytes = 8192,
		.fs_type = "none",
		.host = { .partition_bytes = 1 << 20, .cluster_bytes = 4096, .sector_bytes = 512 }
	};
	assert_int_equal(extent_list_append(&m->extents, 0, 8192, NULL), 0);
}

static void what_is_no_map_is_refused(void **state)
{
	struct map *m = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(mapfile_read("a", &m, &e), -ENOENT);
	assert_false(err_is_refusal(&e));
	assert_text_has(e.text, "'a'");
	assert_int_equal(mapfile_read(".", &m, &e), -EISDIR);
	assert_false(err_is_refusal(&e));
	put("a", "", 0);
	assert_int_equal(mapfile_read("a", &m, &e), -EPERM);
	assert_string_equal(e.reason, "invalid-map");
	put("a", "wubi-map 1\nid\n", 14);
	assert_int_equal(mapfile_read("a", &m, &e), -EPERM);
	assert_string_equal(e.reason, "invalid-map");
	assert_text_has(e.text, "line ");
	assert_text_has(e.text, "'a'");
	assert_null(m);
	assert_int_equal(truncate("a", (off_t)MAP_TEXT_MAX + 5),
			 0); /* sparse, and longer than a map may be */
	assert_int_equal(mapfile_read("a", &m, &e), -EPERM);
}

static void only_a_regular_file_is_replaced(void **state)
{
	static const struct {
		const char *path;
		int code;
	} bad[] = {
		{ "", -EISDIR },	  { "deep", -EISDIR },	   { "deep/", -EISDIR },
		{ "none/a", -ENOENT },	  { "a/b", -ENOTDIR },	   { "fifo", -EINVAL },
		{ "/dev/null", -EINVAL }, { "dangling", -ENOENT },
	};

	(void)state;
	put("a", "old", 3);
	assert_int_equal(mkdir("deep", 0755), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = ERR_INIT;

		assert_int_equal(mapfile_check_writable(bad[i].path, &e), bad[i].code);
		assert_int_equal(e.code, bad[i].code);
		assert_int_equal(mapfile_write_text(bad[i].path, "new", 3, &e), bad[i].code);
	}
	assert_file_is("a", "old");
	assert_int_equal(files_here(), 4);
}

static void a_failed_write_leaves_the_old_file_alone(void **state)
{
	struct rlimit old;
	struct rlimit small;
	struct err e = ERR_INIT;
	char text[5000];
	int r;

	(void)state;
	put("a", "old", 3);
	memset(text, 'x', sizeof(text));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ 4096, old.rlim_max };
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	r = mapfile_write_text("a", text, sizeof(text), &e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(r, -EFBIG);
	assert_text_has(e.text, "'a'");
	assert_file_is("a", "old");
	assert_int_equal(files_here(), 1);
}

static void an_unsound_map_is_not_written(void **state)
{
	struct map m;
	struct err e = ERR_INIT;

	(void)state;
	make_map(&m);
	m.size_bytes = 4096;
	assert_int_equal(mapfile_write("a", &m, &e), -EINVAL);
	assert_int_equal(files_here(), 0);
	extent_list_clear(&m.extents);
}

static void written_maps_are_read_back(void **state)
{
	struct map m;
	struct stat st;
	AUTO(map) struct map *back = NULL;
	struct err e = ERR_INIT;

	(void)state;
	make_map(&m);
	put("a", "old", 3);
	assert_int_equal(symlink("a", "link"), 0);
	assert_int_equal(mapfile_check_writable("link", &e), 0);
	assert_int_equal(mapfile_write("link", &m, &e),
			 0); /* the file, not the link, is replaced */
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat("a", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(files_here(), 2);
	assert_int_equal(mapfile_read("a", &back, &e), 0);
	assert_true(extent_list_equal(&back->extents, &m.extents));
	extent_list_clear(&m.extents);
}

static void paths_with_and_without_folder(void **state)
{
	char absolute[sizeof(dir) + 8];
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(mkdir("deep", 0755), 0);
	assert_int_equal(mapfile_check_writable("a", &e), 0);
	assert_int_equal(files_here(), 1); /* the check writes nothing */
	assert_int_equal(mapfile_write_text("a", "1\n", 2, &e), 0);
	assert_file_is("a", "1\n");
	assert_int_equal(mapfile_write_text("deep/a", "2\n", 2, &e), 0);
	assert_file_is("deep/a", "2\n");
	(void)snprintf(absolute, sizeof(absolute), "%s/a", dir);
	assert_int_equal(mapfile_write_text(absolute, "", 0, &e), 0);
	assert_file_is("a", "");
}

/* The functions of the file system that mapfile.c itself calls; those of map.c are test_map's. */
static int allocate_everything(const struct map *m)
{
	AUTO(map) struct map *back = NULL;
	struct err e = ERR_INIT;
	int r = mapfile_check_writable("a", &e);

	if (r == 0)
		r = mapfile_write("a", m, &e);
	if (r == 0)
		r = mapfile_read("a", &back, &e);
	assert_int_equal(r, e.code);
	return r;
}

static void every_failed_allocation_is_enomem(void **state)
{
	struct map m;
	int k = 0;
	int r;

	(void)state;
	make_map(&m);
	do {
		(void)unlink("a");
		alloc_failed = 0;
		alloc_fail_at = ++k;
		r = allocate_everything(&m);
		assert_int_equal(r, alloc_failed ? -ENOMEM : 0);
		assert_true(files_here() <= 1);
	} while (alloc_failed);
	alloc_fail_at = 0;
	assert_true(k > 5);
	extent_list_clear(&m.extents);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder_again, leave_folder)

static int enter_folder_again(void **state)
{
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	return enter_folder(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(what_is_no_map_is_refused),
		IN_FOLDER(only_a_regular_file_is_replaced),
		IN_FOLDER(a_failed_write_leaves_the_old_file_alone),
		IN_FOLDER(an_unsound_map_is_not_written),
		IN_FOLDER(written_maps_are_read_back),
		IN_FOLDER(paths_with_and_without_folder),
		IN_FOLDER(every_failed_allocation_is_enomem),
	};

	return cmocka_run_group_tests_name("mapfile", tests, NULL, NULL);
}
