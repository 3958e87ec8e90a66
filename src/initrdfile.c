/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "initrdfile.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "gunzip.h"

#define BUFFER_BYTES 65536
#define MAGIC_GZIP 0x8b1f /* as file_number() has it */
#define MAGIC_LZOP 0x4f5a4c89

/* The image's bytes from a position on. */
struct file {
	int fd;
	uint64_t bytes;  /* its size */
	uint64_t limit;  /* libarchive sees nothing beyond */
	uint64_t offset; /* of the next byte that is read into the buffer */
	size_t have, used;
	uint64_t unpacked_bytes; /* of all compressed parts */
	int error;       /* errno of a read that failed; 0 */
	unsigned char buffer[BUFFER_BYTES];
};

struct unpack {
	struct archive *archive;
	struct file *from;
	struct gunzip *gunzip;
};

DEFINE_AUTO(archive, struct archive *, (void)archive_read_free);

static void file_seek(struct file *f, uint64_t offset)
{
	f->offset = offset;
	f->have = f->used = 0;
}

/* Fills the empty buffer; at the end it stays empty. */
static int file_fill(struct file *f, struct err *e)
{
	ssize_t n;

	do
		n = pread(f->fd, f->buffer, sizeof(f->buffer), (off_t)f->offset);
	while (n < 0 && errno == EINTR);
	f->have = f->used = 0;
	if (n < 0) {
		f->error = errno;
		return err_errno(e, "byte %" PRIu64, f->offset);
	}
	f->have = (size_t)n;
	f->offset += (uint64_t)n;
	return 0;
}

static int read_plain(void *ctx, void *buf, size_t n, size_t *ret_n, struct err *e)
{
	struct file *f = ctx;
	int r;

	if (f->used == f->have) {
		r = file_fill(f, e);
		if (r)
			return r;
	}
	*ret_n = n < f->have - f->used ? n : f->have - f->used;
	memcpy(buf, f->buffer + f->used, *ret_n);
	f->used += *ret_n;
	return 0;
}

/* archive_read_callback */
static la_ssize_t feed(struct archive *a, void *ctx, const void **ret)
{
	struct file *f = ctx;
	uint64_t room = f->limit > f->offset ? f->limit - f->offset : 0;

	(void)a;
	*ret = f->buffer;
	if (file_fill(f, NULL))
		return -1;
	return f->have < room ? (la_ssize_t)f->have : (la_ssize_t)room;
}

/* n bytes at the position, little endian, and behind them. False: there are not so many. */
static bool file_number(struct file *f, uint64_t *position, size_t n, uint64_t *ret)
{
	unsigned char byte;
	size_t got;

	*ret = 0;
	if (f->offset - (f->have - f->used) != *position)
		file_seek(f, *position);
	for (size_t i = 0; i < n; i++) {
		if (read_plain(f, &byte, 1, &got, NULL) || got == 0)
			return false;
		*ret |= (uint64_t)byte << (8 * i);
	}
	*position += n;
	return true;
}

/* The end of the blocks of a frame, RFC 8878, 3.1.1.2. */
static bool zstd_blocks(struct file *f, uint64_t *position)
{
	uint64_t header;

	do {
		if (!file_number(f, position, 3, &header) || (header >> 1 & 3) == 3)
			return false;
		*position += (header >> 1 & 3) == 1 ? 1 : header >> 3; /* one byte that is repeated, or that many */
	} while (!(header & 1) && *position < f->bytes);
	return true;
}

/*
 * Where the zstd frames that start here end; the end of the file when none does, or one is damaged. libarchive 3.6 fails, and
 * drops what it had decompressed, when something that is no frame follows: another archive, or zeros. RFC 8878, 3.1.
 */
