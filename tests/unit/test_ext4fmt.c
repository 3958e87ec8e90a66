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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ext4fmt.h"
#include "num.h"

#define UUID_TEXT "00010203-0405-0607-0809-0a0b0c0d0e0f"
#define FEATURES "has_journal ext_attr resize_inode dir_index filetype extent 64bit flex_bg " \
		 "sparse_super large_file huge_file dir_nlink extra_isize metadata_csum"

/* A temporary sparse file that counts, and fails the operation it is told to. */
struct disk {
	char path[64];
	int fd;
	unsigned ops;
	unsigned fail_at; /* 1 is the first */
	bool once;        /* what comes after would work again */
	uint64_t last_write_offset;
	size_t last_write_bytes;
	char tail[3];     /* the last two kinds of operation that change: w z f */
	struct blkio io;
};

static int disk_op(struct disk *d, char kind, struct err *e)
{
	d->ops++;
	if (kind != 'r') {
		d->tail[0] = d->tail[1];
		d->tail[1] = kind;
	}
	if (d->fail_at != 0 && (d->once ? d->ops == d->fail_at : d->ops >= d->fail_at))
		return err_set(e, -EIO, "injected at %u", d->fail_at);
	return 0;
}

static int disk_read_at(void *ctx, uint64_t offset_bytes, void *buf, size_t n, struct err *e)
{
	struct disk *d = ctx;

	assert_int_equal(pread(d->fd, buf, n, (off_t)offset_bytes), n);
	return disk_op(d, 'r', e);
}

static int disk_write_at(void *ctx, uint64_t offset_bytes, const void *buf, size_t n, struct err *e)
{
	struct disk *d = ctx;
	int rc = disk_op(d, 'w', e);

	if (rc != 0)
		return rc;
	d->last_write_offset = offset_bytes;
	d->last_write_bytes = n;
	assert_int_equal(pwrite(d->fd, buf, n, (off_t)offset_bytes), n);
	return 0;
}

static int disk_zero_at(void *ctx, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	struct disk *d = ctx;
	int rc = disk_op(d, 'z', e);

	if (rc != 0)
		return rc;
	assert_int_equal(fallocate(d->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				   (off_t)offset_bytes, (off_t)n), 0);
	return 0;
}

static int disk_flush(void *ctx, struct err *e)
{
	return disk_op(ctx, 'f', e);
}

static const struct blkio_ops disk_ops = {
	.read_at = disk_read_at,
	.write_at = disk_write_at,
	.zero_at = disk_zero_at,
	.flush = disk_flush,
};

static void disk_open(struct disk *d, uint64_t bytes)
{
	memset(d, 0, sizeof(*d));
	strcpy(d->path, "/tmp/test_ext4fmt.XXXXXX");
	d->fd = mkostemp(d->path, O_CLOEXEC);
	assert_true(d->fd >= 0);
	assert_int_equal(ftruncate(d->fd, (off_t)bytes), 0);
	d->io.ops = &disk_ops;
	d->io.ctx = d;
	d->io.size_bytes = bytes;
	d->io.sector_bytes = 512;
	d->io.writable = true;
	strcpy(d->io.name, "test disk");
}

static void disk_fill(struct disk *d)
{
	static uint32_t junk[256 * 1024];
	uint32_t x = 2463534242;

	for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		junk[i] = x;
	}
	for (uint64_t at = 0; at < d->io.size_bytes; at += sizeof(junk))
		assert_true(pwrite(d->fd, junk, sizeof(junk), (off_t)at) > 0);
	assert_int_equal(ftruncate(d->fd, (off_t)d->io.size_bytes), 0);
}

static void disk_close(struct disk *d)
{
	(void)close(d->fd);
	(void)unlink(d->path);
}

/* Runs 'command PATH rest', keeps what it says in 'said', returns its exit status. */
static char said[256 * 1024];

static int tool(const struct disk *d, const char *command, const char *rest)
{
	char line[512];
	size_t n;
	FILE *f;

	(void)snprintf(line, sizeof(line), "%s '%s' %s 2>&1", command, d->path, rest);
	f = popen(line, "r");
	assert_non_null(f);
	n = fread(said, 1, sizeof(said) - 1, f);
	said[n] = '\0';
	while (fgetc(f) != EOF) /* the tool is to end by itself, not by SIGPIPE */
		;
	return WEXITSTATUS(pclose(f));
}

