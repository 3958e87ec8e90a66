/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The maps: from the initramfs, or derived from the MFT for a Wubi disk that never had one. */
#include "boot_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "image.h"
#include "mapfile.h"
#include "mapfolder.h"

#define MAPPER "/dev/mapper/wubi-"

struct boot_map *boot_add(const struct boot_params *par, struct boot_result *r, const char *name)
{
	struct boot_map *m = &r->maps[r->count];

	if (r->count == BOOT_MAPS_MAX) {
		boot_say(par, BOOT_WARN, "%s: more than %d maps, it is left out", name, BOOT_MAPS_MAX);
		return NULL;
	}
	r->count++;
	memset(m, 0, sizeof(*m));
	(void)snprintf(m->name, sizeof(m->name), "%s", name);
	return m;
}

static const struct boot_map *find_map(const struct boot_result *r, const char *name)
{
	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->maps[i].name, name))
			return &r->maps[i];
	return NULL;
}

/* "/etc/wubi/maps/root.map" to "root": the name of a map that cannot be read. */
static void name_of_file(const char *path, char ret[32])
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;

	(void)snprintf(ret, 32, "%.*s", (int)strcspn(base, "."), base);
}

/* m is taken over, whatever comes of it; NULL: why tells the reason. */
static void take_map(const struct boot_params *par, const char *path, struct map **m, const struct err *why,
		     struct boot_result *r)
{
	AUTO(map) struct map *mine = TAKE(*m);
	char name[32], what[VERDICT_REASON_TEXT];
	struct boot_map *entry;

	if (mine)
		(void)snprintf(name, sizeof(name), "%s", mine->name);
	else
		name_of_file(path, name);
	(void)snprintf(what, sizeof(what), "%.255s", why->text);
	entry = boot_add(par, r, name);
	if (!entry)
		return;
	if (mine && find_map(r, name) != entry)
		(void)snprintf(what, sizeof(what), "map '%.120s': another map has the name '%s' already", path, name);
	else
		entry->map = TAKE(mine);
	if (!entry->map)
		boot_set_verdict(entry, VERDICT_INVALID, what,
				 "boot a live system, make the map anew with wubi-disk map, and rebuild the initramfs with it");
}

static int load_file(const struct boot_params *par, const char *path, struct boot_result *r, struct err *e)
{
	struct map *m = NULL;
	struct err why = ERR_INIT;

	if (mapfile_read(path, &m, &why) == -ENOMEM)
		return err_set(e, -ENOMEM, "%s", why.text);
	take_map(par, path, &m, &why, r);
	return 0;
}

static int load_folder(const struct boot_params *par, struct boot_result *r, struct err *e)
{
	__attribute__((cleanup(auto_mapfolder))) struct mapfolder f = { .count = 0 };
	int code = mapfolder_read(par->maps_dir, &f, e);

	for (size_t i = 0; !code && i < f.count; i++)
		take_map(par, f.items[i].path, &f.items[i].map, &f.items[i].problem, r);
	return code;
}

/* root= is our device, or, what update-grub writes on its own, the UUID of the file system in it. */
static bool is_root(const struct boot_map *m, const char *root)
{
	if (!strncmp(root, MAPPER, strlen(MAPPER)))
		return !strcmp(root + strlen(MAPPER), m->name);
	if (!strncmp(root, "UUID=", 5))
		return m->map && m->map->fs_uuid[0] && !strcasecmp(root + 5, m->map->fs_uuid);
	return !root[0] && !strcmp(m->name, "root");
}

static bool is_loop(const struct boot_map *m, const char *loop)
{
	return loop[0] && m->map && !strcasecmp(m->map->image, loop);
}

/* A root of ours that no map leads to: nobody else can attach it, and waiting for it would tell nothing. */
static void add_missing_root(const struct boot_params *par, struct boot_result *r)
{
	const char *root = par->args->root;
	char what[VERDICT_REASON_TEXT];
	struct boot_map *m;

	if (strncmp(root, MAPPER, strlen(MAPPER)) != 0 || !root[strlen(MAPPER)] || find_map(r, root + strlen(MAPPER)))
		return;
	m = boot_add(par, r, root + strlen(MAPPER));
	if (!m)
		return;
	m->needed = true;
	(void)snprintf(what, sizeof(what), "root is %.60s, and no map of that name is in %.120s", root,
		       par->args->map[0] ? par->args->map : par->maps_dir);
	boot_set_verdict(m, VERDICT_INVALID, what,
			 "boot a live system, put the map into /etc/wubi/maps of the installed one, and rebuild its initramfs");
}

