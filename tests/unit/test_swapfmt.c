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
#include <unistd.h>

#include "memdev.h"
#include "num.h"
#include "swapfmt.h"

#define UUID_TEXT "00010203-0405-0607-0809-0a0b0c0d0e0f"

static const struct swapfmt_params params = {
	.uuid = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	.label = "wubi-swap",
};

static struct blkio *device(size_t n, int fill)
{
	struct blkio *io;
	uint8_t *bytes = malloc(n);

	assert_non_null(bytes);
	memset(bytes, fill, n);
	assert_int_equal(memdev_new(bytes, n, true, &io, NULL), 0);
	free(bytes);
	return io;
}

/* The content in a file, for other programs. */
static int tool(const char *command, const void *bytes, size_t n, char said[4096])
{
	char path[] = "/tmp/test_swapfmt.XXXXXX";
	char line[256];
	size_t got;
	FILE *f;
	int fd = mkostemp(path, O_CLOEXEC);
	int rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	(void)snprintf(line, sizeof(line), "%s %s 2>&1", command, path);
	f = popen(line, "r");
	assert_non_null(f);
	got = fread(said, 1, 4095, f);
	said[got] = '\0';
	rc = pclose(f);
	(void)close(fd);
	(void)unlink(path);
	return rc;
}

static void refuses_and_writes_nothing(void **state)
{
	struct swapfmt_params long_label = { .label = "1234567890123456" };
	struct err e = ERR_INIT;
	struct blkio *io;

	(void)state;
	io = device(SWAPFMT_MIN_BYTES - 1, 0xaa);
	assert_int_equal(swapfmt_write(io, &params, &e), -EINVAL);
	blkio_free(io);
	io = device(SWAPFMT_MIN_BYTES, 0xaa);
	assert_int_equal(swapfmt_write(io, &long_label, &e), -EINVAL);
	assert_non_null(strstr(e.text, "1234567890123456"));
	assert_int_equal(memdev_bytes(io)[0], 0xaa);
	io->writable = false;
	assert_int_equal(swapfmt_write(io, &params, NULL), -EROFS);
	blkio_free(io);
}

static void header_is_as_documented(void **state)
{
	struct blkio *io = device(SWAPFMT_MIN_BYTES + 4095, 0xaa);
	const uint8_t *b = memdev_bytes(io);
	uint8_t want[4096] = { 0 };

	(void)state;
	want[1024] = 1;
	want[1028] = 9; /* ten pages */
	memcpy(want + 1036, params.uuid, 16);
	memcpy(want + 1052, "wubi-swap", 9);
	memcpy(want + 4086, "SWAPSPACE2", 10);
	assert_int_equal(swapfmt_write(io, &params, NULL), 0);
	assert_memory_equal(memdev_bytes(io), want, sizeof(want));
	b = memdev_bytes(io);
	for (size_t i = 4096; i < io->size_bytes; i++) /* smaller than what is wiped */
		assert_int_equal(b[i], 0);
	blkio_free(io);
}

static void ends_are_wiped_and_no_more(void **state)
{
	struct blkio *io = device(3 * NUM_MIB, 0xaa);
	const uint8_t *b;

	(void)state;
	assert_int_equal(swapfmt_write(io, &params, NULL), 0);
	b = memdev_bytes(io);
	assert_int_equal(b[4096], 0);
	assert_int_equal(b[NUM_MIB - 1], 0);
	assert_int_equal(b[NUM_MIB], 0xaa);
	assert_int_equal(b[2 * NUM_MIB - 1], 0xaa);
	assert_int_equal(b[2 * NUM_MIB], 0);
	assert_int_equal(b[3 * NUM_MIB - 1], 0);
	blkio_free(io);
}

static void other_tools_read_it(void **state)
{
	struct blkio *io = device(2 * NUM_MIB, 0x55);
	char said[4096];

	(void)state;
	if (system("command -v blkid swaplabel >/dev/null") != 0)
		skip();
	assert_int_equal(swapfmt_write(io, &params, NULL), 0);
	assert_int_equal(tool("swaplabel", memdev_bytes(io), 2 * NUM_MIB, said), 0);
	assert_string_equal(said, "LABEL: wubi-swap\nUUID:  " UUID_TEXT "\n");
	assert_int_equal(tool("blkid -p -o export", memdev_bytes(io), 2 * NUM_MIB, said), 0);
	assert_non_null(strstr(said, "TYPE=swap\n"));
	assert_non_null(strstr(said, "UUID=" UUID_TEXT "\n"));
	assert_non_null(strstr(said, "LABEL=wubi-swap\n"));
	blkio_free(io);
}

