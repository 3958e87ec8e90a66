/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "progout.h"

static volatile sig_atomic_t signals_seen; /* the one thing that a signal handler can change */

static void remember(int number)
{
	(void)number;
	signals_seen = 1;
}

static void leave(int number)
{
	(void)number;
	_exit(PROGOUT_INTERRUPTED);
}

void signals_install(bool deferred)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action, old;

	memset(&action, 0, sizeof(action));
	action.sa_handler = deferred ? remember : leave;
	action.sa_flags = SA_RESTART;
	(void)sigemptyset(&action.sa_mask); /* cannot fail, nor can sigaction() for these numbers */
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		/* nohup(1) and shells with background jobs have them ignored: that stays */
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN)
			continue;
		(void)sigaction(numbers[i], &action, NULL);
	}
	action.sa_handler = SIG_IGN;
	(void)sigaction(SIGPIPE, &action, NULL);
	(void)sigaction(SIGXFSZ, &action, NULL);
}

bool signals_pending(void)
{
	return signals_seen != 0;
}
