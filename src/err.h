/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * err - the one error type of the project.
 *
 * The innermost function that fails sets the error, a layer that adds a fact wraps it, the program prints it once.
 * Caller-owned, no allocation; a NULL 'struct err *' is accepted everywhere and then only the code travels.
 *
 * Text: lower case, no full stop, objects in single quotes, from the outer object to the inner, the remedy last.
 */
#ifndef WUBI_ERR_H
#define WUBI_ERR_H

#include <stdbool.h>

#define ERR_REASON_MAX 32 /* a reason code such as "fast-startup", with its NUL */

struct err {
	int code;                    /* negative errno, 0 when nothing was set */
	char reason[ERR_REASON_MAX]; /* not empty: a refusal for safety; machine-readable, see docs/architecture.md */
	char text[768];
};

#define ERR_INIT { 0, "", "" }

/* Sets code (a negative errno) and text. Returns code, so that a caller can 'return err_set(e, -EINVAL, ...)'. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Like err_set() with -errno; appends ": " and strerror. Reads errno before anything can change it. Never returns 0. */
int err_errno(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts "context: " before the text that a callee has set; keeps code and reason. Returns code. */
int err_wrap(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* A refusal for safety: code -EPERM, a reason code and a text with the remedy. Returns -EPERM. */
int err_refuse(struct err *e, const char *reason, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Is this error a refusal (exit status 3) and not a failure? False for NULL. */
bool err_is_refusal(const struct err *e);

/* Forgets what was set. */
void err_clear(struct err *e);

#endif
