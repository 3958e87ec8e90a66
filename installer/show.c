/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "image.h"
#include "mapfile.h"
#include "output.h"
#include "verbs.h"

/* The map's extents over the volume's free space; the images that the volume has now are left out. */
static int picture_of_both(const char *volume, const struct map *m, struct picture *ret, struct err *e)
{
	struct image_info info;
	int r;

	memset(&info, 0, sizeof(info));
	r = image_info(volume, &info, NULL, e);
	if (!r)
		r = info.volume_known ? 0 : report_refuse(&info.report, e);
	if (!r && !info.volume_known)
		r = err_refuse(e, "not-ntfs", "'%s' holds no NTFS volume that can be read", volume);
	if (!r) {
		*ret = info.picture;
		memset(ret->image_bytes, 0, sizeof(ret->image_bytes));
		picture_add_image(ret, &m->extents);
	}
	return r;
}

static int load(const struct options *o, struct map **ret, struct picture *ret_picture, struct err *e)
{
	char path[NTFSVOL_PATH_MAX];
	int r;

	if (o->maps.count == 0)
		return image_derive(o->base.operands[0], verb_image_path(o, path), ret, ret_picture, e);
	r = mapfile_read(o->maps.items[0], ret, e);
	if (r)
		return r;
	if (o->base.operand_count)
		return picture_of_both(o->base.operands[0], *ret, ret_picture, e);
	picture_init(ret_picture, (*ret)->host.partition_bytes);
	picture_add_image(ret_picture, &(*ret)->extents);
	return 0;
}

int verb_show(const struct options *o)
{
	AUTO(map) struct map *m = NULL;
	struct picture picture;
	struct err e = ERR_INIT;

	if (load(o, &m, &picture, &e))
		return progout_fail(&o->base, &e, NULL);
	if (o->base.json) {
		struct jsonout *root = jsonout_object();

		output_map_json(root, m);
		return progout_json(root);
	}
	output_map_text(stdout, m);
	if (o->base.quiet)
		return PROGOUT_DONE;
	progout_print(stdout, "\n");
	if (output_picture(stdout, &picture, &e))
		return progout_fail(&o->base, &e, NULL);
	return PROGOUT_DONE;
}
