/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fsfreeze.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auto.h"

/* ---- the guard ---- */

#define READY 0 /* else an errno */

struct guard {
	pid_t pid;
	int fd; /* to it; its end is the end of this process, however that came */
};

static int thaw(int fd)
{
	int r;

	do
		r = ioctl(fd, FITHAW, 0);
	while (r < 0 && errno == EINTR);
	return r < 0 && errno != EINVAL ? errno : 0; /* EINVAL: somebody else has thawed it */
}

static ssize_t receive(int fd, int *ret)
{
	ssize_t n;

	do
		n = read(fd, ret, sizeof(*ret));
	while (n < 0 && errno == EINTR);
	return n;
}

/* In a group of its own, so that what kills the whole group of its parent leaves it. */
static _Noreturn void stand_guard(int fd, int talk)
{
	int word = READY;

	(void)setpgid(0, 0);
	if (mlockall(MCL_CURRENT) < 0)
		word = errno;
	if (send(talk, &word, sizeof(word), MSG_NOSIGNAL) == (ssize_t)sizeof(word) && word == READY && receive(talk, &word) <= 0)
		(void)thaw(fd); /* nobody is left who could be told */
	_Exit(0); /* the guard's end, not that of our program */
}

/* Nothing is frozen before somebody is there who thaws it: this process can be killed. An errno, or 0. */
static int guard_start(int fd, struct guard *ret)
{
	int pair[2], word = EPIPE; /* when it ends without a word */

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return errno;
	ret->fd = pair[0];
	ret->pid = fork();
	if (ret->pid < 0) {
		word = errno;
		(void)close(pair[0]); /* nothing was written */
		(void)close(pair[1]);
		return word;
	}
	if (ret->pid == 0) {
		(void)close(pair[0]); /* else it would never see the other end close */
		stand_guard(fd, pair[1]);
	}
	(void)close(pair[1]); /* the guard's */
	(void)receive(ret->fd, &word);
	return word;
}

/* Without is_done it thaws, too. */
static void guard_end(const struct guard *g, bool is_done)
{
	const int word = READY;
	int status;

	if (is_done)
		(void)send(g->fd, &word, sizeof(word), MSG_NOSIGNAL); /* if it is gone, it is not needed either */
	(void)close(g->fd);
	while (waitpid(g->pid, &status, 0) < 0 && errno == EINTR)
		;
}

/* ---- freezing ---- */

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
	*ret_thaw = thaw(fd);
	return 0;
}

/* The memory is locked behind the fork: that makes what is written to another page. */
static int flush_locked(int fd, int *ret_thaw)
{
	int problem;

	if (mlockall(MCL_CURRENT) < 0)
		return errno;
	problem = freeze_and_thaw(fd, ret_thaw);
	(void)munlockall(); /* cannot fail on what is locked */
	return problem;
}

/* Signals wait until it is thawed, here and in the guard; but for SIGKILL, for which the guard is. */
static int flush_guarded(int fd, int *ret_thaw)
{
	struct guard guard = { .pid = -1, .fd = -1 };
	sigset_t all, old;
	int problem;

	(void)sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, &old) < 0)
		return errno;
	problem = guard_start(fd, &guard);
	if (!problem)
		problem = flush_locked(fd, ret_thaw);
	if (guard.pid > 0)
		guard_end(&guard, !*ret_thaw);
	(void)sigprocmask(SIG_SETMASK, &old, NULL); /* it was valid */
	return problem;
}

int fsfreeze_flush(const char *folder, struct err *e)
{
	AUTO_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int problem, problem_thaw = 0;

	if (fd < 0)
		return err_errno(e, "folder '%s'", folder);
	if (syncfs(fd) < 0)
		return err_errno(e, "file system of '%s': syncfs", folder);
	problem = flush_guarded(fd, &problem_thaw);
	if (problem == ENOTTY || problem == EOPNOTSUPP)
		return err_set(e, -EOPNOTSUPP, "file system of '%s': it cannot be frozen, but it was synced", folder);
	if (problem == EBUSY)
		return err_set(e, -EBUSY, "file system of '%s': something else has it frozen; it was synced", folder);
	if (problem)
		return err_set(e, -problem, "file system of '%s': freeze: %s; it was synced, but a boot loader that reads "
			       "it without its journal may not see the last changes", folder, strerror(problem));
	if (problem_thaw)
		return err_set(e, -problem_thaw, "file system of '%s': thaw: %s; whatever writes there waits: run 'fsfreeze "
			       "--unfreeze %s'",
			       folder, strerror(problem_thaw), folder);
	return 0;
}
