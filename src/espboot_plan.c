/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is to be on the EFI system partition, and what of that is there. */
#include "espboot_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "efiboot.h"
#include "num.h"
#include "textfile.h"

#define SLACK_CLUSTERS 8 /* folders grow */

/* That may have to be made, and are removed in the end if they were; EFI/wubi is ours anyway. */
static const char *const folders[] = { "EFI", "boot", ESPBOOT_MENU_FOLDER };
#define FOLDERS (sizeof(folders) / sizeof(folders[0]))

bool espboot_plan_fits(const struct espboot_plan *p, uint64_t cluster_bytes, uint64_t reserve_bytes, uint64_t *ret_needed_bytes)
{
	uint64_t used = SLACK_CLUSTERS * cluster_bytes, peak = used;
	bool any = false;

	for (size_t i = 0; i < p->file_count; i++) {
		const struct espboot_file *f = &p->files[i];

		if (f->is_right)
			continue;
		any = true;
		used += (f->bytes + cluster_bytes - 1) / cluster_bytes * cluster_bytes;
		peak = used > peak ? used : peak;
		used -= used < f->old_bytes ? used : f->old_bytes / cluster_bytes * cluster_bytes;
	}
	*ret_needed_bytes = any ? peak : 0;
	return !any || (peak <= p->free_bytes && used + reserve_bytes <= p->free_bytes);
}

int espboot_plan_full(const struct espboot_params *par, const struct espboot_plan *p, struct err *e)
{
	char needed[NUM_BYTES_TEXT], free_text[NUM_BYTES_TEXT];

	return err_refuse(e, "esp-full", "the EFI system partition '%s' has no room for the boot loader: %s are needed and "
			  "%s are free; remove from it what nothing needs", par->esp,
			  num_format_bytes(p->needed_bytes, needed), num_format_bytes(p->free_bytes, free_text));
}

static int take_sizes(const char *path, const char *source, struct espboot_file *f, struct err *e)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		f->old_bytes = (uint64_t)st.st_size;
	f->bytes = f->text ? strlen(f->text) : f->old_bytes;
	if (!source)
		return 0;
	if (stat(source, &st) < 0)
		return err_errno(e, "'%s'", source);
	f->bytes = (uint64_t)st.st_size;
	return 0;
}

int espboot_plan_add(const char *esp, struct espboot_plan *p, const char *name, const char *source, char *text, struct err *e)
{
	struct espboot_file *f = &p->files[p->file_count];
	char path[PATH_MAX];
	int code;

	if (p->file_count == ESPBOOT_FILES_MAX) {
		free(text);
		return err_set(e, -E2BIG, "more than %d files for the EFI system partition", ESPBOOT_FILES_MAX);
	}
	*f = (struct espboot_file){ .text = text };
	p->file_count++; /* from here on the plan owns text */
	(void)snprintf(f->name, sizeof(f->name), "%s", name);
	if (source)
		(void)snprintf(f->source, sizeof(f->source), "%s", source);
	code = espboot_path(esp, name, path, e);
	if (!code)
		code = take_sizes(path, source, f, e);
	if (code)
		return code;
	f->is_right = !source && !text;
	return f->is_right ? 0 : espboot_compare(path, source, text, &f->is_right, e);
}

void espboot_plan_cut(struct espboot_plan *p, size_t count)
{
	while (p->file_count > count) {
		p->file_count--;
		free(TAKE(p->files[p->file_count].text));
	}
}

/* ---- may it be done ---- */

/* gcdx64 looks at both, for this one first. */
static int check_menu(const char *esp, struct err *e)
{
	static const char *const names[] = { ESPBOOT_MENU_FOLDER "/x86_64-efi/grub.cfg", BOOTMENU_FILE };

	for (size_t i = 0; i < 2; i++) {
		AUTO_FREE char *text = NULL;
		char path[PATH_MAX];
		int code = espboot_path(esp, names[i], path, e);

		if (code)
			return code;
		code = textfile_read(path, &text, NULL);
		if (code == -ENOENT || code == -ENOTDIR || (!code && i == 1 && bootmenu_is_ours(text)))
			continue;
		return err_refuse(e, "foreign-menu", "'%s' is another boot loader's menu, and ours has to be in that place: "
				  "written over, what it starts would not start any more; move it away if nothing needs "
				  "it", path);
	}
	return 0;
}

static const struct map *find_root(const struct espboot_params *par)
{
	for (size_t i = 0; i < par->map_count; i++)
		if (strcmp(par->maps[i]->name, "root") == 0)
			return par->maps[i];
	return NULL;
}

static int check(const struct espboot_params *par, struct err *e)
{
	const struct map *root = find_root(par);

	if (!espboot_device_is_vfat(par->esp))
		return err_refuse(e, "no-esp", "'%s' is not where an EFI system partition is mounted (there is no FAT file "
				  "system): firmware would not find what is written there; mount the partition there", par->esp);
	if (par->partition_uuid)
		return check_menu(par->esp, e);
	if (!root)
		return err_set(e, -EINVAL, "no map is named 'root', so there is nothing to start");
	if (!root->host.partuuid[0])
		return err_refuse(e, "no-partuuid", "the Windows partition of the image '%s' is in no partition table with "
				  "identifiers, so GRUB could not find it; use a disk with a GPT or MBR", root->image);
	return check_menu(par->esp, e);
}

