/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bootsystem - what there is to know about the running system before what starts it is looked at: is it in an image, by which
 * maps, where is its ESP, and was there a run of wubi-boot that failed? For wubi-boot, and for whoever asks how it stands.
 */
#ifndef WUBI_BOOTSYSTEM_H
#define WUBI_BOOTSYSTEM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "espboot.h"
#include "map.h"
#include "mapfolder.h"

#define BOOTSYSTEM_STATE_DEFAULT "/var/lib/wubi"
#define BOOTSYSTEM_RUN "/run/wubi"
#define BOOTSYSTEM_PENDING "boot.pending" /* in the state folder: the reason why a run failed */

struct bootsystem { /* zero-initialised is empty; release with bootsystem_clear() */
	struct mapfolder folder;
	const struct map **maps; /* those of the folder that can be read, root's among them */
	size_t map_count;
	const struct map *root;
	const char *bad_map;     /* the first that cannot be read, and why; NULL: none */
	char esp[PATH_MAX];
};

/*
 * esp: NULL, it is looked for. Refusals that say that there is nothing to do here: "no-map", "not-in-image", "no-esp"; and
 * "other-map": the map is not of the image that is running. -EINVAL: root's map may be the one that cannot be read. On a
 * refusal or failure *ret has what was seen until then: it is cleared in any case.
 */
int bootsystem_look(const char *maps, const char *esp, struct bootsystem *ret, struct err *e);
void bootsystem_clear(struct bootsystem *s);

/* Is the refusal one of those by which this is no machine for us? */
bool bootsystem_is_none(const struct err *e);

/* What wubi-boot keeps right in this system; order, start_next are the caller's. s lives as long as the result. */
struct espboot_params bootsystem_params(const struct bootsystem *s);

/* Path of what a failed run of wubi-boot leaves in the state folder. -ENAMETOOLONG. */
int bootsystem_pending_path(const char *state, char ret[PATH_MAX], struct err *e);

/* Its first line, free(); NULL: none, or it cannot be read. */
char *bootsystem_pending(const char *state);

/* One run at a time; waits for another. *ret_fd: given back by close(), and by the end of the process. */
int bootsystem_lock(int *ret_fd, struct err *e);

static inline void auto_bootsystem(struct bootsystem *s)
{
	bootsystem_clear(s);
}

#endif
