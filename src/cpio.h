/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpio - archives in the format that the kernel unpacks as an initramfs ("newc", Documentation/driver-api/early-userspace/
 * buffer-format.rst), from a stream of bytes. Keeps no more than one file in memory, and that only when it is wanted.
 */
#ifndef WUBI_CPIO_H
#define WUBI_CPIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

#define CPIO_WANTED_MAX (128u * 1024 * 1024) /* a wanted file that is larger is not handed over */

struct cpio_source {
	/* Up to n bytes, at least one but at the end: then *ret_n is 0. */
	int (*read)(void *ctx, void *buf, size_t n, size_t *ret_n, struct err *e);
	void *ctx;
	uint64_t position; /* bytes that were taken from the stream; start with 0 */
	bool has_ahead;    /* a byte that was looked at, but not taken: cpio_next_byte() */
	unsigned char ahead;
};

struct cpio_entry {
	const char *path;
	mode_t mode;
	uint32_t links;      /* names that the file has */
	uint32_t inode, device_major, device_minor; /* the same for all of them, within one archive */
	uint64_t size_bytes;
	const char *target;  /* of a symbolic link; else NULL */
};

struct cpio_visitor {
	/* Is the content wanted? Asked for regular files that are not empty. */
	bool (*wants)(void *ctx, const struct cpio_entry *entry);
	/* data: the content of a file that was wanted, writable, the visitor's until it returns; else NULL. Not 0 ends it all. */
	int (*visit)(void *ctx, const struct cpio_entry *entry, void *data, struct err *e);
	void (*end)(void *ctx); /* of one archive; NULL: nothing to do */
	void *ctx;
};

/* Skips zero bytes, as the kernel does between archives. *ret: the byte behind them, which is not taken; -1 at the end. */
int cpio_next_byte(struct cpio_source *source, int *ret, struct err *e);

/* Reads one archive to its end mark. -EINVAL: damaged, cut off, or another format of cpio; what read and visit return. */
int cpio_read(struct cpio_source *source, const struct cpio_visitor *visitor, struct err *e);

#endif
