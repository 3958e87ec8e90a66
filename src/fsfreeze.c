/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fsfreeze.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "auto.h"

/*
 * Between the two calls nothing is done that could need the file system: no memory is asked for and nothing is written.
 * mlockall() has brought in every page, those of the C library that were never used among them. An errno, or 0; *ret_thaw is
 * that of thawing.
 */
static int freeze_and_thaw(int fd, int *ret_thaw)
{
	int r;

	do
		r = ioctl(fd, FIFREEZE, 0);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return errno;
	do
		r = ioctl(fd, FITHAW, 0);
	while (r < 0 && errno == EINTR);
	*ret_thaw = r < 0 && errno != EINVAL ? errno : 0; /* EINVAL: somebody else has thawed it */
	return 0;
}

/* Signals wait until it is thawed, but for SIGKILL. */
static int flush_locked(int fd, int *ret_thaw)
{
	sigset_t all, old;
	int problem;

	(void)sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, &old) < 0)
		return errno;
	if (mlockall(MCL_CURRENT) < 0) {
		problem = errno;
	} else {
		problem = freeze_and_thaw(fd, ret_thaw);
		(void)munlockall(); /* cannot fail on what is locked */
	}
	(void)sigprocmask(SIG_SETMASK, &old, NULL); /* it was valid */
	return problem;
}

int fsfreeze_flush(const char *folder, struct err *e)
{
	AUTO_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int problem, thaw = 0;

	if (fd < 0)
		return err_errno(e, "folder '%s'", folder);
	if (syncfs(fd) < 0)
		return err_errno(e, "file system of '%s': syncfs", folder);
	problem = flush_locked(fd, &thaw);
	if (problem == ENOTTY || problem == EOPNOTSUPP)
		return err_set(e, -EOPNOTSUPP, "file system of '%s': it cannot be frozen, but it was synced", folder);
	if (problem == EBUSY)
		return err_set(e, -EBUSY, "file system of '%s': something else has it frozen; it was synced", folder);
	if (problem)
		return err_set(e, -problem, "file system of '%s': freeze: %s; it was synced, but a boot loader that reads "
			       "it without its journal may not see the last changes", folder, strerror(problem));
	if (thaw)
		return err_set(e, -thaw, "file system of '%s': thaw: %s; whatever writes there waits: run 'fsfreeze "
			       "--unfreeze %s'",
			       folder, strerror(thaw), folder);
	return 0;
}
