/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * alloc_fail - makes the k-th allocation of a module fail. Include this, then the module's .c file:
 * its calls go through here, those of cmocka and of the C library do not, so that it works under
 * ASan and valgrind too. The module's object in the library is then not linked.
 */
#ifndef WUBI_TEST_ALLOC_FAIL_H
#define WUBI_TEST_ALLOC_FAIL_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h" /* before the macros: free() is not replaced */

static int alloc_fail_at; /* 1: the next one; 0: none */
static int alloc_failed;  /* how many were refused */

static inline bool alloc_refused(void)
{
	if (alloc_fail_at == 0 || --alloc_fail_at > 0)
		return false;
	alloc_failed++;
	errno = ENOMEM;
	return true;
}

static inline void *alloc_fail_calloc(size_t n, size_t size)
{
	return alloc_refused() ? NULL : calloc(n, size);
}

static inline void *alloc_fail_realloc(void *p, size_t size)
{
	return alloc_refused() ? NULL : realloc(p, size);
}

static inline void *alloc_fail_reallocarray(void *p, size_t n, size_t size)
{
	return alloc_refused() ? NULL : reallocarray(p, n, size);
}

static inline char *alloc_fail_strdup(const char *s)
{
	return alloc_refused() ? NULL : strdup(s);
}

static inline char *alloc_fail_strndup(const char *s, size_t n)
{
	return alloc_refused() ? NULL : strndup(s, n);
}

static inline char *alloc_fail_realpath(const char *path, char *resolved)
{
	return alloc_refused() ? NULL : realpath(path, resolved);
}

static inline FILE *alloc_fail_open_memstream(char **text, size_t *n)
{
	return alloc_refused() ? NULL : open_memstream(text, n);
}

#undef strdup
#undef strndup
#define calloc alloc_fail_calloc
#define realloc alloc_fail_realloc
#define reallocarray alloc_fail_reallocarray
#define strdup alloc_fail_strdup
#define strndup alloc_fail_strndup
#define realpath alloc_fail_realpath
#define open_memstream alloc_fail_open_memstream
#define asprintf(text, ...) (alloc_refused() ? -1 : (asprintf)(text, __VA_ARGS__))

#endif
