/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jsonout - JSON values for --json. The only file that includes json-c. Any -ENOMEM is latched and reported by print. */
#ifndef WUBI_JSONOUT_H
#define WUBI_JSONOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "auto.h"
#include "err.h"

struct jsonout; /* an object or an array */

struct jsonout *jsonout_object(void);
/* key is NULL inside an array. The child belongs to the parent. */
struct jsonout *jsonout_add_object(struct jsonout *parent, const char *key);
struct jsonout *jsonout_add_array(struct jsonout *parent, const char *key);
void jsonout_add_string(struct jsonout *parent, const char *key, const char *value); /* NULL value: null */
void jsonout_add_u64(struct jsonout *parent, const char *key, uint64_t value);
void jsonout_add_bool(struct jsonout *parent, const char *key, bool value);

/* One value and a newline to f; -ENOMEM if any add failed, -EIO if f did. */
int jsonout_print(const struct jsonout *root, FILE *f, struct err *e);
void jsonout_free(struct jsonout *root);
DEFINE_AUTO(jsonout, struct jsonout *, jsonout_free);

#endif
