/* SPDX-License-Identifier: GPL-2.0-or-later */
/* espboot - what its files share. */
#ifndef WUBI_ESPBOOT_PRIVATE_H
#define WUBI_ESPBOOT_PRIVATE_H

#include "espboot.h"

#define ESPBOOT_MADE BOOTMENU_FOLDER "/made"
#define ESPBOOT_SMALL BOOTMENU_FOLDER "/small"
#define ESPBOOT_TEMP "wubi.tmp" /* in the folder of the file that it becomes */
#define ESPBOOT_MENU_FOLDER "boot/grub"

#define ESPBOOT_RECORD_MAX (BOOTMENU_VERSION_MAX + 80)

/* ---- espboot_device.c: the partition; unit tests have another one ---- */

struct espboot_facts {
	char device[PATH_MAX];
	char partuuid[37];
	uint32_t partition;
	uint64_t start_bytes, size_bytes;
	uint32_t sector_bytes;
};

/* device NULL: by the mount. "no-partuuid": it is no partition of a disk. */
int espboot_device_facts(const char *esp, const char *device, struct espboot_facts *ret, struct err *e);
bool espboot_device_is_vfat(const char *folder);
int espboot_device_space(const char *esp, uint64_t *ret_free_bytes, uint64_t *ret_cluster_bytes, struct err *e);

/* ---- espboot_source.c: what is taken from the system ---- */

struct espboot_kernel {
	char version[BOOTMENU_VERSION_MAX];
	char vmlinuz[PATH_MAX], initrd[PATH_MAX];
	char record[ESPBOOT_RECORD_MAX]; /* of its initramfs: "VERSION SIZE TIME" */
};

/* ret_name: "shimx64.efi", and where it is. False: there is no i-th any more. */
int espboot_source_loader(const char *root, size_t i, const char **ret_name, char ret[PATH_MAX], struct err *e);
#define ESPBOOT_LOADERS 3

/* The newest of those that are older than 'below' (""; any); version "" if there is none. */
int espboot_source_kernel(const char *root, const char *below, struct espboot_kernel *ret, struct err *e);

/* That one; version "" if it has gone. */
int espboot_source_version(const char *root, const char *version, struct espboot_kernel *ret, struct err *e);
bool espboot_source_has_kernel(const char *root, const char *version);

int espboot_source_title(const char *root, char ret[256], struct err *e);
int espboot_source_cmdline(const char *root, char **ret, struct err *e); /* free() */

/* ---- espboot_plan.c ---- */

int espboot_path(const char *esp, const char *name, char ret[PATH_MAX], struct err *e);

/* What writing the files takes at most: new ones are beside the old ones of the same name; false: it is not free, or less than
 * reserve_bytes are afterwards. */
bool espboot_plan_fits(const struct espboot_plan *p, uint64_t cluster_bytes, uint64_t reserve_bytes, uint64_t *ret_needed_bytes);

/* Appends a file: source NULL and text NULL is what is there. text is taken over, also on failure. */
int espboot_plan_add(const char *esp, struct espboot_plan *p, const char *name, const char *source, char *text, struct err *e);
void espboot_plan_cut(struct espboot_plan *p, size_t count); /* drops the files from there on */
bool espboot_plan_has_files(const struct espboot_plan *p);   /* work on them, that is */
bool espboot_has_line(const char *text, const char *line);   /* text NULL: no */

int espboot_plan_full(const struct espboot_params *par, const struct espboot_plan *p, struct err *e); /* refusal "esp-full" */

/* ---- espboot_partition.c ---- */

/* Adds the menu of a system in a partition. */
int espboot_partition_add(const struct espboot_params *par, struct espboot_plan *p, struct err *e);

/* ---- espboot_copies.c ---- */

/* Adds the copies of a kernel that fit, and the menu. maps: root's. */
int espboot_copies_add(const struct espboot_params *par, const struct map *root, struct espboot_plan *p, struct err *e);

/* ---- espboot_check.c; unit tests have another one ---- */

#define ESPBOOT_LACK_MAX 768

/* ret_lack: why the initramfs 'image' would not boot the system below root; "": no such thing is known. */
int espboot_check_initrd(const char *root, const char *image, const char *version, char ret_lack[ESPBOOT_LACK_MAX],
			 struct err *e);

/* ---- espboot_surplus.c ---- */

/* check_only: only whether there is any. */
int espboot_surplus_remove(const struct espboot_params *par, const struct espboot_plan *p, bool check_only, bool *ret_any,
			   struct err *e);

/* ---- espboot_small.c ---- */

struct espboot_small {
	char folder[PATH_MAX]; /* gone with espboot_small_clear() */
	char file[PATH_MAX];
};

/* Can the system make one? */
bool espboot_small_is_possible(const char *root);
int espboot_small_make(const struct espboot_params *par, const char *version, const struct progress *progress,
		       struct espboot_small *ret, struct err *e);
void espboot_small_clear(struct espboot_small *s);

/* ---- espboot_write.c ---- */

struct espboot_work {
	const struct progress *progress;
	uint64_t done_bytes, total_bytes;
};

/* Tells, and is told to stop. */
int espboot_work_step(const struct espboot_work *w, struct err *e);

int espboot_write_file(const char *esp, const struct espboot_file *f, struct espboot_work *w, struct err *e);
int espboot_write_folder(const char *esp, const char *name, struct err *e); /* of EFI/wubi and the like; with those above it */
int espboot_sync_folder(const char *folder, struct err *e);
int espboot_sync_all(const char *esp, struct err *e);

/* Has it the content of source, or of text if source is NULL? False also if it is not there. */
int espboot_compare(const char *path, const char *source, const char *text, bool *ret_same, struct err *e);

/* The firmware's entry as it shall be. facts live as long as the result. */
struct efiboot_params;
void espboot_entry(const struct espboot_params *par, const struct espboot_facts *facts, struct efiboot_params *ret);

#endif
