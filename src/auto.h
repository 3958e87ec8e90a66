/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * auto - cleanup at the end of a scope (the compiler's cleanup attribute).
 *
 * DEFINE_AUTO(extent_list, struct extent_list *, extent_list_free) stands beside a type;
 * 'AUTO(extent_list) struct extent_list *l = NULL;' frees it on every path; 'return TAKE(l);' hands it over.
 */
#ifndef WUBI_AUTO_H
#define WUBI_AUTO_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEFINE_AUTO(name, type, fn)                  \
	static inline void auto_##name(type *p)      \
	{                                            \
		fn(*p);                              \
	}                                            \
	struct auto_semicolon_##name

#define AUTO(name) __attribute__((cleanup(auto_##name)))

#define TAKE(p)                                      \
	__extension__({                              \
		__typeof__(p) auto_taken_ = (p);     \
		(p) = NULL;                          \
		auto_taken_;                         \
	})

static inline void auto_free(void *p)
{
	free(*(void **)p);
}

static inline void auto_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd); /* a descriptor whose result matters is closed by hand */
}

static inline int auto_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define AUTO_FREE __attribute__((cleanup(auto_free)))
#define AUTO_FD __attribute__((cleanup(auto_close)))
#define TAKE_FD(fd) auto_take_fd(&(fd))

#endif
