/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maprefresh - on a running system: the maps that were right enough to boot from are made right again.
 *
 * Boot follows an image that was moved, each time anew. This writes what it found into the map in /etc/wubi/maps, has the
 * initramfs built with it, and then writes the copy on the EFI system partition. Never the copy on the Windows volume: Linux does
 * not write NTFS while it runs.
 *
 * A file in the state folder is there from before the first map is written until the initramfs is built: a run that was cut short
 * is completed by the next.
 */
#ifndef WUBI_MAPREFRESH_H
#define WUBI_MAPREFRESH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "map.h"
#include "verify.h"

#define MAPREFRESH_STATE_DEFAULT "/var/lib/wubi"

struct maprefresh_params {
	const char *maps;  /* folder of the maps */
	const char *state; /* folder for the mark of an unfinished run; made if it is not there */
	const char *esp;   /* the EFI system partition's mount point; NULL: /boot/efi, /efi or /boot, if EFI/wubi is there */
};

enum maprefresh_action {
	MAPREFRESH_KEEP,   /* it is right, or not in use */
	MAPREFRESH_WRITE,  /* a new generation */
	MAPREFRESH_REFUSE, /* it is not right, and nothing that is seen may be made the map */
};

struct maprefresh_item {
	char path[PATH_MAX];      /* the map file */
	char name[32];            /* "" when it could not be read */
	enum maprefresh_action action;
	char reason[ERR_REASON_MAX]; /* of a refusal */
	char text[400];           /* what was seen, and what to do about it */
	bool active;              /* its device is attached */
	struct map *map;          /* as it shall be; NULL when it could not be read */
	bool esp_stale;           /* the copy on the EFI system partition shall be written */
};

struct maprefresh_plan { /* zero-initialised is empty; release with maprefresh_plan_clear() */
	struct maprefresh_item *items;
	size_t count;
	bool unfinished;          /* an earlier run did not get as far as the initramfs */
	char esp[PATH_MAX];       /* its folder EFI/wubi, "" none */
};

/*
 * Looks at everything and writes nothing. A map that cannot be judged because of an I/O error, or because a driver has the volume
 * mounted for writing, is a failure of the whole.
 */
int maprefresh_plan(const struct maprefresh_params *par, struct maprefresh_plan *ret, struct err *e);
void maprefresh_plan_clear(struct maprefresh_plan *p);

bool maprefresh_has_work(const struct maprefresh_plan *p);
bool maprefresh_needs_initramfs(const struct maprefresh_plan *p);

/*
 * Does it: maps, initramfs, copies on the EFI system partition. The items that are refused are left alone. An error says what is
 * done already, and a second run does the rest.
 */
int maprefresh_run(const struct maprefresh_params *par, const struct maprefresh_plan *p, struct err *e);

/* The first refusal among the items; 0 if there is none. */
int maprefresh_refusal(const struct maprefresh_plan *p, struct err *e);

/*
 * What one map shall become, from what was seen. Pure. seen: of the volume; active: the table that is in use; host: the
 * partition's facts now. Completes action, reason and text of *item, whose map is a copy of the old one, and changes that map.
 */
int maprefresh_decide(const struct verify_result *seen, const struct extent_list *active, const struct map_host *host,
		      struct maprefresh_item *item, struct err *e);

static inline void auto_maprefresh_plan(struct maprefresh_plan *p)
{
	maprefresh_plan_clear(p);
}

#endif
