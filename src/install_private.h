/* SPDX-License-Identifier: GPL-2.0-or-later */
/* install_private - what the files of install share. */
#ifndef WUBI_INSTALL_PRIVATE_H
#define WUBI_INSTALL_PRIVATE_H

#include "efiboot.h"
#include "espboot.h"
#include "ext4fmt.h"
#include "install.h"
#include "map.h"
#include "profctl.h"
#include "target.h"

#define INSTALL_TARGET INSTALL_WORK "/target" /* the image root's mount point */
#define INSTALL_ESP INSTALL_WORK "/esp"
#define INSTALL_HOME_FOLDER INSTALL_TARGET "/home"
#define INSTALL_APT INSTALL_WORK "/apt"
#define INSTALL_SOURCE INSTALL_WORK "/source"
#define INSTALL_SPARE INSTALL_WORK "/spare"   /* for a smaller initramfs */

/* The images that are attached, and what is mounted of them. Zero-initialised is nothing. */
struct install_mounts {
	struct map *maps[INSTALL_IMAGES]; /* owned; NULL: no such image */
	bool is_attached[INSTALL_IMAGES];
	bool root_mounted, home_mounted;
};

extern const char *const install_image_names[INSTALL_IMAGES]; /* "root", "home", "swap" */

/* Tells the user what begins; -ECANCELED when he has had enough. */
int install_begin(const struct install_host *h, const char *text, struct err *e);

/* INSTALL_WORK and the lock on it. *ret_fd: close() lets the next run in. Refusal "running". */
int install_work_open(int *ret_fd, struct err *e);
int install_work_folder(const char *path, struct err *e); /* mkdir -p below it */
void install_work_close(int fd);                          /* removes what is no mount point any more */

/*
 * The volume and the EFI system partition that conf names, from a scan. A mounted volume is unmounted if conf says so, and
 * scanned again. needs_esp: without one is a refusal. Refusals as volumes_choose() and volumes_esp(); "mounted".
 */
int install_choose(const struct install_params *par, uint64_t needed_bytes, struct volumes *v,
		   const struct volumes_row **ret_volume, const struct volumes_row **ret_esp, struct err *e);

/*
 * Mounts it at INSTALL_ESP, for writing or not; and back. A second unmount does nothing. For writing, and with files of ours on
 * it, it is checked by fsck.fat first, which mends what a power cut has left. Refusal "mounted".
 */
int install_esp_mount(const struct volumes_row *esp, bool writable, struct err *e);
int install_esp_unmount(struct err *e);

/* Is there an image root, is it complete, does the firmware start it? */
int install_state_of(const struct volumes_row *volume, const struct volumes_row *esp, enum install_state *ret, struct err *e);

/* Is there an image of that name, and what is the label of what is in it? "": none. */
int install_label_of(const struct volumes_row *volume, enum install_image i, bool *ret_exists, char ret[EXT4FMT_LABEL_MAX + 1],
		     struct err *e);

/* INSTALL_ESP is mounted. Does it start a system in a partition, one that has moved out of its image? */
int install_esp_moved_out(bool *ret, struct err *e);

/* As above: is what is there of ours another volume's, or of a system in a partition? And how much is it? */
int install_esp_is_others(const struct volumes_row *volume, bool *ret, struct err *e);
uint64_t install_esp_own_bytes(void);

/* Attaches the images whose maps there are. */
int install_attach(const struct volumes_row *volume, struct install_mounts *m, struct err *e);

/* Attaches them, if they are not, and mounts root and home (if there is one). readonly: root alone. */
int install_mount(const struct volumes_row *volume, struct install_mounts *m, bool readonly, struct err *e);

/* syncfs, unmounts, detaches; goes on after a failure, the first one is told. */
int install_unmount(struct install_mounts *m, struct err *e);
int install_sync_and_unmount(const char *folder, struct err *e); /* nothing is mounted there: does nothing */
void install_mounts_clear(struct install_mounts *m); /* unmounts as well as it can, frees the maps */

/* "wubi-NAME" becomes the label of an image that is attached and not mounted. */
int install_set_label(const struct install_mounts *m, enum install_image i, struct err *e);

/* install_repair() with par->root; the work folder is open. */
int install_repair_root(const struct install_params *par, const struct install_host *h, struct install_repaired *ret,
			struct err *e);

/* For a complete system that the firmware does not start: what is left to do. */
int install_finish(const struct install_params *par, struct install_plan *p, const struct install_host *h, uint16_t *ret_number,
		   struct err *e);

/*
 * Root is attached, complete and not mounted; the EFI system partition is mounted for writing. Mounts root read-only, makes
 * menu and firmware entry, unmounts it.
 */
int install_boot_entry(const struct volumes_row *volume, const struct volumes_row *esp, struct install_mounts *m,
		       const struct espboot_params *how, struct report *notes, uint16_t *ret_number, struct err *e);

/* What is planned for the EFI system partition is done: files, menu, entry. notes: of the plan. */
int install_make_entry(const struct volumes_row *esp, const struct espboot_params *par, struct report *notes,
		       uint16_t *ret_number, struct err *e);

/* Has the firmware an entry that starts ours from there? Without UEFI: no. ret_number: NULL, or set where there is one. */
int install_entry_of(const struct volumes_row *esp, bool *ret_exists, uint16_t *ret_number, struct err *e);

/*
 * Everything but menu and entry: files that nothing reads yet. Root is mounted, and its programs can be run, for a smaller
 * initramfs where the whole one does not fit; so is the EFI system partition, for writing.
 */
int install_esp_fill(const struct install_host *h, const struct volumes_row *esp, const struct install_mounts *m, struct err *e);

/* How espboot is asked for this system; maps has room for INSTALL_IMAGES. */
void install_esp_params(const struct volumes_row *esp, const struct install_mounts *m, const struct map **maps,
			struct espboot_params *ret);

#endif
