/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "maprefresh.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "attach.h"
#include "bootsect.h"
#include "dmlinear.h"
#include "initramfs.h"
#include "mapfile.h"
#include "mapfolder.h"
#include "sysfs.h"

#define MARK "map-refresh.unfinished"

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

static int judge(const struct dmlinear_active *a, struct maprefresh_item *item, struct err *e)
{
	__attribute__((cleanup(auto_verify_result))) struct verify_result r = { 0 };
	__attribute__((cleanup(auto_attach_volume))) struct attach_volume v = { .io = NULL };
	struct map_host host;
	char path[256];
	int code;

	if (!sysfs_node(a->device, path, sizeof(path)))
		return err_set(e, -ENODEV, "the partition %u:%u, which '%s' lies on, is not in /sys", major(a->device),
			       minor(a->device), a->name);
	code = attach_volume_open(path, &v, e);
	if (!code)
		code = refuse_drivers(path, e);
	if (!code)
		code = read_host(&v, &host, e);
	if (!code)
		code = verify_volume(v.io, v.info.partuuid, item->map, &r, e);
	return code ? code : maprefresh_decide(&r, &a->extents, &host, item, e);
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

static int esp_file(const struct maprefresh_plan *p, const struct maprefresh_item *item, char ret[PATH_MAX], struct err *e)
{
	int n = snprintf(ret, PATH_MAX, "%s/%s.map", p->esp, item->name);

	return n > 0 && n < PATH_MAX ? 0 : err_set(e, -ENAMETOOLONG, "'%.300s': %s", p->esp, strerror(ENAMETOOLONG));
}

/* A damaged copy, or none, is stale. One with another id belongs to another installation on this machine: not ours to write. */
static int look_at_esp(const struct maprefresh_plan *p, struct maprefresh_item *item, struct err *e)
{
	AUTO(map) struct map *copy = NULL;
	struct err why = ERR_INIT;
	char path[PATH_MAX];
	bool same = false;
	int code = esp_file(p, item, path, e);

	if (code)
		return code;
	code = mapfile_read(path, &copy, &why);
	if (code && code != -ENOENT && !err_is_refusal(&why))
		return err_set(e, code, "%s", why.text);
	if (!code && strcmp(copy->map_id, item->map->map_id) != 0)
		return 0;
	if (!code)
		code = same_text(copy, item->map, &same, e);
	else
		code = 0;
	item->esp_stale = !code && !same;
	return code;
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

static int plan_item(const struct maprefresh_plan *p, const struct dmlinear_active_list *active, struct mapfolder_item *from,
		     struct maprefresh_item *item, struct err *e)
{
	const struct dmlinear_active *a;
	int code;

	(void)snprintf(item->path, sizeof(item->path), "%s", from->path);
	if (!from->map) {
		item->action = MAPREFRESH_REFUSE;
		(void)snprintf(item->reason, sizeof(item->reason), "%s",
			       from->problem.reason[0] ? from->problem.reason : "unreadable");
		(void)snprintf(item->text, sizeof(item->text), "%.390s", from->problem.text);
		return 0;
	}
	item->map = TAKE(from->map);
	(void)snprintf(item->name, sizeof(item->name), "%s", item->map->name);
	a = find_active(active, item->map);
	item->active = a != NULL;
	if (!a) {
		(void)snprintf(item->text, sizeof(item->text), "its image is not attached");
		return 0;
	}
	code = judge(a, item, e);
	if (!code && item->action == MAPREFRESH_WRITE)
		code = map_check(item->map, e);
	if (!code && item->action != MAPREFRESH_REFUSE && p->esp[0])
		code = look_at_esp(p, item, e);
	return code ? err_wrap(e, code, "map '%s'", item->path) : 0;
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

static int mark_path(const struct maprefresh_params *par, char ret[PATH_MAX], struct err *e)
{
	int n = snprintf(ret, PATH_MAX, "%s/" MARK, par->state);

	return n > 0 && n < PATH_MAX ? 0 : err_set(e, -ENAMETOOLONG, "'%.300s': %s", par->state, strerror(ENAMETOOLONG));
}

static int plan_items(const struct mapfolder *f, struct maprefresh_plan *p, struct err *e)
{
	__attribute__((cleanup(auto_dmlinear_active))) struct dmlinear_active_list active = { NULL, 0 };
	int code = dmlinear_active(&active, e);

	p->items = calloc(f->count ? f->count : 1, sizeof(*p->items));
	if (!code && !p->items)
		code = err_set(e, -ENOMEM, "out of memory for %zu maps", f->count);
	for (size_t i = 0; !code && i < f->count; i++)
		code = plan_item(p, &active, &f->items[i], &p->items[p->count++], e);
	return code;
}

int maprefresh_plan(const struct maprefresh_params *par, struct maprefresh_plan *ret, struct err *e)
{
	__attribute__((cleanup(auto_maprefresh_plan))) struct maprefresh_plan p = { .items = NULL };
	__attribute__((cleanup(auto_mapfolder))) struct mapfolder f = { NULL, 0 };
	char mark[PATH_MAX];
	int code = mark_path(par, mark, e);

	if (!code)
		code = mapfolder_read(par->maps, &f, e);
	if (code)
		return code;
	p.unfinished = access(mark, F_OK) == 0;
	find_esp(par->esp, p.esp);
	code = plan_items(&f, &p, e);
	if (code)
		return code;
	*ret = p;
	p.items = NULL;
	p.count = 0;
	return 0;
}

/* ---- run ---- */

static int sync_folder(const char *folder, struct err *e)
{
	AUTO_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd))
		return err_errno(e, "folder '%s'", folder);
	return 0;
}

/* On disk before the first map is. */
static int set_mark(const struct maprefresh_params *par, const char *mark, struct err *e)
{
	AUTO_FD int fd = -1;

	if (mkdir(par->state, 0755) && errno != EEXIST)
		return err_errno(e, "make the folder '%s'", par->state);
	fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || fsync(fd))
		return err_errno(e, "'%s'", mark);
	return sync_folder(par->state, e);
}

