/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blockdev.h"
#include "filedev.h"
#include "memdev.h"

#define SIZE (8u * 1024 * 1024)

static char dir[64];
static char path[96];

static int setup(void **state)
{
	AUTO_FD int fd = -1;

	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/test_blockdev.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/volume", dir);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	return fd < 0 ? -1 : ftruncate(fd, SIZE);
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(dir);
}

static void run(const char *format)
{
	char command[1024], full[1200];

	(void)snprintf(command, sizeof(command), "%s", format);
	(void)snprintf(full, sizeof(full), "PATH=$PATH:/usr/sbin:/sbin; V=%s; { %s; } >/dev/null 2>&1", path, command);
	assert_int_equal(system(full), 0);
}

static void put(uint64_t offset_bytes, const void *bytes, size_t n)
{
	AUTO_FD int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, n, (off_t)offset_bytes), n);
}

static void probe(struct blockdev_info *info)
{
	AUTO(blkio) struct blkio *io = NULL;

	assert_int_equal(filedev_open(path, FILEDEV_READ, &io, NULL), 0);
	memset(info, 0xaa, sizeof(*info));
	assert_int_equal(blockdev_probe(io, info, NULL), 0);
	assert_false(info->is_block);
	assert_int_equal(info->size_bytes, SIZE);
	assert_int_equal(info->sector_bytes, 512);
	assert_int_equal(info->disk_offset_bytes, 0);
	assert_string_equal(info->partuuid, "");
	assert_string_equal(info->part_type, "");
	assert_string_equal(info->model, "");
}

static void test_only_a_filedev_is_probed(void **state)
{
	AUTO(blkio) struct blkio *io = NULL;
	struct blockdev_info info;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(memdev_new(NULL, 4096, false, &io, NULL), 0);
	assert_int_equal(blockdev_probe(io, &info, &e), -EINVAL);
	assert_int_equal(e.code, -EINVAL);
}

static void test_empty_and_tiny_files(void **state)
{
	AUTO(blkio) struct blkio *io = NULL;
	struct blockdev_info info;

	(void)state;
	probe(&info);
	assert_string_equal(info.fs_type, "");
	assert_string_equal(info.table_type, "");
	assert_string_equal(info.raid_type, "");
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(filedev_open(path, FILEDEV_READ, &io, NULL), 0);
	assert_int_equal(blockdev_probe(io, &info, NULL), 0);
	assert_int_equal(info.size_bytes, 100);
}

static void test_ntfs_has_no_table(void **state)
{
	struct blockdev_info info;
	struct report r = { 0 };

	(void)state;
	run("mkntfs -F -q -L Windows $V");
	probe(&info);
	assert_string_equal(info.fs_type, "ntfs");
	assert_string_equal(info.table_type, "");
	assert_int_equal(info.table_entries, 0);
	assert_string_equal(info.raid_type, "");
	blockdev_check(&info, 4096, &r); /* a file has no sectors to differ from */
	assert_int_equal(r.count, 0);
}

static void test_boot_code_is_no_table(void **state)
{
	struct blockdev_info info;
	char code[64];

	(void)state;
	run("mkntfs -F -q $V");
	memset(code, 0, sizeof(code));
	(void)snprintf(code, sizeof(code), "\r\nPress Ctrl+Alt+Del to restart\r\n");
	put(446, code, sizeof(code));
	probe(&info);
	assert_string_equal(info.table_type, "");
	/* flags of zero, a start of zero: as boot code with zeros inside might look */
	memset(code, 0, sizeof(code));
	code[4] = 7;
	code[12] = 1;
	put(446, code, sizeof(code));
	probe(&info);
	assert_string_equal(info.table_type, "");
	/* beyond the end */
	code[8] = 63;
	code[15] = 1;
	put(446, code, sizeof(code));
	probe(&info);
	assert_string_equal(info.table_type, "");
}

static void test_whole_disks(void **state)
{
	struct blockdev_info info;
	struct report r = { 0 };

	(void)state;
	run("printf 'label: gpt\\nsize=2M\\nsize=2M\\n' | sfdisk $V");
	probe(&info);
	assert_string_equal(info.table_type, "gpt");
	assert_int_equal(info.table_entries, 2);
	blockdev_check(&info, 512, &r);
	assert_int_equal(r.count, 1);
	assert_true(report_has(&r, "partitioned"));
	run("printf 'label: dos\\nsize=2M,type=7\\n' | sfdisk --wipe always $V");
	probe(&info);
	assert_string_equal(info.table_type, "dos");
	assert_int_equal(info.table_entries, 1);
}

/* cases C09: an NTFS boot sector at LBA 0 of a disk with partitions; libblkid sees no table there */
static void test_ntfs_boot_sector_over_a_table(void **state)
{
	struct blockdev_info info;
	struct report r = { 0 };

	(void)state;
	run("mkntfs -F -q $V");
	run("printf 'label: dos\\nstart=2048,size=2M,type=7\\nstart=8192,size=2M,type=42\\n' | sfdisk --wipe never $V");
	probe(&info);
	assert_string_equal(info.fs_type, "ntfs");
	assert_string_equal(info.table_type, "dos");
	assert_int_equal(info.table_entries, 2);
	blockdev_check(&info, 512, &r);
	assert_true(report_has(&r, "partitioned"));
}