static void page_is_that_of_mkswap(void **state)
{
	struct blkio *io = device(2 * NUM_MIB, 0x55);
	char ours[4096];
	char theirs[4096];

	(void)state;
	if (system("command -v mkswap >/dev/null") != 0)
		skip();
	assert_int_equal(swapfmt_write(io, &params, NULL), 0);
	assert_int_equal(tool("sum() { sha256sum < $1; }; sum", memdev_bytes(io), 4096, ours), 0);
	assert_int_equal(tool("made() { mkswap -q -p 4096 -L wubi-swap -U " UUID_TEXT " $1 && "
			      "head -c 4096 $1 | sha256sum; }; made",
			      memdev_bytes(io), 2 * NUM_MIB, theirs), 0);
	assert_non_null(strstr(theirs, ours));
	blkio_free(io);
}

/* Fails its k-th operation. */
struct faulty {
	const struct blkio *base;
	unsigned ops, fail_at;
};

static int faulty_write_at(void *ctx, uint64_t offset_bytes, const void *buf, size_t n,
			   struct err *e)
{
	struct faulty *f = ctx;

	if (++f->ops == f->fail_at)
		return err_set(e, -EIO, "injected");
	return blkio_write(f->base, offset_bytes, buf, n, e);
}

static int faulty_zero_at(void *ctx, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	struct faulty *f = ctx;

	if (++f->ops == f->fail_at)
		return err_set(e, -EIO, "injected");
	return blkio_zero(f->base, offset_bytes, n, e);
}

static int faulty_flush(void *ctx, struct err *e)
{
	struct faulty *f = ctx;

	return ++f->ops == f->fail_at ? err_set(e, -EIO, "injected") : 0;
}

static const struct blkio_ops faulty_ops = {
	.write_at = faulty_write_at,
	.zero_at = faulty_zero_at,
	.flush = faulty_flush,
};

static void every_io_error_is_the_result(void **state)
{
	struct blkio *base = device(2 * NUM_MIB, 0);
	struct faulty f = { .base = base };
	struct blkio io = *base;

	(void)state;
	io.ops = &faulty_ops;
	io.ctx = &f;
	assert_int_equal(swapfmt_write(&io, &params, NULL), 0);
	assert_int_equal(f.ops, 4);
	for (unsigned k = 1; k <= 4; k++) {
		struct err e = ERR_INIT;

		f.ops = 0;
		f.fail_at = k;
		assert_int_equal(swapfmt_write(&io, &params, &e), -EIO);
		assert_int_equal(f.ops, k);
		assert_non_null(strstr(e.text, "as swap"));
		assert_non_null(strstr(e.text, "injected"));
	}
	blkio_free(base);
}

static void grow_changes_the_size_and_nothing_else(void **state)
{
	struct blkio *io = device(4 * NUM_MIB, 0xaa), *larger = device(6 * NUM_MIB, 0xaa);
	uint8_t before[4096];

	(void)state;
	assert_int_equal(swapfmt_grow(larger, NULL), -ENODATA);
	assert_int_equal(swapfmt_write(io, &params, NULL), 0);
	memcpy(before, memdev_bytes(io), sizeof(before));
	assert_int_equal(blkio_write(larger, 0, before, sizeof(before), NULL), 0);
	assert_int_equal(swapfmt_grow(larger, NULL), 0);
	assert_int_equal(memdev_bytes(larger)[1024 + 4] | memdev_bytes(larger)[1024 + 5] << 8, 6 * 256 - 1);
	memcpy(before + 1024 + 4, memdev_bytes(larger) + 1024 + 4, 4);
	assert_memory_equal(before, memdev_bytes(larger), sizeof(before));
	assert_int_equal(memdev_bytes(larger)[4096], 0xaa);
	blkio_free(io);
	blkio_free(larger);
}

static void label_is_read_back(void **state)
{
	char label[SWAPFMT_LABEL_MAX + 1] = "untouched";
	struct blkio *io = device(NUM_MIB, 0);
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(swapfmt_get_label(io, label, &e), -ENODATA);
	assert_string_equal(label, "untouched");
	assert_int_equal(swapfmt_write(io, &params, NULL), 0);
	assert_int_equal(swapfmt_get_label(io, label, NULL), 0);
	assert_string_equal(label, params.label);
	blkio_free(io);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_and_writes_nothing),
		cmocka_unit_test(header_is_as_documented),
		cmocka_unit_test(ends_are_wiped_and_no_more),
		cmocka_unit_test(other_tools_read_it),
		cmocka_unit_test(page_is_that_of_mkswap),
		cmocka_unit_test(every_io_error_is_the_result),
		cmocka_unit_test(grow_changes_the_size_and_nothing_else),
		cmocka_unit_test(label_is_read_back),
	};

	if (setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
