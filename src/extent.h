/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * extent - where a file's bytes lie on its partition. Data and arithmetic, no I/O.
 *
 * All in bytes: logical from the start of the file, physical from the start of the partition.
 */
#ifndef WUBI_EXTENT_H
#define WUBI_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auto.h"
#include "err.h"

struct extent {
	uint64_t logical_bytes;
	uint64_t physical_bytes;
	uint64_t length_bytes;
};

struct extent_list { /* zero-initialised is an empty list; release with extent_list_clear() */
	struct extent *items;
	size_t count;
	size_t capacity;
};

/*
 * Appends a run behind the last: logical is the sum so far. A run of length 0 is dropped, one that touches
 * the last physically is merged into it. -ENOMEM, -EOVERFLOW; the list is unchanged on error.
 */
int extent_list_append(struct extent_list *l, uint64_t physical_bytes, uint64_t length_bytes, struct err *e);

/* Appends exactly as given, no merging and no check: for parsers, which check the whole list afterwards. -ENOMEM. */
int extent_list_push(struct extent_list *l, const struct extent *x, struct err *e);

/* *ret is an initialised list: what it held is released and replaced, on success only. -ENOMEM. */
int extent_list_copy(const struct extent_list *l, struct extent_list *ret, struct err *e);
void extent_list_clear(struct extent_list *l);

/*
 * Is this a usable image? At least one extent, none empty, logically without hole or overlap from 0, all fields
 * multiples of align_bytes (a power of two), sum exactly file_bytes, nothing beyond device_bytes, no two
 * extents sharing a physical byte (O(n log n)), no neighbours that should have been merged.
 * -EINVAL names the extent, counted from 0; -ENOMEM.
 */
int extent_list_check(const struct extent_list *l, uint64_t file_bytes, uint64_t device_bytes, uint32_t align_bytes,
		      struct err *e);

bool extent_list_equal(const struct extent_list *a, const struct extent_list *b);

/* Has l the bytes of 'start' at the same places, and perhaps more behind them? Both passed extent_list_check(). */
bool extent_list_begins_with(const struct extent_list *l, const struct extent_list *start);

uint64_t extent_list_bytes(const struct extent_list *l); /* the sum of the lengths */

/*
 * Finds the extent with the logical byte (binary search; the list passed extent_list_check()).
 * Returns it with its parts before 'logical_bytes' cut off: *ret is where to read and how much is contiguous.
 * False beyond the end.
 */
bool extent_list_find(const struct extent_list *l, uint64_t logical_bytes, struct extent *ret);

/* Do two lists share a physical byte? Both sorted or not; O((n+m) log(n+m)). -ENOMEM, else 0 and *ret. */
int extent_list_overlaps(const struct extent_list *a, const struct extent_list *b, bool *ret, struct err *e);

/*
 * The bytes from 0 to size_bytes of the partition that no extent of the list shows, by place; logical is physical. The list may
 * be unsorted, overlap, and reach beyond size_bytes. *ret is an initialised list: what it held is replaced, on success only.
 * -ENOMEM.
 */
int extent_list_complement(const struct extent_list *l, uint64_t size_bytes, struct extent_list *ret, struct err *e);

static inline void auto_extent_list(struct extent_list *l)
{
	extent_list_clear(l);
}

#endif
