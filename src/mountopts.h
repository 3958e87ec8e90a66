/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mountopts - the mount options of ext4 that a profile may have: which are allowed, which the kernel takes on a remount, whether
 * one is in force by what the kernel shows, and how to go back. Pure.
 *
 * What is shown is mountinfo's last field. The kernel leaves out what is its default there (fs/ext4/super.c,
 * _ext4_show_options(): commit=5, auto_da_alloc, data=ordered, delalloc ...), and 'async' is the absence of 'sync'.
 */
#ifndef WUBI_MOUNTOPTS_H
#define WUBI_MOUNTOPTS_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

#define MOUNTOPTS_TEXT 160

/*
 * Comma-separated. -EINVAL names the option and what is allowed: an unknown one, one with a bad value, two that contradict each
 * other ("sync,async", commit twice), two with which no mount succeeds (journal_async_commit without data=writeback or
 * data=journal), what breaks the promise that fsync means durable (nobarrier, barrier=0), and what breaks the one about the time
 * (lazytime without sync).
 */
int mountopts_check(const char *options, struct err *e);

/* The value of commit= in ms, as it is in force by what is shown (default 5 s). */
unsigned mountopts_commit_ms(const char *shown);
bool mountopts_is_sync(const char *shown);
bool mountopts_has_barriers(const char *shown); /* no 'nobarrier': without them not even fsync is durable */

/*
 * Splits into what a remount takes and what only the first mount does (data=, journal_async_commit). Each ret may be "". -EINVAL:
 * what mountopts_check() refuses, here and in mountopts_missing().
 */
int mountopts_split(const char *options, char ret_remount[MOUNTOPTS_TEXT], char ret_first[MOUNTOPTS_TEXT], struct err *e);

/*
 * What a profile with these options wants of each mount: what a remount takes of them, and 'barrier', for every profile promises
 * that fsync means durable. -EINVAL as mountopts_split().
 */
int mountopts_wanted(const char *options, char ret[MOUNTOPTS_TEXT], struct err *e);

/* Has the list one that is about the same as this option: equal, or its reverse? Of lists as they come, not only allowed ones. */
bool mountopts_is_about(const char *list, const char *option);
/* Is there one in each that are about the same, and other? */
bool mountopts_contradict(const char *a, const char *b);

/* The options among 'wanted' that are not in force; "" if all are. */
int mountopts_missing(const char *wanted, const char *shown, char ret[MOUNTOPTS_TEXT], struct err *e);

/*
 * What a remount has to be given so that each option which a profile could have changed is again as it was: shown before as
 * 'saved', now as 'now'. "" if nothing differs. "rw,sync" to "rw": "async"; "commit=30" to nothing shown: "commit=5". Not of the
 * options that no remount takes.
 */
int mountopts_back(const char *now, const char *saved, char ret[MOUNTOPTS_TEXT], struct err *e);

#endif
