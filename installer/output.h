/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output - what the verbs of wubi-disk print: JSON keys, tables, the picture. The streams themselves are progout.h's. */
#ifndef WUBI_OUTPUT_H
#define WUBI_OUTPUT_H

#include <stdio.h>

#include "err.h"
#include "image.h"
#include "jsonout.h"
#include "map.h"
#include "picture.h"
#include "progout.h"

/* Adds the keys of 'show' to an object. */
void output_map_json(struct jsonout *parent, const struct map *m);
void output_extents_json(struct jsonout *parent, const struct extent_list *extents);
void output_info_json(struct jsonout *parent, const struct image_info *info);

/* Tables for people. */
void output_map_text(FILE *f, const struct map *m);
void output_extents_text(FILE *f, const struct extent_list *extents);
void output_info_text(FILE *f, const char *volume, const struct image_info *info);
void output_plan_text(FILE *f, const char *volume, const struct image_plan *plan);

/* What rescue found and did. The copy's file is output, NULL: there is none. */
struct image_rescue;
void output_rescue_text(FILE *f, const struct map *m, const struct image_rescue *r, const char *output);
void output_rescue_json(struct jsonout *parent, const struct map *m, const struct image_rescue *r, const char *output);

/* The picture, in colour when f is a terminal and NO_COLOR is not set. -ENOMEM. */
int output_picture(FILE *f, const struct picture *p, struct err *e);

#endif
