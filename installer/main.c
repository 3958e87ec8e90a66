/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "image.h"
#include "options.h"
#include "output.h"
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
	switch (o->verb) {
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
	case VERB_NONE:
	case VERB_ALL:
		break;
	}
	return OUTPUT_USAGE;
}

static int run_action(const struct options *o)
{
	switch (o->action) {
	case OPTIONS_HELP:
		options_help(o->verb, stdout);
		return OUTPUT_DONE;
	case OPTIONS_VERSION:
		output_print(stdout, "wubi-disk %s\n", WUBI_VERSION);
		return OUTPUT_DONE;
	case OPTIONS_LIST:
		options_list_all(stdout);
		return OUTPUT_DONE;
	case OPTIONS_TEST:
		options_dump(o, stdout);
		return OUTPUT_DONE;
	case OPTIONS_RUN:
		break;
	}
	/* a verb that may write ends by itself, so that no commit is cut in two; the others can just go */
	signals_install(!(o->verb & (VERB_VERIFY | VERB_SHOW | VERB_TABLE)));
	return run_verb(o);
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct options o;

	if (options_parse(argc, argv, &o, &e)) {
		output_print(stderr, "wubi-disk: %s\n", e.text);
		output_print(stderr, "try 'wubi-disk %s%s--help'\n", options_verb_name(o.verb),
			     o.verb ? " " : "");
		return OUTPUT_USAGE;
	}
	return output_finish(run_action(&o));
}
