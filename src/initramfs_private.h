/* SPDX-License-Identifier: GPL-2.0-or-later */
/* initramfs_private - what the initramfs*.c files share. */
#ifndef WUBI_INITRAMFS_PRIVATE_H
#define WUBI_INITRAMFS_PRIVATE_H

#include <stdbool.h>

#include "err.h"

/* Looks for an executable in PATH, then in the folders 'more' (NULL: none). False: not there. */
bool initramfs_find(const char *name, const char *more, char ret[256]);

/*
 * Runs it and waits; its output goes to standard error. more: folders that its PATH gets as well, behind the others; NULL: none.
 * -EIO: it failed, the text has its status.
 */
int initramfs_spawn(const char *const *arguments, const char *more, struct err *e);

#endif
