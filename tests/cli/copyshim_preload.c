/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * copyshim_preload - LD_PRELOAD: bad reads, and flushes that can be watched and held up.
 *
 * COPY_EIO=path      reads of this file (by device and inode) fail with EIO
 * COPY_EIO_AFTER=n   all reads fail after so many bytes: the medium was removed
 * COPY_SYNC_EIO=n    the n-th syncfs fails with EIO
 * COPY_GATE=n        what would be written after n bytes waits until the first syncfs has begun,
 * COPY_HOLD=n        which does not end before n bytes are written
 * COPY_LOG=file      appended: "write N" after each pwrite, "sync begin", "sync end"
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool has_eio;
	struct stat eio;
	uint64_t eio_after, gate, hold, sync_eio;
	uint64_t read_bytes, written_bytes, syncs;
	int log_fd;
	ssize_t (*read)(int, void *, size_t);
	ssize_t (*pwrite)(int, const void *, size_t, off_t);
	int (*syncfs)(int);
} shim = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .log_fd = -1 };

static uint64_t number(const char *name)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : 0;
}

static void *real(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (!f)
		abort();
	return f;
}

__attribute__((constructor)) static void shim_start(void)
{
	const char *eio = getenv("COPY_EIO"), *log = getenv("COPY_LOG");
	void *f;

	f = real("read");
	memcpy(&shim.read, &f, sizeof(f));
	f = real("pwrite");
	memcpy(&shim.pwrite, &f, sizeof(f));
	f = real("syncfs");
	memcpy(&shim.syncfs, &f, sizeof(f));
	shim.has_eio = eio && stat(eio, &shim.eio) == 0;
	shim.eio_after = number("COPY_EIO_AFTER");
	shim.sync_eio = number("COPY_SYNC_EIO");
	shim.gate = number("COPY_GATE");
	shim.hold = number("COPY_HOLD");
	if (log)
		shim.log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static void note(const char *what, uint64_t n)
{
	char line[64];
	int length = snprintf(line, sizeof(line), n ? "%s %llu\n" : "%s\n", what, (unsigned long long)n);

	if (shim.log_fd >= 0 && write(shim.log_fd, line, (size_t)length) != length)
		abort();
}

ssize_t read(int fd, void *buf, size_t n)
{
	struct stat st;
	bool is_bad = shim.has_eio && fstat(fd, &st) == 0 && st.st_dev == shim.eio.st_dev && st.st_ino == shim.eio.st_ino;
	ssize_t got;

	pthread_mutex_lock(&shim.lock);
	is_bad = is_bad || (shim.eio_after && shim.read_bytes >= shim.eio_after);
	pthread_mutex_unlock(&shim.lock);
	if (is_bad) {
		errno = EIO;
		return -1;
	}
	got = shim.read(fd, buf, n);
	pthread_mutex_lock(&shim.lock);
	shim.read_bytes += got > 0 ? (uint64_t)got : 0;
	pthread_mutex_unlock(&shim.lock);
	return got;
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
	ssize_t done;

	pthread_mutex_lock(&shim.lock);
	while (shim.gate && shim.written_bytes >= shim.gate && !shim.syncs)
		pthread_cond_wait(&shim.changed, &shim.lock);
	pthread_mutex_unlock(&shim.lock);
	done = shim.pwrite(fd, buf, n, at);
	pthread_mutex_lock(&shim.lock);
	if (done > 0) {
		shim.written_bytes += (uint64_t)done;
		note("write", (uint64_t)done);
	}
	pthread_cond_broadcast(&shim.changed);
	pthread_mutex_unlock(&shim.lock);
	return done;
}

int syncfs(int fd)
{
	uint64_t number_of_it;
	int rc;

	pthread_mutex_lock(&shim.lock);
	note("sync begin", 0);
	number_of_it = ++shim.syncs;
	pthread_cond_broadcast(&shim.changed);
	while (shim.written_bytes < shim.hold)
		pthread_cond_wait(&shim.changed, &shim.lock);
	pthread_mutex_unlock(&shim.lock);
	if (number_of_it == shim.sync_eio) {
		errno = EIO;
		return -1;
	}
	rc = shim.syncfs(fd);
	pthread_mutex_lock(&shim.lock);
	note("sync end", 0);
	pthread_mutex_unlock(&shim.lock);
	return rc;
}
