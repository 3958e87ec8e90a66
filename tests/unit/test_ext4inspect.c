/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is wrong with an ext4 is a finding, never a crash or a success. */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "ext4fmt.h"
#include "memdev.h"
#include "num.h"

#define BLOCK UINT64_C(4096)

static struct blkio *formatted(uint64_t bytes)
{
	const struct ext4fmt_params params = { .uuid = { 7 } };
	struct blkio *io = NULL;

	assert_int_equal(memdev_new(NULL, bytes, true, &io, NULL), 0);
	assert_int_equal(ext4fmt_write(io, &params, NULL, NULL), 0);
	return io;
}

static struct ext4fmt_health inspected(struct blkio *io)
{
	struct ext4fmt_health h = { .problems = 99 };

	assert_int_equal(ext4fmt_inspect(io, &h, NULL), 0);
	assert_true(!h.problems == !h.problem[0]);
	return h;
}

static void fill(const struct blkio *io, uint64_t at, int value, size_t n)
{
	uint8_t buf[4096];

	assert_true(n <= sizeof(buf));
	memset(buf, value, n);
	assert_int_equal(blkio_write(io, at, buf, n, NULL), 0);
}

static void a_new_one_is_right(void **state)
{
	struct blkio *io = formatted(32 * NUM_MIB);
	struct ext4fmt_health h = inspected(io);

	(void)state;
	assert_true(h.opened && !h.from_backup && !h.journal && !h.problems);
	assert_true(h.used_inodes == 11 && h.inodes > 1000);
	blkio_free(io);
}

static void nothing_is_there(void **state)
{
	struct blkio *io = NULL;
	struct ext4fmt_health h;

	(void)state;
	assert_int_equal(memdev_new(NULL, 300 * NUM_MIB, true, &io, NULL), 0);
	h = inspected(io);
	assert_true(!h.opened && h.problems);
	assert_non_null(strstr(h.problem, "superblock"));
	blkio_free(io);
}

static void the_backup_is_looked_at(void **state)
{
	struct blkio *io = formatted(300 * NUM_MIB);
	struct ext4fmt_health h;

	(void)state;
	fill(io, 1024, 0, 1024);
	h = inspected(io);
	assert_true(h.opened && h.from_backup && h.problems);
	assert_non_null(strstr(h.problem, "superblock"));
	blkio_free(io);
}

static void each_damage_is_found(void **state)
{
	/* a group descriptor, the block bitmap's words that it leads to, the superblock's free inodes, with its checksum wrong */
	static const struct { uint64_t at; size_t n; } damages[] = { { BLOCK, 32 }, { BLOCK + 12, 2 }, { 1024 + 16, 4 } };

	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct blkio *io = formatted(32 * NUM_MIB);

		fill(io, damages[i].at, 0x5a, damages[i].n);
		assert_true(inspected(io).problems);
		blkio_free(io);
	}
}

static void it_never_writes(void **state)
{
	struct blkio *io = formatted(32 * NUM_MIB);

	(void)state;
	io->writable = false;
	assert_int_equal(inspected(io).problems, 0);
	fill((io->writable = true, io), BLOCK, 0x5a, 64);
	io->writable = false;
	assert_true(inspected(io).problems);
	blkio_free(io);
}

/* Random bytes anywhere in the first blocks: it ends, and says something. */
static void random_damage_ends(void **state)
{
	(void)state;
	srand(4);
	for (int round = 0; round < 60; round++) {
		struct blkio *io = formatted(8 * NUM_MIB);

		for (int i = 0; i < 20; i++)
			fill(io, (uint64_t)rand() % (16 * BLOCK), rand() & 0xff, 1 + (size_t)rand() % 16);
		(void)inspected(io);
		blkio_free(io);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_one_is_right),
		cmocka_unit_test(nothing_is_there),
		cmocka_unit_test(the_backup_is_looked_at),
		cmocka_unit_test(each_damage_is_found),
		cmocka_unit_test(it_never_writes),
		cmocka_unit_test(random_damage_ends),
	};

	return cmocka_run_group_tests_name("ext4inspect", tests, NULL, NULL);
}
