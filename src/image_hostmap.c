/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The maps of an image: the one beside it on the volume, and the files that the user named. */
#include "image_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

int session_read_map(struct session *s, uint64_t record, struct map **ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct err why = ERR_INIT;
	size_t n = 0;
	int code = ntfsvol_read_small(s->v, record, IMAGE_HOST_MAP_MAX, &text, &n, &why);

	if (!code)
		code = map_parse(text, n, ret, &why);
	if (code != -ENOMEM)
		return ntfsvol_io_error(s->v, e);
	return err_set(e, code, "%s", why.text);
}

enum map_match session_match_map(const struct session *s, const struct map *m, const struct image_ident *id)
{
	if (m->host.serial != ntfsvol_info(s->v)->serial)
		return MAP_MATCH_NONE;
	if (id->ref && m->mft_record == id->ref->record && m->mft_sequence == id->ref->sequence)
		return MAP_MATCH_RECORD;
	if (id->fs_uuid[0] && !strcmp(m->fs_uuid, id->fs_uuid) && !strcasecmp(m->image, id->path))
		return MAP_MATCH_CONTENT;
	return MAP_MATCH_NONE;
}

/* Calls fn for each map in the folder of a path. */
typedef int map_fn(void *ctx, const char *path, struct map **m, struct err *e);

struct map_walk {
	struct session *s;
	map_fn *fn;
	void *ctx;
};

static int look_at_map(void *ctx, const struct ntfsvol_entry *entry, struct err *e)
{
	AUTO(map) struct map *m = NULL;
	struct map_walk *walk = ctx;
	size_t n = strlen(entry->path);
	int code;

	if (entry->is_dir || n < 5 || strcasecmp(entry->path + n - 4, ".map") != 0)
		return 0;
	code = session_read_map(walk->s, entry->ref.record, &m, e);
	return code || !m ? code : walk->fn(walk->ctx, entry->path, &m, e);
}

static int walk_maps(struct session *s, const char *folder, map_fn *fn, void *ctx, struct err *e)
{
	struct map_walk walk = { s, fn, ctx };

	return ntfsvol_walk(s->v, folder, 1, look_at_map, &walk, e);
}

static void folder_of(const char *path, char ret[NTFSVOL_PATH_MAX])
{
	const char *slash = strrchr(path, '/');

	(void)snprintf(ret, NTFSVOL_PATH_MAX, "%.*s", slash && slash > path ? (int)(slash - path) : 1, path);
}

struct beside {
	struct session *s;
	const struct image_ident *id;
	struct image_host_maps *maps;
};

static int take_if_ours(void *ctx, const char *path, struct map **m, struct err *e)
{
	struct beside *b = ctx;
	enum map_match match = session_match_map(b->s, *m, b->id);

	if (match == MAP_MATCH_NONE)
		return 0;
	if (b->maps->count == IMAGE_HOST_MAPS_MAX)
		return err_refuse(e, "map-exists", "more than %d maps of '%s' lie beside it: delete the old ones in Windows, "
				  "then retry", IMAGE_HOST_MAPS_MAX, b->id->path);
	(void)snprintf(b->maps->items[b->maps->count].path, NTFSVOL_PATH_MAX, "%s", path);
	b->maps->items[b->maps->count].match = match;
	b->maps->items[b->maps->count].map = TAKE(*m);
	b->maps->count++;
	return 0;
}

int session_maps_beside(struct session *s, const struct image_ident *id, struct image_host_maps *ret, struct err *e)
{
	struct beside b = { s, id, ret };
	char folder[NTFSVOL_PATH_MAX];

	folder_of(id->path, folder);
	return walk_maps(s, folder, take_if_ours, &b, e);
}

void image_host_maps_clear(struct image_host_maps *maps)
{
	for (size_t i = 0; i < maps->count; i++)
		map_free(maps->items[i].map);
	maps->count = 0;
}

const struct map *image_host_maps_best(const struct image_host_maps *maps, const char *name)
{
	const struct map *best = NULL;
	enum map_match best_match = MAP_MATCH_NONE;

	for (size_t i = 0; i < maps->count; i++) {
		const struct map *m = maps->items[i].map;
		bool named = !strcmp(m->name, name), best_named = best && !strcmp(best->name, name);
		bool better = maps->items[i].match > best_match;

		if (best && maps->items[i].match == best_match)
			better = named != best_named ? named : m->generation > best->generation;
		if (better) {
			best = m;
			best_match = maps->items[i].match;
		}
	}
	return best;
}

enum fate { FATE_ELSEWHERE, FATE_ALIVE, FATE_LOST, FATE_OVER };

/*
 * What became of a map's image: alive (its record is its own, perhaps under another name, or it has grown), lost (gone, but
 * clusters of it are free and may still hold the data), over (gone, all clusters are others' now), or on another volume.
 */
static int fate_of(struct session *s, const struct map *m, enum fate *ret, struct err *e)
{
	__attribute__((cleanup(auto_ntfsvol_file))) struct ntfsvol_file file = { 0 };
	const struct ntfsvol_info *info = ntfsvol_info(s->v);
	struct err why = ERR_INIT;
	uint64_t clusters = 0;
	int code;

	*ret = FATE_ELSEWHERE;
	if (m->host.serial != info->serial || m->host.cluster_bytes != info->cluster_bytes)
		return 0;
	code = ntfsvol_read_file(s->v, m->mft_record, &file, &why);
	if (!code && file.in_use && file.ref.sequence == m->mft_sequence && file.data_bytes >= m->size_bytes) {
		*ret = FATE_ALIVE;
		return 0;
	}
	if (code != -ENOMEM)
		code = ntfsvol_count_free(s->v, &m->extents, &clusters, &why);
	if (code == -ENOMEM)
		return err_set(e, code, "%s", why.text);
	*ret = !code && clusters ? FATE_LOST : FATE_OVER;
	return ntfsvol_io_error(s->v, e);
}

