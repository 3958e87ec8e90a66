/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_all.h"

#include "../../src/checksum.h"

static char dir[] = "/tmp/wubi-test-checksum-XXXXXX";

static int enter_folder(void **state)
{
	(void)state;
	return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
	(void)state;
	return chdir("/") == 0 && rmdir(dir) == 0 ? 0 : -1;
}

static void put(const char *path, const char *text, size_t times)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (size_t i = 0; i < times; i++)
		assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void cannot_sum(const char *path, int code)
{
	char sum[CHECKSUM_TEXT] = "untouched";
	uint64_t bytes = 77;
	struct err e = ERR_INIT;

	assert_int_equal(checksum_file(path, CHECKSUM_MD5, NULL, sum, &bytes, &e), code);
	assert_text_has(e.text, path);
	assert_string_equal(sum, "untouched");
	assert_int_equal(bytes, 77);
}

static void what_has_no_checksum(void **state)
{
	(void)state;
	cannot_sum("nowhere", -ENOENT);
	cannot_sum("/tmp", -EISDIR);
	cannot_sum("/dev/null", -EINVAL);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	cannot_sum("fifo", -EINVAL);
	assert_int_equal(unlink("fifo"), 0);
}

/* The sums are those of RFC 1321 and FIPS 180-2. */
static void known_sums(void **state)
{
	static const struct {
		const char *text;
		size_t times;
		enum checksum_kind kind;
		const char *sum;
	} rows[] = {
		{ "", 1, CHECKSUM_MD5, "d41d8cd98f00b204e9800998ecf8427e" },
		{ "abc", 1, CHECKSUM_MD5, "900150983cd24fb0d6963f7d28e17f72" },
		{ "", 1, CHECKSUM_SHA256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", 1, CHECKSUM_SHA256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "aaaaaaaaaa", 100000, CHECKSUM_SHA256, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
		{ "aaaaaaaaaa", 100000, CHECKSUM_MD5, "7707d6ae4e027c70eea2a935c2296f21" },
	};
	char sum[CHECKSUM_TEXT];
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		put("file", rows[i].text, rows[i].times);
		assert_int_equal(checksum_file("file", rows[i].kind, NULL, sum, &bytes, NULL), 0);
		assert_string_equal(sum, rows[i].sum);
		assert_int_equal(bytes, strlen(rows[i].text) * rows[i].times);
	}
	assert_int_equal(unlink("file"), 0);
}

struct seen {
	uint64_t done, total;
	unsigned count, cancel_at;
	const char *phase;
};

static int see(void *ctx, const char *phase, uint64_t done_bytes, uint64_t total_bytes)
{
	struct seen *s = ctx;

	s->done = done_bytes;
	s->total = total_bytes;
	s->phase = phase;
	return ++s->count == s->cancel_at;
}

static void progress_over_several_files(void **state)
{
	struct seen s = { .count = 0 };
	struct progress p = { see, &s };
	struct checksum_progress over = { &p, "summing", 1000, 5000000 };
	char sum[CHECKSUM_TEXT];
	uint64_t bytes;
	struct err e = ERR_INIT;

	(void)state;
	put("file", "0123456789", 300000);
	assert_int_equal(checksum_file("file", CHECKSUM_MD5, &over, sum, &bytes, NULL), 0);
	assert_true(s.count >= 3);
	assert_int_equal(s.done, 3001000);
	assert_int_equal(s.total, 5000000);
	assert_string_equal(s.phase, "summing");
	s = (struct seen){ .cancel_at = 2 };
	assert_int_equal(checksum_file("file", CHECKSUM_MD5, &over, sum, &bytes, &e), -ECANCELED);
	assert_int_equal(s.count, 2);
	assert_text_has(e.text, "summing");
	assert_int_equal(unlink("file"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_no_checksum),
		cmocka_unit_test(known_sums),
		cmocka_unit_test(progress_over_several_files),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
