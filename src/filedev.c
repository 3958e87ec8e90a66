/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "filedev.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILEDEV_BOUNCE (1024u * 1024)
#define FILEDEV_ALIGN_MIN 4096u

struct filedev {
	const struct blkio *io; /* back pointer, for name and sector; outlives this */
	int fd;
	bool is_block;
	uint8_t *bounce;        /* NULL: reads are buffered */
};

static int filedev_errno(const struct filedev *f, const char *verb, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	return err_errno(e, "'%s': %s %" PRIu64 " bytes at %" PRIu64, f->io->name, verb, n, offset_bytes);
}

/* The end of a file came before its size: it was cut while it was open. */
static int filedev_short(const struct filedev *f, const char *verb, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	return err_set(e, -EIO, "'%s': %s %" PRIu64 " bytes at %" PRIu64 ": transfer ended early", f->io->name, verb, n,
		       offset_bytes);
}

static int filedev_read_buffered(const struct filedev *f, uint64_t offset_bytes, uint8_t *p, size_t n, struct err *e)
{
	while (n > 0) {
		ssize_t got = pread(f->fd, p, n, (off_t)offset_bytes);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return filedev_errno(f, "read", offset_bytes, n, e);
		if (got == 0)
			return filedev_short(f, "read", offset_bytes, n, e);
		offset_bytes += (uint64_t)got;
		p += got;
		n -= (size_t)got;
	}
	return 0;
}

/* O_DIRECT wants offset, length and memory aligned to the logical sector; a device's size is a multiple of it. */
static int filedev_read_direct(const struct filedev *f, uint64_t offset_bytes, uint8_t *p, size_t n, struct err *e)
{
	uint64_t sector = f->io->sector_bytes;

	while (n > 0) {
		uint64_t start = offset_bytes & ~(sector - 1);
		size_t skip = (size_t)(offset_bytes - start);
		size_t want = n < FILEDEV_BOUNCE - skip ? (size_t)((skip + n + sector - 1) & ~(sector - 1))
							: FILEDEV_BOUNCE;
		ssize_t got = pread(f->fd, f->bounce, want, (off_t)start);
		size_t use;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return filedev_errno(f, "read", offset_bytes, n, e);
		if ((size_t)got <= skip)
			return filedev_short(f, "read", offset_bytes, n, e);
		use = (size_t)got - skip < n ? (size_t)got - skip : n;
		memcpy(p, f->bounce + skip, use);
		offset_bytes += use;
		p += use;
		n -= use;
	}
	return 0;
}

static int filedev_read_at(void *ctx, uint64_t offset_bytes, void *buf, size_t n, struct err *e)
{
	const struct filedev *f = ctx;

	if (f->bounce != NULL)
		return filedev_read_direct(f, offset_bytes, buf, n, e);
	return filedev_read_buffered(f, offset_bytes, buf, n, e);
}

static int filedev_write_at(void *ctx, uint64_t offset_bytes, const void *buf, size_t n, struct err *e)
{
	const struct filedev *f = ctx;
	const uint8_t *p = buf;

	while (n > 0) {
		ssize_t put = pwrite(f->fd, p, n, (off_t)offset_bytes);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return filedev_errno(f, "write", offset_bytes, n, e);
		if (put == 0)
			return filedev_short(f, "write", offset_bytes, n, e);
		offset_bytes += (uint64_t)put;
		p += put;
		n -= (size_t)put;
	}
	return 0;
}

static bool filedev_allocate(const struct filedev *f, int mode, uint64_t offset_bytes, uint64_t n)
{
	int rc;

	do {
		rc = fallocate(f->fd, mode | FALLOC_FL_KEEP_SIZE, (off_t)offset_bytes, (off_t)n);
	} while (rc != 0 && errno == EINTR);
	return rc == 0;
}

static bool filedev_is_unsupported(int code)
{
	return code == EOPNOTSUPP || code == ENOSYS;
}

