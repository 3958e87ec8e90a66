/* SPDX-License-Identifier: GPL-2.0-or-later */
/* initrdcheck - has an initramfs all that it takes to boot from an image? Reads only. */
#ifndef WUBI_INITRDCHECK_H
#define WUBI_INITRDCHECK_H

#include <stddef.h>

#include "err.h"
#include "initrdneed.h"
#include "report.h"

#define INITRDCHECK_MODULES "/lib/modules"
#define INITRDCHECK_PROGRAMS "/sbin"

struct initrdcheck_params { /* all borrowed */
	const char *image;  /* a built image; or NULL, then ... */
	const char *tree;   /* ... the folder in which one is being built, not all of it there yet */
	const char *kernel; /* its version; NULL: the one whose modules are in it */
	const char *modules; /* folder of the system's modules: INITRDCHECK_MODULES */
	const char *programs; /* folder of the system's programs that check file systems: INITRDCHECK_PROGRAMS */
	struct initrdneed_system system;
};

struct initrdcheck_result {
	struct report findings; /* each lack, with what to do; empty: it has all */
	char kernel[256];       /* "" when there is none to be seen */
	size_t maps;            /* in it, and the same as the system's */
	size_t libraries;       /* that its programs need */
};

/*
 * Reasons of findings: no-program no-library no-module no-rule no-map stale-map invalid-map no-hook no-fsck fuse; and
 * damaged-image. Errors: what could not be read, so that nothing can be told; -ENOTSUP: it is packed in a way that cannot be
 * looked into; -EINVAL: it has several kernels, and params names none. *ret is written on success only.
 */
int initrdcheck_run(const struct initrdcheck_params *params, struct initrdcheck_result *ret, struct err *e);

#endif
