/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exactly what is ours goes: the firmware's entry, the menu, EFI/wubi, and the folders that were made for them, if they are
 * empty.
 */
#include "espboot_private.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "efiboot.h"
#include "textfile.h"

#define DEPTH_MAX 8

static void close_folder(DIR *d)
{
	if (d)
		(void)closedir(d); /* it was only read */
}
DEFINE_AUTO(folder, DIR *, close_folder);

struct removal {
	const char *esp;
	bool check_only;
	size_t count;
};

static int remove_file(struct removal *r, const char *path, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : err_errno(e, "'%s'", path);
	r->count++;
	return r->check_only || unlink(path) == 0 ? 0 : err_errno(e, "remove '%s'", path);
}

/* One that is not empty stays: something else is in it. */
static int remove_folder(const struct removal *r, const char *path, struct err *e)
{
	if (r->check_only || rmdir(path) == 0 || errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR)
		return 0;
	return err_errno(e, "remove the folder '%s'", path);
}

static int empty_folder(struct removal *r, const char *folder, const char *keep, int depth, struct err *e);

static int remove_item(struct removal *r, const char *path, int depth, struct err *e)
{
	struct stat st;
	int code;

	if (lstat(path, &st) < 0)
		return err_errno(e, "'%s'", path);
	if (!S_ISDIR(st.st_mode))
		return remove_file(r, path, e);
	if (depth == 0)
		return err_set(e, -ELOOP, "'%s': folders too deep for what is ours", path);
	code = empty_folder(r, path, NULL, depth - 1, e);
	return code ? code : remove_folder(r, path, e);
}

/* keep: a name that stays for now. */
static int empty_folder(struct removal *r, const char *folder, const char *keep, int depth, struct err *e)
{
	AUTO(folder) DIR *d = opendir(folder);
	const struct dirent *item;
	int code = 0;

	if (!d)
		return errno == ENOENT || errno == ENOTDIR ? 0 : err_errno(e, "'%s'", folder);
	while (errno = 0, !code && (item = readdir(d)) != NULL) {
		char path[PATH_MAX];

		if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
			continue;
		if (keep && strcmp(item->d_name, keep) == 0)
			continue;
		code = espboot_path(folder, item->d_name, path, e);
		if (!code)
			code = remove_item(r, path, depth, e);
	}
	if (!code && errno)
		code = err_errno(e, "'%s'", folder);
	return code;
}

static int remove_menu(struct removal *r, struct err *e)
{
	AUTO_FREE char *text = NULL;
	char path[PATH_MAX];
	int code = espboot_path(r->esp, BOOTMENU_FILE, path, e);

	if (!code && textfile_read(path, &text, NULL) == 0 && bootmenu_is_ours(text))
		code = remove_file(r, path, e);
	if (!code)
		code = espboot_path(r->esp, ESPBOOT_MENU_FOLDER "/" ESPBOOT_TEMP, path, e);
	return code ? code : remove_file(r, path, e);
}

static int remove_made(const struct removal *r, const char *made, const char *name, struct err *e)
{
	char path[PATH_MAX];
	int code = espboot_path(r->esp, name, path, e);

	return code || !espboot_has_line(made, name) ? code : remove_folder(r, path, e);
}

/* The list of what was made goes when all but EFI itself is gone: a second run after a cut finds it. */
static int remove_files(struct removal *r, struct err *e)
{
	AUTO_FREE char *made = NULL;
	char folder[PATH_MAX], path[PATH_MAX];
	int code = espboot_path(r->esp, BOOTMENU_FOLDER, folder, e);

	if (!code)
		code = espboot_path(r->esp, ESPBOOT_MADE, path, e);
	if (code)
		return code;
	(void)textfile_read(path, &made, NULL); /* without it, nothing was made */
	code = remove_menu(r, e);
	if (!code)
		code = remove_made(r, made, ESPBOOT_MENU_FOLDER, e);
	if (!code)
		code = remove_made(r, made, "boot", e);
	if (!code)
		code = empty_folder(r, folder, strrchr(ESPBOOT_MADE, '/') + 1, DEPTH_MAX, e);
	if (!code)
		code = remove_file(r, path, e);
	if (!code)
		code = remove_folder(r, folder, e);
	return code ? code : remove_made(r, made, "EFI", e);
}

static int remove_entry(const char *esp, const char *esp_device, struct err *e)
{
	struct espboot_facts facts;
	struct err why = ERR_INIT;
	bool removed;
	int code;

	if (!efiboot_is_there())
		return 0;
	code = espboot_device_facts(esp, esp_device, &facts, &why);
	if (code && err_is_refusal(&why)) /* no entry can name it */
		return 0;
	if (code)
		return err_set(e, code, "%s", why.text);
	return efiboot_remove(facts.partuuid, ESPBOOT_LOADER, &removed, e);
}

int espboot_remove(const char *esp, const char *esp_device, bool check_only, size_t *ret_count, struct err *e)
{
	struct removal r = { .esp = esp, .check_only = check_only };
	int code = check_only ? 0 : remove_entry(esp, esp_device, e);

	if (!code)
		code = remove_files(&r, e);
	if (!code && !check_only)
		code = espboot_sync_all(esp, e);
	if (!code)
		*ret_count = r.count;
	return code;
}
