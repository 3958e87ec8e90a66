/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export_private - what its files share. */
#ifndef WUBI_EXPORT_PRIVATE_H
#define WUBI_EXPORT_PRIVATE_H

#include "blkio.h"
#include "export.h"
#include "ext4used.h"
#include "extent.h"

struct export_job {
	const struct export_params *par;
	const struct progress *progress;
	struct export_plan *plan;
	struct blkio *source;        /* the volume: claimed, and not writable for us */
	struct extent_list extents;  /* of the image, as the MFT has them now */
	struct blkio *image;
	struct ext4used *used;
	struct ext4used_info info;
	struct blkio *target;        /* claimed; NULL while programs are at work on it, or if the report says why */
};

/* ---- export_check.c ---- */

/* Opens and looks at both. The caller clears the job in any case. */
int export_open(struct export_job *j, struct err *e);
void export_clear(struct export_job *j); /* closes all, writes nothing */

/* ---- export_copy.c: the target is open ---- */

int export_wipe(struct export_job *j, struct err *e);     /* both ends, flushed */
int export_copy(struct export_job *j, struct err *e);     /* all but the head, flushed */
int export_compare(struct export_job *j, struct err *e);  /* -EIO: it differs, with the place */

/* ---- export_finish.c: the head is on the disk, the target closed ---- */

struct export_finish {
	const char *partition;
	const struct progress *progress;
	const char *uuid;  /* NULL: it is that already */
	bool is_seeded;    /* as ext4used_head() has it */
};

/* Are they all there? -ENOENT, with what to install. Before anything is written. */
int export_find_programs(struct err *e);
/* e2fsck alone: its journal is replayed, what it mends without asking is mended. */
int export_replay(const struct export_finish *f, struct err *e);

/* Checked, with checksums for its UUID, as large as the partition, checked. -EIO with what a program said; -ECANCELED. */
int export_finish(const struct export_finish *f, struct err *e);

#endif
