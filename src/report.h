/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report - findings of a preflight, all of them at once. Caller-owned, no allocation. */
#ifndef WUBI_REPORT_H
#define WUBI_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

#define REPORT_MAX 24

struct finding {
	char reason[ERR_REASON_MAX]; /* machine-readable: "dirty", "image-exists", ... */
	char text[768];              /* what was found, what it risks, the one thing to do about it */
};

struct report {
	struct finding items[REPORT_MAX];
	size_t count;
};

/* Adds a finding; one beyond REPORT_MAX is dropped (the report is a refusal already). */
void report_add(struct report *r, const char *reason, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Takes over a refusal that a callee put in e, and clears e. Returns false, and changes nothing, if e is no refusal. */
bool report_take(struct report *r, struct err *e);

bool report_has(const struct report *r, const char *reason);

/* An empty report: 0. Else a refusal with the first finding's reason; the text joins all texts with "; ". */
int report_refuse(const struct report *r, struct err *e);

#endif
