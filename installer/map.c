/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "map.h"

#include <string.h>

#include "image.h"
#include "mapfile.h"
#include "output.h"
#include "verbs.h"

/* A map is the result: it goes to stdout unless a file was named. */
static int print_map(const struct options *o, const struct map *m)
{
	AUTO_FREE char *text = NULL;
	struct err e = ERR_INIT;
	size_t n;

	if (o->json) {
		struct jsonout *root = jsonout_object();

		if (o->dry_run)
			jsonout_add_string(root, "status", "dry-run");
		output_map_json(root, m);
		return output_json(root);
	}
	if (o->outputs.count == 0 || o->dry_run) {
		if (map_format(m, &text, &n, &e))
			return output_fail(o, &e, NULL);
		(void)fwrite(text, 1, n, stdout); /* checked by output_finish() */
		return OUTPUT_DONE;
	}
	for (size_t i = 0; i < o->outputs.count && !o->quiet; i++)
		output_print(stdout, "map of %s, generation %ju: %s\n", m->image, (uintmax_t)m->generation,
			     o->outputs.items[i]);
	return OUTPUT_DONE;
}

static int dry_run(const struct options *o)
{
	AUTO(map) struct map *m = NULL;
	char path[NTFSVOL_PATH_MAX];
	struct picture picture;
	struct err e = ERR_INIT;

	if (image_derive(o->operands[0], verb_image_path(o, path), &m, &picture, &e))
		return output_fail(o, &e, NULL);
	for (size_t i = 0; i < o->outputs.count; i++)
		if (mapfile_check_writable(o->outputs.items[i], &e))
			return output_fail(o, &e, NULL);
	return print_map(o, m);
}

int verb_map(const struct options *o)
{
	AUTO(map) struct map *previous = NULL;
	AUTO(map) struct map *m = NULL;
	char path[NTFSVOL_PATH_MAX];
	struct image_map_params par = {
		.volume = o->operands[0],
		.path = verb_image_path(o, path),
		.name = o->name,
		.host_map = !o->no_host_map,
		.force_dirty = o->force_state != NULL,
		.map_count = o->outputs.count,
	};
	struct err e = ERR_INIT;

	if (o->dry_run)
		return dry_run(o);
	if (o->maps.count && mapfile_read(o->maps.items[0], &previous, &e))
		return output_fail(o, &e, NULL);
	par.previous = previous;
	for (size_t i = 0; i < o->outputs.count; i++)
		par.maps[i] = o->outputs.items[i];
	if (image_map(&par, &m, &e))
		return output_fail(o, &e, NULL);
	return print_map(o, m);
}
