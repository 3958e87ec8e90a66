/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profctl_private - what the profctl_*.c files share. */
#ifndef WUBI_PROFCTL_PRIVATE_H
#define WUBI_PROFCTL_PRIVATE_H

#include "profctl.h"

#include <limits.h>

#define PROFCTL_CHOICE "/etc/wubi/profile.conf"
#define PROFCTL_SYSCTL "/etc/sysctl.d/90-wubi.conf"
#define PROFCTL_GRUB "/etc/default/grub.d/wubi.cfg"
#define PROFCTL_GRUB_PENDING "/var/lib/wubi/grub.pending" /* update-grub is due */
#define PROFCTL_SAVED "/var/lib/wubi/saved.json"
#define PROFCTL_SPEED "/var/lib/wubi/speed.json"
#define PROFCTL_PHASE "/run/wubi/phase.json"
#define PROFCTL_LOCK "/run/wubi/profile.lock"

/* ---- profctl_files.c ---- */

bool profctl_is_elsewhere(const struct profctl_params *par); /* another system's folder, not the running one */

/* A file of ours below the root: no link leads out of it. -ENAMETOOLONG, -ELOOP. */
int profctl_path(const struct profctl_params *par, const char *file, char ret[PATH_MAX], struct err *e);

/* Content of a file of ours; *ret NULL: it is not there. free() it. */
int profctl_read(const struct profctl_params *par, const char *file, char **ret, struct err *e);

int profctl_choice_read(const struct profctl_params *par, struct conf_choice *ret, struct err *e);

/* The profile of a phase: the chosen one, else the default. */
const char *profctl_name_of(const struct conf *c, const struct conf_choice *choice, enum profile_phase phase);

/* Waits for others; close() gives it back. -1 with success: nothing to lock, for nothing is written, or only elsewhere. */
int profctl_lock(const struct profctl_params *par, int *ret_fd, struct err *e);

/* What was in force before the first set. *ret_found false: nothing is saved. */
int profctl_saved_read(const struct profctl_params *par, bool *ret_found, struct profset *ret, struct err *e);
int profctl_saved_write(const struct profctl_params *par, const struct profset *s, struct err *e);

/* What tells this boot from others; "" when that is not known. */
void profctl_boot_id(char ret[64]);

/* A state file: written whole or not at all, and durable. */
int profctl_json_write(const struct profctl_params *par, const char *file, const struct jsonout *root, struct err *e);
int profctl_remove(const struct profctl_params *par, const char *file, struct err *e);

/* Files of settings that change together. Zero-initialised is empty; release with profctl_files_clear(). */
#define PROFCTL_FILES_MAX 4
struct profctl_files {
	struct {
		char path[PATH_MAX];
		char *old; /* NULL: there was none */
	} items[PROFCTL_FILES_MAX];
	size_t count;
};
/* text NULL: removes it. *ret_changed false: it was so already. */
int profctl_files_put(struct profctl_files *f, const char *path, const char *text, bool *ret_changed, struct err *e);
int profctl_files_undo(struct profctl_files *f, struct err *e); /* the last one first */
void profctl_files_clear(struct profctl_files *f);
static inline void auto_profctl_files(struct profctl_files *f)
{
	profctl_files_clear(f);
}

/* The same with a file of ours. */
int profctl_put(const struct profctl_params *par, struct profctl_files *f, const char *file, const char *text, bool *ret_changed,
		struct err *e);

/* ---- profctl_speed.c ---- */

/*
 * The machine; its disk is measured when the profile asks for it and nobody has, where 'now' has an image of ours, and that
 * is kept unless par says check_only.
 */
int profctl_machine(const struct profctl_params *par, const struct profile *p, const struct profset *now,
		    struct profile_machine *ret, struct err *e);
bool profctl_needs_speed(const struct profile *p);

/* ---- profctl_text.c ---- */

/* The files' content; free() it. rootflags: NULL when there are none. */
int profctl_sysctl_text(const struct profile_knobs *k, const char *name, char **ret, struct err *e);
int profctl_rootflags_text(const struct profile *p, char **ret, struct err *e);

/* ---- profctl_grub.c ---- */

/* Makes GRUB's configuration anew, and then it is due no more. *ret_ran false: this system has no update-grub. */
int profctl_update_grub(const struct profctl_params *par, bool *ret_ran, struct err *e);

/*
 * The file for GRUB (text NULL: none), and update-grub when that changed, or is due since a kill. at_boot: a note in its place.
 * Elsewhere: the file alone.
 */
int profctl_put_grub(const struct profctl_params *par, struct profctl_files *f, const char *text, bool at_boot,
		     struct profctl_result *res, struct err *e);

/* Note "grub-pending": update-grub is due. */
int profctl_note_grub(const struct profctl_params *par, struct report *notes, struct err *e);

/* ---- profctl_notes.c ---- */

bool profctl_has_root(const struct profset *s);

/* Notes for what a profile has and this system cannot. Also after a reboot only. */
int profctl_note_mounts(const struct profile *p, const struct profset *saved, const struct profset *now, struct report *notes,
			struct err *e);
int profctl_note_reboot(const char *wanted, const struct profset *saved, const struct profset *now, struct report *notes,
			struct err *e);

/* Note "not-at-boot": nothing calls 'apply' at boot. */
void profctl_note_boot(const struct profctl_params *par, struct report *notes);

/* Note "later-file": one of sysctl.d behind ours sets another value. now not NULL: k gets of each such pair what is in force. */
void profctl_note_later(const struct profctl_params *par, const struct profile_knobs *now, struct profile_knobs *k,
			struct report *notes);

/* ---- profctl_phase.c ---- */

struct profctl_run {
	enum { PROFCTL_RUN_NONE, PROFCTL_RUN_LIVE, PROFCTL_RUN_STALE } state; /* none: also one of an earlier boot */
	bool is_there;          /* the file */
	bool is_broken;         /* stale, and nothing of it can be read: the reason in 'why' */
	struct err why;
	char profile[PROFILE_NAME_MAX];
	pid_t pid;
	struct profset before;
};
int profctl_run_read(const struct profctl_params *par, struct profctl_run *ret, struct err *e);

/* Refusal "phase-running". */
int profctl_run_refuse(const struct profctl_run *run, struct err *e);

/* Under the lock: refuses while one lives; puts back what a dead one left, and removes its file. *ret_changed: it did. */
int profctl_run_settle(const struct profctl_params *par, bool *ret_changed, struct err *e);

#endif
