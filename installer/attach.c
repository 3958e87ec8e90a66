/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "dmlinear.h"
#include "dmnames.h"
#include "image.h"
#include "mapfile.h"
#include "output.h"
#include "verbs.h"

static int print_device(const struct options *o, const char *status, const char *name)
{
	struct jsonout *root;
	char device[160];

	(void)snprintf(device, sizeof(device), DMNAMES_FOLDER "%s", name);
	if (!o->base.json) {
		if (!o->base.quiet)
			progout_print(stdout, "%s\n", device);
		return PROGOUT_DONE;
	}
	root = jsonout_object();
	jsonout_add_string(root, "status", status);
	jsonout_add_string(root, "name", name);
	jsonout_add_string(root, "device", device);
	return progout_json(root);
}

/* By its number, as attach does: the path may hold what no table can. */
static int format_table(const char *volume, const struct extent_list *extents, char **ret_text, struct err *e)
{
	char device[32];
	struct stat st;

	if (stat(volume, &st))
		return err_errno(e, "volume '%s'", volume);
	(void)snprintf(device, sizeof(device), "%u:%u", major(st.st_rdev), minor(st.st_rdev));
	return dmlinear_format(extents, device, ret_text, e);
}

/* Everything that attach decides before it makes the device, and the table that it would load. */
static int dry_run(const struct options *o, const struct map *m)
{
	struct extent_list extents = { 0 };
	AUTO_FREE char *text = NULL;
	char name[64];
	struct err e = ERR_INIT;
	int r;

	r = image_attach_check(o->base.operands[0], m, &extents, &e);
	if (!r)
		r = format_table(o->base.operands[0], &extents, &text, &e);
	extent_list_clear(&extents);
	if (r)
		return progout_fail(&o->base, &e, NULL);
	(void)snprintf(name, sizeof(name), DMNAMES_PREFIX "%s", m->name);
	r = print_device(o, "dry-run", name);
	if (r == PROGOUT_DONE && !o->base.json && !o->base.quiet)
		progout_print(stdout, "%sdry run: nothing was done\n", text);
	return r;
}

int verb_attach(const struct options *o)
{
	AUTO(map) struct map *m = NULL;
	char name[128] = "";
	struct err e = ERR_INIT;

	if (mapfile_read(o->maps.items[0], &m, &e))
		return progout_fail(&o->base, &e, NULL);
	if (o->base.dry_run)
		return dry_run(o, m);
	if (image_attach(o->base.operands[0], m, o->readonly, name, &e))
		return progout_fail(&o->base, &e, NULL);
	return print_device(o, "done", name);
}

int verb_detach(const struct options *o)
{
	char name[128];
	struct err e = ERR_INIT;

	(void)snprintf(name, sizeof(name), DMNAMES_PREFIX "%s", dmnames_of_operand(o->base.operands[0]));
	if (o->base.dry_run)
		return print_device(o, "dry-run", name);
	if (image_detach(o->base.operands[0], &e))
		return progout_fail(&o->base, &e, NULL);
	if (o->base.json)
		return print_device(o, "done", name);
	return PROGOUT_DONE;
}
