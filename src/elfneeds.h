/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elfneeds - what the dynamic loader needs to start a program or to load a library. The only file that includes libelf. */
#ifndef WUBI_ELFNEEDS_H
#define WUBI_ELFNEEDS_H

#include <stddef.h>

#include "auto.h"
#include "err.h"

#define ELFNEEDS_LIBRARIES_MAX 256
#define ELFNEEDS_TEXT_MAX 4096

struct elfneeds {
	unsigned machine;       /* e_machine; two files work together when it and the class are the same */
	unsigned bits;          /* class: 32 or 64 */
	const char *multiarch;  /* Debian's folder of such libraries, "x86_64-linux-gnu"; "" not known. Static. */
	char *interpreter;      /* absolute path of the dynamic loader; NULL: a library, or a static program */
	char *search;           /* RUNPATH, else RPATH: folders with ':' between; NULL: none */
	char **libraries;       /* the names of DT_NEEDED, in order */
	size_t library_count;
};

/*
 * Reads n bytes of an ELF file, which may be damaged or made to do harm. data is the caller's, and not to be used for anything
 * else meanwhile. -ENOEXEC: no ELF file; -EINVAL: a damaged one; -ENOMEM.
 */
int elfneeds_read(void *data, size_t n, struct elfneeds **ret, struct err *e);

/* The memory that it takes. */
size_t elfneeds_bytes(const struct elfneeds *needs);

void elfneeds_free(struct elfneeds *needs); /* NULL is fine */
DEFINE_AUTO(elfneeds, struct elfneeds *, elfneeds_free);

#endif
