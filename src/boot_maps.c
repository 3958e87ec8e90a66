/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The maps: from the initramfs, or derived from the MFT for a Wubi disk that never had one. */
#include "boot_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "dmnames.h"
#include "image.h"
#include "mapfile.h"
#include "mapfolder.h"

#define NODE DMNAMES_FOLDER DMNAMES_PREFIX
#define BY_UUID "/dev/disk/by-uuid/"

struct boot_map *boot_add(const struct boot_params *par, struct boot_result *r, const char *name, bool needed)
{
	struct boot_map *m = &r->maps[r->count];

	if (r->count + !needed >= BOOT_MAPS_MAX) {
		boot_say(par, BOOT_WARN, "%s: more than %d maps, it is left out", name, BOOT_MAPS_MAX);
		return NULL;
	}
	r->count++;
	memset(m, 0, sizeof(*m));
	(void)snprintf(m->name, sizeof(m->name), "%s", name);
	m->needed = needed;
	return m;
}

static struct boot_map *find_map(struct boot_result *r, const char *name)
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

/* Is the file called as its map is named? */
static bool is_named(const char *path, const struct map *m)
{
	char name[32];

	name_of_file(path, name);
	return !strcmp(name, m->name);
}

/*
 * Two maps of one name, as when a copy was left in the folder. Of one image the later generation counts, of two the one whose
 * file has the name; a damaged one never.
 */
static void take_second(const struct boot_params *par, const char *path, struct map **m, struct boot_map *first)
{
	bool same_image = *m && first->map && !strcmp((*m)->map_id, first->map->map_id);
	bool better = *m && (!first->map || (same_image ? (*m)->generation > first->map->generation : is_named(path, *m)));

	boot_say(par, BOOT_WARN, "%s: there are two maps of that name, '%s' is %s: remove the other from the folder of the maps",
		 first->name, path, better ? "used" : "left out");
	if (!better)
		return;
	map_free(first->map);
	first->map = TAKE(*m);
	first->verdict = (struct verdict_result){ .verdict = VERDICT_UNKNOWN };
}

/* m is taken over, whatever comes of it; NULL: why tells the reason. */
static void take_map(const struct boot_params *par, const char *path, struct map **m, const struct err *why,
		     struct boot_result *r)
{
	AUTO(map) struct map *mine = TAKE(*m);
	struct boot_map *entry;
	char name[32];

