/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is there already: images, and on the EFI system partition. */
#include "install_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "filedev.h"
#include "mapdev.h"
#include "mapfile.h"
#include "swapfmt.h"
#include "textfile.h"

/* ---- images ---- */

static int read_label(const char *volume, const struct map *m, char ret[EXT4FMT_LABEL_MAX + 1], struct err *e)
{
	AUTO(blkio) struct blkio *io = NULL, *image = NULL;
	int code = filedev_open(volume, FILEDEV_READ, &io, e);

	if (!code)
		code = mapdev_new(io, &m->extents, &image, e);
	if (!code)
		code = strcmp(m->fs_type, "swap") != 0 ? ext4fmt_get_label(image, ret, e) : swapfmt_get_label(image, ret, e);
	blkio_free(TAKE(image)); /* before what it lies on */
	return code;
}

int install_label_of(const struct volumes_row *volume, enum install_image i, bool *ret_exists, char ret[EXT4FMT_LABEL_MAX + 1],
		     struct err *e)
{
	char path[NTFSVOL_PATH_MAX];
	AUTO(map) struct map *m = NULL;
	struct err why = ERR_INIT;
	int code;

	*ret_exists = false;
	ret[0] = '\0';
	image_default_path(install_image_names[i], path);
	code = volume->image_count ? image_derive(volume->path, path, &m, NULL, &why) : -ENOENT;
	if (code == -ENOENT)
		return 0;
	if (!code)
		code = read_label(volume->path, m, ret, &why);
	*ret_exists = true;
	if (code == -ENODATA) /* neither ext4 nor swap: nobody's label */
		return 0;
	if (code && e)
		*e = why;
	return code;
}

int install_state_of(const struct volumes_row *volume, const struct volumes_row *esp, enum install_state *ret, struct err *e)
{
	char label[EXT4FMT_LABEL_MAX + 1];
	bool exists = false, started = true;
	int code = install_label_of(volume, INSTALL_ROOT, &exists, label, e);

	if (code)
		return code;
	*ret = !exists ? INSTALL_NONE : INSTALL_FOREIGN;
	if (!strcmp(label, INSTALL_LABEL_INCOMPLETE))
		*ret = INSTALL_INCOMPLETE;
	if (strcmp(label, INSTALL_LABEL) != 0)
		return 0;
	code = esp && efiboot_is_there() ? install_entry_of(esp, &started, NULL, e) : 0;
	*ret = started ? INSTALL_COMPLETE : INSTALL_NO_ENTRY;
	return code;
}

/* ---- the EFI system partition ---- */

int install_esp_moved_out(bool *ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct err why = ERR_INIT;
	int code = textfile_read(INSTALL_ESP "/" BOOTMENU_FILE, &text, &why);

	*ret = !code && bootmenu_is_partition(text);
	return code == -EIO ? err_set(e, code, "%s", why.text) : 0; /* what cannot be a menu is none */
}

/* By the map of root there. One that cannot be trusted is nobody else's. */
int install_esp_is_others(const struct volumes_row *volume, bool *ret, struct err *e)
{
	AUTO(map) struct map *m = NULL;
	struct err why = ERR_INIT;
	char serial[17];
	int code = install_esp_moved_out(ret, e);

	if (code || *ret)
		return code;
	code = mapfile_read(INSTALL_ESP "/" BOOTMENU_FOLDER "/root.map", &m, &why);
	if (code == -ENOENT || (code && err_is_refusal(&why)))
		return 0;
	if (code)
		return err_set(e, code, "%s", why.text);
	(void)snprintf(serial, sizeof(serial), "%016" PRIx64, m->host.serial);
	*ret = strcmp(serial, volume->serial) != 0;
	return 0;
}

/* What the next run writes over, or takes away first. */
uint64_t install_esp_own_bytes(void)
{
	DIR *d = opendir(INSTALL_ESP "/" BOOTMENU_FOLDER);
	const struct dirent *item;
	uint64_t bytes = 0;
	struct stat st;

	while (d && (item = readdir(d)))
		if (!fstatat(dirfd(d), item->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
	if (d)
		(void)closedir(d); /* it was only read */
	return bytes;
}
