/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Of a package whose dependency's dependency is not there, apt says that the dependency "is not going to be installed": then
 * it is asked about that one.
 */
#include "debpool_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ASK_MAX 24

struct search {
	struct debpool_lacks *lacks;
	struct debpool_lack ask[ASK_MAX]; /* to be asked about; text: of the lack if nothing more is found */
	size_t ask_count, ask_at;
	char needer[128]; /* whose dependencies the lines are about */
};

static void __attribute__((format(printf, 3, 4))) add_lack(struct debpool_lacks *lacks, const char *name, const char *fmt, ...)
{
	struct debpool_lack lack;
	va_list args;

	(void)snprintf(lack.name, sizeof(lack.name), "%s", name);
	va_start(args, fmt);
	(void)vsnprintf(lack.text, sizeof(lack.text), fmt, args); /* a cut text is still one */
	va_end(args);
	for (size_t i = 0; i < lacks->count; i++)
		if (!strcmp(lacks->lacks[i].text, lack.text))
			return;
	if (lacks->count < DEBPOOL_LACKS_MAX)
		lacks->lacks[lacks->count++] = lack;
}

static void add_ask(struct search *s, const char *name, const char *text)
{
	for (size_t i = 0; i < s->ask_count; i++)
		if (!strcmp(s->ask[i].name, name))
			return;
	if (s->ask_count == ASK_MAX)
		return;
	(void)snprintf(s->ask[s->ask_count].name, sizeof(s->ask[0].name), "%s", name);
	(void)snprintf(s->ask[s->ask_count++].text, sizeof(s->ask[0].text), "%s", text);
}

/* "x (>= 1) but it is not installable", of a line " a : Depends: x ..." */
static void take_unmet(struct search *s, const char *wanted, const char *but, bool is_conflict)
{
	char name[128], text[300];
	int n = (int)(but - wanted);
	size_t name_n = strcspn(wanted, " (:");

	(void)snprintf(name, sizeof(name), "%.*s", (int)name_n, wanted);
	(void)snprintf(text, sizeof(text), "'%.*s', which '%s' needs", n, wanted, s->needer);
	but += strlen(" but ");
	if (is_conflict)
		add_lack(s->lacks, "", "'%s' cannot be together with '%.*s'", s->needer, n, wanted);
	else if (!strncmp(but, "it is not going", 15))
		add_ask(s, name, text);
	else if (!strncmp(but, "it is", 5))
		add_lack(s->lacks, name, "%s", text);
	else
		add_lack(s->lacks, name, "%s (but %.*s)", text, (int)strcspn(but, "\n"), but);
}

static void take_dependency(struct search *s, const char *line)
{
	const char *colon = strstr(line, " : "), *kind = strstr(line, "Depends: "), *but = strstr(line, " but ");
	const char *against = strstr(line, "Conflicts: ");

	if (!against)
		against = strstr(line, "Breaks: ");
	if (line[0] != ' ' || !but)
		return;
	if (colon && colon < but)
		(void)snprintf(s->needer, sizeof(s->needer), "%.*s", (int)(colon - line - 1), line + 1);
	if (kind && kind < but)
		take_unmet(s, kind + strlen("Depends: "), but, false);
	else if (against && against < but)
		take_unmet(s, strchr(against, ' ') + 1, but, true);
	else
		take_unmet(s, line + strspn(line, " "), but, false); /* after an "or" */
}

static void take_removed(struct search *s, char *names)
{
	char *rest = NULL;

	for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
		add_lack(s->lacks, "", "'%s' would have to be removed", name);
}

static void take_line(struct search *s, char *line, bool *in_removed)
{
	static const char unknown[] = "E: Unable to locate package ", no_candidate[] = "E: Package '";

	if (*in_removed && line[0] == ' ')
		take_removed(s, line);
	else if (!strncmp(line, unknown, strlen(unknown)))
		add_lack(s->lacks, line + strlen(unknown), "'%s'", line + strlen(unknown));
	else if (!strncmp(line, no_candidate, strlen(no_candidate)) && strstr(line, "has no installation candidate")) {
		line += strlen(no_candidate);
		line[strcspn(line, "'")] = '\0';
		add_lack(s->lacks, line, "'%s'", line);
	} else if (!*in_removed)
		take_dependency(s, line);
	if (line[0] != ' ')
		*in_removed = !strncmp(line, "The following packages will be REMOVED", 38);
}

/* Without it all, apt's own last word. */
static void take_last_error(struct search *s, const char *output)
{
	const char *last = NULL;

	for (const char *at = output; at && *at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, "E: ", 3))
			last = at + 3;
	}
	if (last)
		add_lack(s->lacks, "", "apt says: %.*s", (int)strcspn(last, "\n"), last);
}

/* Has it said anything about what is not there? */
static bool take_output(struct search *s, const char *output)
{
	AUTO_FREE char *copy = strdup(output);
	size_t lacks = s->lacks->count, asks = s->ask_count;
	bool in_removed = false;
	char *rest = NULL;

	s->needer[0] = '\0';
	for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
		take_line(s, line, &in_removed);
	return s->lacks->count > lacks || s->ask_count > asks;
}

int debpool_explain(const struct debpool_apt *apt, const char *output, struct debpool_lacks *ret, struct err *e)
{
	static const char *const install[] = { "-y", "--no-remove", "--print-uris", "install", NULL };
	struct search s = { .lacks = ret };

	*ret = (struct debpool_lacks){ .count = 0 };
	(void)take_output(&s, output);
	while (s.ask_at < s.ask_count) {
		const struct debpool_lack *ask = &s.ask[s.ask_at++];
		const char *const names[] = { ask->name, NULL };
		AUTO_FREE char *more = NULL;
		struct err problem = ERR_INIT;
		int code = debpool_apt_run(apt, install, names, &more, &problem);

		if (code && code != -EIO) {
			if (e)
				*e = problem;
			return code;
		}
		if (!code || !more || !take_output(&s, more)) /* it would do alone */
			add_lack(ret, ask->name, "%s", ask->text);
	}
	if (ret->count == 0)
		take_last_error(&s, output);
	return 0;
}
