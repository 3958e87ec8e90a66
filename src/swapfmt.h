/* SPDX-License-Identifier: GPL-2.0-or-later */
/* swapfmt - a Linux swap header (version 1, 4 KiB pages; layout as include/linux/swap.h and util-linux mkswap write it). */
#ifndef WUBI_SWAPFMT_H
#define WUBI_SWAPFMT_H

#include <stdint.h>

#include "blkio.h"

#define SWAPFMT_LABEL_MAX 15
#define SWAPFMT_MIN_BYTES (UINT64_C(40) * 1024)

struct swapfmt_params {
	uint8_t uuid[16];
	const char *label; /* NULL or at most 15 bytes */
};

/* Zeroes the first and the last MiB (old signatures), writes the header into the first page, and flushes.
 * -EINVAL for too small or a label too long. */
int swapfmt_write(const struct blkio *io, const struct swapfmt_params *params, struct err *e);

/*
 * Puts the size of io into the header that is there, in one write, and flushes: UUID, label and all else stay. -ENODATA: there is
 * no swap header of version 1 with pages of 4 KiB.
 */
int swapfmt_grow(const struct blkio *io, struct err *e);

/* -ENODATA: no swap header. ret: SWAPFMT_LABEL_MAX + 1 bytes. */
int swapfmt_get_label(const struct blkio *io, char *ret, struct err *e);

#endif
