/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ext4fmt.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include <et/com_err.h>

#include "ext4io.h"
#include "num.h"

#define BLOCK_BYTES 4096
#define LOG_BLOCK_BYTES 2 /* as the superblock has it: 1024 << 2 */
#define INODE_BYTES 256
#define LOG_FLEX_GROUPS 4
#define LOST_FOUND_BLOCKS 4

/*
 * Zeroed at both ends before anything else: signatures of what was there before (btrfs at 64 KiB,
 * ISO 9660 at 32 KiB, ZFS in 512 KiB, md at the end) would make blkid call the image ambiguous.
 */
#define WIPE_BYTES NUM_MIB

/* Where mke2fs.conf changes the inode ratio; 'small', 'big' and 'huge' there. */
#define SMALL_BYTES (UINT64_C(512) * NUM_MIB)
#define BIG_BYTES (UINT64_C(4) * NUM_TIB)
#define HUGE_BYTES (UINT64_C(16) * NUM_TIB)

/* The features, all of them. What GRUB 2.06 or e2fsck 1.45 cannot read must not come in here. */
#define COMPAT (EXT3_FEATURE_COMPAT_HAS_JOURNAL | EXT2_FEATURE_COMPAT_EXT_ATTR | \
		EXT2_FEATURE_COMPAT_RESIZE_INODE | EXT2_FEATURE_COMPAT_DIR_INDEX)
#define INCOMPAT (EXT2_FEATURE_INCOMPAT_FILETYPE | EXT3_FEATURE_INCOMPAT_EXTENTS | \
		  EXT4_FEATURE_INCOMPAT_64BIT | EXT4_FEATURE_INCOMPAT_FLEX_BG)
#define RO_COMPAT (EXT2_FEATURE_RO_COMPAT_SPARSE_SUPER | EXT2_FEATURE_RO_COMPAT_LARGE_FILE | \
		   EXT4_FEATURE_RO_COMPAT_HUGE_FILE | EXT4_FEATURE_RO_COMPAT_DIR_NLINK | \
		   EXT4_FEATURE_RO_COMPAT_EXTRA_ISIZE | EXT4_FEATURE_RO_COMPAT_METADATA_CSUM)

struct format {
	struct ext4io x;
	ext2_filsys fs;
	uint64_t blocks;
	uint64_t now; /* seconds; one for all stamps, and not what SOURCE_DATE_EPOCH says */
	uint8_t hash_seed[16];
	const struct ext4fmt_params *params;
};

static int code_of(errcode_t rc)
{
	if (rc > 0 && rc < 256)
		return -(int)rc;
	if (rc == EXT2_ET_NO_MEMORY)
		return -ENOMEM;
	if (rc == EXT2_ET_BLOCK_ALLOC_FAIL || rc == EXT2_ET_DIR_NO_SPACE)
		return -ENOSPC;
	return -EIO;
}

/* The library's own texts, without leaving its table registered in the process. */
static int library_error(errcode_t rc, const char *name, const char *what, struct err *e)
{
	errcode_t present = add_error_table(&et_ext2_error_table);
	int code = err_set(e, code_of(rc), "format '%s': %s: %s", name, what, error_message(rc));

	if (present == 0)
		(void)remove_error_table(&et_ext2_error_table); /* fails only if it is not there */
	return code;
}

/* What the device said comes before what the library made of it. */
static int format_result(const struct format *f, errcode_t rc, const char *what, struct err *e)
{
	if (f->x.code != 0) {
		if (e != NULL)
			*e = f->x.first;
		return err_wrap(e, f->x.code, "format '%s': %s", f->x.io->name, what);
	}
	return rc == 0 ? 0 : library_error(rc, f->x.io->name, what, e);
}

static uint64_t inode_ratio_bytes(uint64_t bytes)
{
	if (bytes < SMALL_BYTES)
		return 4096;
	if (bytes < BIG_BYTES)
		return 16384;
	return 32768;
}

static void fill_super(const struct format *f, struct ext2_super_block *sb)
{
	uint64_t bytes = f->blocks * BLOCK_BYTES;

	memset(sb, 0, sizeof(*sb));
	sb->s_rev_level = EXT2_DYNAMIC_REV;
	sb->s_log_block_size = LOG_BLOCK_BYTES;
	sb->s_log_cluster_size = LOG_BLOCK_BYTES;
	sb->s_inode_size = INODE_BYTES;
	sb->s_desc_size = EXT2_MIN_DESC_SIZE_64BIT;
	sb->s_log_groups_per_flex = LOG_FLEX_GROUPS;
	sb->s_errors = EXT2_ERRORS_CONTINUE;
	sb->s_default_mount_opts = EXT2_DEFM_XATTR_USER | EXT2_DEFM_ACL;
	sb->s_inodes_count = (__u32)(bytes / inode_ratio_bytes(bytes));
	ext2fs_blocks_count_set(sb, f->blocks);
	ext2fs_r_blocks_count_set(sb, f->blocks / 20);
	sb->s_feature_compat = COMPAT;
	sb->s_feature_incompat = INCOMPAT;
	sb->s_feature_ro_compat = RO_COMPAT;
}

