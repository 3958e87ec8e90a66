/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mapfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#define MAPFILE_START "wubi-map " /* of every version: a newer program's map may be replaced, too */

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

static int refuse_other_kind(const char *what, const char *path, mode_t mode, struct err *e)
{
	return err_set(e, S_ISDIR(mode) ? -EISDIR : -EINVAL, "%s'%s' is not a regular file", what, path);
}

/* O_NONBLOCK: a FIFO's open would wait for a writer, a tape's would rewind. */
static int open_regular(const char *what, const char *path, int *ret_fd, struct err *e)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return err_errno(e, "%s'%s': open", what, path);
	if (fstat(fd, &st) < 0)
		return err_errno(e, "%s'%s'", what, path);
	if (!S_ISREG(st.st_mode))
		return refuse_other_kind(what, path, st.st_mode, e);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int mapfile_read(const char *path, struct map **ret, struct err *e)
{
	AUTO_FD int fd = -1;
	AUTO_FREE char *text = NULL;
	struct err inner = ERR_INIT;
	size_t n = 0;
	int r;

	r = open_regular("map ", path, &fd, e);
	if (r < 0)
		return r;
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

/* The folder of a path, in a buffer: nothing may run out of memory between two steps of a publication. */
static int parent_folder(const char *path, char ret[PATH_MAX], struct err *e)
{
	const char *slash = strrchr(path, '/');
	size_t n = 1;

	if (slash && slash != path)
		n = (size_t)(slash - path);
	if (n >= PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "'%s': %s", path, strerror(ENAMETOOLONG));
	memcpy(ret, slash ? path : ".", n);
	ret[n] = '\0';
	return 0;
}

/* The file below the volume if that is a loop device or a partition of one. */
static bool is_backing_file(const char *volume, const struct stat *st)
{
	AUTO_FD int fd = open(volume, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct loop_info64 info = { 0 };

	return fd >= 0 && ioctl(fd, LOOP_GET_STATUS64, &info) == 0 && info.lo_device == st->st_dev &&
	       info.lo_inode == st->st_ino;
}

/* A volume that cannot be looked at cannot be opened either: whoever opens it tells. */
static int refuse_volume(const char *path, const struct stat *st, const char *volume, struct err *e)
{
	struct stat vol;
	bool same;

	if (!volume || stat(volume, &vol) < 0)
		return 0;
	same = vol.st_dev == st->st_dev && vol.st_ino == st->st_ino;
	if (S_ISBLK(vol.st_mode) && S_ISBLK(st->st_mode))
		same = same || vol.st_rdev == st->st_rdev; /* two nodes of one device */
	else if (S_ISBLK(vol.st_mode) && S_ISREG(st->st_mode))
		same = is_backing_file(volume, st);
	if (!same)
		return 0;
	return err_refuse(e, "map-file",
			  "'%s' is the volume '%s' itself, and a map in its place would destroy it; name "
			  "another file for the map",
			  path, volume);
}

/* Only a map, or an empty file as mktemp(1) makes one, may be replaced. */
static int refuse_somebodys_file(const char *target, struct err *e)
{
	AUTO_FD int fd = -1;
	char start[sizeof(MAPFILE_START) - 1];
	size_t n = 0;
	int r = open_regular("", target, &fd, e);

	if (r < 0)
		return r;
	while (n < sizeof(start)) {
		ssize_t got = read(fd, start + n, sizeof(start) - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(e, "'%s': read", target);
		if (got == 0)
			break;
		n += (size_t)got;
	}
	if (n == 0 || (n == sizeof(start) && memcmp(start, MAPFILE_START, n) == 0))
		return 0;
	return err_refuse(e, "map-file",
			  "'%s' exists and is not a map, so writing a map there would destroy somebody's file; "
			  "name another file for the map",
			  target);
}

/*
 * What to replace: a symbolic link is followed, or rename() would replace the link. Only a regular
 * file may be replaced: '--output /dev/stdout' run by root must not leave a file where a device
 * was. *ret is the caller's, free().
 */
static int resolve_target(const char *path, const char *volume, char **ret, struct err *e)
{
	AUTO_FREE char *target = NULL;
	struct stat st;
	bool exists;
	int r;

	if (path[0] == '\0' || path[strlen(path) - 1] == '/')
		return err_set(e, -EISDIR, "'%s' is not the name of a file", path);
	exists = lstat(path, &st) == 0;
	if (!exists && errno != ENOENT)
		return err_errno(e, "'%s'", path);
	target = exists && S_ISLNK(st.st_mode) ? realpath(path, NULL) : strdup(path);
	if (!target || (exists && stat(target, &st) < 0))
		return err_errno(e, "'%s'", path);
	if (exists) {
		r = refuse_volume(path, &st, volume, e);
		if (r == 0 && !S_ISREG(st.st_mode))
			r = refuse_other_kind("", path, st.st_mode, e);
		if (r == 0)
			r = refuse_somebodys_file(target, e);
		if (r < 0)
			return r;
	}
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

/* On error the temp file is left for the caller. */
static int fill_temp(int temp_fd, const char *target, const char *text, size_t n, struct err *e)
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

static int stage_text(const char *path, const char *text, size_t n, struct mapfile_pending *ret, struct err *e)
{
	AUTO_FREE char *target = NULL;
	AUTO_FREE char *temp = NULL;
	int fd;
	int r = resolve_target(path, NULL, &target, e);

	if (r < 0)
		return r;
	if (asprintf(&temp, "%s.XXXXXX", target) < 0) {
		temp = NULL; /* asprintf leaves it undefined */
		return err_set(e, -ENOMEM, "'%s': out of memory", path);
	}
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "'%s': a temporary file beside it", target);
	r = fill_temp(fd, target, text, n, e);
	if (r < 0) {
		(void)unlink(temp); /* the error that counts is the one above */
		return r;
	}
	ret->target = TAKE(target);
	ret->temp = TAKE(temp);
	return 0;
}

int mapfile_stage(const char *path, const struct map *m, struct mapfile_pending *ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t n = 0;
	int r = map_format(m, &text, &n, e);

	if (r == 0)
		r = stage_text(path, text, n, ret, e);
	if (r < 0)
		return err_wrap(e, r, "map '%s'", m->name);
	return 0;
}

int mapfile_publish(struct mapfile_pending *p, struct err *e)
{
	char folder[PATH_MAX];
	int r;

	if (!p->temp)
		return 0;
	r = parent_folder(p->target, folder, e);
	if (r < 0)
		return r;
	if (rename(p->temp, p->target) < 0)
		return err_errno(e, "'%s': rename", p->target);
	free(TAKE(p->temp)); /* from here on the name may be somebody else's: drop must not unlink it */
	r = sync_folder(folder, e);
	if (r < 0)
		return r;
	free(TAKE(p->target));
	return 0;
}

void mapfile_drop(struct mapfile_pending *p)
{
	if (p->temp)
		(void)unlink(p->temp); /* a file that stays is only litter, and its name tells whose */
	free(TAKE(p->temp));
	free(TAKE(p->target));
}

int mapfile_write(const char *path, const struct map *m, struct err *e)
{
	struct mapfile_pending pending = { 0 };
	int r = mapfile_stage(path, m, &pending, e);

	if (r == 0)
		r = mapfile_publish(&pending, e);
	mapfile_drop(&pending);
	return r;
}

int mapfile_check_writable(const char *path, const char *volume, struct err *e)
{
	AUTO_FREE char *target = NULL;
	char folder[PATH_MAX];
	struct stat st;
	int r = resolve_target(path, volume, &target, e);

	if (r == 0)
		r = parent_folder(target, folder, e);
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