static uint64_t zstd_end(struct file *f, uint64_t start)
{
	static const unsigned dictionary_bytes[] = { 0, 1, 2, 4 }, size_bytes[] = { 0, 2, 4, 8 };
	uint64_t magic, descriptor, end = start, at = start, length;

	while (file_number(f, &at, 4, &magic)) {
		if (magic >> 4 == 0x184d2a5 && file_number(f, &at, 4, &length)) { /* to be skipped */
			at += length;
		} else if (magic == 0xfd2fb528 && file_number(f, &at, 1, &descriptor)) {
			bool single = descriptor >> 5 & 1;

			at += !single + dictionary_bytes[descriptor & 3] + (single && descriptor >> 6 == 0 ? 1 :
									    size_bytes[descriptor >> 6]);
			if (!zstd_blocks(f, &at))
				return f->bytes;
			at += descriptor >> 2 & 1 ? 4 : 0; /* a checksum */
		} else {
			break;
		}
		end = at;
	}
	return end > start && end < f->bytes ? end : f->bytes;
}

/* What libarchive says; it reports an error of ours as one of its own. */
static int unpack_error(const struct unpack *u, struct err *e)
{
	const char *text = archive_error_string(u->archive);

	if (u->from->error)
		return err_set(e, -u->from->error, "%s", strerror(u->from->error));
	if (archive_errno(u->archive) == ENOMEM)
		return err_set(e, -ENOMEM, "out of memory");
	return err_set(e, -EINVAL, "%s", text ? text : "cannot be decompressed");
}

static int count_unpacked(struct file *f, size_t n, struct err *e)
{
	f->unpacked_bytes += n;
	if (f->unpacked_bytes > INITRDFILE_BYTES_MAX)
		return err_set(e, -EINVAL, "becomes more than %" PRIu64 " GiB", INITRDFILE_BYTES_MAX >> 30);
	return 0;
}

static int read_gunzipped(void *ctx, void *buf, size_t n, size_t *ret_n, struct err *e)
{
	struct unpack *u = ctx;
	int r = gunzip_read(u->gunzip, buf, n, ret_n, e);

	return r ? r : count_unpacked(u->from, *ret_n, e);
}

static int read_unpacked(void *ctx, void *buf, size_t n, size_t *ret_n, struct err *e)
{
	struct unpack *u = ctx;
	la_ssize_t got = archive_read_data(u->archive, buf, n);

	if (got < 0)
		return unpack_error(u, e);
	*ret_n = (size_t)got;
	return count_unpacked(u->from, *ret_n, e);
}

static struct archive *new_archive(void)
{
	struct archive *a = archive_read_new();

	if (!a)
		return NULL;
	/* each of them can be told to run a program instead, which is only a warning; liblzo2 is not always linked: no lzop */
	(void)archive_read_support_filter_bzip2(a);
	(void)archive_read_support_filter_xz(a);
	(void)archive_read_support_filter_lzma(a);
	(void)archive_read_support_filter_lz4(a);
	(void)archive_read_support_filter_zstd(a);
	(void)archive_read_support_format_raw(a);
	return a;
}

/*
 * The archives in one compressed part. *ret_complete: what went wrong did so behind an archive, perhaps in what is no part of
 * this one any more.
 */
static int read_archives(struct cpio_source *source, const struct cpio_visitor *visitor, bool *ret_complete, struct err *e)
{
	int next, r;

	*ret_complete = false;
	for (;;) {
		r = cpio_next_byte(source, &next, e);
		if (r || next < 0)
			return r;
		*ret_complete = false;
		if (next != '0' || source->position & 3)
			return err_set(e, -EINVAL, "byte %" PRIu64 " of what is compressed: no archive", source->position);
		r = cpio_read(source, visitor, e);
		if (r)
			return r;
		*ret_complete = true;
	}
}

/* The gzip member at 'start'; behind it, another part may follow. */
static int read_gzip(struct file *f, uint64_t start, const struct cpio_visitor *visitor, uint64_t *ret_end, struct err *e)
{
	AUTO(gunzip) struct gunzip *g = NULL;
	struct unpack u = { .from = f };
	struct cpio_source source = { .read = read_gunzipped, .ctx = &u };
	bool complete;
	int r = gunzip_new(read_plain, f, &g, e);

	if (r)
		return r;
	u.gunzip = g;
	file_seek(f, start);
	r = read_archives(&source, visitor, &complete, e);
	*ret_end = start + gunzip_used_bytes(g);
	return r;
}

