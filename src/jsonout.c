/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jsonout.h"

#include <errno.h>
#include <json.h>
#include <stdlib.h>
#include <string.h>

#define JSONOUT_FLAGS (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

struct jsonout {
	struct json_object *value; /* borrowed, except the root's */
	struct jsonout *root;      /* the root's own is itself */
	struct jsonout *next;      /* all that hang on the root, so that one free releases them */
	bool failed;               /* the root's only */
	size_t length;             /* the root's only: what all of it has as text; see jsonout_print() */
};

struct jsonout *jsonout_object(void)
{
	struct jsonout *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return NULL;
	j->root = j;
	j->length = 2; /* "{}" */
	j->value = json_object_new_object();
	if (j->value == NULL) {
		free(j);
		return NULL;
	}
	return j;
}

/* Of a string as json-c writes it, with its quotes. */
static size_t jsonout_string_length(const char *text)
{
	size_t n = 2;

	for (const char *p = text; *p != '\0'; p++)
		n += strchr("\b\n\r\t\f\"\\", *p) != NULL ? 2 : (unsigned char)*p < 0x20 ? 6 : 1;
	return n;
}

/*
 * Takes value, of 'length' bytes as text, over in any case. NULL value: null, or out of memory if is_null is false.
 */
static bool jsonout_add(struct jsonout *parent, const char *key, struct json_object *value, size_t length, bool is_null)
{
	bool is_first = true;
	int rc;

	if (parent == NULL) {
		json_object_put(value);
		return false;
	}
	if (value == NULL && !is_null) {
		rc = -1;
	} else if (json_object_is_type(parent->value, json_type_array)) {
		is_first = json_object_array_length(parent->value) == 0;
		rc = json_object_array_add(parent->value, value);
	} else {
		is_first = json_object_object_length(parent->value) == 0;
		length += jsonout_string_length(key) + 1;
		rc = json_object_object_add(parent->value, key, value);
	}
	if (rc != 0) {
		json_object_put(value);
		parent->root->failed = true;
		return false;
	}
	parent->root->length += length + (is_first ? 0 : 1);
	return true;
}

static struct jsonout *jsonout_add_parent(struct jsonout *parent, const char *key, struct json_object *value)
{
	struct jsonout *j = calloc(1, sizeof(*j));

	if (j == NULL || parent == NULL) {
		if (parent != NULL)
			parent->root->failed = true;
		json_object_put(value);
		free(j);
		return NULL;
	}
	if (!jsonout_add(parent, key, value, 2, false)) {
		free(j);
		return NULL;
	}
	j->value = value;
	j->root = parent->root;
	j->next = parent->root->next;
	parent->root->next = j;
	return j;
}

struct jsonout *jsonout_add_object(struct jsonout *parent, const char *key)
{
	return jsonout_add_parent(parent, key, json_object_new_object());
}

struct jsonout *jsonout_add_array(struct jsonout *parent, const char *key)
{
	return jsonout_add_parent(parent, key, json_object_new_array());
}

/* Length of the well-formed UTF-8 sequence at p, 0 if there is none (RFC 3629: no surrogates, nothing overlong). */
static size_t jsonout_utf8_length(const unsigned char *p)
{
	size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : 0;

	if (p[0] >= 0xf0 && p[0] < 0xf5)
		n = 4;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80) /* the NUL ends it, too */
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

/* json-c writes bytes as they are; a volume label or a path need not be UTF-8, but JSON must be. */
static char *jsonout_clean(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	char *ret = malloc(strlen(text) * 3 + 1);
	char *to = ret;

	while (ret != NULL && *p != '\0') {
		size_t n = jsonout_utf8_length(p);

		memcpy(to, n > 0 ? (const char *)p : "\xef\xbf\xbd", n > 0 ? n : 3); /* U+FFFD */
		to += n > 0 ? n : 3;
		p += n > 0 ? n : 1;
	}
	if (ret != NULL)
		*to = '\0';
	return ret;
}

void jsonout_add_string(struct jsonout *parent, const char *key, const char *value)
{
	AUTO_FREE char *clean = NULL;

	if (value == NULL) {
		(void)jsonout_add(parent, key, NULL, 4, true); /* a failure is latched */
		return;
	}
	clean = jsonout_clean(value);
	(void)jsonout_add(parent, key, clean != NULL ? json_object_new_string(clean) : NULL,
			  clean != NULL ? jsonout_string_length(clean) : 0, false); /* latched */
}

void jsonout_add_u64(struct jsonout *parent, const char *key, uint64_t value)
{
	size_t digits = 1;

	for (uint64_t left = value; left >= 10; left /= 10)
		digits++;
	(void)jsonout_add(parent, key, json_object_new_uint64(value), digits, false); /* latched */
}

void jsonout_add_bool(struct jsonout *parent, const char *key, bool value)
{
	(void)jsonout_add(parent, key, json_object_new_boolean(value), value ? 4 : 5, false); /* latched */
}

int jsonout_print(const struct jsonout *root, FILE *f, struct err *e)
{
	const char *text;
	size_t length = 0;

	if (root == NULL || root->failed)
		return err_set(e, -ENOMEM, "write JSON: out of memory");
	text = json_object_to_json_string_length(root->value, JSONOUT_FLAGS, &length);
	/* json-c 0.16 leaves out what it has no memory for while it writes, and says nothing; its parser would crash */
	if (text == NULL || length != root->length)
		return err_set(e, -ENOMEM, "write JSON: out of memory");
	if (fputs(text, f) < 0 || fputc('\n', f) == EOF || fflush(f) != 0)
		return err_set(e, -EIO, "write JSON: %s", strerror(errno));
	return 0;
}

void jsonout_free(struct jsonout *root)
{
	if (root == NULL)
		return;
	json_object_put(root->value);
	while (root != NULL) {
		struct jsonout *next = root->next;

		free(root);
		root = next;
	}
}
