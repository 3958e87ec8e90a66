/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bootsect.h"
#include "cmocka_all.h"

#define DEVICE_BYTES (UINT64_C(64) << 30)

static void put(uint8_t *b, size_t offset, uint64_t value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b[offset + i] = (uint8_t)(value >> (8 * i));
}

/* As mkntfs writes it: 512-byte sectors, 4 KiB clusters, 64 GiB less the backup sector. */
static void make_ntfs(uint8_t b[BOOTSECT_BYTES])
{
	memset(b, 0, BOOTSECT_BYTES);
	memcpy(b, "\xeb\x52\x90NTFS    ", 11);
	put(b, 0x0b, 512, 2);
	b[0x0d] = 8;
	b[0x15] = 0xf8;
	put(b, 0x18, 63, 2);
	put(b, 0x1a, 255, 2);
	put(b, 0x1c, 2048, 4);
	put(b, 0x24, 0x800080, 4);
	put(b, 0x28, DEVICE_BYTES / 512 - 1, 8);
	put(b, 0x30, 4, 8);
	put(b, 0x38, 8388607, 8);
	b[0x40] = 0xf6;
	b[0x44] = 1;
	put(b, 0x48, UINT64_C(0x123456789abcdef0), 8);
	put(b, 510, 0xaa55, 2);
}

static int parse(const uint8_t *b, struct bootsect *ret, struct err *e)
{
	return bootsect_parse(b, BOOTSECT_BYTES, DEVICE_BYTES, ret, e);
}

static void impossible_fields_are_refused_by_name(void **state)
{
	static const struct {
		size_t offset;
		size_t n;
		uint64_t value;
		const char *word;
	} bad[] = {
		{ 0x0b, 2, 0, "bytes per sector" },
		{ 0x0b, 2, 128, "bytes per sector" },
		{ 0x0b, 2, 513, "bytes per sector" },
		{ 0x0b, 2, 8192, "bytes per sector" },
		{ 0x0d, 1, 0, "sectors per cluster" },
		{ 0x0d, 1, 3, "sectors per cluster" },
		{ 0x0d, 1, 0x81, "sectors per cluster" },
		{ 0x0d, 1, 0xf3, "sectors per cluster" },
		{ 0x0e, 2, 1, "FAT" },
		{ 0x10, 1, 2, "FAT" },
		{ 0x11, 2, 512, "FAT" },
		{ 0x13, 2, 2880, "FAT" },
		{ 0x16, 2, 9, "FAT" },
		{ 0x20, 4, 1, "FAT" },
		{ 0x28, 8, 0, "total sectors" },
		{ 0x28, 8, 7, "total sectors" },
		{ 0x28, 8, DEVICE_BYTES / 512 + 1, "do not fit" },
		{ 0x28, 8, UINT64_MAX, "total sectors" },
		{ 0x30, 8, DEVICE_BYTES / 4096, "$MFT " },
		{ 0x30, 8, UINT64_MAX, "$MFT " },
		{ 0x38, 8, DEVICE_BYTES / 4096, "$MFTMirr" },
		{ 0x40, 1, 0, "MFT record" },
		{ 0x40, 1, 3, "MFT record" },
		{ 0x40, 1, 0x80, "MFT record" },
		{ 0x40, 1, 0xe0, "MFT record" },
		{ 0x40, 1, 0xe1, "MFT record" },
		{ 0x40, 1, 0xff, "MFT record" },
		{ 0x40, 1, 0x7f, "MFT record" },
		{ 0x44, 1, 0, "index block" },
		{ 0x44, 1, 0x40, "index block" },
	};
	uint8_t b[BOOTSECT_BYTES];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct bootsect s = { .serial = 7 };
		struct err e = ERR_INIT;

		make_ntfs(b);
		put(b, bad[i].offset, bad[i].value, bad[i].n);
		if (parse(b, &s, &e) != -EINVAL)
			fail_msg("row %zu is taken", i);
		assert_text_has(e.text, bad[i].word);
		assert_int_equal(s.serial, 7);
	}
	make_ntfs(b);
	assert_int_equal(
		bootsect_parse(b, BOOTSECT_BYTES - 1, DEVICE_BYTES, &(struct bootsect){ 0 }, NULL),
		-EINVAL);
	assert_int_equal(bootsect_parse(b, BOOTSECT_BYTES, DEVICE_BYTES - 513,
					&(struct bootsect){ 0 }, NULL),
			 -EINVAL);
}

static void random_bytes_never_give_impossible_values(void **state)
{
	unsigned seed = 1;
	unsigned good = 0;
	uint8_t b[BOOTSECT_BYTES];

	(void)state;
	for (int i = 0; i < 200000; i++) {
		struct bootsect s;

		make_ntfs(b);
		for (int k = rand_r(&seed) % 4; k >= 0; k--)
			b[0x0b + rand_r(&seed) % 0x45] = (uint8_t)rand_r(&seed);
		if (parse(b, &s, NULL) < 0)
			continue;
		good++;
		assert_true(s.total_bytes <= DEVICE_BYTES &&
			    s.total_bytes / s.sector_bytes == s.total_sectors);
		assert_true(s.cluster_bytes >= s.sector_bytes && s.cluster_bytes <= 2u << 20);
		assert_true(s.mft_lcn < s.total_bytes / s.cluster_bytes &&
			    s.mftmirr_lcn < s.total_bytes / s.cluster_bytes);
		assert_true(s.mft_record_bytes >= 512 && s.index_block_bytes >= 512);
	}
	assert_true(good > 1000);
}

