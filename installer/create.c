/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "image.h"
#include "num.h"
#include "output.h"
#include "progress_tty.h"
#include "verbs.h"

struct create_run {
	const struct options *o;
	struct progress_tty progress;
	struct report report;  /* what the preflight found, for the failure report */
	struct err print;      /* the report could not be shown: nothing may be written */
};

static void fill_params(const struct options *o, struct image_params *par)
{
	*par = (struct image_params){
		.volume = o->base.operands[0],
		.name = o->name ? o->name : "root",
		.path = o->image,
		.size_bytes = o->size.bytes,
		.max_extents = o->max_extents ? (unsigned)o->max_extents : 1,
		.fs = o->fs ? o->fs : "ext4",
		.label = o->label,
		.zero = o->zero,
		.host_map = !o->no_host_map,
		.force_dirty = o->force_state != NULL, /* options.c lets only "dirty" through */
		.map_count = o->maps.count,
	};
	for (size_t i = 0; i < o->maps.count; i++)
		par->maps[i] = o->maps.items[i];
}

static int print_plan(const struct options *o, const struct image_plan *plan, struct err *e)
{
	int r = 0;

	if (o->base.json || o->base.quiet)
		return 0;
	output_plan_text(stdout, o->base.operands[0], plan);
	if (plan->free_known) {
		progout_print(stdout, "\n");
		r = output_picture(stdout, &plan->picture, e);
	}
	return r ? r : progout_flush(e);
}

static int shown(void *ctx, const struct image_plan *plan)
{
	struct create_run *run = ctx;

	progress_tty_end(&run->progress);
	run->report = plan->report;
	return print_plan(run->o, plan, &run->print) ? 1 : 0;
}

static int print_created(const struct options *o, const struct map *m)
{
	char size[NUM_BYTES_TEXT];

	if (o->base.json) {
		struct jsonout *root = jsonout_object();

		jsonout_add_string(root, "status", "done");
		output_map_json(root, m);
		return progout_json(root);
	}
	if (o->base.quiet)
		return PROGOUT_DONE;
	progout_print(stdout, "\ncreated and verified %s: %s, %zu extent%s, %s\n", m->image,
		     num_format_bytes(m->size_bytes, size), m->extents.count,
		     m->extents.count == 1 ? "" : "s", m->fs_type);
	for (size_t i = 0; i < o->maps.count; i++)
		progout_print(stdout, "map: %s\n", o->maps.items[i]);
	if (o->maps.count == 0 && o->no_host_map)
		progout_print(stdout, "no map was written: 'wubi-disk map' writes one\n");
	return PROGOUT_DONE;
}

static int print_dry_run(const struct options *o, const struct image_plan *plan)
{
	struct err e = ERR_INIT;
	struct jsonout *root;

	if (print_plan(o, plan, &e))
		return progout_fail(&o->base, &e, NULL);
	if (!o->base.json) {
		if (!o->base.quiet)
			progout_print(stdout, "\ndry run: nothing was written\n");
		return PROGOUT_DONE;
	}
	root = jsonout_object();
	jsonout_add_string(root, "status", "dry-run");
	jsonout_add_string(root, "image", plan->path);
	jsonout_add_u64(root, "size_bytes", plan->size_bytes);
	output_extents_json(root, &plan->extents);
	return progout_json(root);
}

static int dry_run(const struct options *o, const struct image_params *par)
{
	struct progress_tty progress;
	struct image_plan plan;
	struct err e = ERR_INIT;
	int r, status;

	memset(&plan, 0, sizeof(plan));
	progress_tty_init(&progress, o->progress, o->base.quiet);
	r = image_preflight(par, &plan, &progress.progress, &e);
	progress_tty_end(&progress);
	if (!r)
		r = report_refuse(&plan.report, &e);
	status = r ? progout_fail_request(&o->base, &e, &plan.report) : print_dry_run(o, &plan);
	image_plan_clear(&plan);
	return status;
}

int verb_create(const struct options *o)
{
	AUTO(map) struct map *m = NULL;
	struct create_run run = { .o = o };
	struct image_params par;
	struct err e = ERR_INIT;
	int r;

	fill_params(o, &par);
	if (o->base.dry_run)
		return dry_run(o, &par);
	progress_tty_init(&run.progress, o->progress, o->base.quiet);
	r = image_create(&par, shown, &run, &run.progress.progress, &m, &e);
	progress_tty_end(&run.progress);
	if (run.print.code) {
		(void)err_wrap(&run.print, run.print.code, "nothing was changed");
		return progout_fail(&o->base, &run.print, NULL);
	}
	if (r)
		return progout_fail_request(&o->base, &e, &run.report);
	return print_created(o, m);
}
