/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ntfsvol_private - what the ntfsvol_*.c files share. The only file that includes libntfs-3g.
 */
#ifndef WUBI_NTFSVOL_PRIVATE_H
#define WUBI_NTFSVOL_PRIVATE_H

/* These first: libntfs-3g's headers define struct timespec themselves, and use va_list, where they did not come before. */
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include <ntfs-3g/types.h>
#include <ntfs-3g/device.h>
#include <ntfs-3g/layout.h>
#include <ntfs-3g/volume.h>
#include <ntfs-3g/inode.h>
#include <ntfs-3g/attrib.h>
#include <ntfs-3g/bitmap.h>
#include <ntfs-3g/dir.h>
#include <ntfs-3g/index.h>
#include <ntfs-3g/logfile.h>
#include <ntfs-3g/logging.h>
#include <ntfs-3g/mft.h>
#include <ntfs-3g/runlist.h>
#include <ntfs-3g/unistr.h>

#include "ntfsvol.h"
#include "stage.h"

struct ntfsvol_range { /* of the device */
	uint64_t offset_bytes;
	uint64_t length_bytes;
};

struct ntfsvol_ranges {
	struct ntfsvol_range *items;
	size_t count;
	size_t capacity;
};

/* What libntfs-3g's device operations see. Outlives the ntfs_volume. */
struct ntfsvol_dev {
	const struct blkio *io; /* the stage when writing, the volume itself when reading */
	bool writable;
	bool closed;            /* no more writes, whatever libntfs-3g still wants to put there */
	struct err first;       /* the first I/O error; code 0: none */
};

struct ntfsvol {
	const struct blkio *base;  /* borrowed */
	struct blkio *stage;       /* NULL when reading */
	struct ntfsvol_dev dev;
	ntfs_volume *vol;
	struct ntfsvol_info info;
	struct extent_list system;  /* the clusters of NTFS's own files: no other file has one of them */
	struct ntfsvol_ranges unused_index; /* index blocks that no index referred to before our changes */
	bool freed_something;      /* clusters or records were freed: bitmaps need their two steps at commit */
	bool changed;
};

/* ntfsvol_dev.c */
extern struct ntfs_device_operations ntfsvol_device_ops;

/* ntfsvol_open.c */
void ntfsvol_log_start(void);       /* forgets what libntfs-3g said */
const char *ntfsvol_log_text(void); /* the first thing it said since, "" for nothing */

/* "PREFIX: what libntfs-3g said" with the latched I/O error instead when there is one. errno is read first. */
int ntfsvol_fail(struct ntfsvol *v, struct err *e, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__ /* it sees one file at a time, and not that the result is never 0 */
#define ntfsvol_fail(v, e, ...) (ntfsvol_fail((v), (e), __VA_ARGS__), -EIO)
#endif

/* ntfsvol_read.c */
/* Opens an inode by record number, without a sequence check. The caller closes it. */
int ntfsvol_inode(struct ntfsvol *v, uint64_t record, ntfs_inode **ret, struct err *e);
/* UTF-8 to the name that NTFS stores. *ret_name is free()d by the caller. */
int ntfsvol_name(const char *name, size_t n, ntfschar **ret_name, int *ret_len, struct err *e);
/* The entry 'name' of a folder, whatever the case. -ENOENT, refusal "twins". */
int ntfsvol_lookup(struct ntfsvol *v, ntfs_inode *dir, const char *name, struct ntfsvol_entry *ret, struct err *e);
/* Splits "/a/b/c" at its last slash: parent "/a/b" or "/", name "c". */
void ntfsvol_split(const char *path, char parent[NTFSVOL_PATH_MAX], char name[NTFSVOL_PATH_MAX]);

/* libntfs-3g's macros mix signedness; their use is kept to these few lines. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"

static inline void ntfsvol_dev_mark_closed(struct ntfs_device *dev)
{
	NDevClearOpen(dev);
}

static inline void ntfsvol_forbid_compression(ntfs_volume *vol)
{
	NVolClearCompression(vol);
}

static inline void ntfsvol_forget_changes(ntfs_inode *ni)
{
	NInoClearDirty(ni);
	NInoFileNameClearDirty(ni);
	NInoAttrListClearDirty(ni);
}

static inline sle64 ntfsvol_sle64(uint64_t value)
{
	return cpu_to_sle64((s64)value);
}

#pragma GCC diagnostic pop

#endif