static int filedev_zero_at(void *ctx, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	const struct filedev *f = ctx;

	/* a block device refuses a range that is not aligned to its sectors; such a range is small */
	if (f->is_block && ((offset_bytes | n) & (f->io->sector_bytes - 1)) != 0)
		return err_set(e, -EOPNOTSUPP, "'%s': range not aligned to sectors", f->io->name);
	if (filedev_allocate(f, FALLOC_FL_ZERO_RANGE, offset_bytes, n))
		return 0;
	if (filedev_is_unsupported(errno) && !f->is_block &&
	    filedev_allocate(f, FALLOC_FL_PUNCH_HOLE, offset_bytes, n)) /* tmpfs */
		return 0;
	if (filedev_is_unsupported(errno))
		return err_set(e, -EOPNOTSUPP, "'%s': no fallocate", f->io->name);
	return filedev_errno(f, "zero", offset_bytes, n, e);
}

static int filedev_flush(void *ctx, struct err *e)
{
	const struct filedev *f = ctx;

	/* never repeated: a second fdatasync after EIO reports success although the pages are lost */
	if (fdatasync(f->fd) != 0)
		return err_errno(e, "'%s': flush", f->io->name);
	return 0;
}

static void filedev_release(void *ctx)
{
	struct filedev *f = ctx;

	if (f->fd >= 0)
		(void)close(f->fd); /* what matters was flushed before */
	free(f->bounce);
	free(f);
}

static const struct blkio_ops filedev_ops = {
	.read_at = filedev_read_at,
	.write_at = filedev_write_at,
	.zero_at = filedev_zero_at,
	.flush = filedev_flush,
	.release = filedev_release,
};

static int filedev_busy(const char *path, struct err *e)
{
	return err_refuse(e, "busy",
			  "'%s' is in use: a mount (perhaps in another mount namespace), a device-mapper, loop or RAID "
			  "device or swap holds it, and two writers would damage the volume; unmount or detach it "
			  "(lsblk and findmnt show what it is), then retry",
			  path);
}

static int filedev_locked(const char *path, int fd, struct err *e)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	/* an open file description lock has no owner: pid -1 */
	if (fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0)
		return err_refuse(e, "busy",
				  "'%s' is locked by process %ld, probably ntfs-3g, and two writers would damage the "
				  "volume; unmount it, then retry",
				  path, (long)lock.l_pid);
	return err_refuse(e, "busy",
			  "'%s' is locked by another program, perhaps a second wubi-disk, and two writers would damage "
			  "the volume; let it finish, then retry",
			  path);
}

static int filedev_lock(const char *path, int fd, struct err *e)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	if (errno == EAGAIN || errno == EACCES)
		return filedev_locked(path, fd, e);
	return err_errno(e, "lock '%s'", path);
}

static int filedev_denied(const char *path, enum filedev_mode mode, bool is_block, struct err *e)
{
	int code = errno;
	const char *remedy = is_block ? "run as root" : "run as root, or as the owner of the file";

	if (code == EROFS)
		remedy = is_block ? "the device is read-only" : "the file is on a file system that is read-only";
	else if (geteuid() == 0 && mode == FILEDEV_WRITE) /* what denies even root */
		remedy = is_block ? "the device is read-only (blockdev --setrw)" : "the file is read-only (lsattr)";
	else if (geteuid() == 0)
		remedy = "even root may not";
	return err_set(e, -code, "open '%s': %s; %s", path, strerror(code), remedy);
}

static int filedev_open_fd(const char *path, enum filedev_mode mode, bool is_block, int *ret_fd, struct err *e)
{
	int flags = O_CLOEXEC | O_NOCTTY;
	int fd;

	if (mode == FILEDEV_WRITE)
		flags |= is_block ? O_RDWR | O_EXCL : O_RDWR;
	else
		flags |= is_block ? O_RDONLY | O_DIRECT : O_RDONLY;
	fd = open(path, flags);
	if (fd < 0 && errno == EINVAL && (flags & O_DIRECT) != 0)
		fd = open(path, flags & ~O_DIRECT);
	if (fd < 0 && mode == FILEDEV_WRITE && (errno == EBUSY || errno == ETXTBSY))
		return filedev_busy(path, e);
	if (fd < 0 && (errno == EACCES || errno == EPERM || errno == EROFS))
		return filedev_denied(path, mode, is_block, e);
	if (fd < 0)
		return err_errno(e, "open '%s'", path);
	*ret_fd = fd;
	return 0;
}

