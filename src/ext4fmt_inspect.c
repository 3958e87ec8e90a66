/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is it a whole ext4? What libext2fs can tell without e2fsck, and without a device. */
#include "ext4fmt.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <et/com_err.h>
#include <ext2fs/ext2fs.h>

#include "ext4io.h"

#define FLAGS (EXT2_FLAG_64BITS | EXT2_FLAG_SOFTSUPP_FEATURES)

/* The first problem stays. */
__attribute__((format(printf, 2, 3)))
static void complain(struct ext4fmt_health *h, const char *fmt, ...)
{
	va_list args;

	if (h->problems++)
		return;
	va_start(args, fmt);
	(void)vsnprintf(h->problem, sizeof(h->problem), fmt, args); /* a cut text is still a text */
	va_end(args);
}

/* That there is no memory is no word about the file system. */
static void complain_code(struct ext4io *x, struct ext4fmt_health *h, const char *what, errcode_t rc)
{
	errcode_t present = add_error_table(&et_ext2_error_table);

	if (rc == EXT2_ET_NO_MEMORY || rc == ENOMEM)
		x->code = err_set(&x->first, -ENOMEM, "'%s': look at its %s: out of memory", x->io->name, what);
	complain(h, "%s: %s", what, error_message(rc));
	if (!present)
		(void)remove_error_table(&et_ext2_error_table); /* fails only if it is not there */
}

/* The superblock, else its first backup, which lies in group 1 whatever else was destroyed. */
static ext2_filsys open_any(struct ext4io *x, struct ext4fmt_health *h)
{
	ext2_filsys fs = NULL;
	errcode_t first = ext2fs_open(x->io->name, FLAGS, 0, 0, ext4io_expose(x), &fs);

	if (first)
		complain_code(x, h, "superblock", first);
	for (unsigned block = 4096; first && !fs && !x->code && block >= 1024; block /= 2) {
		unsigned at = 8 * block + (block == 1024);

		if ((uint64_t)(at + 1) * block <= x->io->size_bytes &&
		    ext2fs_open(x->io->name, FLAGS, (int)at, block, ext4io_expose(x), &fs))
			fs = NULL;
	}
	(void)ext4io_expose(NULL); /* in case the library failed before it came to open */
	h->from_backup = first && fs;
	return fs;
}

static void check_groups(ext2_filsys fs, struct ext4fmt_health *h)
{
	uint64_t free_inodes = 0, free_blocks = 0;
	dgrp_t bad = 0, first = 0;

	for (dgrp_t g = 0; g < fs->group_desc_count; g++) {
		if (!ext2fs_group_desc_csum_verify(fs, g) && !bad++)
			first = g;
		free_inodes += ext2fs_bg_free_inodes_count(fs, g);
		free_blocks += ext2fs_bg_free_blocks_count(fs, g);
	}
	if (bad)
		complain(h, "%u of %u group descriptors have a wrong checksum, the first is "
				  "%u's", bad, fs->group_desc_count, first);
	if (h->journal || h->from_backup)
		return; /* counts are settled when it is unmounted, and not copied to the backups */
	if (free_inodes != fs->super->s_free_inodes_count)
		complain(h, "the superblock counts %u free inodes, the groups %llu", fs->super->s_free_inodes_count,
			 (unsigned long long)free_inodes);
	if (free_blocks * (uint64_t)EXT2FS_CLUSTER_RATIO(fs) != ext2fs_free_blocks_count(fs->super))
		complain(h, "the superblock counts %llu free blocks, the groups %llu",
			 (unsigned long long)ext2fs_free_blocks_count(fs->super), (unsigned long long)free_blocks);
}

static void check_contents(struct ext4io *x, ext2_filsys fs, struct ext4fmt_health *h)
{
	struct ext2_inode root;
	errcode_t rc = ext2fs_check_desc(fs);

	if (rc)
		complain_code(x, h, "group descriptors", rc);
	else
		check_groups(fs, h);
	rc = ext2fs_read_bitmaps(fs);
	if (rc)
		complain_code(x, h, "bitmaps", rc);
	rc = ext2fs_read_inode(fs, EXT2_ROOT_INO, &root);
	if (rc)
		complain_code(x, h, "root folder", rc);
	else if (!LINUX_S_ISDIR(root.i_mode))
		complain(h, "root folder: its inode is no folder");
}

/* The library tells bad bit numbers on standard error by itself. */
static void say_nothing(const char *whoami, errcode_t code, const char *fmt, va_list args)
{
	(void)whoami;
	(void)code;
	(void)fmt;
	(void)args;
}

int ext4fmt_inspect(const struct blkio *io, struct ext4fmt_health *ret, struct err *e)
{
	struct ext4fmt_health h = { .problems = 0 };
	struct ext4io x = { .io = io };
	ext2_filsys fs;

	(void)set_com_err_hook(say_nothing);
	fs = open_any(&x, &h);
	if (fs) {
		h.opened = true;
		h.journal = ext2fs_has_feature_journal_needs_recovery(fs->super);
		h.inodes = fs->super->s_inodes_count;
		h.used_inodes = h.inodes - fs->super->s_free_inodes_count;
		check_contents(&x, fs, &h);
		ext2fs_free(fs); /* writes nothing */
	}
	(void)reset_com_err_hook();
	if (x.code == -ENOMEM)
		return err_set(e, x.code, "%s", x.first.text);
	if (x.code) { /* a sector that is bad is a finding, no more */
		h.problems = 0;
		complain(&h, "%s", x.first.text);
	}
	*ret = h;
	return 0;
}
