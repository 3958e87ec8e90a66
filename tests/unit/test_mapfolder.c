/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mapfile.h"
#include "mapfolder.h"

#define CLUSTER 4096u

static char dir[] = "/tmp/wubi-test-mapfolder-XXXXXX";

static int enter_folder(void **state)
{
	(void)state;
	return mkdtemp(dir) && chdir(dir) == 0 && mkdir("maps", 0755) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
	static const char *const names[] = { "maps/b.map", "maps/a.map", "maps/c.map", "maps/.map", "maps/d.map.AbCdEf", "file" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++)
		(void)unlink(names[i]); /* those that a test made */
	(void)rmdir("maps/dir.map");
	return rmdir("maps") == 0 && chdir("/") == 0 && rmdir(dir) == 0 ? 0 : -1;
}

static void put_map(const char *path, const char *name)
{
	struct map m = {
		.map_id = "cdb137e7-e340-4611-9063-1011a6bacd19", .generation = 1, .image = "/ubuntu/disks/root.disk",
		.size_bytes = 10 * CLUSTER, .mft_record = 66, .mft_sequence = 2, .fs_type = "none",
		.host = { .serial = 1, .partition_bytes = 100 * CLUSTER, .cluster_bytes = CLUSTER, .sector_bytes = 512 },
	};
	struct err e = ERR_INIT;

	(void)snprintf(m.name, sizeof(m.name), "%s", name);
	assert_int_equal(extent_list_append(&m.extents, 20 * CLUSTER, 10 * CLUSTER, NULL), 0);
	if (mapfile_write(path, &m, &e))
		fail_msg("%s", e.text);
	extent_list_clear(&m.extents);
}

static void put_text(const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs("wubi-map 1\nno\n", f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void test_no_folder_is_no_maps(void **state)
{
	struct mapfolder f = { NULL, 7 };

	(void)state;
	assert_int_equal(mapfolder_read("nowhere", &f, NULL), 0);
	assert_int_equal(f.count, 0);
	mapfolder_clear(&f);
	assert_int_equal(mapfolder_read("maps", &f, NULL), 0);
	assert_int_equal(f.count, 0);
	mapfolder_clear(&f);
}

static void test_all_maps_in_order(void **state)
{
	struct mapfolder f = { NULL, 0 };

	(void)state;
	put_map("maps/c.map", "third");
	put_text("maps/b.map");
	put_map("maps/a.map", "first");
	put_text("maps/.map");
	put_text("maps/d.map.AbCdEf"); /* what a killed writer leaves */
	assert_int_equal(mkdir("maps/dir.map", 0755), 0);
	assert_int_equal(mapfolder_read("maps", &f, NULL), 0);
	assert_int_equal(f.count, 4);
	assert_string_equal(f.items[0].map->name, "first");
	assert_string_equal(f.items[0].path, "maps/a.map");
	assert_null(f.items[1].map);
	assert_string_equal(f.items[1].problem.reason, "invalid-map");
	assert_string_equal(f.items[2].map->name, "third");
	assert_null(f.items[3].map);
	assert_int_equal(f.items[3].problem.code, -EISDIR);
	mapfolder_clear(&f);
	assert_int_equal(f.count, 0);
	mapfolder_clear(&f);
}

static void test_a_file_is_no_folder(void **state)
{
	struct mapfolder f = { NULL, 3 };
	struct err e = ERR_INIT;

	(void)state;
	put_text("file");
	assert_int_equal(mapfolder_read("file", &f, &e), -ENOTDIR);
	assert_text_has(e.text, "'file'");
	assert_int_equal(f.count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_folder_is_no_maps),
		cmocka_unit_test(test_all_maps_in_order),
		cmocka_unit_test(test_a_file_is_no_folder),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
