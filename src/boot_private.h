/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boot_private - what the boot_*.c files share. */
#ifndef WUBI_BOOT_PRIVATE_H
#define WUBI_BOOT_PRIVATE_H

#include "boot.h"

/* printf to the caller's say function. */
void boot_say(const struct boot_params *par, enum boot_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* An entry, or NULL, told, when there are too many; the last place is kept for what root needs. */
struct boot_map *boot_add(const struct boot_params *par, struct boot_result *r, const char *name, bool needed);

/* Replaces the verdict: what was seen, and what to do. */
void boot_set_verdict(struct boot_map *m, enum verdict v, const char *what, const char *remedy);

/* All maps of the folder, or the one that wubi.map= names, and which of them root needs. A bad one is an entry, too. */
int boot_load_maps(const struct boot_params *par, struct boot_result *r, struct err *e);

/* For loop= without a map: when the volume that root= names is among the seen, derives the map and adds it. */
int boot_derive_map(const struct boot_params *par, struct boot_result *r, struct err *e);

/* Does loop= still wait for its volume? */
bool boot_wants_loop(const struct boot_params *par, const struct boot_result *r);

/* Looks until each map's host is there, or the time is over. The verdicts are in *r then. */
int boot_wait(const struct boot_params *par, struct boot_result *r, struct err *e);

/* May an unsettled volume be attached from? Only when its runs can be compared with a map that was made before. */
static inline bool boot_allows_unsettled(const struct boot_params *par, const struct boot_map *m)
{
	return par->args->allow_unsettled && !m->derived;
}

/* Verifies each map on each candidate among the seen, and chooses. */
int boot_decide(struct boot_result *r, struct err *e);

#endif
