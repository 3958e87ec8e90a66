/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "livesource_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"
#include "mountfs.h"

#define KNOWN "known are live-boot's (live/filesystem.squashfs), casper's (casper/filesystem.squashfs) and Ubuntu's layered " \
	"one (casper/install-sources.yaml)"
#define ISO_MAGIC_AT 32769 /* of the first volume descriptor; ISO 9660 has CD001, UDF alone BEA01 */

static const char *const media[] = { "/run/live/medium", "/lib/live/mount/medium", "/usr/lib/live/mount/medium", "/cdrom" };

int livesource_put(struct livesource *s, const char *work, const char *name, const char *source, const char *type,
		   const char *options, char ret[PATH_MAX], struct err *e)
{
	int code = livesource_join(ret, work, name, NULL, e);

	if (code)
		return code;
	if (s->mount_count == sizeof(s->mounts) / sizeof(s->mounts[0]))
		return err_set(e, -E2BIG, "'%s': too many mounts", ret);
	if (mkdir(ret, 0755) < 0 && errno != EEXIST)
		return err_errno(e, "make the folder '%s'", ret);
	code = mountfs_mount(source, ret, type, options, e);
	if (code)
		(void)rmdir(ret); /* the error that counts is the mount's */
	else
		(void)snprintf(s->mounts[s->mount_count++], PATH_MAX, "%s", ret);
	return code;
}

int livesource_close(struct livesource *s, struct err *e)
{
	struct err why = ERR_INIT;
	int code = 0;

	while (s->mount_count) {
		const char *path = s->mounts[--s->mount_count];
		int r = mountfs_unmount(path, &why);

		if (r == 0)
			(void)rmdir(path); /* we made it, below the caller's folder */
		if (r && !code)
			code = err_set(e, r, "%s", why.text);
	}
	s->tree[0] = '\0';
	return code;
}

/* ---- the ISO ---- */

static int check_is_iso(const char *iso, bool *ret_is_file, struct err *e)
{
	AUTO_FD int fd = open(iso, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char magic[5] = "";
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "'%s'", iso);
	*ret_is_file = S_ISREG(st.st_mode);
	if ((*ret_is_file || S_ISBLK(st.st_mode)) && pread(fd, magic, sizeof(magic), ISO_MAGIC_AT) < 0)
		return err_errno(e, "'%s': read", iso);
	if (memcmp(magic, "CD001", sizeof(magic)) == 0 || memcmp(magic, "BEA01", sizeof(magic)) == 0)
		return 0;
	return err_refuse(e, "not-an-iso", "'%s' is no ISO image, or the download of one that was cut short: download it again, "
			  "or name another file", iso);
}

static int mount_iso(const struct livesource_params *par, struct livesource *s, struct err *e)
{
	char iso[PATH_MAX];
	bool is_file = false;
	int code;

	if (!realpath(par->iso, iso))
		return err_errno(e, "'%s'", par->iso);
	memcpy(s->name, iso, sizeof(iso));
	code = check_is_iso(iso, &is_file, e);
	if (!code)
		code = livesource_put(s, par->work, "medium", iso, "iso9660,udf",
				      is_file ? "loop,ro,nodev,nosuid" : "ro,nodev,nosuid", s->medium, e);
	if (!code)
		s->is_iso = true;
	return code;
}

static int no_layout(const struct livesource *s, struct err *e)
{
	return err_refuse(e, "layout", "%s has no system of a layout that is known; " KNOWN "; name the squashfs file of the "
			  "system by --squashfs, or choose another medium", s->name);
}

static int find_in_iso(const struct livesource_params *par, struct livesource *s, struct err *e)
{
	bool is_found = false;
	int code = mount_iso(par, s, e);

	if (!code)
		code = livesource_layout(s, &is_found, e);
	return code || is_found ? code : no_layout(s, e);
}

/* ---- the running medium ---- */

