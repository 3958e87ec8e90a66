/* SPDX-License-Identifier: GPL-2.0-or-later */
/* progress_tty - shows progress on standard error: a line that is redrawn, plain lines, or JSON lines. */
#ifndef WUBI_PROGRESS_TTY_H
#define WUBI_PROGRESS_TTY_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "progress.h"

enum progress_tty_mode {
	PROGRESS_TTY_AUTO, /* redrawn on a terminal, else nothing */
	PROGRESS_TTY_PLAIN,
	PROGRESS_TTY_JSON,
	PROGRESS_TTY_NONE,
};

struct progress_tty {
	struct progress progress; /* for the library; its ctx is this struct, which must not move */
	enum progress_tty_mode mode; /* AUTO: a terminal */
	char phase[64];
	int64_t phase_start_ms;
	int64_t shown_ms;
	bool complete;            /* the phase's end was shown */
	bool drawn;               /* a line on the terminal waits to be cleared */
};

/* The mode of a word, for --progress; NULL is "auto". -EINVAL: it is none. */
int progress_tty_parse(const char *text, enum progress_tty_mode *ret, struct err *e);

/* With quiet, AUTO shows nothing. */
void progress_tty_init(struct progress_tty *t, enum progress_tty_mode mode, bool quiet);

/* Clears the line on the terminal. Before anything else is printed there. */
void progress_tty_end(struct progress_tty *t);

#endif
