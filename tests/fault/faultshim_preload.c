/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * faultshim_preload - LD_PRELOAD: counts, logs, fails or ends at the writes and flushes to one file.
 *
 * FAULT_TARGET=path   the file (by device and inode, so also through another name or a symlink)
 * FAULT_MODE=         count    nothing but count
 *                     eio      the FAULT_AT-th operation fails with EIO, nothing of it reaches the file
 *                     dead     that one and all later ones
 *                     kill     SIGKILL before that one
 *                     signal   FAULT_SIGNAL (default SIGINT) is raised before that one, which then goes on
 *                     range    every write that touches FAULT_OFF .. FAULT_OFF + FAULT_LEN fails with EIO
 *                     slow     virtual time: each operation takes its bytes at FAULT_RATE bytes/s on CLOCK_MONOTONIC
 * FAULT_COUNT=file    the number of operations so far, as text, rewritten at exit
 * FAULT_LOG=file      appended: struct log_record each, followed by the bytes of a write
 *
 * An operation is a pwrite, pwritev, write, fsync, fdatasync, sync_file_range or fallocate of the target.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <sys/syscall.h>

struct log_record {
	char op; /* 'W' write, 'Z' range reads as zeros, 'F' flush, 'A' other fallocate, 'N' fallocate that failed */
	char pad[7];
	uint64_t offset_bytes;
	uint64_t length_bytes;
};

static struct {
	bool ready, active;
	dev_t dev;
	ino_t ino;
	const char *mode;
	uint64_t at, off, len, rate;
	int signal, log_fd, count_fd;
	uint64_t count, bytes;
} shim = { .log_fd = -1, .count_fd = -1 };

static uint64_t env_u64(const char *name, uint64_t fallback)
{
	const char *s = getenv(name);

	return s && *s ? strtoull(s, NULL, 0) : fallback;
}

static int raw_open(const char *name)
{
	const char *path = getenv(name);

	if (!path || !*path)
		return -1;
	return open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
}

__attribute__((constructor)) static void shim_start(void)
{
	const char *target = getenv("FAULT_TARGET");
	struct stat st;

	if (shim.ready)
		return;
	shim.ready = true;
	if (!target || stat(target, &st) != 0)
		return;
	shim.dev = st.st_dev;
	shim.ino = st.st_ino;
	shim.mode = getenv("FAULT_MODE");
	if (!shim.mode)
		shim.mode = "count";
	shim.at = env_u64("FAULT_AT", 0);
	shim.off = env_u64("FAULT_OFF", 0);
	shim.len = env_u64("FAULT_LEN", 0);
	shim.rate = env_u64("FAULT_RATE", 20u * 1000 * 1000);
	shim.signal = (int)env_u64("FAULT_SIGNAL", SIGINT);
	shim.log_fd = raw_open("FAULT_LOG");
	shim.count_fd = raw_open("FAULT_COUNT");
	shim.active = true;
}

/* Real system calls: our own writes must not come back here. */
static void put(int fd, const void *buf, size_t n)
{
	const char *p = buf;

	while (n > 0) {
		long w = syscall(SYS_write, fd, p, n);

		if (w <= 0)
			abort();
		p += w;
		n -= (size_t)w;
	}
}

static bool is_target(int fd)
{
	struct stat st;
	int saved = errno;
	bool yes;

	if (!shim.ready)
		shim_start();
	yes = shim.active && fstat(fd, &st) == 0 && st.st_dev == shim.dev && st.st_ino == shim.ino;
	errno = saved;
	return yes;
}

/* Before an operation. False: it fails with EIO. */
static bool step(char op, uint64_t offset, uint64_t length)
{
	char text[32];
	bool hit = ++shim.count == shim.at;

	if (shim.count_fd >= 0) {
		int n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)shim.count);

		(void)syscall(SYS_pwrite64, shim.count_fd, text, n, 0L); /* the test fails when it finds no number */
	}
	if (op != 'F')
		shim.bytes += length;
	if (hit && !strcmp(shim.mode, "kill"))
		(void)syscall(SYS_kill, getpid(), SIGKILL);
	if (hit && !strcmp(shim.mode, "signal"))
		(void)raise(shim.signal);
	if (hit && !strcmp(shim.mode, "eio"))
		return false;
	if (!strcmp(shim.mode, "dead") && shim.count >= shim.at)
		return false;
	if (!strcmp(shim.mode, "range") && op != 'F' && offset < shim.off + shim.len && offset + length > shim.off)
		return false;
	return true;
}

