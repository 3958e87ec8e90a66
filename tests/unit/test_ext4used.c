/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of an ext4 is in use, by libext2fs; that a copy of that alone is whole is shown by e2fsck in tests/cli/export.bats. */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "canary.h"
#include "ext4fmt.h"
#include "ext4used.h"
#include "memdev.h"
#include "num.h"

#define SUPER 1024
#define SUPER_BYTES 1024
#define STATE_AT 0x3a
#define INCOMPAT_AT 0x60
#define NEEDS_RECOVERY 0x04
#define CSUM_SEED_AT (SUPER + INCOMPAT_AT + 1) /* 0x2000 */
#define SIZE (200 * NUM_MIB)           /* two groups: one more superblock */

static const uint8_t old_uuid[16] = { 7 }, new_uuid[16] = { 8, 8 };

static struct blkio *formatted(uint64_t bytes)
{
	const struct ext4fmt_params params = { .label = "wubi-root", .uuid = { 7 } };
	struct blkio *io = NULL;

	assert_int_equal(memdev_new(NULL, bytes, true, &io, NULL), 0);
	assert_int_equal(ext4fmt_write(io, &params, NULL, NULL), 0);
	return io;
}

/* A byte of the superblock, and its checksum (crc32c) made right again. */
static void poke(const struct blkio *io, size_t at, uint8_t clear, uint8_t set)
{
	uint8_t sb[SUPER_BYTES];
	uint32_t crc = ~0u;

	assert_int_equal(blkio_read(io, SUPER, sb, sizeof(sb), NULL), 0);
	sb[at] = (uint8_t)((sb[at] & ~clear) | set);
	for (size_t i = 0; i < SUPER_BYTES - 4; i++) {
		crc ^= sb[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
	}
	for (int i = 0; i < 4; i++)
		sb[SUPER_BYTES - 4 + i] = (uint8_t)(crc >> 8 * i);
	assert_int_equal(blkio_write(io, SUPER, sb, sizeof(sb), NULL), 0);
}

struct seen {
	uint64_t end_bytes, sum_bytes;
	unsigned calls, stop_at;
};

static int take(void *ctx, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	struct seen *s = ctx;

	assert_true(offset_bytes >= EXT4USED_HEAD_BYTES && offset_bytes >= s->end_bytes && n > 0);
	s->end_bytes = offset_bytes + n;
	s->sum_bytes += n;
	s->calls++;
	return s->calls == s->stop_at ? err_set(e, -ECANCELED, "enough") : 0;
}

static void no_ext4_is_told(void **state)
{
	struct ext4used *u = NULL;
	struct ext4used_info info;
	struct blkio *io = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(memdev_new(NULL, NUM_MIB, true, &io, NULL), 0);
	assert_int_equal(ext4used_open(io, &u, &info, &e), -ENODATA);
	assert_null(u);
	blkio_free(io);
}

static void damage_is_told(void **state)
{
	const uint8_t bad[4] = { 1, 2, 3, 4 };
	struct ext4used *u = NULL;
	struct ext4used_info info;
	struct blkio *io = formatted(64 * NUM_MIB);
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(blkio_write(io, SUPER + SUPER_BYTES - 4, bad, sizeof(bad), NULL), 0);
	assert_int_equal(ext4used_open(io, &u, &info, &e), -EIO);
	assert_text_has(e.text, "checksum");
	assert_text_has(e.text, "e2fsck");
	assert_null(u);
	blkio_free(io);
}

static void a_file_system_that_is_cut_off_is_refused(void **state)
{
	struct ext4used *u = NULL;
	struct ext4used_info info;
	struct blkio *io = formatted(64 * NUM_MIB);
	struct err e = ERR_INIT;

	(void)state;
	io->size_bytes -= 4096;
	assert_int_equal(ext4used_open(io, &u, &info, &e), -EINVAL);
	assert_text_has(e.text, "says that it has");
	io->size_bytes += 4096;
	blkio_free(io);
}

static void what_is_used_is_told_once_and_in_order(void **state)
{
	AUTO(ext4used) struct ext4used *u = NULL;
	struct ext4used_info info;
	struct seen all = { .calls = 0 }, part = { .stop_at = 2 };
	struct blkio *io = formatted(SIZE);
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(ext4used_open(io, &u, &info, NULL), 0);
	assert_int_equal(info.fs_bytes, SIZE);
	assert_int_equal(info.block_bytes, 4096);
	assert_false(info.is_whole);
	assert_int_equal(ext4used_each(u, take, &all, NULL), 0);
	assert_int_equal(all.sum_bytes + EXT4USED_HEAD_BYTES, info.used_bytes);
	assert_true(info.used_bytes < SIZE / 4);
	assert_true(all.end_bytes > 128 * NUM_MIB); /* the second group's superblock */
	assert_int_equal(ext4used_each(u, take, &part, &e), -ECANCELED);
	assert_int_equal(part.calls, 2);
	ext4used_free(TAKE(u));
	blkio_free(io);
}

static void where_the_bitmaps_may_be_wrong_all_is_used(void **state)
{
	static const struct {
		size_t at;
		uint8_t clear, set;
	} rows[] = { { INCOMPAT_AT, 0, NEEDS_RECOVERY }, { STATE_AT, 1, 0 }, { STATE_AT, 0, 2 } };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO(ext4used) struct ext4used *u = NULL;
		struct ext4used_info info;
		struct seen all = { .calls = 0 };
		struct blkio *io = formatted(64 * NUM_MIB);

		poke(io, rows[i].at, rows[i].clear, rows[i].set);
		assert_int_equal(ext4used_open(io, &u, &info, NULL), 0);
		assert_true(info.is_whole);
		assert_int_equal(info.used_bytes, info.fs_bytes);
		assert_int_equal(ext4used_each(u, take, &all, NULL), 0);
		assert_int_equal(all.sum_bytes, info.fs_bytes - EXT4USED_HEAD_BYTES);
		ext4used_free(TAKE(u));
		blkio_free(io);
	}
}

