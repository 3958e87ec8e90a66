/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "espboot_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "efiboot.h"
#include "textfile.h"

/* A smaller initramfs that does not fit, then old copies whose place the new ones need: each takes a look of its own. */
#define ROUNDS 4

static int write_folders(const struct espboot_params *par, struct espboot_plan *p, struct espboot_work *w, struct err *e)
{
	int code = espboot_write_folder(par->esp, BOOTMENU_FOLDER, e);

	/* the list of what is made before it is made */
	if (!code && p->file_count && strcmp(p->files[0].name, ESPBOOT_MADE) == 0 && !p->files[0].is_right) {
		code = espboot_write_file(par->esp, &p->files[0], w, e);
		p->files[0].is_right = !code;
	}
	return code || !par->is_complete ? code : espboot_write_folder(par->esp, ESPBOOT_MENU_FOLDER, e);
}

/* What nobody has to try again: the next look goes on without it. */
static int write_no_small(const struct espboot_params *par, const char *version, struct espboot_work *w, struct err *e)
{
	struct espboot_file f = { .name = ESPBOOT_SMALL };
	struct espboot_kernel kernel;
	int code = espboot_source_version(par->root, version, &kernel, e);

	if (code || !kernel.version[0]) /* the next look has others */
		return code;
	if (asprintf(&f.text, "%s no\n", kernel.record) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	code = espboot_write_file(par->esp, &f, w, e);
	free(f.text);
	return code;
}

static struct espboot_file *find_small(struct espboot_plan *p)
{
	for (size_t i = 0; i < p->file_count; i++)
		if (p->files[i].is_small && !p->files[i].is_right)
			return &p->files[i];
	return NULL;
}

/* Can what was made be what it is made for? */
static bool is_good(const struct espboot_params *par, const char *version, const struct espboot_small *small)
{
	char lack[ESPBOOT_LACK_MAX];

	return espboot_check_initrd(par->root, small->file, version, lack, NULL) == 0 && !lack[0];
}

/* Before the first of the files that it comes with. *ret_fits false: neither does it fit, or it could not be made well. */
static int make_small(const struct espboot_params *par, struct espboot_plan *p, struct espboot_small *small,
		      const struct progress *progress, bool *ret_fits)
{
	struct espboot_file *f = find_small(p);
	uint64_t cluster, needed;
	struct stat st;
	int code = f ? espboot_small_make(par, p->kernel, progress, small, NULL) : 0;

	*ret_fits = !f;
	if (!f || code)
		return code == -ECANCELED ? code : 0;
	if (stat(small->file, &st) < 0 || st.st_size == 0 || !is_good(par, p->kernel, small) ||
	    espboot_device_space(par->esp, &p->free_bytes, &cluster, NULL))
		return 0;
	(void)snprintf(f->source, sizeof(f->source), "%s", small->file);
	f->bytes = (uint64_t)st.st_size;
	*ret_fits = espboot_plan_fits(p, cluster, ESPBOOT_RESERVE_BYTES, &needed);
	return 0;
}

/* Only with all files of a plan on the disk is what it does not name removed. */
static int write_files(const struct espboot_params *par, struct espboot_plan *p, struct espboot_small *small,
		       struct espboot_work *w, struct err *e)
{
	bool any, fits;
	int code = make_small(par, p, small, w->progress, &fits);

	if (code)
		return err_set(e, code, "interrupted while a smaller initramfs was made");
	code = write_folders(par, p, w, e);
	if (!code && !fits)
		return write_no_small(par, p->kernel, w, e);
	for (size_t i = 0; !code && i < p->file_count; i++)
		if (!p->files[i].is_right)
			code = espboot_write_file(par->esp, &p->files[i], w, e);
	return code ? code : espboot_surplus_remove(par, p, false, &any, e);
}

static int write_plan(const struct espboot_params *par, const struct espboot_plan *p, const struct progress *progress,
		      struct err *e)
{
	AUTO_FREE struct espboot_plan *w = malloc(sizeof(*w)); /* its texts are p's */
	struct espboot_work work = { .progress = progress };
	struct espboot_small small = { .folder = "" };
	int code;

	if (!w)
		return err_set(e, -ENOMEM, "out of memory");
	*w = *p;
	for (size_t i = 0; i < w->file_count; i++)
		work.total_bytes += w->files[i].is_right ? 0 : w->files[i].bytes;
	code = espboot_work_step(&work, e);
	if (!code)
		code = write_files(par, w, &small, &work, e);
	espboot_small_clear(&small);
	return code ? code : espboot_sync_all(par->esp, e);
}

static int write_entry(const struct espboot_params *par, struct err *e)
{
	struct efiboot_params entry;
	struct espboot_facts facts;
	uint16_t number;
	int code;

	if (!par->firmware || !par->is_complete)
		return 0;
	code = espboot_device_facts(par->esp, par->esp_device, &facts, e);
	if (code)
		return code;
	espboot_entry(par, &facts, &entry);
	code = efiboot_put(&entry, &number, e);
	return code || !par->start_next ? code : efiboot_set_next(number, e);
}

static int update(const struct espboot_params *par, const struct espboot_plan *p, struct espboot_plan *again,
		  const struct progress *progress, struct err *e)
{
	int code = 0;

	for (int i = 0; !code && i < ROUNDS && espboot_plan_has_files(p); i++, p = again) {
		code = write_plan(par, p, progress, e);
		espboot_plan_clear(again);
		if (!code)
			code = espboot_plan(par, again, e);
	}
	if (!code && espboot_plan_has_files(p))
		code = err_set(e, -EIO, "EFI system partition '%s': '%s' is written, and not what it should be: does "
			       "something else change it?", par->esp, p->file_count ? p->files[p->file_count - 1].name : "");
	return code ? code : write_entry(par, e);
}

int espboot_update(const struct espboot_params *par, const struct espboot_plan *p, const struct progress *progress, struct err *e)
{
	AUTO_FREE struct espboot_plan *again = calloc(1, sizeof(*again));
	int code = again ? update(par, p, again, progress, e) : err_set(e, -ENOMEM, "out of memory");

	if (again)
		espboot_plan_clear(again);
	return code;
}

int espboot_find(const char *root, char ret[PATH_MAX], struct err *e)
{
	static const char *const places[] = { "/boot/efi", "/efi", "/boot" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char path[PATH_MAX];

		if (textfile_resolve(root, places[i], path) == 0 && espboot_device_is_vfat(path)) {
			(void)snprintf(ret, PATH_MAX, "%s", path);
			return 0;
		}
	}
	return err_set(e, -ENOENT, "the EFI system partition is not mounted at '%s/boot/efi', '%s/efi' or '%s/boot'", root, root,
		       root);
}
