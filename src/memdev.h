/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memdev - bytes in memory as blkio, for tests and fuzzing. */
#ifndef WUBI_MEMDEV_H
#define WUBI_MEMDEV_H

#include "blkio.h"

/* bytes == NULL: zeros. The content is copied. -ENOMEM. */
int memdev_new(const void *bytes, size_t n, bool writable, struct blkio **ret, struct err *e);

/* The content, borrowed, of n == size_bytes bytes. */
const uint8_t *memdev_bytes(const struct blkio *io);

#endif
