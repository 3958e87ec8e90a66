/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wubi-profile - durability profiles: which one is in force, and what it costs. */
#include <unistd.h>

#include "progmain.h"
#include "progout.h"
#include "signals.h"
#include "verbs.h"

struct profctl_params verb_params(const struct options *o)
{
	return (struct profctl_params){ .root = o->root, .conf = o->conf, .check_only = o->base.dry_run };
}

static int run_verb(const struct options *o)
{
	switch ((enum verb)o->base.verb) {
	case VERB_SET:
		return verb_set(o);
	case VERB_STATUS:
		return verb_status(o);
	case VERB_LIST:
		return verb_list(o);
	case VERB_SHOW:
		return verb_show(o);
	case VERB_RESET:
		return verb_reset(o);
	case VERB_APPLY:
		return verb_apply(o);
	case VERB_MEASURE:
		return verb_measure(o);
	case VERB_RUN:
		return verb_run(o);
	case VERB_ALL:
		break;
	}
	return PROGOUT_USAGE;
}

/* Does the verb change something, and print what it did? */
static bool tells_change(const struct options *o)
{
	if (!(o->base.verb & (VERB_SET | VERB_RESET | VERB_APPLY | VERB_MEASURE)))
		return false;
	return o->base.json || !o->base.quiet;
}

int verbs_run(const struct options *o)
{
	struct err e = ERR_INIT;

	/* between a value and the next there is no place to stop at; run has its own way, by which it knows who sent a signal */
	if (o->base.verb != VERB_RUN)
		signals_install(!(o->base.verb & (VERB_LIST | VERB_SHOW | VERB_STATUS)));
	if (tells_change(o) && progout_check_open(&e)) {
		(void)err_wrap(&e, e.code, "nothing was done");
		return progout_fail(&o->base, &e, NULL);
	}
	return run_verb(o);
}

int main(int argc, char **argv)
{
	struct options o;

	return progmain(&options_program, argc, argv, &o);
}
