/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mapdev - an image seen through its extents: offset 0 is the first byte of the first extent. */
#ifndef WUBI_MAPDEV_H
#define WUBI_MAPDEV_H

#include "blkio.h"
#include "extent.h"

/*
 * base is borrowed and must outlive the result; the extents are copied, and checked (extent_list_check) against
 * base->size_bytes. Reads, writes and zeroing are split at extent borders; flush flushes base. -EINVAL, -ENOMEM.
 */
int mapdev_new(const struct blkio *base, const struct extent_list *extents, struct blkio **ret, struct err *e);

#endif
