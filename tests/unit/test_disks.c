/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <unistd.h>

#include "alloc_fail.h"
#include "cmocka_all.h"

#include "../../src/disks.c"

#define MIB (1024L * 1024)

static char folder[] = "/tmp/wubi-test-disks-XXXXXX";

static int enter_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
	(void)state;
	return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

/* An entry of an MBR, in sectors. */
struct entry {
	uint8_t type;
	uint32_t start, count;
};

static void put_le32(unsigned char *p, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (unsigned char)(value >> 8 * i);
}

static void make_disk(const char *path, long bytes, const struct entry *entries, size_t count)
{
	unsigned char mbr[512] = { 0 };
	FILE *f = fopen(path, "w");

	for (size_t i = 0; i < count; i++) {
		mbr[446 + 16 * i + 4] = entries[i].type;
		put_le32(mbr + 446 + 16 * i + 8, entries[i].start);
		put_le32(mbr + 446 + 16 * i + 12, entries[i].count);
	}
	mbr[510] = 0x55;
	mbr[511] = 0xaa;
	assert_non_null(f);
	assert_int_equal(fwrite(mbr, 1, sizeof(mbr), f), sizeof(mbr));
	assert_int_equal(fclose(f), 0);
	assert_int_equal(truncate(path, bytes), 0);
}

static void read_disks(const char *const *paths, struct disks *d)
{
	struct err e = ERR_INIT;

	if (disks_read(paths, d, &e))
		fail_msg("%s", e.text);
}

static void test_no_disk(void **state)
{
	const char *const paths[] = { "/nowhere/at/all", folder, NULL };
	struct disks d = { .items = NULL };

	(void)state;
	read_disks(paths, &d);
	assert_int_equal(d.count, 2);
	assert_string_equal(d.items[0].path, "/nowhere/at/all");
	assert_text_has(d.items[0].problem, "No such file");
	assert_text_has(d.items[1].problem, "neither a disk nor");
	assert_int_equal(d.items[0].partition_count + d.items[1].partition_count, 0);
	assert_string_equal(d.items[0].table, "");
	disks_clear(&d);
	disks_clear(&d);
}

static void test_name_too_long(void **state)
{
	char name[DISKS_PATH_MAX + 8];
	const char *const paths[] = { name, NULL };
	struct disks d = { .items = NULL };
	struct err e = ERR_INIT;

	(void)state;
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(disks_read(paths, &d, &e), -ENAMETOOLONG);
	assert_null(d.items);
}

static void test_empty_and_blank(void **state)
{
	const char *const paths[] = { "blank", "empty", NULL };
	struct disks d = { .items = NULL };

	(void)state;
	make_disk("blank", 4 * MIB, NULL, 0);
	assert_int_equal(truncate("blank", 0), 0);
	assert_int_equal(truncate("blank", 4 * MIB), 0);
	make_disk("empty", 0, NULL, 0);
	read_disks(paths, &d);
	assert_int_equal(d.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(d.items[i].table, "");
		assert_string_not_equal(d.items[i].problem, "");
		assert_int_equal(d.items[i].partition_count, 0);
	}
	disks_clear(&d);
	unlink("blank");
	unlink("empty");
}

static void test_msdos(void **state)
{
	const struct entry entries[] = {
		{ 0x07, 2048, 8192 }, { 0xef, 10240, 4096 }, { 0x27, 14336, 2048 }, { 0x17, 16384, 2048 },
	};
	const char *const paths[] = { "disk", "./disk", NULL };
	struct disks d = { .items = NULL };
	const struct disks_partition *p;

	(void)state;
	make_disk("disk", 16 * MIB, entries, COUNT_OF(entries));
	read_disks(paths, &d);
	assert_int_equal(d.count, 1);
	assert_string_equal(d.items[0].table, "msdos");
	assert_string_equal(d.items[0].problem, "");
	assert_int_equal(d.items[0].size_bytes, 16 * MIB);
	assert_int_equal(d.items[0].sector_bytes, 512);
	assert_int_equal(d.items[0].partition_count, 4);
	p = d.items[0].partitions;
	assert_int_equal(p[0].start_bytes, MIB);
	assert_int_equal(p[0].size_bytes, 4 * MIB);
	assert_int_equal(p[0].number, 1);
	assert_false(p[0].is_esp || p[0].is_hidden);
	assert_true(p[1].is_esp && !p[1].is_hidden);
	assert_true(p[2].is_hidden); /* Windows' recovery environment */
	assert_true(p[3].is_hidden);
	disks_clear(&d);
	unlink("disk");
}

