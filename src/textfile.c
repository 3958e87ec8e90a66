/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"

#define LINKS_MAX 40 /* as the kernel */
#define FILE_MODE 0644
#define FOLDER_MODE 0755

static int other_kind(const char *path, mode_t mode, struct err *e)
{
	return err_set(e, S_ISDIR(mode) ? -EISDIR : -EINVAL, "'%s' is not a regular file", path);
}

/* Files of /proc have no size: read until nothing comes. */
static int read_whole(int fd, const char *path, char **ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t capacity = 0, n = 0;

	for (;;) {
		ssize_t got;

		if (n + 1 >= capacity) {
			char *moved = realloc(text, capacity ? capacity * 2 : 4096);

			if (!moved)
				return err_set(e, -ENOMEM, "'%s': out of memory", path);
			text = moved;
			capacity = capacity ? capacity * 2 : 4096;
		}
		got = read(fd, text + n, capacity - 1 - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(e, "'%s': read", path);
		if (got == 0)
			break;
		n += (size_t)got;
		if (n > TEXTFILE_MAX_BYTES)
			return err_set(e, -EFBIG, "'%s' is larger than %u bytes, which is no file of settings", path,
				       TEXTFILE_MAX_BYTES);
	}
	if (memchr(text, '\0', n))
		return err_set(e, -EINVAL, "'%s' has a NUL byte, so it is no text", path);
	text[n] = '\0';
	*ret = TAKE(text);
	return 0;
}

int textfile_read(const char *path, char **ret, struct err *e)
{
	/* O_NONBLOCK: the open of a FIFO would wait for a writer */
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "'%s'", path);
	if (!S_ISREG(st.st_mode))
		return other_kind(path, st.st_mode, e);
	return read_whole(fd, path, ret, e);
}

static int too_long(const char *path, struct err *e)
{
	return err_set(e, -ENAMETOOLONG, "'%.300s': %s", path, strerror(ENAMETOOLONG));
}

/* Up to the last slash; *ret_name is what follows it. */
static int split_path(const char *path, char ret_folder[PATH_MAX], const char **ret_name, struct err *e)
{
	const char *slash = strrchr(path, '/');
	size_t n = 1;

	if (slash && slash != path)
		n = (size_t)(slash - path);
	if (n >= PATH_MAX)
		return too_long(path, e);
	memcpy(ret_folder, slash ? path : ".", n);
	ret_folder[n] = '\0';
	*ret_name = slash ? slash + 1 : path;
	return **ret_name ? 0 : err_set(e, -EISDIR, "'%s' is not the name of a file", path);
}

/* By hand and not by realpath(): the file that a link names need not be there yet, nor its folder. */
static int follow_links(const char *path, char ret[PATH_MAX], struct err *e)
{
	char folder[PATH_MAX], to[PATH_MAX];
	const char *name;

	if (snprintf(ret, PATH_MAX, "%s", path) >= PATH_MAX)
		return too_long(path, e);
	for (int i = 0; i < LINKS_MAX; i++) {
		ssize_t n = readlink(ret, to, sizeof(to) - 1);
		int code;

		if (n < 0 && (errno == EINVAL || errno == ENOENT))
			return 0;
		if (n < 0)
			return err_errno(e, "'%s'", ret);
		to[n] = '\0';
		code = to[0] == '/' ? 0 : split_path(ret, folder, &name, e);
		if (code)
			return code;
		if ((to[0] == '/' ? snprintf(ret, PATH_MAX, "%s", to) : snprintf(ret, PATH_MAX, "%s/%s", folder, to)) >= PATH_MAX)
			return too_long(path, e);
	}
	return err_set(e, -ELOOP, "'%s': %s", path, strerror(ELOOP));
}

static int refuse_step(int problem)
{
	errno = problem;
	return -1;
}

/* One step of the walk: the link at root + at, if it is one, goes before the rest of the way. 1: it was one; -1 with errno. */
static int follow_link(const char *root, char at[PATH_MAX], char rest[PATH_MAX])
{
	char path[2 * PATH_MAX], to[PATH_MAX], old[PATH_MAX];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s%s", root, at);
	n = readlink(path, to, sizeof(to) - 1);
	if (n < 0) /* what is not there has no links, and is for the caller to find */
		return errno == EINVAL || errno == ENOENT || errno == ENOTDIR ? 0 : -1;
	to[n] = '\0';
	(void)snprintf(old, sizeof(old), "%s", rest);
	if (snprintf(rest, PATH_MAX, "%s/%s", to, old) >= PATH_MAX)
		return refuse_step(ENAMETOOLONG);
	*(to[0] == '/' ? at : strrchr(at, '/')) = '\0';
	return 1;
}

