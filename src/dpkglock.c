/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dpkglock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "auto.h"

#define PAUSE_NS (200 * 1000 * 1000L)

static time_t now_s(void)
{
	struct timespec t = { 0, 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail on Linux */
	return t.tv_sec;
}

/* Whoever has it; 0: nobody, by now. */
static int holder(int fd)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_GETLK, &l) == 0 && l.l_type != F_UNLCK ? (int)l.l_pid : 0;
}

static void tell_once(const struct dpkglock_params *p, int fd, bool *told)
{
	char text[160];

	if (*told || !p->tell)
		return;
	*told = true;
	(void)snprintf(text, sizeof(text), "waiting, at most %u s, until process %d has installed its packages (it locks dpkg)",
		       p->timeout_s, holder(fd));
	p->tell(p->ctx, text);
}

/* dpkg's kind of lock, which is the process's and not the descriptor's. F_SETLKW would wait without end. */
static int wait_for(const struct dpkglock_params *p, int fd, struct err *e)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	const struct timespec pause = { 0, PAUSE_NS };
	time_t end = now_s() + (time_t)p->timeout_s;
	bool told = false;

	while (fcntl(fd, F_SETLK, &l)) {
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			return err_errno(e, "lock '%s'", p->file);
		if (p->interrupted && p->interrupted(p->ctx))
			return err_set(e, -ECANCELED, "interrupted while another program installed packages");
		if (now_s() >= end)
			return err_set(e, -EAGAIN, "process %d has installed packages for more than %u s ('%s' is locked): let "
				       "it finish, then retry", holder(fd), p->timeout_s, p->file);
		tell_once(p, fd, &told);
		(void)nanosleep(&pause, NULL); /* cut short by a signal is fine */
	}
	return 0;
}

int dpkglock_take(const struct dpkglock_params *p, int *ret_fd, struct err *e)
{
	AUTO_FD int fd = -1;
	int code;

	*ret_fd = -1;
	if (getenv("DPKG_FRONTEND_LOCKED") || getenv("DPKG_RUNNING_VERSION"))
		return 0;
	fd = open(p->file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0 && (errno == ENOENT || errno == EROFS))
		return 0;
	if (fd < 0)
		return err_errno(e, "lock '%s'", p->file);
	code = wait_for(p, fd, e);
	if (!code)
		*ret_fd = TAKE_FD(fd);
	return code;
}
