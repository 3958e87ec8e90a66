/* SPDX-License-Identifier: GPL-2.0-or-later */
/* progress_tty - shows progress on standard error: a line that is redrawn, plain lines, or JSON lines. */
#ifndef WUBI_PROGRESS_TTY_H
#define WUBI_PROGRESS_TTY_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "progress.h"

struct progress_tty {
	struct progress progress; /* for the library; its ctx is this struct, which must not move */
	enum options_progress mode; /* AUTO: a terminal */
	char phase[64];
	int64_t phase_start_ms;
	int64_t shown_ms;
	bool complete;            /* the phase's end was shown */
	bool drawn;               /* a line on the terminal waits to be cleared */
};

void progress_tty_init(struct progress_tty *t, const struct options *o);

/* Clears the line on the terminal. Before anything else is printed there. */
void progress_tty_end(struct progress_tty *t);

#endif