/* ---- the files ---- */

bool espboot_has_line(const char *text, const char *line)
{
	size_t n = strlen(line);

	for (; text && *text; text = strchr(text, '\n'), text = text ? text + 1 : NULL)
		if (strncmp(text, line, n) == 0 && text[n] == '\n')
			return true;
	return false;
}

/* EFI/wubi/made: what was there before us is not in it. */
static int add_made(const char *esp, struct espboot_plan *p, struct err *e)
{
	AUTO_FREE char *old = NULL;
	char path[PATH_MAX], list[64] = "";
	char *text;
	int code = espboot_path(esp, ESPBOOT_MADE, path, e);

	if (code)
		return code;
	(void)textfile_read(path, &old, NULL); /* without it, nothing was made */
	for (size_t i = 0; !code && i < FOLDERS; i++) {
		size_t n = strlen(list);

		code = espboot_path(esp, folders[i], path, e);
		if (!code && (access(path, F_OK) < 0 || espboot_has_line(old, folders[i])))
			(void)snprintf(list + n, sizeof(list) - n, "%s\n", folders[i]); /* three short ones fit */
	}
	if (code || !list[0])
		return code;
	text = strdup(list);
	return text ? espboot_plan_add(esp, p, ESPBOOT_MADE, NULL, text, e) : err_set(e, -ENOMEM, "out of memory");
}

static int add_loaders(const struct espboot_params *par, struct espboot_plan *p, struct err *e)
{
	int code = 0;

	for (size_t i = 0; !code && i < ESPBOOT_LOADERS; i++) {
		char source[PATH_MAX], name[64];
		const char *file;

		code = espboot_source_loader(par->root, i, &file, source, e);
		if (code)
			break;
		(void)snprintf(name, sizeof(name), BOOTMENU_FOLDER "/%s", file);
		code = espboot_plan_add(par->esp, p, name, source, NULL, e);
	}
	return code;
}

static int add_maps(const struct espboot_params *par, struct espboot_plan *p, struct err *e)
{
	int code = 0;

	for (size_t i = 0; !code && i < par->map_count; i++) {
		char name[64];
		char *text = NULL;
		size_t n;

		(void)snprintf(name, sizeof(name), BOOTMENU_FOLDER "/%s.map", par->maps[i]->name);
		code = map_format(par->maps[i], &text, &n, e);
		if (!code)
			code = espboot_plan_add(par->esp, p, name, NULL, text, e);
	}
	return code;
}

void espboot_entry(const struct espboot_params *par, const struct espboot_facts *facts, struct efiboot_params *ret)
{
	*ret = (struct efiboot_params){
		.label = ESPBOOT_LABEL,
		.partuuid = facts->partuuid,
		.partition = facts->partition,
		.start_bytes = facts->start_bytes,
		.size_bytes = facts->size_bytes,
		.sector_bytes = facts->sector_bytes,
		.file = ESPBOOT_LOADER,
		.place = par->order == ESPBOOT_FIRST ? EFIBOOT_FIRST : par->order == ESPBOOT_LAST ? EFIBOOT_LAST : EFIBOOT_KEEP,
	};
}

static int check_entry(const struct espboot_params *par, bool *ret, struct err *e)
{
	struct efiboot_params entry;
	struct espboot_facts facts;
	int code;

	*ret = true;
	if (!par->firmware)
		return 0;
	code = espboot_device_facts(par->esp, par->esp_device, &facts, e);
	if (code || !par->is_complete)
		return code;
	espboot_entry(par, &facts, &entry);
	return efiboot_check(&entry, ret, e);
}

static int plan(const struct espboot_params *par, struct espboot_plan *p, struct err *e)
{
	int code = check(par, e);

	if (!code)
		code = add_made(par->esp, p, e);
	if (!code)
		code = add_loaders(par, p, e);
	if (!code)
		code = add_maps(par, p, e);
	if (!code && par->partition_uuid)
		code = espboot_partition_add(par, p, e);
	else if (!code)
		code = espboot_copies_add(par, find_root(par), p, e);
	if (!code)
		code = espboot_surplus_remove(par, p, true, &p->has_surplus, e);
	return code ? code : check_entry(par, &p->entry_is_right, e);
}

int espboot_plan(const struct espboot_params *par, struct espboot_plan *ret, struct err *e)
{
	int code;

	*ret = (struct espboot_plan){ .file_count = 0 };
	code = plan(par, ret, e);
	if (code)
		espboot_plan_clear(ret);
	return code;
}

void espboot_plan_clear(struct espboot_plan *p)
{
	espboot_plan_cut(p, 0);
	free(TAKE(p->menu));
}

bool espboot_plan_has_files(const struct espboot_plan *p)
{
	for (size_t i = 0; i < p->file_count; i++)
		if (!p->files[i].is_right)
			return true;
	return p->has_surplus;
}

bool espboot_has_work(const struct espboot_plan *p)
{
	return espboot_plan_has_files(p) || !p->entry_is_right;
}
