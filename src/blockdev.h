/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blockdev - what the system knows of a volume: its place in a partition table, what else is on it, who uses it.
 * The only file that includes libblkid.
 */
#ifndef WUBI_BLOCKDEV_H
#define WUBI_BLOCKDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "blkio.h"
#include "err.h"
#include "report.h"

struct blockdev_info {
	bool is_block;
	uint64_t size_bytes;
	uint64_t disk_offset_bytes; /* start of the partition on its disk; 0 for a file or whole disk */
	uint32_t sector_bytes;      /* BLKSSZGET, 512 for a file */
	char partuuid[37];          /* lower case as blkid prints it, or empty (MBR's short form "xxxxxxxx-nn" is kept) */
	char part_type[37];         /* "0x42", or a GPT type UUID; empty without a table */
	char part_label[128];
	char table_type[16];        /* a partition table *inside* the volume: "gpt", "dos" (not NTFS's own boot code), "" */
	unsigned table_entries;     /* entries of that table */
	char fs_type[32];           /* blkid's TYPE of the volume itself: "ntfs", "BitLocker", "vfat", "exfat", "" */
	char raid_type[32];         /* a RAID signature on the volume or on its whole disk: "isw_raid_member", "" */
	char model[64];             /* of the disk, from sysfs, "" when unknown */
	char disk_serial[64];
};

/* Reads only. The descriptor of 'io' (a filedev) is used where one is needed; nothing is opened for writing. */
int blockdev_probe(const struct blkio *io, struct blockdev_info *ret, struct err *e);

/*
 * Adds findings: "partitioned" (a whole disk with partitions), "ldm" (dynamic disk, MBR 0x42 or the GPT LDM types),
 * "storage-spaces", "raid" (a member of a RAID set), all by partition type or signature even if the NTFS boot sector
 * is readable, "sector-size" (the NTFS sector differs from the device's logical sector on a block device).
 */
void blockdev_check(const struct blockdev_info *info, uint32_t ntfs_sector_bytes, struct report *r);

/*
 * Who uses it by another name: mounted (mountinfo of this namespace by device number and by source file), a loop
 * device over the file or over the same file as this loop, a dm or md holder (sysfs holders), for whole disk and
 * partitions alike; for a plain file also a lock, and a process that has it open for writing (ntfs-3g holds no lock once
 * it has mounted). Adds finding "busy", which names the user and the remedy. Used before the O_EXCL open gives its bare
 * EBUSY, and for plain files, once more after filedev_open(FILEDEV_WRITE): from then on nothing can mount it unseen.
 * What this process itself holds does not count.
 */
int blockdev_check_users(const char *path, struct report *r, struct err *e);

/*
 * The same, but for verbs that only read: who may keep metadata in memory that is not on the disk. Our own mapping does not,
 * it only holds the partition.
 */
int blockdev_check_drivers(const char *path, struct report *r, struct err *e);

/*
 * Would what is written to path, a file that may not be there yet or a block device, end up on the volume: is it the volume, its
 * disk, or in a file system that lies on it, through loop devices, device-mapper and FUSE?
 */
int blockdev_is_upon(const char *volume, const char *path, bool *ret, struct err *e);

#endif
