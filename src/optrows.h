/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * optrows - the command line of a program as tables: one row an option, one row a verb. Parsing, --help, the hidden
 * --list-options and the usage checks come from the rows. Parses only: no file is looked at, nothing is printed but to the
 * stream that the caller gives.
 *
 * A program without verbs has one verb row, named "": then no verb word is expected, and the row's operands are the
 * program's.
 *
 * A verb that runs a command takes it behind '--', so that no option of the command is taken for one of ours: operands
 * "-- COMMAND [ARG...]", 1, OPTROWS_COMMAND.
 *
 *	struct options { struct optrows_base base; const char *maps; };
 *
 *	static const struct optrows_option options[] = {
 *		{ "maps", 'm', "DIR", "where the maps are", 1, 0, 0, OPTROWS_TEXT, offsetof(struct options, maps), NULL },
 *		OPTROWS_JSON(1),
 *		OPTROWS_STANDARD(1),
 *	};
 *	static const struct optrows_verb verbs[] = { { 1, "", "", 0, 0, "", "", NULL } };
 *
 * What every program's main() does with them is in progmain.h.
 */
#ifndef WUBI_OPTROWS_H
#define WUBI_OPTROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "err.h"

#define OPTROWS_MAX 32          /* option rows of a program */
#define OPTROWS_LIST_MAX 8      /* values of an OPTROWS_LIST */
#define OPTROWS_OPERANDS_MAX 16
#define OPTROWS_COMMAND SIZE_MAX /* as operands_max */

enum optrows_action {
	OPTROWS_RUN,
	OPTROWS_ACTION_HELP,
	OPTROWS_ACTION_VERSION,
	OPTROWS_ACTION_LIST_OPTIONS,
	OPTROWS_ACTION_TEST_ARGS,
};

/*
 * What all programs have. The first member of a program's own struct of options, so that the program's rows and those of the
 * macros below can use offsets into one struct. All pointers are borrowed from argv, or static.
 */
struct optrows_base {
	enum optrows_action action;
	unsigned verb;         /* the bit of the verb row; 0: none was given, only for the actions that need none */
	const char *verb_name; /* "" for a program without verbs, and when none was given */
	const char *operands[OPTROWS_OPERANDS_MAX];
	size_t operand_count;
	char *const *command;  /* OPTROWS_COMMAND: it and its arguments, up to a NULL, as execvp() takes them; else NULL */
	bool dry_run;
	bool json;
	bool quiet;
};

struct optrows_list {
	const char *items[OPTROWS_LIST_MAX];
	size_t count;
};

struct optrows_growth {
	uint64_t bytes;
	bool more;             /* it began with '+' */
};

/* What the field at 'offset' is, and what a value may be. A field keeps its zero when the option is not given. */
enum optrows_kind {
	OPTROWS_FLAG,   /* bool */
	OPTROWS_TEXT,   /* const char * */
	OPTROWS_LIST,   /* struct optrows_list */
	OPTROWS_SIZE,   /* uint64_t, bytes: "8GiB"; not 0 */
	OPTROWS_GROWTH, /* struct optrows_growth: as OPTROWS_SIZE, or with '+' before it */
	OPTROWS_COUNT,  /* uint64_t, 1 to UINT_MAX */
	OPTROWS_ACTION, /* no field: 'offset' is the enum optrows_action */
};

/* Is the value allowed? 0, or -EINVAL with a text that goes behind "option '--name': ". */
typedef int optrows_check_fn(const char *value, struct err *e);

struct optrows_option {
	const char *name;
	char letter;          /* 0: none */
	const char *argument; /* NULL: takes none */
	const char *help;     /* NULL: hidden */
	unsigned verbs;       /* which verbs allow it */
	unsigned repeat;      /* which verbs allow it more than once (OPTROWS_LIST) */
	unsigned required;    /* which verbs cannot do without */
	enum optrows_kind kind;
	size_t offset;        /* in the program's struct of options */
	optrows_check_fn *check; /* NULL: any value */
};

struct optrows_verb {
	unsigned verb;            /* its bit */
	const char *name;         /* "": the program has no verbs */
	const char *operands;     /* for the usage line, "" if none */
	size_t operands_min, operands_max; /* operands_max: at most OPTROWS_OPERANDS_MAX, or OPTROWS_COMMAND */
	const char *help;         /* one line */
	const char *more;         /* for the verb's own help */
	const char *exit_status;  /* the last line of its help; NULL: the usual one */
};

/* Rows that every program has in the same words; v: the bits of all verbs that allow it. */
#define OPTROWS_BASE_FLAG(name, letter, help, v, field) \
	{ name, letter, NULL, help, v, 0, 0, OPTROWS_FLAG, offsetof(struct optrows_base, field), NULL }
#define OPTROWS_DRY_RUN(v) \
	OPTROWS_BASE_FLAG("dry-run", 0, "check everything and show what would be done, but write nothing", v, dry_run)
#define OPTROWS_JSON(v) OPTROWS_BASE_FLAG("json", 'j', "one JSON value on standard output instead of text", v, json)
#define OPTROWS_QUIET(v, help) OPTROWS_BASE_FLAG("quiet", 'q', help, v, quiet)
#define OPTROWS_DO(name, letter, help, v, action) \
	{ name, letter, NULL, help, v, v, 0, OPTROWS_ACTION, OPTROWS_ACTION_##action, NULL }
#define OPTROWS_STANDARD(v) \
	OPTROWS_DO("help", 'h', "this text", v, HELP), \
	OPTROWS_DO("version", 'V', "the version", v, VERSION), \
	OPTROWS_DO("list-options", 0, NULL, v, LIST_OPTIONS), \
	OPTROWS_DO("test-args", 0, NULL, v, TEST_ARGS)

struct optrows_program {
	const char *name;      /* "wubi-disk" */
	const char *about;     /* for --help: sentences, wrapped when printed */
	const struct optrows_option *options;
	size_t option_count;   /* at most OPTROWS_MAX */
	const struct optrows_verb *verbs;
	size_t verb_count;
	size_t options_bytes;  /* size of the program's struct of options */
	/*
	 * After everything was parsed and the required options were found: what no row can say; may set fields that derive from
	 * others. 0, or -EINVAL. NULL: nothing.
	 */
	int (*finish)(void *options, struct err *e);
	int (*run)(const void *options); /* the work; returns the exit status (enum progout_status) */
};

/*
 * Parses into *ret, the program's struct of options, which is zeroed first. 0, or -EINVAL with the bad option named; verb and
 * verb_name are set on error too when they were understood. Uses getopt_long(), so that argv is put in order.
 */
int optrows_parse(const struct optrows_program *p, int argc, char **argv, void *ret, struct err *e);

/* --help: of one verb by its bit, or of the program for 0. At most 80 columns. */
void optrows_help(const struct optrows_program *p, unsigned verb, FILE *f);

/* --list-options: a line "VERB --long -s ARG" for each verb and option that it allows; '-' stands for none. */
void optrows_list_options(const struct optrows_program *p, FILE *f);

/* --test-args: what was understood, a line 'key value' each. options: the program's struct. */
void optrows_dump(const struct optrows_program *p, const void *options, FILE *f);

/* The row of one verb bit; NULL for 0 and for what is no verb of the program. */
const struct optrows_verb *optrows_verb_row(const struct optrows_program *p, unsigned verb);

/* Does the program go without verbs? */
bool optrows_is_verbless(const struct optrows_program *p);

#endif
