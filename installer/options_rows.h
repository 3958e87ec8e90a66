/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options_rows - the tables behind options.h: for options.c (parsing) and options_help.c (text) only. */
#ifndef WUBI_OPTIONS_ROWS_H
#define WUBI_OPTIONS_ROWS_H

#include <stddef.h>

#include "options.h"

enum row_kind { ROW_FLAG, ROW_TEXT, ROW_LIST, ROW_SIZE, ROW_COUNT, ROW_ACTION };

typedef int row_check_fn(const char *value, struct err *e);

struct option_row {
	const char *name;
	char letter;          /* 0: none */
	const char *argument; /* NULL: takes none */
	const char *help;     /* NULL: hidden */
	unsigned verbs;       /* which verbs allow it */
	unsigned repeat;      /* which verbs allow it more than once (ROW_LIST) */
	unsigned required;    /* which verbs cannot do without */
	enum row_kind kind;
	size_t offset;        /* of the field in struct options; of ROW_ACTION: the action */
	row_check_fn *check;  /* of the value; NULL: anything */
};

struct verb_row {
	enum verb verb;
	const char *name;
	const char *operands; /* for the usage line */
	size_t operands_min, operands_max;
	const char *help;     /* one line */
	const char *more;     /* for the verb's own help */
};

extern const struct option_row option_rows[];
extern const size_t option_rows_count;
extern const struct verb_row verb_rows[];
extern const size_t verb_rows_count;

const struct verb_row *options_verb_row(enum verb v); /* NULL for VERB_NONE */

#endif
