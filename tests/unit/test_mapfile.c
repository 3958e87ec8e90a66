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
	static const char *const names[] = { "a", "b", "link", "fifo", "dangling", "deep/a" };

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
	assert_int_equal(mkfifo("fifo", 0600), 0); /* nobody will ever write to it */
	assert_int_equal(mapfile_read("fifo", &m, &e), -EINVAL);
	assert_false(err_is_refusal(&e));
	assert_text_has(e.text, "'fifo'");
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

	struct mapfile_pending pending = { 0 };

	(void)state;
	put("a", "old", 3);
	assert_int_equal(mkdir("deep", 0755), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = ERR_INIT;

		assert_int_equal(mapfile_check_writable(bad[i].path, NULL, &e), bad[i].code);
		assert_int_equal(e.code, bad[i].code);
		assert_int_equal(stage_text(bad[i].path, "new", 3, &pending, &e), bad[i].code);
		assert_null(pending.temp);
	}
	assert_file_is("a", "old");
	assert_int_equal(files_here(), 4);
}

static int write_text(const char *path, const char *text, struct err *e)
{
	struct mapfile_pending pending = { 0 };
	int r = stage_text(path, text, strlen(text), &pending, e);

	if (r == 0)
		r = mapfile_publish(&pending, e);
	mapfile_drop(&pending);
	return r;
}

static void assert_is_empty(const struct mapfile_pending *p)
{
	assert_null(p->target);
	assert_null(p->temp);
}

static void somebodys_file_is_not_replaced(void **state)
{
	static const char *const texts[] = { "x", "wubi-ma", "wubi-map", "wubi-map\n1", "\xebR\x90NTFS    " };
	struct mapfile_pending pending = { 0 };
	struct map m;

	(void)state;
	make_map(&m);
	assert_int_equal(symlink("a", "link"), 0);
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct err e = ERR_INIT;

		put("a", texts[i], strlen(texts[i]));
		assert_int_equal(mapfile_check_writable("link", NULL, &e), -EPERM);
		assert_string_equal(e.reason, "map-file");
		assert_text_has(e.text, "/a' exists");
		assert_text_has(e.text, "name another file");
		err_clear(&e);
		assert_int_equal(mapfile_stage("link", &m, &pending, &e), -EPERM);
		assert_string_equal(e.reason, "map-file");
		assert_is_empty(&pending);
		assert_int_equal(mapfile_write("a", &m, &e), -EPERM);
		assert_file_is("a", texts[i]);
	}
	assert_int_equal(files_here(), 2);
	extent_list_clear(&m.extents);
}

static void the_volume_is_no_place_for_a_map(void **state)
{
	static const char *const names[] = { "a", "b", "link", "./a" };
	struct err e = ERR_INIT;

	(void)state;
	put("a", "", 0); /* even where its content would allow it */
	assert_int_equal(link("a", "b"), 0);
	assert_int_equal(symlink("b", "link"), 0);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		err_clear(&e);
		assert_int_equal(mapfile_check_writable(names[i], "a", &e), -EPERM);
		assert_string_equal(e.reason, "map-file");
		assert_text_has(e.text, "volume 'a'");
	}
	err_clear(&e);
	assert_int_equal(mapfile_check_writable("/dev/null", "/dev/null", &e), -EPERM);
	assert_string_equal(e.reason, "map-file");
	assert_int_equal(mapfile_check_writable("a", NULL, &e), 0);
	assert_int_equal(mapfile_check_writable("a", "none", &e), 0); /* whoever opens it tells */
	assert_int_equal(mapfile_check_writable("deep", "a", &e), 0); /* another file */
}

static void a_staged_map_waits_beside_its_target(void **state)
{
	struct mapfile_pending pending = { 0 };
	struct map m;
	struct stat st;
	struct err e = ERR_INIT;
	AUTO(map) struct map *back = NULL;

	(void)state;
	make_map(&m);
	put("a", "wubi-map old", 12);
	assert_int_equal(mapfile_stage("a", &m, &pending, &e), 0);
	assert_file_is("a", "wubi-map old");
	assert_int_equal(files_here(), 2);
	assert_int_equal(mapfile_read(pending.temp, &back, &e), 0);
	assert_true(extent_list_equal(&back->extents, &m.extents));
	mapfile_drop(&pending);
	assert_is_empty(&pending);
	assert_file_is("a", "wubi-map old");
	assert_int_equal(files_here(), 1);
	mapfile_drop(&pending); /* an empty one: nothing */

	assert_int_equal(unlink("a"), 0); /* nor does it make a target */
	assert_int_equal(mapfile_stage("a", &m, &pending, &e), 0);
	assert_int_equal(stat("a", &st), -1);
	mapfile_drop(&pending);
	assert_int_equal(files_here(), 0);
	extent_list_clear(&m.extents);
}

