/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dmlinear.h"
#include "mapfile.h"
#include "output.h"
#include "verbs.h"

static int print_json(const struct options *o, const struct map *m)
{
	struct jsonout *root = jsonout_object();

	jsonout_add_string(root, "name", m->name);
	jsonout_add_string(root, "target", "linear");
	jsonout_add_string(root, "device", o->device);
	output_extents_json(root, &m->extents);
	return progout_json(root);
}

int verb_table(const struct options *o)
{
	AUTO(map) struct map *m = NULL;
	AUTO_FREE char *text = NULL;
	struct err e = ERR_INIT;

	if (mapfile_read(o->maps.items[0], &m, &e))
		return progout_fail(&o->base, &e, NULL);
	if (dmlinear_format(&m->extents, o->device, &text, &e)) /* with --json for its checks */
		return progout_fail(&o->base, &e, NULL);
	if (o->base.json)
		return print_json(o, m);
	progout_print(stdout, "%s", text);
	return PROGOUT_DONE;
}
