/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "maprefresh_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "attach.h"
#include "bootsect.h"
#include "dmlinear.h"
#include "image.h"
#include "mapfile.h"
#include "mapfolder.h"
#include "sysfs.h"

void maprefresh_plan_clear(struct maprefresh_plan *p)
{
	for (size_t i = 0; i < p->count; i++)
		map_free(p->items[i].map);
	free(p->items);
	*p = (struct maprefresh_plan){ .items = NULL };
}

bool maprefresh_needs_initramfs(const struct maprefresh_plan *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->items[i].action == MAPREFRESH_WRITE)
			return true;
	return p->unfinished;
}

bool maprefresh_has_work(const struct maprefresh_plan *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->items[i].esp_stale)
			return true;
	return maprefresh_needs_initramfs(p);
}

int maprefresh_refusal(const struct maprefresh_plan *p, struct err *e)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->items[i].action == MAPREFRESH_REFUSE)
			return err_refuse(e, p->items[i].reason, "map '%s': %s", p->items[i].path, p->items[i].text);
	return 0;
}

int maprefresh_failure(const struct maprefresh_plan *p, struct err *e)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->items[i].action == MAPREFRESH_FAIL)
			return err_set(e, -EIO, "map '%s': %s", p->items[i].path, p->items[i].text);
	return 0;
}

/* ---- plan ---- */

static int read_host(const struct attach_volume *v, struct map_host *ret, struct err *e)
{
	unsigned char head[BOOTSECT_BYTES];
	struct bootsect boot;
	int code = blkio_read(v->io, 0, head, sizeof(head), e);

	if (!code)
		code = bootsect_parse(head, sizeof(head), v->io->size_bytes, &boot, e);
	if (code)
		return code;
	*ret = (struct map_host){ .serial = boot.serial, .partition_bytes = v->io->size_bytes };
	(void)snprintf(ret->partuuid, sizeof(ret->partuuid), "%s", v->info.partuuid);
	return 0;
}

/* A driver that has the volume keeps metadata in memory: what is on the disk is not the truth then. */
static int refuse_drivers(const char *path, struct err *e)
{
	struct report users = { .count = 0 };
	int code = blockdev_check_drivers(path, &users, e);

	if (code || !users.count)
		return code;
	return err_set(e, -EBUSY, "cannot tell whether the maps are right: %s", users.items[0].text);
}

/*
 * The file was put back as another one, and taken over: the map beside it, if that is true, becomes ours. Generations count on
 * from the later of both, for the copy on the volume was not written while Linux ran.
 */
static int follow(const struct blkio *io, const struct dmlinear_active *a, const struct map_host *host,
		  struct maprefresh_item *item, bool *ret_followed, struct err *e)
{
	__attribute__((cleanup(auto_verify_result))) struct verify_result r = { 0 };
	AUTO(map) struct map *next = NULL;
	uint64_t last = item->map->generation;
	int code = image_successor(io, item->map, &next, e);

	if (!code && next)
		code = verify_volume(io, host->partuuid, next, &r, e);
	if (code || !next || !verify_fits(&r))
		return code;
	map_free(item->map);
	item->map = TAKE(next);
	code = maprefresh_decide(&r, &a->extents, host, item, e);
	*ret_followed = true;
	if (code || item->action != MAPREFRESH_KEEP)
		return code;
	item->action = MAPREFRESH_WRITE;
	item->map->generation = (item->map->generation > last ? item->map->generation : last) + 1;
	(void)snprintf(item->text, sizeof(item->text), "the image is another file now, which the map beside it leads to");
	return 0;
}

static int judge(const struct dmlinear_active *a, struct maprefresh_item *item, struct err *e)
{
	__attribute__((cleanup(auto_verify_result))) struct verify_result r = { 0 };
	__attribute__((cleanup(auto_attach_volume))) struct attach_volume v = { .io = NULL };
	struct map_host host;
	const char *path = item->volume;
	bool followed = false;
	int code;

	if (!sysfs_node(a->device, item->volume, sizeof(item->volume)))
		return err_set(e, -ENODEV, "the partition %u:%u, which '%s' lies on, is not in /sys", major(a->device),
			       minor(a->device), a->name);
	code = attach_volume_open(path, &v, e);
	if (!code)
		code = refuse_drivers(path, e);
	if (!code)
		code = read_host(&v, &host, e);
	if (!code)
		code = verify_volume(v.io, v.info.partuuid, item->map, &r, e);
	item->verdict = r.verdict.verdict; /* unknown on failure */
	if (!code && r.verdict.verdict == VERDICT_REPLACED)
		code = follow(v.io, a, &host, item, &followed, e);
	return code || followed ? code : maprefresh_decide(&r, &a->extents, &host, item, e);
}

static int same_text(const struct map *a, const struct map *b, bool *ret, struct err *e)
{
	AUTO_FREE char *x = NULL;
	AUTO_FREE char *y = NULL;
	size_t nx = 0, ny = 0;
	int code = map_format(a, &x, &nx, e);

	if (!code)
		code = map_format(b, &y, &ny, e);
	if (!code)
		*ret = nx == ny && !memcmp(x, y, nx);
	return code;
}

