/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disks - the disks of this machine and their partitions. The only file that includes libparted (GPL-3-or-later: wubi-install
 * alone links it). Reads only: its questions ("fix the backup table?") are answered with no, and no device is written.
 */
#ifndef WUBI_DISKS_H
#define WUBI_DISKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define DISKS_PATH_MAX 64

struct disks_partition {
	char path[DISKS_PATH_MAX]; /* "/dev/sda3" */
	int number;
	uint64_t start_bytes, size_bytes;
	char name[160];        /* GPT partition name */
	bool is_esp;           /* by the partition's type */
	bool is_hidden;        /* recovery and other partitions that Windows hides */
};

struct disks_disk {
	char path[DISKS_PATH_MAX]; /* "/dev/sda"; links are resolved */
	char model[128];
	uint64_t size_bytes;
	uint32_t sector_bytes;
	char table[16];        /* "gpt", "msdos", "loop" (a file system without a table), "" unreadable */
	bool is_readonly;
	char problem[256];     /* what libparted complained of, "" nothing */
	struct disks_partition *partitions;
	size_t partition_count; /* 0 for "loop": the disk itself is the volume */
	int lock;              /* private, see disks_read() */
};

struct disks { /* zero-initialised is empty; disks_clear() */
	struct disks_disk *items;
	size_t count;
};

/*
 * paths NULL: all disks of the machine (not loop, ram, optical, device-mapper); else these devices or files, NULL ends. A disk
 * that cannot be read is there with its problem. By path. *ret is an initialised one, replaced on success. -ENOMEM,
 * -ENAMETOOLONG.
 *
 * libparted opens disks for writing, although nothing is written, and udev takes the closing of such a disk for a change: it
 * makes the kernel read the table anew, for which the partitions' nodes go away for a moment. So a shared flock(2) is held on
 * each disk until disks_clear(), as systemd's block device locking has it; it is in nobody's way who reads or mounts.
 */
int disks_read(const char *const *paths, struct disks *ret, struct err *e);
void disks_clear(struct disks *d);

static inline void auto_disks(struct disks *d)
{
	disks_clear(d);
}

#endif
