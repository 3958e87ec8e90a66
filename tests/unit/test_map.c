/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "alloc_fail.h"
#include "cmocka_all.h"
#include "crc_seal.h"
#include "map_lines.h"

#include "../../src/extent.c"

#include "../../src/map.c"

#define LINES COUNT_OF(good_lines)
#define TEXT_MAX 8192

static size_t seal(char *text, size_t n)
{
	crc_seal_line(text, n, text + n);
	return n + CRC_SEAL_BYTES;
}

static size_t put_line(char *text, size_t n, const char *line)
{
	size_t length = strlen(line);

	assert_true(n + length + 1 + CRC_SEAL_BYTES < TEXT_MAX);
	memcpy(text + n, line, length);
	text[n + length] = '\n';
	return n + length + 1;
}

/* The good text with one line replaced (NULL: left out), and a right checksum. */
static size_t text_with(char *text, size_t line, const char *instead)
{
	size_t n = 0;

	for (size_t i = 0; i < LINES; i++) {
		const char *s = i == line ? instead : good_lines[i];

		if (s)
			n = put_line(text, n, s);
	}
	return seal(text, n);
}

static size_t good_text(char *text)
{
	size_t n = text_with(text, LINES, NULL);

	if (n <= CRC_SEAL_BYTES || n > TEXT_MAX / 2) /* gcc 12 warns of what it cannot exclude */
		abort();
	return n;
}

/* From an exact heap copy, so that ASan sees any look behind the end. */
static int parse(const char *text, size_t n, struct map **ret, struct err *e)
{
	AUTO_FREE char *copy = n ? malloc(n) : NULL;

	if (n)
		memcpy(copy, text, n);
	return map_parse(copy, n, ret, e);
}

static void assert_refused(const char *text, size_t n)
{
	struct map *m = NULL;
	struct err e = ERR_INIT;
	int r = parse(text, n, &m, &e);

	if (r != -EINVAL || m)
		fail_msg("%d, not -EINVAL, for:\n%.*s", r, (int)n, text);
	assert_int_equal(e.code, -EINVAL);
	assert_int_equal(strncmp(e.text, "line ", 5), 0);
	assert_int_equal(map_parse(text, n, &m, NULL), -EINVAL);
}

/* C18: the map edited by one digit. */
static void every_edited_digit_is_refused(void **state)
{
	char text[TEXT_MAX];
	size_t n = good_text(text);
	size_t positions = 0;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		char was = text[i];

		if (was < '0' || was > '9')
			continue;
		positions++;
		for (char digit = '0'; digit <= '9'; digit++) {
			if (digit == was)
				continue;
			text[i] = digit;
			assert_refused(text, n);
		}
		text[i] = was;
	}
	assert_true(positions > 150);
}

static void every_changed_byte_is_refused(void **state)
{
	static const unsigned char flips[] = { 0x01, 0x20, 0x80, 0xff };
	char text[TEXT_MAX];
	size_t n = good_text(text);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < COUNT_OF(flips); k++) {
			text[i] = (char)(text[i] ^ flips[k]);
			assert_refused(text, n);
			text[i] = (char)(text[i] ^ flips[k]);
		}
		text[i] = '\0';
		assert_refused(text, n);
		n = good_text(text);
	}
}

static void every_truncation_is_refused(void **state)
{
	char text[TEXT_MAX];
	size_t n = good_text(text);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		assert_refused(text, i);	 /* at every byte, so at every line too */
		assert_refused(text + n - i, i); /* from the front */
	}
}

static void truncated_or_missing_lines_with_a_right_checksum_are_refused(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	for (size_t line = 0; line < LINES; line++) {
		size_t n = text_with(text, line, NULL);

		assert_refused(text, n);
	}
	for (size_t keep = 0; keep < LINES; keep++) {
		size_t n = 0;

		for (size_t i = 0; i < keep; i++)
			n = put_line(text, n, good_lines[i]);
		assert_refused(text, seal(text, n));
		n = put_line(text, n, good_lines[keep]) - 1;
		assert_refused(text, seal(text, n)); /* no '\n' before crc32 */
	}
}

