/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reuse - what became of the clusters of an image that is gone. Pure: free stretches and runs of files in, sums out.
 *
 * Every byte of the extents is counted once: taken when another file has it, whatever $Bitmap says; else free when $Bitmap has
 * it so; else kept when it is the image's own file's still; else unowned: in use by $Bitmap, and no file has it.
 */
#ifndef WUBI_REUSE_H
#define WUBI_REUSE_H

#include <stddef.h>
#include <stdint.h>

#include "auto.h"
#include "err.h"
#include "extent.h"

struct reuse_sums {
	uint64_t free_bytes;
	uint64_t kept_bytes;
	uint64_t taken_bytes;
	uint64_t unowned_bytes;
};

/* A file, by its MFT record, and how much of the extents it has. */
struct reuse_owner {
	uint64_t record;
	uint64_t bytes;
};

struct reuse;

#define REUSE_NO_RECORD UINT64_MAX

/* extents passed extent_list_check() and are copied. own_record: the image's own file, or REUSE_NO_RECORD. -ENOMEM. */
int reuse_new(const struct extent_list *extents, uint64_t own_record, struct reuse **ret, struct err *e);

/* Before reuse_finish(), in any order; what lies outside the extents is left out. -ENOMEM. */
int reuse_add_free(struct reuse *r, uint64_t physical_bytes, uint64_t length_bytes, struct err *e);
int reuse_add_run(struct reuse *r, uint64_t record, uint64_t physical_bytes, uint64_t length_bytes, struct err *e);

/* Once, before the three below. Cannot fail. */
void reuse_finish(struct reuse *r);

/* Of all extents, and of the i-th of them. */
struct reuse_sums reuse_all(const struct reuse *r);
struct reuse_sums reuse_of_extent(const struct reuse *r, size_t i);

/* The other files, the one with the most bytes first. Borrowed. */
const struct reuse_owner *reuse_owners(const struct reuse *r, size_t *ret_count);

void reuse_free(struct reuse *r); /* NULL is fine */
DEFINE_AUTO(reuse, struct reuse *, reuse_free);

#endif