static void test_overlap(void **state)
{
	const struct entry entries[] = { { 0x07, 2048, 8192 }, { 0x07, 4096, 8192 } };
	const char *const paths[] = { "disk", NULL };
	struct disks d = { .items = NULL };

	(void)state;
	make_disk("disk", 16 * MIB, entries, COUNT_OF(entries));
	read_disks(paths, &d);
	assert_int_equal(d.count, 1);
	assert_text_has(d.items[0].problem, "overlapping");
	assert_int_equal(d.items[0].partition_count, 2); /* the kernel has both, too */
	disks_clear(&d);
	unlink("disk");
}

/* A result that was there is replaced on success only. */
static void test_no_memory(void **state)
{
	const struct entry entries[] = { { 0x07, 2048, 8192 } };
	const char *const good[] = { "disk", NULL }, *const both[] = { "disk", "other", NULL };
	struct disks d = { .items = NULL };
	struct err e = ERR_INIT;

	(void)state;
	make_disk("disk", 16 * MIB, entries, 1);
	make_disk("other", 16 * MIB, entries, 1);
	read_disks(good, &d);
	for (int k = 1; k <= 6; k++) { /* a name, a disk and a partition, twice */
		alloc_fail_at = k;
		assert_int_equal(disks_read(both, &d, &e), -ENOMEM);
		assert_int_equal(d.count, 1);
		assert_int_equal(d.items[0].partition_count, 1);
	}
	alloc_fail_at = 0;
	read_disks(both, &d);
	assert_int_equal(d.count, 2);
	disks_clear(&d);
	unlink("disk");
	unlink("other");
}

static PedExceptionOption answer_to(int options, const char *text)
{
	char message[64];
	PedException ex = { .message = message, .type = PED_EXCEPTION_ERROR, .options = (PedExceptionOption)options };

	(void)snprintf(message, sizeof(message), "%s", text);
	return answer(&ex);
}

static void test_answers(void **state)
{
	(void)state;
	complaint[0] = '\0';
	assert_int_equal(answer_to(PED_EXCEPTION_FIX | PED_EXCEPTION_IGNORE, "Fix\a it?."), PED_EXCEPTION_IGNORE);
	assert_string_equal(complaint, "Fix  it?");
	assert_int_equal(answer_to(PED_EXCEPTION_FIX | PED_EXCEPTION_IGNORE | PED_EXCEPTION_CANCEL, "x"), PED_EXCEPTION_IGNORE);
	assert_int_equal(answer_to(PED_EXCEPTION_FIX | PED_EXCEPTION_CANCEL, "x"), PED_EXCEPTION_CANCEL);
	assert_int_equal(answer_to(PED_EXCEPTION_FIX, "x"), PED_EXCEPTION_UNHANDLED);
	assert_int_equal(answer_to(PED_EXCEPTION_YES_NO, "x"), PED_EXCEPTION_NO);
	assert_int_equal(answer_to(PED_EXCEPTION_YES, "x"), PED_EXCEPTION_UNHANDLED);
	assert_int_equal(answer_to(PED_EXCEPTION_OK_CANCEL, "x"), PED_EXCEPTION_OK);
	/* after a read that failed */
	assert_int_equal(answer_to(PED_EXCEPTION_RETRY_IGNORE_CANCEL, "x"), PED_EXCEPTION_CANCEL);
	assert_int_equal(answer_to(PED_EXCEPTION_RETRY, "x"), PED_EXCEPTION_UNHANDLED);
	assert_string_equal(complaint, "Fix  it?");
}

static void test_kernel_names(void **state)
{
	static const char *const none[] = {
		".", "..", "loop0", "ram1", "zram0", "sr0", "fd0", "dm-3", "mmcblk0boot0", "mmcblk0rpmb",
	};
	static const char *const some[] = { "sda", "nvme0n1", "vda", "mmcblk0", "md127", "xvda", "pmem0" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(none); i++)
		assert_true(is_no_disk(none[i]));
	for (size_t i = 0; i < COUNT_OF(some); i++)
		assert_false(is_no_disk(some[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_disk),
		cmocka_unit_test(test_name_too_long),
		cmocka_unit_test(test_empty_and_blank),
		cmocka_unit_test(test_msdos),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_kernel_names),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
