/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * salvage - copies what may be damaged out to a new file, or to a block device: all that can be read, zeros for the rest, and a
 * list of the bad ranges.
 *
 * A new file has another name until it is whole and flushed: "FILE.incomplete" in the same folder. It is sparse where the source
 * has zeros. Progress counts flushed bytes.
 */
#ifndef WUBI_SALVAGE_H
#define WUBI_SALVAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auto.h"
#include "blkio.h"
#include "err.h"
#include "progress.h"

struct salvage_range {
	uint64_t offset_bytes;
	uint64_t length_bytes;
};

struct salvage_result { /* zero-initialised is empty; release with salvage_result_clear() */
	struct salvage_range *bad; /* what could not be read, ascending, neighbours merged */
	size_t bad_count;
	uint64_t bad_bytes;
};

struct salvage;

/*
 * May path be written? Refusals: "output-exists" (a file that is there, or a block device, unless replace), "busy" (a device
 * that is in use), "not-a-file" (a folder, a pipe), "too-small" (a device). -ENOENT and others: the folder.
 */
int salvage_check(const char *path, uint64_t bytes, bool replace, struct err *e);

/*
 * Opens the output; path as salvage_check() allows. A FILE.incomplete that nobody has locked is an interrupted run's, and goes.
 * *ret is the caller's, salvage_drop().
 */
int salvage_open(const char *path, uint64_t bytes, bool replace, struct salvage **ret, struct err *e);

/*
 * Copies all of from. A read that fails is tried again in 4096 bytes, then in sectors of the source; what still fails is zeros.
 * -EIO: nothing at all could be read. *ret is an initialised one and the caller's, also after an error.
 */
int salvage_copy(const struct blkio *from, struct salvage *s, const struct progress *p, struct salvage_result *ret,
		 struct err *e);

/*
 * Flushes, writes the list of bad ranges to FILE.bad where there are any, and gives the file its name. An older FILE.bad of ours
 * goes. Of a device only the flush.
 */
int salvage_publish(struct salvage *s, const struct salvage_result *r, struct err *e);

/* Is the output a block device? Then there was nothing to take back. */
bool salvage_is_device(const struct salvage *s);

/* Closes. A file that was not published is removed. NULL is fine. */
void salvage_drop(struct salvage *s);
DEFINE_AUTO(salvage, struct salvage *, salvage_drop);

void salvage_result_clear(struct salvage_result *r);

static inline void auto_salvage_result(struct salvage_result *r)
{
	salvage_result_clear(r);
}

#endif
