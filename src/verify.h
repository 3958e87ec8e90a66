/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify - looks at a volume and says whether a map is true for it. Reads only. Used by wubi-disk and wubi-attach. */
#ifndef WUBI_VERIFY_H
#define WUBI_VERIFY_H

#include <stdbool.h>
#include <stddef.h>

#include "blkio.h"
#include "err.h"
#include "extent.h"
#include "map.h"
#include "verdict.h"

struct verify_result {
	struct verdict_result verdict;
	struct extent_list extents; /* the file's runs now, empty when it has none */
	char path[1024];            /* where the file is now, "" unknown */
	char volume[256];           /* the one that fits, when there were several */
	bool suspended;             /* it is a swap with a hibernated session in it */
};

/*
 * 0 with a verdict, or a negative errno when it could not be told (I/O error, corrupt volume): verdict is then
 * VERDICT_UNKNOWN. partuuid of the partition, "" if none.
 */
int verify_volume(const struct blkio *io, const char *partuuid, const struct map *m, struct verify_result *ret,
		  struct err *e);

/* Several candidates by path: one that fits wins, two that fit are VERDICT_AMBIGUOUS, none: the first one's verdict. */
int verify_candidates(const char *const *volumes, size_t count, const struct map *m, struct verify_result *ret,
		      struct err *e);

/* Is the map's image there, whatever state its host is in? Two volumes of which both fit are clones. */
bool verify_fits(const struct verify_result *r);

void verify_result_clear(struct verify_result *r);

static inline void auto_verify_result(struct verify_result *r)
{
	verify_result_clear(r);
}

#endif
