/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "mapfile.h"
#include "num.h"
#include "output.h"
#include "progress_tty.h"
#include "signals.h"
#include "verbs.h"

static void print_plan(const struct options *o, const struct export_plan *plan)
{
	char used[NUM_BYTES_TEXT], fs[NUM_BYTES_TEXT], partition[NUM_BYTES_TEXT];

	progout_print(stdout, "%s on '%s': a file system of %s, %s to copy%s\n", plan->image, o->base.operands[0],
		      num_format_bytes(plan->fs_bytes, fs), num_format_bytes(plan->used_bytes, used),
		      plan->is_whole ? " (all of it: it was not unmounted, or has errors)" : "");
	if (plan->partition_bytes)
		progout_print(stdout, "to '%s', %s: %s\n", o->to, num_format_bytes(plan->partition_bytes, partition),
			      plan->found[0] ? plan->found : "empty");
}

static int print_json(const struct options *o, const char *status, const struct export_plan *plan,
		      const struct export_result *done)
{
	struct jsonout *root = jsonout_object();
	char next[PATH_MAX + 64];

	jsonout_add_string(root, "status", status);
	jsonout_add_string(root, "image", plan->image);
	jsonout_add_string(root, "partition", o->to);
	jsonout_add_u64(root, "fs_bytes", plan->fs_bytes);
	jsonout_add_u64(root, "copied_bytes", plan->used_bytes);
	jsonout_add_u64(root, "partition_bytes", plan->partition_bytes);
	jsonout_add_string(root, "found", plan->found[0] ? plan->found : NULL);
	if (!done)
		return progout_json(root);
	jsonout_add_string(root, "fs_uuid", done->fs_uuid);
	jsonout_add_string(root, "label", done->label);
	(void)snprintf(next, sizeof(next), "wubi-install --repair --root %s", o->to);
	jsonout_add_string(root, "next", next);
	return progout_json(root);
}

static int print_done(const struct options *o, const struct export_result *done)
{
	char used[NUM_BYTES_TEXT], partition[NUM_BYTES_TEXT];

	if (o->base.json)
		return print_json(o, "done", &done->plan, done);
	if (o->base.quiet)
		return PROGOUT_DONE;
	progout_print(stdout, "exported: %s copied and compared, the file system has %s now, its UUID is %s\n",
		      num_format_bytes(done->plan.used_bytes, used), num_format_bytes(done->plan.partition_bytes, partition),
		      done->fs_uuid);
	progout_print(stdout, "The image is as it was. To make the copy start instead of it, run in this live system:\n"
		      "wubi-install --repair --root %s\n", o->to);
	return PROGOUT_DONE;
}

/* An empty partition is nobody's: only what would be lost is asked for. */
static int confirm(const struct options *o, const struct export_params *par, const struct export_plan *plan, struct err *e)
{
	char answer[ASK_ANSWER_MAX];
	int r;

	if (!plan->found[0] || o->yes || o->base.dry_run || !isatty(STDIN_FILENO))
		return export_check_empty(par, plan, e);
	progout_print(stderr, "'%s' is not empty: %s. All data on it is lost.\nType 'yes' to overwrite it: ", o->to, plan->found);
	r = ask_answer(answer, sizeof(answer), "interrupted before anything was written", e);
	if (r)
		return r;
	return strcmp(answer, "yes") == 0 ? 0 : err_set(e, -ECANCELED, "not confirmed: nothing was written");
}

static int run(const struct options *o, struct export_params *par, struct progress_tty *progress)
{
	struct export_result done;
	struct export_plan plan;
	struct err e = ERR_INIT;
	int r = export_check(par, &progress->progress, &plan, &e);

	progress_tty_end(progress);
	if (r)
		return progout_fail(&o->base, &e, NULL);
	if (!o->base.json && !o->base.quiet)
		print_plan(o, &plan);
	r = report_refuse(&plan.report, &e);
	if (!r)
		r = confirm(o, par, &plan, &e);
	if (r)
		return progout_fail(&o->base, &e, &plan.report);
	if (o->base.dry_run)
		return o->base.json ? print_json(o, "dry-run", &plan, NULL) : PROGOUT_DONE;
	par->overwrite = plan.found[0] != '\0'; /* what has come there since then is not confirmed */
	r = export_run(par, &progress->progress, &done, &e);
	progress_tty_end(progress);
	return r ? progout_fail(&o->base, &e, &done.plan.report) : print_done(o, &done);
}

int verb_export(const struct options *o)
{
	AUTO(map) struct map *m = NULL;
	struct progress_tty progress;
	struct export_params par = { .volume = o->base.operands[0], .partition = o->to, .overwrite = o->yes };
	struct err e = ERR_INIT;

	if (mapfile_read(o->maps.items[0], &m, &e))
		return progout_fail(&o->base, &e, NULL);
	par.map = m;
	progress_tty_init(&progress, o->progress, o->base.quiet);
	return run(o, &par, &progress);
}
