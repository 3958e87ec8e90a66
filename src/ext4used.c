/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ext4used.h"

#include <errno.h>
#include <string.h>

#include <et/com_err.h>

#include "ext4fmt.h"
#include "ext4io.h"

#define SUPER_OFFSET 1024

struct ext4used {
	struct ext4io x;
	ext2_filsys fs;
	struct ext4used_info info;
};

void ext4used_free(struct ext4used *u)
{
	if (!u)
		return;
	ext2fs_free(u->fs); /* NULL is fine; writes nothing */
	free(u);
}

/* What the device said comes before what the library made of it. */
static int open_error(const struct ext4used *u, errcode_t rc, struct err *e)
{
	const char *name = u->x.io->name;
	errcode_t present;
	int code;

	if (u->x.code)
		return err_set(e, u->x.code, "file system in '%s': %s", name, u->x.first.text);
	if (rc == EXT2_ET_NO_MEMORY)
		return err_set(e, -ENOMEM, "file system in '%s': out of memory", name);
	if (rc == EXT2_ET_BAD_MAGIC)
		return err_set(e, -ENODATA, "'%s' holds no ext4", name);
	present = add_error_table(&et_ext2_error_table); /* the library's own texts */
	code = err_set(e, -EIO, "file system in '%s': %s: check it (e2fsck -f)", name, error_message(rc));
	if (present == 0)
		(void)remove_error_table(&et_ext2_error_table); /* fails only if it is not there */
	return code;
}

/* Not unmounted, an error that the kernel has seen, unreadable: blocks may be in use of which the bitmaps do not know. */
static int look_at_bitmaps(struct ext4used *u, struct err *e)
{
	struct ext2_super_block *sb = u->fs->super;
	bool is_settled = !ext2fs_has_feature_journal_needs_recovery(sb) && (sb->s_state & EXT2_VALID_FS) &&
			  !(sb->s_state & EXT2_ERROR_FS);
	errcode_t rc = is_settled ? ext2fs_read_block_bitmap(u->fs) : 0;

	if (u->x.code || rc == EXT2_ET_NO_MEMORY)
		return open_error(u, rc, e);
	u->info.is_whole = !is_settled || rc;
	return 0;
}

static int count(void *ctx, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	uint64_t *sum = ctx;

	(void)offset_bytes;
	(void)e;
	*sum += n;
	return 0;
}

static int look(struct ext4used *u, const struct blkio *io, struct err *e)
{
	errcode_t rc;
	int code;

	u->x = (struct ext4io){ .io = io };
	rc = ext2fs_open(io->name, EXT2_FLAG_64BITS, 0, 0, ext4io_expose(&u->x), &u->fs);
	(void)ext4io_expose(NULL); /* in case the library failed before it came to open */
	if (rc)
		return open_error(u, rc, e);
	u->info.block_bytes = u->fs->blocksize;
	u->info.fs_bytes = ext2fs_blocks_count(u->fs->super) * u->fs->blocksize;
	if (u->info.fs_bytes > io->size_bytes || u->info.fs_bytes < EXT4USED_HEAD_BYTES)
		return err_set(e, -EINVAL, "'%s' has %llu bytes, and its file system says that it has %llu", io->name,
			       (unsigned long long)io->size_bytes, (unsigned long long)u->info.fs_bytes);
	code = look_at_bitmaps(u, e);
	u->info.used_bytes = EXT4USED_HEAD_BYTES;
	return code ? code : ext4used_each(u, count, &u->info.used_bytes, e);
}

int ext4used_open(const struct blkio *io, struct ext4used **ret, struct ext4used_info *ret_info, struct err *e)
{
	AUTO(ext4used) struct ext4used *u = calloc(1, sizeof(*u));
	int code = u ? look(u, io, e) : err_set(e, -ENOMEM, "file system in '%s': out of memory", io->name);

	if (code)
		return code;
	*ret_info = u->info;
	*ret = TAKE(u);
	return 0;
}

/* The next run of blocks in use from *block on. ENOENT: no more. */
static errcode_t next_run(const struct ext4used *u, blk64_t *block, blk64_t *ret_end)
{
	blk64_t last = ext2fs_blocks_count(u->fs->super) - 1;
	errcode_t rc = *block > last ? ENOENT : ext2fs_find_first_set_block_bitmap2(u->fs->block_map, *block, last, block);

	if (rc)
		return rc;
	rc = ext2fs_find_first_zero_block_bitmap2(u->fs->block_map, *block, last, ret_end);
	if (rc == ENOENT)
		*ret_end = last + 1;
	return rc == ENOENT ? 0 : rc;
}

int ext4used_each(const struct ext4used *u, ext4used_fn *fn, void *ctx, struct err *e)
{
	blk64_t block = u->fs->super->s_first_data_block, end = 0;
	errcode_t rc = 0;
	int code = 0;

	if (u->info.is_whole)
		return fn(ctx, EXT4USED_HEAD_BYTES, u->info.fs_bytes - EXT4USED_HEAD_BYTES, e);
	for (; !code && !(rc = next_run(u, &block, &end)); block = end) {
		uint64_t from = block * u->fs->blocksize, to = end * u->fs->blocksize;

		if (from < EXT4USED_HEAD_BYTES)
			from = EXT4USED_HEAD_BYTES;
		if (from < to)
			code = fn(ctx, from, to - from, e);
	}
	return code || rc == ENOENT ? code : open_error(u, rc, e);
}

int ext4used_head(const struct ext4used *u, const uint8_t uuid[16], const char *label, uint8_t ret[EXT4USED_HEAD_BYTES],
		  bool *ret_renamed, bool *ret_seeded, struct err *e)
{
	struct ext2_super_block *known = u->fs->super;
	struct ext2_super_block sb;
	int code = blkio_read(u->x.io, 0, ret, EXT4USED_HEAD_BYTES, e);

	if (code)
		return code;
	memcpy(&sb, ret + SUPER_OFFSET, sizeof(sb)); /* as it lies on the disk: little-endian */
	memset(sb.s_volume_name, 0, sizeof(sb.s_volume_name));
	memcpy(sb.s_volume_name, label, strnlen(label, EXT4FMT_LABEL_MAX)); /* 16 bytes need no NUL */
	*ret_renamed = ext2fs_has_feature_metadata_csum(known) || !ext2fs_has_feature_gdt_csum(known);
	*ret_seeded = ext2fs_has_feature_metadata_csum(known) && !ext2fs_has_feature_csum_seed(known);
	if (*ret_renamed)
		memcpy(sb.s_uuid, uuid, sizeof(sb.s_uuid));
	if (*ret_seeded) {
		sb.s_feature_incompat |= ext2fs_cpu_to_le32(EXT4_FEATURE_INCOMPAT_CSUM_SEED);
		sb.s_checksum_seed = ext2fs_cpu_to_le32(u->fs->csum_seed);
	}
	(void)ext2fs_superblock_csum_set(u->fs, &sb); /* cannot fail; without the feature it does nothing */
	memcpy(ret + SUPER_OFFSET, &sb, sizeof(sb));
	return 0;
}
