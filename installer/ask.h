/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ask - the answer to a question that wubi-disk has put on standard error. */
#ifndef WUBI_ASK_H
#define WUBI_ASK_H

#include <stddef.h>

#include "err.h"

#define ASK_ANSWER_MAX 16 /* for 'yes' */

/* A line of standard input without its end. interrupted: the text of the -ECANCELED that a signal, or no line, is. */
int ask_answer(char *buf, size_t n, const char *interrupted, struct err *e);

#endif
