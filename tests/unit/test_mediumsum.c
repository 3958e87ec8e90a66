/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_all.h"

#include "../../src/mediumsum.h"

#define SUM256_ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define SUM5_ABC "900150983cd24fb0d6963f7d28e17f72"
#define SUM5_EMPTY "d41d8cd98f00b204e9800998ecf8427e"
#define SUM256_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static char dir[] = "/tmp/wubi-test-mediumsum-XXXXXX";
static const char *const wanted[] = { "live/abc", "live/empty" };

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

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int fresh(void **state)
{
	(void)state;
	if (mkdir("live", 0755) < 0)
		return -1;
	put("live/abc", "abc");
	put("live/empty", "");
	return 0;
}

static int wipe(void **state)
{
	static const char *const names[] = { "live/abc",   "live/empty", "sha256sum.txt", "md5sum.txt", "x.iso",
					     "SHA256SUMS", "MD5SUMS",	 "x.iso.sha256",  "x.iso.md5" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++)
		(void)unlink(names[i]);
	return rmdir("live");
}

static void medium_is_bad(const char *word)
{
	struct err e = ERR_INIT;
	size_t checked = 77;

	assert_int_equal(mediumsum_check(".", wanted, 2, NULL, &checked, &e), -EPERM);
	assert_string_equal(e.reason, "bad-medium");
	assert_text_has(e.text, word);
	assert_text_has(e.text, "again");
	assert_int_equal(checked, 77);
}

static size_t medium_is_good(void)
{
	struct err e = ERR_INIT;
	size_t checked = 77;

	if (mediumsum_check(".", wanted, 2, NULL, &checked, &e))
		fail_msg("%s", e.text);
	return checked;
}

static void a_bad_medium(void **state)
{
	(void)state;
	put("md5sum.txt", SUM5_ABC "  ./live/abc\n" SUM5_ABC "  ./live/empty\n");
	medium_is_bad("'./live/empty'");
	put("md5sum.txt", SUM5_ABC "  ./live/abc\n" SUM5_EMPTY "  ./live/empty\n");
	assert_int_equal(medium_is_good(), 2);
	put("live/abc", "ab");
	medium_is_bad("'./live/abc'");
	put("live/abc", "abcd");
	medium_is_bad(SUM5_ABC);
	assert_int_equal(unlink("live/abc"), 0);
	medium_is_bad("'./live/abc'");
}

static void lists_and_their_lines(void **state)
{
	(void)state;
	assert_int_equal(medium_is_good(), 0); /* no list */
	put("md5sum.txt", "");
	assert_int_equal(medium_is_good(), 0);
	put("md5sum.txt", "# a comment\n\nzz\n" SUM5_ABC "\n" SUM5_ABC "  ./other\n" SUM256_ABC "  ./live/empty\n");
	assert_int_equal(medium_is_good(), 0); /* none of the lines is of a wanted file and of MD5 */
	put("md5sum.txt", "900150983CD24FB0D6963F7D28E17F72 *live/abc\r\n" SUM5_EMPTY "  ./live/empty");
	assert_int_equal(medium_is_good(), 2); /* capitals, binary, the other end of a line, no end of the last */
	put("md5sum.txt", SUM5_EMPTY "  ./live/empty/\n" SUM5_EMPTY "  ./xlive/empty\n");
	assert_int_equal(medium_is_good(), 0);
	assert_int_equal(unlink("md5sum.txt") | mkdir("md5sum.txt", 0700), 0);
	assert_int_equal(medium_is_good(), 0);
	assert_int_equal(rmdir("md5sum.txt"), 0);
}

static void sha256_is_preferred(void **state)
{
	(void)state;
	put("md5sum.txt", SUM5_EMPTY "  ./live/abc\n" SUM5_EMPTY "  ./live/empty\n"); /* wrong for the first */
	put("sha256sum.txt", SUM256_ABC "  ./live/abc\n");
	assert_int_equal(medium_is_good(), 2);
	put("sha256sum.txt", SUM256_EMPTY "  ./live/abc\n");
	medium_is_bad("SHA-256");
}

static int cancel(void *ctx, const char *phase, uint64_t done_bytes, uint64_t total_bytes)
{
	uint64_t *total = ctx;

	(void)phase;
	(void)done_bytes;
	*total = total_bytes;
	return 1;
}

