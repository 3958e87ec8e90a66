/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the lists on media say. No I/O. */
#include "livesource_private.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define END ".squashfs"
#define BLANKS " \t\r\n"

static int add_name(struct livesource_names *list, const char *name, size_t n, struct err *e)
{
	if (list->count == LIVESOURCE_LAYERS_MAX)
		return err_set(e, -E2BIG, "more than %d layers", LIVESOURCE_LAYERS_MAX);
	if (!n || n >= LIVESOURCE_NAME_MAX || name[0] == '.' || memchr(name, '/', n))
		return err_set(e, -EINVAL, "'%.*s' is no name of a layer", n > 100 ? 100 : (int)n, name);
	memcpy(list->names[list->count], name, n);
	list->names[list->count++][n] = '\0';
	return 0;
}

int livesource_module_names(const char *text, struct livesource_names *ret, struct err *e)
{
	int code = 0;

	ret->count = 0;
	text += strspn(text, BLANKS);
	while (!code && *text) {
		size_t n = strcspn(text, BLANKS);

		code = add_name(ret, text, n, e);
		text += n;
		text += strspn(text, BLANKS);
	}
	if (!code && !ret->count)
		return err_set(e, -EINVAL, "no layer is in it");
	return code;
}

/* ---- install-sources.yaml ---- */

struct source { /* an item of the list */
	char path[LIVESOURCE_NAME_MAX];
	bool is_layered, is_default;
};

/* "path: x" at key; ret without quotes, blanks and comment. False: another key, or too long. */
static bool value_of(const char *key, size_t n, const char *name, char ret[LIVESOURCE_NAME_MAX])
{
	size_t length = strlen(name), end;

	if (n <= length || strncmp(key, name, length) != 0 || key[length] != ':')
		return false;
	key += length + 1;
	n -= length + 1;
	while (n && isblank((unsigned char)*key)) {
		key++;
		n--;
	}
	for (end = 0; end < n && !isspace((unsigned char)key[end]); end++)
		;
	if (end >= 2 && (key[0] == '"' || key[0] == '\'') && key[end - 1] == key[0]) {
		key++;
		end -= 2;
	}
	if (end >= LIVESOURCE_NAME_MAX)
		return false;
	memcpy(ret, key, end);
	ret[end] = '\0';
	return true;
}

static void use_key(struct source *s, const char *key, size_t n)
{
	char value[LIVESOURCE_NAME_MAX];

	if (value_of(key, n, "path", value))
		memcpy(s->path, value, sizeof(value));
	else if (value_of(key, n, "type", value))
		s->is_layered = strcmp(value, "fsimage") != 0;
	else if (value_of(key, n, "default", value))
		s->is_default = strcmp(value, "true") == 0 || strcmp(value, "yes") == 0;
}

/* The first one, until the default comes. */
static void end_source(const struct source *s, struct source *best)
{
	if (s->path[0] && (!best->path[0] || (s->is_default && !best->is_default)))
		*best = *s;
}

int livesource_default_path(const char *text, char ret[LIVESOURCE_NAME_MAX], bool *ret_is_layered, struct err *e)
{
	struct source now = { .is_layered = true }, best = { .is_layered = true };
	size_t indent = 0; /* of the keys of an item; 0: none has begun */

	while (*text) {
		size_t n = strcspn(text, "\n"), blank = strspn(text, " ");

		if (text[0] == '-' && n > 1 && text[1] == ' ') {
			end_source(&now, &best);
			now = (struct source){ .is_layered = true };
			indent = 1 + strspn(text + 1, " ");
			use_key(&now, text + indent, n > indent ? n - indent : 0);
		} else if (indent && blank == indent && blank < n) {
			use_key(&now, text + blank, n - blank);
		}
		text += n + (text[n] == '\n');
	}
	end_source(&now, &best);
	if (!best.path[0])
		return err_set(e, -EINVAL, "no source with a 'path' is in it");
	memcpy(ret, best.path, sizeof(best.path));
	*ret_is_layered = best.is_layered;
	return 0;
}

int livesource_chain(const char *path, struct livesource_names *ret, struct err *e)
{
	size_t n = strlen(path), end = strlen(END);
	int code = 0;

	ret->count = 0;
	if (n <= end || strcmp(path + n - end, END) != 0)
		return err_set(e, -EINVAL, "'%s' is no squashfs", path);
	n -= end;
	for (size_t at = 1; !code && at <= n; at++) {
		char name[LIVESOURCE_NAME_MAX + sizeof(END)];

		if (at != n && path[at] != '.')
			continue;
		(void)memcpy(name, path, at); /* as long as path at most */
		memcpy(name + at, END, sizeof(END));
		code = add_name(ret, name, at + end, e);
	}
	return code;
}

/* "en", "pt_BR", "zh-hans", "sr-latin" */
static bool is_language(const char *part, size_t n)
{
	size_t letters = 0;

	while (letters < n && islower((unsigned char)part[letters]))
		letters++;
	return (letters == 2 || letters == 3) && (letters == n || part[letters] == '_' || part[letters] == '-');
}

bool livesource_is_extra(const char *name)
{
	static const char *const extras[] = { "live", "no-languages", "enhanced-secureboot", "hotfix" };

	while (*name) {
		size_t n = strcspn(name, ".");

		if (is_language(name, n))
			return true;
		for (size_t i = 0; i < sizeof(extras) / sizeof(extras[0]); i++)
			if (strlen(extras[i]) == n && strncmp(name, extras[i], n) == 0)
				return true;
		name += n + (name[n] == '.');
	}
	return false;
}

void livesource_os_value(const char *text, const char *name, char *ret, size_t size)
{
	size_t length = strlen(name);

	ret[0] = '\0';
	while (text && *text) {
		size_t n = strcspn(text, "\r\n"), used = 0;

		if (n > length && strncmp(text, name, length) == 0 && text[length] == '=') {
			for (size_t i = length + 1; i < n && used + 1 < size; i++)
				if (text[i] != '"' && text[i] != '\'' && text[i] != '\\' && (unsigned char)text[i] >= ' ')
					ret[used++] = text[i];
			ret[used] = '\0';
		}
		text += n;
		text += strspn(text, "\r\n");
	}
}
