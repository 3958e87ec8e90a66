/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image.h"
#include "options.h"
#include "progmain.h"
#include "progout.h"
#include "signals.h"
#include "verbs.h"

const char *verb_image_path(const struct options *o, char *buf)
{
	if (o->image)
		return o->image;
	image_default_path(o->name ? o->name : "root", buf);
	return buf;
}

static int run_verb(const struct options *o)
{
	switch ((enum verb)o->base.verb) {
	case VERB_INFO:
		return verb_info(o);
	case VERB_CREATE:
		return verb_create(o);
	case VERB_MAP:
		return verb_map(o);
	case VERB_VERIFY:
		return verb_verify(o);
	case VERB_SHOW:
		return verb_show(o);
	case VERB_TABLE:
		return verb_table(o);
	case VERB_ATTACH:
		return verb_attach(o);
	case VERB_DETACH:
		return verb_detach(o);
	case VERB_REMOVE:
		return verb_remove(o);
	case VERB_STATUS:
		return verb_status(o);
	case VERB_GROW:
		return verb_grow(o);
	case VERB_EXPORT:
		return verb_export(o);
	case VERB_RESCUE:
		return verb_rescue(o);
	case VERB_NONE:
	case VERB_ALL:
		break;
	}
	return PROGOUT_USAGE;
}

/*
 * Does the verb change something, and print what it did? Not with --quiet, but for a map that no file was named for, and
 * detach has no text. The verbs that only read may find out late that nobody listens.
 */
static bool tells_change(const struct options *o)
{
	if (!(o->base.verb & (VERB_CREATE | VERB_MAP | VERB_ATTACH | VERB_DETACH | VERB_REMOVE | VERB_GROW | VERB_EXPORT |
			      VERB_RESCUE)))
		return false;
	if (o->base.json)
		return true;
	if (o->base.quiet)
		return o->base.verb == VERB_MAP && o->outputs.count == 0;
	return o->base.verb != VERB_DETACH || o->base.dry_run;
}

int verbs_run(const struct options *o)
{
	struct err e = ERR_INIT;

	/* a verb that may write ends by itself, so that no commit is cut in two; the others can just go */
	signals_install(!(o->base.verb & (VERB_VERIFY | VERB_SHOW | VERB_TABLE | VERB_STATUS)));
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
