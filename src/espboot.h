/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * espboot - what of ours is on the EFI system partition, and the firmware's entry that starts it: made, kept right, removed.
 *
 *	EFI/wubi/grubx64.efi        gcdx64.efi.signed: it reads /boot/grub/grub.cfg whatever else is on the partition
 *	EFI/wubi/mmx64.efi          the MokManager; /usr/lib/shim/mmx64.efi.signed, or mmx64.efi
 *	EFI/wubi/shimx64.efi        Microsoft signed; from /usr/lib/shim/shimx64.efi.signed of the system
 *	EFI/wubi/vmlinuz-VERSION, initrd.img-VERSION   of the newest kernel, for when the image was moved; if they fit
 *	EFI/wubi/small              what the initramfs there is a smaller one of, or that a smaller one does not fit either
 *	EFI/wubi/NAME.map           copies of the maps
 *	EFI/wubi/made               the folders that were made for all this, a line each, so that removal leaves what was there
 *	boot/grub/grub.cfg          bootmenu.h; one that is not ours is never replaced (refusal "foreign-menu")
 *
 * A system that has moved out into a partition (partition_uuid) needs no copies there, nor a map of root: only loaders, the
 * maps of the other images, and the menu.
 *
 * Each file: written under another name, fsync, compared, rename, fsync of the folder; one that is right already is not
 * touched. New files first, in this order, then the menu that names them, then what no menu names is deleted, last the firmware's
 * entry. So a cut leaves the old menu with all it needs, or the new one. Copies of a new kernel that do not fit beside the old
 * ones leave those in place as long as the system has their kernel.
 */
#ifndef WUBI_ESPBOOT_H
#define WUBI_ESPBOOT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bootmenu.h"
#include "err.h"
#include "map.h"
#include "progress.h"
#include "report.h"

#define ESPBOOT_LOADER "\\EFI\\wubi\\shimx64.efi"
#define ESPBOOT_LABEL "wubi"
#define ESPBOOT_RESERVE_BYTES (8u << 20) /* of the partition stay free: Windows updates its own files there */

enum espboot_order {
	ESPBOOT_KEEP,  /* the entry's place stays; a new one comes last */
	ESPBOOT_LAST,
	ESPBOOT_FIRST,
};

struct espboot_params {
	const char *root;        /* the system: "" the running one, else where it is mounted */
	const char *esp;         /* where the EFI system partition is mounted */
	const char *esp_device;  /* its node; NULL: found by the mount */
	const struct map *const *maps; /* all of the system, root's among them */
	size_t map_count;
	const char *partition_uuid; /* of the file system in a partition that the system has moved out to; NULL: in an image */
	bool firmware;           /* keep the firmware's entry, too */
	enum espboot_order order;
	bool start_next;         /* BootNext is set to it */
	bool is_complete;        /* false: files only, no menu and no entry yet */
	const char *work;        /* folder for a smaller initramfs, of another root one in there is taken; NULL: none is tried */
};

struct espboot_file {
	char name[256];          /* on the partition, "EFI/wubi/shimx64.efi" */
	char source[PATH_MAX];   /* "": its text is made by us, or it is what is there, or is_small */
	char *text;              /* what is made by us; NULL: none */
	bool is_small;           /* an initramfs with MODULES=dep: made by espboot_update(), if it is not right */
	uint64_t bytes;          /* 0 for one that has to be made */
	uint64_t old_bytes;      /* of what is there now by this name */
	bool is_right;           /* it is there with the same content */
};

#define ESPBOOT_FILES_MAX 32
struct espboot_plan { /* release with espboot_plan_clear() */
	struct espboot_file files[ESPBOOT_FILES_MAX]; /* in the order of writing */
	size_t file_count;
	char *menu;              /* the text of the menu */
	char kernel[BOOTMENU_VERSION_MAX]; /* of the copies; "": they do not fit, or there is none */
	bool copies_fit;
	bool small_initramfs;    /* the copy has to be made with MODULES=dep to fit */
	uint64_t free_bytes;
	uint64_t needed_bytes;   /* at the time when new files are beside old ones */
	bool entry_is_right;
	bool has_surplus;        /* old kernel copies, or what a killed run left */
	struct report notes;     /* "no-copies": what that means, and others */
};

/*
 * Looks, writes nothing. Notes: "no-copies", "old-copies" (those of an older kernel or initramfs stay, the newer do not fit
 * beside), "bad-initramfs" (one that would not boot is passed over: that of the next older kernel is copied, or the old copies
 * stay). Refusals: "foreign-menu"; "no-loader" (the system has no signed shim or GRUB: names the packages);
 * "esp-full" (without the kernel copies it does not fit either); "no-esp" (esp is no vfat mount); "no-partuuid".
 */
int espboot_plan(const struct espboot_params *par, struct espboot_plan *ret, struct err *e);
void espboot_plan_clear(struct espboot_plan *p);
bool espboot_has_work(const struct espboot_plan *p);

/* Does it, and looks again, and does what is possible then. A second run has nothing to do. */
int espboot_update(const struct espboot_params *par, const struct espboot_plan *p, const struct progress *progress,
		   struct err *e);

/*
 * Removes exactly what is ours, entry first. check_only: says what there is (*ret_count files) and does nothing. esp_device as
 * above. A menu that is not ours stays.
 */
int espboot_remove(const char *esp, const char *esp_device, bool check_only, size_t *ret_count, struct err *e);

/* Where the EFI system partition of this system is mounted: /boot/efi, /efi or /boot, below root. -ENOENT. */
int espboot_find(const char *root, char ret[PATH_MAX], struct err *e);

#endif
