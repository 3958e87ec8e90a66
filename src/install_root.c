/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A system that was exported to a partition: made one of its own, and what the EFI system partition starts. */
#include "install_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canary.h"
#include "export.h"
#include "filedev.h"
#include "mapfile.h"
#include "mapfolder.h"
#include "mountfs.h"
#include "textfile.h"

struct move {
	const struct install_params *par;
	const struct install_host *h;
	const struct volumes_row *row, *esp;
	char fs_uuid[37];
	struct mapfolder maps;             /* of the other images */
	const struct map **map_list;
	size_t map_count;
	struct target *target;
	struct report notes;
	uint16_t number;
};

static int refuse_other(const struct volumes_row *row, const char *what, struct err *e)
{
	return err_refuse(e, "not-exported", "'%s' holds no system that 'wubi-disk export' has copied out of an image (%s): name "
			  "the partition that it was told with --to", row->path, what);
}

/* ---- looking ---- */

static int check_content(struct move *x, struct err *e)
{
	AUTO(blkio) struct blkio *io = NULL;
	char label[EXT4FMT_LABEL_MAX + 1], type[8];
	int code = filedev_open(x->row->path, FILEDEV_READ, &io, e);

	if (!code)
		code = canary_identify(io, type, x->fs_uuid, e);
	if (!code && strcmp(type, "ext4") != 0)
		return refuse_other(x->row, "there is no ext4", e);
	if (!code)
		code = ext4fmt_get_label(io, label, e);
	if (!code && strcmp(label, EXPORT_LABEL_INCOMPLETE) == 0)
		return err_refuse(e, "incomplete", "'%s' holds a copy that is not complete: run 'wubi-disk export' again",
				  x->row->path);
	return code;
}

static int mount_it(const struct move *x, bool readonly, struct err *e)
{
	int code = install_work_folder(INSTALL_TARGET, e);

	/* noload: a look writes nothing, not even a journal's superblock */
	return code ? code : mountfs_mount(x->row->path, INSTALL_TARGET, "ext4", readonly ? "ro,noload" : "errors=remount-ro", e);
}

static int check_system(const struct move *x, struct err *e)
{
	bool is_ours = false;
	int code = target_moved_look(INSTALL_TARGET, x->fs_uuid, &is_ours, e);

	return code || is_ours ? code : refuse_other(x->row, "its fstab names no image, nor has it a map of one", e);
}

/* What it starts now, should that be of ours, is the image that this is a copy of. */
static int check_esp(const struct move *x, struct err *e)
{
	AUTO(map) struct map *here = NULL, *there = NULL;
	struct err why = ERR_INIT;
	char path[PATH_MAX];

	if (mapfile_read(INSTALL_ESP "/" BOOTMENU_FOLDER "/root.map", &there, &why))
		return why.code == -EIO ? err_set(e, why.code, "%s", why.text) : 0;
	err_clear(&why);
	if (textfile_resolve(INSTALL_TARGET, MAPFOLDER_DEFAULT "/root.map", path) || mapfile_read(path, &here, &why))
		return why.code == -EIO ? err_set(e, why.code, "%s", why.text) : 0; /* it has moved out before */
	if (strcmp(here->map_id, there->map_id) == 0)
		return 0;
	return err_refuse(e, "other-system",
			  "the EFI system partition '%s' starts a system in another image than the one that '%s' is a copy of, "
			  "and which would not start any more: name another with --esp", x->esp->path, x->row->path);
}

/* ---- the steps ---- */

static int step_look(struct move *x, struct err *e)
{
	int code = mount_it(x, true, e), last;

	if (code)
		return code;
	code = check_system(x, e);
	if (!code)
		code = install_esp_mount(x->esp, false, e);
	if (!code)
		code = check_esp(x, e);
	last = install_esp_unmount(code ? NULL : e);
	if (!code)
		code = last;
	last = install_sync_and_unmount(INSTALL_TARGET, code ? NULL : e);
	return code ? code : last;
}

static int step_system(struct move *x, struct err *e)
{
	const struct target_settings s = { .hostname = NULL };
	int code = install_begin(x->h, "making it a system with a partition of its own", e);

	if (!code)
		code = mount_it(x, false, e);
	if (!code)
		code = target_enter(INSTALL_TARGET, x->h->interrupted, x->h->ctx, &x->target, e);
	if (!code)
		code = target_move_out(x->target, x->fs_uuid, e);
	if (!code)
		code = install_begin(x->h, "building its initramfs and its boot menu", e);
	if (!code)
		code = target_kernels(x->target, &s, e);
	if (!code)
		code = target_leave(x->target, e);
	/* GRUB replays no journal: unmounted, all is in its place */
	return code ? code : install_sync_and_unmount(INSTALL_TARGET, e);
}

