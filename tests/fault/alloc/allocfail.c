/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * allocfail - linked into wubi-disk with -Wl,--wrap=..., so that only our own objects come here: the ALLOC_FAIL_AT-th
 * allocation fails. ALLOC_COUNT=file: the number of allocations so far, as text, kept up to date.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
int __real_vasprintf(char **ret, const char *fmt, va_list ap);
FILE *__real_open_memstream(char **ret, size_t *ret_n);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap);
int __wrap_asprintf(char **ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
FILE *__wrap_open_memstream(char **ret, size_t *ret_n);

static unsigned long allocations;

static bool fails(void)
{
	static unsigned long at;
	static int count_fd = -2;
	char text[32];

	if (count_fd == -2) {
		const char *s = getenv("ALLOC_FAIL_AT"), *path = getenv("ALLOC_COUNT");

		at = s ? strtoul(s, NULL, 10) : 0;
		count_fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644) : -1;
	}
	allocations++;
	if (count_fd >= 0) {
		int n = snprintf(text, sizeof(text), "%lu\n", allocations);

		if (pwrite(count_fd, text, (size_t)n, 0) != n)
			abort();
	}
	if (allocations != at)
		return false;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : __real_strndup(s, n);
}

int __wrap_vasprintf(char **ret, const char *fmt, va_list ap)
{
	return fails() ? -1 : __real_vasprintf(ret, fmt, ap);
}

int __wrap_asprintf(char **ret, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = __wrap_vasprintf(ret, fmt, ap);
	va_end(ap);
	return n;
}

FILE *__wrap_open_memstream(char **ret, size_t *ret_n)
{
	return fails() ? NULL : __real_open_memstream(ret, ret_n);
}
