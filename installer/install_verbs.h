/* SPDX-License-Identifier: GPL-2.0-or-later */
/* install_verbs - what wubi-install does for its options: list, remove, repair, or install. */
#ifndef WUBI_INSTALL_VERBS_H
#define WUBI_INSTALL_VERBS_H

#include "install.h"
#include "install_options.h"

/* The work; returns the exit status. */
int install_verbs_run(const struct install_options *o);

/* ---- parts, a file each ---- */

/* install_ask.c: on a terminal, what was not given and has to be known. -ECANCELED: the user does not want to. */
int install_ask_volume(struct conf_install *c, struct err *e);
int install_ask_user(struct conf_install *c, struct err *e);
int install_ask_size(const struct install_plan *p, struct conf_install *c, struct err *e);

/* "Type 'yes' to WHAT". -ECANCELED: he did not. */
int install_ask_yes(const char *what, struct err *e);

/* install_show.c */
void install_show_plan(const struct install_params *par, const struct install_plan *p);
struct jsonout *install_show_plan_json(const struct install_params *par, const struct install_plan *p, const char *status);
void install_show_notes(const struct report *notes);
int install_show_removed(const struct install_options *o, const struct install_removed *r, bool done);
int install_show_repaired(const struct install_options *o, const struct install_repaired *r);
int install_show_done(const struct install_options *o, const struct install_params *par, const struct install_plan *p,
		      uint16_t number);

#endif
