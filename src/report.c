/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void report_add(struct report *r, const char *reason, const char *fmt, ...)
{
	struct finding *f;
	struct err tidy = ERR_INIT;
	va_list ap;

	if (r->count >= REPORT_MAX)
		return;
	f = &r->items[r->count++];
	va_start(ap, fmt);
	if (vsnprintf(f->text, sizeof(f->text), fmt, ap) < 0)
		f->text[0] = '\0';
	va_end(ap);
	(void)err_refuse(&tidy, reason, "%s",
			 f->text); /* cuts what is too long as an error's text would be cut */
	memcpy(f->reason, tidy.reason, sizeof(f->reason));
	memcpy(f->text, tidy.text, sizeof(f->text));
}

bool report_take(struct report *r, struct err *e)
{
	if (!err_is_refusal(e))
		return false;
	report_add(r, e->reason, "%s", e->text);
	err_clear(e);
	return true;
}

bool report_has(const struct report *r, const char *reason)
{
	for (size_t i = 0; i < r->count; i++) {
		if (strcmp(r->items[i].reason, reason) == 0)
			return true;
	}
	return false;
}

int report_refuse(const struct report *r, struct err *e)
{
	char text[sizeof(((struct err *)NULL)->text)] = "";
	size_t used = 0;

	if (r->count == 0)
		return 0;
	for (size_t i = 0; i < r->count && used < sizeof(text); i++) {
		int n = snprintf(text + used, sizeof(text) - used, "%s%s", i ? "; " : "",
				 r->items[i].text);

		if (n < 0)
			break;
		used += (size_t)n;
	}
	return err_refuse(e, r->items[0].reason, "%s", text);
}
