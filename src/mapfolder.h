/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mapfolder - all the maps of a folder, such as /etc/wubi/maps. Reads only. */
#ifndef WUBI_MAPFOLDER_H
#define WUBI_MAPFOLDER_H

#include <limits.h>
#include <stddef.h>

#include "err.h"
#include "map.h"

#define MAPFOLDER_DEFAULT "/etc/wubi/maps"

struct mapfolder_item {
	char path[PATH_MAX];
	struct map *map;    /* NULL: it could not be had, for the reason in 'problem' */
	struct err problem;
};

struct mapfolder { /* zero-initialised is empty; release with mapfolder_clear() */
	struct mapfolder_item *items;
	size_t count;
};

/*
 * Reads each file NAME.map, in the order of the names. A map that cannot be read or trusted is an item without a map. A folder
 * that is not there has none. *ret is overwritten, on success only. -ENOMEM, and errors of the folder.
 */
int mapfolder_read(const char *folder, struct mapfolder *ret, struct err *e);
void mapfolder_clear(struct mapfolder *f);

static inline void auto_mapfolder(struct mapfolder *f)
{
	mapfolder_clear(f);
}

#endif
