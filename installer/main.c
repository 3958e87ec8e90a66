/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

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

/*
 * Does the verb change something, and print what it did? Not with --quiet, but for a map that no file was named for, and
 * detach has no text. The verbs that only read may find out late that nobody listens.
 */
static bool tells_change(const struct options *o)
{
	if (!(o->verb & (VERB_CREATE | VERB_MAP | VERB_ATTACH | VERB_DETACH | VERB_REMOVE)))
		return false;
	if (o->json)
		return true;
	if (o->quiet)
		return o->verb == VERB_MAP && o->outputs.count == 0;
	return o->verb != VERB_DETACH || o->dry_run;
}

static int run(const struct options *o)
{
	struct err e = ERR_INIT;

	/* a verb that may write ends by itself, so that no commit is cut in two; the others can just go */
	signals_install(!(o->verb & (VERB_VERIFY | VERB_SHOW | VERB_TABLE)));
	if (tells_change(o) && output_check_open(&e)) {
		(void)err_wrap(&e, e.code, "nothing was done");
		return output_fail(o, &e, NULL);
	}
	return run_verb(o);
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
	return run(o);
}

/*
 * What is opened next gets the lowest free number: were that 1 or 2, the volume would take what is printed. So that a
 * closed standard output stays an error, it cannot be written; what goes to a closed standard error is lost.
 */
static int fill_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int null_fd = fd;

		if (fcntl(fd, F_GETFD) < 0)
			null_fd = open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
		if (null_fd != fd)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct options o;

	if (fill_standard_fds())
		return OUTPUT_FAILED; /* without /dev/null, and with nowhere to tell it */
	if (options_parse(argc, argv, &o, &e)) {
		output_print(stderr, "wubi-disk: %s\n", e.text);
		output_print(stderr, "try 'wubi-disk %s%s--help'\n", options_verb_name(o.verb),
			     o.verb ? " " : "");
		return OUTPUT_USAGE;
	}
	return output_finish(run_action(&o));
}
