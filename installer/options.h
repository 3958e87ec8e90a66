/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options - the command line of wubi-disk: its verbs, and what they can be given. Parsed by optrows.h from the rows. */
#ifndef WUBI_OPTIONS_H
#define WUBI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "optrows.h"
#include "progress_tty.h"

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
	VERB_STATUS = 1 << 9,
	VERB_GROW = 1 << 10,
	VERB_EXPORT = 1 << 11,
	VERB_RESCUE = 1 << 12,
	VERB_ALL = (1 << 13) - 1,
};

/* All pointers are borrowed from argv, or static. */
struct options {
	struct optrows_base base; /* verb: enum verb */
	struct optrows_growth size; /* bytes 0: not given; more: for grow alone */
	uint64_t max_extents;     /* 0: not given */
	const char *name;
	const char *image;
	const char *fs;
	const char *label;
	const char *device;
	const char *to;
	const char *force_state;
	const char *progress_text;
	enum progress_tty_mode progress;
	struct optrows_list maps; /* OPTROWS_LIST_MAX is IMAGE_MAPS_MAX of image.h */
	struct optrows_list outputs;
	const char *folder; /* of the maps of the system */
	const char *esp;
	bool no_host_map;
	bool zero;
	bool relocate;
	bool readonly;
	bool yes;
	bool record;
	bool report;
	bool in_place;
};

/* wubi-disk: the rows, and verbs_run() as the work. */
extern const struct optrows_program options_program;

#endif
