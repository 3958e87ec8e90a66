/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files and folders on the EFI system partition: another name, fsync, compared, rename, fsync of the folder. */
#include "espboot_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"

#define CHUNK_BYTES (1u << 20)

int espboot_path(const char *esp, const char *name, char ret[PATH_MAX], struct err *e)
{
	if (snprintf(ret, PATH_MAX, "%s/%s", esp, name) >= PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "'%.300s': %s", esp, strerror(ENAMETOOLONG));
	return 0;
}

int espboot_work_step(const struct espboot_work *w, struct err *e)
{
	return progress_step(w->progress, "copying to the EFI system partition", w->done_bytes, w->total_bytes, e);
}

int espboot_sync_folder(const char *folder, struct err *e)
{
	AUTO_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return err_errno(e, "folder '%s': fsync", folder);
	return 0;
}

int espboot_sync_all(const char *esp, struct err *e)
{
	AUTO_FD int fd = open(esp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || syncfs(fd) < 0)
		return err_errno(e, "EFI system partition '%s': syncfs", esp);
	return 0;
}

/* ---- content, from a file or from memory ---- */

struct content {
	const char *path; /* for messages; of text: NULL */
	int fd;
	const char *text;
	size_t left;
};

static int content_open(const char *source, const char *text, struct content *ret, struct err *e)
{
	*ret = (struct content){ .path = source, .fd = -1, .text = text, .left = source ? 0 : strlen(text) };
	if (!source)
		return 0;
	ret->fd = open(source, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return ret->fd < 0 ? err_errno(e, "'%s'", source) : 0;
}

static void auto_content(struct content *c)
{
	if (c->fd >= 0)
		(void)close(c->fd); /* it was only read */
}

/* As much as there is, up to size. */
static ssize_t content_read(struct content *c, char *to, size_t size)
{
	size_t n = 0;

	if (!c->path) {
		n = c->left < size ? c->left : size;
		memcpy(to, c->text, n);
		c->text += n;
		c->left -= n;
		return (ssize_t)n;
	}
	while (n < size) {
		ssize_t got = read(c->fd, to + n, size - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

static int compare(struct content *a, struct content *b, char *chunk, bool *ret_same, struct err *e)
{
	for (;;) {
		ssize_t n = content_read(a, chunk, CHUNK_BYTES), m;

		if (n < 0)
			return err_errno(e, "'%s': read", a->path);
		m = content_read(b, chunk + CHUNK_BYTES, CHUNK_BYTES);
		if (m < 0)
			return err_errno(e, "'%s': read", b->path);
		if (n != m || memcmp(chunk, chunk + CHUNK_BYTES, (size_t)n) != 0)
			return 0;
		if (n < (ssize_t)CHUNK_BYTES) {
			*ret_same = true;
			return 0;
		}
	}
}

int espboot_compare(const char *path, const char *source, const char *text, bool *ret_same, struct err *e)
{
	__attribute__((cleanup(auto_content))) struct content a = { .fd = -1 }, b = { .fd = -1 };
	AUTO_FREE char *chunk = NULL;
	struct stat st, wanted;
	int code;

	*ret_same = false;
	if (stat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_errno(e, "'%s'", path);
	if (source && stat(source, &wanted) < 0)
		return err_errno(e, "'%s'", source);
	if (!S_ISREG(st.st_mode) || (size_t)st.st_size != (source ? (size_t)wanted.st_size : strlen(text)))
		return 0;
	chunk = malloc(2 * (size_t)CHUNK_BYTES);
	code = chunk ? content_open(path, NULL, &a, e) : err_set(e, -ENOMEM, "out of memory");
	if (!code)
		code = content_open(source, text, &b, e);
	return code ? code : compare(&a, &b, chunk, ret_same, e);
}

/* ---- writing ---- */

static int write_all(int fd, const char *from, size_t n)
{
	while (n > 0) {
		ssize_t put = write(fd, from, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -1;
		from += put;
		n -= (size_t)put;
	}
	return 0;
}

static int copy(struct content *from, int fd, const char *temp, struct espboot_work *w, struct err *e)
{
	AUTO_FREE char *chunk = malloc(CHUNK_BYTES);
	int code = chunk ? 0 : err_set(e, -ENOMEM, "out of memory");

	while (!code) {
		ssize_t n = content_read(from, chunk, CHUNK_BYTES);

		if (n < 0)
			return err_errno(e, "'%s': read", from->path);
		if (write_all(fd, chunk, (size_t)n) < 0)
			return err_errno(e, "'%s': write", temp);
		if (n < (ssize_t)CHUNK_BYTES)
			break;
		if (fdatasync(fd) < 0) /* what is told as done is on the disk */
			return err_errno(e, "'%s': fsync", temp);
		w->done_bytes += (uint64_t)n;
		code = espboot_work_step(w, e);
	}
	return code;
}

static int fill(const char *temp, const char *source, const char *text, struct espboot_work *w, struct err *e)
{
	__attribute__((cleanup(auto_content))) struct content from = { .fd = -1 };
	AUTO_FD int fd = -1;
	int code = content_open(source, text, &from, e);

	if (code)
		return code;
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return err_errno(e, "'%s'", temp);
	code = copy(&from, fd, temp, w, e);
	if (code)
		return code;
	if (fsync(fd) < 0)
		return err_errno(e, "'%s': fsync", temp);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* comparing reads the disk then; where it cannot, the cache */
	return close(TAKE_FD(fd)) < 0 ? err_errno(e, "'%s': close", temp) : 0;
}

static int write_temp(const char *temp, const char *source, const char *text, struct espboot_work *w, struct err *e)
{
	bool same = false;
	int code = fill(temp, source, text, w, e);

	if (!code)
		code = espboot_compare(temp, source, text, &same, e);
	if (!code && !same)
		code = err_set(e, -EIO, "'%s' does not hold what was written to it: the disk is failing, or its file system "
			       "is damaged",
			       temp);
	return code;
}

int espboot_write_file(const char *esp, const struct espboot_file *f, struct espboot_work *w, struct err *e)
{
	const char *source = f->source[0] ? f->source : NULL;
	uint64_t end = w->done_bytes + f->bytes;
	char path[PATH_MAX], folder[PATH_MAX], temp[PATH_MAX + 16];
	int code = espboot_path(esp, f->name, path, e);

	if (code)
		return code;
	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	(void)snprintf(temp, sizeof(temp), "%s/" ESPBOOT_TEMP, folder);
	if (unlink(temp) < 0 && errno != ENOENT)
		return err_errno(e, "remove '%s'", temp);
	code = write_temp(temp, source, f->text, w, e);
	if (!code && rename(temp, path) < 0)
		code = err_errno(e, "'%s': rename", path);
	if (code) {
		(void)unlink(temp); /* the error that counts is the one above */
		return code;
	}
	code = espboot_sync_folder(folder, e);
	w->done_bytes = end;
	return code ? code : espboot_work_step(w, e);
}

static int make_one(const char *folder, struct err *e)
{
	char parent[PATH_MAX];

	if (mkdir(folder, 0755) < 0)
		return errno == EEXIST ? 0 : err_errno(e, "make the folder '%s'", folder);
	(void)snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(folder, '/') - folder), folder);
	return espboot_sync_folder(parent, e);
}

int espboot_write_folder(const char *esp, const char *name, struct err *e)
{
	char path[PATH_MAX];
	int code = 0;

	for (const char *slash = strchr(name, '/'); !code; slash = strchr(slash + 1, '/')) {
		char part[64];

		(void)snprintf(part, sizeof(part), "%.*s", slash ? (int)(slash - name) : (int)strlen(name), name);
		code = espboot_path(esp, part, path, e);
		if (!code)
			code = make_one(path, e);
		if (!slash)
			break;
	}
	return code;
}
