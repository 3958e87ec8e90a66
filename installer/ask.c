/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ask.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "signals.h"

/* poll() returns on a signal, which fgets() under SA_RESTART would not. */
int ask_answer(char *buf, size_t n, const char *interrupted, struct err *e)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	while (poll(&in, 1, -1) < 0) {
		if (errno != EINTR)
			return err_errno(e, "read the answer");
		if (signals_pending())
			return err_set(e, -ECANCELED, "%s", interrupted);
	}
	if (signals_pending() || !fgets(buf, (int)n, stdin))
		return err_set(e, -ECANCELED, "%s", interrupted);
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}
