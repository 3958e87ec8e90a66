/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of blockdev that asks who uses a volume: no libblkid here, only the kernel's own tables. */
#include "blockdev.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "dmnames.h"
#include "sysfs.h"

/* a unit test that includes this file puts tables of its own here */
#ifndef BLOCKDEV_MOUNTINFO
#define BLOCKDEV_MOUNTINFO "/proc/self/mountinfo"
#endif

#ifndef BLOCKDEV_PROC
#define BLOCKDEV_PROC "/proc"
#endif

#define BLOCKDEV_DEPTH 4 /* a loop over a loop over a loop ... */
#define BLOCKDEV_RISK "and two writers would damage the volume"

static void users_closedir(DIR *d)
{
	if (d != NULL)
		(void)closedir(d); /* it was only read */
}
DEFINE_AUTO(dir, DIR *, users_closedir);

static void users_fclose(FILE *f)
{
	if (f != NULL)
		(void)fclose(f); /* it was only read */
}
DEFINE_AUTO(file, FILE *, users_fclose);

/* One file or block device, by identity and not by name. */
struct users_ident {
	bool is_block;
	dev_t rdev;
	dev_t dev;
	ino_t ino;
	char path[PATH_MAX];
};

static void users_identify(struct users_ident *id, const struct stat *st, const char *path)
{
	char *real = realpath(path, NULL);

	*id = (struct users_ident){
		.is_block = S_ISBLK(st->st_mode),
		.rdev = st->st_rdev,
		.dev = st->st_dev,
		.ino = st->st_ino,
	};
	/* cut short it equals no other path; the numbers above decide then */
	(void)snprintf(id->path, sizeof(id->path), "%s", real != NULL ? real : path);
	free(real);
}

static bool users_is_same(const struct users_ident *id, const struct stat *st)
{
	if (id->is_block)
		return S_ISBLK(st->st_mode) && sysfs_is_related(id->rdev, st->st_rdev);
	return S_ISREG(st->st_mode) && id->dev == st->st_dev && id->ino == st->st_ino;
}

/* ---- mounts ---- */

struct users_mount {
	dev_t dev;
	const char *target, *type, *source; /* in the line that was parsed */
};

static bool users_is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* mountinfo writes space, tab, newline and backslash as three octal digits */
static void users_unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p != '\0'; p++) {
		if (p[0] == '\\' && users_is_octal(p[1]) && users_is_octal(p[2]) && users_is_octal(p[3])) {
			*to++ = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0'));
			p += 3;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
}

/* "36 35 98:0 /root /target opts [optional ...] - type source superopts"; cuts the line up. */
static bool users_parse_mount(char *line, struct users_mount *ret)
{
	char *save = NULL, *fields[5] = { NULL };
	unsigned dev_major, dev_minor;
	char *word = strtok_r(line, " \n", &save);

	for (size_t i = 0; i < 5; i++) {
		fields[i] = word;
		word = strtok_r(NULL, " \n", &save);
	}
	while (word != NULL && strcmp(word, "-") != 0)
		word = strtok_r(NULL, " \n", &save);
	ret->type = strtok_r(NULL, " \n", &save);
	word = strtok_r(NULL, " \n", &save);
	if (word == NULL || sscanf(fields[2], "%u:%u", &dev_major, &dev_minor) != 2)
		return false;
	users_unescape(fields[4]);
	users_unescape(word);
	ret->dev = makedev(dev_major, dev_minor);
	ret->target = fields[4];
	ret->source = word;
	return true;
}

/* By device number (a kernel file system, fuseblk) or by source (ntfs-3g on a plain file; btrfs's numbers are made up). */
static bool users_mount_uses(const struct users_ident *id, const struct users_mount *m)
{
	struct stat st;

	if (id->is_block && sysfs_is_related(id->rdev, m->dev))
		return true;
	if (m->source[0] != '/')
		return false;
	if (strcmp(m->source, id->path) == 0)
		return true;
	return stat(m->source, &st) == 0 && users_is_same(id, &st);
}

static int users_check_mounts(const struct users_ident *id, struct report *r, struct err *e)
{
	AUTO(file) FILE *f = fopen(BLOCKDEV_MOUNTINFO, "re");
	AUTO_FREE char *line = NULL;
	struct users_mount m;
	size_t size = 0;

	if (f == NULL)
		return err_errno(e, "'%s': who uses it? open '%s'", id->path, BLOCKDEV_MOUNTINFO);
	while (errno = 0, getline(&line, &size, f) >= 0) {
		if (!users_parse_mount(line, &m) || !users_mount_uses(id, &m))
			continue;
		report_add(r, "busy", "'%s' is in use: '%s' is mounted at '%s' (%s), " BLOCKDEV_RISK "; unmount it "
			   "(umount '%s'), then retry", id->path, m.source, m.target, m.type, m.target);
	}
	if (errno != 0) /* the end of the file leaves it alone */
		return err_errno(e, "'%s': who uses it? read '%s'", id->path, BLOCKDEV_MOUNTINFO);
	return 0;
}

/* ---- loop devices ---- */

/* The attribute's path is as seen from here: it may be deleted, renamed, or from another mount namespace. */
static bool users_backing_by_path(char *path, struct stat *ret)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(path);

	if (stat(path, ret) == 0)
		return true;
	if (n <= sizeof(deleted) - 1 || strcmp(path + n - (sizeof(deleted) - 1), deleted) != 0)
		return false;
	path[n - (sizeof(deleted) - 1)] = '\0';
	return stat(path, ret) == 0;
}