static void publishing_replaces_the_target(void **state)
{
	struct mapfile_pending pending = { 0 };
	struct map m;
	struct err e = ERR_INIT;
	AUTO(map) struct map *back = NULL;

	(void)state;
	make_map(&m);
	assert_int_equal(mapfile_publish(&pending, &e), 0); /* nothing to do */
	put("a", "wubi-map old", 12);
	assert_int_equal(mapfile_stage("a", &m, &pending, &e), 0);
	assert_int_equal(mapfile_publish(&pending, &e), 0);
	assert_is_empty(&pending);
	assert_int_equal(files_here(), 1);
	mapfile_drop(&pending);
	assert_int_equal(mapfile_read("a", &back, &e), 0);
	assert_true(extent_list_equal(&back->extents, &m.extents));
	extent_list_clear(&m.extents);
}

static void a_failed_publication_can_be_dropped(void **state)
{
	struct mapfile_pending pending = { 0 };
	struct map m;
	struct err e = ERR_INIT;

	(void)state;
	make_map(&m);
	assert_int_equal(mapfile_stage("deep", &m, &pending, &e), 0);
	assert_int_equal(mkdir("deep", 0755), 0); /* somebody came first */
	assert_int_equal(mapfile_publish(&pending, &e), -EISDIR);
	assert_text_has(e.text, "'deep'");
	assert_non_null(pending.temp);
	assert_int_equal(files_here(), 2);
	mapfile_drop(&pending);
	assert_is_empty(&pending);
	assert_int_equal(files_here(), 1);
	extent_list_clear(&m.extents);
}

static void a_failed_write_leaves_the_old_file_alone(void **state)
{
	struct rlimit old;
	struct rlimit small;
	struct err e = ERR_INIT;
	struct mapfile_pending pending = { 0 };
	char text[5000];
	int r;

	(void)state;
	put("a", "wubi-map old", 12);
	memset(text, 'x', sizeof(text));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ 4096, old.rlim_max };
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	r = stage_text("a", text, sizeof(text), &pending, &e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(r, -EFBIG);
	assert_text_has(e.text, "'a'");
	assert_null(pending.temp);
	assert_file_is("a", "wubi-map old");
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
	put("a", "wubi-map old", 12);
	assert_int_equal(symlink("a", "link"), 0);
	assert_int_equal(mapfile_check_writable("link", NULL, &e), 0);
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
	assert_int_equal(mapfile_check_writable("a", NULL, &e), 0);
	assert_int_equal(files_here(), 1); /* the check writes nothing */
	assert_int_equal(write_text("a", "wubi-map 1\n", &e), 0);
	assert_file_is("a", "wubi-map 1\n");
	assert_int_equal(write_text("deep/a", "2\n", &e), 0);
	assert_file_is("deep/a", "2\n");
	(void)snprintf(absolute, sizeof(absolute), "%s/a", dir);
	assert_int_equal(write_text(absolute, "", &e), 0);
	assert_file_is("a", "");
}

/* The functions of the file system that mapfile.c itself calls; those of map.c are test_map's. */
static int allocate_everything(const struct map *m)
{
	AUTO(map) struct map *back = NULL;
	struct err e = ERR_INIT;
	int r = mapfile_check_writable("a", NULL, &e);

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
	assert_true(k > 4);
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
		IN_FOLDER(somebodys_file_is_not_replaced),
		IN_FOLDER(the_volume_is_no_place_for_a_map),
		IN_FOLDER(a_staged_map_waits_beside_its_target),
		IN_FOLDER(publishing_replaces_the_target),
		IN_FOLDER(a_failed_publication_can_be_dropped),
		IN_FOLDER(a_failed_write_leaves_the_old_file_alone),
		IN_FOLDER(an_unsound_map_is_not_written),
		IN_FOLDER(written_maps_are_read_back),
		IN_FOLDER(paths_with_and_without_folder),
		IN_FOLDER(every_failed_allocation_is_enomem),
	};

	return cmocka_run_group_tests_name("mapfile", tests, NULL, NULL);
}
