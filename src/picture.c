/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "picture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "num.h"

#define COLOUR_OFF "\033[0m"

struct look {
	char letter;
	const char *colour; /* "": the terminal's own */
	const char *meaning;
};

enum look_index { LOOK_IMAGE, LOOK_FREE, LOOK_PARTLY, LOOK_USED, LOOK_UNKNOWN, LOOK_COUNT };

static const struct look looks[LOOK_COUNT] = {
	[LOOK_IMAGE] = { '#', "\033[1;32m", "image" },
	[LOOK_FREE] = { '.', "", "free" },
	[LOOK_PARTLY] = { '-', "\033[33m", "partly used" },
	[LOOK_USED] = { '=', "\033[34m", "used" },
	[LOOK_UNKNOWN] = { '?', "", "not image" },
};

/* At least 1, for a volume smaller than the picture: then the last cells lie beyond it. */
static uint64_t cell_bytes(const struct picture *p)
{
	uint64_t n = p->total_bytes / PICTURE_CELLS + (p->total_bytes % PICTURE_CELLS != 0);

	return n ? n : 1;
}

/* Of one cell, cut at the end of the volume; 0: it lies beyond the end. */
static uint64_t bytes_in_cell(const struct picture *p, size_t cell)
{
	uint64_t size = cell_bytes(p);
	uint64_t before;

	if (num_mul(size, cell, &before) < 0 || before >= p->total_bytes)
		return 0;
	return p->total_bytes - before < size ? p->total_bytes - before : size;
}

static void add_range(const struct picture *p, uint64_t *cells, uint64_t offset_bytes, uint64_t n)
{
	uint64_t size = cell_bytes(p);

	if (offset_bytes >= p->total_bytes)
		return;
	if (n > p->total_bytes - offset_bytes)
		n = p->total_bytes - offset_bytes;
	while (n > 0) {
		uint64_t room = size - offset_bytes % size;
		uint64_t part = n < room ? n : room;

		cells[offset_bytes / size] += part;
		offset_bytes += part;
		n -= part;
	}
}

void picture_init(struct picture *p, uint64_t total_bytes)
{
	*p = (struct picture){ .total_bytes = total_bytes };
}

void picture_add_free(struct picture *p, uint64_t offset_bytes, uint64_t n)
{
	p->free_known = true;
	add_range(p, p->free_bytes, offset_bytes, n);
}

void picture_add_image(struct picture *p, const struct extent_list *extents)
{
	for (size_t i = 0; i < extents->count; i++)
		add_range(p, p->image_bytes, extents->items[i].physical_bytes,
			  extents->items[i].length_bytes);
}

static enum look_index look_of(const struct picture *p, size_t cell)
{
	if (p->image_bytes[cell])
		return LOOK_IMAGE;
	if (!p->free_known)
		return LOOK_UNKNOWN;
	if (p->free_bytes[cell] == 0)
		return LOOK_USED;
	return p->free_bytes[cell] >= bytes_in_cell(p, cell) ? LOOK_FREE : LOOK_PARTLY;
}

/* ferror() tells at the end what failed here. */
static void draw_row(FILE *f, const struct picture *p, size_t row, bool colour)
{
	char text[NUM_BYTES_TEXT];
	size_t first = row * PICTURE_COLUMNS;
	const char *now = "";

	(void)fprintf(f, "%10s |", num_format_bytes(cell_bytes(p) * first, text));
	for (size_t cell = first; cell < first + PICTURE_COLUMNS && bytes_in_cell(p, cell) > 0;
	     cell++) {
		const struct look *l = &looks[look_of(p, cell)];

		if (colour && l->colour != now) {
			(void)fprintf(f, "%s%s", *now ? COLOUR_OFF : "", l->colour);
			now = l->colour;
		}
		(void)fputc(l->letter, f);
	}
	(void)fprintf(f, "%s|\n", *now ? COLOUR_OFF : "");
}

static void draw_legend(FILE *f, const struct picture *p, bool colour)
{
	char text[NUM_BYTES_TEXT];

	(void)fputs("            ", f);
	for (size_t i = 0; i < LOOK_COUNT; i++) {
		const struct look *l = &looks[i];
		bool on = colour && *l->colour;

		if (i != LOOK_IMAGE && (i == LOOK_UNKNOWN) == p->free_known)
			continue;
		(void)fprintf(f, "%s%c%s %s  ", on ? l->colour : "", l->letter,
			      on ? COLOUR_OFF : "", l->meaning);
	}
	(void)fprintf(f, "one cell: %s\n", num_format_bytes(cell_bytes(p), text));
}

int picture_render(const struct picture *p, bool colour, char **ret_text, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t n = 0;
	bool failed;
	FILE *f = open_memstream(&text, &n);

	if (!f)
		return err_set(e, -ENOMEM, "out of memory for a picture");
	for (size_t row = 0; row < PICTURE_ROWS; row++) {
		if (bytes_in_cell(p, row * PICTURE_COLUMNS) > 0)
			draw_row(f, p, row, colour);
	}
	draw_legend(f, p, colour);
	failed = ferror(f) != 0;
	failed |= fclose(f) != 0;
	if (failed)
		return err_set(e, -ENOMEM, "out of memory for a picture");
	*ret_text = TAKE(text);
	return 0;
}
