/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is remembered of a run that did not end well. */
#include "maprefresh_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"

#define MARK "map-refresh.unfinished"

int maprefresh_mark_path(const struct maprefresh_params *par, char ret[PATH_MAX], struct err *e)
{
	int n = snprintf(ret, PATH_MAX, "%s/" MARK, par->state);

	return n > 0 && n < PATH_MAX ? 0 : err_set(e, -ENAMETOOLONG, "'%.300s': %s", par->state, strerror(ENAMETOOLONG));
}

bool maprefresh_mark_read(const char *mark, unsigned *ret_tries)
{
	FILE *f = fopen(mark, "re");

	*ret_tries = 0;
	if (!f)
		return access(mark, F_OK) == 0;
	if (fscanf(f, "tries %9u", ret_tries) != 1)
		*ret_tries = 0;
	(void)fclose(f); /* it was only read */
	return true;
}

static bool is_newer(const char *path, const struct timespec *than)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	return st.st_mtim.tv_sec != than->tv_sec ? st.st_mtim.tv_sec > than->tv_sec : st.st_mtim.tv_nsec > than->tv_nsec;
}

/* The images' folder changes when a kernel comes, and when an old one goes and leaves its space. */
bool maprefresh_mark_is_old(const struct maprefresh_params *par, const struct maprefresh_plan *p, const char *mark)
{
	struct stat st;

	if (stat(mark, &st))
		return true;
	for (size_t i = 0; i < p->count; i++)
		if (is_newer(p->items[i].path, &st.st_mtim))
			return true;
	return is_newer(par->maps, &st.st_mtim) || is_newer(par->boot, &st.st_mtim) || is_newer(par->modules, &st.st_mtim);
}

static int sync_folder(const char *folder, struct err *e)
{
	AUTO_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd))
		return err_errno(e, "folder '%s'", folder);
	return 0;
}

int maprefresh_mark_set(const struct maprefresh_params *par, const char *mark, unsigned tries, struct err *e)
{
	AUTO_FD int fd = -1;
	char text[32];
	ssize_t n = snprintf(text, sizeof(text), "tries %u\n", tries);

	if (mkdir(par->state, 0755) && errno != EEXIST)
		return err_errno(e, "make the folder '%s'", par->state);
	fd = open(mark, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_errno(e, "'%s'", mark);
	errno = ENOSPC; /* what a short write means */
	if (write(fd, text, (size_t)n) != n || fsync(fd))
		return err_errno(e, "'%s'", mark);
	return sync_folder(par->state, e);
}

int maprefresh_mark_remove(const struct maprefresh_params *par, const char *mark, struct err *e)
{
	if (unlink(mark) && errno != ENOENT)
		return err_errno(e, "'%s'", mark);
	return sync_folder(par->state, e);
}
