/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsfreeze - puts all of a file system to its place on the disk, so that a reader that replays no journal (GRUB) sees it.
 *
 * syncfs, then FIFREEZE and FITHAW: freezing checkpoints the journal. Memory is locked and signals wait in between, because
 * whoever freezes '/' cannot be paged in from it; it is thawed on every path, by a child process if this one is killed.
 */
#ifndef WUBI_FSFREEZE_H
#define WUBI_FSFREEZE_H

#include "err.h"

/* folder: any of the file system. -EOPNOTSUPP: it cannot be frozen (vfat): it was synced all the same. -EBUSY: it is frozen. */
int fsfreeze_flush(const char *folder, struct err *e);

#endif
