/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "progress.h"

#include <errno.h>

int progress_step(const struct progress *p, const char *phase, uint64_t done_bytes,
		  uint64_t total_bytes, struct err *e)
{
	if (!p || !p->step)
		return 0;
	if (p->step(p->ctx, phase, done_bytes, total_bytes) == 0)
		return 0;
	return err_set(e, -ECANCELED, "interrupted during %s", phase);
}