static bool has_tool(const char *name)
{
	char line[128];

	(void)snprintf(line, sizeof(line), "command -v %s >/dev/null", name);
	return system(line) == 0;
}

static void assert_clean(const struct disk *d)
{
	int rc = tool(d, "e2fsck -fn", "");

	if (rc != 0)
		print_error("%llu bytes: %s\n", (unsigned long long)d->io.size_bytes, said);
	assert_int_equal(rc, 0);
	assert_null(strstr(said, "? no"));
}

static void assert_said(const char *text)
{
	if (strstr(said, text) == NULL)
		print_error("'%s' is not in: %s\n", text, said);
	assert_non_null(strstr(said, text));
}

static int format(struct disk *d, const struct progress *p, struct err *e)
{
	struct ext4fmt_params params = { .label = "wubi" };

	for (uint8_t i = 0; i < 16; i++)
		params.uuid[i] = i;
	return ext4fmt_write(&d->io, &params, p, e);
}

static void format_ok(struct disk *d)
{
	struct err e = ERR_INIT;

	if (format(d, NULL, &e) != 0)
		fail_msg("%s", e.text);
}

static bool has_superblock(const struct disk *d)
{
	uint16_t magic;

	assert_int_equal(pread(d->fd, &magic, 2, 1024 + 0x38), 2);
	return magic == 0xEF53;
}

static void assert_zeros(const struct disk *d, uint64_t offset_bytes, size_t n)
{
	uint8_t *buf = malloc(n);

	assert_non_null(buf);
	assert_int_equal(pread(d->fd, buf, n, (off_t)offset_bytes), n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(buf[i], 0);
	free(buf);
}

static void refuses_and_writes_nothing(void **state)
{
	struct ext4fmt_params params = { .label = NULL };
	struct err e = ERR_INIT;
	struct disk d;

	(void)state;
	disk_open(&d, EXT4FMT_MIN_BYTES);
	d.io.size_bytes--;
	assert_int_equal(ext4fmt_write(&d.io, &params, NULL, &e), -EINVAL);
	assert_non_null(strstr(e.text, "test disk"));
	d.io.size_bytes = 16 * NUM_TIB;
	assert_int_equal(ext4fmt_write(&d.io, &params, NULL, &e), -EINVAL);
	d.io.size_bytes = EXT4FMT_MIN_BYTES;
	params.label = "12345678901234567";
	assert_int_equal(ext4fmt_write(&d.io, &params, NULL, &e), -EINVAL);
	assert_non_null(strstr(e.text, "12345678901234567"));
	params.label = NULL;
	d.io.writable = false;
	assert_int_equal(ext4fmt_write(&d.io, &params, NULL, NULL), -EROFS);
	assert_int_equal(d.ops, 0);
	disk_close(&d);
}

static void every_size_is_clean(void **state)
{
	static const uint64_t sizes[] = {
		8 * NUM_MIB, 8 * NUM_MIB + 512, 9 * NUM_MIB, 100 * NUM_MIB, 127 * NUM_MIB,
		128 * NUM_MIB, 128 * NUM_MIB + 4096, 129 * NUM_MIB, 511 * NUM_MIB, 512 * NUM_MIB,
		NUM_GIB, NUM_GIB + 4096, 3 * NUM_GIB - 4096, 16 * NUM_GIB, 30 * NUM_GIB,
		130 * NUM_GIB, NUM_TIB,
	};

	(void)state;
	if (!has_tool("e2fsck"))
		skip();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct disk d;

		disk_open(&d, sizes[i]);
		format_ok(&d);
		assert_clean(&d);
		disk_close(&d);
	}
}

/* B13: what lies in the inode tables and in the journal's place is not ours. */
static void stale_bytes_do_not_matter(void **state)
{
	static const uint64_t sizes[] = { 8 * NUM_MIB, 144 * NUM_MIB + 4096 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct disk d;

		disk_open(&d, sizes[i]);
		disk_fill(&d);
		format_ok(&d);
		assert_clean(&d);
		assert_zeros(&d, 0, 1024);
		assert_zeros(&d, 2048, 2048);
		assert_zeros(&d, sizes[i] - NUM_MIB, NUM_MIB);
		assert_int_equal(tool(&d, "debugfs -R 'cat <8>'", "2>/dev/null | wc -c"), 0);
		assert_true(strtoul(said, NULL, 10) >= 4 * NUM_MIB);
		assert_int_equal(tool(&d, "debugfs -R 'cat <8>'",
				      "2>/dev/null | tail -c +4097 | tr -d '\\0' | wc -c"), 0);
		assert_string_equal(said, "0\n");
		disk_close(&d);
	}
}