static int read_maps(struct move *x, struct err *e)
{
	char folder[PATH_MAX];
	int code;

	if (textfile_resolve(INSTALL_TARGET, MAPFOLDER_DEFAULT, folder))
		return err_errno(e, "'" MAPFOLDER_DEFAULT "' of '%s'", x->row->path);
	code = mapfolder_read(folder, &x->maps, e);
	if (code)
		return code;
	x->map_list = calloc(x->maps.count + 1, sizeof(*x->map_list));
	if (!x->map_list)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < x->maps.count; i++)
		if (x->maps.items[i].map)
			x->map_list[x->map_count++] = x->maps.items[i].map;
	return 0;
}

static int step_boot(struct move *x, struct err *e)
{
	const struct conf_install *c = &x->par->conf;
	struct espboot_params par = {
		.root = INSTALL_TARGET,
		.esp = INSTALL_ESP,
		.esp_device = x->esp->path,
		.partition_uuid = x->fs_uuid,
		.firmware = true,
		.order = !c->default_given ? ESPBOOT_KEEP : c->default_linux ? ESPBOOT_FIRST : ESPBOOT_LAST,
		.start_next = true,
		.is_complete = true,
	};
	int code = install_begin(x->h, "making its boot entry", e);

	if (!code)
		code = mount_it(x, true, e);
	if (!code)
		code = install_esp_mount(x->esp, true, e);
	if (!code)
		code = read_maps(x, e);
	par.maps = x->map_list;
	par.map_count = x->map_count;
	return code ? code : install_make_entry(x->esp, &par, &x->notes, &x->number, e);
}

static int run(struct move *x, struct err *e)
{
	int code = step_look(x, e), last;

	if (!code && !x->par->check_only)
		code = step_system(x, e);
	if (!code && !x->par->check_only)
		code = step_boot(x, e);
	target_free(TAKE(x->target));
	last = install_sync_and_unmount(INSTALL_TARGET, code ? NULL : e);
	if (!code)
		code = last;
	last = install_esp_unmount(code ? NULL : e);
	return code ? code : last;
}

static void fill_result(const struct move *x, struct install_repaired *ret)
{
	ret->number = x->number;
	ret->notes = x->notes;
	report_add(&ret->notes, "image-stays",
		   "the image that it was copied from is as it was, and is not started any more: when all is "
		   "well, 'wubi-disk remove VOLUME --image " INSTALL_ROOT_IMAGE "' gives its space back%s",
		   x->map_count ? "; the other images are still in use" : "");
}

/* ---- which partition ---- */

static int scan(const struct install_params *par, struct volumes *v, struct move *x, struct err *e)
{
	int code = volumes_scan(par->disks, 0, v, e);

	if (!code)
		code = volumes_choose(v, par->root, VOLUMES_OTHER, &x->row, e);
	if (!code && x->row->reason[0])
		code = err_refuse(e, x->row->reason, "%s", x->row->text);
	return code;
}

/* What the user asked for: a dry run only says it. */
static int choose(const struct install_params *par, struct volumes *v, struct move *x, struct err *e)
{
	int code = scan(par, v, x, e);

	if (code || !x->row->mounted[0])
		return code;
	if (!par->conf.unmount || par->check_only)
		return err_refuse(e, "mounted", "'%s' is mounted at '%s': unmount it, or let --unmount do so", x->row->path,
				  x->row->mounted);
	code = volumes_unmount(x->row->path, e);
	volumes_clear(v);
	return code ? code : scan(par, v, x, e);
}

int install_repair_root(const struct install_params *par, const struct install_host *h, struct install_repaired *ret,
			struct err *e)
{
	__attribute__((cleanup(auto_volumes))) struct volumes v = { .count = 0 };
	struct move x = { .par = par, .h = h };
	int code = 0;

	if (!efiboot_is_there())
		return err_refuse(e, "bios",
				  "this machine was started by BIOS, not by UEFI firmware: start the live medium by UEFI");
	code = choose(par, &v, &x, e);
	if (!code)
		code = check_content(&x, e);
	if (!code)
		code = volumes_esp(&v, x.row, par->conf.esp[0] ? par->conf.esp : NULL, &x.esp, e);
	if (code)
		return code;
	code = run(&x, e);
	if (!code && !par->check_only)
		fill_result(&x, ret);
	free(x.map_list);
	mapfolder_clear(&x.maps);
	return code && !err_is_refusal(e) ? err_wrap(e, code, "repair: run it again when that is mended") : code;
}
