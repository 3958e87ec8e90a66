/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slowshim_preload - a disk of a known speed: preloaded into linux.uml, it makes writes to one file as slow as SLOW_BYTES_PER_S,
 * one after the other. The guest's queue, scheduler and write throttling are above it and see a slow disk; a limit inside the
 * guest (blkio.throttle) would be above them.
 *
 *   SLOW_FILE   that file
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t off);

static struct {
	ssize_t (*pwrite64)(int, const void *, size_t, off64_t);
	uint64_t bytes_per_s, free_ns; /* when the disk is done with all that it got */
	dev_t dev;
	ino_t ino;
} shim;

__attribute__((constructor)) static void start(void)
{
	const char *file = getenv("SLOW_FILE"), *speed = getenv("SLOW_BYTES_PER_S");
	struct stat st;

	shim.pwrite64 = (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
	if (!file || !speed || stat(file, &st) != 0)
		return;
	shim.dev = st.st_dev;
	shim.ino = st.st_ino;
	shim.bytes_per_s = strtoull(speed, NULL, 10);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail */
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000U), (long)(ns % 1000000000U) };

	/* time is what is made here; glibc's nanosleep() wants a thread of its own, which the caller is not */
	(void)syscall(SYS_nanosleep, &t, NULL);
}

/* All disks of the guest have one thread: no lock. */
ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t off)
{
	ssize_t done = shim.pwrite64(fd, buf, n, off);
	struct stat st;
	uint64_t now;

	if (shim.bytes_per_s == 0 || done <= 0 || fstat(fd, &st) != 0 || st.st_dev != shim.dev || st.st_ino != shim.ino)
		return done;
	now = now_ns();
	shim.free_ns = (shim.free_ns > now ? shim.free_ns : now) + (uint64_t)done * 1000000000U / shim.bytes_per_s;
	while (now < shim.free_ns) {
		sleep_ns(shim.free_ns - now);
		now = now_ns();
	}
	return done;
}
