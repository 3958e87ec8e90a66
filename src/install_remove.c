/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes a system away again: what starts it first, so that no boot entry ever leads to nothing. */
#include "install_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The images of home and swap may be in use by what has moved out of root's. */
static int check_moved(const struct volumes_row *esp, struct err *e)
{
	bool has_moved = false;
	int code = install_esp_moved_out(&has_moved, e);

	if (code || !has_moved || (access(INSTALL_ESP "/" BOOTMENU_FOLDER "/home.map", F_OK) != 0 &&
				   access(INSTALL_ESP "/" BOOTMENU_FOLDER "/swap.map", F_OK) != 0))
		return code;
	return err_refuse(e, "other-system",
			  "the system that '%s' starts has moved out into a partition, and its home or swap is still in an image "
			  "on the Windows volume: remove the image of root alone ('wubi-disk remove VOLUME --image "
			  INSTALL_ROOT_IMAGE "')", esp->path);
}

static int remove_boot(const struct install_params *par, const struct volumes_row *volume, const struct volumes_row *esp,
		       struct install_removed *ret, struct err *e)
{
	bool ours = false, is_others = false;
	int code = install_esp_mount(esp, !par->check_only, e), last;

	if (!code)
		code = check_moved(esp, e);
	if (!code)
		code = install_esp_is_others(volume, &is_others, e);
	ours = !code && !is_others;
	if (ours)
		code = install_entry_of(esp, &ret->entry, NULL, e);
	if (!code && ours)
		code = espboot_remove(INSTALL_ESP, esp->path, par->check_only, &ret->esp_files, e);
	if (!code && ours && ret->esp_files)
		(void)snprintf(ret->esp, sizeof(ret->esp), "%s", esp->path);
	last = install_esp_unmount(code ? NULL : e);
	return code ? code : last;
}

/* A look, before which nobody has been asked, is not to say that it removes. */
static int begin(const struct install_params *par, const struct install_host *h, const char *text, struct err *e)
{
	return par->check_only ? 0 : install_begin(h, text, e);
}

/* An image of that name that is not there is none to remove. */
static int remove_image(const struct install_params *par, const struct volumes_row *volume, enum install_image i,
			struct install_removed *ret, struct err *e)
{
	char path[NTFSVOL_PATH_MAX];
	struct err why = ERR_INIT;
	uint64_t bytes = 0;
	int code;

	image_default_path(install_image_names[i], path);
	code = image_remove(volume->path, path, par->check_only, NULL, &bytes, &why);
	if (code == -ENOENT)
		return 0;
	if (code) {
		if (e)
			*e = why;
		return code;
	}
	(void)snprintf(ret->images[i], sizeof(ret->images[i]), "%.63s", path);
	ret->freed_bytes += bytes;
	return 0;
}

/* Would all images go? Before what starts them is taken away. */
static int check_images(const struct install_params *par, const struct volumes_row *volume, struct err *e)
{
	struct install_params look = *par;
	struct install_removed found = { .freed_bytes = 0 };
	int code = 0;

	look.check_only = true;
	for (int i = 0; !code && i < INSTALL_IMAGES; i++)
		code = remove_image(&look, volume, (enum install_image)i, &found, e);
	return code;
}

static bool is_empty(const struct install_removed *r)
{
	bool has_image = false;

	for (int i = 0; i < INSTALL_IMAGES; i++)
		has_image = has_image || r->images[i][0];
	return !has_image && !r->esp_files && !r->entry;
}

static int remove_all(const struct install_params *par, const struct install_host *h, struct install_removed *ret, struct err *e)
{
	__attribute__((cleanup(auto_volumes))) struct volumes v = { .count = 0 };
	const struct volumes_row *volume = NULL, *esp = NULL;
	struct err why = ERR_INIT;
	int code = install_choose(par, 0, &v, &volume, &esp, &why);

	/* without an EFI system partition there is nothing of ours on one */
	if (code && !(volume && err_is_refusal(&why) && !strcmp(why.reason, "no-esp"))) {
		if (e)
			*e = why;
		return code;
	}
	code = check_images(par, volume, e);
	if (!code && esp)
		code = begin(par, h, "removing its boot entry", e);
	if (!code && esp)
		code = remove_boot(par, volume, esp, ret, e);
	if (!code)
		code = begin(par, h, "removing the images", e);
	for (int i = INSTALL_IMAGES - 1; !code && i >= 0; i--)
		code = remove_image(par, volume, (enum install_image)i, ret, e);
	if (!code && is_empty(ret))
		return err_refuse(e, "no-image",
				  "'%s' holds no image, and nothing starts one from there: there is nothing to remove; is it "
				  "another volume? 'wubi-install --list' shows them",
				  volume->path);
	return code;
}

int install_remove(const struct install_params *par, const struct install_host *h, struct install_removed *ret, struct err *e)
{
	int fd = -1, code = install_work_open(&fd, e);

	*ret = (struct install_removed){ .freed_bytes = 0 };
	if (!code)
		code = remove_all(par, h, ret, e);
	if (fd >= 0)
		install_work_close(fd);
	return code;
}
