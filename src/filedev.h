/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filedev - a plain file or a block device as blkio: pread, pwrite, fdatasync, fallocate(ZERO_RANGE).
 *
 * Reading (FILEDEV_READ): a block device is read with O_DIRECT through an aligned bounce buffer, because a buffered read
 * of a partition whose blocks a device-mapper target writes returns stale bytes. Nothing is claimed.
 * Writing (FILEDEV_WRITE): a block device is opened O_EXCL, which fails while anything else holds it (a mount in any
 * mount namespace, dm, loop, swap), and is held until blkio_free(). A plain file is locked (open file description
 * lock, exclusive, whole file), which conflicts with the POSIX lock that ntfs-3g and the ntfsprogs take.
 * Either is opened once: closing a second descriptor of a plain file would drop ntfs-3g's kind of lock.
 */
#ifndef WUBI_FILEDEV_H
#define WUBI_FILEDEV_H

#include <stdbool.h>

#include "blkio.h"

enum filedev_mode { FILEDEV_READ, FILEDEV_WRITE };

/*
 * -ENOENT, -EACCES ... as open(2). Refusals: "busy" (O_EXCL or lock conflict, text says what may hold it and the
 * remedy), "not-a-volume" (neither a regular file nor a block device).
 * sector_bytes is BLKSSZGET's for a block device, 512 for a file.
 */
int filedev_open(const char *path, enum filedev_mode mode, struct blkio **ret, struct err *e);

/* Drops the clean cached pages of the range's device (posix_fadvise), so that the next read comes from the medium. */
int filedev_drop_cache(const struct blkio *io, struct err *e);

/* Is the open one a block device (S_ISBLK)? */
bool filedev_is_block(const struct blkio *io);

/* The descriptor, borrowed: for ioctls of the adapters. */
int filedev_fd(const struct blkio *io);

#endif
