/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which row is meant: on lists made by hand. What is on disks, and their states: tests/cli/volumes.bats. */
#include <errno.h>
#include <string.h>

#include "cmocka_all.h"

#include "../../src/volumes_private.h"

#define GIB (UINT64_C(1) << 30)

/* Two disks with Windows on each, and a stick with a live system. */
static struct disks_disk sda = { .path = "/dev/sda" }, sdb = { .path = "/dev/sdb" }, sdc = { .path = "/dev/sdc" };

static struct volumes_row rows[] = {
	{ .disk = &sda, .path = "/dev/sda1", .kind = VOLUMES_ESP, .what = "vfat", .esp_uuid = "1234-ABCD", .size_bytes = GIB },
	{ .disk = &sda, .path = "/dev/sda2", .kind = VOLUMES_OTHER, .what = "-", .size_bytes = GIB },
	{ .disk = &sda, .path = "/dev/sda3", .kind = VOLUMES_NTFS, .what = "ntfs", .label = "Windows", .size_bytes = 99 * GIB,
	  .partuuid = "5d0b1c6e-77a4-4b52-9d3b-0c6f0e7d3a11", .serial = "60e5b6c002f5b130", .is_usable = true },
	{ .disk = &sda, .path = "/dev/sda4", .kind = VOLUMES_OTHER, .what = "-", .reason = "ldm", .text = "a dynamic disk",
	  .size_bytes = GIB },
	{ .disk = &sda, .path = "/dev/sda5", .kind = VOLUMES_OTHER, .what = "-", .state = "unreadable",
	  .text = "read: I/O error" },
	{ .disk = &sdb, .path = "/dev/sdb1", .kind = VOLUMES_NTFS, .what = "ntfs", .label = "Windows", .size_bytes = 50 * GIB,
	  .partuuid = "aabbccdd-01", .serial = "0123456789abcdef" },
	{ .disk = &sdb, .path = "/dev/sdb2", .kind = VOLUMES_NTFS, .what = "ntfs", .label = "Data", .serial = "0000000000000001",
	  .size_bytes = GIB, .is_usable = true },
	{ .disk = &sdc, .path = "/dev/sdc1", .kind = VOLUMES_OTHER, .what = "iso9660", .size_bytes = 3 * GIB },
	{ .disk = &sdc, .path = "/dev/sdc2", .kind = VOLUMES_ESP, .what = "vfat", .esp_uuid = "DEB0-0001" },
};

static const struct volumes all = { .rows = rows, .count = COUNT_OF(rows) };

static const struct volumes_row *row_of(const char *path)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (!strcmp(rows[i].path, path))
			return &rows[i];
	fail_msg("no row '%s'", path);
	return NULL;
}

static void refused(const struct volumes *v, const char *spec, enum volumes_kind kind, const char *reason, const char *word)
{
	const struct volumes_row *row = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(volumes_choose(v, spec, kind, &row, &e), -EPERM);
	assert_string_equal(e.reason, reason);
	assert_text_has(e.text, word);
	assert_null(row);
}

static void chosen(const char *spec, enum volumes_kind kind, const char *path)
{
	const struct volumes_row *row = NULL;
	struct err e = ERR_INIT;

	if (volumes_choose(&all, spec, kind, &row, &e))
		fail_msg("%s: %s", spec, e.text);
	assert_string_equal(row->path, path);
}

static void test_no_default(void **state)
{
	const struct volumes one = { .rows = &rows[2], .count = 1 };

	(void)state;
	refused(&all, NULL, VOLUMES_NTFS, "no-volume", "/dev/sda3 (ntfs 'Windows', 99.0 GiB)");
	refused(&all, "", VOLUMES_NTFS, "no-volume", "/dev/sdb2");
	refused(&one, "", VOLUMES_NTFS, "no-volume", "none is taken by itself");
	refused(&one, NULL, VOLUMES_ESP, "no-esp", "none");
	/* a row without a label or serial number is not meant by an empty one */
	refused(&all, "LABEL=", VOLUMES_NTFS, "no-volume", "LABEL=");
	refused(&all, "PARTUUID=", VOLUMES_NTFS, "no-volume", "/dev/sda3");
}

static void test_unknown(void **state)
{
	const struct volumes none = { .rows = NULL };

	(void)state;
	refused(&all, "/dev/sdz9", VOLUMES_NTFS, "no-volume", "'/dev/sdz9'");
	refused(&all, "/dev/sda", VOLUMES_NTFS, "no-volume", "/dev/sda3");
	refused(&all, "LABEL=windows", VOLUMES_NTFS, "no-volume", "windows");
	refused(&all, "LABEL=/dev/sda3", VOLUMES_NTFS, "no-volume", "/dev/sda3");
	refused(&all, "SERIAL=Windows", VOLUMES_NTFS, "no-volume", "Windows");
	refused(&none, "/dev/sda3", VOLUMES_NTFS, "no-volume", "none");
}

static void test_several(void **state)
{
	(void)state;
	refused(&all, "LABEL=Windows", VOLUMES_NTFS, "several-volumes", "/dev/sda3");
	refused(&all, "Windows", VOLUMES_NTFS, "several-volumes", "/dev/sdb1");
}

static void test_other_kind(void **state)
{
	const struct volumes_row *row = NULL;
	struct err e = ERR_INIT;

	(void)state;
	refused(&all, "/dev/sda1", VOLUMES_NTFS, "no-volume", "vfat");
	refused(&all, "/dev/sda3", VOLUMES_ESP, "no-esp", "/dev/sda1");
	refused(&all, "/dev/sda4", VOLUMES_NTFS, "ldm", "a dynamic disk");
	assert_int_equal(volumes_choose(&all, "/dev/sda5", VOLUMES_NTFS, &row, &e), -EIO);
	assert_text_has(e.text, "I/O error");
	assert_false(err_is_refusal(&e));
}

