/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bootsect - the first sector of a volume, parsed from bytes: NTFS, BitLocker, or something else. Pure. */
#ifndef WUBI_BOOTSECT_H
#define WUBI_BOOTSECT_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define BOOTSECT_BYTES 512

enum bootsect_kind { BOOTSECT_OTHER, BOOTSECT_NTFS, BOOTSECT_BITLOCKER };

struct bootsect {
	enum bootsect_kind kind;
	char other[32];          /* kind OTHER: "FAT", "exFAT", "ext", "empty", "unknown": for the message */
	/* the rest only for NTFS */
	uint32_t sector_bytes;   /* 256 to 4096 */
	uint32_t cluster_bytes;  /* sector_bytes to 2 MiB */
	uint64_t total_sectors;  /* of sector_bytes; the volume without its backup boot sector */
	uint64_t total_bytes;    /* total_sectors * sector_bytes */
	uint64_t mft_lcn;
	uint64_t mftmirr_lcn;
	uint32_t mft_record_bytes;
	uint32_t index_block_bytes;
	uint64_t serial;
};

/*
 * Recognises BitLocker ("-FVE-FS-" at offset 3; BitLocker To Go: "MSWIN4.1" with the FVE GUID
 * 4967d63b-2e29-4ad8-8399-f6a339e3d001 at offset 424) before anything else. n >= BOOTSECT_BYTES (ext needs 2048 to
 * be recognised). Returns 0 for any recognised or unknown kind; -EINVAL, with the field named, for an NTFS boot
 * sector whose fields are impossible or do not fit device_bytes.
 */
int bootsect_parse(const void *bytes, size_t n, uint64_t device_bytes, struct bootsect *ret, struct err *e);

#endif
