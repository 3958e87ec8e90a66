/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bootargs.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "num.h"

struct word {
	char key[64];
	char value[BOOTARGS_VALUE_MAX];
	bool has_value, cut;
};

static void __attribute__((format(printf, 2, 3))) problem(struct bootargs *a, const char *fmt, ...)
{
	va_list args;

	if (a->problem_count == BOOTARGS_PROBLEMS_MAX)
		return;
	va_start(args, fmt);
	(void)vsnprintf(a->problems[a->problem_count++], sizeof(a->problems[0]), fmt, args); /* a cut text is still one */
	va_end(args);
}

/* One word without its quotes, cut at the first '='. Returns what is behind it, NULL at the end. */
static const char *next_word(const char *p, struct word *ret)
{
	size_t key = 0, value = 0;
	bool quoted = false;

	memset(ret, 0, sizeof(*ret));
	while (isspace((unsigned char)*p))
		p++;
	if (!*p)
		return NULL;
	for (; *p && (quoted || !isspace((unsigned char)*p)); p++) {
		if (*p == '"')
			quoted = !quoted;
		else if (*p == '=' && !ret->has_value)
			ret->has_value = true;
		else if (!ret->has_value && key + 1 < sizeof(ret->key))
			ret->key[key++] = *p;
		else if (ret->has_value && value + 1 < sizeof(ret->value))
			ret->value[value++] = *p;
		else
			ret->cut = true;
	}
	return p;
}

static void take_text(struct bootargs *a, const struct word *w, char ret[BOOTARGS_VALUE_MAX])
{
	if (w->cut)
		problem(a, "%s= is too long, it is ignored", w->key);
	else
		(void)snprintf(ret, BOOTARGS_VALUE_MAX, "%s", w->value);
}

static void take_timeout(struct bootargs *a, const struct word *w)
{
	uint64_t seconds;

	if (num_parse_u64(w->value, &seconds, NULL) || seconds > BOOTARGS_TIMEOUT_MAX_S) {
		problem(a, "wubi.timeout=%.40s is no number of seconds up to %d, it is ignored", w->value,
			BOOTARGS_TIMEOUT_MAX_S);
		return;
	}
	a->timeout_given = true;
	a->timeout_s = (unsigned)seconds;
}

/* As a map has it: Wubi's own entries were written by hand, with more slashes or none in front. */
static void take_loop(struct bootargs *a, const struct word *w)
{
	char path[BOOTARGS_VALUE_MAX + 2] = "/";
	size_t n = 1;

	for (const char *p = w->value; *p; p++)
		if (*p != '/' || path[n - 1] != '/')
			path[n++] = *p;
	path[n] = '\0';
	if (w->cut || !map_image_is_valid(path))
		problem(a, "loop=%.60s is no path on a volume, it is ignored", w->value);
	else
		(void)snprintf(a->loop, sizeof(a->loop), "%s", path);
}

/* Our own parameters: one that is misspelt must not be taken for its opposite in silence. */
static void take_ours(struct bootargs *a, const struct word *w)
{
	if (!strcmp(w->key, "wubi") && !strcmp(w->value, "off"))
		a->off = true;
	else if (!strcmp(w->key, "wubi.unsettled") && !strcmp(w->value, "allow"))
		a->allow_unsettled = true;
	else if (!strcmp(w->key, "wubi.unsettled") && !strcmp(w->value, "refuse"))
		a->allow_unsettled = false;
	else if (!strcmp(w->key, "wubi.host") && (!strcmp(w->value, "1") || !strcmp(w->value, "0")))
		return; /* a unit of the installed system acts on it */
	else if (!strcmp(w->key, "wubi.map") && w->value[0] == '/')
		take_text(a, w, a->map);
	else if (!strcmp(w->key, "wubi.timeout"))
		take_timeout(a, w);
	else
		problem(a, "%s%s%.60s is not known, it is ignored: see wubi(7)", w->key, w->has_value ? "=" : "", w->value);
}

void bootargs_parse(const char *text, struct bootargs *ret)
{
	bool noresume = false;
	struct word w;

	memset(ret, 0, sizeof(*ret));
	while ((text = next_word(text, &w))) {
		if (!strcmp(w.key, "wubi") || !strncmp(w.key, "wubi.", 5))
			take_ours(ret, &w);
		else if (!strcmp(w.key, "root"))
			take_text(ret, &w, ret->root);
		else if (!strcmp(w.key, "loop"))
			take_loop(ret, &w);
		else if (!strcmp(w.key, "resume"))
			take_text(ret, &w, ret->resume_device);
		else if (!strcmp(w.key, "resume_offset"))
			ret->resume_offset = true;
		else if (!strcmp(w.key, "noresume"))
			noresume = true;
	}
	ret->resume = ret->resume_device[0] && strcmp(ret->resume_device, "none") != 0 && !noresume;
}

bool bootargs_root_serial(const struct bootargs *args, unsigned long long *ret)
{
	const char *digits = args->root + 5;

	if (strncmp(args->root, "UUID=", 5) != 0 || strlen(digits) != 16 ||
	    strspn(digits, "0123456789abcdefABCDEF") != 16)
		return false;
	*ret = strtoull(digits, NULL, 16);
	return true;
}
