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

struct runprog_params { /* all borrowed; zero is "no" */
	const char *const *arguments;  /* [0]: a path; NULL ends */
	const char *more;              /* as above */
	const char *const *variables;  /* "NAME=VALUE" each, NULL ends: over what the environment has; NULL: none */
	bool errors_too;               /* its standard error goes where its standard output goes */
	bool bare;                     /* nothing of our environment: PATH is 'more', and the variables */
	const char *root;              /* it is run by chroot(8) there, and arguments[0] is a path in there */
	const char *input;             /* its standard input; NULL: nothing */
	/*
	 * Asked ten times a second: true ends it and all that it started (SIGTERM, after 10 s SIGKILL). With one, it is in a
	 * session of its own: no key of our terminal reaches it, and it cannot ask there.
	 */
	bool (*interrupted)(void *ctx);
	void *ctx;
};

/*
 * As runprog_run(). ret_output NULL: standard output goes to standard error; else it is there, at most 16 MiB (more is -EFBIG),
 * free(); set on failure of the program, too, but not if it could not be run. -ECANCELED: interrupted.
 */
int runprog_do(const struct runprog_params *p, char **ret_output, struct err *e);

#endif
