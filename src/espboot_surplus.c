/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What no menu names any more, and what a killed run left. */
#include "espboot_private.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "auto.h"

static void close_folder(DIR *d)
{
	if (d)
		(void)closedir(d); /* it was only read */
}
DEFINE_AUTO(folder, DIR *, close_folder);

static bool is_planned(const struct espboot_plan *p, const char *name)
{
	for (size_t i = 0; i < p->file_count; i++)
		if (strcasecmp(strrchr(p->files[i].name, '/') + 1, name) == 0)
			return true;
	return false;
}

/* Ours, or mapfile_write()'s: NAME.map.XXXXXX */
static bool is_temp(const char *name)
{
	const char *map = strstr(name, ".map.");

	return strcasecmp(name, ESPBOOT_TEMP) == 0 || (map && strlen(map) == strlen(".map.XXXXXX"));
}

static bool is_copy(const char *name)
{
	return strncasecmp(name, "vmlinuz-", 8) == 0 || strncasecmp(name, "initrd.img-", 11) == 0 ||
	       strcasecmp(name, strrchr(ESPBOOT_SMALL, '/') + 1) == 0;
}

/* The image that root has moved out of: its map would say that the menu is that one's. */
static bool is_map_of_root(const char *name)
{
	return strcasecmp(name, "root.map") == 0;
}

/* The old menu may name what is there as long as the new one is not written. */
static bool is_surplus(const struct espboot_params *par, const struct espboot_plan *p, const char *name)
{
	bool is_old = is_copy(name) || (par->partition_uuid && is_map_of_root(name));

	return is_temp(name) || (par->is_complete && is_old && !is_planned(p, name));
}

/* p NULL: the menu's folder, where only a file of one name can be surplus. ret "": none. */
static int look_at(const struct espboot_params *par, const struct espboot_plan *p, const char *folder, char ret[PATH_MAX],
		   struct err *e)
{
	AUTO(folder) DIR *d = opendir(folder);
	const struct dirent *item;

	ret[0] = '\0';
	if (!d)
		return errno == ENOENT ? 0 : err_errno(e, "'%s'", folder);
	while (errno = 0, (item = readdir(d)) != NULL) {
		if (p ? !is_surplus(par, p, item->d_name) : strcasecmp(item->d_name, ESPBOOT_TEMP) != 0)
			continue;
		return espboot_path(folder, item->d_name, ret, e);
	}
	return errno ? err_errno(e, "'%s'", folder) : 0;
}

int espboot_surplus_remove(const struct espboot_params *par, const struct espboot_plan *p, bool check_only, bool *ret_any,
			   struct err *e)
{
	static const char *const folders[] = { BOOTMENU_FOLDER, ESPBOOT_MENU_FOLDER };
	char folder[PATH_MAX], path[PATH_MAX];
	int code = 0;

	*ret_any = false;
	for (size_t i = 0; !code && i < 2; i++) {
		code = espboot_path(par->esp, folders[i], folder, e);
		while (!code && !(code = look_at(par, i == 0 ? p : NULL, folder, path, e)) && path[0]) {
			*ret_any = true;
			if (check_only)
				return 0;
			if (unlink(path) < 0)
				return err_errno(e, "remove '%s'", path);
			code = espboot_sync_folder(folder, e);
		}
	}
	return code;
}
