/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stage - an overlay in memory over another blkio: writes stay here, reads see them, the base is untouched until the
 * caller writes the staged sectors out, in an order that it decides.
 *
 * Granularity is the 512-byte sector; memory is 4 KiB a touched page. A stage that is not sealed lets nothing through.
 */
#ifndef WUBI_STAGE_H
#define WUBI_STAGE_H

#include "blkio.h"

/*
 * A blkio over base (borrowed). size, sector size and name are base's, writable is true whatever base says, flush is a
 * no-op until stage_set_through(). -ENOMEM.
 */
int stage_new(const struct blkio *base, struct blkio **ret, struct err *e);

/* A stretch of staged sectors that are contiguous in offset and were not written out yet. */
struct stage_run {
	uint64_t offset_bytes;
	size_t n;              /* a multiple of 512, at most one 4 KiB page */
	const uint8_t *bytes;  /* borrowed, until the stage is released */
};

/* All runs not written out yet, in ascending offset; *ret_runs is the caller's (free()), the bytes are the stage's. */
int stage_runs(const struct blkio *stage, struct stage_run **ret_runs, size_t *ret_count, struct err *e);

/* The number of the last write that touched a sector of the range; 0: none is staged. */
uint64_t stage_seq(const struct blkio *stage, uint64_t offset_bytes, uint64_t n);

/*
 * Writes a range of staged sectors to base in one go, and takes it off what is staged (reads still see it). Sectors in
 * the range that are not staged are written as they are in base.
 */
int stage_write_out(const struct blkio *stage, uint64_t offset_bytes, size_t n, struct err *e);

/*
 * through: from now on each write goes to base at once (and to the staged copy of the page, if there is one), and flush
 * flushes base. For the dirty mark and the journal reset around a commit.
 */
void stage_set_through(const struct blkio *stage, bool through);

/* Bytes that are staged and not written out. */
uint64_t stage_bytes(const struct blkio *stage);

#endif