static void added_bytes_and_lines_are_refused(void **state)
{
	char text[TEXT_MAX];
	char wrong[TEXT_MAX];
	size_t n = good_text(text);
	size_t body = n - CRC_SEAL_BYTES;

	(void)state;
	memcpy(wrong, text, n);
	wrong[n] = '\n';
	assert_refused(wrong, n + 1);
	wrong[n] = '\0';
	assert_refused(wrong, n + 1);
	memcpy(wrong + n, text, n);
	assert_refused(wrong, 2 * n);
	memcpy(wrong + body, "\n", 1);
	assert_refused(wrong, seal(wrong, body + 1));
	memcpy(wrong + body, "extent 20480 90112 8\n", 21);
	assert_refused(wrong, seal(wrong, body + 21));
	memcpy(wrong + body, "a\0b\n", 4);
	assert_refused(wrong, seal(wrong, body + 4));
	wrong[0] = '\n';
	memcpy(wrong + 1, text, body);
	assert_refused(wrong, seal(wrong, body + 1));
	memmove(wrong, text, n);
	for (size_t i = 0; i < 8; i++) /* the checksum in capitals: one way to write a map */
		wrong[body + 6 + i] = (char)(wrong[body + 6 + i] >= 'a' ? wrong[body + 6 + i] - 32
									: wrong[body + 6 + i]);
	if (memcmp(wrong, text, n) != 0)
		assert_refused(wrong, n);
}

static void bad_lines_with_a_right_checksum_are_refused_by_number(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad_lines); i++) {
		size_t n = text_with(text, bad_lines[i].line, bad_lines[i].text);
		struct map *m = NULL;
		struct err e = ERR_INIT;
		unsigned number = 0;

		assert_refused(text, n);
		assert_int_equal(parse(text, n, &m, &e), -EINVAL);
		assert_int_equal(sscanf(e.text, "line %u:", &number) == 1 ||
					 sscanf(e.text, "line %u ", &number) == 1,
				 1);
		/* Sizes and sums are known to be wrong only when the extents are read. */
		if (bad_lines[i].line != 5 && bad_lines[i].line != 10 && bad_lines[i].line != 13 &&
		    bad_lines[i].line < 15)
			assert_int_equal(number, bad_lines[i].line + 1);
	}
}

static void two_lines_in_the_wrong_order_are_refused(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	for (size_t swap = 0; swap + 1 < LINES; swap++) {
		size_t n = 0;

		for (size_t i = 0; i < LINES; i++) {
			size_t from = i == swap ? i + 1 : i == swap + 1 ? i - 1 : i;

			n = put_line(text, n, good_lines[from]);
		}
		assert_refused(text, seal(text, n));
	}
}

/* With sectors of 4096 bytes an extent must be whole ones. */
static void extents_are_aligned_to_the_hosts_sector(void **state)
{
	char text[TEXT_MAX];
	size_t n = 0;
	AUTO(map) struct map *m = NULL;

	(void)state;
	for (size_t i = 0; i < LINES; i++) {
		const char *s = i == 12	  ? "host_sector_bytes 4096"
				: i == 16 ? "extent 0 2052 16384"
					  : good_lines[i];

		n = put_line(text, n, s);
	}
	assert_refused(text, seal(text, n));
	n = text_with(text, 12, "host_sector_bytes 4096");
	assert_int_equal(parse(text, n, &m, NULL), 0);
	map_free(TAKE(m));
	n = text_with(text, 16, "extent 0 2052 16384");
	assert_int_equal(parse(text, n, &m, NULL), 0);
}

static void an_unknown_version_is_named(void **state)
{
	static const char newer[] = "wubi-map 2\nsomething else\n";
	struct map *m = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(parse(newer, strlen(newer), &m, &e), -EINVAL);
	assert_text_has(e.text, "line 1: only version 1");
}

