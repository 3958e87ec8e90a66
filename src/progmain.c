/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "progmain.h"

#include "progout.h"

static int run_action(const struct optrows_program *p, const void *options)
{
	const struct optrows_base *base = options;

	switch (base->action) {
	case OPTROWS_ACTION_HELP:
		optrows_help(p, base->verb, stdout);
		return PROGOUT_DONE;
	case OPTROWS_ACTION_VERSION:
		progout_print(stdout, "%s %s\n", p->name, WUBI_VERSION);
		return PROGOUT_DONE;
	case OPTROWS_ACTION_LIST_OPTIONS:
		optrows_list_options(p, stdout);
		return PROGOUT_DONE;
	case OPTROWS_ACTION_TEST_ARGS:
		optrows_dump(p, options, stdout);
		return PROGOUT_DONE;
	case OPTROWS_RUN:
		break;
	}
	return p->run(options);
}

int progmain(const struct optrows_program *p, int argc, char **argv, void *options)
{
	const struct optrows_base *base = options;
	struct err e = ERR_INIT;

	if (progout_init(p->name))
		return PROGOUT_FAILED;
	if (optrows_parse(p, argc, argv, options, &e)) {
		progout_print(stderr, "%s: %s\n", p->name, e.text);
		progout_print(stderr, "try '%s %s%s--help'\n", p->name, base->verb_name, *base->verb_name ? " " : "");
		return PROGOUT_USAGE;
	}
	return progout_finish(run_action(p, options));
}
