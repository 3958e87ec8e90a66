/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signals - SIGINT, SIGTERM, SIGHUP and SIGQUIT become a flag, or an immediate exit where nothing is ever written. */
#ifndef WUBI_SIGNALS_H
#define WUBI_SIGNALS_H

#include <stdbool.h>

/*
 * deferred: the signals set a flag, which progress steps look at. A commit has no such step: it always ends.
 * Not deferred: the process exits with status 4 at once. SIGPIPE and SIGXFSZ are ignored: a closed pipe and a file that may
 * not grow are write errors. All others wait for the end of a commit, which blocks them.
 */
void signals_install(bool deferred);

bool signals_pending(void);

#endif
