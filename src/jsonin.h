/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jsonin - reads JSON: our own state files, and what fio prints. Beside jsonout the only file that includes json-c. */
#ifndef WUBI_JSONIN_H
#define WUBI_JSONIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auto.h"
#include "err.h"

struct jsonin; /* a value; all that hang on a root are borrowed from it */

int jsonin_parse(const char *text, struct jsonin **ret, struct err *e); /* -EINVAL: not one JSON value. jsonin_free() */
void jsonin_free(struct jsonin *root);
DEFINE_AUTO(jsonin, struct jsonin *, jsonin_free);

/* NULL: not there, or of another kind. at: an index into an array. */
const struct jsonin *jsonin_get(const struct jsonin *object, const char *key);
const struct jsonin *jsonin_at(const struct jsonin *array, size_t at);
size_t jsonin_count(const struct jsonin *array); /* 0 for what is no array */

/*
 * False: not there, of another kind, negative, UINT64_MAX or beyond, a string with a NUL in it or longer than size - 1; *ret
 * untouched. A real number is rounded down by _u64.
 */
bool jsonin_get_u64(const struct jsonin *object, const char *key, uint64_t *ret);
bool jsonin_get_bool(const struct jsonin *object, const char *key, bool *ret);
bool jsonin_get_string(const struct jsonin *object, const char *key, char *ret, size_t size);

#endif
