/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which volume, and which EFI system partition. */
#include "install_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>


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
			return err_refuse(e, "several-volumes", "both '%s' and '%s' hold images: name one with --volume",
					  found->path, row->path);
		found = row;
	}
	if (!found)
		return err_refuse(e, "no-volume",
				  "no volume holds an image%s: 'wubi-install --list' shows them, and --volume names one",
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
	return err_refuse(e, "no-volume",
			  "no volume was named, and none is taken by itself: 'wubi-install --list' shows them, and --volume "
			  "names one");
}

/* What the user asked for: a dry run only says it. */
static int unmount_chosen(const struct install_params *par, const struct volumes_row *row, bool *ret_again, struct err *e)
{
	*ret_again = false;
	if (!row->mounted[0])
		return 0;
	if (!par->conf.unmount)
		return err_refuse(e, "mounted",
				  "'%s' is mounted at '%s', and the driver there keeps in memory what we would have to "
				  "know: unmount it, or let --unmount do so",
				  row->path, row->mounted);
	if (par->check_only)
		return err_refuse(e, "mounted",
				  "'%s' is mounted at '%s': --unmount would unmount it, and only then its state can be "
				  "seen",
				  row->path, row->mounted);
	*ret_again = true;
	return volumes_unmount(row->path, e);
}

int install_choose(const struct install_params *par, uint64_t needed_bytes, struct volumes *v,
		   const struct volumes_row **ret_volume, const struct volumes_row **ret_esp, struct err *e)
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