static void ntfs_gives_its_geometry(void **state)
{
	static const struct {
		unsigned sector, code, cluster;
	} rows[] = { { 512, 1, 512 },	       { 512, 8, 4096 },	{ 512, 128, 65536 },
		     { 512, 0xf8, 131072 },    { 512, 0xf4, 2u << 20 }, { 4096, 1, 4096 },
		     { 4096, 0xf7, 2u << 20 }, { 256, 2, 512 } };
	struct bootsect s;
	uint8_t b[BOOTSECT_BYTES];

	(void)state;
	make_ntfs(b);
	assert_int_equal(parse(b, &s, NULL), 0);
	assert_int_equal(s.kind, BOOTSECT_NTFS);
	assert_int_equal(s.sector_bytes, 512);
	assert_int_equal(s.cluster_bytes, 4096);
	assert_true(s.total_sectors == DEVICE_BYTES / 512 - 1);
	assert_true(s.total_bytes == DEVICE_BYTES - 512);
	assert_int_equal(s.mft_lcn, 4);
	assert_int_equal(s.mftmirr_lcn, 8388607);
	assert_int_equal(s.mft_record_bytes, 1024);
	assert_int_equal(s.index_block_bytes, 4096);
	assert_true(s.serial == UINT64_C(0x123456789abcdef0));
	assert_string_equal(s.other, "");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		make_ntfs(b);
		put(b, 0x0b, rows[i].sector, 2);
		b[0x0d] = (uint8_t)rows[i].code;
		put(b, 0x28, DEVICE_BYTES / 4096, 8);
		put(b, 0x38, 16, 8);
		b[0x44] = 0xf4;
		assert_int_equal(parse(b, &s, NULL), 0);
		assert_int_equal(s.cluster_bytes, rows[i].cluster);
		assert_int_equal(s.index_block_bytes, 4096);
	}
}

static void bitlocker_comes_before_anything_else(void **state)
{
	static const uint8_t guid[] = { 0x3b, 0xd6, 0x67, 0x49, 0x29, 0x2e, 0xd8, 0x4a,
					0x83, 0x99, 0xf6, 0xa3, 0x39, 0xe3, 0xd0, 0x01 };
	struct bootsect s;
	uint8_t b[BOOTSECT_BYTES];

	(void)state;
	make_ntfs(b);
	memcpy(b + 3, "-FVE-FS-", 8);
	assert_int_equal(parse(b, &s, NULL), 0);
	assert_int_equal(s.kind, BOOTSECT_BITLOCKER);
	memset(b, 0, sizeof(b));
	memcpy(b + 3, "MSWIN4.1", 8);
	memcpy(b + 82, "FAT32   ", 8);
	assert_int_equal(parse(b, &s, NULL), 0);
	assert_int_equal(s.kind, BOOTSECT_OTHER);
	assert_string_equal(s.other, "FAT");
	memcpy(b + 424, guid, sizeof(guid));
	assert_int_equal(parse(b, &s, NULL), 0);
	assert_int_equal(s.kind, BOOTSECT_BITLOCKER);
}

static void others_are_named(void **state)
{
	static const struct {
		size_t offset;
		const char *bytes;
		size_t n;
		const char *name;
	} rows[] = {
		{ 3, "EXFAT   ", 8, "exFAT" }, { 54, "FAT12   ", 8, "FAT" },
		{ 54, "FAT16   ", 8, "FAT" },  { 82, "FAT32   ", 8, "FAT" },
		{ 3, "ReFS", 4, "ReFS" },      { 0, "LUKS\xba\xbe", 6, "LUKS" },
		{ 0, "XFSB", 4, "XFS" },       { 1080, "\x53\xef", 2, "ext" },
		{ 0, "", 0, "empty" },	       { 0, "x", 1, "unknown" },
		{ 511, "x", 1, "unknown" },    { 3, "NTFS   x", 8, "unknown" },
	};
	uint8_t b[2048];
	struct bootsect s;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		memset(b, 0, sizeof(b));
		memcpy(b + rows[i].offset, rows[i].bytes, rows[i].n);
		assert_int_equal(bootsect_parse(b, sizeof(b), DEVICE_BYTES, &s, NULL), 0);
		assert_int_equal(s.kind, BOOTSECT_OTHER);
		assert_string_equal(s.other, rows[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(impossible_fields_are_refused_by_name),
		cmocka_unit_test(random_bytes_never_give_impossible_values),
		cmocka_unit_test(ntfs_gives_its_geometry),
		cmocka_unit_test(bitlocker_comes_before_anything_else),
		cmocka_unit_test(others_are_named),
	};

	return cmocka_run_group_tests_name("bootsect", tests, NULL, NULL);
}
