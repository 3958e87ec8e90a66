/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ntfs_device_operations that libntfs-3g works through: bytes of a blkio, with the first error latched. */
#include "ntfsvol_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct ntfsvol_dev *dev_of(struct ntfs_device *dev)
{
	return dev->d_private;
}

/*
 * libntfs-3g drops errors on some paths (an injected EIO was swallowed, and the volume marked clean), so the first one is
 * kept here, and a commit fails by it whatever the library returned.
 */
static s64 latch(struct ntfsvol_dev *d, const struct err *why)
{
	if (!d->first.code)
		d->first = *why;
	errno = -why->code;
	return -1;
}

static int dev_open(struct ntfs_device *dev, int flags)
{
	if (NDevOpen(dev)) {
		errno = EBUSY;
		return -1;
	}
	if ((flags & O_ACCMODE) == O_RDONLY)
		NDevSetReadOnly(dev);
	NDevSetOpen(dev);
	return 0;
}

static int dev_close(struct ntfs_device *dev)
{
	ntfsvol_dev_mark_closed(dev);
	return 0;
}

static s64 dev_pread(struct ntfs_device *dev, void *buf, s64 count, s64 offset)
{
	struct ntfsvol_dev *d = dev_of(dev);
	struct err why = ERR_INIT;
	uint64_t n = (uint64_t)count;

	if (count < 0 || offset < 0) {
		errno = EINVAL;
		return -1;
	}
	if ((uint64_t)offset >= d->io->size_bytes)
		return 0;
	if (n > d->io->size_bytes - (uint64_t)offset)
		n = d->io->size_bytes - (uint64_t)offset; /* as pread(2) at the end of a file */
	if (blkio_read(d->io, (uint64_t)offset, buf, (size_t)n, &why))
		return latch(d, &why);
	return (s64)n;
}

static s64 dev_pwrite(struct ntfs_device *dev, const void *buf, s64 count, s64 offset)
{
	struct ntfsvol_dev *d = dev_of(dev);
	struct err why = ERR_INIT;

	if (!d->writable || NDevReadOnly(dev)) {
		errno = EROFS;
		return -1;
	}
	if (count < 0 || offset < 0) {
		errno = EINVAL;
		return -1;
	}
	/*
	 * After an error nothing more goes out, and the library is told that all is well: its own error paths free
	 * twice or leak (2022.10.3), and whoever asked it for something looks at the latch.
	 */
	if (!d->closed && !d->first.code && blkio_write(d->io, (uint64_t)offset, buf, (size_t)count, &why))
		(void)latch(d, &why);
	return count;
}

/* Flushing is the commit's business: what libntfs-3g wants synced is in memory. */
static int dev_sync(struct ntfs_device *dev)
{
	(void)dev;
	return 0;
}

/* The mount asks with it whether the last sector is there; nothing is read or written at a position. */
static s64 dev_seek(struct ntfs_device *dev, s64 offset, int whence)
{
	if (whence != SEEK_SET || offset < 0 || (uint64_t)offset > dev_of(dev)->io->size_bytes) {
		errno = EINVAL;
		return -1;
	}
	return offset;
}

static s64 dev_read(struct ntfs_device *dev, void *buf, s64 count)
{
	(void)dev, (void)buf, (void)count;
	errno = ESPIPE;
	return -1;
}

static s64 dev_write(struct ntfs_device *dev, const void *buf, s64 count)
{
	(void)dev, (void)buf, (void)count;
	errno = ESPIPE;
	return -1;
}

static int dev_stat(struct ntfs_device *dev, struct stat *buf)
{
	memset(buf, 0, sizeof(*buf));
	buf->st_mode = S_IFREG;
	buf->st_size = (off_t)dev_of(dev)->io->size_bytes;
	return 0;
}

static int dev_ioctl(struct ntfs_device *dev, unsigned long request, void *argp)
{
	(void)dev, (void)request, (void)argp;
	errno = EOPNOTSUPP;
	return -1;
}

struct ntfs_device_operations ntfsvol_device_ops = {
	.open = dev_open,
	.close = dev_close,
	.seek = dev_seek,
	.read = dev_read,
	.write = dev_write,
	.pread = dev_pread,
	.pwrite = dev_pwrite,
	.sync = dev_sync,
	.stat = dev_stat,
	.ioctl = dev_ioctl,
};
