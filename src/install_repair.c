/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A system that is there, and does not boot: maps, initramfs, what is on the EFI system partition, the firmware's entry. */
#include "install_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mapfile.h"
#include "progress.h"
#include "textfile.h"

struct repair {
	const struct install_params *par;
	const struct install_host *h;
	const struct volumes_row *volume, *esp;
	struct install_mounts mounts;
	struct target *target;
	struct report added; /* notes about images that were added to the system */
	struct report notes;
	uint16_t number;
};

/* ---- maps ---- */

/* The copy beside the image is the one that a rescue goes by: it is written as well. */
static int derive(struct repair *r, enum install_image i, struct err *e)
{
	char path[NTFSVOL_PATH_MAX];
	struct install_mounts *m = &r->mounts;
	struct image_map_params mp = {
		.volume = r->volume->path, .path = path, .name = install_image_names[i], .host_map = true
	};
	struct err why = ERR_INIT;
	int code;

	image_default_path(install_image_names[i], path);
	code = image_map(&mp, r->h->progress, &m->maps[i], &why);
	if (code == -ENOENT && i != INSTALL_ROOT)
		return 0;
	if (code == -ENOENT)
		return err_refuse(e, "no-image",
				  "'%s' holds no '%s': is it another volume? If chkdsk moved it to found.000, move it back in "
				  "Windows",
				  r->volume->path, path);
	if (code && e)
		*e = why;
	return code;
}

static int derive_all(struct repair *r, struct err *e)
{
	int code = install_begin(r->h, "looking where the images are", e);

	for (int i = 0; !code && i < INSTALL_IMAGES; i++)
		code = derive(r, (enum install_image)i, e);
	return code;
}

static int refuse_state(enum install_state state, const struct volumes_row *volume, struct err *e)
{
	if (state == INSTALL_NONE)
		return err_refuse(e, "no-image",
				  "'%s' holds no '" INSTALL_ROOT_IMAGE "': is it another volume? If chkdsk moved it to "
				  "found.000, move it back in Windows",
				  volume->path);
	if (state == INSTALL_INCOMPLETE)
		return err_refuse(e, "incomplete",
				  "what '%s' holds is an interrupted installation: run wubi-install again, which begins "
				  "it anew, or remove it with --remove",
				  volume->path);
	return 0;
}

static int put_map(const struct map *m, struct err *e)
{
	char name[64], path[PATH_MAX];

	(void)snprintf(name, sizeof(name), "/etc/wubi/maps/%s.map", m->name);
	if (textfile_resolve(INSTALL_TARGET, name, path))
		return err_errno(e, "'%s' in the image", name);
	return mapfile_write(path, m, e);
}

/* A label is soon changed; a system that we made has this. */
static int check_system(struct err *e)
{
	char path[PATH_MAX];

	if (!textfile_resolve(INSTALL_TARGET, "/etc/wubi/maps/root.map", path) && access(path, F_OK) == 0)
		return 0;
	return err_refuse(e, "no-image", "'" INSTALL_ROOT_IMAGE "' holds no system that this program installed: it has no "
			  "/etc/wubi/maps/root.map");
}

static int put_maps(struct repair *r, struct err *e)
{
	int code = install_begin(r->h, "writing the maps into the system", e);

	if (!code)
		code = check_system(e);

	for (int i = 0; !code && i < INSTALL_IMAGES; i++)
		if (r->mounts.maps[i])
			code = put_map(r->mounts.maps[i], e);
	return code;
}

/* ---- the system ---- */

static int rebuild(struct repair *r, struct err *e)
{
	const struct target_settings s = { .hostname = NULL };
	const struct map *maps[INSTALL_IMAGES];
	struct espboot_params esp;
	int code = install_begin(r->h, "building its initramfs and its boot menu", e);

	install_esp_params(r->esp, &r->mounts, maps, &esp);
	if (!code)
		code = target_enter(INSTALL_TARGET, r->h->interrupted, r->h->ctx, &r->target, e);
	if (!code)
		code = target_add_fstab(r->target, maps, esp.map_count, &r->added, e);
	return code ? code : target_kernels(r->target, &s, e);
}

static int fill_esp(struct repair *r, struct err *e)
{
	int code = install_begin(r->h, "copying what starts it to the EFI system partition", e);

	if (!code)
		code = install_esp_fill(r->h, r->esp, &r->mounts, e);
	return code ? code : target_leave(r->target, e);
}

