/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dpkglock - keeps apt and dpkg away for a while: two builders of one initramfs would write over each other, and a hook that runs
 * amid an upgrade copies half of it.
 */
#ifndef WUBI_DPKGLOCK_H
#define WUBI_DPKGLOCK_H

#include <stdbool.h>

#include "err.h"

#define DPKGLOCK_FILE "/var/lib/dpkg/lock-frontend"
#define DPKGLOCK_TIMEOUT_S 600U

struct dpkglock_params { /* all borrowed */
	const char *file;    /* DPKGLOCK_FILE */
	unsigned timeout_s;  /* how long others may have it */
	void (*tell)(void *ctx, const char *text); /* NULL, or takes a line when there is something to wait for */
	bool (*interrupted)(void *ctx);            /* NULL: never */
	void *ctx;
};

/*
 * Takes dpkg's frontend lock. *ret_fd: close() gives it back, and so does the end of the process; -1 with success when there is
 * nothing to lock: no dpkg here, its folder cannot be written, or a caller of ours has the lock (DPKG_FRONTEND_LOCKED,
 * DPKG_RUNNING_VERSION). -EAGAIN: others have it still; -ECANCELED: interrupted.
 */
int dpkglock_take(const struct dpkglock_params *p, int *ret_fd, struct err *e);

#endif
