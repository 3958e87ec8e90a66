/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of the target: every path goes through textfile_resolve(), so that its links lead to files of its own. */
#include "target_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "textfile.h"

#define FOLDERS_OPEN_MAX 16
#define BLOCK_BYTES (1U << 20)

static int too_long(const char *path, struct err *e)
{
	return err_set(e, -ENAMETOOLONG, "'%.300s': %s", path, strerror(ENAMETOOLONG));
}

int target_path(const struct target *t, const char *path, char ret[PATH_MAX], struct err *e)
{
	return textfile_resolve(t->root, path, ret) ? err_errno(e, "'%s' of '%s'", path, t->root) : 0;
}

bool target_has(const struct target *t, const char *path)
{
	char resolved[PATH_MAX];

	return textfile_resolve(t->root, path, resolved) == 0 && access(resolved, F_OK) == 0;
}

int target_read(const struct target *t, const char *path, char **ret, struct err *e)
{
	char resolved[PATH_MAX];
	struct err why = ERR_INIT;
	int code = target_path(t, path, resolved, e);

	if (code)
		return code;
	*ret = NULL;
	code = textfile_read(resolved, ret, &why);
	if (code == -ENOENT)
		return 0;
	return code ? err_set(e, code, "%s", why.text) : 0;
}

int target_write(const struct target *t, const char *path, const char *text, struct err *e)
{
	char resolved[PATH_MAX];
	int code = target_path(t, path, resolved, e);

	if (code)
		return code;
	return text ? textfile_write(resolved, text, e) : err_set(e, -ENOMEM, "'%s': out of memory", resolved);
}

int target_own_path(const struct target *t, const char *path, char ret[PATH_MAX], struct err *e)
{
	char folder[PATH_MAX], resolved[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int code;

	if (snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path) >= (int)sizeof(folder))
		return too_long(path, e);
	code = target_path(t, folder, resolved, e);
	if (code)
		return code;
	return snprintf(ret, PATH_MAX, "%s%s", resolved, slash) < PATH_MAX ? 0 : too_long(path, e);
}

int target_remove(const struct target *t, const char *path, struct err *e)
{
	char own[PATH_MAX];
	int code = target_own_path(t, path, own, e);

	return code ? code : textfile_remove(own, e);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)at;
	return kind == FTW_DP ? rmdir(path) : unlink(path);
}

int target_remove_tree(const struct target *t, const char *path, struct err *e)
{
	char own[PATH_MAX];
	int code = target_own_path(t, path, own, e);

	if (code)
		return code;
	if (nftw(own, remove_one, FOLDERS_OPEN_MAX, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) && errno != ENOENT)
		return err_errno(e, "remove '%s'", own);
	return 0;
}

int target_make_folder(const struct target *t, const char *path, struct err *e)
{
	char resolved[PATH_MAX];
	size_t n = strlen(t->root);
	int code = target_path(t, path, resolved, e);

	while (!code && resolved[n]) {
		size_t end = n + 1 + strcspn(resolved + n + 1, "/");
		char kept = resolved[end];

		resolved[end] = '\0';
		if (mkdir(resolved, 0755) < 0 && errno != EEXIST)
			return err_errno(e, "make the folder '%s'", resolved);
		resolved[end] = kept;
		n = end;
	}
	return code;
}

int target_for_each_in(struct target *t, const char *folder,
		       int (*fn)(struct target *t, const char *path, struct err *e), struct err *e)
{
	char resolved[PATH_MAX], path[PATH_MAX];
	struct dirent *d;
	DIR *dir;
	int code = target_path(t, folder, resolved, e);

	if (code)
		return code;
	dir = opendir(resolved);
	if (!dir)
		return errno == ENOENT || errno == ENOTDIR ? 0 : err_errno(e, "folder '%s'", resolved);
	while (!code && (d = readdir(dir)))
		if (d->d_name[0] != '.' && snprintf(path, sizeof(path), "%s/%s", folder, d->d_name) < (int)sizeof(path))
			code = fn(t, path, e);
	(void)closedir(dir); /* it was only read */
	return code;
}

static int copy_bytes(int from, int to, const char *name, const char *target, struct err *e)
{
	AUTO_FREE char *block = malloc(BLOCK_BYTES);
	ssize_t n;

	if (!block)
		return err_set(e, -ENOMEM, "copy '%s': out of memory", name);
	while ((n = read(from, block, BLOCK_BYTES)) != 0) {
		if (n < 0)
			return err_errno(e, "read '%s'", name);
		for (ssize_t done = 0, put; done < n; done += put) {
			put = write(to, block + done, (size_t)(n - done));
			if (put < 0)
				return err_errno(e, "write '%s'", target);
		}
	}
	return fsync(to) < 0 ? err_errno(e, "'%s': fsync", target) : 0;
}

int target_copy_in(const struct target *t, const char *from, const char *path, struct err *e)
{
	AUTO_FD int source = open(from, O_RDONLY | O_CLOEXEC);
	AUTO_FD int fd = -1;
	char own[PATH_MAX];
	int code;

	if (source < 0)
		return err_errno(e, "'%s'", from);
	code = target_own_path(t, path, own, e);
	if (code)
		return code;
	if (unlink(own) < 0 && errno != ENOENT)
		return err_errno(e, "replace '%s'", own);
	fd = open(own, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_errno(e, "'%s'", own);
	code = copy_bytes(source, fd, from, own, e);
	if (!code && close(TAKE_FD(fd)) < 0)
		code = err_errno(e, "'%s': close", own);
	if (code)
		(void)unlink(own); /* the first error counts */
	return code;
}