static void test_raid_member_that_is_readable_as_ntfs(void **state)
{
	static const uint8_t md[] = { 0xfc, 0x4e, 0x2b, 0xa9, 1, 0, 0, 0 };
	uint64_t at = SIZE - 8192;
	uint64_t at_sectors = at / 512; /* little endian, as the test's machines are */
	struct blockdev_info info;
	struct report r = { 0 };

	(void)state;
	run("mkntfs -F -q $V");
	put(SIZE - 1024, "Intel Raid ISM Cfg Sig. 1.3.00", 30);
	probe(&info);
	assert_string_equal(info.fs_type, "ntfs");
	assert_string_equal(info.raid_type, "isw_raid_member");
	blockdev_check(&info, 512, &r);
	assert_true(report_has(&r, "raid"));
	put(SIZE - 1024, "                              ", 30);
	put(at, md, sizeof(md));
	put(at + 144, &at_sectors, sizeof(at_sectors));
	probe(&info);
	assert_string_equal(info.fs_type, "ntfs");
	assert_string_equal(info.raid_type, "linux_raid_member");
}

static void test_ntfs_wins_over_what_was_there_before(void **state)
{
	struct blockdev_info info;

	(void)state;
	run("mkntfs -F -q $V");
	put(65536 + 64, "_BHRfS_M", 8);
	put(4086, "SWAPSPACE2", 10);
	probe(&info);
	assert_string_equal(info.fs_type, "ntfs");
}

static void test_bitlocker(void **state)
{
	static const uint8_t zero[512] = { 0 };
	uint8_t boot[512] = { 0xeb, 0x58, 0x90, '-', 'F', 'V', 'E', '-', 'F', 'S', '-' };
	static const uint8_t meta[] = { '-', 'F', 'V', 'E', '-', 'F', 'S', '-', 0x40, 0, 2, 0 };
	struct blockdev_info info;

	(void)state;
	boot[0x1fe] = 0x55;
	boot[0x1ff] = 0xaa;
	boot[0xb0 + 2] = 0x10; /* the first metadata block at 1 MiB */
	boot[12] = 2;
	put(0, zero, sizeof(zero));
	put(0, boot, sizeof(boot));
	put(1u << 20, meta, sizeof(meta));
	probe(&info);
	assert_string_equal(info.fs_type, "BitLocker");
	assert_string_equal(info.table_type, "");
}

static void test_findings_by_partition_type(void **state)
{
	static const struct {
		const char *type, *reason;
	} rows[] = {
		{ "0x42", "ldm" },
		{ "af9b60a0-1431-4f62-bc68-3311714a69ad", "ldm" },
		{ "5808C8AA-7E8F-42E0-85D2-E1E90434CFB3", "ldm" },
		{ "e75caf8f-f680-4cee-afa3-b001e56efc2d", "storage-spaces" },
		{ "0x7", NULL },
		{ "ebd0a0a2-b9e5-4433-87c0-68b6b72699c7", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct blockdev_info info = { .is_block = true, .sector_bytes = 512, .fs_type = "ntfs" };
		struct report r = { 0 };

		(void)snprintf(info.part_type, sizeof(info.part_type), "%s", rows[i].type);
		blockdev_check(&info, 512, &r);
		assert_int_equal(r.count, rows[i].reason != NULL);
		assert_true(rows[i].reason == NULL || report_has(&r, rows[i].reason));
	}
}

static void test_sector_size(void **state)
{
	static const struct {
		bool is_block;
		uint32_t device, ntfs;
		size_t count;
	} rows[] = {
		{ true, 512, 512, 0 },  { true, 4096, 4096, 0 },  { true, 512, 4096, 1 },
		{ true, 4096, 512, 1 }, { false, 512, 4096, 0 }, { true, 4096, 0, 0 }, /* 0: not known, no NTFS */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct blockdev_info info = { .is_block = rows[i].is_block, .sector_bytes = rows[i].device };
		struct report r = { 0 };

		blockdev_check(&info, rows[i].ntfs, &r);
		assert_int_equal(r.count, rows[i].count);
		assert_true(r.count == 0 || report_has(&r, "sector-size"));
	}
}

static void test_all_findings_at_once(void **state)
{
	struct blockdev_info info = { .is_block = true,
				      .sector_bytes = 4096,
				      .part_type = "0x42",
				      .table_type = "dos",
				      .table_entries = 3,
				      .raid_type = "ddf_raid_member" };
	struct report r = { 0 };

	(void)state;
	blockdev_check(&info, 512, &r);
	assert_int_equal(r.count, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_a_filedev_is_probed),
		cmocka_unit_test_setup_teardown(test_empty_and_tiny_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ntfs_has_no_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_boot_code_is_no_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_whole_disks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ntfs_boot_sector_over_a_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_raid_member_that_is_readable_as_ntfs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ntfs_wins_over_what_was_there_before, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bitlocker, setup, teardown),
		cmocka_unit_test(test_findings_by_partition_type),
		cmocka_unit_test(test_sector_size),
		cmocka_unit_test(test_all_findings_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
