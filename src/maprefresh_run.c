/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps, initramfs, copies on the EFI system partition: in this order. */
#include "maprefresh_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"
#include "dpkglock.h"
#include "initramfs.h"
#include "initrdcheck.h"
#include "mapfile.h"

#define BOOT_FOLLOWS "the next boot follows the image as this one did"

int maprefresh_esp_file(const struct maprefresh_plan *p, const struct maprefresh_item *item, char ret[PATH_MAX], struct err *e)
{
	int n = snprintf(ret, PATH_MAX, "%s/%s.map", p->esp, item->name);

	return n > 0 && n < PATH_MAX ? 0 : err_set(e, -ENAMETOOLONG, "'%.300s': %s", p->esp, strerror(ENAMETOOLONG));
}

static int write_maps(const struct maprefresh_plan *p, struct err *e)
{
	int code = 0;

	for (size_t i = 0; !code && i < p->count; i++)
		if (p->items[i].action == MAPREFRESH_WRITE)
			code = mapfile_write(p->items[i].path, p->items[i].map, e);
	return code;
}

/* ---- the copies on the EFI system partition ---- */

/* mapfile_write() replaces no file that is not a map. Under this name, in our folder, it was one: damaged, it goes. */
static int clear_way(const char *path, struct err *e)
{
	AUTO(map) struct map *copy = NULL;
	struct stat st;
	int code = mapfile_read(path, &copy, NULL);

	if (!code || code == -ENOENT || lstat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	return unlink(path) ? err_errno(e, "remove the damaged '%s'", path) : 0;
}

static int write_copy(const struct maprefresh_plan *p, const struct maprefresh_item *item, struct err *e)
{
	char path[PATH_MAX];
	int code = maprefresh_esp_file(p, item, path, e);

	if (!code)
		code = clear_way(path, e);
	return code ? code : mapfile_write(path, item->map, e);
}

/* The first error is told when all that can be written is. */
static int write_esp(const struct maprefresh_plan *p, struct err *e)
{
	struct err why = ERR_INIT;
	int first = 0;

	for (size_t i = 0; i < p->count; i++) {
		if (!p->items[i].esp_stale || !write_copy(p, &p->items[i], &why) || first)
			continue;
		first = err_set(e, why.code, "the copy on the EFI system partition, which nothing needs to boot: %s", why.text);
	}
	return first;
}

/* ---- the initramfs ---- */

static int check_image(void *ctx, const char *image, const char *kernel, struct err *e)
{
	const struct maprefresh_params *par = ctx;
	AUTO_FREE struct initrdcheck_result *r = calloc(1, sizeof(*r));
	struct initrdcheck_params p = {
		.image = image,
		.kernel = kernel,
		.modules = par->modules,
		.system = INITRDNEED_SYSTEM,
	};
	int code;

	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	p.system.maps = par->maps;
	code = initrdcheck_run(&p, r, e);
	if (code || !r->findings.count)
		return code;
	return err_set(e, -EBADMSG, "'%s' was built, but %s", image, r->findings.items[0].text);
}

static bool is_interrupted(void *ctx)
{
	const struct maprefresh_params *par = ctx;

	return par->interrupted && par->interrupted(par->ctx);
}

static int build(const struct maprefresh_params *par, struct err *e)
{
	struct maprefresh_params copy = *par;
	const struct initramfs_params p = {
		.boot = par->boot,
		.modules = par->modules,
		.tools = INITRAMFS_TOOLS,
		.hooks = INITRAMFS_HOOKS,
		.check = check_image,
		.interrupted = is_interrupted,
		.ctx = &copy,
	};
	struct err why = ERR_INIT;
	int code = initramfs_rebuild(&p, &why);

	if (!code)
		return 0;
	return err_set(e, code, "the maps in '%s' are right, but not those in the initramfs: %.450s; " BOOT_FOLLOWS "; set that "
		       "right and run wubi-map-refresh again", par->maps, why.text);
}

static int refuse_more(const struct maprefresh_plan *p, struct err *e)
{
	return err_set(e, -EBUSY, "the initramfs with the new maps could not be built in %u runs, and is not tried again by "
		       "itself; " BOOT_FOLLOWS "; run wubi-map-refresh by hand to see why, and set that right", p->tries);
}

/* The count of tries is that of the same maps and kernels. */
static int rebuild(const struct maprefresh_params *par, const struct maprefresh_plan *p, struct err *e)
{
	const struct dpkglock_params lock = { par->dpkg_lock, par->lock_timeout_s, par->tell, par->interrupted, par->ctx };
	AUTO_FD int fd = -1;
	unsigned tries = 1;
	char mark[PATH_MAX];
	int code = p->given_up ? refuse_more(p, e) : maprefresh_mark_path(par, mark, e);

	if (!code)
		code = dpkglock_take(&lock, &fd, e);
	if (code)
		return code;
	if (p->unfinished && !maprefresh_mark_is_old(par, p, mark))
		tries = p->tries + 1;
	code = maprefresh_mark_set(par, mark, tries, e);
	if (!code)
		code = write_maps(p, e);
	if (!code)
		code = build(par, e);
	if (!code)
		return maprefresh_mark_remove(par, mark, e);
	/* newer than what was just written; the first error counts. Shutting down is no failure. */
	(void)maprefresh_mark_set(par, mark, code == -ECANCELED ? tries - 1 : tries, NULL);
	return code;
}

int maprefresh_run(const struct maprefresh_params *par, const struct maprefresh_plan *p, struct err *e)
{
	int code = maprefresh_needs_initramfs(p) ? rebuild(par, p, e) : 0;

	return code ? code : write_esp(p, e);
}
