/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diskspeed - how fast the disk under a folder takes what is written one after the other, past the page cache. */
#ifndef WUBI_DISKSPEED_H
#define WUBI_DISKSPEED_H

#include <stdint.h>

#include "err.h"

/*
 * Writes a nameless file (O_TMPFILE, O_DIRECT where the file system has it) until 64 MiB or one second are over, then fdatasync;
 * the sync counts. -ENOSPC when less than 128 MiB are free. Leaves nothing.
 */
int diskspeed_probe(const char *folder, uint64_t *ret_bytes_per_s, struct err *e);

#endif
