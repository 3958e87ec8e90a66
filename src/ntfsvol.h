/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ntfsvol - an NTFS volume that nobody has mounted, through libntfs-3g over a blkio.
 *
 * Opened for reading, no byte is ever written: not the journal, not a time stamp. Opened for writing, every change is staged
 * in memory; ntfsvol_commit() is the only function that writes to the volume. The first I/O error of the medium is
 * latched, and then commit fails whatever libntfs-3g made of it.
 *
 * libntfs-3g is included by ntfsvol_private.h alone, which only ntfsvol_*.c include.
 */
#ifndef WUBI_NTFSVOL_H
#define WUBI_NTFSVOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auto.h"
#include "blkio.h"
#include "err.h"
#include "extent.h"
#include "freespace.h"
#include "progress.h"

#define NTFSVOL_PATH_MAX 1024
#define NTFSVOL_LABEL_MAX 512

struct ntfsvol_state {
	bool dirty;         /* VOLUME_IS_DIRTY: chkdsk is due */
	bool hibernated;    /* hiberfil.sys holds a session, or has no header that could be read */
	bool fast_startup;  /* $LogFile restart page of version 2: Windows keeps metadata in its own cache */
	bool journal_clean; /* $LogFile has nothing to replay */
};

struct ntfsvol_info {
	char label[NTFSVOL_LABEL_MAX]; /* UTF-8 */
	uint64_t serial;
	uint32_t sector_bytes;
	uint32_t cluster_bytes;
	uint32_t mft_record_bytes;
	uint64_t total_clusters;
	uint64_t total_bytes;          /* total_clusters * cluster_bytes */
	struct cluster_run mft_zone;
	struct ntfsvol_state state;
};

struct ntfsvol_ref {
	uint64_t record;
	uint16_t sequence;
};

/* What a directory says of an entry. */
struct ntfsvol_entry {
	struct ntfsvol_ref ref;
	bool is_dir;
	char path[NTFSVOL_PATH_MAX]; /* with the case that the volume has */
};

/* What a file's MFT record says. Release with ntfsvol_file_clear(). */
struct ntfsvol_file {
	struct ntfsvol_ref ref;
	bool in_use;
	bool is_dir;
	bool compressed, encrypted, sparse; /* of the data, by attribute flags, file flags or a hole in the runs */
	bool reparse;
	bool resident;
	bool attribute_list;
	bool hidden, system, readonly;
	unsigned names;                 /* hard links: names of the file, the 8.3 ones not counted */
	uint64_t data_bytes, initialized_bytes, allocated_bytes;
	uint64_t index_data_bytes, index_allocated_bytes; /* of its index entry, when 'indexed' */
	bool indexed;                   /* a directory has an entry that points to this very record and sequence */
	char path[NTFSVOL_PATH_MAX];    /* where, "" when not indexed */
	struct extent_list extents;     /* empty if resident, a directory or a hole is in it */
	char extents_problem[128];      /* why the runs could not be had ("" if they could): a hole, corrupt pairs */
};

struct ntfsvol; /* an open volume */

/*
 * io is borrowed and must outlive *ret. Refusals: "not-ntfs", "bitlocker", "mft-mirror" ($MFT and $MFTMirr differ),
 * "corrupt" (with what libntfs-3g said). The states of ntfsvol_state are not refused here: look at ntfsvol_info().
 */
int ntfsvol_open(const struct blkio *io, bool writable, struct ntfsvol **ret, struct err *e);
const struct ntfsvol_info *ntfsvol_info(const struct ntfsvol *v);

/*
 * The first I/O error of the medium since the open, 0 if there was none. libntfs-3g passes over some errors, so that a
 * folder that could not be read looks like one without the entry: ask before a conclusion is drawn from what was seen.
 */
int ntfsvol_io_error(const struct ntfsvol *v, struct err *e);

/* Streams $Bitmap, once, into f (freespace_feed); does not call freespace_finish(). */
int ntfsvol_scan(struct ntfsvol *v, struct freespace *f, const struct progress *p, struct err *e);

/* The runs of $BadClus:$Bad, sorted; *ret_runs is the caller's, free(). */
int ntfsvol_bad_clusters(struct ntfsvol *v, struct cluster_run **ret_runs, size_t *ret_count, struct err *e);

/*
 * Looks a path up, whatever the case. -ENOENT: no such entry (or parent). Refusals: "twins" (two entries that differ only in
 * case; Windows takes them for one), "reparse-point" (a folder on the way leads elsewhere), "not-a-folder".
 */
int ntfsvol_find(struct ntfsvol *v, const char *path, struct ntfsvol_entry *ret, struct err *e);