/* The kernel's own word on the backing file, where the loop device may be opened. */
static bool users_backing_by_ioctl(const char *loop, struct stat *ret)
{
	struct loop_info64 info = { 0 };
	char path[NAME_MAX + 8];
	AUTO_FD int fd = -1;

	(void)snprintf(path, sizeof(path), "/dev/%s", loop); /* fits */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, LOOP_GET_STATUS64, &info) != 0)
		return false;
	*ret = (struct stat){
		.st_dev = (dev_t)info.lo_device,
		.st_ino = (ino_t)info.lo_inode,
		.st_rdev = (dev_t)info.lo_rdevice,
		.st_mode = info.lo_rdevice != 0 ? S_IFBLK : S_IFREG,
	};
	return true;
}

/* False: the loop device is not set up. st_mode 0: it is, but its backing file cannot be told. */
static bool users_loop_backing(const char *loop, char *ret_path, size_t size, struct stat *ret)
{
	char attribute[PATH_MAX];

	(void)snprintf(attribute, sizeof(attribute), "%s/block/%s/loop/backing_file", SYSFS_ROOT, loop); /* fits */
	if (!sysfs_read_line(attribute, ret_path, size))
		return false;
	*ret = (struct stat){ 0 };
	if (!users_backing_by_ioctl(loop, ret) && !users_backing_by_path(ret_path, ret))
		*ret = (struct stat){ 0 };
	return true;
}

/* except: the loop device that leads to this file and is the volume itself, or empty */
static int users_check_loops(const struct users_ident *id, const char *except, struct report *r, struct err *e)
{
	AUTO(dir) DIR *d = NULL;
	const struct dirent *entry;
	char folder[PATH_MAX];

	(void)snprintf(folder, sizeof(folder), "%s/block", SYSFS_ROOT); /* fits */
	d = opendir(folder);
	if (d == NULL)
		return err_errno(e, "'%s': who uses it? open '%s'", id->path, folder);
	while ((entry = readdir(d)) != NULL) {
		char path[PATH_MAX];
		struct stat st;

		if (strncmp(entry->d_name, "loop", 4) != 0 || strcmp(entry->d_name, except) == 0 ||
		    !users_loop_backing(entry->d_name, path, sizeof(path), &st))
			continue;
		if (!users_is_same(id, &st) && strcmp(path, id->path) != 0)
			continue;
		report_add(r, "busy", "'%s' is in use: the loop device '/dev/%s' is over '%s', " BLOCKDEV_RISK
			   "; detach it (losetup -d /dev/%s), then retry", id->path, entry->d_name, path, entry->d_name);
	}
	return 0;
}

/* ---- holders ---- */

/* A device that cannot be written, so that nobody above it has metadata in memory that is not on the disk. */
static bool users_is_readonly(const char *device)
{
	char path[PATH_MAX], text[8];

	(void)snprintf(path, sizeof(path), "%s/block/%s/ro", SYSFS_ROOT, device); /* fits */
	return sysfs_read_line(path, text, sizeof(text)) && strcmp(text, "1") == 0;
}