/* B10: nothing that the host configures comes in. */
static void features_are_fixed(void **state)
{
	struct disk d, conf;

	(void)state;
	disk_open(&conf, 0);
	assert_true(dprintf(conf.fd, "[defaults]\nbase_features = orphan_file,metadata_csum_seed\n"
			    "blocksize = 1024\n[fs_types]\next4 = { features = casefold }\n") > 0);
	assert_int_equal(setenv("MKE2FS_CONFIG", conf.path, 1), 0);
	assert_int_equal(setenv("MKE2FS_FIRST_META_BG", "1", 1), 0);
	assert_int_equal(setenv("E2FSPROGS_FAKE_TIME", "1", 1), 0);
	assert_int_equal(setenv("SOURCE_DATE_EPOCH", "1", 1), 0);
	disk_open(&d, 600 * NUM_MIB);
	format_ok(&d);
	assert_int_equal(tool(&d, "TZ=UTC dumpe2fs -h", ""), 0);
	assert_said("features:      " FEATURES "\n");
	assert_null(strstr(said, "1970"));
	assert_said("UUID:          " UUID_TEXT "\n");
	assert_said("Filesystem volume name:   wubi\n");
	assert_said("Inode size:\t          256\n");
	assert_said("Flex block group size:    16\n");
	assert_said("Default mount options:    user_xattr acl\n");
	assert_said("Errors behavior:          Continue\n");
	assert_said("Maximum mount count:      -1\n");
	assert_said("Default directory hash:   half_md4\n");
	assert_said("Checksum type:            crc32c\n");
	assert_said("Reserved block count:     7680\n");
	assert_said("Filesystem state:         clean\n");
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(unsetenv((const char *[]){ "MKE2FS_CONFIG", "MKE2FS_FIRST_META_BG",
				 "E2FSPROGS_FAKE_TIME", "SOURCE_DATE_EPOCH" }[i]), 0);
	disk_close(&d);
	disk_close(&conf);
}

/* Drops what may differ: stamps, seeds, checksums over them, and how much was written. */
#define DUMP_FILTER "2>/dev/null | grep -v -e created: -e time: -e checked: -e Seed: " \
		    "-e Checksum: -e Lifetime"

static void layout_is_that_of_mke2fs(void **state)
{
	static const uint64_t sizes[] = { 8 * NUM_MIB, 400 * NUM_MIB, 5 * NUM_GIB };
	static char ours[sizeof(said)];

	(void)state;
	if (!has_tool("mke2fs"))
		skip();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct disk d;

		disk_open(&d, sizes[i]);
		format_ok(&d);
		assert_int_equal(tool(&d, "dumpe2fs", DUMP_FILTER), 0);
		strcpy(ours, said);
		assert_int_equal(tool(&d, "o=$(echo " FEATURES " | tr ' ' ,); mke2fs -F -q -t ext4 "
				      "-b 4096 -I 256 -L wubi -U " UUID_TEXT " -O none,$o "
				      "-E lazy_itable_init=1,nodiscard", ""), 0);
		assert_int_equal(tool(&d, "dumpe2fs", DUMP_FILTER), 0);
		assert_string_equal(ours, said);
		disk_close(&d);
	}
}

static void other_tools_read_it(void **state)
{
	struct disk d;

	(void)state;
	disk_open(&d, 64 * NUM_MIB);
	format_ok(&d);
	assert_int_equal(tool(&d, "debugfs -R 'ls -l /'", ""), 0);
	assert_said("40700 (2)      0      0   16384");
	assert_said("lost+found");
	if (has_tool("grub-fstest")) {
		assert_int_equal(tool(&d, "grub-fstest", "ls /"), 0);
		assert_said("lost+found/");
	}
	if (has_tool("blkid")) {
		assert_int_equal(tool(&d, "blkid -p -o export", ""), 0);
		assert_said("TYPE=ext4\n");
		assert_said("UUID=" UUID_TEXT "\n");
	}
	disk_close(&d);
}