/* fd is open: what is it, how large, which sectors? */
static int filedev_measure(struct filedev *f, struct blkio *io, const struct stat *expected, struct err *e)
{
	struct stat st;
	int sector = 0;

	if (fstat(f->fd, &st) != 0)
		return err_errno(e, "'%s'", f->io->name);
	if ((st.st_mode & S_IFMT) != (expected->st_mode & S_IFMT))
		return err_set(e, -EAGAIN, "'%s': was replaced while it was opened", f->io->name);
	io->sector_bytes = 512;
	if (!f->is_block) {
		io->size_bytes = (uint64_t)st.st_size;
		return 0;
	}
	if (ioctl(f->fd, BLKGETSIZE64, &io->size_bytes) != 0 || ioctl(f->fd, BLKSSZGET, &sector) != 0)
		return err_errno(e, "'%s': size", f->io->name);
	if (sector < 512 || sector > (int)FILEDEV_BOUNCE || (sector & (sector - 1)) != 0)
		return err_set(e, -EINVAL, "'%s': logical sector of %d bytes", f->io->name, sector);
	io->sector_bytes = (uint32_t)sector;
	return 0;
}

static int filedev_prepare(struct filedev *f, struct blkio *io, const struct stat *st, struct err *e)
{
	int rc = filedev_measure(f, io, st, e);
	size_t align = io->sector_bytes > FILEDEV_ALIGN_MIN ? io->sector_bytes : FILEDEV_ALIGN_MIN;
	int flags;

	if (rc != 0)
		return rc;
	if (io->writable && !f->is_block)
		return filedev_lock(f->io->name, f->fd, e);
	if (io->writable) /* the cache may hold what was there before a device-mapper target wrote */
		return filedev_drop_cache(io, e);
	flags = fcntl(f->fd, F_GETFL);
	if (flags < 0 || (flags & O_DIRECT) == 0)
		return 0;
	if (posix_memalign((void **)&f->bounce, align, FILEDEV_BOUNCE) != 0) {
		f->bounce = NULL;
		return err_set(e, -ENOMEM, "'%s': out of memory", f->io->name);
	}
	return 0;
}

static int filedev_stat(const char *path, struct stat *ret, struct err *e)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return err_errno(e, "open '%s'", path);
	if (!S_ISBLK(st.st_mode) && !S_ISREG(st.st_mode))
		return err_refuse(e, "not-a-volume",
				  "'%s' is neither a block device nor a plain file, so it cannot hold an NTFS volume; "
				  "name the partition, such as /dev/sda2",
				  path);
	*ret = st;
	return 0;
}

int filedev_open(const char *path, enum filedev_mode mode, struct blkio **ret, struct err *e)
{
	AUTO(blkio) struct blkio *io = NULL;
	struct filedev *f;
	struct stat st = { 0 };
	int rc = filedev_stat(path, &st, e);

	if (rc != 0)
		return rc;
	f = calloc(1, sizeof(*f));
	io = calloc(1, sizeof(*io));
	if (f == NULL || io == NULL) {
		free(f);
		return err_set(e, -ENOMEM, "open '%s': out of memory", path);
	}
	f->io = io;
	f->fd = -1;
	f->is_block = S_ISBLK(st.st_mode);
	io->ops = &filedev_ops;
	io->ctx = f;
	io->writable = mode == FILEDEV_WRITE;
	/* cut short where it does not fit: for messages only */
	(void)snprintf(io->name, sizeof(io->name), "%s", path);
	rc = filedev_open_fd(path, mode, f->is_block, &f->fd, e);
	if (rc != 0)
		return rc;
	rc = filedev_prepare(f, io, &st, e);
	if (rc != 0)
		return rc;
	*ret = TAKE(io);
	return 0;
}

int filedev_drop_cache(const struct blkio *io, struct err *e)
{
	int code = posix_fadvise(filedev_fd(io), 0, 0, POSIX_FADV_DONTNEED);

	if (code == 0)
		return 0;
	errno = code;
	return err_errno(e, "'%s': drop the cache", io->name);
}

bool filedev_is_block(const struct blkio *io)
{
	const struct filedev *f = io->ctx;

	return io->ops == &filedev_ops && f->is_block;
}

int filedev_fd(const struct blkio *io)
{
	const struct filedev *f = io->ctx;

	return io->ops == &filedev_ops ? f->fd : -1;
}