static void users_report_holder(const struct users_ident *id, const char *device, const char *holder, struct report *r)
{
	char path[PATH_MAX], name[160] = "", uuid[160] = "";

	(void)snprintf(path, sizeof(path), "%s/block/%s/dm/name", SYSFS_ROOT, holder); /* fits */
	(void)sysfs_read_line(path, name, sizeof(name)); /* empty: not device-mapper */
	(void)snprintf(path, sizeof(path), "%s/block/%s/dm/uuid", SYSFS_ROOT, holder); /* fits */
	(void)sysfs_read_line(path, uuid, sizeof(uuid));
	if (dmnames_uuid_is_host(uuid))
		report_add(r, users_is_readonly(holder) ? "attached" : "busy", "'%s' is in use: the Windows files on '%s' are "
			   "mounted through '/dev/mapper/%s', " BLOCKDEV_RISK "; stop that ('wubi-host stop'), then retry",
			   id->path, device, name);
	else if (dmnames_uuid_is_ours(uuid))
		report_add(r, "attached", "'%s' is in use: the image '%s' on '%s' is attached, " BLOCKDEV_RISK "; detach it "
			   "(wubi-disk detach), or start another system if this one runs from it, then retry", id->path,
			   name, device);
	else if (name[0] != '\0')
		report_add(r, "busy", "'%s' is in use: the device-mapper device '%s' holds '%s', " BLOCKDEV_RISK
			   "; unmount and remove it (dmsetup remove '%s'), then retry", id->path, name, device, name);
	else
		report_add(r, "busy", "'%s' is in use: '/dev/%s' holds '%s', " BLOCKDEV_RISK "; stop it (a RAID array: "
			   "mdadm --stop /dev/%s), then retry", id->path, holder, device, holder);
}

/* folder: of the device, or of one of its partitions, with "/holders" behind it */
static void users_check_folder(const struct users_ident *id, const char *device, const char *folder, struct report *r)
{
	AUTO(dir) DIR *d = opendir(folder);
	const struct dirent *entry;

	while (d != NULL && (entry = readdir(d)) != NULL)
		if (entry->d_name[0] != '.')
			users_report_holder(id, device, entry->d_name, r);
}

static void users_device_name(dev_t dev, char *ret, size_t size)
{
	char target[PATH_MAX], folder[PATH_MAX];
	const char *slash;
	ssize_t n;

	(void)snprintf(folder, sizeof(folder), "%s/dev/block/%u:%u", SYSFS_ROOT, major(dev), minor(dev)); /* fits */
	n = readlink(folder, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	slash = strrchr(target, '/');
	(void)snprintf(ret, size, "%.255s", slash != NULL ? slash + 1 : target); /* NAME_MAX */
}

static void users_check_holders(const struct users_ident *id, struct report *r)
{
	AUTO(dir) DIR *d = opendir(sysfs_path(id->rdev, "").text);
	dev_t disk = sysfs_whole(id->rdev);
	const struct dirent *entry;

	users_check_folder(id, id->path, sysfs_path(id->rdev, "holders").text, r);
	if (disk != id->rdev) {
		char name[NAME_MAX + 1];

		users_device_name(disk, name, sizeof(name));
		users_check_folder(id, name, sysfs_path(disk, "holders").text, r);
	}
	while (d != NULL && (entry = readdir(d)) != NULL) {
		char rest[NAME_MAX + 32];

		(void)snprintf(rest, sizeof(rest), "%s/partition", entry->d_name); /* fits */
		if (entry->d_name[0] == '.' || access(sysfs_path(id->rdev, rest).text, F_OK) != 0)
			continue;
		(void)snprintf(rest, sizeof(rest), "%s/holders", entry->d_name); /* fits */
		users_check_folder(id, entry->d_name, sysfs_path(id->rdev, rest).text, r);
	}
}

/* ---- open files ---- */

/* Is descriptor 'fd' of a process a writable one of the file? False, too, where it cannot be told. */
static bool users_is_writer(const struct users_ident *id, const char *pid, const char *fd)
{
	char path[PATH_MAX], line[64];
	unsigned flags = 0;
	bool found = false;
	struct statx sx;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s/fd/%s", BLOCKDEV_PROC, pid, fd); /* fits */
	/* without asking a server: a dead network mount must not hang this */
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &sx) != 0 || sx.stx_ino != id->ino ||
	    makedev(sx.stx_dev_major, sx.stx_dev_minor) != id->dev)
		return false;
	(void)snprintf(path, sizeof(path), "%s/%s/fdinfo/%s", BLOCKDEV_PROC, pid, fd); /* fits */
	f = fopen(path, "re");
	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
		found = sscanf(line, "flags: %o", &flags) == 1;
	users_fclose(f);
	return found && (flags & O_ACCMODE) != O_RDONLY;
}

static bool users_has_writer(const struct users_ident *id, const char *pid)
{
	AUTO(dir) DIR *d = NULL;
	const struct dirent *entry;
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s/fd", BLOCKDEV_PROC, pid); /* fits */
	d = opendir(path);
	while (d != NULL && (entry = readdir(d)) != NULL)
		if (entry->d_name[0] != '.' && users_is_writer(id, pid, entry->d_name))
			return true;
	return false;
}

