/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "map.h"

#include <string.h>

#include "image.h"
#include "mapfile.h"
#include "output.h"
#include "progress_tty.h"
#include "verbs.h"

/* A map is the result: it goes to stdout unless a file was named. */
static int print_map(const struct options *o, const struct map *m)
{
	AUTO_FREE char *text = NULL;
	struct err e = ERR_INIT;
	size_t n;

	if (o->base.json) {
		struct jsonout *root = jsonout_object();

		if (o->base.dry_run)
			jsonout_add_string(root, "status", "dry-run");
		output_map_json(root, m);
		return progout_json(root);
	}
	if (o->outputs.count == 0 || o->base.dry_run) {
		if (map_format(m, &text, &n, &e))
			return progout_fail(&o->base, &e, NULL);
		(void)fwrite(text, 1, n, stdout); /* checked by progout_finish() */
		return PROGOUT_DONE;
	}
	for (size_t i = 0; i < o->outputs.count && !o->base.quiet; i++)
		progout_print(stdout, "map of %s, generation %ju: %s\n", m->image, (uintmax_t)m->generation,
			     o->outputs.items[i]);
	return PROGOUT_DONE;
}

int verb_map(const struct options *o)
{
	AUTO(map) struct map *previous = NULL;
	AUTO(map) struct map *m = NULL;
	char path[NTFSVOL_PATH_MAX];
	struct progress_tty progress;
	struct image_map_params par = {
		.volume = o->base.operands[0],
		.path = verb_image_path(o, path),
		.name = o->name,
		.host_map = !o->no_host_map,
		.force_dirty = o->force_state != NULL,
		.check_only = o->base.dry_run,
		.map_count = o->outputs.count,
	};
	struct err e = ERR_INIT;
	int r;

	if (o->maps.count && mapfile_read(o->maps.items[0], &previous, &e))
		return progout_fail(&o->base, &e, NULL);
	par.previous = previous;
	for (size_t i = 0; i < o->outputs.count; i++)
		par.maps[i] = o->outputs.items[i];
	progress_tty_init(&progress, o->progress, o->base.quiet);
	r = image_map(&par, &progress.progress, &m, &e);
	progress_tty_end(&progress);
	if (r)
		return progout_fail_request(&o->base, &e, NULL);
	return print_map(o, m);
}
