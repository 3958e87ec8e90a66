/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * initrdtree - the files of an initramfs in memory: paths, links and modes of all of them, and of the content what a check of
 * ours asks for (initrdcheck.h). Reads only.
 *
 * A node's note is the struct elfneeds of a library or of one of the programs; NULL when it is no sound ELF file.
 */
#ifndef WUBI_INITRDTREE_H
#define WUBI_INITRDTREE_H

#include "err.h"
#include "filetree.h"

/* Of an image; errors and the refusal of initrdfile_read(). *ret is the caller's: filetree_free(). */
int initrdtree_from_image(const char *path, struct filetree **ret, struct err *e);

/* Of the folder in which one is being built. I/O errors, and those of filetree.h. */
int initrdtree_from_folder(const char *path, struct filetree **ret, struct err *e);

#endif