/*
 * ntfs-3g's lock dies with the process that took it: the one that mounts, which then forks the daemon. In another mount
 * namespace only its open descriptor shows it. Processes that may not be looked into are passed over.
 */
static int users_check_writers(const struct users_ident *id, struct report *r, struct err *e)
{
	AUTO(dir) DIR *d = opendir(BLOCKDEV_PROC);
	const struct dirent *entry;

	if (d == NULL)
		return err_errno(e, "'%s': who uses it? open '%s'", id->path, BLOCKDEV_PROC);
	while ((entry = readdir(d)) != NULL) {
		const char *pid = entry->d_name;
		char path[PATH_MAX], name[32];

		if (strspn(pid, "0123456789") != strlen(pid) || strtol(pid, NULL, 10) == (long)getpid() ||
		    !users_has_writer(id, pid))
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s/comm", BLOCKDEV_PROC, pid); /* fits */
		(void)sysfs_read_line(path, name, sizeof(name)); /* empty: it has ended meanwhile */
		report_add(r, "busy", "'%s' is open for writing in process %s (%s), perhaps mounted or attached to a "
			   "virtual machine, " BLOCKDEV_RISK "; end or unmount that, then retry", id->path, pid, name);
	}
	return 0;
}

/* ---- locks ---- */

static int users_check_lock(const struct users_ident *id, struct report *r, struct err *e)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	AUTO_FD int fd = open(id->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return err_errno(e, "'%s': who uses it? open", id->path);
	if (fcntl(fd, F_OFD_GETLK, &lock) != 0)
		return err_errno(e, "'%s': who uses it? ask for locks", id->path);
	if (lock.l_type == F_UNLCK || users_has_writer(id, "self")) /* our own: while we hold it, no other can */
		return 0;
	if (lock.l_pid > 0)
		report_add(r, "busy", "'%s' is locked by process %ld, probably ntfs-3g, " BLOCKDEV_RISK
			   "; unmount it, then retry", id->path, (long)lock.l_pid);
	else /* an open file description lock has no owner */
		report_add(r, "busy", "'%s' is locked by another program, perhaps a second wubi-disk, " BLOCKDEV_RISK
			   "; let it finish, then retry", id->path);
	return 0;
}

/* ---- all of it ---- */

/* If the device (or its disk) is a loop: the backing file, which other users reach by its own name. */
static bool users_backing(const struct users_ident *id, char *ret_loop, size_t size, struct users_ident *ret)
{
	char path[PATH_MAX];
	struct stat st;

	if (!id->is_block)
		return false;
	users_device_name(sysfs_whole(id->rdev), ret_loop, size);
	if (strncmp(ret_loop, "loop", 4) != 0 || !users_loop_backing(ret_loop, path, sizeof(path), &st) ||
	    st.st_mode == 0)
		return false;
	users_identify(ret, &st, path);
	return true;
}

static int users_check(const struct users_ident *id, const char *except, struct report *r, struct err *e)
{
	struct stat st;
	int rc = users_check_mounts(id, r, e);

	if (rc == 0)
		rc = users_check_loops(id, except, r, e);
	if (rc != 0)
		return rc;
	if (id->is_block) {
		users_check_holders(id, r);
		return 0;
	}
	/* a loop's backing file may have lost its name; then nobody can open it to lock it */
	if (stat(id->path, &st) != 0 || !users_is_same(id, &st))
		return 0;
	rc = users_check_lock(id, r, e);
	return rc != 0 ? rc : users_check_writers(id, r, e);
}

int blockdev_check_users(const char *path, struct report *r, struct err *e)
{
	struct users_ident id, backing;
	char loop[NAME_MAX + 1] = "";
	struct stat st;
	int rc;

	if (stat(path, &st) != 0)
		return err_errno(e, "'%s'", path);
	if (!S_ISBLK(st.st_mode) && !S_ISREG(st.st_mode))
		return err_refuse(e, "not-a-volume",
				  "'%s' is neither a block device nor a plain file, so it cannot hold an NTFS volume; "
				  "name the partition, such as /dev/sda2", path);
	users_identify(&id, &st, path);
	rc = users_check(&id, "", r, e);
	for (unsigned i = 0; rc == 0 && i < BLOCKDEV_DEPTH && users_backing(&id, loop, sizeof(loop), &backing); i++) {
		id = backing;
		rc = users_check(&id, loop, r, e);
	}
	return rc;
}

int blockdev_check_drivers(const char *path, struct report *r, struct err *e)
{
	struct report users = { .count = 0 };
	int rc = blockdev_check_users(path, &users, e);

	for (size_t i = 0; rc == 0 && i < users.count; i++)
		if (strcmp(users.items[i].reason, "attached") != 0)
			report_add(r, users.items[i].reason, "%s", users.items[i].text);
	return rc;
}

