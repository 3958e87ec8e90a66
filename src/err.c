/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Half a UTF-8 character at a cut end is nothing that JSON can hold: it goes too. */
static void trim_utf8_tail(char *text)
{
	size_t n = strlen(text);
	size_t start = n;
	size_t need = 1;
	unsigned char lead;

	while (start > 0 && n - start < 4 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
		start--;
	if (start == 0)
		return;
	lead = (unsigned char)text[--start];
	if (lead >= 0xf0)
		need = 4;
	else if (lead >= 0xe0)
		need = 3;
	else if (lead >= 0xc0)
		need = 2;
	if (n - start < need)
		text[start] = '\0';
}

/* Through a second buffer: an argument may be the old text itself. */
static void put_text(struct err *e, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
static void put_text(struct err *e, const char *fmt, va_list ap)
{
	char text[sizeof(e->text)];
	int n = vsnprintf(text, sizeof(text), fmt, ap);

	if (n < 0)
		text[0] = '\0';
	trim_utf8_tail(text); /* cut here, or by the caller */
	memcpy(e->text, text, sizeof(text));
}

static void append_text(struct err *e, const char *separator, const char *more)
{
	size_t used = strlen(e->text);
	size_t room = sizeof(e->text) - used;
	int n = snprintf(e->text + used, room, "%s%s", separator, more);

	if (n < 0 || (size_t)n >= room)
		trim_utf8_tail(e->text);
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	va_start(ap, fmt);
	put_text(e, fmt, ap);
	va_end(ap);
	e->code = code;
	e->reason[0] = '\0';
	return code;
}

int err_errno(struct err *e, const char *fmt, ...)
{
	int saved = errno ? errno
			  : EIO; /* a caller that fails without errno must not look like success */
	va_list ap;

	if (!e)
		return -saved;
	va_start(ap, fmt);
	put_text(e, fmt, ap);
	va_end(ap);
	append_text(e, ": ", strerror(saved));
	e->code = -saved;
	e->reason[0] = '\0';
	return -saved;
}

int err_wrap(struct err *e, int code, const char *fmt, ...)
{
	char inner[sizeof(e->text)];
	va_list ap;

	if (!e)
		return code;
	if (e->code == 0) {
		e->code = code;
		e->text[0] = '\0';
	}
	if (e->text[0] == '\0')
		append_text(e, "", strerror(-e->code));
	memcpy(inner, e->text, sizeof(inner));
	va_start(ap, fmt);
	put_text(e, fmt, ap);
	va_end(ap);
	append_text(e, ": ", inner);
	return code;
}

int err_refuse(struct err *e, const char *reason, const char *fmt, ...)
{
	char copy[ERR_REASON_MAX];
	va_list ap;

	if (!e)
		return -EPERM;
	(void)snprintf(copy, sizeof(copy), "%s",
		       reason); /* may be e->reason itself; a longer one is cut */
	va_start(ap, fmt);
	put_text(e, fmt, ap);
	va_end(ap);
	memcpy(e->reason, copy, sizeof(copy));
	e->code = -EPERM;
	return -EPERM;
}

bool err_is_refusal(const struct err *e)
{
	return e && e->code != 0 && e->reason[0] != '\0';
}

void err_clear(struct err *e)
{
	if (e)
		*e = (struct err)ERR_INIT;
}
