/* SPDX-License-Identifier: GPL-2.0-or-later */
/* maprefresh_private - what the maprefresh*.c files share. */
#ifndef WUBI_MAPREFRESH_PRIVATE_H
#define WUBI_MAPREFRESH_PRIVATE_H

#include "maprefresh.h"

/* ---- maprefresh_run.c ---- */

/* Path of an item's copy on the EFI system partition. */
int maprefresh_esp_file(const struct maprefresh_plan *p, const struct maprefresh_item *item, char ret[PATH_MAX], struct err *e);

/* ---- maprefresh_mark.c ---- */

/* The mark's path in the state folder. */
int maprefresh_mark_path(const struct maprefresh_params *par, char ret[PATH_MAX], struct err *e);

/* False: there is none. One that cannot be read has no tries. */
bool maprefresh_mark_read(const char *mark, unsigned *ret_tries);

/* Is a map, or the folder of maps, images or modules, newer than the mark? Then what failed may succeed now. */
bool maprefresh_mark_is_old(const struct maprefresh_params *par, const struct maprefresh_plan *p, const char *mark);

/* On disk when it returns; made now. */
int maprefresh_mark_set(const struct maprefresh_params *par, const char *mark, unsigned tries, struct err *e);

int maprefresh_mark_remove(const struct maprefresh_params *par, const char *mark, struct err *e);

#endif
