/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diskspeed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "num.h"

/* a unit test that includes this file takes less */
#ifndef DISKSPEED_BYTES
#define DISKSPEED_BYTES (64 * NUM_MIB)
#endif
#define TIME_NS UINT64_C(1000000000)
#define PIECE_BYTES NUM_MIB
#define ALIGN_BYTES 4096U /* what O_DIRECT wants at most */
#define PIECES_MAX 16U

static uint64_t now_ns(void)
{
	struct timespec t = { 0, 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail on Linux */
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static int check_free(const char *folder, struct err *e)
{
	char have[NUM_BYTES_TEXT], need[NUM_BYTES_TEXT];
	struct statvfs st;
	uint64_t free_bytes;

	if (statvfs(folder, &st) < 0)
		return err_errno(e, "folder '%s'", folder);
	if (num_mul(st.f_bavail, st.f_frsize, &free_bytes) < 0)
		free_bytes = UINT64_MAX;
	if (free_bytes >= 2 * DISKSPEED_BYTES)
		return 0;
	return err_set(e, -ENOSPC, "'%s' has %s free, and measuring the disk's speed needs %s: make room, then retry", folder,
		       num_format_bytes(free_bytes, have), num_format_bytes(2 * DISKSPEED_BYTES, need));
}

/*
 * vfat and some others know no O_TMPFILE: a file that loses its name at once. Without O_DIRECT, which comes later: where that
 * is not possible, an open with O_CREAT fails and leaves the file.
 */
static int open_nameless(const char *folder)
{
	char path[PATH_MAX];
	int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	if (snprintf(path, sizeof(path), "%s/.wubi-speed.XXXXXX", folder) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(path); /* it is empty; the name says whose it is */
	return fd;
}

/* Not zeros, which some disks do not store. */
static void fill(unsigned char *buf, size_t n)
{
	uint64_t x = UINT64_C(88172645463325252);

	for (size_t i = 0; i + sizeof(x) <= n; i += sizeof(x)) {
		x ^= x << 13; /* Marsaglia's xorshift64 */
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(buf + i, &x, sizeof(x));
	}
}

/* Leaves errno as it is. Some file systems take O_DIRECT and then cannot do it: the flag goes. */
static bool may_retry(int fd, int problem)
{
	int flags = problem == EINVAL ? fcntl(fd, F_GETFL) : 0;
	bool retry = problem == EINTR ||
		     (flags > 0 && (flags & O_DIRECT) && fcntl(fd, F_SETFL, flags & ~O_DIRECT) == 0);

	errno = problem;
	return retry;
}

/*
 * Each write is twice as long as the last one, up to 16 MiB: a slow disk is not kept for many seconds, and on a synchronous
 * mount, where a flush follows each write, the flushes do not hide the speed.
 */
static int write_until(int fd, void *piece, uint64_t end_ns, uint64_t *ret_bytes)
{
	struct iovec list[PIECES_MAX];
	uint64_t done = 0;
	int count = 1;

	for (size_t i = 0; i < PIECES_MAX; i++)
		list[i] = (struct iovec){ .iov_base = piece, .iov_len = PIECE_BYTES };
	while (done < DISKSPEED_BYTES && now_ns() < end_ns) {
		ssize_t n = pwritev(fd, list, count, (off_t)done);

		if (n <= 0 && !may_retry(fd, n < 0 ? errno : EIO))
			return n < 0 ? -errno : -EIO;
		if (n <= 0)
			continue;
		done += (uint64_t)n;
		count = count * 2 > (int)PIECES_MAX ? (int)PIECES_MAX : count * 2;
	}
	*ret_bytes = done;
	return fdatasync(fd) < 0 ? -errno : 0;
}

int diskspeed_probe(const char *folder, uint64_t *ret_bytes_per_s, struct err *e)
{
	AUTO_FREE void *piece = aligned_alloc(ALIGN_BYTES, PIECE_BYTES);
	AUTO_FD int fd = -1;
	uint64_t start, took, bytes = 0;
	int code = check_free(folder, e);

	if (code)
		return code;
	if (!piece)
		return err_set(e, -ENOMEM, "measure the disk's speed: out of memory");
	fill(piece, PIECE_BYTES);
	fd = open_nameless(folder);
	if (fd < 0)
		return err_errno(e, "'%s': a file to measure the disk's speed with", folder);
	(void)fcntl(fd, F_SETFL, O_DIRECT); /* where it is not possible, the sync at the end counts alone */
	start = now_ns();
	code = write_until(fd, piece, start + TIME_NS, &bytes);
	took = now_ns() - start;
	if (code)
		return err_set(e, code, "'%s': write to measure the disk's speed: %s", folder, strerror(-code));
	bytes = bytes * 1000000000U / (took ? took : 1);
	*ret_bytes_per_s = bytes ? bytes : 1;
	return 0;
}