static int judge_map(struct session *s, const char *path, const struct map *there, const struct image_ident *id,
		     struct report *r, struct err *e)
{
	enum fate fate;
	int code;

	if (session_match_map(s, there, id) != MAP_MATCH_NONE)
		return 0;
	code = fate_of(s, there, &fate, e);
	if (code)
		return code;
	if (fate == FATE_LOST)
		report_add(r, "map-exists", "'%s' is the map of an image that is gone, and its clusters may still hold the data: "
			   "rescue them first; if they are not wanted, delete that map in Windows", path);
	else if (fate != FATE_OVER)
		report_add(r, "map-exists", "'%s' is the map of another image ('%s'%s): give this one another name with "
			   "--name, or leave the map beside it out with --no-host-map", path, there->image,
			   fate == FATE_ELSEWHERE ? " of another volume" : "");
	return 0;
}

int session_check_host_map(struct session *s, const struct image_ident *id, const char *name, struct report *r,
			   struct err *e)
{
	AUTO(map) struct map *there = NULL;
	struct ntfsvol_entry entry;
	struct err why = ERR_INIT;
	char path[NTFSVOL_PATH_MAX];
	int code = image_map_path(id->path, name, path, e);

	if (code)
		return code;
	if (!strcasecmp(path, id->path))
		return err_set(e, -EINVAL, "image '%s': that is where its own map belongs; give it another path or "
			       "--name", id->path);
	code = ntfsvol_find(s->v, path, &entry, &why);
	if (code == -ENOENT || (code && report_take(r, &why)))
		return 0;
	if (code)
		return err_set(e, code, "%s", why.text);
	if (!entry.is_dir)
		code = session_read_map(s, entry.ref.record, &there, e);
	if (code)
		return code;
	if (there)
		return judge_map(s, entry.path, there, id, r, e);
	report_add(r, "map-exists", "'%s' is there and is no map: it would be replaced; rename it in Windows, give another "
		   "--name, or leave the map beside the image out with --no-host-map", entry.path);
	return 0;
}

int session_stage_host_map(struct session *s, const struct map *m, struct err *e)
{
	char path[NTFSVOL_PATH_MAX];
	AUTO_FREE char *text = NULL;
	size_t n;
	int code = image_map_path(m->image, m->name, path, e);

	if (!code)
		code = map_format(m, &text, &n, e);
	return code ? code : ntfsvol_put_small(s->v, path, text, n, true, e);
}

struct lost {
	struct session *s;
	const struct extent_list *extents;
	struct report *report;
};

static int report_if_lost(void *ctx, const char *path, struct map **m, struct err *e)
{
	struct lost *lost = ctx;
	enum fate fate;
	bool over = false;
	int code = fate_of(lost->s, *m, &fate, e);

	if (!code && fate == FATE_LOST)
		code = extent_list_overlaps(&(*m)->extents, lost->extents, &over, e);
	if (!code && over)
		report_add(lost->report, "lost-image", "the free space that would be taken held the image of '%s', which is "
			   "gone: its data may still be there; rescue it first; if it is not wanted, delete that map in "
			   "Windows", path);
	return code;
}

int session_check_lost(struct session *s, const char *image, const struct extent_list *extents, struct report *r,
		       struct err *e)
{
	struct lost lost = { s, extents, r };
	char folder[NTFSVOL_PATH_MAX];
	int code;

	folder_of(image, folder);
	code = walk_maps(s, folder, report_if_lost, &lost, e);
	if (!code && strcasecmp(folder, "/ubuntu/disks") != 0)
		code = walk_maps(s, "/ubuntu/disks", report_if_lost, &lost, e);
	return code;
}

int image_check_map_files(const char *const *files, size_t count, const char *volume, struct report *r, struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		struct err why = ERR_INIT;
		int code = mapfile_check_writable(files[i], volume, &why);

		if (code == -ENOMEM)
			return err_set(e, code, "%s", why.text);
		if (code && !report_take(r, &why))
			report_add(r, "map-file", "%s: name a file in a folder that exists and can be written", why.text);
	}
	return 0;
}

int image_maps_stage(const struct map *m, const char *const *files, size_t count, struct image_maps *ret, struct err *e)
{
	int code = 0;

	for (size_t i = 0; !code && i < count; i++) {
		code = mapfile_stage(files[i], m, &ret->items[i], e);
		ret->count = i + 1;
	}
	if (code)
		image_maps_drop(ret);
	return code;
}

int image_maps_publish(struct image_maps *maps, struct err *e)
{
	int code = 0;

	for (size_t i = 0; !code && i < maps->count; i++)
		code = mapfile_publish(&maps->items[i], e);
	return code;
}

void image_maps_drop(struct image_maps *maps)
{
	for (size_t i = 0; i < maps->count; i++)
		mapfile_drop(&maps->items[i]);
	maps->count = 0;
}
