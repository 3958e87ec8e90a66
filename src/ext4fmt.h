/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ext4fmt - an empty ext4 written through a blkio. The only file that includes libext2fs: an io_manager of ours, no
 * mount, no loop, no root, no mke2fs.conf.
 *
 * The features are fixed here, whatever the host's configuration: has_journal ext_attr resize_inode dir_index filetype extent
 * 64bit flex_bg sparse_super large_file huge_file dir_nlink extra_isize metadata_csum. None that GRUB 2.06 or
 * e2fsck 1.45 cannot read (no metadata_csum_seed, no orphan_file).
 */
#ifndef WUBI_EXT4FMT_H
#define WUBI_EXT4FMT_H

#include <stdbool.h>
#include <stdint.h>

#include "blkio.h"
#include "progress.h"

#define EXT4FMT_LABEL_MAX 16
#define EXT4FMT_MIN_BYTES (UINT64_C(8) * 1024 * 1024)

struct ext4fmt_params {
	uint8_t uuid[16];
	const char *label; /* NULL or at most 16 bytes */
};

/*
 * Formats all of io and flushes it. The first and the last MiB are zeroed before anything else: signatures of what was there
 * before (md, btrfs, ZFS, ISO 9660) would make the image ambiguous to blkid. Inode tables are left
 * to the kernel's lazy initialisation (flags say so, checked by e2fsck); the journal is zeroed (blkio_zero), because a stale
 * transaction of an older image in the same clusters could be replayed. -EINVAL (too small, 16 TiB and more, label too
 * long), -EROFS, -ECANCELED, -EIO. The first I/O error is latched and returned, whatever libext2fs made of it.
 */
int ext4fmt_write(const struct blkio *io, const struct ext4fmt_params *params, const struct progress *p, struct err *e);

/*
 * The label of an ext4 that nobody has mounted. -ENODATA: no ext4. Setting it writes all superblocks and flushes; -EBUSY: its
 * journal is to be replayed first; -EINVAL: too long.
 */
int ext4fmt_get_label(const struct blkio *io, char ret[EXT4FMT_LABEL_MAX + 1], struct err *e);
int ext4fmt_set_label(const struct blkio *io, const char *label, struct err *e);

/* What can be told of an ext4 without e2fsck. */
struct ext4fmt_health {
	bool opened;          /* by its superblock or a backup */
	bool from_backup;
	bool journal;         /* it was not unmounted: its journal is to be replayed, and its counts are not settled */
	uint64_t inodes, used_inodes;
	unsigned problems;    /* superblock, group descriptors and their checksums, counts, bitmaps, root folder */
	char problem[240];    /* the first of them */
};

/* Reads only, through our io_manager. What is wrong, bad sectors too, is in *ret. -ENOMEM. */
int ext4fmt_inspect(const struct blkio *io, struct ext4fmt_health *ret, struct err *e);

#endif
