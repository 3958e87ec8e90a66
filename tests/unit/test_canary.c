/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <endian.h>
#include <errno.h>

#include "canary.h"
#include "ext4fmt.h"
#include "memdev.h"
#include "num.h"
#include "swapfmt.h"

#define UUID_TEXT "00010203-0405-0607-0809-0a0b0c0d0e0f"
#define OTHER_UUID "10010203-0405-0607-0809-0a0b0c0d0e0f"

static const uint8_t uuid[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

static struct blkio *device(size_t n)
{
	struct blkio *io;

	assert_int_equal(memdev_new(NULL, n, true, &io, NULL), 0);
	return io;
}

static void poke(struct blkio *io, uint64_t offset, const void *bytes, size_t n)
{
	assert_int_equal(blkio_write(io, offset, bytes, n, NULL), 0);
}

static void poke32(struct blkio *io, uint64_t offset, uint32_t v)
{
	const uint32_t b = htole32(v);

	poke(io, offset, &b, sizeof(b));
}

static struct canary_result check_as(const struct blkio *io, const char *type, const char *id)
{
	struct canary_result r;
	struct err e = ERR_INIT;

	if (canary_check(io, type, id, &r, &e) != 0)
		fail_msg("%s", e.text);
	assert_true(r.ok == (r.known && r.reason[0] == '\0'));
	return r;
}

static void assert_ok(const struct blkio *io, const char *type, unsigned checked)
{
	struct canary_result r = check_as(io, type, UUID_TEXT);

	assert_string_equal(r.reason, "");
	assert_true(r.ok);
	assert_int_equal(r.checked, checked);
}

static void assert_bad(const struct blkio *io, const char *type, const char *why)
{
	struct canary_result r = check_as(io, type, UUID_TEXT);

	assert_true(r.known);
	assert_false(r.ok);
	if (strstr(r.reason, why) == NULL)
		fail_msg("'%s' is not in '%s'", why, r.reason);
}

static void assert_is(const struct blkio *io, const char *type, const char *id)
{
	char got_type[8];
	char got_id[37];

	assert_int_equal(canary_identify(io, got_type, got_id, NULL), 0);
	assert_string_equal(got_type, type);
	assert_string_equal(got_id, id);
}

#define GROUP_BYTES (8192 * 1024)
#define SB(group) ((group) == 0 ? UINT64_C(1024) : (uint64_t)(group) * GROUP_BYTES + 1024)

/* An ext4 by hand: 1 KiB blocks, 8 MiB groups from block 1 on, sparse_super. */
static void put_super(struct blkio *io, unsigned group)
{
	uint64_t at = SB(group);

	poke32(io, at + 0x04, (uint32_t)(io->size_bytes / 1024));
	poke32(io, at + 0x14, 1);
	poke32(io, at + 0x18, 0);
	poke32(io, at + 0x20, 8192);
	poke32(io, at + 0x38, 0xEF53);
	poke32(io, at + 0x64, 1);
	poke(io, at + 0x68, uuid, 16);
}

/* Ten groups: backups in 1, 3, 5, 7 and 9. */
static struct blkio *small_ext4(void)
{
	static const unsigned groups[] = { 0, 1, 3, 5, 7, 9 };
	struct blkio *io = device(10 * GROUP_BYTES);

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		put_super(io, groups[i]);
	return io;
}

static void other_types_are_unknown(void **state)
{
	struct blkio *io = device(64 * 1024);
	struct canary_result r = check_as(io, "none", "");

	(void)state;
	assert_false(r.known);
	assert_false(r.ok);
	assert_int_equal(r.checked, 0);
	assert_false(check_as(io, "btrfs", UUID_TEXT).known);
	assert_is(io, "none", "");
	blkio_free(io);
}

static void nothing_is_not_ok(void **state)
{
	static const size_t sizes[] = { 512, 1024, 2047, 2048, 4095, 4096, 65536 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct blkio *io = device(sizes[i]);

		assert_bad(io, "ext4", "superblock");
		assert_bad(io, "swap", "signature");
		assert_is(io, "none", "");
		blkio_free(io);
	}
}

static void what_ext4fmt_makes_is_ok(void **state)
{
	struct ext4fmt_params params = { .label = NULL };
	struct blkio *io = device(520 * NUM_MIB); /* five groups, backups in 1 and 3 */

	(void)state;
	memcpy(params.uuid, uuid, 16);
	assert_int_equal(ext4fmt_write(io, &params, NULL, NULL), 0);
	assert_ok(io, "ext4", 3);
	assert_is(io, "ext4", UUID_TEXT);
	assert_true(check_as(io, "ext4", "00010203-0405-0607-0809-0A0B0C0D0E0F").ok);
	assert_false(check_as(io, "ext4", OTHER_UUID).ok);
	assert_false(check_as(io, "ext4", "").ok);
	assert_bad(io, "swap", "signature");
	io->size_bytes -= 4096;
	assert_bad(io, "ext4", "blocks");
	io->size_bytes += 4096;
	assert_int_equal(blkio_zero(io, 3 * 128 * NUM_MIB, 4096, NULL), 0);
	assert_bad(io, "ext4", "group 3");
	blkio_free(io);
}

static void what_swapfmt_makes_is_ok(void **state)
{
	struct swapfmt_params params = { .label = NULL };
	struct blkio *io = device(NUM_MIB);

	(void)state;
	memcpy(params.uuid, uuid, 16);
	assert_int_equal(swapfmt_write(io, &params, NULL), 0);
	assert_ok(io, "swap", 1);
	assert_is(io, "swap", UUID_TEXT);
	assert_bad(io, "ext4", "superblock");
	assert_false(check_as(io, "swap", UUID_TEXT).suspended);
	poke(io, 4086, "S1SUSPEND", 10); /* a hibernated system lies in it */
	assert_ok(io, "swap", 1);
	assert_true(check_as(io, "swap", UUID_TEXT).suspended);
	assert_int_equal(blkio_zero(io, 4086, 10, NULL), 0);
	poke(io, 65526, "SWAPSPACE2", 10); /* 64 KiB pages: 256 of them are too many */
	assert_bad(io, "swap", "bytes");
	assert_is(io, "none", "");
	poke32(io, 1028, 15);
	assert_ok(io, "swap", 1);
	poke32(io, 1024, 1u << 24); /* big-endian */
	poke32(io, 1028, 15u << 24);
	assert_ok(io, "swap", 1);
	poke32(io, 1024, 2);
	assert_bad(io, "swap", "version");
	blkio_free(io);
}

static void swap_must_fit_and_match(void **state)
{
	struct swapfmt_params params = { .uuid = { 9 } };
	struct blkio *io = device(NUM_MIB);

	(void)state;
	assert_int_equal(swapfmt_write(io, &params, NULL), 0);
	assert_bad(io, "swap", "UUID 09000000-0000-0000-0000-000000000000, not " UUID_TEXT);
	poke(io, 1036, uuid, 16);
	assert_ok(io, "swap", 1);
	poke32(io, 1028, UINT32_MAX);
	assert_bad(io, "swap", "bytes");
	blkio_free(io);
}

/* A user's tune2fs -U or mkswap: told apart from content that is not the file system. */
static void another_uuid_alone_is_seen(void **state)
{
	static const unsigned groups[] = { 0, 1, 7, 9 };
	struct swapfmt_params params = { .uuid = { 9 } };
	struct blkio *io = small_ext4(), *swap = device(NUM_MIB);

	(void)state;
	assert_false(check_as(io, "ext4", UUID_TEXT).other_uuid);
	assert_true(check_as(io, "ext4", OTHER_UUID).other_uuid);
	poke(io, SB(9) + 0x68, "x", 1); /* a part of it is another's: by the wanted UUID, and by the new one */
	assert_false(check_as(io, "ext4", UUID_TEXT).ok);
	put_super(io, 9);
	poke32(io, SB(7) + 0x38, 0);
	assert_false(check_as(io, "ext4", OTHER_UUID).other_uuid);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		poke32(io, SB(groups[i]) + 0x38, 0);
	assert_false(check_as(io, "ext4", OTHER_UUID).other_uuid);
	assert_int_equal(swapfmt_write(swap, &params, NULL), 0);
	assert_true(check_as(swap, "swap", UUID_TEXT).other_uuid);
	poke32(swap, 1024, 2);
	assert_false(check_as(swap, "swap", UUID_TEXT).other_uuid);
	blkio_free(io);
	blkio_free(swap);
}

static void the_last_two_backups_count(void **state)
{
	struct blkio *io = small_ext4();

	(void)state;
	assert_ok(io, "ext4", 4);
	poke32(io, SB(5) + 0x38, 0); /* 1, 7 and 9 are looked at */
	assert_ok(io, "ext4", 4);
	poke32(io, SB(7) + 0x38, 0);
	assert_bad(io, "ext4", "group 7 ");
	put_super(io, 7);
	poke(io, SB(9) + 0x68, "x", 1);
	assert_bad(io, "ext4", "group 9 has UUID 78");
	put_super(io, 9);
	poke(io, SB(1) + 0x68, "x", 1);
	assert_bad(io, "ext4", "group 1 ");
	put_super(io, 1);
	poke(io, SB(0) + 0x68, "x", 1);
	assert_bad(io, "ext4", "superblock has UUID 78");
	blkio_free(io);
}

static void a_smaller_file_system_is_fine(void **state)
{
	struct blkio *io = small_ext4();

	(void)state;
	poke32(io, SB(0) + 0x04, 8192 * 4); /* groups 0 to 3 */
	poke32(io, SB(9) + 0x38, 0);
	assert_ok(io, "ext4", 3);
	poke32(io, SB(0) + 0x04, 8192); /* one block short of a second group */
	poke32(io, SB(1) + 0x38, 0);
	assert_ok(io, "ext4", 1);
	blkio_free(io);
}

static void all_backup_schemes_are_known(void **state)
{
	struct blkio *io = small_ext4();

	(void)state;
	poke32(io, SB(0) + 0x64, 0); /* no sparse_super: 1, 8, 9 */
	assert_bad(io, "ext4", "group 8 ");
	put_super(io, 8);
	poke32(io, SB(0) + 0x64, 0);
	assert_ok(io, "ext4", 4);
	poke32(io, SB(0) + 0x5C, 0x200); /* sparse_super2: two groups, named */
	poke32(io, SB(0) + 0x24C, 1);
	poke32(io, SB(0) + 0x250, 9);
	assert_ok(io, "ext4", 3);
	poke32(io, SB(0) + 0x250, 10);
	assert_bad(io, "ext4", "beyond the end");
	poke32(io, SB(0) + 0x250, 0);
	assert_ok(io, "ext4", 2);
	blkio_free(io);
}

static void impossible_superblocks_are_not_ok(void **state)
{
	static const struct {
		unsigned offset;
		uint32_t value;
		const char *why;
	} cases[] = {
		{ 0x18, 7, "not ext4" }, { 0x18, UINT32_MAX, "not ext4" }, { 0x18, 1, "blocks" },
		{ 0x20, 0, "in a group" }, { 0x20, 8193, "in a group" },
		{ 0x20, UINT32_MAX, "in a group" },
		{ 0x04, 0, "blocks" }, { 0x04, 1, "blocks" }, { 0x04, UINT32_MAX, "blocks" },
		{ 0x04, 8192 * 10 + 1, "blocks" },
		{ 0x14, 2, "from block" }, { 0x14, UINT32_MAX, "from block" },
	};
	struct blkio *io = small_ext4();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		poke32(io, SB(0) + cases[i].offset, cases[i].value);
		assert_bad(io, "ext4", cases[i].why);
		put_super(io, 0);
	}
	poke32(io, SB(0) + 0x60, 0x80); /* 64bit, and 2^63 blocks */
	poke32(io, SB(0) + 0x150, UINT32_C(1) << 31);
	assert_bad(io, "ext4", "blocks");
	assert_is(io, "none", "");
	poke32(io, SB(0) + 0x60, 0); /* without the feature the field is nothing */
	assert_ok(io, "ext4", 4);
	poke32(io, SB(0) + 0x64, 1 | 0x200); /* bigalloc may have large groups */
	poke32(io, SB(0) + 0x20, UINT32_MAX);
	assert_ok(io, "ext4", 1);
	blkio_free(io);
}

