/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where on a medium the system lies. */
#include "livesource_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "auto.h"
#include "textfile.h"

#define END ".squashfs"
#define BAD "bad-medium"
#define REMEDY "download it again, or write it to another medium"

static void auto_folder(DIR **d)
{
	if (*d)
		(void)closedir(*d); /* it was only read */
}

int livesource_join(char ret[PATH_MAX], const char *a, const char *b, const char *c, struct err *e)
{
	int n = snprintf(ret, PATH_MAX, "%s%s%s%s%s", a, b && b[0] ? "/" : "", b ? b : "", c ? "/" : "", c ? c : "");

	return n > 0 && n < PATH_MAX ? 0 : err_set(e, -ENAMETOOLONG, "'%.300s': %s", a, strerror(ENAMETOOLONG));
}

static bool has(const struct livesource *s, const char *folder, const char *name)
{
	char path[PATH_MAX];

	return livesource_join(path, s->medium, folder, name, NULL) == 0 && access(path, F_OK) == 0;
}

int livesource_is_squashfs(const char *path, bool *ret, struct err *e)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char magic[4];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "'%s'", path);
	*ret = false;
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return 0;
	n = pread(fd, magic, sizeof(magic), 0);
	if (n < 0)
		return err_errno(e, "'%s': read", path);
	*ret = n == (ssize_t)sizeof(magic) && memcmp(magic, "hsqs", sizeof(magic)) == 0;
	return 0;
}

/* ---- layers ---- */

static int use_names(struct livesource *s, const char *folder, const struct livesource_names *list, struct err *e)
{
	int code = 0;

	s->layer_count = 0;
	for (size_t i = 0; !code && i < list->count; i++) {
		if (!has(s, folder, list->names[i]))
			return err_refuse(e, "layout", "%s: '%s/%s' is named as a part of the system, and is not there: " REMEDY,
					  s->name, folder, list->names[i]);
		code = livesource_join(s->layers[s->layer_count++], s->medium, folder, list->names[i], e);
	}
	return code;
}

static int read_list(const struct livesource *s, const char *folder, const char *name, char **ret, struct err *e)
{
	char path[PATH_MAX];
	int code = livesource_join(path, s->medium, folder, name, e);

	return code ? code : textfile_read(path, ret, e);
}

/* A list that says nothing usable is a layout that is not known. */
static int list_error(const struct livesource *s, const char *file, const struct err *why, struct err *e)
{
	return err_refuse(e, "layout", "%s: '%s': %s; name the squashfs file of the system by --squashfs", s->name, file,
			  why->text);
}

static int by_module(struct livesource *s, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct livesource_names list;
	struct err why = ERR_INIT;
	int code = read_list(s, "live", "filesystem.module", &text, e);

	if (code)
		return code;
	if (livesource_module_names(text, &list, &why))
		return list_error(s, "live/filesystem.module", &why, e);
	return use_names(s, "live", &list, e);
}

static int by_sources(struct livesource *s, struct err *e)
{
	AUTO_FREE char *text = NULL;
	char path[LIVESOURCE_NAME_MAX];
	struct livesource_names list = { .count = 1 };
	struct err why = ERR_INIT;
	bool is_layered = true;
	int code = read_list(s, "casper", "install-sources.yaml", &text, e);

	if (code)
		return code;
	if (livesource_default_path(text, path, &is_layered, &why) || livesource_chain(path, &list, &why))
		return list_error(s, "casper/install-sources.yaml", &why, e);
	if (!is_layered) {
		list.count = 1;
		memcpy(list.names[0], path, sizeof(path));
	}
	return use_names(s, "casper", &list, e);
}

static size_t parts_of(const char *name)
{
	size_t n = 0;

	for (; *name; name++)
		n += *name == '.';
	return n;
}

/* The most parts, and the first by its name of those: a folder has no order. */
static bool is_better(const char *name, const char *best)
{
	if (!best[0] || parts_of(name) != parts_of(best))
		return !best[0] || parts_of(name) > parts_of(best);
	return strcmp(name, best) < 0;
}

static bool is_whole_chain(const struct livesource *s, const char *folder, const char *name, struct livesource_names *ret)
{
	if (strlen(name) >= LIVESOURCE_NAME_MAX || livesource_is_extra(name) || livesource_chain(name, ret, NULL))
		return false;
	for (size_t i = 0; i < ret->count; i++)
		if (!has(s, folder, ret->names[i]))
			return false;
	return true;
}

