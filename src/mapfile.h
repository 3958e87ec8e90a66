/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mapfile - a map in a file of the running system: read whole, written as temp + fsync + rename + fsync of the folder. */
#ifndef WUBI_MAPFILE_H
#define WUBI_MAPFILE_H

#include "err.h"
#include "map.h"

/*
 * Reads and parses. Text errors are a refusal with reason "invalid-map"; -ENOENT and other I/O errors are failures, and
 * so is what is not a regular file (-EISDIR, -EINVAL): a FIFO without a writer would never answer.
 */
int mapfile_read(const char *path, struct map **ret, struct err *e);

/* A map that is on disk under a name of its own beside the file it shall become. Zero-initialised is empty. */
struct mapfile_pending {
	char *target; /* symbolic links are followed: what publish replaces */
	char *temp;   /* NULL: nothing to publish */
};

/*
 * Step one: writes and fsyncs a temp file beside the target, which is not touched. Refuses ("map-file") a target that is
 * somebody's file, as mapfile_check_writable() does. *ret, which is overwritten, is the caller's: mapfile_drop(). On
 * error no temp file is left.
 */
int mapfile_stage(const char *path, const struct map *m, struct mapfile_pending *ret, struct err *e);

/*
 * Step two: rename over the target, fsync of the folder. Allocates nothing. *p is empty afterwards on success; after an
 * error the caller still drops it, and the target holds the old content whole or the new content whole. An empty *p is
 * no error.
 */
int mapfile_publish(struct mapfile_pending *p, struct err *e);

/* Unlinks a temp file that was not published, frees, and leaves *p empty. Never touches the target. */
void mapfile_drop(struct mapfile_pending *p);

/* Both steps: replaces path atomically; the old content stays until the new is on disk. */
int mapfile_write(const char *path, const struct map *m, struct err *e);

/*
 * Could path be written? Writes nothing. Its folder has to exist and be writable, and path has to be a regular file or
 * nothing yet. Refuses ("map-file") when path is the volume by whatever name, or the backing file of the loop device that
 * volume is (NULL: no volume to compare with), and when the file there is neither empty nor a map: it is somebody's.
 */
int mapfile_check_writable(const char *path, const char *volume, struct err *e);

#endif
