/* SPDX-License-Identifier: GPL-2.0-or-later */
/* initrdcheck_private - what the files of initrdcheck share. */
#ifndef WUBI_INITRDCHECK_PRIVATE_H
#define WUBI_INITRDCHECK_PRIVATE_H

#include "filetree.h"
#include "initrdcheck.h"

struct initrdcheck {
	const struct initrdcheck_params *params;
	const struct filetree *tree;
	struct initrdneed need;
	bool has_ext4; /* one of the system's maps is of such a file system: initrdcheck_maps() */
	struct initrdcheck_result result;
};

/* How what is lacking gets into it. */
#define INITRDCHECK_REBUILD "then build it again ('update-initramfs -u' or 'dracut --force')"

/* The last component. */
const char *initrdcheck_base_name(const char *path);

struct initrdcheck_wanted {
	const char *name;      /* of the program */
	const char *package;   /* what has it */
	const char *reason;    /* of the finding */
	const char *otherwise; /* what comes of it when the program is not there */
};

/* A program and all that it needs to start. */
int initrdcheck_program(struct initrdcheck *c, const struct initrdcheck_wanted *wanted, struct err *e);

/* Which kernel? Then its device-mapper. */
int initrdcheck_module(struct initrdcheck *c, struct err *e);

int initrdcheck_maps(struct initrdcheck *c, struct err *e);

#endif
