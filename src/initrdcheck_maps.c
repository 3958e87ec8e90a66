/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The maps: all of the system's, byte for byte, and no others. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "initrdcheck_private.h"
#include "mapfolder.h"

#define FOLDER "etc/wubi/maps"

static int check_map(struct initrdcheck *c, const struct mapfolder_item *item, struct err *e)
{
	const char *base = initrdcheck_base_name(item->path);
	struct report *findings = &c->result.findings;
	const struct filetree_node *node;
	AUTO_FREE char *text = NULL;
	char path[PATH_MAX];
	size_t n;
	int r;

	if (!item->map) {
		report_add(findings, "invalid-map", "%.400s: what it maps would not be attached; restore it ('wubi-disk map', or "
			   "the copy beside the image), " INITRDCHECK_REBUILD, item->problem.text);
		return 0;
	}
	r = map_format(item->map, &text, &n, e); /* there is one way to write a map: these are the bytes of the file */
	if (r)
		return err_wrap(e, r, "'%.300s'", item->path);
	(void)snprintf(path, sizeof(path), FOLDER "/%s", base);
	node = filetree_find_file(c->tree, path, false);
	if (!node)
		report_add(findings, "no-map", "the map '%.300s' is not in it: what it maps would not be attached; build it "
			   "again", item->path);
	else if (!node->text || node->text_bytes != n || memcmp(node->text, text, n) != 0)
		report_add(findings, "stale-map", "'%s' in it differs from the map '%.300s': what was mapped once may be another "
			   "file's place by now; build it again", path, item->path);
	else
		c->result.maps++;
	return 0;
}

struct extra {
	struct initrdcheck *c;
	const struct mapfolder *maps;
};

static int check_extra(void *ctx, const struct filetree_node *node)
{
	const struct extra *x = ctx;

	if (fnmatch(FOLDER "/*.map", node->path, FNM_PATHNAME) != 0)
		return 0;
	for (size_t i = 0; i < x->maps->count; i++)
		if (strcmp(initrdcheck_base_name(x->maps->items[i].path), initrdcheck_base_name(node->path)) == 0)
			return 0;
	report_add(&x->c->result.findings, "stale-map", "it has the map '/%.300s', which the system has no more; build it again",
		   node->path);
	return 0;
}

/* The map of root: with its name, and with its id where that is known; one that is damaged was told already. */
static bool has_map_of(const struct mapfolder *maps, const struct initrdneed_root *root)
{
	char file[sizeof(root->name) + sizeof(".map")];

	(void)snprintf(file, sizeof(file), "%s.map", root->name);
	for (size_t i = 0; i < maps->count; i++) {
		const struct map *map = maps->items[i].map;

		if (map ? strcmp(map->name, root->name) == 0 && (!*root->id || strcmp(map->map_id, root->id) == 0) :
			  strcmp(initrdcheck_base_name(maps->items[i].path), file) == 0)
			return true;
	}
	return false;
}

static void check_root(struct initrdcheck *c, const struct mapfolder *maps, const struct initrdneed_root *root)
{
	const char *folder = c->params->system.maps;

	if (!has_map_of(maps, root))
		report_add(&c->result.findings, "no-map", "root is on '/dev/mapper/wubi-%s', and the system has no map of "
			   "that%s%s in '%.200s': nothing says where on the volume it is; make one ('wubi-disk map "
			   "VOLUME --output %.200s/%s.map'), " INITRDCHECK_REBUILD, root->name,
			   *root->id ? " with the id " : "", root->id, folder, folder, root->name);
}

/* Other maps do not help: without root's, nothing attaches what root is on. An old Wubi disk's needs none. */
static void check_roots(struct initrdcheck *c, const struct mapfolder *maps)
{
	static const struct initrdneed_root unknown = { .name = "root" };

	if (c->need.goes_without_map)
		return;
	for (size_t i = 0; i < c->need.root_count; i++)
		check_root(c, maps, &c->need.roots[i]);
	if (maps->count == 0 && c->need.root_count == 0)
		check_root(c, maps, &unknown);
}

int initrdcheck_maps(struct initrdcheck *c, struct err *e)
{
	__attribute__((cleanup(auto_mapfolder))) struct mapfolder maps = { NULL, 0 };
	struct extra extra = { c, &maps };
	int r = mapfolder_read(c->params->system.maps, &maps, e);

	for (size_t i = 0; !r && i < maps.count; i++)
		r = check_map(c, &maps.items[i], e);
	if (r)
		return r;
	(void)filetree_each(c->tree, check_extra, &extra);
	for (size_t i = 0; i < maps.count; i++)
		c->has_ext4 = c->has_ext4 || (maps.items[i].map && strcmp(maps.items[i].map->fs_type, "ext4") == 0);
	check_roots(c, &maps);
	return 0;
}
