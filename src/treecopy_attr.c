/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Owner, mode, extended attributes and times of one thing. */
#include "treecopy_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#include "auto.h"

struct side {
	int fd;           /* -1: by the path */
	const char *path; /* from the root of all */
};

/*
 * What belongs to the place and not to the file: labels are given by the installed system's policy, overlayfs and EVM write about
 * inodes of the source.
 */
static bool is_of_the_place(const char *name)
{
	static const char *const left[] = { "security.selinux", "security.evm", "trusted.overlay.", "user.overlay." };

	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
		size_t n = strlen(left[i]);

		if (strncmp(name, left[i], n) == 0 && (left[i][n - 1] == '.' || name[n] == '\0'))
			return true;
	}
	return strncmp(name, "system.", 7) == 0 && strncmp(name, "system.posix_acl_", 17) != 0;
}

static ssize_t list_names(const struct side *s, char *list, size_t n)
{
	return s->fd >= 0 ? flistxattr(s->fd, list, n) : llistxattr(s->path, list, n);
}

static int copy_one(struct treecopy_job *j, const char *path, const struct side *from, const struct side *to, const char *name)
{
	AUTO_FREE char *value = malloc(XATTR_SIZE_MAX);
	ssize_t n;

	if (!value)
		return treecopy_fail(j, -ENOMEM, "out of memory");
	n = from->fd >= 0 ? fgetxattr(from->fd, name, value, XATTR_SIZE_MAX) : lgetxattr(from->path, name, value, XATTR_SIZE_MAX);
	if (n < 0)
		return treecopy_source_error(j, path, NULL, name);
	if ((to->fd >= 0 ? fsetxattr(to->fd, name, value, (size_t)n, 0) : lsetxattr(to->path, name, value, (size_t)n, 0)) < 0)
		return treecopy_target_error(j, path, NULL, name);
	return 0;
}

static int copy_xattrs(struct treecopy_job *j, const char *path, const struct side *from, const struct side *to)
{
	AUTO_FREE char *large = NULL;
	char small[1024], *list = small;
	ssize_t n = list_names(from, small, sizeof(small));

	if (n < 0 && errno == ENOTSUP) /* this file system has none */
		return 0;
	if (n < 0 && errno == ERANGE) {
		list = large = malloc(XATTR_LIST_MAX);
		if (!large)
			return treecopy_fail(j, -ENOMEM, "out of memory");
		n = list_names(from, large, XATTR_LIST_MAX);
	}
	if (n < 0)
		return treecopy_source_error(j, path, NULL, "extended attributes");
	for (const char *name = list; name < list + n; name += strlen(name) + 1) {
		int code = is_of_the_place(name) ? 0 : copy_one(j, path, from, to, name);

		if (code)
			return code;
	}
	return 0;
}

/*
 * The owner first: a change of it clears setuid bits and capabilities. Then the mode, and after it the ACL, which is a finer one.
 */
int treecopy_attr_copy(struct treecopy_job *j, const char *path, const struct stat *st, int source_fd, int target_fd)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	char from_path[PATH_MAX], to_path[PATH_MAX];
	const struct side from = { source_fd, from_path }, to = { target_fd, to_path };
	const char *name = path[0] ? path + 1 : ".";
	mode_t mode = st->st_mode & 07777;
	int code;

	if (source_fd < 0 && (snprintf(from_path, sizeof(from_path), "%s%s", j->source, path) >= (int)sizeof(from_path) ||
			      snprintf(to_path, sizeof(to_path), "%s%s", j->target, path) >= (int)sizeof(to_path)))
		return treecopy_fail(j, -ENAMETOOLONG, "'%.300s' of '%s': %s", path, j->source, strerror(ENAMETOOLONG));
	if ((target_fd >= 0 ? fchown(target_fd, st->st_uid, st->st_gid) :
			      fchownat(j->target_fd, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW)) < 0)
		return treecopy_target_error(j, path, NULL, "owner");
	if (!S_ISLNK(st->st_mode) && (target_fd >= 0 ? fchmod(target_fd, mode) : fchmodat(j->target_fd, name, mode, 0)) < 0)
		return treecopy_target_error(j, path, NULL, "mode");
	code = copy_xattrs(j, path, &from, &to);
	if (code)
		return code;
	if ((target_fd >= 0 ? futimens(target_fd, times) : utimensat(j->target_fd, name, times, AT_SYMLINK_NOFOLLOW)) < 0)
		return treecopy_target_error(j, path, NULL, "times");
	return 0;
}