static int make_bootable(struct repair *r, struct err *e)
{
	const struct espboot_params how = {
		.order = !r->par->conf.default_given ? ESPBOOT_KEEP : r->par->conf.default_linux ? ESPBOOT_FIRST : ESPBOOT_LAST,
		.start_next = true,
	};
	int code = install_begin(r->h, "making its boot entry", e);

	if (!code)
		code = install_unmount(&r->mounts, e);
	return code ? code : install_boot_entry(r->volume, r->esp, &r->mounts, &how, &r->notes, &r->number, e);
}

static int mount_all(struct repair *r, struct err *e)
{
	bool is_others = false, has_moved = false;
	int code = install_mount(r->volume, &r->mounts, false, e);

	if (!code)
		code = install_esp_mount(r->esp, true, e);
	if (!code)
		code = install_esp_moved_out(&has_moved, e);
	if (!code && !has_moved) /* else it is the way back into the image */
		code = install_esp_is_others(r->volume, &is_others, e);
	if (!code && is_others)
		code = err_refuse(e, "other-system",
				  "the EFI system partition '%s' starts a system in an image on another volume, which would not "
				  "start any more: remove that one first, or name another with --esp", r->esp->path);
	return code;
}

static int run(struct repair *r, struct err *e)
{
	static int (*const steps[])(struct repair *r, struct err *e) = {
		derive_all, mount_all, put_maps, rebuild, fill_esp, make_bootable,
	};
	int code = 0, last;

	for (size_t i = 0; !code && i < sizeof(steps) / sizeof(steps[0]); i++)
		code = steps[i](r, e);
	target_free(TAKE(r->target));
	last = install_unmount(&r->mounts, code ? NULL : e);
	if (!code)
		code = last;
	last = install_esp_unmount(code ? NULL : e);
	return code ? code : last;
}

static void fill_result(const struct repair *r, struct install_repaired *ret)
{
	*ret = (struct install_repaired){ .number = r->number, .notes = r->added };
	for (size_t i = 0; i < r->notes.count; i++)
		report_add(&ret->notes, r->notes.items[i].reason, "%s", r->notes.items[i].text);
	for (int i = 0; i < INSTALL_IMAGES; i++)
		ret->generations[i] = r->mounts.maps[i] ? r->mounts.maps[i]->generation : 0;
}

static int repair(const struct install_params *par, const struct install_host *h, const struct volumes_row *volume,
		  const struct volumes_row *esp, struct install_repaired *ret, struct err *e)
{
	struct repair r = { .par = par, .h = h, .volume = volume, .esp = esp };
	int code = run(&r, e);

	if (!code)
		fill_result(&r, ret);
	install_mounts_clear(&r.mounts);
	return code ? err_wrap(e, code, "repair: run it again when that is mended") : 0;
}

static int check_and_repair(const struct install_params *par, const struct install_host *h, struct install_repaired *ret,
			    struct err *e)
{
	__attribute__((cleanup(auto_volumes))) struct volumes v = { .count = 0 };
	const struct volumes_row *volume = NULL, *esp = NULL;
	enum install_state state;
	int code = 0;

	if (!efiboot_is_there())
		code = err_refuse(e, "bios",
				  "this machine was started by BIOS, not by UEFI firmware: start the live medium by UEFI");
	if (!code)
		code = install_choose(par, 0, &v, &volume, &esp, e);
	if (!code)
		code = install_state_of(volume, esp, &state, e);
	if (!code)
		code = refuse_state(state, volume, e);
	return code || par->check_only ? code : repair(par, h, volume, esp, ret, e);
}

int install_repair(const struct install_params *par, const struct install_host *h, struct install_repaired *ret, struct err *e)
{
	int fd = -1, code = install_work_open(&fd, e);

	*ret = (struct install_repaired){ .number = 0 };
	if (!code)
		code = par->root ? install_repair_root(par, h, ret, e) : check_and_repair(par, h, ret, e);
	if (fd >= 0)
		install_work_close(fd);
	return code;
}

int install_finish(const struct install_params *par, struct install_plan *p, const struct install_host *h, uint16_t *ret_number,
		   struct err *e)
{
	struct install_repaired done = { .number = 0 };
	int code = report_refuse(&p->report, e);

	if (!code)
		code = repair(par, h, p->volume, p->esp, &done, e);
	if (code)
		return code;
	for (size_t i = 0; i < done.notes.count; i++)
		report_add(&p->notes, done.notes.items[i].reason, "%s", done.notes.items[i].text);
	*ret_number = done.number;
	return 0;
}
