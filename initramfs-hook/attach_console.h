/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attach_console - where a person who sits in front of a boot that stopped sees why. */
#ifndef WUBI_ATTACH_CONSOLE_H
#define WUBI_ATTACH_CONSOLE_H

#include <stdbool.h>
#include <stdio.h>

#include "boot.h"

struct console {
	bool boot;     /* --console: /dev/console and the kernel's log; else stderr */
	bool quiet;    /* --quiet: errors only */
	size_t errors; /* lines of BOOT_ERROR so far */
	int fd;        /* of /dev/console, -1 none */
	FILE *log;     /* every line goes there, too; NULL: no memory for it */
	char *log_text;
	size_t log_n;
};

void console_open(bool boot, bool quiet, struct console *ret);

/* A boot_say_fn; ctx is the struct console. */
void console_say(void *ctx, enum boot_level level, const char *line);

/* The whole text so far; "" without memory. Borrowed, valid until the next line. */
const char *console_log(struct console *c);

void console_close(struct console *c);

#endif
