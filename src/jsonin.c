/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jsonin.h"

#include <errno.h>
#include <json.h>
#include <limits.h>
#include <string.h>

#define DEPTH_MAX 32

/* A struct jsonin is json-c's object under another name, which null, for json-c, is none of. */
static struct json_object *value_of(const struct jsonin *j)
{
	return (struct json_object *)j;
}

static void tokener_free(struct json_tokener *t)
{
	if (t)
		json_tokener_free(t);
}
DEFINE_AUTO(tokener, struct json_tokener *, tokener_free);

int jsonin_parse(const char *text, struct jsonin **ret, struct err *e)
{
	AUTO(tokener) struct json_tokener *t = json_tokener_new_ex(DEPTH_MAX);
	size_t n = strlen(text);
	struct json_object *value;
	enum json_tokener_error code;

	if (!t)
		return err_set(e, -ENOMEM, "read JSON: out of memory");
	if (n >= INT_MAX)
		return err_set(e, -EINVAL, "not JSON: too long");
	json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	value = json_tokener_parse_ex(t, text, (int)n + 1); /* with the NUL: it ends a number */
	code = json_tokener_get_error(t);
	if (code == json_tokener_success) {
		*ret = (struct jsonin *)value;
		return 0;
	}
	json_object_put(value);
	return err_set(e, -EINVAL, "not JSON: %s, at byte %zu of %zu",
		       code == json_tokener_continue ? "it ends too early" : json_tokener_error_desc(code),
		       json_tokener_get_parse_end(t), n);
}

void jsonin_free(struct jsonin *root)
{
	json_object_put(value_of(root));
}

const struct jsonin *jsonin_get(const struct jsonin *object, const char *key)
{
	struct json_object *value = NULL;

	/* false for NULL and for what is no object */
	return json_object_object_get_ex(value_of(object), key, &value) ? (const struct jsonin *)value : NULL;
}

const struct jsonin *jsonin_at(const struct jsonin *array, size_t at)
{
	return at < jsonin_count(array) ? (const struct jsonin *)json_object_array_get_idx(value_of(array), at) : NULL;
}

size_t jsonin_count(const struct jsonin *array)
{
	return json_object_is_type(value_of(array), json_type_array) ? json_object_array_length(value_of(array)) : 0;
}

bool jsonin_get_u64(const struct jsonin *object, const char *key, uint64_t *ret)
{
	struct json_object *value = value_of(jsonin_get(object, key));

	if (json_object_is_type(value, json_type_double)) {
		double real = json_object_get_double(value);

		if (!(real >= 0 && real < 0x1p64)) /* not a number, too */
			return false;
		*ret = (uint64_t)real;
		return true;
	}
	if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
		return false;
	/* json-c 0.16 makes this of all that is larger, and does not say so */
	if (json_object_get_uint64(value) == UINT64_MAX)
		return false;
	*ret = json_object_get_uint64(value);
	return true;
}

bool jsonin_get_bool(const struct jsonin *object, const char *key, bool *ret)
{
	struct json_object *value = value_of(jsonin_get(object, key));

	if (!json_object_is_type(value, json_type_boolean))
		return false;
	*ret = json_object_get_boolean(value);
	return true;
}

bool jsonin_get_string(const struct jsonin *object, const char *key, char *ret, size_t size)
{
	struct json_object *value = value_of(jsonin_get(object, key));
	size_t n;

	if (!json_object_is_type(value, json_type_string))
		return false;
	n = (size_t)json_object_get_string_len(value);
	if (n >= size || memchr(json_object_get_string(value), '\0', n))
		return false;
	memcpy(ret, json_object_get_string(value), n + 1);
	return true;
}
