/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signals - SIGINT, SIGTERM and SIGHUP become a flag, or an immediate exit where nothing is ever written. */
#ifndef WUBI_SIGNALS_H
#define WUBI_SIGNALS_H

#include <stdbool.h>

/*
 * deferred: the signals set a flag, which progress steps look at. A commit has no such step: it always ends.
 * Not deferred: the process exits with status 4 at once. SIGPIPE is ignored: a closed pipe is a write error.
 */
void signals_install(bool deferred);

bool signals_pending(void);

#endif
