/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "initrdneed.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bootargs.h"
#include "dmnames.h"
#include "sysfs.h"

#define CMDLINE_MAX 65536

static int yes(struct initrdneed *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int yes(struct initrdneed *n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!n->needed && vsnprintf(n->why, sizeof(n->why), fmt, ap) < 0)
		n->why[0] = '\0';
	va_end(ap);
	n->needed = true;
	return 0;
}

/* A root of the same name needs no second map. */
static void add_root(struct initrdneed *n, const char *name, const char *id)
{
	struct initrdneed_root *root = &n->roots[n->root_count];

	for (size_t i = 0; i < n->root_count; i++)
		if (strcmp(n->roots[i].name, name) == 0)
			return;
	if (n->root_count == INITRDNEED_ROOTS_MAX || !map_name_is_valid(name))
		return;
	(void)snprintf(root->name, sizeof(root->name), "%s", name);
	(void)snprintf(root->id, sizeof(root->id), "%s", id);
	n->root_count++;
}

/* One of ours, see dmnames.h. */
static void add_root_of_uuid(struct initrdneed *n, const char *uuid)
{
	const size_t id_bytes = MAP_UUID_TEXT - 1;
	const char *text = uuid + strlen(DMNAMES_UUID_PREFIX);
	char id[MAP_UUID_TEXT];

	if (strlen(text) <= id_bytes + 1 || text[id_bytes] != '-')
		return;
	memcpy(id, text, id_bytes);
	id[id_bytes] = '\0';
	add_root(n, text + id_bytes + 1, id);
}

static int look_at_maps(const char *folder, struct initrdneed *n, struct err *e)
{
	DIR *d = opendir(folder);
	struct dirent *entry;
	int code = 0;

	if (!d)
		return errno == ENOENT ? 0 : err_errno(e, "folder '%s'", folder);
	do {
		errno = 0;
		entry = readdir(d);
		if (!entry && errno)
			code = err_errno(e, "folder '%s'", folder);
	} while (entry && fnmatch("*.map", entry->d_name, FNM_PERIOD) != 0);
	if (entry)
		(void)yes(n, "there is a map, '%.200s/%.200s'", folder, entry->d_name);
	(void)closedir(d);
	return code;
}

static int look_at_root(const char *root, struct initrdneed *n, struct err *e)
{
	char uuid[160];
	struct stat st;

	if (stat(root, &st))
		return err_errno(e, "'%s'", root);
	if (!sysfs_read_line(sysfs_path(st.st_dev, "dm/uuid").text, uuid, sizeof(uuid)) || !dmnames_uuid_is_ours(uuid))
		return 0;
	add_root_of_uuid(n, uuid);
	return yes(n, "the root file system is in an image (device-mapper '%s')", uuid);
}

static int look_at_fstab(const char *fstab, struct initrdneed *n, struct err *e)
{
	FILE *f = setmntent(fstab, "re");
	struct mntent *m;

	if (!f)
		return errno == ENOENT ? 0 : err_errno(e, "'%s'", fstab);
	while ((m = getmntent(f)))
		if (strcmp(m->mnt_dir, "/") == 0 && dmnames_of_node(m->mnt_fsname)) {
			add_root(n, dmnames_of_node(m->mnt_fsname), "");
			(void)yes(n, "'%s' has '/' on '%.200s'", fstab, m->mnt_fsname);
		}
	(void)endmntent(f);
	return 0;
}

static int look_at_cmdline(const char *path, struct initrdneed *n, struct err *e)
{
	char text[CMDLINE_MAX];
	FILE *f = fopen(path, "re");
	struct bootargs args;
	unsigned long long serial;
	size_t got;
	int code = 0;

	if (!f)
		return errno == ENOENT ? 0 : err_errno(e, "'%s'", path);
	got = fread(text, 1, sizeof(text) - 1, f);
	text[got] = '\0';
	if (ferror(f))
		code = err_errno(e, "'%s'", path);
	(void)fclose(f); /* only read */
	if (code)
		return code;
	bootargs_parse(text, &args);
	if (!*args.loop || !bootargs_root_serial(&args, &serial))
		return 0;
	n->goes_without_map = true;
	return yes(n, "'%s' has an old Wubi disk: loop=%.200s", path, args.loop);
}

int initrdneed_look(const struct initrdneed_system *s, struct initrdneed *ret, struct err *e)
{
	struct initrdneed n = { .why = "no map, and no root file system in an image" };
	int r = look_at_maps(s->maps, &n, e);

	if (!r)
		r = look_at_root(s->root, &n, e);
	if (!r)
		r = look_at_fstab(s->fstab, &n, e);
	for (size_t i = 0; !r && i < sizeof(s->cmdlines) / sizeof(s->cmdlines[0]); i++)
		if (s->cmdlines[i])
			r = look_at_cmdline(s->cmdlines[i], &n, e);
	if (!r)
		*ret = n;
	return r;
}
