/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options - the command line of wubi-disk. One row an option, one row a verb; parsing, --help, the hidden
 * --list-options and the usage checks come from the rows. Parses only: no file is looked at.
 */
#ifndef WUBI_OPTIONS_H
#define WUBI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "err.h"

#define OPTIONS_LIST_MAX 8      /* IMAGE_MAPS_MAX of image.h */
#define OPTIONS_OPERANDS_MAX 16

enum verb {
	VERB_NONE = 0,
	VERB_INFO = 1 << 0,
	VERB_CREATE = 1 << 1,
	VERB_MAP = 1 << 2,
	VERB_VERIFY = 1 << 3,
	VERB_SHOW = 1 << 4,
	VERB_TABLE = 1 << 5,
	VERB_ATTACH = 1 << 6,
	VERB_DETACH = 1 << 7,
	VERB_REMOVE = 1 << 8,
	VERB_ALL = (1 << 9) - 1,
};

enum options_action { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_LIST, OPTIONS_TEST };

enum options_progress {
	OPTIONS_PROGRESS_AUTO,
	OPTIONS_PROGRESS_PLAIN,
	OPTIONS_PROGRESS_JSON,
	OPTIONS_PROGRESS_NONE,
};

struct options_list {
	const char *items[OPTIONS_LIST_MAX];
	size_t count;
};

/* All pointers are borrowed from argv, or static. */
struct options {
	enum options_action action;
	enum verb verb; /* VERB_NONE only for the actions that need none */
	const char *operands[OPTIONS_OPERANDS_MAX];
	size_t operand_count;
	uint64_t size_bytes;  /* 0: not given */
	uint64_t max_extents; /* 0: not given */
	const char *name;
	const char *image;
	const char *fs;
	const char *label;
	const char *device;
	const char *force_state;
	const char *progress_text;
	enum options_progress progress;
	struct options_list maps;
	struct options_list outputs;
	bool no_host_map;
	bool zero;
	bool readonly;
	bool yes;
	bool dry_run;
	bool json;
	bool quiet;
};

/* 0, or -EINVAL with the bad option named. ret->verb is set on error too when it was understood. */
int options_parse(int argc, char **argv, struct options *ret, struct err *e);

/* "create", "" for VERB_NONE. */
const char *options_verb_name(enum verb v);

/* --help: of one verb, or of the program for VERB_NONE. At most 80 columns. */
void options_help(enum verb v, FILE *f);

/* --list-options: a line "VERB --long -s ARG" for each verb and option it allows; '-' stands for none. */
void options_list_all(FILE *f);

/* --test-args: what was understood, a line 'key value' each. */
void options_dump(const struct options *o, FILE *f);

#endif
