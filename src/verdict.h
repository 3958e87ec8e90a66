/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verdict - is a map still true? The decision alone, from facts that verify.c gathers. Pure. */
#ifndef WUBI_VERDICT_H
#define WUBI_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "extent.h"
#include "map.h"

enum verdict {
	VERDICT_UNKNOWN, /* could not tell */
	VERDICT_MATCH,
	VERDICT_MOVED,
	VERDICT_GROWN, /* its runs begin with the map's, and go on: a grow that has not written this map yet */
	VERDICT_RENAMED,
	VERDICT_ORPHANED,
	VERDICT_UNSETTLED,
	VERDICT_EMPTIED,
	VERDICT_MISSING,
	VERDICT_REPLACED,
	VERDICT_FOREIGN,
	VERDICT_ENCRYPTED,
	VERDICT_AMBIGUOUS,
	VERDICT_INVALID,
};

#define VERDICT_REASONS_MAX 12
#define VERDICT_REASON_TEXT 256

struct verdict_result {
	enum verdict verdict;
	enum verdict settled;  /* what it would be if the host were settled: differs only for VERDICT_UNSETTLED */
	bool attachable;       /* may attach go on without an override? */
	size_t reason_count;
	char reasons[VERDICT_REASONS_MAX][VERDICT_REASON_TEXT]; /* most important first; the last says what to do */
};

/* What is on the volume, as far as it matters. Strings and lists are borrowed. */
struct verdict_facts {
	bool bitlocker, ntfs;
	bool dirty, hibernated, fast_startup, journal_clean;
	uint64_t serial;
	const char *partuuid;       /* "" unknown */
	uint32_t cluster_bytes, sector_bytes;
	/* the file with the map's MFT reference (record and sequence) */
	bool record_in_use;         /* in use, and the sequence is the map's */
	bool is_dir, compressed, encrypted, sparse, reparse, resident;
	uint64_t data_bytes, initialized_bytes, allocated_bytes;
	const struct extent_list *extents; /* NULL: could not be read */
	const char *extents_problem;
	uint64_t free_clusters;     /* of its extents, marked free in $Bitmap */
	bool indexed;               /* an index entry leads to it */
	const char *path;           /* where */
	bool at_map_path;           /* the entry at the map's path (any case) is this very file */
	/* the map's path */
	bool path_taken;            /* another file is there */
	const char *path_problem;   /* what is wrong with that path although the file is there; "" or NULL: nothing */
	bool path_same_fs;          /* and its content carries the map's file system UUID */
	/* the map's extents */
	uint64_t map_free_clusters; /* marked free in $Bitmap now */
	/* content at the file's own extents, or at the map's when there are none */
	bool canary_known, canary_ok;
	bool canary_other_uuid;     /* not ok, but a whole file system of the map's kind with another UUID */
	const char *canary_reason;
};

void verdict_decide(const struct map *m, const struct verdict_facts *f, struct verdict_result *ret);

const char *verdict_name(enum verdict v); /* "match", ... */

/* What going on all the same would risk, for a verdict that is refused; "" for the others. */
const char *verdict_risk(enum verdict v);

#endif
