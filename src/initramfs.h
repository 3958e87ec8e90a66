/* SPDX-License-Identifier: GPL-2.0-or-later */
/* initramfs - runs the program of the distribution that builds the initramfs images. */
#ifndef WUBI_INITRAMFS_H
#define WUBI_INITRAMFS_H

#include "err.h"

/* "update-initramfs" or "dracut", whichever PATH has, in this order; NULL: neither. Static. */
const char *initramfs_tool(void);

/*
 * Builds the images of all kernels anew, and waits. What the tool prints goes to standard error. -ENOENT: there is none; -EIO: it
 * failed, the text has its status.
 */
int initramfs_rebuild(struct err *e);

#endif