/* No old superblock may survive beside half of a new file system; both ends, see WIPE_BYTES. */
static errcode_t wipe(struct format *f)
{
	(void)ext4io_zero(&f->x, 0, WIPE_BYTES); /* latched: the flush tells */
	(void)ext4io_zero(&f->x, f->x.io->size_bytes - WIPE_BYTES, WIPE_BYTES);
	return -ext4io_flush(&f->x);
}

static errcode_t initialize(struct format *f)
{
	struct ext2_super_block wanted;
	struct ext2_super_block *sb;
	errcode_t rc;

	fill_super(f, &wanted);
	rc = ext2fs_initialize(f->x.io->name, EXT2_FLAG_64BITS, &wanted, ext4io_expose(&f->x),
			       &f->fs);
	(void)ext4io_expose(NULL); /* in case the library failed before it came to open */
	if (rc != 0)
		return rc;
	sb = f->fs->super;
	memcpy(sb->s_uuid, f->params->uuid, sizeof(sb->s_uuid));
	memcpy(sb->s_hash_seed, f->hash_seed, sizeof(sb->s_hash_seed));
	if (f->params->label != NULL) /* 16 bytes need no NUL */
		memcpy(sb->s_volume_name, f->params->label, strlen(f->params->label));
	f->fs->now = (time_t)f->now;
	sb->s_mkfs_time = sb->s_lastcheck = (__u32)f->now;
	sb->s_mkfs_time_hi = sb->s_lastcheck_hi = (__u8)(f->now >> 32);
	sb->s_def_hash_version = EXT2_HASH_HALF_MD4;
	sb->s_checksum_type = EXT2_CRC32C_CHKSUM;
	sb->s_max_mnt_count = -1;
	ext2fs_init_csum_seed(f->fs); /* from the UUID: all checksums from here on depend on it */
	return 0;
}

static errcode_t allocate_tables(struct format *f)
{
	struct ext2_super_block *sb = f->fs->super;

	for (dgrp_t g = 0; g < f->fs->group_desc_count; g++) {
		errcode_t rc = ext2fs_allocate_group_table(f->fs, g, f->fs->block_map);

		if (rc != 0)
			return rc;
		if (ext4io_step(&f->x) != 0)
			return EIO; /* and latched, which is what counts */
	}
	/* All that is allocated now, and the journal later, is what 'df' does not count. */
	sb->s_overhead_clusters = (__u32)(ext2fs_blocks_count(sb) - ext2fs_free_blocks_count(sb));
	return 0;
}

/* Of inodes that count as used; the rest is the kernel's, as no EXT2_BG_INODE_ZEROED is set. */
static errcode_t zero_used_inodes(struct format *f)
{
	for (dgrp_t g = 0; g < f->fs->group_desc_count; g++) {
		uint64_t inodes = f->fs->super->s_inodes_per_group;
		uint64_t used = inodes - ext2fs_bg_itable_unused(f->fs, g);
		uint64_t n;

		if (used == 0)
			continue;
		if (num_align_up(used * INODE_BYTES, BLOCK_BYTES, &n) != 0)
			return EINVAL;
		if (ext4io_zero(&f->x, ext2fs_inode_table_loc(f->fs, g) * BLOCK_BYTES, n) != 0)
			return EIO; /* as above */
	}
	return 0;
}

/* An all-zero inode has no valid checksum, and e2fsck looks at the reserved ones. */
static errcode_t write_reserved_inodes(struct format *f)
{
	uint8_t zeros[INODE_BYTES] __attribute__((aligned(8))) = { 0 };
	errcode_t rc = 0;

	for (ext2_ino_t ino = 1; rc == 0 && ino < EXT2_FIRST_INODE(f->fs->super); ino++)
		rc = ext2fs_write_inode_full(f->fs, ino, (struct ext2_inode *)zeros, INODE_BYTES);
	return rc;
}

static errcode_t make_root(struct format *f)
{
	f->fs->umask = 022;
	return ext2fs_mkdir(f->fs, EXT2_ROOT_INO, EXT2_ROOT_INO, NULL);
}

/* libext2fs 1.47.0 can lose an ENOMEM there: the size grows and no block is mapped. */
static errcode_t expand_dir(ext2_filsys fs, ext2_ino_t ino, blk64_t new_block)
{
	blk64_t where = 0;
	errcode_t rc = ext2fs_expand_dir(fs, ino);

	if (rc == 0)
		rc = ext2fs_bmap2(fs, ino, NULL, NULL, 0, new_block, NULL, &where);
	return rc == 0 && where == 0 ? EXT2_ET_EXPAND_DIR_ERR : rc;
}

static errcode_t make_lost_found(struct format *f)
{
	const char *name = "lost+found";
	ext2_ino_t ino;
	errcode_t rc;

	f->fs->umask = 077;
	rc = ext2fs_mkdir(f->fs, EXT2_ROOT_INO, 0, name);
	if (rc == 0)
		rc = ext2fs_lookup(f->fs, EXT2_ROOT_INO, name, (int)strlen(name), NULL, &ino);
	for (blk64_t block = 1; rc == 0 && block < LOST_FOUND_BLOCKS; block++)
		rc = expand_dir(f->fs, ino, block);
	return rc;
}