/* The rest of the file system as it is: with the new head it is one that opens, and the checksums are right. */
static void the_head_of_a_copy(void **state)
{
	AUTO(ext4used) struct ext4used *u = NULL, *again = NULL;
	struct ext4used_info info;
	uint8_t head[EXT4USED_HEAD_BYTES], before[EXT4USED_HEAD_BYTES];
	struct blkio *io = formatted(SIZE);
	bool is_renamed = false, is_seeded = false;
	char type[8], uuid[37], label[EXT4FMT_LABEL_MAX + 1];

	(void)state;
	assert_int_equal(blkio_read(io, 0, before, sizeof(before), NULL), 0);
	assert_int_equal(ext4used_open(io, &u, &info, NULL), 0);
	assert_int_equal(ext4used_head(u, new_uuid, "1234567890123456", head, &is_renamed, &is_seeded, NULL), 0);
	assert_true(is_renamed && is_seeded);
	assert_int_equal(head[CSUM_SEED_AT] & 0x20, 0x20);
	assert_memory_equal(before + SUPER + 0x68, old_uuid, 16);
	assert_memory_equal(head + SUPER + 0x68, new_uuid, 16);
	ext4used_free(TAKE(u));
	assert_int_equal(blkio_write(io, 0, head, sizeof(head), NULL), 0);
	assert_int_equal(canary_identify(io, type, uuid, NULL), 0);
	assert_string_equal(type, "ext4");
	assert_string_equal(uuid, "08080000-0000-0000-0000-000000000000");
	assert_int_equal(ext4fmt_get_label(io, label, NULL), 0);
	assert_string_equal(label, "1234567890123456");
	assert_int_equal(ext4used_open(io, &again, &info, NULL), 0);
	assert_false(info.is_whole); /* its bitmaps' checksums were looked at */
	assert_int_equal(ext4used_head(again, new_uuid, "x", head, &is_renamed, &is_seeded, NULL), 0);
	assert_true(is_renamed);
	assert_false(is_seeded); /* it has a seed already, which is its own */
	ext4used_free(TAKE(again));
	blkio_free(io);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_ext4_is_told),
		cmocka_unit_test(damage_is_told),
		cmocka_unit_test(a_file_system_that_is_cut_off_is_refused),
		cmocka_unit_test(what_is_used_is_told_once_and_in_order),
		cmocka_unit_test(where_the_bitmaps_may_be_wrong_all_is_used),
		cmocka_unit_test(the_head_of_a_copy),
	};

	return cmocka_run_group_tests_name("ext4used", tests, NULL, NULL);
}
