/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "volumes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mountfs.h"

#define MOUNTS_MAX 64
#define FREE_WITHIN_MS 5000
#define PAUSE_MS 10

static int busy(const char *path, const char *target, struct err *e)
{
	return err_set(e, -EBUSY, "unmount '%s': '%s' is in use; close the files and folders that are open there (fuser -vm '%s' "
		       "shows whose they are), then retry", path, target, target);
}

/* Its path must lead to it: umount(2) takes what is mounted on top. */
static int unmount_one(const char *path, dev_t device, const char *target, struct err *e)
{
	struct err why = ERR_INIT;
	struct stat st;
	int code;

	if (!stat(target, &st) && st.st_dev != device)
		return err_set(e, -EBUSY, "unmount '%s': something else is mounted over its '%s'; unmount that, then retry", path,
			       target);
	code = mountfs_unmount(target, &why);
	if (code == -EBUSY)
		return busy(path, target, e);
	return code ? err_set(e, code, "unmount '%s': %s", path, why.text) : 0;
}

/* ntfs-3g's daemon closes the device a moment after the mount has gone. */
static int wait_until_free(const char *path, struct err *e)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000L * 1000 };

	for (int waited_ms = 0; waited_ms <= FREE_WITHIN_MS; waited_ms += PAUSE_MS) {
		int fd = open(path, O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC); /* asks for a claim, as a writer will */

		if (fd >= 0) {
			(void)close(fd); /* it was not even read */
			return 0;
		}
		if (errno != EBUSY)
			return err_errno(e, "open '%s'", path);
		(void)nanosleep(&pause, NULL); /* a shorter one is as good */
	}
	return err_set(e, -EBUSY, "'%s' is not mounted any more and still in use, perhaps in another mount namespace; end what "
		       "uses it (lsblk shows what it is), then retry", path);
}

int volumes_unmount(const char *path, struct err *e)
{
	struct mountfs_entry mount;
	struct stat st;

	if (stat(path, &st))
		return err_errno(e, "unmount '%s'", path);
	if (!S_ISBLK(st.st_mode))
		return 0; /* what is mounted from a plain file is a loop device's, and found as its user */
	for (int i = 0; i < MOUNTS_MAX; i++) {
		int code = mountfs_find(st.st_rdev, &mount, e);

		if (!code && !*mount.target)
			return i ? wait_until_free(path, e) : 0;
		if (!code)
			code = unmount_one(path, st.st_rdev, mount.target, e);
		if (code)
			return code;
	}
	return err_set(e, -EBUSY, "unmount '%s': it is mounted more than %d times", path, MOUNTS_MAX);
}
