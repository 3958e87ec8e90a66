/* SPDX-License-Identifier: GPL-2.0-or-later */
/* textfile - small files of settings: read whole, replaced atomically (temp, fsync, rename, fsync of the folder), removed. */
#ifndef WUBI_TEXTFILE_H
#define WUBI_TEXTFILE_H

#include <limits.h>
#include <stdbool.h>

#include "err.h"

#define TEXTFILE_MAX_BYTES (1U << 20)

/* -ENOENT and others; -EINVAL: a NUL byte in it; -EFBIG; -EISDIR. *ret: free(). */
int textfile_read(const char *path, char **ret, struct err *e);

/*
 * Makes missing folders (0755). A new file has mode 0644, one that was there keeps mode and owner. A symbolic link is followed to
 * what it names; what is no regular file is refused (-EINVAL, -EISDIR). After an error the old content is whole; only if the
 * fsync of the folder failed, it may be the new one, whole.
 */
int textfile_write(const char *path, const char *text, struct err *e);

/* Unlink and fsync of the folder; one that is not there is no error. Of a symbolic link, the link. */
int textfile_remove(const char *path, struct err *e);

/*
 * Where a file of the system below root is: absolute links, and '..', lead to files of its own. What is not there yet is taken as
 * no link. root "": the path as it is, for the kernel resolves it. 0, or -1 with errno: ELOOP, ENAMETOOLONG, EACCES.
 */
int textfile_resolve(const char *root, const char *path, char ret[PATH_MAX]);

#endif
