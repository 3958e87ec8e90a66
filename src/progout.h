/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * progout - the standard streams of a program: results on stdout (text, or one JSON value), and on stderr
 * 'program: verb: reason'. The exit statuses.
 *
 * What a process has once is kept in progout.c: the program's name, and whether text for stdout was lost.
 *
 * Names that come from a volume can hold anything; progout_print() lets no control character through.
 */
#ifndef WUBI_PROGOUT_H
#define WUBI_PROGOUT_H

#include <stdio.h>

#include "err.h"
#include "jsonout.h"
#include "optrows.h"
#include "report.h"

/* Exit statuses: part of the interface, see the man pages. */
enum progout_status {
	PROGOUT_DONE = 0,
	PROGOUT_FAILED = 1,
	PROGOUT_USAGE = 2,
	PROGOUT_REFUSED = 3,
	PROGOUT_INTERRUPTED = 4,
};

/*
 * Before anything is opened or printed. name is borrowed for good: it starts every line on stderr. Standard streams that the
 * caller of the program has closed are filled, so that no file or volume that is opened later gets what is printed. -1:
 * without /dev/null that cannot be, and there is nowhere to tell it.
 */
int progout_init(const char *name);

/*
 * printf to f; every control character but newline becomes '?'. What is lost, for want of memory too, progout_flush() and
 * progout_finish() tell.
 */
void progout_print(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Flushes stdout. Returns status, or PROGOUT_FAILED, told on stderr, when not all that was printed arrived. */
int progout_finish(int status);

/* Can standard output be written at all? -EBADF: it was closed. Before anything is changed that would have to be told. */
int progout_check_open(struct err *e);

/* Did all that was printed so far arrive? For results that must be out before something is written. */
int progout_flush(struct err *e);

/* PROGOUT_REFUSED, PROGOUT_INTERRUPTED or PROGOUT_FAILED. */
int progout_status_of(const struct err *e);

/*
 * Tells a failure, refusal or interruption on stderr, and with --json on stdout too: {status, reason, message, findings}.
 * findings may be NULL. Returns the exit status.
 */
int progout_fail(const struct optrows_base *o, const struct err *e, const struct report *findings);

/*
 * The same after a call whose -EINVAL means a bad request, which is a usage error. Not for other calls: theirs may be the
 * kernel's word on an I/O.
 */
int progout_fail_request(const struct optrows_base *o, const struct err *e, const struct report *findings);

/* Prints root on stdout and frees it. Returns PROGOUT_DONE, or PROGOUT_FAILED, told on stderr. */
int progout_json(struct jsonout *root);

#endif