/* ---- what a path stands on ---- */

static int users_on_device(const struct users_ident *volume, dev_t dev, unsigned depth, bool *ret, struct err *e);

/* A file system without a device of its own (FUSE on a plain file, btrfs): by what it was mounted from. */
static int users_on_mounts(const struct users_ident *volume, dev_t dev, unsigned depth, bool *ret, struct err *e)
{
	AUTO(file) FILE *f = fopen(BLOCKDEV_MOUNTINFO, "re");
	AUTO_FREE char *line = NULL;
	struct users_mount m;
	size_t size = 0;
	int rc = 0;

	if (f == NULL)
		return err_errno(e, "open '%s'", BLOCKDEV_MOUNTINFO);
	while (rc == 0 && !*ret && (errno = 0, getline(&line, &size, f) >= 0)) {
		struct stat st;

		if (!users_parse_mount(line, &m) || m.dev != dev)
			continue;
		*ret = users_mount_uses(volume, &m);
		if (!*ret && m.source[0] == '/' && stat(m.source, &st) == 0)
			rc = users_on_device(volume, S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev, depth + 1, ret, e);
	}
	return rc;
}

/* What device-mapper or md built it of. */
static int users_on_slaves(const struct users_ident *volume, dev_t dev, unsigned depth, bool *ret, struct err *e)
{
	AUTO(dir) DIR *d = opendir(sysfs_path(dev, "slaves").text);
	const struct dirent *entry;
	int rc = 0;

	while (d != NULL && rc == 0 && !*ret && (entry = readdir(d)) != NULL) {
		char rest[NAME_MAX + 32], text[32];
		unsigned dev_major, dev_minor;

		(void)snprintf(rest, sizeof(rest), "slaves/%s/dev", entry->d_name); /* fits */
		if (entry->d_name[0] != '.' && sysfs_read_line(sysfs_path(dev, rest).text, text, sizeof(text)) &&
		    sscanf(text, "%u:%u", &dev_major, &dev_minor) == 2)
			rc = users_on_device(volume, makedev(dev_major, dev_minor), depth + 1, ret, e);
	}
	return rc;
}

static int users_on_device(const struct users_ident *volume, dev_t dev, unsigned depth, bool *ret, struct err *e)
{
	struct users_ident device = { .is_block = true, .rdev = sysfs_whole(dev) }, backing;
	char loop[NAME_MAX + 1];
	int rc = 0;

	if (depth > 2 * BLOCKDEV_DEPTH)
		return 0;
	if (volume->is_block && sysfs_is_related(volume->rdev, dev)) {
		*ret = true;
		return 0;
	}
	if (major(dev) == 0)
		return users_on_mounts(volume, dev, depth, ret, e);
	if (users_backing(&device, loop, sizeof(loop), &backing)) {
		*ret = !backing.is_block && !volume->is_block && backing.dev == volume->dev && backing.ino == volume->ino;
		return *ret ? 0 : users_on_device(volume, backing.is_block ? backing.rdev : backing.dev, depth + 1, ret, e);
	}
	rc = users_on_slaves(volume, dev, depth, ret, e);
	if (rc == 0 && !*ret && sysfs_whole(dev) != dev)
		rc = users_on_slaves(volume, sysfs_whole(dev), depth, ret, e);
	return rc;
}

int blockdev_is_upon(const char *volume, const char *path, bool *ret, struct err *e)
{
	struct users_ident id, backing;
	char loop[NAME_MAX + 1], folder[PATH_MAX];
	struct stat st, to;
	const char *slash = strrchr(path, '/');
	int rc = 0;

	if (stat(volume, &st) != 0)
		return err_errno(e, "'%s'", volume);
	(void)snprintf(folder, sizeof(folder), "%.*s", slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path),
		       slash == NULL ? "." : path);
	if (stat(path, &to) != 0 && stat(folder, &to) != 0)
		return err_errno(e, "'%s'", path);
	users_identify(&id, &st, volume);
	*ret = false;
	for (unsigned i = 0; rc == 0 && !*ret && i < BLOCKDEV_DEPTH; i++) {
		*ret = users_is_same(&id, &to);
		if (!*ret)
			rc = users_on_device(&id, S_ISBLK(to.st_mode) ? to.st_rdev : to.st_dev, 0, ret, e);
		if (!users_backing(&id, loop, sizeof(loop), &backing))
			break;
		id = backing; /* the volume is a loop device: its file is the volume, too */
	}
	return rc;
}