static errcode_t reserve_inodes(struct format *f)
{
	ext2fs_inode_alloc_stats2(f->fs, EXT2_BAD_INO, +1, 0);
	for (ext2_ino_t ino = EXT2_ROOT_INO + 1; ino < EXT2_FIRST_INODE(f->fs->super); ino++)
		ext2fs_inode_alloc_stats2(f->fs, ino, +1, 0);
	return ext2fs_update_bb_inode(f->fs, NULL);
}

static errcode_t make_resize_inode(struct format *f)
{
	return ext2fs_create_resize_inode(f->fs);
}

static uint32_t journal_blocks(uint64_t blocks)
{
	int n = ext2fs_default_journal_size(blocks);

	return n < 0 ? 0 : (uint32_t)n;
}

/* Without the mount check: the library would look for the name of our blkio in /proc/mounts. */
static errcode_t make_journal(struct format *f)
{
	uint32_t n = journal_blocks(ext2fs_blocks_count(f->fs->super));
	errcode_t rc = ext2fs_add_journal_inode2(f->fs, n, ~UINT64_C(0),
						 EXT2_MKJOURNAL_NO_MNT_CHECK);

	f->fs->super->s_overhead_clusters += n;
	return rc;
}

/* ext2fs_flush(): descriptors and backups, a flush, the primary superblock, a flush. */
static errcode_t write_supers(struct format *f)
{
	errcode_t rc = ext2fs_write_bitmaps(f->fs);
	uint64_t coming = (f->fs->desc_blocks + UINT64_C(1)) * BLOCK_BYTES;

	if (rc != 0)
		return rc;
	f->fs->super->s_kbytes_written = 1 + (f->x.written_bytes + coming) / NUM_KIB;
	return ext2fs_flush(f->fs);
}

static const struct {
	const char *what;
	errcode_t (*run)(struct format *f);
} steps[] = {
	{ "wipe old signatures", wipe },
	{ "lay out the file system", initialize },
	{ "allocate the group tables", allocate_tables },
	{ "zero the used inodes", zero_used_inodes },
	{ "write the reserved inodes", write_reserved_inodes },
	{ "make the root folder", make_root },
	{ "make lost+found", make_lost_found },
	{ "reserve inodes", reserve_inodes },
	{ "make the resize inode", make_resize_inode },
	{ "make the journal", make_journal },
	{ "write the superblocks", write_supers },
};

static int check_params(const struct blkio *io, const struct ext4fmt_params *params, struct err *e)
{
	char have[NUM_BYTES_TEXT];
	char want[NUM_BYTES_TEXT];

	if (params->label != NULL && strlen(params->label) > EXT4FMT_LABEL_MAX)
		return err_set(e, -EINVAL, "label '%s' is longer than %d bytes", params->label,
			       EXT4FMT_LABEL_MAX);
	if (io->size_bytes < EXT4FMT_MIN_BYTES)
		return err_set(e, -EINVAL, "'%s' has %s, ext4 needs at least %s", io->name,
			       num_format_bytes(io->size_bytes, have),
			       num_format_bytes(EXT4FMT_MIN_BYTES, want));
	/* The resize inode, one of our fixed features, addresses blocks with 32 bits. */
	if (io->size_bytes >= HUGE_BYTES)
		return err_set(e, -EINVAL, "'%s' has %s, ext4 must be smaller than %s", io->name,
			       num_format_bytes(io->size_bytes, have),
			       num_format_bytes(HUGE_BYTES, want));
	if (!io->writable)
		return err_set(e, -EROFS, "'%s' is not open for writing", io->name);
	return 0;
}

static int run_steps(struct format *f, struct err *e)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < sizeof(steps) / sizeof(steps[0]); i++)
		code = format_result(f, steps[i].run(f), steps[i].what, e);
	if (code == 0)
		code = progress_step(f->x.progress, EXT4IO_PHASE, f->x.total_bytes,
				     f->x.total_bytes, e);
	return code;
}

int ext4fmt_write(const struct blkio *io, const struct ext4fmt_params *params,
		  const struct progress *p, struct err *e)
{
	struct format f = { .x = { .io = io, .progress = p }, .params = params };
	int code = check_params(io, params, e);

	if (code != 0)
		return code;
	if (getrandom(f.hash_seed, sizeof(f.hash_seed), 0) < 0) /* 16 bytes come whole */
		return err_errno(e, "format '%s': random numbers", io->name);
	f.now = (uint64_t)time(NULL);
	f.blocks = io->size_bytes / BLOCK_BYTES;
	f.x.total_bytes = 2 * WIPE_BYTES + (uint64_t)journal_blocks(f.blocks) * BLOCK_BYTES;
	code = run_steps(&f, e);
	ext2fs_free(f.fs); /* NULL is fine; writes nothing */
	return code;
}
