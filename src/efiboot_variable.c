/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Variables as files of efivarfs: 4 bytes of attributes, then the data; a variable is written by one write. The kernel protects
 * all but a list of them by the immutable flag; Boot####, BootOrder and BootNext are on that list.
 */
#include "efiboot_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "auto.h"

#define DEFAULT_FOLDER "/sys/firmware/efi/efivars/"
#define GLOBAL "8be4df61-93ca-11d2-aa0d-00e098032b8c"
#define ATTRIBUTES 7 /* non-volatile, seen by boot services and at run time */
#define ATTRIBUTES_BYTES 4

const char *efiboot_folder(void)
{
	const char *other = secure_getenv("EFIVARFS_PATH"); /* libefivar's */

	return other && other[0] ? other : DEFAULT_FOLDER;
}

/* Where it is not mounted, an empty folder of sysfs is in its place. */
bool efiboot_is_there(void)
{
	struct statfs fs;

	if (statfs(efiboot_folder(), &fs) < 0)
		return false;
	return fs.f_type == EFIVARFS_MAGIC || strcmp(efiboot_folder(), DEFAULT_FOLDER) != 0;
}

static int variable_path(const char *name, char ret[PATH_MAX], struct err *e)
{
	const char *folder = efiboot_folder();
	const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";

	if (snprintf(ret, PATH_MAX, "%s%s%s-" GLOBAL, folder, slash, name) >= PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "firmware variable '%s': %s", name, strerror(ENAMETOOLONG));
	return 0;
}

void efiboot_name(uint16_t number, char ret[EFIBOOT_NAME_MAX])
{
	(void)snprintf(ret, EFIBOOT_NAME_MAX, "Boot%04X", number);
}

/* EINTR also comes from the kernel's limit of reads per second for others than root. */
static ssize_t read_fully(int fd, uint8_t *to, size_t size)
{
	size_t n = 0;

	while (n < size) {
		ssize_t got = read(fd, to + n, size - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

int efiboot_variable_read(const char *name, struct efiboot_variable *ret, struct err *e)
{
	uint8_t bytes[ATTRIBUTES_BYTES + EFIBOOT_VARIABLE_MAX + 1];
	char path[PATH_MAX];
	AUTO_FD int fd = -1;
	ssize_t n;
	int code = variable_path(name, path, e);

	if (code)
		return code;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "firmware variable '%s'", name);
	n = read_fully(fd, bytes, sizeof(bytes));
	if (n < 0)
		return err_errno(e, "firmware variable '%s': read", name);
	if (n == (ssize_t)sizeof(bytes))
		return err_set(e, -E2BIG, "firmware variable '%s' has more than %d bytes", name, EFIBOOT_VARIABLE_MAX);
	if (n < ATTRIBUTES_BYTES) /* made by somebody who was killed before writing it */
		return err_set(e, -ENOENT, "firmware variable '%s' is empty", name);
	ret->n = (size_t)n - ATTRIBUTES_BYTES;
	memcpy(ret->data, bytes + ATTRIBUTES_BYTES, ret->n);
	return 0;
}

static int write_failed(const char *name, struct err *e)
{
	int saved = errno;

	if (saved == ENOSPC)
		return err_set(e, -ENOSPC, "firmware variable '%s': the firmware's memory for variables is full; remove boot "
			       "entries that nothing needs with 'efibootmgr -b NUMBER -B', and try again", name);
	errno = saved;
	return err_errno(e, "firmware variable '%s': write", name);
}

static int write_once(const char *name, const char *path, const uint8_t *bytes, size_t n, struct err *e)
{
	AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	struct stat st;
	ssize_t put;

	if (fd < 0)
		return write_failed(name, e);
	do
		put = write(fd, bytes, n);
	while (put < 0 && errno == EINTR);
	if (put < 0)
		return write_failed(name, e);
	if ((size_t)put != n)
		return err_set(e, -EIO, "firmware variable '%s': %zd of %zu bytes were written", name, put, n);
	/* efivarfs sets the size; a plain folder keeps the tail of what was longer */
	if (fstat(fd, &st) < 0 || (st.st_size > (off_t)n && ftruncate(fd, (off_t)n) < 0))
		return write_failed(name, e);
	return 0;
}

int efiboot_variable_put(const char *name, const uint8_t *data, size_t n, struct efiboot_variable *ret_now, struct err *e)
{
	uint8_t bytes[ATTRIBUTES_BYTES + EFIBOOT_VARIABLE_MAX] = { ATTRIBUTES };
	char path[PATH_MAX];
	bool is_new;
	int code = variable_path(name, path, e);

	if (code)
		return code;
	if (n == 0 || n > EFIBOOT_VARIABLE_MAX)
		return err_set(e, -EINVAL, "firmware variable '%s': %zu bytes", name, n);
	memcpy(bytes + ATTRIBUTES_BYTES, data, n);
	is_new = access(path, F_OK) < 0;
	code = write_once(name, path, bytes, ATTRIBUTES_BYTES + n, e);
	if (code && is_new)
		(void)unlink(path); /* a file without a variable; the error that counts is the one above */
	return code ? code : efiboot_variable_read(name, ret_now, e);
}

int efiboot_variable_kept(const char *name, struct err *e)
{
	return err_set(e, -EIO, "firmware variable '%s': the firmware took it, and has another value", name);
}

int efiboot_variable_write(const char *name, const uint8_t *data, size_t n, struct err *e)
{
	struct efiboot_variable now;
	int code = efiboot_variable_put(name, data, n, &now, e);

	if (!code && (now.n != n || memcmp(now.data, data, n) != 0))
		code = efiboot_variable_kept(name, e);
	return code;
}

int efiboot_variable_remove(const char *name, struct err *e)
{
	char path[PATH_MAX];
	int code = variable_path(name, path, e);

	if (!code && unlink(path) < 0 && errno != ENOENT)
		code = err_errno(e, "remove the firmware variable '%s'", name);
	return code;
}