	if (mine)
		(void)snprintf(name, sizeof(name), "%s", mine->name);
	else
		name_of_file(path, name);
	entry = find_map(r, name);
	if (entry) {
		take_second(par, path, &mine, entry);
		return;
	}
	entry = boot_add(par, r, name, false);
	if (!entry)
		return;
	entry->map = TAKE(mine);
	if (!entry->map)
		boot_set_verdict(entry, VERDICT_INVALID, why->text,
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

/* root= is our device, or, what update-grub writes on its own, the UUID of the file system in it. m may be NULL. */
static bool is_root(const char *name, const struct map *m, const char *root)
{
	const char *wanted = dmnames_of_node(root);

	if (wanted)
		return !strcmp(wanted, name);
	if (!strncmp(root, "UUID=", 5) || !strncmp(root, BY_UUID, strlen(BY_UUID)))
		return m && m->fs_uuid[0] && !strcasecmp(root + (*root == '/' ? strlen(BY_UUID) : 5), m->fs_uuid);
	return !root[0] && !strcmp(name, "root");
}

static bool is_loop(const struct map *m, const char *loop)
{
	return loop[0] && m && !strcasecmp(m->image, loop);
}

static bool is_wanted(const struct mapfolder_item *item, const struct bootargs *a)
{
	char name[32];

	name_of_file(item->path, name);
	return is_root(item->map ? item->map->name : name, item->map, a->root) || is_loop(item->map, a->loop);
}

/* What root needs comes first: however many others there are, they leave it a place. */
static int load_folder(const struct boot_params *par, struct boot_result *r, struct err *e)
{
	__attribute__((cleanup(auto_mapfolder))) struct mapfolder f = { .count = 0 };
	int code = mapfolder_read(par->maps_dir, &f, e);
	size_t first = 0;

	for (size_t i = 0; !code && i < f.count; i++)
		if (is_wanted(&f.items[i], par->args)) {
			const struct mapfolder_item wanted = f.items[i];

			memmove(&f.items[first + 1], &f.items[first], (i - first) * sizeof(wanted));
			f.items[first++] = wanted;
		}
	for (size_t i = 0; !code && i < f.count; i++)
		take_map(par, f.items[i].path, &f.items[i].map, &f.items[i].problem, r);
	return code;
}

/* A root of ours that no map leads to: nobody else can attach it, and waiting for it would tell nothing. */
static void add_missing_root(const struct boot_params *par, struct boot_result *r)
{
	const char *root = par->args->root, *name = dmnames_of_node(root);
	char what[VERDICT_REASON_TEXT];
	struct boot_map *m;

	if (!name || !name[0] || find_map(r, name))
		return;
	m = boot_add(par, r, name, true);
	if (!m)
		return;
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

		m->needed = is_root(m->name, m->map, a->root) || is_loop(m->map, a->loop);
		if (is_loop(m->map, a->loop) && (!r->root_device[0] || !strcmp(m->name, "root")))
			(void)snprintf(r->root_device, sizeof(r->root_device), NODE "%s", m->name);
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

/* The name that the image of loop= gets; root= may have been told before a disk was there, so by the maps alone. */
static void name_of_loop(struct boot_result *r, const char *loop, char ret[32])
{
	image_name_from_path(loop, ret);
	if (!ret[0] || find_map(r, ret))
		(void)snprintf(ret, 32, "loop");
}

int boot_root_of_loop(const struct boot_params *par, char ret_device[BOOT_DEVICE_MAX], struct err *e)
{
	__attribute__((cleanup(auto_boot_result))) struct boot_result r = { .count = 0 };
	char name[32];
	int code = par->args->off || !par->args->loop[0] ? 0 : boot_load_maps(par, &r, e);

	ret_device[0] = '\0';
	if (code || par->args->off || !par->args->loop[0])
		return code;
	name_of_loop(&r, par->args->loop, name);
	if (r.root_device[0])
		(void)snprintf(ret_device, BOOT_DEVICE_MAX, "%s", r.root_device);
	else
		(void)snprintf(ret_device, BOOT_DEVICE_MAX, NODE "%s", name);
	return 0;
}

/* The id of a map that is made anew at each boot: the same each time, so that a second run knows the device again. */
static void set_derived_id(struct map *m)
{
	(void)snprintf(m->map_id, sizeof(m->map_id), "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04x-%012" PRIx64,
		       m->host.serial >> 32, (m->host.serial >> 16) & 0xffff, m->host.serial & 0xffff, m->mft_sequence,
		       m->mft_record & UINT64_C(0xffffffffffff));
}

static int add_derived(const struct boot_params *par, struct boot_result *r, struct map *m, struct err *e)
{
	struct boot_map *entry;

	name_of_loop(r, par->args->loop, m->name);
	entry = boot_add(par, r, m->name, true);
	if (!entry) {
		map_free(m);
		return err_set(e, -E2BIG, "more than %d maps", BOOT_MAPS_MAX);
	}
	set_derived_id(m);
	entry->map = m;
	entry->derived = true;
	(void)snprintf(r->root_device, sizeof(r->root_device), NODE "%s", entry->name);
	return 0;
}

/* Which of two problems is told: that there is no such file only when it is so on each volume, and could be looked at. */
static unsigned weight(const struct err *e)
{
	if (!e->code)
		return 0;
	if (err_is_refusal(e))
		return 2;
	return e->code == -ENOENT ? 1 : 3;
}

/* The first volume that has such a file; that there is no second one is the decision's to see. */
int boot_derive_map(const struct boot_params *par, struct boot_result *r, struct err *e)
{
	err_clear(&r->loop_problem);
	for (size_t i = 0; i < r->seen.count; i++) {
		struct hostscan_device *d = &r->seen.items[i];
		struct map *m = NULL;
		struct err why = ERR_INIT;
		size_t used = strlen(d->text);
		int code;

		if (!is_loop_host(d, par->args))
			continue;
		code = image_derive(d->path, par->args->loop, &m, NULL, &why);
		if (code == -ENOMEM)
			return err_set(e, code, "%s", why.text);
		if (!code)
			return add_derived(par, r, m, e);
		if (weight(&why) > weight(&r->loop_problem))
			r->loop_problem = why;
		(void)snprintf(d->text + used, sizeof(d->text) - used, "; loop=: %s", why.text);
	}
	return 0;
}