int boot_load_maps(const struct boot_params *par, struct boot_result *r, struct err *e)
{
	const struct bootargs *a = par->args;
	int code = a->map[0] ? load_file(par, a->map, r, e) : load_folder(par, r, e);

	if (code)
		return code;
	for (size_t i = 0; i < r->count; i++) {
		struct boot_map *m = &r->maps[i];

		m->needed = is_root(m, a->root) || is_loop(m, a->loop);
		if (is_loop(m, a->loop))
			(void)snprintf(r->root_device, sizeof(r->root_device), MAPPER "%s", m->name);
	}
	if (!a->loop[0])
		add_missing_root(par, r);
	return 0;
}

bool boot_wants_loop(const struct boot_params *par, const struct boot_result *r)
{
	return par->args->loop[0] && !r->root_device[0];
}

/* The volume that root= names, as Wubi wrote it: by serial number; or by hand: by PARTUUID or as a device. */
static bool is_loop_host(const struct hostscan_device *d, const struct bootargs *a)
{
	unsigned long long serial;
	struct stat st;

	if (d->boot.kind != BOOTSECT_NTFS)
		return false;
	if (bootargs_root_serial(a, &serial))
		return d->boot.serial == serial;
	if (!strncmp(a->root, "PARTUUID=", 9))
		return d->partuuid[0] && !strcasecmp(d->partuuid, a->root + 9);
	return a->root[0] == '/' && !stat(a->root, &st) && S_ISBLK(st.st_mode) && st.st_rdev == d->device;
}

static const struct hostscan_device *find_loop_host(const struct boot_params *par, const struct boot_result *r)
{
	for (size_t i = 0; i < r->seen.count; i++)
		if (is_loop_host(&r->seen.items[i], par->args))
			return &r->seen.items[i];
	return NULL;
}

static void name_of_loop(const char *loop, char ret[32])
{
	image_name_from_path(loop, ret);
	if (!ret[0])
		(void)snprintf(ret, 32, "image");
}

int boot_root_of_loop(const struct boot_params *par, char ret_device[BOOT_DEVICE_MAX], struct err *e)
{
	__attribute__((cleanup(auto_boot_result))) struct boot_result r = { .count = 0 };
	char name[32];
	int code = par->args->off || !par->args->loop[0] ? 0 : boot_load_maps(par, &r, e);

	ret_device[0] = '\0';
	if (code || par->args->off || !par->args->loop[0])
		return code;
	name_of_loop(par->args->loop, name);
	if (r.root_device[0])
		(void)snprintf(ret_device, BOOT_DEVICE_MAX, "%s", r.root_device);
	else
		(void)snprintf(ret_device, BOOT_DEVICE_MAX, MAPPER "%s", name);
	return 0;
}

int boot_derive_map(const struct boot_params *par, struct boot_result *r, struct err *e)
{
	const struct hostscan_device *host = find_loop_host(par, r);
	AUTO(map) struct map *m = NULL;
	struct err why = ERR_INIT;
	struct boot_map *entry;
	char name[32];
	int code;

	if (!host)
		return 0;
	code = image_derive(host->path, par->args->loop, &m, NULL, &why);
	if (code == -ENOMEM)
		return err_set(e, code, "%s", why.text);
	name_of_loop(par->args->loop, name);
	if (m) /* whatever a map beside the image calls it: root= was told this name before */
		(void)snprintf(m->name, sizeof(m->name), "%s", name);
	entry = boot_add(par, r, name);
	if (!entry)
		return err_set(e, -E2BIG, "too many maps");
	entry->needed = true;
	(void)snprintf(entry->volume, sizeof(entry->volume), "%s", host->path);
	(void)snprintf(r->root_device, sizeof(r->root_device), MAPPER "%s", entry->name);
	entry->map = TAKE(m);
	if (!entry->map) {
		entry->found = true;
		boot_set_verdict(entry, err_is_refusal(&why) ? VERDICT_FOREIGN : VERDICT_MISSING, why.text,
				 "compare loop= and root= of the kernel's command line with what is on the volume (wubi-disk info)");
	}
	return 0;
}
