/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boot_system - what wubi-boot has to know about the running system: is it in an image, by which maps, and where is its ESP? */
#ifndef WUBI_BOOT_SYSTEM_H
#define WUBI_BOOT_SYSTEM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "map.h"
#include "mapfolder.h"

#define BOOT_STATE_DEFAULT "/var/lib/wubi"
#define BOOT_RUN "/run/wubi"

struct boot_system { /* zero-initialised is empty; release with boot_system_clear() */
	struct mapfolder folder;
	const struct map **maps; /* those of the folder that can be read, root's among them */
	size_t map_count;
	const struct map *root;
	const char *bad_map;     /* the first that cannot be read, and why; NULL: none */
	char esp[PATH_MAX];
};

/*
 * esp: NULL, it is looked for. Refusals that say that there is nothing to do here: "no-map", "not-in-image", "no-esp"; and
 * "other-map": the map is not of the image that is running.
 */
int boot_system_look(const char *maps, const char *esp, struct boot_system *ret, struct err *e);
void boot_system_clear(struct boot_system *s);

/* Is the refusal one of those by which this is no machine for us? */
bool boot_system_is_none(const struct err *e);

/* One run at a time; waits for another. *ret_fd: given back by close(), and by the end of the process. */
int boot_system_lock(int *ret_fd, struct err *e);

static inline void auto_boot_system(struct boot_system *s)
{
	boot_system_clear(s);
}

#endif
