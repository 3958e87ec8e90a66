/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <md5.h>
#include <sha256.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "auto.h"

#define BUFFER_BYTES (1024u * 1024)

struct sum {
	enum checksum_kind kind;
	MD5_CTX md5;
	SHA2_CTX sha256;
};

static void sum_begin(struct sum *s, enum checksum_kind kind)
{
	s->kind = kind;
	if (kind == CHECKSUM_MD5)
		MD5Init(&s->md5);
	else
		SHA256Init(&s->sha256);
}

static void sum_add(struct sum *s, const unsigned char *data, size_t n)
{
	if (s->kind == CHECKSUM_MD5)
		MD5Update(&s->md5, data, n);
	else
		SHA256Update(&s->sha256, data, n);
}

static void sum_end(struct sum *s, char ret[CHECKSUM_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char digest[SHA256_DIGEST_LENGTH];
	size_t n = s->kind == CHECKSUM_MD5 ? MD5_DIGEST_LENGTH : SHA256_DIGEST_LENGTH;

	if (s->kind == CHECKSUM_MD5)
		MD5Final(digest, &s->md5);
	else
		SHA256Final(digest, &s->sha256);
	for (size_t i = 0; i < n; i++) {
		ret[2 * i] = digits[digest[i] >> 4];
		ret[2 * i + 1] = digits[digest[i] & 15];
	}
	ret[2 * n] = '\0';
}

static int add_all(struct sum *s, int fd, const char *path, const struct checksum_progress *p, uint64_t *ret_bytes, struct err *e)
{
	AUTO_FREE unsigned char *buffer = malloc(BUFFER_BYTES);
	uint64_t bytes = 0;
	ssize_t n;

	if (!buffer)
		return err_set(e, -ENOMEM, "'%s': out of memory", path);
	while ((n = read(fd, buffer, BUFFER_BYTES)) != 0) {
		int code = 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, "'%s': read", path);
		sum_add(s, buffer, (size_t)n);
		bytes += (uint64_t)n;
		if (p)
			code = progress_step(p->progress, p->phase, p->done_bytes + bytes, p->total_bytes, e);
		if (code)
			return code;
	}
	*ret_bytes = bytes;
	return 0;
}

int checksum_file(const char *path, enum checksum_kind kind, const struct checksum_progress *p, char ret[CHECKSUM_TEXT],
		  uint64_t *ret_bytes, struct err *e)
{
	/* O_NONBLOCK: the open of a FIFO would wait for a writer */
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	struct sum s;
	uint64_t bytes = 0;
	int code;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "'%s'", path);
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return err_set(e, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL, "'%s' is neither a regular file nor a block device",
			       path);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* only for speed */
	sum_begin(&s, kind);
	code = add_all(&s, fd, path, p, &bytes, e);
	if (code)
		return code;
	sum_end(&s, ret);
	*ret_bytes = bytes;
	return 0;
}
