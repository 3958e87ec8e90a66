/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_grow_private - what the image_grow*.c files share. */
#ifndef WUBI_IMAGE_GROW_PRIVATE_H
#define WUBI_IMAGE_GROW_PRIVATE_H

#include "image_grow.h"
#include "image_private.h"

/* image_grow_plan.c: the preflight. *s is open and claimed afterwards, and the caller's to close, also on error. */
int image_grow_plan_session(const struct image_grow_params *par, struct session *s, struct image_grow_plan *plan,
			    const struct progress *p, struct err *e);

/* image_grow_data.c: fills the new clusters, which nobody has yet. Flushed and, where bytes were copied, compared. */
int image_grow_write_data(const struct image_grow_params *par, const struct session *s, const struct image_grow_plan *plan,
			  const struct progress *p, struct err *e);

/* image_grow_fs.c: the file system in a grown image, which the map is of. Nobody holds the volume. */
int image_grow_fs(const char *volume, const struct map *m, const struct progress *p, enum image_grown_fs *ret,
		  struct err *e);

/* Can image_grow_fs() do it, for an ext4 on this volume? Adds finding "no-program". */
void image_grow_check_programs(const char *fs_type, bool is_block, struct report *r);

#endif
