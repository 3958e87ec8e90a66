/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * target - makes a copied live system, mounted at a folder, one that boots from its image and is somebody's own. Each step can be
 * made again. Nothing of the running system is changed, whatever links lie in the target (textfile_resolve()).
 */
#ifndef WUBI_TARGET_H
#define WUBI_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "auto.h"
#include "debpool.h"
#include "err.h"
#include "map.h"
#include "report.h"

struct target_settings { /* "" or NULL: as the copied system has it */
	const char *hostname, *user, *full_name, *password_hash;
	const char *locale, *time_zone, *keyboard;
	bool clock_utc;          /* else local time, as Windows has it */
	const char *profile_normal, *profile_iso_copy;
	const char *command;     /* for a shell in the target, at the end */
	const char *esp_partuuid; /* for fstab: PARTUUID=... /boot/efi vfat */
	const struct map *const *maps; /* root, and home and swap where there are: fstab and /etc/wubi/maps */
	size_t map_count;
	const char *kernel;      /* a file to become the /boot/vmlinuz-VERSION that the copy lacks; "" none */
};

/*
 * Would the settings be refused, by the system as it is on the medium? Before anything is copied. tree: read-only is fine;
 * nothing is run. Refusals "locale", "time-zone", "user", into the report.
 */
int target_check(const char *tree, const struct target_settings *s, struct report *report, struct err *e);

/* In the environment of all that is run in a target: our own hooks there do nothing, for the installer does it itself. */
#define TARGET_VARIABLE "WUBI_INSTALL"

/* The target with /dev, /proc, /sys and /run of its own in it, so that programs of it can be run. */
struct target;

/* policy-rc.d keeps services from being started. *ret: target_leave(), or target_free() on the way out of an error. */
int target_enter(const char *root, bool (*interrupted)(void *ctx), void *ctx, struct target **ret, struct err *e);
int target_leave(struct target *t, struct err *e); /* unmounts, takes policy-rc.d away; t is not freed */
void target_free(struct target *t);                /* of one that was not left: leaves it as well as it can. NULL is fine */
DEFINE_AUTO(target, struct target *, target_free);

/* Ends what still runs with this folder as its root: programs of a run that was killed. */
void target_end_programs(const char *root);

/* Runs a program of the target in it; its output goes to standard error. arguments[0] is looked for in the target's PATH. */
int target_run(struct target *t, const char *const *arguments, struct err *e);

/*
 * For a system that was copied out of its image into a partition, with an ext4 of this UUID. Is the one below tree, mounted there
 * and not entered, such a one, moved out already or not? Reads only. Then, in a target: root by the UUID in fstab, GRUB's
 * settings, and no map of root; the maps of home and swap stay. target_kernels() has to come after it.
 */
int target_moved_look(const char *tree, const char *fs_uuid, bool *ret_is_ours, struct err *e);
int target_move_out(struct target *t, const char *fs_uuid, struct err *e);

/* The steps, in this order. */
int target_packages(struct target *t, const struct debpool *debs, struct err *e); /* dpkg, all at once, without a network */

/* live-boot, live-config, casper, installers, with their folders. One on which another package depends stays: no failure. */
int target_purge_live(struct target *t, struct err *e);

/*
 * fstab, maps, hostname, hosts, machine-id, clock, locale, time zone, keyboard, SSH host keys, unsafe dpkg settings, GRUB's;
 * the medium is no source of apt's any more.
 * keyboard: "de", "de:nodeadkeys" or "de(nodeadkeys)". Refusals: "locale", "time-zone" (the system does not know it).
 */
int target_files(struct target *t, const struct target_settings *s, struct err *e);

/*
 * Lines in fstab for those of the maps that have none: images that were added to a system. They are mounted in the target. A home
 * without a file in it gets no line but a note, "empty-home": it would hide the files that are in /home.
 */
int target_add_fstab(struct target *t, const struct map *const *maps, size_t count, struct report *notes, struct err *e);

/* Refusal "user": it is one of the system itself. A user that is there already is changed. */
int target_user(struct target *t, const struct target_settings *s, struct err *e);

/*
 * An initramfs for each kernel, looked at by initrdcheck (-EBADMSG: it lacks something): until it is whole, the old one is kept,
 * and put back after a failure, the first of which is returned when all were tried; grub.cfg by update-grub, where it is.
 * Refusals: "no-kernel", "no-initramfs" (nothing that builds one).
 */
int target_kernels(struct target *t, const struct target_settings *s, struct err *e);

/* profctl_set() with this root, and update-grub again if that changed the kernel's command line. */
int target_profile(struct target *t, const struct target_settings *s, struct err *e);
int target_command(struct target *t, const struct target_settings *s, struct err *e);

#endif
