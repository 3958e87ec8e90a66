/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mapfile - a map in a file of the running system: read whole, written as temp + fsync + rename + fsync of the folder. */
#ifndef WUBI_MAPFILE_H
#define WUBI_MAPFILE_H

#include "err.h"
#include "map.h"

/* Reads and parses. Text errors are a refusal with reason "invalid-map"; -ENOENT and other I/O errors are failures. */
int mapfile_read(const char *path, struct map **ret, struct err *e);

/* Replaces path atomically; the old content stays until the new is on disk. The temp file is removed on error. */
int mapfile_write(const char *path, const struct map *m, struct err *e);

/* Writes any small text the same way. */
int mapfile_write_text(const char *path, const char *text, size_t n, struct err *e);

/* Could path be written (parent folder exists and is writable, path is no folder)? Writes nothing. */
int mapfile_check_writable(const char *path, struct err *e);

#endif