static void good_text_gives_its_values(void **state)
{
	char text[TEXT_MAX];
	size_t n = good_text(text);
	AUTO(map) struct map *m = NULL;
	AUTO_FREE char *again = NULL;
	size_t again_n = 0;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(parse(text, n, &m, &e), 0);
	assert_string_equal(m->map_id, "0f2a7c1e-9b3d-4e55-8a61-c0ffee123456");
	assert_int_equal(m->generation, 3);
	assert_string_equal(m->name, "root");
	assert_string_equal(m->image, "/ubuntu/disks/root.disk");
	assert_int_equal(m->size_bytes, 10485760);
	assert_int_equal(m->mft_record, 4711);
	assert_int_equal(m->mft_sequence, 12);
	assert_true(m->host.serial == UINT64_C(0x00a1b2c3d4e5f678));
	assert_string_equal(m->host.partuuid, "11111111-2222-3333-4444-555555555555");
	assert_true(m->host.partition_bytes == UINT64_C(4194304) * 512);
	assert_int_equal(m->host.cluster_bytes, 4096);
	assert_int_equal(m->host.sector_bytes, 512);
	assert_string_equal(m->fs_type, "ext4");
	assert_string_equal(m->fs_uuid, "99999999-8888-7777-6666-555555555555");
	assert_int_equal(m->extents.count, 2);
	assert_int_equal(m->extents.items[1].logical_bytes, 16384 * 512);
	assert_int_equal(m->extents.items[1].physical_bytes, 65536 * 512);
	assert_int_equal(m->extents.items[1].length_bytes, 4096 * 512);
	assert_int_equal(map_format(m, &again, &again_n, &e), 0);
	assert_int_equal(again_n, n);
	assert_memory_equal(again, text, n + 1);
}

static void format_round_trip(const struct map *m)
{
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *again = NULL;
	AUTO(map) struct map *back = NULL;
	size_t n = 0;
	size_t again_n = 0;
	struct err e = ERR_INIT;

	assert_int_equal(map_format(m, &text, &n, &e), 0);
	assert_int_equal(text[n], '\0');
	assert_int_equal(parse(text, n, &back, &e), 0);
	assert_true(extent_list_equal(&m->extents, &back->extents));
	assert_string_equal(m->image, back->image);
	assert_string_equal(m->host.partuuid, back->host.partuuid);
	assert_string_equal(m->fs_uuid, back->fs_uuid);
	assert_true(m->host.serial == back->host.serial);
	assert_int_equal(map_format(back, &again, &again_n, &e), 0);
	assert_int_equal(n, again_n);
	assert_memory_equal(text, again, n);
}

static void round_trips(void **state)
{
	char text[TEXT_MAX];
	AUTO(map) struct map *m = NULL;
	AUTO(map) struct map *copy = NULL;
	size_t n = good_text(text);

	(void)state;
	assert_int_equal(parse(text, n, &m, NULL), 0);
	format_round_trip(m);
	m->host.partuuid[0] = '\0';
	m->host.serial = UINT64_MAX;
	strcpy(m->fs_type, "none");
	m->fs_uuid[0] = '\0';
	strcpy(m->image, "/\xc3\xbc \xe2\x82\xac \xf0\x9f\x90\xa7/root (1).disk");
	format_round_trip(m);
	strcpy(m->host.partuuid, "deadbeef-05");
	m->host.partition_bytes = UINT64_MAX - 511;
	m->mft_sequence = UINT16_MAX;
	extent_list_clear(&m->extents);
	for (uint64_t i = 0; i < 3000; i++)
		assert_int_equal(
			extent_list_append(&m->extents, (i * 7919 % 3000) * 8192, 4096, NULL), 0);
	m->size_bytes = 3000 * 4096;
	format_round_trip(m);
	assert_int_equal(map_copy(m, &copy, NULL), 0);
	assert_true(copy->extents.items != m->extents.items);
	format_round_trip(copy);
}