static int broken_read_at(void *ctx, uint64_t offset_bytes, void *buf, size_t n, struct err *e)
{
	unsigned *left = ctx;

	(void)offset_bytes;
	memset(buf, 0, n);
	return (*left)-- == 0 ? err_set(e, -EIO, "injected") : 0;
}

static void read_errors_are_errors(void **state)
{
	static const struct blkio_ops ops = { .read_at = broken_read_at };
	unsigned left = 0;
	struct blkio io = { .ops = &ops, .ctx = &left, .size_bytes = NUM_MIB, .name = "broken" };
	struct canary_result r = { .checked = 77 };
	char type[8] = "keep";
	char id[37] = "keep";
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(canary_check(&io, "ext4", UUID_TEXT, &r, &e), -EIO);
	assert_non_null(strstr(e.text, "superblock"));
	left = 4;
	assert_int_equal(canary_check(&io, "swap", UUID_TEXT, &r, &e), -EIO);
	assert_int_equal(r.checked, 77);
	for (unsigned k = 0; k < 6; k++) {
		left = k;
		assert_int_equal(canary_identify(&io, type, id, NULL), -EIO);
		assert_string_equal(type, "keep");
		assert_string_equal(id, "keep");
	}
}

/* Any bytes in the headers: an answer, no crash, no hang, no read outside (-EINVAL of blkio). */
static void hostile_headers_are_survived(void **state)
{
	struct blkio *io = small_ext4();
	uint8_t good[1024];
	uint64_t x = 88172645463325252;

	(void)state;
	assert_int_equal(blkio_read(io, 1024, good, sizeof(good), NULL), 0);
	for (unsigned round = 0; round < 50000; round++) {
		uint8_t sb[1024];
		char type[8];
		char id[37];

		memcpy(sb, good, sizeof(sb));
		for (unsigned i = 0; i <= round % 8; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			/* mostly where the fields are, mostly extreme values */
			sb[x % 4 != 0 ? (x >> 8) % 0x70 : (x >> 8) % 1024] =
				(uint8_t)(x % 3 == 0 ? 0xff : x >> 32);
		}
		poke(io, 1024, sb, sizeof(sb));
		(void)check_as(io, "ext4", UUID_TEXT);
		(void)check_as(io, "swap", UUID_TEXT);
		assert_int_equal(canary_identify(io, type, id, NULL), 0);
	}
	blkio_free(io);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_types_are_unknown),
		cmocka_unit_test(nothing_is_not_ok),
		cmocka_unit_test(what_ext4fmt_makes_is_ok),
		cmocka_unit_test(what_swapfmt_makes_is_ok),
		cmocka_unit_test(swap_must_fit_and_match),
		cmocka_unit_test(another_uuid_alone_is_seen),
		cmocka_unit_test(the_last_two_backups_count),
		cmocka_unit_test(a_smaller_file_system_is_fine),
		cmocka_unit_test(all_backup_schemes_are_known),
		cmocka_unit_test(impossible_superblocks_are_not_ok),
		cmocka_unit_test(read_errors_are_errors),
		cmocka_unit_test(hostile_headers_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
