/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which volume, which EFI system partition, and what is there already. */
#include "install_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "filedev.h"
#include "mapdev.h"

/* For a system that is there: the one volume with an image of ours is no guess. One that is mounted hides what is on it. */
static int choose_existing(const struct volumes *v, const struct volumes_row **ret, struct err *e)
{
	const struct volumes_row *found = NULL;
	bool is_hidden = false;

	for (size_t i = 0; i < v->count; i++) {
		const struct volumes_row *row = &v->rows[i];

		is_hidden = is_hidden || (row->kind == VOLUMES_NTFS && row->mounted[0]);
		if (row->kind != VOLUMES_NTFS || !row->image_count)
			continue;
		if (found)
			return err_refuse(e, "several-volumes", "both '%s' and '%s' hold images: name one with --volume", found->path,
					  row->path);
		found = row;
	}
	if (!found)
		return err_refuse(e, "no-volume", "no volume holds an image%s: 'wubi-install --list' shows them, and --volume names one",
				  is_hidden ? ", as far as can be seen, for some are mounted" : "");
	*ret = found;
	return 0;
}

static int scan_and_choose(const struct install_params *par, uint64_t needed_bytes, struct volumes *v,
			   const struct volumes_row **ret, struct err *e)
{
	int code = volumes_scan(par->disks, needed_bytes, v, e);

	if (code)
		return code;
	if (par->conf.volume[0])
		return volumes_choose(v, par->conf.volume, VOLUMES_NTFS, ret, e);
	if (par->is_existing)
		return choose_existing(v, ret, e);
	return err_refuse(e, "no-volume", "no volume was named, and none is taken by itself: 'wubi-install --list' shows them, and --volume "
			  "names one");
}

/* What the user asked for: a dry run only says it. */
static int unmount_chosen(const struct install_params *par, const struct volumes_row *row, bool *ret_again, struct err *e)
{
	*ret_again = false;
	if (!row->mounted[0])
		return 0;
	if (!par->conf.unmount)
		return err_refuse(e, "mounted", "'%s' is mounted at '%s', and the driver there keeps in memory what we would have to "
				  "know: unmount it, or let --unmount do so", row->path, row->mounted);
	if (par->check_only)
		return err_refuse(e, "mounted", "'%s' is mounted at '%s': --unmount would unmount it, and only then its state can be "
				  "seen", row->path, row->mounted);
	*ret_again = true;
	return volumes_unmount(row->path, e);
}

int install_choose(const struct install_params *par, uint64_t needed_bytes, struct volumes *v, const struct volumes_row **ret_volume,
		   const struct volumes_row **ret_esp, struct err *e)
{
	const struct volumes_row *volume = NULL;
	bool again = false;
	int code = scan_and_choose(par, needed_bytes, v, &volume, e);

	if (!code)
		code = unmount_chosen(par, volume, &again, e);
	if (!code && again) {
		volumes_clear(v);
		code = scan_and_choose(par, needed_bytes, v, &volume, e);
	}
	if (code)
		return code;
	*ret_volume = volume;
	return volumes_esp(v, volume, par->conf.esp[0] ? par->conf.esp : NULL, ret_esp, e);
}

/* ---- what is there already ---- */

static int read_label(const char *volume, const struct map *m, char ret[EXT4FMT_LABEL_MAX + 1], struct err *e)
{
	AUTO(blkio) struct blkio *io = NULL, *image = NULL;
	int code = filedev_open(volume, FILEDEV_READ, &io, e);

	if (!code)
		code = mapdev_new(io, &m->extents, &image, e);
	if (!code)
		code = ext4fmt_get_label(image, ret, e);
	blkio_free(TAKE(image)); /* before what it lies on */
	return code;
}

static int is_started(const struct volumes_row *esp, bool *ret, struct err *e)
{
	AUTO_FREE struct efiboot_list *list = calloc(1, sizeof(*list));
	int code = list ? efiboot_read(list, e) : err_set(e, -ENOMEM, "out of memory");

	if (!code)
		*ret = efiboot_find(list, esp->partuuid, ESPBOOT_LOADER) != NULL;
	return code;
}

static bool has_root_image(const struct volumes_row *volume, const char **ret_path)
{
	/* the scan has them all; a volume of ours has few */
	*ret_path = INSTALL_ROOT_IMAGE;
	return volume->image_count != 0;
}

int install_state_of(const struct volumes_row *volume, const struct volumes_row *esp, enum install_state *ret, struct map **ret_map,
		     struct err *e)
{
	char label[EXT4FMT_LABEL_MAX + 1] = "";
	AUTO(map) struct map *m = NULL;
	struct err why = ERR_INIT;
	const char *path;
	bool started = true;
	int code;

	*ret = INSTALL_NONE;
	if (!has_root_image(volume, &path))
		return 0;
	code = image_derive(volume->path, path, &m, NULL, &why);
	if (code == -ENOENT)
		return 0;
	if (code)
		return e ? *e = why, code : code;
	code = read_label(volume->path, m, label, e);
	if (code && code != -ENODATA)
		return code;
	if (!strcmp(label, INSTALL_LABEL_INCOMPLETE)) {
		*ret = INSTALL_INCOMPLETE;
	} else if (strcmp(label, INSTALL_LABEL) != 0) {
		*ret = INSTALL_FOREIGN;
		code = 0;
	} else {
		code = esp && efiboot_is_there() ? is_started(esp, &started, e) : 0;
		*ret = started ? INSTALL_COMPLETE : INSTALL_NO_ENTRY;
	}
	if (!code && ret_map)
		*ret_map = TAKE(m);
	return code;
}
