/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What libconfuse 3.3 must not see, because it makes something of it that nobody sees (tried with each of these): "${NAME}" is
 * filled in from the environment, in quotes and without; a section that is not closed ends with the file, and so does a comment;
 * \0 cuts a value; characters that mean nothing, as in 'loss = * 2', are dropped; a key in quotes can name one of another section
 * ("profile=safe|loss"); and each comment is counted as a line more, so that the lines in messages would be wrong.
 */
#include "conf_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"

#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.%"

struct cursor {
	struct conf_scan *scan;
	char *at;
	unsigned line;
	enum { NOTHING, KEY, EQUALS, VALUE } before; /* what a text in quotes would follow */
	bool in_section;
	struct err *e;
};

static int __attribute__((format(printf, 2, 3))) fail(const struct cursor *c, const char *fmt, ...)
{
	char text[sizeof(c->e->text)];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args); /* a cut text is still one */
	va_end(args);
	return err_set(c->e, -EINVAL, "%s:%u: %s", c->scan->name, c->line, text);
}

size_t conf_scan_printable(const unsigned char *p)
{
	static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;
	unsigned code = n < 2 ? *p : *p & (0x7fU >> n);

	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3fU);
	}
	if (code < ' ' || (code >= 0x7f && code < 0xa0) || (n > 1 && code < least[n]))
		return 0;
	return code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : n;
}

static int scan_line_comment(struct cursor *c)
{
	size_t n = strcspn(c->at, "\n");

	memset(c->at, ' ', n);
	c->at += n;
	return 0;
}

static int scan_block_comment(struct cursor *c)
{
	char *end = strstr(c->at + 2, "*/");

	if (!end)
		return fail(c, "a comment begins here and does not end, allowed is one that ends with '*/'");
	for (end += 2; c->at < end; c->at++) {
		if (*c->at == '\n')
			c->line++;
		else
			*c->at = ' ';
	}
	return 0;
}

/* From one quote to the other. */
static int scan_quoted(struct cursor *c)
{
	char quote = *c->at++;
	size_t n;

	if (c->before != KEY && c->before != EQUALS)
		return fail(c, "a text in quotes is in the place of a key, allowed are keys without quotes");
	c->before = VALUE;
	for (; *c->at != quote; c->at += n) {
		n = conf_scan_printable((const unsigned char *)c->at);
		if (!*c->at || *c->at == '\n' || *c->at == '\r')
			return fail(c, "a text in quotes is not closed, allowed is one that ends on its line");
		if (n == 0)
			return fail(c, "a text in quotes has a control character or is no UTF-8, allowed is plain text");
		if (!strncmp(c->at, "${", 2))
			return fail(c, "a text has '${', and the environment is not filled in; allowed is text without it");
		if (*c->at == '\\' && c->at[1] != quote && c->at[1] != '\\')
			return fail(c, "a text has a backslash, allowed is one before a quote or another backslash");
		if (*c->at == '\\')
			n = 2;
	}
	c->at++;
	return 0;
}

static int scan_brace(struct cursor *c)
{
	bool opens = *c->at++ == '{';

	if (c->scan->is_flat)
		return fail(c, "'%c' is not expected here, allowed is KEY = \"VALUE\"", opens ? '{' : '}');
	if (opens && c->in_section)
		return fail(c, "'{' in a section, allowed are keys with their values until '}'");
	if (!opens && !c->in_section)
		return fail(c, "'}' without a section, allowed is one for each '{'");
	if (opens && c->scan->section_count == CONF_SECTIONS_MAX)
		return fail(c, "too many sections, allowed are %d", CONF_SECTIONS_MAX);
	if (opens)
		c->scan->section_line[c->scan->section_count++] = c->line;
	c->in_section = opens;
	c->before = NOTHING;
	return 0;
}

static int scan_other(struct cursor *c)
{
	size_t n = conf_scan_printable((const unsigned char *)c->at);

	if (n == 0)
		return fail(c, "a control character or no UTF-8 (byte 0x%02x), allowed is text", (unsigned char)*c->at);
	return fail(c, "'%.*s' is not expected here, allowed are KEY = \"VALUE\"%s; a value with it takes quotes", (int)n, c->at,
		    c->scan->is_flat ? "" : " and sections");
}

static int scan_one(struct cursor *c)
{
	size_t word = strspn(c->at, WORD);

	if (word > 0) {
		c->before = c->before == EQUALS ? VALUE : KEY;
		c->at += word;
		return 0;
	}
	switch (*c->at) {
	case '\r':
		if (c->at[1] != '\n')
			return scan_other(c);
		*c->at++ = ' ';
		return 0;
	case '\n':
		c->line++;
		c->at++;
		return 0;
	case ' ':
	case '\t':
		c->at++;
		return 0;
	case '=':
		c->before = EQUALS;
		c->at++;
		return 0;
	case '#':
		return scan_line_comment(c);
	case '"':
	case '\'':
		return scan_quoted(c);
	case '{':
	case '}':
		return scan_brace(c);
	default:
		break;
	}
	if (!strncmp(c->at, "//", 2))
		return scan_line_comment(c);
	return strncmp(c->at, "/*", 2) != 0 ? scan_other(c) : scan_block_comment(c);
}

int conf_scan(struct conf_scan *s, const char *text, char **ret, struct err *e)
{
	struct cursor c = { .scan = s, .line = 1, .e = e };
	AUTO_FREE char *copy = NULL;
	int code = 0;

	if (strlen(text) > CONF_TEXT_MAX)
		return err_set(e, -EFBIG, "'%s' has more than %d bytes", s->name, CONF_TEXT_MAX);
	copy = strdup(text);
	if (!copy)
		return err_set(e, -ENOMEM, "'%s': out of memory", s->name);
	s->section_count = 0;
	if (!strncmp(copy, "\xef\xbb\xbf", 3)) /* what editors of Windows put in front */
		memset(copy, ' ', 3);
	for (c.at = copy; !code && *c.at;)
		code = scan_one(&c);
	if (!code && c.in_section) {
		c.line = s->section_line[s->section_count - 1];
		code = fail(&c, "a section begins here and does not end, allowed is one that ends with '}'");
	}
	if (!code)
		*ret = TAKE(copy);
	return code;
}
