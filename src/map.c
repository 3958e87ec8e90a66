/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "num.h"
#include "winpath.h"

#define MAP_FIRST_LINE "wubi-map 1"
#define MAP_LINE_MAX 1100     /* longer than 'image ' and the longest path */
#define MAP_CRC_LINE_BYTES 15 /* "crc32 xxxxxxxx\n" */
#define MAP_CLUSTER_MAX (2u * 1024 * 1024)
#define MAP_MFT_RECORD_MAX ((UINT64_C(1) << 48) - 1) /* an MFT reference has 48 bits for it */

/* ---- what a value may be ---- */

/* Digits of a pattern: 'x' is a lower-case hex digit, all else stands for itself. */
static bool text_is(const char *text, const char *pattern)
{
	size_t n = strlen(pattern);

	if (strlen(text) != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (pattern[i] == 'x' ? !strchr("0123456789abcdef", text[i])
				      : text[i] != pattern[i])
			return false;
	}
	return true;
}

static bool text_is_uuid(const char *text)
{
	return text_is(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
}

static bool id_is_valid(const struct map *m)
{
	return text_is_uuid(m->map_id);
}

static bool generation_is_valid(const struct map *m)
{
	return m->generation > 0;
}

static bool own_name_is_valid(const struct map *m)
{
	return map_name_is_valid(m->name);
}

static bool own_image_is_valid(const struct map *m)
{
	return map_image_is_valid(m->image);
}

static bool size_is_valid(const struct map *m)
{
	return m->size_bytes > 0 && m->size_bytes % MAP_SECTOR_BYTES == 0;
}

static bool mft_record_is_valid(const struct map *m)
{
	return m->mft_record <= MAP_MFT_RECORD_MAX;
}

static bool partuuid_is_valid(const struct map *m)
{
	return m->host.partuuid[0] == '\0' || text_is_uuid(m->host.partuuid) ||
	       text_is(m->host.partuuid, "xxxxxxxx-xx");
}

static bool partition_is_valid(const struct map *m)
{
	return m->host.partition_bytes > 0 && m->host.partition_bytes % MAP_SECTOR_BYTES == 0;
}

static bool cluster_is_valid(const struct map *m)
{
	return m->host.cluster_bytes >= 256 && m->host.cluster_bytes <= MAP_CLUSTER_MAX &&
	       num_is_power_of_two(m->host.cluster_bytes);
}

static bool sector_is_valid(const struct map *m)
{
	return m->host.sector_bytes >= 256 && m->host.sector_bytes <= 4096 &&
	       m->host.sector_bytes <= m->host.cluster_bytes &&
	       num_is_power_of_two(m->host.sector_bytes);
}

static bool fs_type_is_valid(const struct map *m)
{
	return strcmp(m->fs_type, "ext4") == 0 || strcmp(m->fs_type, "swap") == 0 ||
	       strcmp(m->fs_type, "none") == 0;
}

static bool fs_uuid_is_valid(const struct map *m)
{
	if (strcmp(m->fs_type, "none") == 0)
		return m->fs_uuid[0] == '\0';
	return text_is_uuid(m->fs_uuid);
}

/* ---- header lines: one table to read, write and check, so that the three cannot differ ---- */

/* OPTIONAL: empty is written '-'. SECTORS: bytes in the map, sectors in the text. */
enum field_kind { FIELD_TEXT, FIELD_OPTIONAL, FIELD_NUMBER, FIELD_SECTORS, FIELD_HEX };

struct field {
	const char *key;
	enum field_kind kind;
	size_t offset;
	size_t size;
	/* May look at earlier fields. NULL: whatever fits is valid. */
	bool (*is_valid)(const struct map *m);
	const char *must;
};

#define FIELD(key, kind, member, is_valid, must)                                                 \
	{ key, kind, offsetof(struct map, member), sizeof(((struct map *)NULL)->member), is_valid, \
	  must }

static const struct field fields[] = {
	FIELD("id", FIELD_TEXT, map_id, id_is_valid, "be a UUID in lower case"),
	FIELD("generation", FIELD_NUMBER, generation, generation_is_valid, "be at least 1"),
	FIELD("name", FIELD_TEXT, name, own_name_is_valid,
	      "be a lower-case letter and up to 30 of a-z, 0-9, '-'"),
	FIELD("image", FIELD_TEXT, image, own_image_is_valid,
	      "be an absolute path that Windows can have"),
	FIELD("size_bytes", FIELD_NUMBER, size_bytes, size_is_valid, "be a multiple of 512, not 0"),
	FIELD("mft_record", FIELD_NUMBER, mft_record, mft_record_is_valid, "be less than 2^48"),
	FIELD("mft_sequence", FIELD_NUMBER, mft_sequence, NULL, ""),
	FIELD("host_serial", FIELD_HEX, host.serial, NULL, ""),
	FIELD("host_partuuid", FIELD_OPTIONAL, host.partuuid, partuuid_is_valid,
	      "be '-', a UUID in lower case or like 'xxxxxxxx-xx'"),
	FIELD("host_partition_sectors", FIELD_SECTORS, host.partition_bytes, partition_is_valid,
	      "be whole sectors, not 0"),
	FIELD("host_cluster_bytes", FIELD_NUMBER, host.cluster_bytes, cluster_is_valid,
	      "be a power of two from 256 to 2097152"),
	FIELD("host_sector_bytes", FIELD_NUMBER, host.sector_bytes, sector_is_valid,
	      "be a power of two from 256 to 4096, not above the cluster"),
	FIELD("fs_type", FIELD_TEXT, fs_type, fs_type_is_valid, "be 'ext4', 'swap' or 'none'"),
	FIELD("fs_uuid", FIELD_OPTIONAL, fs_uuid, fs_uuid_is_valid,
	      "be a UUID in lower case, or '-' if and only if fs_type is 'none'"),
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

static int check_field(const struct map *m, const struct field *f, struct err *e)
{
	/* The value itself is not shown: it may hold anything, also what a terminal obeys. */
	if (f->is_valid && !f->is_valid(m))
		return err_set(e, -EINVAL, "'%s' must %s", f->key, f->must);
	return 0;
}

static uint64_t get_number(const struct map *m, const struct field *f)
{
	const char *at = (const char *)m + f->offset;

	switch (f->size) {
	case sizeof(uint16_t):
		return *(const uint16_t *)(const void *)at;
	case sizeof(uint32_t):
		return *(const uint32_t *)(const void *)at;
	default:
		return *(const uint64_t *)(const void *)at;
	}
}

/* False: the field is too narrow for the value. */
static bool set_number(struct map *m, const struct field *f, uint64_t value)
{
	char *at = (char *)m + f->offset;

	if (f->size < sizeof(value) && value >> (8 * f->size))
		return false;
	switch (f->size) {
	case sizeof(uint16_t):
		*(uint16_t *)(void *)at = (uint16_t)value;
		break;
	case sizeof(uint32_t):
		*(uint32_t *)(void *)at = (uint32_t)value;
		break;
	default:
		*(uint64_t *)(void *)at = value;
	}
	return true;
}

/* ---- names and paths ---- */

bool map_name_is_valid(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return name[0] >= 'a' && name[0] <= 'z' && name[n] == '\0' &&
	       n < sizeof(((struct map *)NULL)->name) && strcmp(name, "host") != 0;
}

bool map_image_is_valid(const char *path)
{
	return strlen(path) < sizeof(((struct map *)NULL)->image) && winpath_is_valid(path);
}

/* ---- the whole ---- */

/* A sector of 256 bytes does not make the text's 512-byte sectors smaller. */
static int check_extents(const struct map *m, struct err *e)
{
	uint32_t align =
		m->host.sector_bytes < MAP_SECTOR_BYTES ? MAP_SECTOR_BYTES : m->host.sector_bytes;

	return extent_list_check(&m->extents, m->size_bytes, m->host.partition_bytes, align, e);
}

int map_check(const struct map *m, struct err *e)
{
	int r;

	for (size_t i = 0; i < FIELD_COUNT; i++) {
		r = check_field(m, &fields[i], e);
		if (r < 0)
			return r;
	}
	return check_extents(m, e);
}

int map_copy(const struct map *m, struct map **ret, struct err *e)
{
	AUTO(map) struct map *copy = calloc(1, sizeof(*copy));
	int r;

	if (!copy)
		return err_set(e, -ENOMEM, "out of memory for a map");
	*copy = *m;
	copy->extents = (struct extent_list){ NULL, 0, 0 };
	r = extent_list_copy(&m->extents, &copy->extents, e);
	if (r < 0)
		return r;
	*ret = TAKE(copy);
	return 0;
}

void map_free(struct map *m)
{
	if (!m)
		return;
	extent_list_clear(&m->extents);
	free(m);
}

/* ---- text to map ---- */

struct reader {
	const char *text;
	size_t n; /* the crc32 line left out */
	size_t at;
	size_t number; /* of the line read last, from 1 */
	char line[MAP_LINE_MAX];
};

/* r->line is the next line as a string. */
static int read_line(struct reader *r, struct err *e)
{
	const char *start = r->text + r->at;
	const char *end = r->at < r->n ? memchr(start, '\n', r->n - r->at) : NULL;
	size_t n;

	r->number++;
	if (!end)
		return err_set(e, -EINVAL, "line %zu: a line is missing", r->number);
	n = (size_t)(end - start);
	if (n >= sizeof(r->line))
		return err_set(e, -EINVAL, "line %zu: the line is too long", r->number);
	if (memchr(start, '\0', n))
		return err_set(e, -EINVAL, "line %zu: there is a NUL byte", r->number);
	memcpy(r->line, start, n);
	r->line[n] = '\0';
	r->at += n + 1;
	return 0;
}

/* The value of the next line, which must have the key. *ret_value lies in r->line. */
static int read_value(struct reader *r, const char *key, char **ret_value, struct err *e)
{
	size_t n = strlen(key);
	int ret = read_line(r, e);

	if (ret < 0)
		return ret;
	if (strncmp(r->line, key, n) != 0 || r->line[n] != ' ' || r->line[n + 1] == '\0')
		return err_set(e, -EINVAL, "line %zu: '%s' and its value are expected here",
			       r->number, key);
	*ret_value = r->line + n + 1;
	return 0;
}

/* False: not what write_field() writes. */
static bool parse_value(struct map *m, const struct field *f, const char *value)
{
	uint64_t number;

	switch (f->kind) {
	case FIELD_TEXT:
	case FIELD_OPTIONAL:
		if (f->kind == FIELD_OPTIONAL && strcmp(value, "-") == 0)
			value = "";
		if (strlen(value) >= f->size)
			return false;
		memcpy((char *)m + f->offset, value, strlen(value) + 1);
		return true;
	case FIELD_HEX:
		if (!text_is(value, "xxxxxxxxxxxxxxxx"))
			return false;
		return set_number(m, f, strtoull(value, NULL, 16)); /* 16 hex digits cannot fail */
	case FIELD_SECTORS:
		return num_parse_u64(value, &number, NULL) == 0 &&
		       num_mul(number, MAP_SECTOR_BYTES, &number) == 0 && set_number(m, f, number);
	case FIELD_NUMBER:
	default:
		return num_parse_u64(value, &number, NULL) == 0 && set_number(m, f, number);
	}
}

static int read_fields(struct reader *r, struct map *m, struct err *e)
{
	char *value;

	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const struct field *f = &fields[i];
		int ret = read_value(r, f->key, &value, e);

		if (ret < 0)
			return ret;
		if (!parse_value(m, f, value))
			return err_set(e, -EINVAL,
				       "line %zu: the value of '%s' is not written as it must be",
				       r->number, f->key);
		ret = check_field(m, f, e);
		if (ret < 0)
			return err_wrap(e, ret, "line %zu", r->number);
	}
	return 0;
}

/* "LOGICAL PHYSICAL COUNT": false for anything else. Cuts the text up. */
static bool parse_extent(char *value, struct extent *ret)
{
	uint64_t bytes[3];

	for (size_t i = 0; i < 3; i++) {
		char *space = strchr(value, ' ');

		if ((space != NULL) != (i < 2))
			return false;
		if (space)
			*space = '\0';
		if (num_parse_u64(value, &bytes[i], NULL) < 0 ||
		    num_mul(bytes[i], MAP_SECTOR_BYTES, &bytes[i]) < 0)
			return false;
		if (space)
			value = space + 1;
	}
	*ret = (struct extent){ bytes[0], bytes[1], bytes[2] };
	return true;
}

static int read_extents(struct reader *r, struct map *m, struct err *e)
{
	char *value;
	uint64_t count;
	size_t first_line;
	int ret = read_value(r, "extents", &value, e);

	if (ret < 0)
		return ret;
	if (num_parse_u64(value, &count, NULL) < 0)
		return err_set(e, -EINVAL, "line %zu: the number of extents is not a number",
			       r->number);
	first_line = r->number + 1;
	for (uint64_t i = 0; i < count; i++) {
		struct extent x;

		ret = read_value(r, "extent", &value, e);
		if (ret < 0)
			return ret;
		if (!parse_extent(value, &x))
			return err_set(e, -EINVAL,
				       "line %zu: 'extent LOGICAL PHYSICAL COUNT' is expected here",
				       r->number);
		ret = extent_list_push(&m->extents, &x, e);
		if (ret < 0)
			return ret;
	}
	ret = check_extents(m, e);
	if (ret == -EINVAL)
		return err_wrap(e, ret, "line %zu (extent 0) and the next", first_line);
	return ret;
}

static size_t count_lines(const char *text, size_t n)
{
	size_t lines = 0;

	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines;
}

static uint32_t text_crc(const char *text, size_t n)
{
	return (uint32_t)crc32_z(crc32_z(0, NULL, 0), (const unsigned char *)text, n);
}

/* The last line against all before it: before anything else is believed. *ret_n is the length
 * without that line. */
static int check_crc(const char *text, size_t n, size_t *ret_n, struct err *e)
{
	size_t body = n - MAP_CRC_LINE_BYTES;
	char line[MAP_CRC_LINE_BYTES + 1];
	size_t number = count_lines(text, n);

	if (n <= MAP_CRC_LINE_BYTES || text[n - 1] != '\n' || text[body - 1] != '\n' ||
	    memcmp(text + body, "crc32 ", 6) != 0)
		return err_set(e, -EINVAL,
			       "line %zu: the last line is not 'crc32 XXXXXXXX': the map is cut "
			       "short",
			       number ? number : 1);
	(void)snprintf(line, sizeof(line), "crc32 %08" PRIx32 "\n", text_crc(text, body));
	if (memcmp(text + body, line, MAP_CRC_LINE_BYTES) != 0)
		return err_set(e, -EINVAL,
			       "line %zu: the checksum does not fit: the map was changed or "
			       "damaged",
			       number);
	*ret_n = body;
	return 0;
}

static int read_map(struct reader *r, struct map *m, struct err *e)
{
	int ret = read_line(r, e);

	if (ret == 0 && strcmp(r->line, MAP_FIRST_LINE) != 0)
		ret = err_set(e, -EINVAL, "line 1: '" MAP_FIRST_LINE "' is expected here");
	if (ret == 0)
		ret = read_fields(r, m, e);
	if (ret == 0)
		ret = read_extents(r, m, e);
	if (ret == 0 && r->at != r->n)
		ret = err_set(e, -EINVAL, "line %zu: 'crc32' is expected here", r->number + 1);
	return ret;
}

int map_parse(const char *text, size_t n, struct map **ret, struct err *e)
{
	AUTO(map) struct map *m = NULL;
	struct reader reader = { .text = text };
	int r;

	if (n == 0)
		return err_set(e, -EINVAL, "line 1: the map is empty");
	if (n > MAP_TEXT_MAX)
		return err_set(e, -EINVAL, "line 1: the map is longer than %u bytes", MAP_TEXT_MAX);
	/* A newer version may end in another way: tell that first. */
	if (n > strlen(MAP_FIRST_LINE) && memcmp(text, "wubi-map ", 9) == 0 &&
	    memcmp(text, MAP_FIRST_LINE "\n", strlen(MAP_FIRST_LINE "\n")) != 0)
		return err_set(e, -EINVAL, "line 1: only version 1 of the map is understood");
	r = check_crc(text, n, &reader.n, e);
	if (r < 0)
		return r;
	m = calloc(1, sizeof(*m));
	if (!m)
		return err_set(e, -ENOMEM, "out of memory for a map");
	r = read_map(&reader, m, e);
	if (r < 0)
		return r;
	*ret = TAKE(m);
	return 0;
}

/* ---- map to text ---- */

static void write_field(FILE *f, const struct map *m, const struct field *field)
{
	const char *text = (const char *)m + field->offset;
	uint64_t unit = field->kind == FIELD_SECTORS ? MAP_SECTOR_BYTES : 1;

	(void)fprintf(f, "%s ", field->key); /* ferror() tells at the end what failed here */
	if (field->kind == FIELD_TEXT || field->kind == FIELD_OPTIONAL)
		(void)fprintf(f, "%s\n", *text ? text : "-");
	else if (field->kind == FIELD_HEX)
		(void)fprintf(f, "%016" PRIx64 "\n", get_number(m, field));
	else
		(void)fprintf(f, "%" PRIu64 "\n", get_number(m, field) / unit);
}

static void write_body(FILE *f, const struct map *m)
{
	(void)fputs(MAP_FIRST_LINE "\n", f);
	for (size_t i = 0; i < FIELD_COUNT; i++)
		write_field(f, m, &fields[i]);
	(void)fprintf(f, "extents %zu\n", m->extents.count);
	for (size_t i = 0; i < m->extents.count; i++) {
		const struct extent *x = &m->extents.items[i];

		(void)fprintf(f, "extent %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			      x->logical_bytes / MAP_SECTOR_BYTES,
			      x->physical_bytes / MAP_SECTOR_BYTES,
			      x->length_bytes / MAP_SECTOR_BYTES);
	}
}

int map_format(const struct map *m, char **ret_text, size_t *ret_n, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t n = 0;
	FILE *f;
	bool failed;
	int r = map_check(m, e);

	if (r < 0)
		return r;
	f = open_memstream(&text, &n);
	if (!f)
		return err_set(e, -ENOMEM, "out of memory for the text of a map");
	write_body(f, m);
	failed = fflush(f) != 0; /* makes text and n those of the body */
	if (!failed)
		(void)fprintf(f, "crc32 %08" PRIx32 "\n", text_crc(text, n));
	failed |= ferror(f) != 0;
	failed |= fclose(f) != 0;
	if (failed)
		return err_set(e, -ENOMEM, "out of memory for the text of a map");
	if (n > MAP_TEXT_MAX)
		return err_set(e, -EINVAL, "%zu extents make a map longer than %u bytes",
			       m->extents.count, MAP_TEXT_MAX);
	*ret_n = n;
	*ret_text = TAKE(text);
	return 0;
}
