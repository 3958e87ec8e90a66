/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options - the command line of wubi-profile: its verbs, and what they can be given. Parsed by optrows.h from the rows. */
#ifndef WUBI_PROFILE_OPTIONS_H
#define WUBI_PROFILE_OPTIONS_H

#include <limits.h>
#include <stdint.h>

#include "optrows.h"
#include "profile.h"

enum verb {
	VERB_SET = 1 << 0,
	VERB_STATUS = 1 << 1,
	VERB_LIST = 1 << 2,
	VERB_SHOW = 1 << 3,
	VERB_RESET = 1 << 4,
	VERB_APPLY = 1 << 5,
	VERB_MEASURE = 1 << 6,
	VERB_RUN = 1 << 7,
	VERB_ALL = (1 << 8) - 1,
};

/* All pointers are borrowed from argv, or static. */
struct options {
	struct optrows_base base; /* verb: enum verb */
	const char *conf;         /* NULL: not given */
	const char *root_text;
	const char *phase_text;
	uint64_t runs;            /* of measure; 0: not given */
	uint64_t size_bytes;      /* of measure; 0: not given */
	enum profile_phase phase; /* of the text, or the verb's default */
	char root[PATH_MAX];      /* without '/' at its end; "": the running system */
};

/* wubi-profile: the rows, and verbs_run() as the work. */
extern const struct optrows_program options_program;

#endif
