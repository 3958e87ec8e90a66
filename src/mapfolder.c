/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mapfolder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mapfile.h"

#define SUFFIX ".map"

void mapfolder_clear(struct mapfolder *f)
{
	for (size_t i = 0; i < f->count; i++)
		map_free(f->items[i].map);
	free(f->items);
	*f = (struct mapfolder){ NULL, 0 };
}

static int is_map_name(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > strlen(SUFFIX) && strcmp(d->d_name + n - strlen(SUFFIX), SUFFIX) == 0;
}

static int read_item(const char *folder, const char *name, struct mapfolder_item *item, struct err *e)
{
	int n = snprintf(item->path, sizeof(item->path), "%s/%s", folder, name);

	if (n < 0 || (size_t)n >= sizeof(item->path))
		return err_set(e, -ENAMETOOLONG, "map '%s' in '%.300s': %s", name, folder, strerror(ENAMETOOLONG));
	if (mapfile_read(item->path, &item->map, &item->problem) == -ENOMEM)
		return err_set(e, -ENOMEM, "%s", item->problem.text);
	return 0;
}

int mapfolder_read(const char *folder, struct mapfolder *ret, struct err *e)
{
	__attribute__((cleanup(auto_mapfolder))) struct mapfolder f = { NULL, 0 };
	struct dirent **names = NULL;
	int code = 0, n = scandir(folder, &names, is_map_name, alphasort);

	if (n < 0 && errno == ENOENT)
		n = 0;
	if (n < 0)
		return err_errno(e, "folder '%s'", folder);
	f.items = calloc(n ? (size_t)n : 1, sizeof(*f.items));
	if (!f.items)
		code = err_set(e, -ENOMEM, "folder '%s': out of memory", folder);
	for (int i = 0; i < n; i++) {
		if (!code)
			code = read_item(folder, names[i]->d_name, &f.items[f.count++], e);
		free(names[i]);
	}
	free(names);
	if (code)
		return code;
	*ret = f;
	f.items = NULL;
	f.count = 0;
	return 0;
}