static void cancelled(void **state)
{
	uint64_t total = 0;
	struct progress p = { cancel, &total };
	struct err e = ERR_INIT;
	size_t checked;

	(void)state;
	put("md5sum.txt", SUM5_ABC "  ./live/abc\n" SUM5_EMPTY "  ./live/empty\n");
	assert_int_equal(mediumsum_check(".", wanted, 2, &p, &checked, &e), -ECANCELED);
	assert_int_equal(total, 3);
}

/* An image of so many sectors of which the descriptor says that there are 'sectors'. */
static void put_iso(unsigned sectors, unsigned is)
{
	unsigned char sector[2048] = { 1, 'C', 'D', '0', '0', '1', 1 };
	FILE *f = fopen("x.iso", "w");

	for (int i = 0; i < 4; i++)
		sector[80 + i] = sector[87 - i] = (unsigned char)(sectors >> 8 * i);
	sector[129] = sector[130] = 8;
	assert_non_null(f);
	assert_int_equal(fseek(f, 16L * 2048, SEEK_SET), 0);
	assert_int_equal(fwrite(sector, 1, sizeof(sector), f), sizeof(sector));
	assert_int_equal(fclose(f), 0);
	assert_int_equal(truncate("x.iso", (off_t)is * 2048), 0);
}

static int check_iso(bool *ret_listed, struct err *e)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/x.iso", dir);
	*e = (struct err)ERR_INIT;
	return mediumsum_check_iso(path, NULL, ret_listed, e);
}

static void an_iso_that_is_bad(void **state)
{
	struct err e = ERR_INIT;
	bool is_listed = true;

	(void)state;
	assert_int_equal(check_iso(&is_listed, &e), -ENOENT);
	assert_int_equal(mediumsum_check_iso("live", NULL, &is_listed, &e), -EISDIR);
	put_iso(40, 39);
	assert_int_equal(check_iso(&is_listed, &e), -EPERM);
	assert_string_equal(e.reason, "bad-medium");
	assert_text_has(e.text, "x.iso'");
	put_iso(40, 16);
	assert_int_equal(check_iso(&is_listed, &e), -EPERM);
	put_iso(0xffffffff, 40);
	assert_int_equal(check_iso(&is_listed, &e), -EPERM);
	put("x.iso", "<html>not found</html>");
	assert_int_equal(check_iso(&is_listed, &e), -EPERM);
	assert_string_equal(e.reason, "bad-medium");
	put("x.iso", "");
	assert_int_equal(truncate("x.iso", 100000), 0);
	assert_int_equal(check_iso(&is_listed, &e), -EPERM);
	assert_text_has(e.text, "no ISO image");
	assert_true(is_listed);
}

static void an_iso_and_its_lists(void **state)
{
	static const char *const lists[] = { "x.iso.sha256", "SHA256SUMS", "x.iso.md5", "MD5SUMS" };
	struct err e = ERR_INIT;
	bool is_listed = true;

	(void)state;
	put_iso(40, 41); /* longer is right: media have padding */
	assert_int_equal(check_iso(&is_listed, &e), 0);
	assert_false(is_listed);
	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		bool is_md5 = i >= 2;
		char text[256];

		(void)snprintf(text, sizeof(text), "%s  other.iso\n%s *x.iso\n", is_md5 ? SUM5_ABC : SUM256_ABC,
			       is_md5 ? SUM5_ABC : SUM256_ABC);
		put(lists[i], text);
		assert_int_equal(check_iso(&is_listed, &e), -EPERM);
		assert_text_has(e.text, is_md5 ? "MD5" : "SHA-256");
		assert_int_equal(unlink(lists[i]), 0);
	}
	put("SHA256SUMS", SUM256_ABC "  other.iso\n");
	assert_int_equal(check_iso(&is_listed, &e), 0);
	assert_false(is_listed);
	put("x.iso.md5", SUM5_ABC "\n"); /* the sum alone */
	assert_int_equal(check_iso(&is_listed, &e), -EPERM);
}

/* The right sum, as md5sum(1) had it of the same bytes. */
static void a_listed_iso_that_is_right(void **state)
{
	struct err e = ERR_INIT;
	bool is_listed = false;

	(void)state;
	put_iso(17, 17);
	put("MD5SUMS", "66b5628f47d2c5c108a046a2f35212f8  ./x.iso\n");
	assert_int_equal(check_iso(&is_listed, &e), 0);
	assert_true(is_listed);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fresh, wipe)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_bad_medium),	     CASE(lists_and_their_lines), CASE(sha256_is_preferred),
		CASE(cancelled),	     CASE(an_iso_that_is_bad),	  CASE(an_iso_and_its_lists),
		CASE(a_listed_iso_that_is_right),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
