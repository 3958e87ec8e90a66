/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * freespace - which free runs of a volume an image should take. Pure: bits in, runs out.
 *
 * The allocation bitmap is fed once, in order, in pieces of any size; memory grows with the number of runs that the
 * answer needs, not with the volume (2 TiB in 512-byte clusters is a bitmap of 512 MiB).
 *
 * The choice: the smallest run that fits, the lowest of equal ones, whatever max_extents is; where none fits and more
 * extents are allowed, the fewest runs, taken from the largest. Either is tried outside the MFT zone first (a run is
 * split at its border), then anywhere: one extent that reaches into the zone comes before several outside it.
 * Extents start at a multiple of 1 MiB of the disk where the run allows it without failing to fit, else of the unit
 * (the larger of the cluster and 4 KiB), and are whole units.
 * Never a cluster of the avoid list ($BadClus), never beyond total_clusters.
 */
#ifndef WUBI_FREESPACE_H
#define WUBI_FREESPACE_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "extent.h"

struct cluster_run {
	uint64_t lcn;
	uint64_t clusters;
};

struct freespace_params {
	uint64_t total_clusters;        /* of the volume: bits beyond it are ignored */
	uint32_t cluster_bytes;         /* 512 to 2 MiB, a power of two */
	uint64_t want_bytes;            /* size of the image, a multiple of the unit; 0: only a summary is wanted */
	unsigned max_extents;           /* at least 1 */
	uint64_t disk_offset_bytes;     /* where the partition starts on its disk, 0 when unknown */
	struct cluster_run zone;        /* MFT zone; clusters 0: none */
	const struct cluster_run *avoid; /* sorted by lcn, not overlapping; borrowed until freespace_free() */
	size_t avoid_count;
	uint64_t behind_lcn;            /* not 0: a free run from here on, a file's tail, is counted and not chosen */
};

#define FREESPACE_TOP 8

struct freespace_summary {
	uint64_t free_clusters;         /* all clear bits, the avoid list's left out */
	uint64_t free_runs;
	struct cluster_run top[FREESPACE_TOP]; /* largest free runs, largest first */
	size_t top_count;
	uint64_t usable_bytes;          /* whole units in free runs: the most that many extents could hold */
	uint64_t behind_clusters;       /* free from behind_lcn on, up to what is in use or to be avoided */
	uint64_t extents_needed;        /* fewest extents that hold want_bytes; 0: no number of them does */
};

/* Called for each stretch of free clusters in order, for the picture; may be NULL. */
typedef void freespace_seen_fn(void *ctx, uint64_t lcn, uint64_t clusters);

struct freespace;

/* params is copied but for 'avoid'. -EINVAL for nonsense, -ENOMEM. */
int freespace_new(const struct freespace_params *params, struct freespace **ret, struct err *e);
void freespace_set_seen(struct freespace *f, freespace_seen_fn *seen, void *ctx);

/* The next n bytes of the bitmap: bit i of byte 0 is the first cluster not fed yet; set = in use. -ENOMEM. */
int freespace_feed(struct freespace *f, const uint8_t *bits, size_t n, struct err *e);

/*
 * After the last piece; *ret is set on success only. A bitmap shorter than the volume: -EINVAL (clusters without a bit
 * are not free).
 */
int freespace_finish(struct freespace *f, struct freespace_summary *ret, struct err *e);

/*
 * After finish. *ret is an initialised list, whose content is replaced: it gets the extents in ascending physical
 * order (logical order alike). Refusals: "no-space" (free and usable bytes against the wanted), "fragmented" (largest
 * run, free space, extents_needed, and what to do: a smaller size, --max-extents N, or defragmenting in Windows).
 */
int freespace_choose(struct freespace *f, struct extent_list *ret, struct err *e);

void freespace_free(struct freespace *f);
DEFINE_AUTO(freespace, struct freespace *, freespace_free);

#endif