/* Reads a record. 0 also for one that is not in use (in_use false). -EINVAL beyond the end of $MFT, -EIO corrupt. */
int ntfsvol_read_file(struct ntfsvol *v, uint64_t record, struct ntfsvol_file *ret, struct err *e);
void ntfsvol_file_clear(struct ntfsvol_file *f);

/* How many clusters of the extents are marked free in $Bitmap? Reads only their part of it. */
int ntfsvol_count_free(struct ntfsvol *v, const struct extent_list *extents, uint64_t *ret_clusters, struct err *e);

/*
 * Calls fn for each file and folder below folder, depth levels deep, a folder before what is in it. fn returning
 * non-zero stops and is returned. Missing folder: no call, returns 0. System files are left out.
 */
typedef int ntfsvol_walk_fn(void *ctx, const struct ntfsvol_entry *entry, struct err *e);
int ntfsvol_walk(struct ntfsvol *v, const char *folder, unsigned depth, ntfsvol_walk_fn *fn, void *ctx, struct err *e);

/* Reads a small file whole. *ret is the caller's with a NUL behind, free(). -EFBIG beyond max_bytes. */
int ntfsvol_read_small(struct ntfsvol *v, uint64_t record, size_t max_bytes, char **ret, size_t *ret_n, struct err *e);

/*
 * Calls fn for each run of each attribute of each file, folder and system file: record is the file's, also where a part of its
 * run list lies in another. Reads $MFT once, in order. fn returning non-zero stops and is returned. *ret_damaged: records that
 * are not, or not all, known for their damage.
 */
typedef int ntfsvol_runs_fn(void *ctx, uint64_t record, uint64_t physical_bytes, uint64_t length_bytes, struct err *e);
int ntfsvol_all_runs(struct ntfsvol *v, ntfsvol_runs_fn *fn, void *ctx, const struct progress *p, uint64_t *ret_damaged,
		     struct err *e);

/* Changes, staged until commit. */

/*
 * Takes the clusters in $Bitmap. First of all changes, so that nothing else is put there. The extents are what
 * freespace_choose() found free in an ntfsvol_scan() of this very open volume: $Bitmap is not read a second time.
 */
int ntfsvol_reserve(struct ntfsvol *v, const struct extent_list *extents, struct err *e);

/*
 * A file over reserved extents: data = allocated = initialised size, no compression, HIDDEN|SYSTEM|READONLY, not indexed for
 * search. Makes missing parents. -EEXIST. *ret is its MFT reference.
 */
int ntfsvol_create_image(struct ntfsvol *v, const char *path, const struct extent_list *extents,
			 struct ntfsvol_ref *ret, struct err *e);

/*
 * Gives an image's file these extents, all of them, and sets its sizes as above. What it did not have before is reserved, and
 * holds its bytes already; what it has no more is the caller's to release. Refuses "attribute-list": the runs, of now or then, do
 * not fit one MFT record.
 */
int ntfsvol_set_image_extents(struct ntfsvol *v, const struct ntfsvol_ref *ref, const struct extent_list *extents,
			      struct err *e);

/*
 * Frees clusters that no file has any more. Last of all changes: libntfs-3g would put something new into them, which the commit
 * would write before the old file is given up.
 */
int ntfsvol_release(struct ntfsvol *v, const struct extent_list *extents, struct err *e);

/*
 * An image that was emptied, whole again: the file at path, which is ref and has no clusters, gets reserved extents, sizes and
 * attributes as with ntfsvol_create_image(), and keeps its MFT reference. -ESTALE: something else is there.
 */
int ntfsvol_refill_image(struct ntfsvol *v, const char *path, const struct ntfsvol_ref *ref, const struct extent_list *extents,
			 struct err *e);

/* A small file with this content; an existing one is replaced by a new record. */
int ntfsvol_put_small(struct ntfsvol *v, const char *path, const void *bytes, size_t n, bool hidden, struct err *e);

/* Removes a file and frees its clusters. -ENOENT. A folder is removed only when empty: -ENOTEMPTY. */
int ntfsvol_remove(struct ntfsvol *v, const char *path, struct err *e);

/*
 * Writes what is staged: mark dirty (both copies), flush; empty $LogFile; the changes in an order in which every file that was
 * there stays readable after each flush; flush; clear the mark unless it was set before, flush. Then the volume is
 * closed: *v is NULL whatever happens. An error before the first write leaves the volume as it was.
 */
int ntfsvol_commit(struct ntfsvol **v, struct err *e);

/* Drops what is staged. NULL is fine. Never writes. */
void ntfsvol_free(struct ntfsvol *v);
DEFINE_AUTO(ntfsvol, struct ntfsvol *, ntfsvol_free);

static inline void auto_ntfsvol_file(struct ntfsvol_file *f)
{
	ntfsvol_file_clear(f);
}

#endif
