/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "image_grow.h"
#include "num.h"
#include "output.h"
#include "progress_tty.h"
#include "verbs.h"

struct grow_run {
	const struct options *o;
	struct progress_tty progress;
	struct report report;
	struct err stop; /* why nothing may be written: the plan could not be shown, or the user said no */
	bool ends_here;  /* dry run */
};

static void fill_params(const struct options *o, struct image_grow_params *par)
{
	*par = (struct image_grow_params){
		.volume = o->base.operands[0],
		.map_count = o->maps.count,
		.size_bytes = o->size.bytes,
		.more = o->size.more,
		.max_extents = (unsigned)o->max_extents,
		.relocate = o->relocate,
		.zero = o->zero,
	};
	for (size_t i = 0; i < o->maps.count; i++)
		par->maps[i] = o->maps.items[i];
}

/* ---- before ---- */

static void print_change(const struct image_grow_plan *plan)
{
	char before[NUM_BYTES_TEXT], after[NUM_BYTES_TEXT];

	num_format_bytes(plan->before_bytes, before);
	num_format_bytes(plan->image.size_bytes, after);
	if (plan->relocates)
		progout_print(stdout, "\nfrom %s to %s, all of it moved: its bytes are copied, then the file leads there, "
			     "and the old place is free\n", before, after);
	else if (plan->grows)
		progout_print(stdout, "\nfrom %s to %s, in place: %zu extent%s where it had %zu\n", before, after,
			     plan->image.extents.count, plan->image.extents.count == 1 ? "" : "s", plan->before.count);
	else
		progout_print(stdout, "\n%s already%s\n", after, plan->stale_map ? "; its map is not up to date" : "");
}

static int print_plan(const struct grow_run *run, const struct image_grow_plan *plan, struct err *e)
{
	const struct options *o = run->o;
	int r = 0;

	if (o->base.json || o->base.quiet)
		return 0;
	output_plan_text(stdout, o->base.operands[0], &plan->image);
	if (plan->image.free_known) {
		progout_print(stdout, "\n");
		r = output_picture(stdout, &plan->image.picture, e);
	}
	if (!r && !plan->image.report.count)
		print_change(plan);
	return r ? r : progout_flush(e);
}

static int confirm(const struct options *o, const struct image_grow_plan *plan, struct err *e)
{
	char answer[NTFSVOL_PATH_MAX];
	int r;

	if (o->yes || !plan->grows)
		return 0;
	progout_print(stderr, "Type 'yes' to %s %s: ", plan->relocates ? "move and grow" : "grow", plan->image.path);
	r = ask_answer(answer, sizeof(answer), "interrupted before anything was changed", e);
	if (!r && strcmp(answer, "yes") != 0)
		r = err_set(e, -ECANCELED, "not confirmed: nothing was changed");
	return r;
}

static int print_dry_run(const struct options *o, const struct image_grow_plan *plan)
{
	struct jsonout *root;

	if (!o->base.json) {
		if (!o->base.quiet)
			progout_print(stdout, "\ndry run: nothing was written\n");
		return PROGOUT_DONE;
	}
	root = jsonout_object();
	jsonout_add_string(root, "status", "dry-run");
	jsonout_add_string(root, "image", plan->image.path);
	jsonout_add_u64(root, "size_bytes", plan->image.size_bytes);
	jsonout_add_u64(root, "size_bytes_before", plan->before_bytes);
	jsonout_add_bool(root, "relocated", plan->relocates);
	output_extents_json(root, &plan->image.extents);
	return progout_json(root);
}

static int shown(void *ctx, const struct image_grow_plan *plan)
{
	struct grow_run *run = ctx;

	progress_tty_end(&run->progress);
	run->report = plan->image.report;
	if (print_plan(run, plan, &run->stop))
		return err_wrap(&run->stop, 1, "nothing was changed");
	if (run->report.count)
		return 0; /* the refusal comes from image_grow() */
	if (run->o->base.dry_run) {
		run->ends_here = true;
		return print_dry_run(run->o, plan) == PROGOUT_DONE ? 1 : err_set(&run->stop, -EIO, "the plan could not be shown");
	}
	return confirm(run->o, plan, &run->stop) ? 1 : 0;
}

