/* SPDX-License-Identifier: GPL-2.0-or-later */
/* initrdneed - does the initramfs of this system have to be able to attach an image? Reads only. */
#ifndef WUBI_INITRDNEED_H
#define WUBI_INITRDNEED_H

#include <stdbool.h>

#include "err.h"
#include "map.h"

#define INITRDNEED_ROOTS_MAX 2 /* of this boot, and of fstab */

/* Where it is looked for; all borrowed. INITRDNEED_SYSTEM is the running system. */
struct initrdneed_system {
	const char *maps;        /* folder of the maps */
	const char *root;        /* a path on the root file system */
	const char *fstab;
	const char *cmdlines[2]; /* files with a kernel command line: of now, of later boots */
};

#define INITRDNEED_SYSTEM { "/etc/wubi/maps", "/", "/etc/fstab", { "/proc/cmdline", "/etc/kernel/cmdline" } }

/* What root is on, and so the map without which nothing boots. */
struct initrdneed_root {
	char name[32];          /* of the map: /dev/mapper/wubi-NAME */
	char id[MAP_UUID_TEXT]; /* its map_id; "": any */
};

struct initrdneed {
	bool needed;
	bool goes_without_map; /* an old Wubi disk: the kernel command line's loop= says where the image is */
	char why[512];         /* for people */
	struct initrdneed_root roots[INITRDNEED_ROOTS_MAX];
	size_t root_count;
};

/*
 * Yes when there is a map, readable or not; when root is on a device of ours (WUBI-), or fstab says so; when a command line's
 * root= and loop= name an old Wubi disk. What is not there says nothing: a chroot has no /sys. Error: something is there and
 * cannot be read.
 */
int initrdneed_look(const struct initrdneed_system *s, struct initrdneed *ret, struct err *e);

#endif