static void label_may_fill_its_field(void **state)
{
	struct ext4fmt_params params = { .uuid = { 1 }, .label = "1234567890123456" };
	struct disk d;

	(void)state;
	disk_open(&d, EXT4FMT_MIN_BYTES);
	assert_int_equal(ext4fmt_write(&d.io, &params, NULL, NULL), 0);
	assert_int_equal(tool(&d, "dumpe2fs -h", ""), 0);
	assert_said("name:   1234567890123456\n");
	params.label = NULL; /* and again, over it */
	assert_int_equal(ext4fmt_write(&d.io, &params, NULL, NULL), 0);
	assert_int_equal(tool(&d, "dumpe2fs -h", ""), 0);
	assert_said("name:   <none>\n");
	assert_clean(&d);
	disk_close(&d);
}

static void primary_superblock_is_the_last_write(void **state)
{
	struct disk d;

	(void)state;
	disk_open(&d, 200 * NUM_MIB);
	format_ok(&d);
	assert_int_equal(d.last_write_offset, 1024);
	assert_int_equal(d.last_write_bytes, 1024);
	assert_string_equal(d.tail, "wf");
	assert_true(d.ops < 120); /* few calls: 75 when this was written */
	disk_close(&d);
}

/* Whatever libext2fs makes of it, the first error is ours, and nothing is touched afterwards. */
static void every_io_error_is_the_result(void **state)
{
	struct disk d;
	unsigned n;

	(void)state;
	disk_open(&d, EXT4FMT_MIN_BYTES);
	format_ok(&d);
	n = d.ops;
	for (unsigned k = 1; k <= n; k++) {
		struct err e = ERR_INIT;

		d.ops = 0;
		d.fail_at = k;
		d.once = true;
		assert_int_equal(format(&d, NULL, &e), -EIO);
		assert_non_null(strstr(e.text, "injected at"));
		assert_non_null(strstr(e.text, "format 'test disk': "));
		assert_int_equal(d.ops, k);
		assert_true(k < 4 || k == n || !has_superblock(&d));
	}
	d.fail_at = 0;
	format_ok(&d);
	assert_clean(&d);
	disk_close(&d);
}

struct watch {
	unsigned calls, stop_at;
	uint64_t done, total;
};

static int watch_step(void *ctx, const char *phase, uint64_t done_bytes, uint64_t total_bytes)
{
	struct watch *w = ctx;

	assert_string_equal(phase, "format ext4");
	assert_true(done_bytes >= w->done);
	assert_true(done_bytes <= total_bytes);
	assert_true(w->total == 0 || w->total == total_bytes);
	w->done = done_bytes;
	w->total = total_bytes;
	return ++w->calls == w->stop_at;
}

static void progress_grows_to_its_total(void **state)
{
	struct watch w = { 0 };
	struct progress p = { watch_step, &w };
	struct disk d;

	(void)state;
	disk_open(&d, 30 * NUM_GIB);
	assert_int_equal(format(&d, &p, NULL), 0);
	assert_int_equal(w.done, w.total);
	assert_true(w.total >= 128 * NUM_MIB); /* the journal alone */
	disk_close(&d);
}

static void every_step_can_cancel(void **state)
{
	struct watch w = { 0 };
	struct progress p = { watch_step, &w };
	struct disk d;
	unsigned n;

	(void)state;
	disk_open(&d, EXT4FMT_MIN_BYTES);
	assert_int_equal(format(&d, &p, NULL), 0);
	n = w.calls;
	for (unsigned k = 1; k <= n; k++) {
		struct err e = ERR_INIT;

		w = (struct watch){ .stop_at = k };
		assert_int_equal(format(&d, &p, &e), -ECANCELED);
		assert_int_equal(w.calls, k);
		assert_non_null(strstr(e.text, "interrupted"));
		assert_true(k < 2 || k == n || !has_superblock(&d));
	}
	disk_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_and_writes_nothing),
		cmocka_unit_test(every_size_is_clean),
		cmocka_unit_test(stale_bytes_do_not_matter),
		cmocka_unit_test(features_are_fixed),
		cmocka_unit_test(layout_is_that_of_mke2fs),
		cmocka_unit_test(other_tools_read_it),
		cmocka_unit_test(label_may_fill_its_field),
		cmocka_unit_test(primary_superblock_is_the_last_write),
		cmocka_unit_test(every_io_error_is_the_result),
		cmocka_unit_test(progress_grows_to_its_total),
		cmocka_unit_test(every_step_can_cancel),
	};

	if (setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
