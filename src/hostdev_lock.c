/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One start or stop at a time: a second one would take the first one's half-made device for a leftover. */
#include "hostdev_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "auto.h"

#define LOCK_FOLDER "/run/wubi"
#define LOCK_FILE LOCK_FOLDER "/host.lock"
#define PAUSE_NS (50 * 1000 * 1000L)
#define TRIES 600 /* 30 s: more than a start needs whose disk answers */

int hostdev_lock(int *ret_fd, struct err *e)
{
	const struct timespec pause = { 0, PAUSE_NS };
	AUTO_FD int fd = -1;

	if (mkdir(LOCK_FOLDER, 0755) && errno != EEXIST)
		return err_errno(e, "make the folder '" LOCK_FOLDER "'");
	fd = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_errno(e, "'" LOCK_FILE "'");
	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB); i++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_errno(e, "lock '" LOCK_FILE "'");
		if (i == TRIES)
			return err_refuse(e, "busy", "another 'wubi-host start' or 'stop' runs, and has for 30 s: wait for it "
					  "('fuser -v " LOCK_FILE "' tells), then retry");
		(void)nanosleep(&pause, NULL); /* cut short by a signal is fine */
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}