/* By hand: openat2() is not in every container's filter, nor in valgrind 3.19. */
int textfile_resolve(const char *root, const char *path, char ret[PATH_MAX])
{
	char at[PATH_MAX] = "", rest[PATH_MAX];
	int links = 0;

	if (!root[0])
		return snprintf(ret, PATH_MAX, "%s", path) < PATH_MAX ? 0 : refuse_step(ENAMETOOLONG);
	if (snprintf(rest, sizeof(rest), "%s", path) >= (int)sizeof(rest))
		return refuse_step(ENAMETOOLONG);
	while (rest[strspn(rest, "/")]) {
		char *name = rest + strspn(rest, "/");
		size_t n = strcspn(name, "/"), used = strlen(at);
		bool is_up = n == 2 && memcmp(name, "..", 2) == 0;
		int r = 0;

		if (is_up && used)
			*strrchr(at, '/') = '\0';
		if (!is_up && !(n == 1 && name[0] == '.') &&
		    snprintf(at + used, sizeof(at) - used, "/%.*s", (int)n, name) >= (int)(sizeof(at) - used))
			return refuse_step(ENAMETOOLONG);
		memmove(rest, name + n, strlen(name + n) + 1);
		if (strlen(at) > used)
			r = follow_link(root, at, rest);
		if (r < 0 || (r > 0 && ++links > LINKS_MAX))
			return r < 0 ? -1 : refuse_step(ELOOP);
	}
	return snprintf(ret, PATH_MAX, "%s%s", root, at) < PATH_MAX ? 0 : refuse_step(ENAMETOOLONG);
}

static int sync_folder(const char *folder, struct err *e)
{
	AUTO_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return err_errno(e, "folder '%s': fsync", folder);
	return 0;
}

static int make_folder(const char *folder, struct err *e)
{
	char parent[PATH_MAX];
	const char *name;
	int code;

	if (mkdir(folder, FOLDER_MODE) < 0)
		return errno == EEXIST ? 0 : err_errno(e, "make the folder '%s'", folder);
	if (chmod(folder, FOLDER_MODE) < 0) /* whatever the umask is */
		return err_errno(e, "folder '%s'", folder);
	code = split_path(folder, parent, &name, e);
	return code ? code : sync_folder(parent, e);
}

static int make_folders(const char *folder, struct err *e)
{
	char part[PATH_MAX];
	struct stat st;
	int code = 0;

	if (stat(folder, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : err_set(e, -ENOTDIR, "'%s' is not a folder", folder);
	if (errno != ENOENT)
		return err_errno(e, "folder '%s'", folder);
	for (size_t n = 1; !code && folder[n - 1]; n++) {
		bool is_end = folder[n] == '/' || folder[n] == '\0';

		if (!is_end || folder[n - 1] == '/')
			continue;
		memcpy(part, folder, n);
		part[n] = '\0';
		code = make_folder(part, e);
	}
	return code;
}

static int write_all(int fd, const char *text)
{
	size_t n = strlen(text);

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

/* old: what is there now, of which owner and mode stay; st_nlink is 0 if nothing is. */
static int fill_temp(int temp_fd, const char *target, const struct stat *old, const char *text, struct err *e)
{
	AUTO_FD int fd = temp_fd;
	struct stat st;

	if (write_all(fd, text) < 0)
		return err_errno(e, "'%s': write", target);
	if (fstat(fd, &st) < 0)
		return err_errno(e, "'%s'", target);
	if (old->st_nlink && (old->st_uid != st.st_uid || old->st_gid != st.st_gid) && fchown(fd, old->st_uid, old->st_gid) < 0)
		return err_errno(e, "'%s': keep its owner", target);
	if (fchmod(fd, old->st_nlink ? old->st_mode & 07777 : FILE_MODE) < 0)
		return err_errno(e, "'%s': mode", target);
	if (fsync(fd) < 0)
		return err_errno(e, "'%s': fsync", target);
	if (close(TAKE_FD(fd)) < 0)
		return err_errno(e, "'%s': close", target);
	return 0;
}

/*
 * A name that begins with a dot and does not end as the target's: neither sysctl.d nor grub.d reads what a killed process leaves.
 */
static int replace(const char *target, const struct stat *old, const char *text, struct err *e)
{
	char folder[PATH_MAX], temp[PATH_MAX];
	const char *name;
	int code = split_path(target, folder, &name, e);
	int fd;

	if (!code)
		code = make_folders(folder, e);
	if (code)
		return code;
	if (snprintf(temp, sizeof(temp), "%s/.%s.XXXXXX", folder, name) >= (int)sizeof(temp))
		return too_long(target, e);
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "'%s': a temporary file beside it", target);
	code = fill_temp(fd, target, old, text, e);
	if (!code && rename(temp, target) < 0)
		code = err_errno(e, "'%s': rename", target);
	if (code) {
		(void)unlink(temp); /* the error that counts is the one above */
		return code;
	}
	return sync_folder(folder, e);
}

int textfile_write(const char *path, const char *text, struct err *e)
{
	char target[PATH_MAX];
	struct stat old = { 0 };
	int code = follow_links(path, target, e);

	if (code)
		return code;
	if (lstat(target, &old) < 0 && errno != ENOENT)
		return err_errno(e, "'%s'", target);
	/* a link to /dev/null is how sysctl.d files are masked: a rename would leave a file where the device was */
	if (old.st_nlink && !S_ISREG(old.st_mode))
		return other_kind(target, old.st_mode, e);
	return replace(target, &old, text, e);
}

int textfile_remove(const char *path, struct err *e)
{
	char folder[PATH_MAX];
	const char *name;
	int code = split_path(path, folder, &name, e);

	if (code)
		return code;
	if (unlink(path) < 0 && errno != ENOENT)
		return err_errno(e, "remove '%s'", path);
	/* also when it was not there: who removed it may have been killed before this */
	return access(folder, F_OK) < 0 && errno == ENOENT ? 0 : sync_folder(folder, e);
}
