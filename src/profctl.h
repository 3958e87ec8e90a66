/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profctl - choosing durability profiles: set, reset, what is in force and why, and a phase with a profile of its own while a
 * command runs. For wubi-profile and the installer.
 *
 * Files, below 'root' ("" for the running system):
 *	/etc/wubi/wubi.conf              the profiles (conf.h); never written
 *	/etc/wubi/profile.conf           the choice
 *	/etc/sysctl.d/90-wubi.conf       the knobs of the normal profile, for every boot
 *	/etc/default/grub.d/wubi.cfg     rootflags= for options that no remount takes; not there when there are none
 *	/var/lib/wubi/saved.json         what was in force before the first set
 *	/var/lib/wubi/grub.pending       there while update-grub is due
 *	/var/lib/wubi/speed.json         the disk's speed, from 'measure' or the first set that needed it
 *	/run/wubi/phase.json             a phase that runs: who, and what to go back to
 *	/run/wubi/profile.lock           held while something is changed
 */
#ifndef WUBI_PROFCTL_H
#define WUBI_PROFCTL_H

#include <stdbool.h>
#include <sys/types.h>

#include "conf.h"
#include "err.h"
#include "profset.h"
#include "report.h"

struct profctl_params {
	const char *root;      /* "": the running system; else another's folder: only files are written, nothing is applied */
	const char *conf;      /* NULL: CONF_DEFAULT below root */
	bool check_only;       /* look, write nothing */
};

struct profctl_result {
	const char *profile;           /* borrowed from .conf; NULL: none */
	struct conf conf;
	struct profile_knobs knobs;
	struct profset now;            /* what is in force afterwards, or with check_only now; empty with a root */
	struct report notes;           /* what was left out and why: "not-an-image" and others */
	bool changed;
};

/*
 * PROFILE_NORMAL: saves what is in force (if nothing is saved yet), applies, then writes the files: in force or in no file.
 * At a failure everything is as before. PROFILE_ISO_COPY: records the choice; knobs and now are empty then. Refusals:
 * "phase-running", "no-profile" (the text lists those there are), "busy", "conf-elsewhere" (the default file has no such profile,
 * and only the name is kept). -EACCES, -EROFS: no right to, nothing was done. -ENODATA: it goes by the speed of a disk, and there
 * is none. Runs update-grub when the rootflags changed, or it is due. Notes: "not-an-image", "first-mount-only", "after-reboot",
 * "no-update-grub", "not-at-boot", "later-file". What a killed run left is put right first.
 */
int profctl_set(const struct profctl_params *par, const char *name, enum profile_phase phase, struct profctl_result *ret,
		struct err *e);

/*
 * What was in force before the first set, mixed pairs too; our files are removed. Also ends what a killed run left. Nothing
 * saved: nothing to do, changed is false; files of a profile without it, of a system that was set up in a folder, are removed
 * (note "nothing-saved"). Needs no configuration: conf is empty.
 */
int profctl_reset(const struct profctl_params *par, struct profctl_result *ret, struct err *e);

/*
 * At boot: the chosen normal profile's mount options and knobs; the knobs' file is brought up to date. Nothing chosen: does
 * nothing, but completes a set or reset that was cut short. A knob that a later file of sysctl.d sets stays as it is (note
 * "later-file"). Runs no update-grub (note "grub-pending"). Only on the running system.
 */
int profctl_apply(const struct profctl_params *par, struct profctl_result *ret, struct err *e);

/* Note "not-an-image": a profile has mount options, and '/' is not in an image of ours. For set, and for status. */
void profctl_note_images(const struct profile *p, const struct profset *now, struct report *notes);

struct profctl_difference {
	char what[64];         /* "vm.dirty_bytes", "mount /" */
	char wanted[128], seen[128];
	char who[PATH_MAX + 64]; /* the file (with line) or program that wins, as far as it can be told; "" */
};

#define PROFCTL_DIFFERENCES_MAX 32
struct profctl_status {
	struct conf conf;
	struct conf_choice choice;               /* "" where the default counts */
	const struct profile *expected;          /* what should be in force: the running phase's or the normal one's; in conf */
	bool is_chosen;                          /* false: nobody has set one */
	bool phase_runs;
	bool phase_is_stale;                     /* a run was killed: its profile may still be in force */
	pid_t phase_pid;
	struct profset now;
	struct profile_machine machine;
	struct profile_window window;            /* of what is in force */
	bool window_is_kept;                     /* no more than the profile promises */
	struct profctl_difference differences[PROFCTL_DIFFERENCES_MAX];
	size_t difference_count;
};
/*
 * Changes nothing and needs no rights. Agreement: difference_count == 0 and !phase_is_stale and is_chosen, and window_is_kept
 * where a file system of ours is mounted.
 */
int profctl_status(const struct profctl_params *par, struct profctl_status *ret, struct err *e);

/* A phase while something runs. Entered: its profile is in force, and /run/wubi/phase.json tells how to go back. */
struct profctl_phase;

/*
 * Refusal "phase-running" while another one's process lives; what a dead one left is put back first. *ret:
 * profctl_phase_free().
 */
int profctl_phase_enter(const struct profctl_params *par, enum profile_phase phase, struct profctl_phase **ret, struct err *e);

/* The same with a profile by its name, whatever the phases have: for 'measure'. Refusal "no-profile", too. */
int profctl_phase_enter_profile(const struct profctl_params *par, const char *name, struct profctl_phase **ret, struct err *e);

/*
 * syncfs of each file system on a block device that is mounted read-write, and of '/' (-EIO: a write since the beginning
 * failed: what was written cannot be relied on). Ours and '/' are open from the beginning on, so they cannot be unmounted before
 * profctl_phase_free(); the others are opened at the end, and an error that another program was told of already is not seen.
 */
int profctl_phase_sync(struct profctl_phase *p, struct err *e);

/* Back to what was before. The phase's file is removed only when that was read back. */
int profctl_phase_leave(struct profctl_phase *p, struct err *e);
void profctl_phase_free(struct profctl_phase *p); /* of one that was not left: leaves it as well as it can */
DEFINE_AUTO(profctl_phase, struct profctl_phase *, profctl_phase_free);

/* The disk's speed as it is known; 0: not, or of another image. And what measure found, for later. */
int profctl_speed_read(const char *root, uint64_t *ret_bytes_per_s, struct err *e);
int profctl_speed_write(const char *root, uint64_t bytes_per_s, struct err *e);

/* diskspeed_probe(). -ENODATA: the folder is on no block device. */
int profctl_speed_probe(const char *folder, uint64_t *ret_bytes_per_s, struct err *e);

/* The profiles: a file that par names on purpose has to be there. */
int profctl_conf_read(const struct profctl_params *par, struct conf *ret, struct err *e);

/* Refusal "no-profile": it is not in conf; the text has those that are. where: the file that should have it or names it. */
int profctl_find(const struct conf *c, const char *name, const char *where, const struct profile **ret, struct err *e);

#endif
