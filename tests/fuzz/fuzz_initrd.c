/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_initrd - whatever an initramfs image has in it, looking at it ends, and does no harm: archives, compressed parts,
 * paths and links, ELF files. libFuzzer runs it in 'make fuzz', replay.c over the corpus in 'make check'.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "initrdcheck.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	(void)fprintf(stderr, "fuzz_initrd: %s\n", what);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct initrdcheck_params p = { .modules = "/nonexistent", .programs = "/nonexistent", .system = INITRDNEED_SYSTEM };
	static struct initrdcheck_result result;
	struct err e = ERR_INIT;
	int fd = memfd_create("initrd", MFD_CLOEXEC);
	char path[32];
	int r;

	require(fd >= 0 && write(fd, data, n) == (ssize_t)n, "no memory for the image");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	p.image = path;
	p.system.maps = "/nonexistent";
	r = initrdcheck_run(&p, &result, &e);
	(void)close(fd);
	require(r <= 0, "a status that is none");
	require(r < 0 || result.findings.count > 0, "an image without the maps of this system has all that it takes");
	require(r == 0 || *e.text, "an error without its text");
	return 0;
}