/* ---- after ---- */

/* What GRUB on the EFI system partition reads is a list of ranges, and the menu of the map called root alone has one. */
static bool is_boot_entry_stale(const struct image_grown *g)
{
	return g->wrote_maps && !strcmp(g->map->name, "root");
}

static const char *fs_word(enum image_grown_fs fs)
{
	return fs == IMAGE_GROWN_FS_DONE ? "grown" : fs == IMAGE_GROWN_FS_PENDING ? "pending" : "unchanged";
}

static int print_json(const struct image_grown *g)
{
	struct jsonout *root = jsonout_object();

	jsonout_add_string(root, "status", "done");
	output_map_json(root, g->map);
	jsonout_add_u64(root, "size_bytes_before", g->before_bytes);
	jsonout_add_bool(root, "relocated", g->relocated);
	jsonout_add_string(root, "file_system", fs_word(g->fs));
	jsonout_add_string(root, "boot_entry", is_boot_entry_stale(g) ? "stale" : "unchanged");
	return progout_json(root);
}

static void print_maps(const struct options *o, const struct image_grown *g)
{
	for (size_t i = 0; i < o->maps.count; i++)
		progout_print(stdout, "map: %s, generation %ju\n", o->maps.items[i], (uintmax_t)g->map->generation);
	if (!strcmp(g->map->fs_type, "swap"))
		progout_print(stdout, "the Linux that uses it needs the new map: put it to /etc/wubi/maps/%s.map there, and run "
			     "'update-initramfs -u'\n", g->map->name);
	if (is_boot_entry_stale(g))
		progout_print(stdout, "the boot menu has the old place: run 'wubi-install --repair' here, before Linux is "
			     "started from it\n");
}

static int print_grown(const struct options *o, const struct image_grown *g)
{
	char before[NUM_BYTES_TEXT], after[NUM_BYTES_TEXT];

	if (o->base.json)
		return print_json(g);
	if (o->base.quiet)
		return PROGOUT_DONE;
	num_format_bytes(g->before_bytes, before);
	num_format_bytes(g->map->size_bytes, after);
	if (g->grew)
		progout_print(stdout, "\n%s and verified %s: %s, %zu extent%s\n", g->relocated ? "moved" : "grown",
			     g->map->image, after, g->map->extents.count, g->map->extents.count == 1 ? "" : "s");
	if (g->wrote_maps)
		print_maps(o, g);
	if (g->fs == IMAGE_GROWN_FS_DONE)
		progout_print(stdout, "the %s in it has grown, too\n", g->map->fs_type);
	if (g->fs == IMAGE_GROWN_FS_PENDING)
		progout_print(stdout, "the file system in it has its old size, because a volume in a plain file "
			     "gives no device: in the Linux that runs from it, run\n\n    resize2fs /dev/mapper/wubi-%s\n",
			     g->map->name);
	if (!g->grew && !g->wrote_maps && g->fs == IMAGE_GROWN_FS_FULL)
		progout_print(stdout, "nothing to do\n");
	return PROGOUT_DONE;
}

int verb_grow(const struct options *o)
{
	struct grow_run run = { .o = o };
	struct image_grow_params par;
	struct image_grown grown;
	struct err e = ERR_INIT;
	int r;

	if (!o->yes && !o->base.dry_run && !isatty(STDIN_FILENO)) {
		progout_print(stderr, "wubi-disk: grow: there is no terminal to ask on: use --yes to change '%s'\n",
			     o->base.operands[0]);
		return PROGOUT_USAGE;
	}
	fill_params(o, &par);
	progress_tty_init(&run.progress, o->progress, o->base.quiet);
	r = image_grow(&par, shown, &run, &run.progress.progress, &grown, &e);
	progress_tty_end(&run.progress);
	if (run.stop.code)
		return progout_fail(&o->base, &run.stop, NULL);
	if (run.ends_here)
		return PROGOUT_DONE;
	r = r ? progout_fail_request(&o->base, &e, &run.report) : print_grown(o, &grown);
	image_grown_clear(&grown);
	return r;
}
