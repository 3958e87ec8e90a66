/* SPDX-License-Identifier: GPL-2.0-or-later */
/* picture - a volume drawn in a terminal: where the image lies, what is free, what is used. Pure: counts in, text out. */
#ifndef WUBI_PICTURE_H
#define WUBI_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "extent.h"

#define PICTURE_COLUMNS 64
#define PICTURE_ROWS 8
#define PICTURE_CELLS (PICTURE_COLUMNS * PICTURE_ROWS)

struct picture {
	uint64_t total_bytes;
	uint64_t free_bytes[PICTURE_CELLS];  /* of each cell */
	uint64_t image_bytes[PICTURE_CELLS];
	bool free_known;                     /* false: only a map is known, what is not image is '?' */
};

void picture_init(struct picture *p, uint64_t total_bytes);
void picture_add_free(struct picture *p, uint64_t offset_bytes, uint64_t n); /* sets free_known */
void picture_add_image(struct picture *p, const struct extent_list *extents);

/*
 * At most 80 columns, a legend and a scale (offset of each row's start) included. A cell with any byte of the image shows
 * it, so that a 4 KiB extent is never lost in a 2 TiB picture. colour: ANSI colours beside the letters, else letters
 * only. *ret_text is the caller's, free(). -ENOMEM.
 */
int picture_render(const struct picture *p, bool colour, char **ret_text, struct err *e);

#endif
