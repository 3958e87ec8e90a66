/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conf.h"
#include "measure.h"
#include "num.h"
#include "verbs.h"

#define FIELD(f) offsetof(struct options, f)
#define VERBS_WITH_CONF (VERB_SET | VERB_STATUS | VERB_LIST | VERB_SHOW | VERB_MEASURE | VERB_RUN)

static int check_not_empty(const char *value, struct err *e)
{
	return *value ? 0 : err_set(e, -EINVAL, "it is empty");
}

static int check_phase(const char *value, struct err *e)
{
	enum profile_phase phase;

	if (profile_phase_parse(value, &phase))
		return 0;
	return err_set(e, -EINVAL, "'%s' is not one of normal, iso-copy", value);
}

static int check_runs(const char *value, struct err *e)
{
	uint64_t runs;
	int r = num_parse_u64(value, &runs, e);

	if (r)
		return r;
	return runs <= MEASURE_RUNS_MAX ? 0 : err_set(e, -EINVAL, "%s are too many, at most %d", value, MEASURE_RUNS_MAX);
}

static int check_size(const char *value, struct err *e)
{
	uint64_t bytes;
	int r = num_parse_bytes(value, &bytes, e);

	if (r)
		return r;
	if (bytes < MEASURE_SIZE_MIN || bytes > MEASURE_SIZE_MAX)
		return err_set(e, -EINVAL, "'%s' is not between 1 MiB and 64 GiB", value);
	return 0;
}

static const struct optrows_option option_rows[] = {
	{ "phase", 'p', "PHASE", "the use that it is for: normal or iso-copy (default: set normal, run iso-copy)",
	  VERB_SET | VERB_RUN, 0, 0, OPTROWS_TEXT, FIELD(phase_text), check_phase },
	{ "root", 'r', "DIR", "write the files of the system below this folder, and change nothing of the one that runs",
	  VERB_SET, 0, 0, OPTROWS_TEXT, FIELD(root_text), check_not_empty },
	{ "conf", 'c', "FILE", "read the profiles from here (default " CONF_DEFAULT ")", VERBS_WITH_CONF, 0, 0, OPTROWS_TEXT,
	  FIELD(conf), check_not_empty },
	{ "runs", 'n', "N", "how often each job is repeated (default 3)", VERB_MEASURE, 0, 0, OPTROWS_COUNT, FIELD(runs),
	  check_runs },
	{ "size", 's', "SIZE", "size of the large file (default 128M)", VERB_MEASURE, 0, 0, OPTROWS_SIZE, FIELD(size_bytes),
	  check_size },
	OPTROWS_DRY_RUN(VERB_SET | VERB_RESET),
	OPTROWS_JSON(VERB_ALL & ~VERB_RUN),
	OPTROWS_QUIET(VERB_SET | VERB_STATUS | VERB_RESET | VERB_APPLY, "errors only"),
	OPTROWS_STANDARD(VERB_ALL),
};

static const struct optrows_verb verb_rows[] = {
	{ VERB_SET, "set", "NAME", 1, 1, "choose a profile",
	  "For normal use it is put in force now and at every boot, all of it or nothing. For an ISO copy the choice is "
	  "recorded, and 'run' and the installer put it in force while they copy.", NULL },
	{ VERB_STATUS, "status", "", 0, 0, "what is chosen, what is in force, and do they agree?",
	  "Changes nothing, and needs no rights. Says which file or program wins where the two differ, and what a power cut may "
	  "cost with what is in force.",
	  "Exit status: 0 the chosen profile is in force, 1 it is not or none was chosen, or failed, 2 usage, 3 refused for "
	  "safety, 4 interrupted." },
	{ VERB_LIST, "list", "", 0, 0, "the profiles that there are", "Reads the configuration only.", NULL },
	{ VERB_SHOW, "show", "NAME", 1, 1, "a profile, and what it comes to on this machine",
	  "In the words of wubi.conf(5), so that a profile of your own can begin with them.", NULL },
	{ VERB_RESET, "reset", "", 0, 0, "what was in force before the first 'set'",
	  "Removes the choice, too, and ends what a 'run' that was killed has left.", NULL },
	{ VERB_APPLY, "apply", "", 0, 0, "put the chosen profile in force, as the unit does at boot",
	  "Without a choice it does nothing, but completes a set or reset that was cut short.", NULL },
	{ VERB_MEASURE, "measure", "", 0, 0, "what each profile costs on this disk, by fio",
	  "Writes files below /var/lib/wubi under each profile in turn and removes them: 4 KiB writes that are each synced, "
	  "small files, and one large file. Then what was in force before is so again. Needs the package fio.", NULL },
	{ VERB_RUN, "run", "-- COMMAND [ARG...]", 1, OPTROWS_COMMAND, "run a command under the profile of a phase",
	  "When the command has ended, what it wrote is synced, and what was in force before is put back; after a signal that is "
	  "done at once.",
	  "Exit status: that of COMMAND, 128+N when signal N ended it, 127 when it is not there and 126 when it cannot be run; 1 "
	  "what it wrote could not be synced, or the profile not be put back; 2 usage, 3 refused for safety, 4 interrupted." },
};

/* The root folder without '/' at its end, so that a path can be put behind it. */
static int derive_root(struct options *o, struct err *e)
{
	size_t n = o->root_text ? strlen(o->root_text) : 0;

	while (n && o->root_text[n - 1] == '/')
		n--;
	if (n >= sizeof(o->root))
		return err_set(e, -EINVAL, "option '--root': it is too long");
	(void)snprintf(o->root, sizeof(o->root), "%.*s", (int)n, n ? o->root_text : "");
	return 0;
}

static int finish(void *options, struct err *e)
{
	struct options *o = options;

	o->phase = o->base.verb == VERB_RUN ? PROFILE_ISO_COPY : PROFILE_NORMAL;
	if (o->phase_text)
		(void)profile_phase_parse(o->phase_text, &o->phase); /* was checked */
	return derive_root(o, e);
}

static int run(const void *options)
{
	return verbs_run(options);
}

const struct optrows_program options_program = {
	.name = "wubi-profile",
	.about = "Chooses how much a power cut may cost, and what that costs in speed: mount options of the file "
		 "systems in images, and how long the kernel may keep in memory what was written. What was fsynced is "
		 "durable with each of them.",
	.options = option_rows,
	.option_count = sizeof(option_rows) / sizeof(option_rows[0]),
	.verbs = verb_rows,
	.verb_count = sizeof(verb_rows) / sizeof(verb_rows[0]),
	.options_bytes = sizeof(struct options),
	.finish = finish,
	.run = run,
};
