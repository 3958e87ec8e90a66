/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "image_rescue.h"
#include "mapfile.h"
#include "output.h"
#include "progress_tty.h"
#include "verbs.h"

struct rescue_run {
	const struct options *o;
	const struct map *old;
	struct image_rescue found;
	struct map *made;     /* in place */
	bool write;           /* false: only a report was asked for */
	const char *output;
};

static const char *status_of(const struct rescue_run *run)
{
	if (run->o->base.dry_run)
		return "dry-run";
	return run->write ? "done" : "report";
}

static int print_json(const struct rescue_run *run)
{
	struct jsonout *root = jsonout_object();

	jsonout_add_string(root, "status", status_of(run));
	jsonout_add_string(root, "reason", run->found.reason[0] ? run->found.reason : NULL);
	output_rescue_json(root, run->old, &run->found, run->output);
	if (run->made)
		output_map_json(jsonout_add_object(root, "map"), run->made);
	return progout_json(root);
}

/* What to do next, by what was found. */
static void print_advice(const struct rescue_run *run)
{
	const struct image_rescue *r = &run->found;
	const char *volume = run->o->base.operands[0];

	if (run->made && run->write) {
		progout_print(stdout, "\n%s is there again, where it was; its map has generation %ju. For another copy of the "
			      "map: 'wubi-disk map %s --image %s --output FILE'\n", run->made->image,
			      (uintmax_t)run->made->generation, volume, run->made->image);
	} else if (run->made) {
		progout_print(stdout, "\nnothing was written. It can be brought back in place.\n");
	} else if (run->write) {
		progout_print(stdout, "\nthe copy is complete: %s\n", run->output);
		if (r->reason[0])
			progout_print(stdout, "NOT ALL OF IT IS WHAT IT WAS (%s): keep the volume as it is until you have "
				      "looked at the copy\n", r->reason);
	} else if (r->known && r->sums.kept_bytes == r->total_bytes) {
		progout_print(stdout, "\nnothing was written. The image has all its clusters: there is nothing to rescue.\n");
	} else {
		progout_print(stdout, "\nnothing was written. Do not start Windows or write to this volume. Copy the image "
			      "out with\n'wubi-disk rescue %s --map %s --output FILE', FILE on another disk.\n", volume,
			      run->o->maps.items[0]);
		if (!r->reason[0] && r->superblock.known)
			progout_print(stdout, "Then '--in-place' can bring it back where it was.\n");
	}
}

static int print(const struct rescue_run *run)
{
	int status = run->found.reason[0] ? PROGOUT_REFUSED : PROGOUT_DONE;
	struct err e = ERR_INIT;

	if (run->o->base.json)
		return print_json(run) == PROGOUT_DONE ? status : PROGOUT_FAILED;
	if (run->o->base.quiet)
		return status;
	output_rescue_text(stdout, run->old, &run->found, run->output);
	progout_print(stdout, "\n");
	if (output_picture(stdout, &run->found.picture, &e))
		return progout_fail(&run->o->base, &e, NULL);
	print_advice(run);
	return status;
}

static int run_rescue(struct rescue_run *run, struct err *e)
{
	const struct options *o = run->o;
	struct progress_tty progress;
	struct image_rescue_params par = {
		.volume = o->base.operands[0],
		.map = run->old,
		.output = run->output,
		.replace = o->yes,
		.host_map = !o->no_host_map,
		.check_only = !run->write,
	};
	int r;

	progress_tty_init(&progress, o->progress, o->base.quiet);
	if (o->in_place)
		r = image_rescue_in_place(&par, &progress.progress, &run->found, &run->made, e);
	else
		r = image_rescue(&par, &progress.progress, &run->found, e);
	progress_tty_end(&progress);
	return r;
}

int verb_rescue(const struct options *o)
{
	struct rescue_run run = { .o = o, .output = o->outputs.count ? o->outputs.items[0] : NULL };
	AUTO(map) struct map *old = NULL;
	struct err e = ERR_INIT;
	int status;

	run.write = (run.output || o->in_place) && !o->base.dry_run && !o->report;
	if (mapfile_read(o->maps.items[0], &old, &e))
		return progout_fail(&o->base, &e, NULL);
	run.old = old;
	status = run_rescue(&run, &e) ? progout_fail(&o->base, &e, NULL) : print(&run);
	image_rescue_clear(&run.found);
	map_free(run.made);
	return status;
}
