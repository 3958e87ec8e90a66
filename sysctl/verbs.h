/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verbs - what wubi-profile does. Each prints, and returns the exit status. */
#ifndef WUBI_PROFILE_VERBS_H
#define WUBI_PROFILE_VERBS_H

#include "options.h"
#include "profctl.h"

int verb_list(const struct options *o);
int verb_show(const struct options *o);
int verb_set(const struct options *o);
int verb_reset(const struct options *o);
int verb_apply(const struct options *o);
int verb_status(const struct options *o);
int verb_measure(const struct options *o);
int verb_run(const struct options *o); /* the command's own status, see wubi-profile(8) */

/* Does what o->base.verb says; takes care of the signals before. */
int verbs_run(const struct options *o);

/* What profctl is to work on, by the options; it borrows from them. */
struct profctl_params verb_params(const struct options *o);

#endif
