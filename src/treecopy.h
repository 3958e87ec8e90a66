/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * treecopy - copies a tree of files, all that is in it: contents, holes, hard links, symbolic links, devices, FIFOs, sockets,
 * owners, modes, times, extended attributes (capabilities and ACLs are such). Several files at a time. Stops at the first error.
 * Left out: lost+found at the top, and attributes that belong to a place (SELinux labels, EVM, overlayfs's own).
 *
 * Progress counts bytes that are on the disk: syncfs runs beside the copying, again and again, and what was written before it
 * began is done when it ends. Each file's CRC-32 is kept while its content passes, and the check reads the target back past the
 * page cache. Progress is told by the calling thread alone.
 */
#ifndef WUBI_TREECOPY_H
#define WUBI_TREECOPY_H

#include <stddef.h>
#include <stdint.h>

#include "auto.h"
#include "err.h"
#include "progress.h"

struct treecopy_params {
	const char *source;         /* folders that exist */
	const char *target;         /* empty, but for lost+found and mount points of file systems that shall get their part */
	unsigned threads;           /* 0: as many as processors, at most 8 */
	const char *const *exclude; /* paths from the top, "/proc/kcore", without what is below; NULL ends; NULL: none */
	uint64_t total_bytes;       /* of content, for progress */
};

struct treecopy_totals {
	uint64_t files;         /* names of all kinds but folders */
	uint64_t folders;
	uint64_t content_bytes; /* without holes; a hard link once */
	uint64_t disk_bytes;    /* blocks of 4096, with one for each folder and long symbolic link: what ext4 needs of blocks */
};

/* What a copy will need, without reading contents. */
int treecopy_measure(const char *source, const char *const *exclude, const struct progress *p, struct treecopy_totals *ret,
		     struct err *e);

struct treecopy_record; /* of each regular file that was copied: path, length, CRC-32 */

/*
 * Returns when all is copied and syncfs has succeeded. -ENOSPC: the text says how much is missing; -EIO and others name the file
 * and which side; -ECANCELED. *ret: treecopy_record_free(). The target keeps what was copied so far: it is the caller's.
 */
int treecopy_run(const struct treecopy_params *par, const struct progress *p, struct treecopy_record **ret,
		 struct treecopy_totals *ret_totals, struct err *e);

/* Reads the target back from the disk (POSIX_FADV_DONTNEED first) and compares. -EBADMSG names the first file that differs. */
int treecopy_verify(const struct treecopy_record *r, const char *target, unsigned threads, const struct progress *p,
		    struct err *e);

void treecopy_record_free(struct treecopy_record *r);
DEFINE_AUTO(treecopy_record, struct treecopy_record *, treecopy_record_free);

#endif
