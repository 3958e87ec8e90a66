/* SPDX-License-Identifier: GPL-2.0-or-later */
/* target_private - what the files of target share. */
#ifndef WUBI_TARGET_PRIVATE_H
#define WUBI_TARGET_PRIVATE_H

#include <stdio.h>
#include <sys/types.h>

#include "target.h"

#define TARGET_MOUNTS_MAX 8
#define TARGET_MAPS "/etc/wubi/maps"
#define TARGET_MODULES "/lib/modules"
#define TARGET_VERSION_MAX 128 /* of a kernel */
#define TARGET_GRUB "/etc/default/grub.d/wubi-boot.cfg"

struct target {
	char root[PATH_MAX]; /* absolute, without links */
	bool (*interrupted)(void *ctx);
	void *ctx;
	char mounts[TARGET_MOUNTS_MAX][PATH_MAX]; /* in order */
	size_t mount_count;
	bool services_held;  /* policy-rc.d is ours */
	mode_t old_umask;
};

/* ---- paths of the target: absolute, as seen from within ---- */

int target_path(const struct target *t, const char *path, char ret[PATH_MAX], struct err *e);
bool target_has(const struct target *t, const char *path); /* links are followed */

/* *ret: free(); NULL: there is no such file. */
int target_read(const struct target *t, const char *path, char **ret, struct err *e);
int target_write(const struct target *t, const char *path, const char *text, struct err *e);

/* The path itself, which is not followed if it is a link; its folder's links are. */
int target_own_path(const struct target *t, const char *path, char ret[PATH_MAX], struct err *e);
int target_remove(const struct target *t, const char *path, struct err *e);      /* a file; not there is fine */
int target_remove_tree(const struct target *t, const char *path, struct err *e); /* with all that is in it; not there is fine */
int target_make_folder(const struct target *t, const char *path, struct err *e); /* and those above it */

/* fn is called with the path of each that is in the folder, hidden ones left out. Not there, or no folder, is fine. */
int target_for_each_in(struct target *t, const char *folder,
		       int (*fn)(struct target *t, const char *path, struct err *e), struct err *e);

/* From outside into the target: mode 0644, fsync; what is there is replaced. */
int target_copy_in(const struct target *t, const char *from, const char *path, struct err *e);

/* ---- programs of the target ---- */

bool target_find(const struct target *t, const char *name, char ret[PATH_MAX]);

struct target_program {
	const char *const *arguments;
	const char *input;
	const char *variable; /* "NAME=VALUE", NULL: none */
	const char *path;     /* its PATH, NULL: the usual one */
};
int target_do(const struct target *t, const struct target_program *p, char **ret_output, struct err *e);

/* Runs it if the target has it. */
int target_run_if_there(struct target *t, const char *const *arguments, struct err *e);

/* ---- texts; free() what they return, NULL: out of memory ---- */

/* Ends a text that open_memstream() takes down. NULL: not all was written, and it is freed. */
char *target_text_end(FILE *f, char **text);

char *target_fstab_text(const struct target_settings *s);
bool target_fstab_has(const char *text, const struct map *m);      /* a line for it, or for its place */
char *target_fstab_text_with(const char *old, const struct map *m); /* with a line for it at the end */

/* With root's line by this UUID, or with one more. *ret_source: what root was on, free(); NULL: it had no line. */
char *target_fstab_moved_text(const char *old, const char *fs_uuid, char **ret_source);
char *target_hosts_text(const char *old, const char *hostname);
char *target_adjtime_text(const char *old, bool utc);

/* NAME="VALUE" in a file of such lines: the first that sets it is changed, others that set it go; else it is the last line. */
char *target_variable_text(const char *old, const char *name, const char *value);

/* Without the lines that have word; *ret_left: is something left that is neither comment nor blank? */
char *target_text_without(const char *old, const char *word, bool *ret_changed, bool *ret_left);

/* locale.gen in which a locale is chosen. supported: lines "NAME CODESET", NULL: unknown. *ret_known false: in neither. */
char *target_localegen_text(const char *old, const char *supported, const char *locale, bool *ret_known);

/* Is it one of ours, that a live medium needs and an installed system does not? */
bool target_is_live_package(const char *name);

/* 'apt-get -s' would change nothing but packages of which target_is_live_package(). */
bool target_is_live_only(const char *simulation);

/* apt's sources, in lines and in stanzas ("deb822"), in which those are switched off that are the live medium. */
char *target_apt_lines_text(const char *old, bool *ret_changed);
char *target_apt_stanzas_text(const char *old, bool *ret_changed);

/* The version of a kernel's file, by Linux's boot protocol. False: it is none, or has none. */
bool target_kernel_version(const unsigned char *head, size_t n, char *ret, size_t size);

/* ---- parts ---- */

/* By update-initramfs or dracut, and looked at. After a failure the one that was there before is there. */
int target_build_image(struct target *t, const char *version, struct err *e);

int target_locale_files(struct target *t, const struct target_settings *s, struct err *e);
int target_locale_check(const struct target *t, const struct target_settings *s, struct err *e); /* refusals of the former */
int target_user_check(const struct target *t, const struct target_settings *s, struct err *e);

#endif
