/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mapfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Reads to the end, but not far beyond the longest map, which map_parse() then refuses. */
static int read_whole(int fd, const char *path, char **ret_text, size_t *ret_n, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t capacity = 0;
	size_t n = 0;

	while (n <= MAP_TEXT_MAX) {
		ssize_t got;

		if (n == capacity) {
			size_t wider = capacity ? capacity * 2 : 16384;
			char *moved = realloc(text, wider);

			if (!moved)
				return err_set(e, -ENOMEM, "map '%s': out of memory", path);
			text = moved;
			capacity = wider;
		}
		got = read(fd, text + n, capacity - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(e, "map '%s': read", path);
		if (got == 0)
			break;
		n += (size_t)got;
	}
	*ret_n = n;
	*ret_text = TAKE(text);
	return 0;
}

int mapfile_read(const char *path, struct map **ret, struct err *e)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	struct err inner = ERR_INIT;
	size_t n = 0;
	int r;

	if (fd < 0)
		return err_errno(e, "map '%s': open", path);
	r = read_whole(fd, path, &text, &n, e);
	if (r < 0)
		return r;
	r = map_parse(text, n, ret, &inner);
	if (r == -EINVAL)
		return err_refuse(e, "invalid-map",
				  "map '%s' cannot be trusted: %s; writing through it could "
				  "destroy Windows files; "
				  "take another copy of the map, or derive it anew with 'wubi-disk "
				  "map'",
				  path, inner.text);
	if (r < 0)
		return err_set(e, r, "map '%s': %s", path, inner.text);
	return 0;
}

/* The folder of a path. *ret is the caller's, free(). */
static int parent_folder(const char *path, char **ret, struct err *e)
{
	const char *slash = strrchr(path, '/');
	char *folder;

	if (!slash)
		folder = strdup(".");
	else
		folder = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (!folder)
		return err_set(e, -ENOMEM, "'%s': out of memory", path);
	*ret = folder;
	return 0;
}

/*
 * What to replace: a symbolic link is followed, or rename() would replace the link. Only a regular
 * file may be replaced: '--output /dev/stdout' run by root must not leave a file where a device
 * was. *ret is the caller's, free().
 */
static int resolve_target(const char *path, char **ret, struct err *e)
{
	AUTO_FREE char *target = NULL;
	struct stat st = { .st_mode =
				   S_IFREG }; /* one that is not there yet will be a regular file */

	if (path[0] == '\0' || path[strlen(path) - 1] == '/')
		return err_set(e, -EISDIR, "'%s' is not the name of a file", path);
	if (lstat(path, &st) < 0 && errno != ENOENT)
		return err_errno(e, "'%s'", path);
	target = S_ISLNK(st.st_mode) ? realpath(path, NULL) : strdup(path);
	if (!target || (S_ISLNK(st.st_mode) && stat(target, &st) < 0))
		return err_errno(e, "'%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL,
			       "'%s' is not a regular file", path);
	*ret = TAKE(target);
	return 0;
}

static int write_all(int fd, const char *text, size_t n)
{
	while (n > 0) {
		ssize_t put = write(fd, text, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -1;
		text += put;
		n -= (size_t)put;
	}
	return 0;
}

/* Everything up to the rename; on error the temp file may be left for the caller. */
static int fill_and_rename(int temp_fd, const char *temp, const char *target, const char *text,
			   size_t n, struct err *e)
{
	AUTO_FD int fd = temp_fd;

	if (write_all(fd, text, n) < 0)
		return err_errno(e, "'%s': write", target);
	/* mkostemp() makes 0600. Fails where there are no modes (the ESP): nothing is lost. */
	(void)fchmod(fd, 0644);
	if (fsync(fd) < 0)
		return err_errno(e, "'%s': fsync", target);
	if (close(TAKE_FD(fd)) < 0)
		return err_errno(e, "'%s': close", target);
	if (rename(temp, target) < 0)
		return err_errno(e, "'%s': rename", target);
	return 0;
}

static int sync_folder(const char *folder, struct err *e)
{
	AUTO_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(e, "folder '%s': open", folder);
	if (fsync(fd) < 0)
		return err_errno(e, "folder '%s': fsync", folder);
	return 0;
}

int mapfile_write_text(const char *path, const char *text, size_t n, struct err *e)
{
	AUTO_FREE char *target = NULL;
	AUTO_FREE char *folder = NULL;
	AUTO_FREE char *temp = NULL;
	int fd;
	int r = resolve_target(path, &target, e);

	if (r == 0)
		r = parent_folder(target, &folder, e);
	if (r < 0)
		return r;
	if (asprintf(&temp, "%s.XXXXXX", target) < 0) {
		temp = NULL; /* asprintf leaves it undefined */
		return err_set(e, -ENOMEM, "'%s': out of memory", path);
	}
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "'%s': a temporary file beside it", target);
	r = fill_and_rename(fd, temp, target, text, n, e);
	if (r < 0) {
		(void)unlink(temp); /* the error that counts is the one above */
		return r;
	}
	return sync_folder(folder, e);
}

int mapfile_write(const char *path, const struct map *m, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t n = 0;
	int r = map_format(m, &text, &n, e);

	if (r == 0)
		r = mapfile_write_text(path, text, n, e);
	if (r < 0)
		return err_wrap(e, r, "map '%s'", m->name);
	return 0;
}

int mapfile_check_writable(const char *path, struct err *e)
{
	AUTO_FREE char *target = NULL;
	AUTO_FREE char *folder = NULL;
	struct stat st;
	int r = resolve_target(path, &target, e);

	if (r == 0)
		r = parent_folder(target, &folder, e);
	if (r < 0)
		return r;
	if (stat(folder, &st) < 0)
		return err_errno(e, "'%s': folder '%s'", path, folder);
	if (!S_ISDIR(st.st_mode))
		return err_set(e, -ENOTDIR, "'%s': '%s' is not a folder", path, folder);
	if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) < 0)
		return err_errno(e, "'%s': folder '%s'", path, folder);
	return 0;
}
