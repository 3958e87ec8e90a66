/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bootargs - what the kernel's command line asks of the boot program; wubi(7) has the parameters. Pure.
 *
 * Words are separated by white space; double quotes keep it, as the kernel does (Documentation/admin-guide/
 * kernel-parameters.rst). Of a parameter that is given twice the last one counts.
 */
#ifndef WUBI_BOOTARGS_H
#define WUBI_BOOTARGS_H

#include <stdbool.h>
#include <stddef.h>

#define BOOTARGS_VALUE_MAX 1024
#define BOOTARGS_PROBLEMS_MAX 8
#define BOOTARGS_TIMEOUT_MAX_S 86400

struct bootargs {
	bool off;                      /* wubi=off: attach nothing */
	bool allow_unsettled;          /* wubi.unsettled=allow */
	bool resume;                   /* resume= asks for the image of a hibernated session, and noresume does not forbid it */
	bool resume_offset;            /* ... which lies in a swap file */
	bool timeout_given;
	unsigned timeout_s;            /* wubi.timeout=S, how long the host may take to appear */
	char map[BOOTARGS_VALUE_MAX];  /* wubi.map=PATH, "" none */
	char root[BOOTARGS_VALUE_MAX]; /* root=, "" none */
	char resume_device[BOOTARGS_VALUE_MAX];
	char loop[BOOTARGS_VALUE_MAX]; /* loop=PATH on the volume that root= names: a Wubi disk without a map */
	size_t problem_count;          /* what was not understood; boot goes on without it */
	char problems[BOOTARGS_PROBLEMS_MAX][128];
};

void bootargs_parse(const char *text, struct bootargs *ret);

/* "UUID=01d2..." to the serial number of an NTFS volume, as blkid prints it: 16 hexadecimal digits. False: it is not one. */
bool bootargs_root_serial(const struct bootargs *args, unsigned long long *ret);

#endif
