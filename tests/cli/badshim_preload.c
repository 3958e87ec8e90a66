/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * badshim_preload - LD_PRELOAD: sectors that cannot be read.
 *
 * BAD_FILE=path            of this file (by device and inode)
 * BAD_RANGES=off:n,off:n   reads that touch one of these fail with EIO
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t pread(int fd, void *buf, size_t n, off_t offset);
ssize_t pread64(int fd, void *buf, size_t n, off64_t offset);

static bool is_bad(int fd, uint64_t offset, uint64_t n)
{
	const char *file = getenv("BAD_FILE"), *ranges = getenv("BAD_RANGES");
	struct stat st, bad;

	if (!file || !ranges || fstat(fd, &st) || stat(file, &bad) || st.st_ino != bad.st_ino || st.st_dev != bad.st_dev)
		return false;
	for (const char *p = ranges; *p;) {
		char *end;
		uint64_t at = strtoull(p, &end, 0), length = *end ? strtoull(end + 1, &end, 0) : 0;

		if (offset < at + length && at < offset + n)
			return true;
		p = *end ? end + 1 : end;
	}
	return false;
}

ssize_t pread(int fd, void *buf, size_t n, off_t offset)
{
	static ssize_t (*real)(int, void *, size_t, off_t);

	if (!real) {
		void *f = dlsym(RTLD_NEXT, "pread");

		memcpy(&real, &f, sizeof(f));
	}
	if (is_bad(fd, (uint64_t)offset, n)) {
		errno = EIO;
		return -1;
	}
	return real(fd, buf, n, offset);
}

ssize_t pread64(int fd, void *buf, size_t n, off64_t offset)
{
	return pread(fd, buf, n, (off_t)offset);
}