static int write_maps(const struct maprefresh_plan *p, struct err *e)
{
	int code = 0;

	for (size_t i = 0; !code && i < p->count; i++)
		if (p->items[i].action == MAPREFRESH_WRITE)
			code = mapfile_write(p->items[i].path, p->items[i].map, e);
	return code;
}

static int write_esp(const struct maprefresh_plan *p, struct err *e)
{
	char path[PATH_MAX];
	int code = 0;

	for (size_t i = 0; !code && i < p->count; i++) {
		if (!p->items[i].esp_stale)
			continue;
		code = esp_file(p, &p->items[i], path, e);
		if (!code)
			code = mapfile_write(path, p->items[i].map, e);
	}
	return code;
}

static int rebuild(const struct maprefresh_params *par, const struct maprefresh_plan *p, struct err *e)
{
	struct err why = ERR_INIT;
	char mark[PATH_MAX];
	int code = mark_path(par, mark, e);

	if (!code)
		code = set_mark(par, mark, e);
	if (!code)
		code = write_maps(p, e);
	if (code)
		return code;
	code = initramfs_rebuild(&why);
	if (code)
		return err_set(e, code, "the maps in '%s' are right, but not those in the initramfs: %s; the next boot follows "
			       "the image as this one did; set that right and run wubi-map-refresh again", par->maps, why.text);
	if (unlink(mark) && errno != ENOENT)
		return err_errno(e, "'%s'", mark);
	return sync_folder(par->state, e);
}

int maprefresh_run(const struct maprefresh_params *par, const struct maprefresh_plan *p, struct err *e)
{
	int code = maprefresh_needs_initramfs(p) ? rebuild(par, p, e) : 0;

	return code ? code : write_esp(p, e);
}
