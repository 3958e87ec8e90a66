/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verbs - what wubi-disk does: one function and one file a verb. Each prints, and returns the exit status. */
#ifndef WUBI_VERBS_H
#define WUBI_VERBS_H

#include "options.h"

#define STATUS_RECORD "/run/wubi/health.txt" /* what status --record leaves; no file: all is well */

int verb_info(const struct options *o);
int verb_create(const struct options *o);
int verb_map(const struct options *o);
int verb_verify(const struct options *o);
int verb_show(const struct options *o);
int verb_table(const struct options *o);
int verb_attach(const struct options *o);
int verb_detach(const struct options *o);
int verb_remove(const struct options *o);
int verb_status(const struct options *o);
int verb_grow(const struct options *o);
int verb_export(const struct options *o);
int verb_rescue(const struct options *o);

/* Does what o->base.verb says; takes care of the signals before. */
int verbs_run(const struct options *o);

/* The image that the options name: --image, else the default place for --name or "root", made in buf. */
const char *verb_image_path(const struct options *o, char *buf);

#endif