static void test_by_each_name(void **state)
{
	(void)state;
	chosen("/dev/sda3", VOLUMES_NTFS, "/dev/sda3");
	chosen("PARTUUID=5D0B1C6E-77A4-4B52-9D3B-0C6F0E7D3A11", VOLUMES_NTFS, "/dev/sda3");
	chosen("aabbccdd-01", VOLUMES_NTFS, "/dev/sdb1");
	chosen("LABEL=Data", VOLUMES_NTFS, "/dev/sdb2");
	chosen("label=Data", VOLUMES_NTFS, "/dev/sdb2");
	chosen("Data", VOLUMES_NTFS, "/dev/sdb2");
	chosen("SERIAL=60E5B6C002F5B130", VOLUMES_NTFS, "/dev/sda3");
	chosen("UUID=60E5B6C002F5B130", VOLUMES_NTFS, "/dev/sda3");
	chosen("0123456789ABCDEF", VOLUMES_NTFS, "/dev/sdb1");
	chosen("UUID=1234-abcd", VOLUMES_ESP, "/dev/sda1");
	chosen("/dev/sdc2", VOLUMES_ESP, "/dev/sdc2");
}

static void test_long_lists(void **state)
{
	static struct volumes_row many[60];
	const struct volumes v = { .rows = many, .count = COUNT_OF(many) };
	const struct volumes_row *row = NULL;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(many); i++) {
		many[i] = *row_of("/dev/sdb1");
		(void)snprintf(many[i].path, sizeof(many[i].path), "/dev/sdb%zu", i);
	}
	assert_int_equal(volumes_choose(&v, "Windows", VOLUMES_NTFS, &row, &e), -EPERM);
	assert_text_has(e.text, "/dev/sdb0 (");
	assert_string_equal(e.text + strlen(e.text) - 5, ", ...");
}

static void esp_is(const struct volumes *v, const char *volume, const char *spec, const char *path)
{
	const struct volumes_row *row = NULL;
	struct err e = ERR_INIT;

	if (volumes_esp(v, row_of(volume), spec, &row, &e))
		fail_msg("%s: %s", volume, e.text);
	assert_string_equal(row->path, path);
}

static void esp_refused(const struct volumes *v, const char *volume, const char *spec, const char *reason, const char *word)
{
	const struct volumes_row *row = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(volumes_esp(v, row_of(volume), spec, &row, &e), -EPERM);
	assert_string_equal(e.reason, reason);
	assert_text_has(e.text, word);
	assert_null(row);
}

static void test_esp(void **state)
{
	const struct volumes without_first = { .rows = rows + 1, .count = COUNT_OF(rows) - 1 };

	(void)state;
	esp_is(&all, "/dev/sda3", NULL, "/dev/sda1");
	esp_is(&all, "/dev/sda3", "", "/dev/sda1");
	/* not on its disk: the only one, but never the live medium's by itself */
	esp_is(&all, "/dev/sdb1", NULL, "/dev/sda1");
	esp_is(&all, "/dev/sdb1", "/dev/sdc2", "/dev/sdc2");
	esp_refused(&without_first, "/dev/sdb1", NULL, "no-esp", "--esp");
	esp_refused(&all, "/dev/sdb1", "/dev/sda3", "no-esp", "ntfs");
	esp_refused(&all, "/dev/sdb1", "/dev/sdz", "no-esp", "/dev/sda1");
}

static void test_several_esps(void **state)
{
	struct volumes_row more[COUNT_OF(rows) + 1];
	struct volumes v = { .rows = more, .count = COUNT_OF(more) };

	(void)state;
	memcpy(more, rows, sizeof(rows));
	more[COUNT_OF(rows)] = rows[0];
	(void)snprintf(more[COUNT_OF(rows)].path, sizeof(more[0].path), "/dev/sda9");
	esp_refused(&v, "/dev/sda3", NULL, "several-esps", "/dev/sda9");
	esp_refused(&v, "/dev/sda3", NULL, "several-esps", "--esp");
	esp_refused(&v, "/dev/sdb1", NULL, "several-esps", "/dev/sda1");
	esp_is(&v, "/dev/sda3", "/dev/sda9", "/dev/sda9");
	/* its own disk's comes before all others */
	more[COUNT_OF(rows)].disk = &sdb;
	esp_is(&v, "/dev/sda3", NULL, "/dev/sda1");
	esp_is(&v, "/dev/sdb1", NULL, "/dev/sda9");
}

static void test_copy(void **state)
{
	char text[6];

	(void)state;
	volumes_copy(text, sizeof(text), "");
	assert_string_equal(text, "");
	volumes_copy(text, sizeof(text), "abcde");
	assert_string_equal(text, "abcde");
	volumes_copy(text, sizeof(text), "abcdef");
	assert_string_equal(text, "abcde");
	volumes_copy(text, sizeof(text), "abcd\xc3\xa4");
	assert_string_equal(text, "abcd");
	volumes_copy(text, sizeof(text), "ab\xe2\x82\xac""d");
	assert_string_equal(text, "ab\xe2\x82\xac");
	volumes_copy(text, sizeof(text), "abc\xe2\x82\xac");
	assert_string_equal(text, "abc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_default),  cmocka_unit_test(test_unknown),    cmocka_unit_test(test_several),
		cmocka_unit_test(test_other_kind),  cmocka_unit_test(test_by_each_name), cmocka_unit_test(test_long_lists),
		cmocka_unit_test(test_esp),         cmocka_unit_test(test_several_esps), cmocka_unit_test(test_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
