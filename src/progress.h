/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * progress - how long work tells where it is, and is told to stop.
 *
 * done counts bytes that are flushed, never bytes handed to a cache.
 */
#ifndef WUBI_PROGRESS_H
#define WUBI_PROGRESS_H

#include <stdint.h>

#include "err.h"

struct progress {
	/* Called at phase boundaries and at least once per MiB-scale step. Non-zero cancels the work. */
	int (*step)(void *ctx, const char *phase, uint64_t done_bytes, uint64_t total_bytes);
	void *ctx;
};

/* NULL p, or a p without step, always goes on. Returns 0, or -ECANCELED with "interrupted during PHASE". */
int progress_step(const struct progress *p, const char *phase, uint64_t done_bytes, uint64_t total_bytes,
		  struct err *e);

#endif
