/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmknobs - the kernel's vm.dirty_* values in /proc/sys/vm: read, written and read back. And the machine's numbers. */
#ifndef WUBI_VMKNOBS_H
#define WUBI_VMKNOBS_H

#include "err.h"
#include "profile.h"

/* a unit test that includes vmknobs.c puts a folder of its own here */
#ifndef VMKNOBS_FOLDER
#define VMKNOBS_FOLDER "/proc/sys/vm"
#endif

/* A negative interval is read as 0, which means the same: never. */
int vmknobs_read(struct profile_knobs *ret, struct err *e);

/* Could they be written? Opens each for writing and writes nothing. -EACCES, -EROFS: the text says so, and what to do. */
int vmknobs_check_writable(struct err *e);

/*
 * Writes what differs, the non-zero member of each pair, in an order in which background stays below the limit; then reads all
 * back (-EIO: the kernel has another value than was written, or another program wrote). A pair without any is 0 per cent, which
 * the kernel can have. Does not roll back: the caller does, with what vmknobs_read() said before. -EINVAL: a pair with both,
 * before anything is written; or as the kernel says it, with the name and the value.
 */
int vmknobs_write(const struct profile_knobs *k, struct err *e);

/* page_bytes and memory_bytes; disk_bytes_per_s is left alone. */
int vmknobs_machine(struct profile_machine *m, struct err *e);

#endif