/* The part at 'start' that libarchive decompresses, up to wherever it ends: *ret_end. */
static int read_other(struct file *f, uint64_t start, const struct cpio_visitor *visitor, uint64_t *ret_end, struct err *e)
{
	AUTO(archive) struct archive *a = new_archive();
	struct unpack u = { .archive = a, .from = f };
	struct cpio_source source = { .read = read_unpacked, .ctx = &u };
	struct archive_entry *entry;
	bool complete;
	int r;

	if (!a)
		return err_set(e, -ENOMEM, "out of memory");
	f->limit = zstd_end(f, start);
	file_seek(f, start);
	r = archive_read_open(a, f, NULL, feed, NULL);
	if (r == ARCHIVE_OK)
		r = archive_read_next_header(a, &entry);
	if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
		return unpack_error(&u, e);
	if (archive_filter_count(a) < 2) /* the file itself is one */
		return err_set(e, -EINVAL, "neither an archive nor compressed in a way that is known");
	r = read_archives(&source, visitor, &complete, e);
	*ret_end = start + (uint64_t)archive_filter_bytes(a, -1);
	if (r != -EINVAL || !complete || *ret_end >= f->bytes)
		return r;
	err_clear(e); /* libarchive takes what follows for more of the same, of some formats, even zeros */
	return 0;
}

/* Does the part at 'start' begin with these n bytes? */
static bool has_magic(struct file *f, uint64_t start, size_t n, uint64_t magic)
{
	uint64_t found;

	return file_number(f, &start, n, &found) && found == magic;
}

static int read_compressed(struct file *f, uint64_t start, const struct cpio_visitor *visitor, uint64_t *ret_end, struct err *e)
{
	if (has_magic(f, start, 2, MAGIC_GZIP))
		return read_gzip(f, start, visitor, ret_end, e);
	if (has_magic(f, start, 4, MAGIC_LZOP)) /* the kernel knows it; liblzo2 is not always linked to libarchive */
		return err_set(e, -ENOTSUP, "compressed with lzop, so that it cannot be told what is in it; to have it checked, "
			       "let the initramfs be compressed with zstd or gzip");
	return read_other(f, start, visitor, ret_end, e);
}

static int read_parts(struct file *f, const struct cpio_visitor *visitor, struct err *e)
{
	struct cpio_source source = { .read = read_plain, .ctx = f };
	uint64_t start;
	int next, r, parts = 0;

	for (;; parts++) {
		r = cpio_next_byte(&source, &next, e);
		if (r)
			return r;
		if (next < 0)
			return parts ? 0 : err_set(e, -EINVAL, "it is empty");
		start = source.position;
		if (next == '0' && (start & 3) == 0) {
			r = cpio_read(&source, visitor, e);
		} else {
			r = read_compressed(f, start, visitor, &source.position, e);
			file_seek(f, source.position);
			source.has_ahead = false;
		}
		if (r)
			return err_wrap(e, r, "part at byte %" PRIu64, start);
		if (source.position <= start)
			return err_set(e, -EINVAL, "part at byte %" PRIu64 ": has no end", start);
	}
}

int initrdfile_read(const char *path, const struct cpio_visitor *visitor, struct err *e)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	AUTO_FREE struct file *f = calloc(1, sizeof(*f));
	struct stat st;
	char text[sizeof(e->text)];
	int r;

	if (fd < 0 || fstat(fd, &st))
		return err_errno(e, "'%.300s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "'%.300s' is not a regular file", path);
	if (!f)
		return err_set(e, -ENOMEM, "'%.300s': out of memory", path);
	f->fd = fd;
	f->bytes = (uint64_t)st.st_size;
	r = read_parts(f, visitor, e);
	if (r != -EINVAL || !e || err_is_refusal(e))
		return r ? err_wrap(e, r, "'%.300s'", path) : 0;
	memcpy(text, e->text, sizeof(text));
	return err_refuse(e, "damaged-image", "'%.300s' is no initramfs that could be unpacked (%.300s): nothing starts with it; "
			  "build it again", path, text);
}