/* The longest chain of a folder; *ret->count 0: none. */
static int find_chain(const struct livesource *s, const char *folder, struct livesource_names *ret, struct err *e)
{
	__attribute__((cleanup(auto_folder))) DIR *dir = NULL;
	struct livesource_names list;
	char path[PATH_MAX], best[LIVESOURCE_NAME_MAX] = "";
	struct dirent *d;
	int code = livesource_join(path, s->medium, folder, NULL, e);

	ret->count = 0;
	if (code)
		return code;
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT || errno == ENOTDIR ? 0 : err_errno(e, "folder '%s'", path);
	while ((d = readdir(dir))) {
		if (!is_whole_chain(s, folder, d->d_name, &list) || !is_better(d->d_name, best))
			continue;
		memcpy(best, d->d_name, strlen(d->d_name) + 1); /* is_whole_chain() looked at its length */
		*ret = list;
	}
	return 0;
}

/* filesystem.squashfs, or else the chain. */
static int by_names(struct livesource *s, const char *folder, struct err *e)
{
	struct livesource_names list = { .names = { "filesystem" END }, .count = 1 };
	int code = has(s, folder, list.names[0]) ? 0 : find_chain(s, folder, &list, e);

	return code || !list.count ? code : use_names(s, folder, &list, e);
}

/* ---- the rest ---- */

static int find_kernel(struct livesource *s, const char *folder, struct err *e)
{
	__attribute__((cleanup(auto_folder))) DIR *dir = NULL;
	char path[PATH_MAX], best[NAME_MAX + 1] = "";
	struct dirent *d;
	int code = livesource_join(path, s->medium, folder, NULL, e);

	if (code)
		return code;
	dir = opendir(path);
	while (dir && (d = readdir(dir)))
		if (strncmp(d->d_name, "vmlinuz", 7) == 0 && (!best[0] || strverscmp(d->d_name, best) > 0))
			(void)snprintf(best, sizeof(best), "%s", d->d_name);
	if (has(s, folder, "vmlinuz"))
		(void)snprintf(best, sizeof(best), "vmlinuz");
	return best[0] ? livesource_join(s->kernel, s->medium, folder, best, e) : 0;
}

static int check_layers(const struct livesource *s, struct err *e)
{
	for (size_t i = 0; i < s->layer_count; i++) {
		struct err why = ERR_INIT;
		bool is = false;
		int code = livesource_is_squashfs(s->layers[i], &is, &why);

		if (code == -EIO)
			return err_refuse(e, BAD, "%s: " REMEDY, why.text);
		if (code)
			return err_set(e, code, "%s", why.text);
		if (!is)
			return err_refuse(e, "not-a-squashfs", "%s: '%s' is no squashfs: " REMEDY, s->name, s->layers[i]);
	}
	return 0;
}

int livesource_layout(struct livesource *s, bool *ret_found, struct err *e)
{
	static const struct {
		const char *folder, *file, *layout;
		int (*find)(struct livesource *s, struct err *e);
	} rows[] = {
		{ "casper", "install-sources.yaml", "casper-layered", by_sources },
		{ "casper", "filesystem.squashfs", "casper", NULL },
		{ "casper", NULL, "casper-layered", NULL },
		{ "live", "filesystem.module", "live-boot", by_module },
		{ "live", NULL, "live-boot", NULL },
	};
	const char *folder = NULL;
	int code = 0;

	for (size_t i = 0; !code && !s->layer_count && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].file && !has(s, rows[i].folder, rows[i].file))
			continue;
		folder = rows[i].folder;
		(void)snprintf(s->layout, sizeof(s->layout), "%s", rows[i].layout);
		code = rows[i].find ? rows[i].find(s, e) : by_names(s, folder, e);
	}
	*ret_found = s->layer_count > 0;
	if (!code && *ret_found)
		code = check_layers(s, e);
	if (!code && *ret_found)
		code = find_kernel(s, folder, e);
	if (!code && *ret_found && has(s, NULL, "pool"))
		code = livesource_join(s->pool, s->medium, "pool", NULL, e);
	return code;
}
