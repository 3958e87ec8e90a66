/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_plan - the preflight with the volume left open and claimed, for create. */
#ifndef WUBI_IMAGE_PLAN_H
#define WUBI_IMAGE_PLAN_H

#include "image_private.h"

/* As image_preflight(); *s is open afterwards and the caller's to close, also on error. */
int image_plan_session(const struct image_params *par, struct session *s, struct image_plan *plan,
		       const struct progress *p, struct err *e);

#endif
