/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The label of an ext4 that is not mounted. */
#include "ext4fmt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <ext2fs/ext2fs.h>

#include "ext4io.h"

/* Documentation/filesystems/ext4/super.rst */
#define SUPER_OFFSET 1024
#define SUPER_BYTES 1024
#define SUPER_MAGIC 0x38
#define SUPER_LABEL 0x78

int ext4fmt_get_label(const struct blkio *io, char ret[EXT4FMT_LABEL_MAX + 1], struct err *e)
{
	uint8_t super[SUPER_BYTES];
	int code = blkio_read(io, SUPER_OFFSET, super, sizeof(super), e);

	if (code)
		return code;
	if (super[SUPER_MAGIC] != (EXT2_SUPER_MAGIC & 0xff) || super[SUPER_MAGIC + 1] != EXT2_SUPER_MAGIC >> 8)
		return err_set(e, -ENODATA, "'%s' holds no ext4", io->name);
	memcpy(ret, super + SUPER_LABEL, EXT4FMT_LABEL_MAX);
	ret[EXT4FMT_LABEL_MAX] = '\0';
	return 0;
}

/* What the device said comes before what the library made of it. */
static int result(const struct ext4io *x, errcode_t rc, const char *what, struct err *e)
{
	if (!rc && !x->code)
		return 0;
	if (x->code)
		return err_set(e, x->code, "%s '%s': %s", what, x->io->name, x->first.text);
	return err_set(e, rc < 256 ? -(int)rc : -EIO, "%s '%s': %s", what, x->io->name, error_message(rc));
}

static errcode_t change(ext2_filsys fs, const char *label)
{
	if (ext2fs_has_feature_journal_needs_recovery(fs->super))
		return EBUSY;
	memset(fs->super->s_volume_name, 0, sizeof(fs->super->s_volume_name));
	memcpy(fs->super->s_volume_name, label, strlen(label)); /* 16 bytes need no NUL */
	ext2fs_mark_super_dirty(fs);
	return ext2fs_flush(fs);
}

int ext4fmt_set_label(const struct blkio *io, const char *label, struct err *e)
{
	struct ext4io x = { .io = io };
	ext2_filsys fs = NULL;
	errcode_t rc;

	if (strlen(label) > EXT4FMT_LABEL_MAX)
		return err_set(e, -EINVAL, "label '%s' is longer than %d bytes", label, EXT4FMT_LABEL_MAX);
	rc = ext2fs_open(io->name, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0, 0, ext4io_expose(&x), &fs);
	(void)ext4io_expose(NULL); /* in case the library failed before it came to open */
	if (!rc)
		rc = change(fs, label);
	ext2fs_free(fs); /* NULL is fine; writes nothing */
	if (rc == EBUSY && !x.code)
		return err_set(e, -EBUSY, "'%s' was not unmounted: its journal is to be replayed first", io->name);
	return result(&x, rc, "set the label of", e);
}
