/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The maps of an image: the one beside it on the volume, and the files that the user named. */
#include "image_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct map_search {
	struct session *s;
	const char *image;
	const struct ntfsvol_ref *ref;
	struct map *found;
	char path[NTFSVOL_PATH_MAX];
};

static bool is_of(const struct map *m, const char *image, const struct ntfsvol_ref *ref)
{
	return !strcasecmp(m->image, image) ||
	       (ref && m->mft_record == ref->record && m->mft_sequence == ref->sequence);
}

int session_read_map(struct session *s, const char *path, struct map **ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct err why = ERR_INIT;
	size_t n = 0;
	int code = ntfsvol_read_small(s->v, path, IMAGE_HOST_MAP_MAX, &text, &n, &why);

	if (!code)
		code = map_parse(text, n, ret, &why);
	if (code != -ENOMEM)
		return ntfsvol_io_error(s->v, e);
	return err_set(e, code, "%s", why.text);
}

static int look_at_map(void *ctx, const struct ntfsvol_entry *entry, struct err *e)
{
	struct map_search *search = ctx;
	size_t n = strlen(entry->path);
	struct map *m = NULL;
	int code;

	if (entry->is_dir || search->found || n < 5 || strcasecmp(entry->path + n - 4, ".map") != 0)
		return 0;
	code = session_read_map(search->s, entry->path, &m, e);
	if (!m || !is_of(m, search->image, search->ref)) {
		map_free(m);
		return code;
	}
	search->found = m;
	memcpy(search->path, entry->path, n + 1);
	return 0;
}

int session_find_map(struct session *s, const char *image, const struct ntfsvol_ref *ref, struct map **ret,
		     char ret_path[NTFSVOL_PATH_MAX], struct err *e)
{
	struct map_search search = { .s = s, .image = image, .ref = ref };
	const char *slash = strrchr(image, '/');
	char folder[NTFSVOL_PATH_MAX];
	int code;

	(void)snprintf(folder, sizeof(folder), "%.*s", slash && slash > image ? (int)(slash - image) : 1,
		       slash && slash > image ? image : "/");
	code = ntfsvol_walk(s->v, folder, 1, look_at_map, &search, e);
	if (code) {
		map_free(search.found);
		return code;
	}
	*ret = search.found;
	memcpy(ret_path, search.path, sizeof(search.path));
	return 0;
}

/* The map of an image that is gone is all that a rescue has, as long as a cluster of it is still free. */
static int is_last_hope(struct session *s, const struct map *m, bool *ret, struct err *e)
{
	struct ntfsvol_entry entry;
	struct err why = ERR_INIT;
	uint64_t clusters = 0;
	int code = ntfsvol_find(s->v, m->image, &entry, &why);

	*ret = false;
	if (code != -ENOENT)
		return code == -ENOMEM ? err_set(e, code, "%s", why.text) : 0;
	if (m->host.cluster_bytes != ntfsvol_info(s->v)->cluster_bytes)
		return 0;
	code = ntfsvol_count_free(s->v, &m->extents, &clusters, &why);
	if (code == -ENOMEM || ntfsvol_io_error(s->v, NULL))
		return err_set(e, code, "%s", why.text);
	*ret = !code && clusters;
	return 0;
}

static int judge_map(struct session *s, const char *path, const struct map *there, const char *image,
		     const struct ntfsvol_ref *ref, struct report *r, struct err *e)
{
	bool last_hope = false;
	int code = 0;

	if (!is_of(there, image, ref)) {
		report_add(r, "map-exists", "'%s' is the map of another image ('%s'): give this one another name with --name, or "
			   "leave the map beside it out with --no-host-map", path, there->image);
		return 0;
	}
	if (!ref)
		code = is_last_hope(s, there, &last_hope, e);
	if (last_hope)
		report_add(r, "map-exists", "'%s' is the map of an image that is gone, and its clusters may still hold the data: "
			   "rescue it first; if it is not wanted, delete that map in Windows", path);
	return code;
}

int session_check_host_map(struct session *s, const char *image, const char *name, const struct ntfsvol_ref *ref,
			   struct report *r, struct err *e)
{
	AUTO(map) struct map *there = NULL;
	struct ntfsvol_entry entry;
	struct err why = ERR_INIT;
	char path[NTFSVOL_PATH_MAX];
	int code;

	image_map_path(image, name, path);
	if (!strcasecmp(path, image))
		return err_set(e, -EINVAL, "image '%s': that is where its own map belongs; give it another path or "
			       "--name", image);
	code = ntfsvol_find(s->v, path, &entry, &why);
	if (code == -ENOENT || (code && report_take(r, &why)))
		return 0;
	if (code)
		return err_set(e, code, "%s", why.text);
	if (!entry.is_dir) {
		code = session_read_map(s, path, &there, e);
		if (code)
			return code;
	}
	if (there)
		return judge_map(s, entry.path, there, image, ref, r, e);
	report_add(r, "map-exists", "'%s' is there and is no map: it would be replaced; rename it in Windows, give another "
		   "--name, or leave the map beside the image out with --no-host-map", entry.path);
	return 0;
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
