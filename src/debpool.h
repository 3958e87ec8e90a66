/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debpool - the packages that the installed system needs and the copied one lacks: all of them in hand before anything is
 * written.
 *
 * apt resolves, with state of its own in a work folder and the status file of the system that will be copied: nothing of the
 * live system or the target is changed. Its sources are the pools (folders of .deb files, searched deep, made an index of),
 * and then, when allowed, what the copied system's own sources.list has, by the network.
 */
#ifndef WUBI_DEBPOOL_H
#define WUBI_DEBPOOL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct debpool_params {
	const char *const *packages; /* names, NULL ends */
	const char *const *folders;  /* pools, NULL ends; one that is not there is passed over */
	const char *tree;            /* the system that will be copied: var/lib/dpkg/status, etc/apt */
	const char *architecture;
	const char *work;            /* folder, the caller's: index, apt's state, downloaded packages */
	bool network;                /* ask the mirrors for what the pools lack */
	void (*tell)(void *ctx, const char *text); /* NULL, or takes a line before something long */
	bool (*interrupted)(void *ctx);            /* NULL: never */
	void *ctx;
};

struct debpool { /* zero-initialised is empty; debpool_clear() */
	char (*files)[PATH_MAX]; /* .deb files, complete and checked, in an order in which 'dpkg --unpack' takes them */
	/*
	 * Of each file: it pre-depends on one before it, which 'dpkg --unpack' takes for unmet until that is configured: 'dpkg
	 * --configure --pending' has to run before it, whose exit status says nothing, for others may still lack what comes
	 * later. Most have none, and go to dpkg all at once.
	 */
	bool *settle;
	size_t count;
	uint64_t installed_bytes; /* what they take when installed, by their Installed-Size */
};

/*
 * Pools alone first; only what they cannot give is asked of the network. Refusal "packages": which are lacking, where was
 * looked, and what to do (--packages). Nothing of the copied system is removed for them: that is refused as well. All that are
 * needed are there already: count 0. -ECANCELED.
 */
int debpool_resolve(const struct debpool_params *par, struct debpool *ret, struct err *e);
void debpool_clear(struct debpool *p);

static inline void auto_debpool(struct debpool *p)
{
	debpool_clear(p);
}

#endif