static bool looks_like_medium(const char *folder)
{
	static const char *const marks[] = { "live", "casper", ".disk", "LiveOS", "arch", "isolinux" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (livesource_join(path, folder, marks[i], NULL, NULL) == 0 && access(path, F_OK) == 0)
			return true;
	return false;
}

static int find_running(const struct livesource_params *par, struct livesource *s, struct err *e)
{
	bool is_medium = false, is_found = false;
	int code = 0;

	for (size_t i = 0; !code && !is_found && i < sizeof(media) / sizeof(media[0]); i++) {
		char folder[PATH_MAX];

		if (snprintf(folder, sizeof(folder), "%s%s", par->root ? par->root : "", media[i]) >= (int)sizeof(folder) ||
		    !looks_like_medium(folder))
			continue;
		is_medium = true;
		memcpy(s->medium, folder, sizeof(folder));
		(void)snprintf(s->name, sizeof(s->name), "the live medium %.*s", PATH_MAX - 32, folder);
		code = livesource_layout(s, &is_found, e);
	}
	if (code || is_found)
		return code;
	if (is_medium)
		return no_layout(s, e);
	return err_refuse(e, "no-source", "this is no live system, so there is nothing to copy: start the live medium and run "
			  "this there, or name an ISO file by --iso, or a squashfs file by --squashfs");
}

/* ---- a squashfs ---- */

static int find_squashfs(const struct livesource_params *par, struct livesource *s, struct err *e)
{
	bool is = false;
	int code;

	if (!realpath(par->squashfs, s->layers[0]))
		return err_errno(e, "'%s'", par->squashfs);
	memcpy(s->name, s->layers[0], sizeof(s->name));
	code = livesource_is_squashfs(s->name, &is, e);
	if (code)
		return code;
	if (!is)
		return err_refuse(e, "not-a-squashfs", "'%s' is no squashfs: name the file of the system, on most media "
				  "'filesystem.squashfs'", s->name);
	s->layer_count = 1;
	(void)snprintf(s->layout, sizeof(s->layout), "squashfs");
	return 0;
}

int livesource_find(const struct livesource_params *par, struct livesource *ret, struct err *e)
{
	int code;

	memset(ret, 0, sizeof(*ret));
	if (par->iso && par->iso[0])
		code = find_in_iso(par, ret, e);
	else if (par->squashfs && par->squashfs[0])
		code = find_squashfs(par, ret, e);
	else
		code = find_running(par, ret, e);
	if (code)
		(void)livesource_close(ret, NULL); /* the first error counts */
	return code;
}

/* ---- the tree ---- */

/* Top first. The names of its folders are ours but for work's, which must not have what separates them. */
static int mount_overlay(const struct livesource_params *par, struct livesource *s, char folders[][PATH_MAX], struct err *e)
{
	char options[LIVESOURCE_LAYERS_MAX * 64 + PATH_MAX] = "ro,nodev,nosuid,lowerdir=";
	size_t used = strlen(options);

	for (size_t i = s->layer_count; i > 0; i--) {
		int n = snprintf(options + used, sizeof(options) - used, "%s%s", folders[i - 1], i > 1 ? ":" : "");

		if (strpbrk(folders[i - 1], ",:\\\"") || n < 0 || (size_t)n >= sizeof(options) - used)
			return err_set(e, -EINVAL, "'%s': its name is too long, or has a character that overlayfs does not take",
				       folders[i - 1]);
		used += (size_t)n;
	}
	return livesource_put(s, par->work, "tree", "overlay", "overlay", options, s->tree, e);
}

static int mount_layers(const struct livesource_params *par, struct livesource *s, struct err *e)
{
	char (*folders)[PATH_MAX] = calloc(LIVESOURCE_LAYERS_MAX, sizeof(*folders));
	int code = folders ? 0 : err_set(e, -ENOMEM, "'%s': out of memory", s->name);

	for (size_t i = 0; !code && i < s->layer_count; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "layer-%zu", i); /* it fits */
		code = livesource_put(s, par->work, name, s->layers[i], "squashfs", "loop,ro,nodev,nosuid", folders[i], e);
	}
	if (!code && s->layer_count == 1)
		memcpy(s->tree, folders[0], sizeof(s->tree));
	else if (!code)
		code = mount_overlay(par, s, folders, e);
	free(folders);
	return code;
}

int livesource_mount(const struct livesource_params *par, struct livesource *s, struct err *e)
{
	int code = mount_layers(par, s, e);

	return code ? code : livesource_describe(s, e);
}
