/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boot_output - what wubi-boot prints about a plan. */
#ifndef WUBI_BOOT_OUTPUT_H
#define WUBI_BOOT_OUTPUT_H

#include "espboot.h"
#include "optrows.h"

struct boot_outcome {
	const struct optrows_base *base;
	const struct espboot_plan *plan;
	const char *status;  /* of --json: "done", "unchanged", "due", "dry-run" */
	const char *esp;
	const char *pending; /* why an earlier run did not succeed; NULL: it did */
};

/* Returns the exit status. */
int boot_output(const struct boot_outcome *o);

#endif
