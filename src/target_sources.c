/* SPDX-License-Identifier: GPL-2.0-or-later */
/* apt's sources without the medium, which apt would ask for ever after. No I/O. */
#include "target_private.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define BLANKS " \t"

/* Where live-boot and casper mount the medium, and where apt-cdrom does. */
static const char *const media[] = { "/run/live", "/lib/live", "/usr/lib/live", "/cdrom", "/media/cdrom" };

struct piece {
	const char *at;
	size_t n;
};

/* The next line, without its end. False: no more. */
static bool next_line(const char **at, const char *end, struct piece *ret)
{
	const char *newline = memchr(*at, '\n', (size_t)(end - *at));

	if (*at == end)
		return false;
	*ret = (struct piece){ *at, (size_t)((newline ? newline : end) - *at) };
	*at += ret->n + (newline != NULL);
	return true;
}

static size_t skip(const struct piece *p, size_t from, bool blanks)
{
	while (from < p->n && (strchr(BLANKS, p->at[from]) != NULL) == blanks)
		from++;
	return from;
}

static bool next_word(const struct piece *line, size_t *from, struct piece *ret)
{
	size_t begin = skip(line, *from, true);

	*from = skip(line, begin, false);
	*ret = (struct piece){ line->at + begin, *from - begin };
	return ret->n != 0;
}

static bool begins(const struct piece *p, const char *word)
{
	return p->n >= strlen(word) && strncasecmp(p->at, word, strlen(word)) == 0;
}

/* "file:/x", "file:///x" */
static bool is_medium(struct piece uri)
{
	if (begins(&uri, "cdrom:"))
		return true;
	if (!begins(&uri, "file:") && !begins(&uri, "copy:"))
		return false;
	uri = (struct piece){ uri.at + 5, uri.n - 5 };
	while (uri.n > 1 && uri.at[0] == '/' && uri.at[1] == '/')
		uri = (struct piece){ uri.at + 1, uri.n - 1 };
	for (size_t i = 0; i < sizeof(media) / sizeof(media[0]); i++) {
		size_t n = strlen(media[i]);

		if (begins(&uri, media[i]) && (uri.n == n || uri.at[n] == '/' || isdigit((unsigned char)uri.at[n])))
			return true;
	}
	return false;
}

/* ---- deb [OPTION=VALUE...] URI SUITE... ---- */

static bool is_medium_line(const struct piece *line)
{
	size_t at = 0, begin;
	struct piece word;
	const char *close;

	if (!next_word(line, &at, &word) || !begins(&word, "deb")) /* deb-src as well; a comment is neither */
		return false;
	begin = skip(line, at, true);
	if (begin < line->n && line->at[begin] == '[') {
		close = memchr(line->at + begin, ']', line->n - begin);
		at = close ? (size_t)(close - line->at) + 1 : line->n;
	}
	return next_word(line, &at, &word) && is_medium(word);
}

char *target_apt_lines_text(const char *old, bool *ret_changed)
{
	const char *at = old, *end = old + strlen(old);
	struct piece line;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	*ret_changed = false;
	while (next_line(&at, end, &line)) {
		bool is_it = is_medium_line(&line);

		(void)fprintf(f, "%s%.*s\n", is_it ? "# " : "", (int)line.n, line.at);
		*ret_changed = *ret_changed || is_it;
	}
	return target_text_end(f, &text);
}

/* ---- stanzas ---- */

static bool is_blank(const struct piece *line)
{
	return skip(line, 0, true) == line->n;
}

/* Of which field is this line, with what was the one before? *field: its name and the colon. */
static void follow_field(const struct piece *line, struct piece *field)
{
	const char *colon;

	if (line->n && (line->at[0] == '#' || strchr(BLANKS, line->at[0])))
		return;
	colon = memchr(line->at, ':', line->n);
	*field = (struct piece){ line->at, colon ? (size_t)(colon - line->at) + 1 : 0 };
}

/* The words of its URIs; f: those that are not the medium are put there. */
static void do_uris(const struct piece *stanza, FILE *f, size_t *ret_media, size_t *ret_others)
{
	const char *at = stanza->at, *end = at + stanza->n;
	struct piece line, word, field = { "", 0 };

	*ret_media = *ret_others = 0;
	while (next_line(&at, end, &line)) {
		size_t from = 0;

		follow_field(&line, &field);
		if (!begins(&field, "URIs:") || line.at[0] == '#')
			continue;
		if (field.at == line.at)
			from = field.n;
		while (next_word(&line, &from, &word)) {
			(*(is_medium(word) ? ret_media : ret_others))++;
			if (f && !is_medium(word))
				(void)fprintf(f, " %.*s", (int)word.n, word.at);
		}
	}
}

/* But for one field. */
static void put_others(const struct piece *stanza, const char *name, FILE *f)
{
	const char *at = stanza->at, *end = at + stanza->n;
	struct piece line, field = { "", 0 };

	while (next_line(&at, end, &line)) {
		follow_field(&line, &field);
		if (!begins(&field, name) || line.at[0] == '#')
			(void)fprintf(f, "%.*s\n", (int)line.n, line.at);
	}
}

static void put_stanza(const struct piece *stanza, FILE *f, bool *changed)
{
	size_t on_media, others;

	do_uris(stanza, NULL, &on_media, &others);
	if (!on_media) {
		(void)fprintf(f, "%.*s", (int)stanza->n, stanza->at);
		return;
	}
	*changed = true;
	if (!others) {
		(void)fputs("Enabled: no\n", f);
		put_others(stanza, "Enabled:", f);
		return;
	}
	(void)fputs("URIs:", f);
	do_uris(stanza, f, &on_media, &others);
	(void)fputc('\n', f);
	put_others(stanza, "URIs:", f);
}

char *target_apt_stanzas_text(const char *old, bool *ret_changed)
{
	const char *at = old, *end = old + strlen(old);
	struct piece line, stanza = { old, 0 };
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	*ret_changed = false;
	while (next_line(&at, end, &line)) {
		if (!is_blank(&line)) {
			stanza.n = (size_t)(at - stanza.at);
			continue;
		}
		put_stanza(&stanza, f, ret_changed);
		(void)fputc('\n', f);
		stanza = (struct piece){ at, 0 };
	}
	put_stanza(&stanza, f, ret_changed);
	return target_text_end(f, &text);
}
