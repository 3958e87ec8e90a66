/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One thing that is no folder. */
#include "treecopy_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "auto.h"

#define LARGE_BYTES (256 * 1024) /* below, the kernel's own read-ahead and one read are as good */

struct content {
	const char *folder, *name;
	int source_fd, target_fd;
	uint64_t size;
	bool is_sparse;
	uint64_t at, end; /* what is read now; up to where there is data */
	uint32_t crc;
};

static int put(struct treecopy_job *j, const struct content *c, const char *data, size_t n, uint64_t at)
{
	uint64_t bytes = n;

	while (n > 0) {
		ssize_t done = pwrite(c->target_fd, data, n, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return treecopy_target_error(j, c->folder, c->name, "write");
		data += done;
		n -= (size_t)done;
		at += (uint64_t)done;
		atomic_fetch_add(&j->written_bytes, (uint64_t)done); /* only now: the flush that follows covers it */
	}
	atomic_fetch_add(&j->disk_bytes, treecopy_blocks(bytes));
	return 0;
}

static bool is_zero(const char *data, size_t n)
{
	return data[0] == 0 && memcmp(data, data + 1, n - 1) == 0;
}

/* Runs of blocks that are not all zeros. at is a multiple of the block. */
static int put_sparse(struct treecopy_job *j, const struct content *c, const char *data, size_t n)
{
	size_t first = 0, at = 0;
	int code = 0;

	while (at < n && !code) {
		size_t part = n - at < TREECOPY_BLOCK ? n - at : TREECOPY_BLOCK;

		if (is_zero(data + at, part)) {
			if (at > first)
				code = put(j, c, data + first, at - first, c->at + first);
			first = at + part;
		}
		at += part;
	}
	if (!code && at > first)
		code = put(j, c, data + first, at - first, c->at + first);
	return code;
}

/* On to the next data, if the file system knows where it is. Its blocks may be smaller than ours: then it ends at ours. */
static int skip_hole(struct treecopy_job *j, struct content *c)
{
	off_t data = lseek(c->source_fd, (off_t)c->at, SEEK_DATA), hole;
	uint64_t next = data < 0 ? c->size : (uint64_t)data / TREECOPY_BLOCK * TREECOPY_BLOCK;

	if (data < 0 && errno != ENXIO) { /* ENXIO: only a hole up to the end */
		c->end = c->size;
		return 0;
	}
	if (next > c->at) {
		c->crc = treecopy_crc_zeros(c->crc, next - c->at);
		c->at = next;
	}
	hole = data < 0 ? (off_t)c->size : lseek(c->source_fd, data, SEEK_HOLE);
	c->end = hole <= (off_t)c->at || (uint64_t)hole > c->size ? c->size : (uint64_t)hole;
	if (lseek(c->source_fd, (off_t)c->at, SEEK_SET) < 0)
		return treecopy_source_error(j, c->folder, c->name, "read");
	return 0;
}

/* Whole blocks but for the end of the file, so that holes are looked for at their places. */
static int fill(struct treecopy_job *j, const struct content *c, char *buffer, size_t wanted)
{
	size_t n = 0;

	while (n < wanted) {
		const char *why = "it has changed, or the medium is bad";
		ssize_t got = read(c->source_fd, buffer + n, wanted - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return treecopy_source_error(j, c->folder, c->name, "read");
		if (got == 0)
			return treecopy_fail(j, -EIO, "'%s/%s' of '%s': it ends at byte %" PRIu64 " of %" PRIu64 ": %s",
					     c->folder, c->name, j->source, c->at + n, c->size, why);
		n += (size_t)got;
	}
	return 0;
}

static int copy_content(struct treecopy_job *j, struct content *c, char *buffer)
{
	int code = 0;

	c->end = c->is_sparse ? 0 : c->size;
	while (c->at < c->size && !code) {
		uint64_t left;
		size_t n;

		if (treecopy_stopped(j))
			return -ECANCELED;
		if (c->at >= c->end) {
			code = skip_hole(j, c);
			if (code || c->at >= c->size)
				break;
		}
		left = treecopy_blocks(c->end) < c->size ? treecopy_blocks(c->end) - c->at : c->size - c->at;
		n = left < TREECOPY_BUFFER ? (size_t)left : TREECOPY_BUFFER;
		code = fill(j, c, buffer, n);
		if (code)
			break;
		code = c->is_sparse ? put_sparse(j, c, buffer, n) : put(j, c, buffer, n, c->at);
		c->crc = c->is_sparse && is_zero(buffer, n) ? treecopy_crc_zeros(c->crc, n) :
							     (uint32_t)crc32_z(c->crc, (const unsigned char *)buffer, n);
		c->at += n;
	}
	if (!code && c->is_sparse && ftruncate(c->target_fd, (off_t)c->size) < 0)
		code = treecopy_target_error(j, c->folder, c->name, "size");
	return code;
}

/* A file system that packs its data reports few blocks, too: then only zeros are looked for in vain. */
static bool has_holes(int fd, const struct stat *st)
{
	off_t hole;

	if (treecopy_content(st) < (uint64_t)st->st_size)
		return true;
	if (st->st_size < LARGE_BYTES)
		return false;
	hole = lseek(fd, 0, SEEK_HOLE);
	if (lseek(fd, 0, SEEK_SET) < 0) /* squashfs has no SEEK_HOLE of its own, and then this is the end of the file */
		return false;
	return hole >= 0 && hole < st->st_size;
}

static int copy_file(struct treecopy_job *j, const struct treecopy_folder *f, const struct treecopy_entry *entry, char *buffer)
{
	AUTO_FD int in = openat(f->source_fd, entry->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	AUTO_FD int out = -1;
	AUTO_FREE char *path = treecopy_join(f->path, entry->name);
	struct content c = { .folder = f->path, .name = entry->name, .size = (uint64_t)entry->st.st_size };
	int code;

	if (!path)
		return treecopy_fail(j, -ENOMEM, "out of memory");
	if (in < 0)
		return treecopy_source_error(j, f->path, entry->name, "open");
	out = openat(f->target_fd, entry->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return treecopy_target_error(j, f->path, entry->name, "create");
	if (entry->st.st_size >= LARGE_BYTES)
		(void)posix_fadvise(in, 0, 0, POSIX_FADV_SEQUENTIAL); /* only for speed */
	c.source_fd = in;
	c.target_fd = out;
	c.is_sparse = has_holes(in, &entry->st);
	code = copy_content(j, &c, buffer);
	if (!code)
		code = treecopy_attr_copy(j, path, &entry->st, in, out);
	if (code)
		return code;
	if (close(TAKE_FD(out)) < 0)
		return treecopy_target_error(j, f->path, entry->name, "close");
	return treecopy_record_add(j->record, TAKE(path), c.size, c.crc) ? treecopy_fail(j, -ENOMEM, "out of memory") : 0;
}

static int copy_symlink(struct treecopy_job *j, const struct treecopy_folder *f, const struct treecopy_entry *entry)
{
	char to[PATH_MAX];
	ssize_t n = readlinkat(f->source_fd, entry->name, to, sizeof(to));

	if (n < 0)
		return treecopy_source_error(j, f->path, entry->name, "read the link");
	if ((size_t)n == sizeof(to))
		return treecopy_fail(j, -ENAMETOOLONG, "'%s/%s' of '%s': read the link: %s", f->path, entry->name, j->source,
				     strerror(ENAMETOOLONG));
	to[n] = '\0';
	if (symlinkat(to, f->target_fd, entry->name) < 0)
		return treecopy_target_error(j, f->path, entry->name, "make the link");
	if (n >= TREECOPY_LONG_LINK)
		atomic_fetch_add(&j->disk_bytes, TREECOPY_BLOCK);
	return 0;
}

int treecopy_entry_copy(struct treecopy_job *j, const struct treecopy_folder *f, const struct treecopy_entry *entry, void *buffer)
{
	AUTO_FREE char *path = NULL;
	mode_t type = entry->st.st_mode & S_IFMT;
	int code = 0;

	if (type == S_IFREG)
		return copy_file(j, f, entry, buffer);
	if (type == S_IFLNK)
		code = copy_symlink(j, f, entry);
	else if (mknodat(f->target_fd, entry->name, type | 0600, entry->st.st_rdev) < 0)
		code = treecopy_target_error(j, f->path, entry->name, "make the device, FIFO or socket");
	if (code)
		return code;
	path = treecopy_join(f->path, entry->name);
	return path ? treecopy_attr_copy(j, path, &entry->st, -1, -1) : treecopy_fail(j, -ENOMEM, "out of memory");
}
