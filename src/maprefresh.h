/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maprefresh - on a running system: the maps that were right enough to boot from are made right again.
 *
 * Boot follows an image that was moved, each time anew. This writes what it found into the map in /etc/wubi/maps, has the
 * initramfs built with it, and then writes the copy on the EFI system partition. Never the copy on the Windows volume: Linux does
 * not write NTFS while it runs.
 *
 * A file in the state folder is there from before the first map is written until every initramfs is built and was looked at: a
 * run that was cut short is completed by the next. It counts the tries, because each boot would build anew for ever what cannot
 * be built.
 */
#ifndef WUBI_MAPREFRESH_H
#define WUBI_MAPREFRESH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "map.h"
#include "verify.h"

#define MAPREFRESH_STATE_DEFAULT "/var/lib/wubi"
#define MAPREFRESH_TRIES 3 /* of the unit */

struct maprefresh_params {
	const char *maps;  /* folder of the maps */
	const char *state; /* folder for the mark of an unfinished run; made if it is not there */
	const char *esp;   /* the EFI system partition's mount point; NULL: /boot/efi, /efi or /boot, if EFI/wubi is there */
	const char *boot;      /* folder of the initramfs images */
	const char *modules;   /* folder of the kernels' modules */
	const char *dpkg_lock; /* dpkg's frontend lock */
	unsigned lock_timeout_s;
	bool by_unit;          /* nobody asked for it: after MAPREFRESH_TRIES failures the initramfs is not built again */
	void (*tell)(void *ctx, const char *text); /* NULL, or takes a line about what is waited for */
	bool (*interrupted)(void *ctx);            /* NULL: never. Asked between two kernels */
	void *ctx;
};

enum maprefresh_action {
	MAPREFRESH_KEEP,   /* it is right, or not in use */
	MAPREFRESH_WRITE,  /* a new generation */
	MAPREFRESH_REFUSE, /* it is not right, and nothing that is seen may be made the map */
	MAPREFRESH_FAIL,   /* it could not be told */
};

struct maprefresh_item {
	char path[PATH_MAX];      /* the map file */
	char name[32];            /* "" when it could not be read */
	enum maprefresh_action action;
	char reason[ERR_REASON_MAX]; /* of a refusal */
	char text[400];           /* what was seen, and what to do about it */
	bool active;              /* its device is attached */
	enum verdict verdict;     /* of the map as it is; VERDICT_UNKNOWN: not attached, or it could not be told */
	uint64_t generation;      /* of the map as it is; 0: it could not be read */
	char volume[256];         /* the partition that it is attached on; "" */
	struct map *map;          /* as it shall be; NULL when it could not be read */
	bool esp_stale;           /* the copy on the EFI system partition shall be written */
};

struct maprefresh_plan { /* zero-initialised is empty; release with maprefresh_plan_clear() */
	struct maprefresh_item *items;
	size_t count;
	bool unfinished;          /* an earlier run did not get as far as the initramfs */
	unsigned tries;           /* of building it, in earlier runs */
	bool given_up;            /* they were enough, and nothing has changed since */
	char esp[PATH_MAX];       /* its folder EFI/wubi, "" none */
};

/*
 * Looks at everything and writes nothing. A map that cannot be judged because of an I/O error, or because a driver has the volume
 * mounted for writing, is that item's failure: the others go on.
 */
int maprefresh_plan(const struct maprefresh_params *par, struct maprefresh_plan *ret, struct err *e);
void maprefresh_plan_clear(struct maprefresh_plan *p);

bool maprefresh_has_work(const struct maprefresh_plan *p);
bool maprefresh_needs_initramfs(const struct maprefresh_plan *p);

/*
 * Does it: maps, initramfs, copies on the EFI system partition. The items that are refused or have failed are left alone. Keeps
 * dpkg away while it writes maps and builds; -EAGAIN: dpkg was busy all the time. -EBUSY: given up. An error says what is done
 * already, and a second run does the rest.
 */
int maprefresh_run(const struct maprefresh_params *par, const struct maprefresh_plan *p, struct err *e);

/* The first refusal among the items; 0 if there is none. */
int maprefresh_refusal(const struct maprefresh_plan *p, struct err *e);

/* The first failure among the items; 0 if there is none. */
int maprefresh_failure(const struct maprefresh_plan *p, struct err *e);

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
