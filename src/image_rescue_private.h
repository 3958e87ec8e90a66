/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_rescue_private - looking, which copying out and making anew have in common. */
#ifndef WUBI_IMAGE_RESCUE_PRIVATE_H
#define WUBI_IMAGE_RESCUE_PRIVATE_H

#include "image_private.h"
#include "image_rescue.h"

/* Fills all but what a copy is. s is open. Refuses "not-this-volume" and "bitlocker". */
int image_rescue_look(struct session *s, const struct map *m, const struct progress *p, struct image_rescue *ret,
		      struct err *e);

/* Sets reason. */
void image_rescue_judge(struct image_rescue *r);

#endif
