/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runprog - finds and runs the distribution's programs. */
#ifndef WUBI_RUNPROG_H
#define WUBI_RUNPROG_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

/* Where a user's PATH may end: after 'su' it lacks them. */
#define RUNPROG_SYSTEM_PATH "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"

/* Looks for an executable in PATH, then in the folders 'more' (NULL: none). False: not there; then ret has anything. */
bool runprog_find(const char *name, const char *more, char *ret, size_t size);

/*
 * Runs arguments[0], a path, and waits; its output goes to standard error. more: folders that its PATH gets as well, behind the
 * others; NULL: none. variable: "NAME=VALUE" for its environment; NULL: none. -EIO: it failed, the text has its status.
 */
int runprog_run(const char *const *arguments, const char *more, const char *variable, struct err *e);

#endif