/*
 * A damaged copy, or none, or one that cannot be read is stale: what it is for is there when everything else is right. One with
 * another id belongs to another installation on this machine: not ours to write.
 */
static bool is_stale(const struct maprefresh_plan *p, const struct maprefresh_item *item)
{
	AUTO(map) struct map *copy = NULL;
	char path[PATH_MAX];
	bool same = false;

	if (maprefresh_esp_file(p, item, path, NULL) || mapfile_read(path, &copy, NULL))
		return true;
	if (strcmp(copy->map_id, item->map->map_id) != 0)
		return false;
	return same_text(copy, item->map, &same, NULL) || !same;
}

static const struct dmlinear_active *find_active(const struct dmlinear_active_list *l, const struct map *m)
{
	char name[ATTACH_NAME_MAX], uuid[ATTACH_UUID_MAX];

	attach_names(m, name, uuid);
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->items[i].uuid, uuid))
			return &l->items[i];
	return NULL;
}

static void refuse_problem(const struct err *problem, struct maprefresh_item *item)
{
	item->action = MAPREFRESH_REFUSE;
	(void)snprintf(item->reason, sizeof(item->reason), "%s", problem->reason[0] ? problem->reason : "unreadable");
	(void)snprintf(item->text, sizeof(item->text), "%.390s", problem->text);
}

static void plan_item(const struct maprefresh_plan *p, const struct dmlinear_active_list *active, struct mapfolder_item *from,
		      struct maprefresh_item *item)
{
	const struct dmlinear_active *a;
	struct err why = ERR_INIT;
	int code;

	(void)snprintf(item->path, sizeof(item->path), "%s", from->path);
	if (!from->map) {
		refuse_problem(&from->problem, item);
		return;
	}
	item->map = TAKE(from->map);
	(void)snprintf(item->name, sizeof(item->name), "%s", item->map->name);
	item->generation = item->map->generation;
	a = find_active(active, item->map);
	item->active = a != NULL;
	if (!a) {
		(void)snprintf(item->text, sizeof(item->text), "its image is not attached");
		return;
	}
	code = judge(a, item, &why);
	if (!code && item->action == MAPREFRESH_WRITE)
		code = map_check(item->map, &why);
	if (code) {
		item->action = MAPREFRESH_FAIL;
		(void)snprintf(item->text, sizeof(item->text), "%.390s", why.text);
	}
	item->esp_stale = (item->action == MAPREFRESH_KEEP || item->action == MAPREFRESH_WRITE) && p->esp[0] && is_stale(p, item);
}

static void find_esp(const char *given, char ret[PATH_MAX])
{
	static const char *const usual[] = { "/boot/efi", "/efi", "/boot" };
	struct stat st;

	for (size_t i = 0; i < (given ? 1 : 3); i++) {
		(void)snprintf(ret, PATH_MAX, "%s/EFI/wubi", given ? given : usual[i]); /* cut short it is not there */
		if (stat(ret, &st) == 0 && S_ISDIR(st.st_mode))
			return;
	}
	ret[0] = '\0';
}

static int plan_items(const struct mapfolder *f, struct maprefresh_plan *p, struct err *e)
{
	__attribute__((cleanup(auto_dmlinear_active))) struct dmlinear_active_list active = { NULL, 0 };
	int code = dmlinear_active(&active, e);

	p->items = calloc(f->count ? f->count : 1, sizeof(*p->items));
	if (!code && !p->items)
		code = err_set(e, -ENOMEM, "out of memory for %zu maps", f->count);
	for (size_t i = 0; !code && i < f->count; i++)
		plan_item(p, &active, &f->items[i], &p->items[p->count++]);
	return code;
}

static void set_given_up(const struct maprefresh_params *par, const char *mark, struct maprefresh_plan *p)
{
	bool again = !par->by_unit || maprefresh_mark_is_old(par, p, mark);

	for (size_t i = 0; i < p->count; i++)
		again = again || p->items[i].action == MAPREFRESH_WRITE;
	p->given_up = p->unfinished && p->tries >= MAPREFRESH_TRIES && !again;
}

int maprefresh_plan(const struct maprefresh_params *par, struct maprefresh_plan *ret, struct err *e)
{
	__attribute__((cleanup(auto_maprefresh_plan))) struct maprefresh_plan p = { .items = NULL };
	__attribute__((cleanup(auto_mapfolder))) struct mapfolder f = { NULL, 0 };
	char mark[PATH_MAX];
	int code = maprefresh_mark_path(par, mark, e);

	if (!code)
		code = mapfolder_read(par->maps, &f, e);
	if (code)
		return code;
	p.unfinished = maprefresh_mark_read(mark, &p.tries);
	find_esp(par->esp, p.esp);
	code = plan_items(&f, &p, e);
	if (code)
		return code;
	set_given_up(par, mark, &p);
	*ret = p;
	p.items = NULL;
	p.count = 0;
	return 0;
}
