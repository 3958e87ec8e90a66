/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "install_list.h"

#include <string.h>

#include "num.h"
#include "progout.h"

#define COLUMNS 100
#define INDENT 6
#define PATH_COLUMNS 18
#define CELL_BYTES (4 * DISKS_PATH_MAX)

/* ---- for people ---- */

/* Does a character begin here? In UTF-8 the other bytes of one take no column. */
static bool is_start(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

/* Exactly so many columns, but for characters that are wide or combine. No line break passes: progout_print() would let it. */
static const char *cell(const char *text, size_t columns, char ret[CELL_BYTES])
{
	size_t used = 0, n = 0;

	for (; *text && n + columns - used < CELL_BYTES - 1; text++) {
		if (is_start(*text) && used++ == columns) {
			used = columns;
			break;
		}
		ret[n] = *text;
		if (ret[n] == '\n')
			ret[n] = '?';
		n++;
	}
	while (used++ < columns)
		ret[n++] = ' ';
	ret[n] = '\0';
	return ret;
}

static size_t columns_of(const char *text, size_t bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < bytes; i++)
		n += is_start(text[i]);
	return n;
}

/* A text in lines of at most COLUMNS, broken between words. */
static void print_wrapped(FILE *f, const char *text)
{
	size_t used = 0;

	while (*text) {
		size_t word = strcspn(text, " \n"), columns = columns_of(text, word);

		if (used && used + 1 + columns > COLUMNS) {
			progout_print(f, "\n");
			used = 0;
		}
		if (word) {
			progout_print(f, "%*s%.*s", used ? 1 : INDENT, "", (int)word, text);
			used += (used ? 1 : INDENT) + columns;
		}
		text += word;
		text += *text != '\0';
	}
	if (used)
		progout_print(f, "\n");
}

static bool has_geometry(const struct volumes_row *row)
{
	return row->kind == VOLUMES_NTFS && *row->serial;
}

static const char *size_or_dash(bool is_known, uint64_t bytes, char text[NUM_BYTES_TEXT])
{
	return is_known ? num_format_bytes(bytes, text) : "-";
}

static void print_row(FILE *f, const struct volumes_row *row)
{
	char path[CELL_BYTES], label[CELL_BYTES], size[NUM_BYTES_TEXT], space[NUM_BYTES_TEXT], run[NUM_BYTES_TEXT];
	size_t columns = columns_of(row->path, strlen(row->path));
	bool known = has_geometry(row);

	/* a path in full, even if the columns suffer: it is what people type */
	progout_print(f, "  %s %s %10s %10s %11s  %s\n", cell(row->path, columns > PATH_COLUMNS ? columns : PATH_COLUMNS, path),
		      cell(*row->label ? row->label : "-", 20, label), num_format_bytes(row->size_bytes, size),
		      size_or_dash(known, row->free_bytes, space), size_or_dash(known, row->largest_run_bytes, run),
		      strcmp(row->state, "-") != 0 ? row->state : row->what);
	if (!row->is_usable && *row->text)
		print_wrapped(f, row->text);
	if (row->image_count) {
		char text[sizeof(row->image) + 64];

		(void)snprintf(text, sizeof(text), "images of Linux here: %zu (%s)", row->image_count, row->image);
		print_wrapped(f, text);
	}
}

static void print_disk(FILE *f, const struct disks_disk *disk)
{
	char size[NUM_BYTES_TEXT], path[CELL_BYTES];

	progout_print(f, "%s  %s%s%s, %s%s\n", cell(disk->path, columns_of(disk->path, strlen(disk->path)), path), disk->model,
		      *disk->model ? ", " : "", num_format_bytes(disk->size_bytes, size),
		      *disk->table ? disk->table : "no partition table", disk->is_readonly ? ", read-only" : "");
	if (*disk->problem)
		print_wrapped(f, disk->problem);
}

void install_list_text(FILE *f, const struct volumes *v)
{
	char device[CELL_BYTES], label[CELL_BYTES];

	if (!v->disks.count) {
		progout_print(f, "no disks\n");
		return;
	}
	progout_print(f, "  %s %s %10s %10s %11s  %s\n", cell("device", PATH_COLUMNS, device),
		      cell("label", 20, label), "size", "free", "largest run", "state");
	for (size_t i = 0; i < v->disks.count; i++) {
		print_disk(f, &v->disks.items[i]);
		for (size_t k = 0; k < v->count; k++)
			if (v->rows[k].disk == &v->disks.items[i])
				print_row(f, &v->rows[k]);
	}
}

/* ---- for programs ---- */

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

static void add_bytes(struct jsonout *parent, const char *key, bool is_known, uint64_t bytes)
{
	if (is_known)
		jsonout_add_u64(parent, key, bytes);
	else
		jsonout_add_string(parent, key, NULL);
}

static void add_row(struct jsonout *array, const struct volumes_row *row)
{
	static const char *const kinds[] = {
		[VOLUMES_OTHER] = "other", [VOLUMES_NTFS] = "ntfs", [VOLUMES_ESP] = "esp",
	};
	struct jsonout *item = jsonout_add_object(array, NULL);

	jsonout_add_string(item, "path", row->path);
	jsonout_add_string(item, "kind", kinds[row->kind]);
	jsonout_add_string(item, "what", strcmp(row->what, "-") != 0 ? row->what : NULL);
	jsonout_add_string(item, "label", or_null(row->label));
	jsonout_add_string(item, "partuuid", or_null(row->partuuid));
	jsonout_add_string(item, "serial", or_null(row->kind == VOLUMES_ESP ? row->esp_uuid : row->serial));
	jsonout_add_u64(item, "size_bytes", row->size_bytes);
	add_bytes(item, "free_bytes", has_geometry(row), row->free_bytes);
	add_bytes(item, "largest_run_bytes", has_geometry(row), row->largest_run_bytes);
	jsonout_add_string(item, "mounted", or_null(row->mounted));
	jsonout_add_bool(item, "usable", row->is_usable);
	jsonout_add_string(item, "state", strcmp(row->state, "-") != 0 ? row->state : NULL);
	jsonout_add_string(item, "reason", or_null(row->reason));
	jsonout_add_string(item, "text", or_null(row->text));
	jsonout_add_u64(item, "images", row->image_count);
}

void install_list_json(struct jsonout *parent, const struct volumes *v)
{
	struct jsonout *array = jsonout_add_array(parent, "disks");

	for (size_t i = 0; i < v->disks.count; i++) {
		const struct disks_disk *disk = &v->disks.items[i];
		struct jsonout *item = jsonout_add_object(array, NULL), *partitions;

		jsonout_add_string(item, "path", disk->path);
		jsonout_add_string(item, "model", or_null(disk->model));
		jsonout_add_u64(item, "size_bytes", disk->size_bytes);
		jsonout_add_string(item, "table", or_null(disk->table));
		jsonout_add_string(item, "problem", or_null(disk->problem));
		partitions = jsonout_add_array(item, "partitions");
		for (size_t k = 0; k < v->count; k++)
			if (v->rows[k].disk == disk)
				add_row(partitions, &v->rows[k]);
	}
}