static void format_refuses_what_parse_would(void **state)
{
	char text[TEXT_MAX];
	AUTO(map) struct map *m = NULL;
	char *out = NULL;
	size_t n = good_text(text);
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(parse(text, n, &m, NULL), 0);
	assert_int_equal(map_check(m, &e), 0);
	strcpy(m->name, "Root");
	assert_int_equal(map_check(m, &e), -EINVAL);
	assert_text_has(e.text, "name");
	assert_int_equal(map_format(m, &out, &n, &e), -EINVAL);
	strcpy(m->name, "root");
	m->host.partition_bytes -= 1;
	assert_int_equal(map_format(m, &out, &n, &e), -EINVAL);
	m->host.partition_bytes += 1;
	m->extents.items[1].physical_bytes = m->extents.items[0].physical_bytes;
	assert_int_equal(map_format(m, &out, &n, &e), -EINVAL);
	assert_text_has(e.text, "extent");
	assert_null(out);
	map_free(NULL);
}

static void names_and_paths(void **state)
{
	char path[1100];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad_paths); i++) {
		if (map_image_is_valid(bad_paths[i]))
			fail_msg("path %zu '%s' is taken", i, bad_paths[i]);
	}
	for (size_t i = 0; i < COUNT_OF(good_paths); i++)
		assert_true(map_image_is_valid(good_paths[i]));
	for (size_t i = 0; i < COUNT_OF(bad_names); i++)
		assert_false(map_name_is_valid(bad_names[i]));
	assert_false(map_name_is_valid("host")); /* /dev/mapper/wubi-host is taken */
	for (size_t i = 0; i < COUNT_OF(good_names); i++)
		assert_true(map_name_is_valid(good_names[i]));
	memset(path, 'a', sizeof(path));
	for (size_t i = 0; i < sizeof(path); i += 200) /* a component has at most 255 characters */
		path[i] = '/';
	path[1023] = '\0';
	assert_true(map_image_is_valid(path));
	path[1023] = 'a';
	path[1024] = '\0';
	assert_false(map_image_is_valid(path));
}

static int allocate_everything(const char *text, size_t n)
{
	AUTO(map) struct map *m = NULL;
	AUTO(map) struct map *copy = NULL;
	AUTO_FREE char *again = NULL;
	size_t again_n = 0;
	struct err e = ERR_INIT;
	int r = map_parse(text, n, &m, &e);

	if (r == 0)
		r = map_copy(m, &copy, &e);
	if (r == 0)
		r = map_format(copy, &again, &again_n, &e);
	assert_int_equal(r, e.code);
	return r;
}

static void every_failed_allocation_is_enomem(void **state)
{
	char text[TEXT_MAX];
	size_t n = good_text(text);
	int k = 0;
	int r;

	(void)state;
	do {
		alloc_failed = 0;
		alloc_fail_at = ++k;
		r = allocate_everything(text, n);
		assert_int_equal(r, alloc_failed ? -ENOMEM : 0);
	} while (alloc_failed);
	alloc_fail_at = 0;
	assert_true(k > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_edited_digit_is_refused),
		cmocka_unit_test(every_changed_byte_is_refused),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(truncated_or_missing_lines_with_a_right_checksum_are_refused),
		cmocka_unit_test(added_bytes_and_lines_are_refused),
		cmocka_unit_test(bad_lines_with_a_right_checksum_are_refused_by_number),
		cmocka_unit_test(two_lines_in_the_wrong_order_are_refused),
		cmocka_unit_test(extents_are_aligned_to_the_hosts_sector),
		cmocka_unit_test(an_unknown_version_is_named),
		cmocka_unit_test(good_text_gives_its_values),
		cmocka_unit_test(round_trips),
		cmocka_unit_test(format_refuses_what_parse_would),
		cmocka_unit_test(names_and_paths),
		cmocka_unit_test(every_failed_allocation_is_enomem),
	};

	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