static void note(char op, uint64_t offset, uint64_t length)
{
	struct log_record r = { .op = op, .offset_bytes = offset, .length_bytes = length };

	if (shim.log_fd >= 0)
		put(shim.log_fd, &r, sizeof(r));
}

static void note_bytes(const void *buf, size_t n)
{
	if (shim.log_fd >= 0)
		put(shim.log_fd, buf, n);
}

static ssize_t fail_io(void)
{
	errno = EIO;
	return -1;
}

/* What was really written is what is logged. */
static ssize_t do_pwrite(int fd, const void *buf, size_t n, off_t offset)
{
	ssize_t w;

	if (!step('W', (uint64_t)offset, n))
		return fail_io();
	w = syscall(SYS_pwrite64, fd, buf, n, offset);
	if (w > 0) {
		int saved = errno;

		note('W', (uint64_t)offset, (uint64_t)w);
		note_bytes(buf, (size_t)w);
		errno = saved;
	}
	return w;
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t offset)
{
	return is_target(fd) ? do_pwrite(fd, buf, n, offset) : syscall(SYS_pwrite64, fd, buf, n, offset);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off_t offset)
{
	return pwrite(fd, buf, n, offset);
}

ssize_t write(int fd, const void *buf, size_t n)
{
	ssize_t w;
	off_t at;

	if (!is_target(fd))
		return syscall(SYS_write, fd, buf, n);
	at = lseek(fd, 0, SEEK_CUR);
	w = do_pwrite(fd, buf, n, at);
	if (w > 0)
		(void)lseek(fd, at + w, SEEK_SET); /* as write() would; the descriptor is a file's */
	return w;
}

/* One operation each: a vector is written piece by piece only when nothing of it failed before. */
ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
	size_t total = 0;
	ssize_t w;
	char *all, *p;

	if (!is_target(fd))
		return syscall(SYS_pwritev, fd, iov, count, (unsigned long)offset, 0UL);
	for (int i = 0; i < count; i++)
		total += iov[i].iov_len;
	p = all = malloc(total + 1);
	if (!all)
		return fail_io();
	for (int i = 0; i < count; i++) {
		memcpy(p, iov[i].iov_base, iov[i].iov_len);
		p += iov[i].iov_len;
	}
	w = do_pwrite(fd, all, total, offset);
	free(all);
	return w;
}

ssize_t pwritev64(int fd, const struct iovec *iov, int count, off_t offset)
{
	return pwritev(fd, iov, count, offset);
}

static int do_flush(int fd, long nr)
{
	int r;

	if (is_target(fd) && !step('F', 0, 0))
		return (int)fail_io();
	r = (int)syscall(nr, fd);
	if (r == 0 && is_target(fd))
		note('F', 0, 0);
	return r;
}

int fsync(int fd)
{
	return do_flush(fd, SYS_fsync);
}

int fdatasync(int fd)
{
	return do_flush(fd, SYS_fdatasync);
}

int fallocate(int fd, int mode, off_t offset, off_t length)
{
	bool zero = mode & (FALLOC_FL_ZERO_RANGE | FALLOC_FL_PUNCH_HOLE);
	int r;

	if (!is_target(fd))
		return (int)syscall(SYS_fallocate, fd, mode, offset, length);
	if (!step(zero ? 'Z' : 'A', (uint64_t)offset, (uint64_t)length))
		return (int)fail_io();
	r = (int)syscall(SYS_fallocate, fd, mode, offset, length);
	if (r == 0) {
		note(zero ? 'Z' : 'A', (uint64_t)offset, (uint64_t)length);
	} else {
		int saved = errno;

		note('N', (uint64_t)offset, (uint64_t)length); /* not there on this file system: the caller does it another way */
		errno = saved;
	}
	return r;
}

int fallocate64(int fd, int mode, off_t offset, off_t length)
{
	return fallocate(fd, mode, offset, length);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int r = (int)syscall(SYS_clock_gettime, id, ts);

	if (r == 0 && shim.active && !strcmp(shim.mode, "slow") && shim.rate > 0) {
		uint64_t ns = (uint64_t)ts->tv_nsec + shim.bytes % shim.rate * 1000000000u / shim.rate;

		ts->tv_sec += (time_t)(shim.bytes / shim.rate + ns / 1000000000u);
		ts->tv_nsec = (long)(ns % 1000000000u);
	}
	return r;
}
