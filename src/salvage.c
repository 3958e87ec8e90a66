/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The output: what may be replaced, and when it gets its name. */
#include "salvage_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BAD_HEAD "# wubi-disk rescue: ranges that could not be read and are zeros in the copy, in bytes: offset length\n"

static int check_there(const char *path, const struct stat *st, bool replace, struct err *e)
{
	if (S_ISBLK(st->st_mode) && !replace)
		return err_refuse(e, "output-exists", "'%s' is a device, and all that is on it would be overwritten: name a new "
				  "file, or add --yes if you mean it", path);
	if (S_ISBLK(st->st_mode))
		return 0;
	if (!S_ISREG(st->st_mode))
		return err_refuse(e, "not-a-file", "'%s' is neither a file nor a block device: name a new file", path);
	if (!replace)
		return err_refuse(e, "output-exists", "'%s' exists and would be replaced: name another file, or add --yes if it "
				  "is not needed any more", path);
	return 0;
}

static char *with_suffix(const char *path, const char *suffix)
{
	char *text;

	return asprintf(&text, "%s%s", path, suffix) < 0 ? NULL : text;
}

/* FILE.bad: an earlier run's, or not there; else it is somebody's. */
static int check_bad_list(const char *path, struct err *e)
{
	AUTO_FREE char *name = with_suffix(path, ".bad");
	char head[sizeof(BAD_HEAD)] = "";
	FILE *f;

	if (!name)
		return err_set(e, -ENOMEM, "'%s': out of memory", path);
	f = fopen(name, "re");
	if (!f)
		return errno == ENOENT ? 0 : err_errno(e, "'%s'", name);
	if (!fgets(head, sizeof(head), f))
		head[0] = '\0';
	(void)fclose(f); /* it was only read */
	if (strcmp(head, BAD_HEAD) != 0)
		return err_refuse(e, "output-exists", "'%s' exists, where the list of what could not be read belongs: rename it, "
				  "or name another file", name);
	return 0;
}

int salvage_check(const char *path, uint64_t bytes, bool replace, struct err *e)
{
	AUTO(salvage) struct salvage *device = NULL;
	AUTO_FREE char *folder = NULL;
	struct stat st;
	char *slash;
	int code = 0;

	if (!stat(path, &st))
		code = check_there(path, &st, replace, e);
	else if (errno != ENOENT)
		return err_errno(e, "'%s'", path);
	else
		st.st_mode = S_IFREG;
	if (code)
		return code;
	if (S_ISBLK(st.st_mode))
		return salvage_open(path, bytes, replace, &device, e);
	folder = strdup(path);
	if (!folder)
		return err_set(e, -ENOMEM, "'%s': out of memory", path);
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	if (faccessat(AT_FDCWD, slash ? folder : ".", W_OK | X_OK, AT_EACCESS))
		return err_errno(e, "'%s': folder '%s'", path, slash ? folder : ".");
	return check_bad_list(path, e);
}

static int open_device(struct salvage *s, struct err *e)
{
	uint64_t bytes = 0;

	s->fd = open(s->path, O_WRONLY | O_EXCL | O_CLOEXEC);
	if (s->fd < 0 && errno == EBUSY)
		return err_refuse(e, "busy", "'%s' is in use (lsblk and findmnt show by what): unmount it, or name another "
				  "output",
				  s->path);
	if (s->fd < 0 || ioctl(s->fd, BLKGETSIZE64, &bytes))
		return err_errno(e, "open '%s'", s->path);
	if (bytes < s->bytes)
		return err_refuse(e, "too-small", "'%s' has %" PRIu64 " bytes, the image %" PRIu64 ": name a larger output",
				  s->path, bytes, s->bytes);
	return 0;
}

static int lock(int fd, const char *name, struct err *e)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (!fcntl(fd, F_OFD_SETLK, &whole) || (errno != EAGAIN && errno != EACCES))
		return 0; /* a file system without locks is no reason to lose data */
	return err_refuse(e, "busy", "'%s' is being written by another wubi-disk: let it finish", name);
}

/* What is left of a run that was killed is taken over, and begun anew. */
static int open_file(struct salvage *s, struct err *e)
{
	AUTO_FREE char *name = with_suffix(s->path, ".incomplete");
	struct stat st, now;
	int code;

	if (!name)
		return err_set(e, -ENOMEM, "'%s': out of memory", s->path);
	s->fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (s->fd < 0 || fstat(s->fd, &st))
		return err_errno(e, "make '%s'", name);
	if (!S_ISREG(st.st_mode))
		return err_refuse(e, "not-a-file", "'%s' is no file, where the copy would be made: rename it, or name another "
				  "output", name);
	code = lock(s->fd, name, e);
	if (code)
		return code;
	/* whoever had the lock may have given the file its name meanwhile */
	if (stat(name, &now) || now.st_dev != st.st_dev || now.st_ino != st.st_ino)
		return err_set(e, -EAGAIN, "'%s' was replaced while it was opened: is another wubi-disk at work?", name);
	s->temp = TAKE(name);
	if (ftruncate(s->fd, 0) || ftruncate(s->fd, (off_t)s->bytes))
		return err_errno(e, "'%s': a file of %" PRIu64 " bytes (FAT takes less than 4 GiB)", s->path, s->bytes);
	return 0;
}

int salvage_open(const char *path, uint64_t bytes, bool replace, struct salvage **ret, struct err *e)
{
	AUTO(salvage) struct salvage *s = calloc(1, sizeof(*s));
	struct stat st;
	bool there = !stat(path, &st);
	int code = there ? check_there(path, &st, replace, e) : 0;

	if (s)
		s->fd = -1;
	if (s)
		s->path = strdup(path);
	if (!s || !s->path)
		return err_set(e, -ENOMEM, "'%s': out of memory", path);
	s->bytes = bytes;
	s->is_block = there && S_ISBLK(st.st_mode);
	if (!code)
		code = s->is_block ? open_device(s, e) : open_file(s, e);
	if (!code)
		*ret = TAKE(s);
	return code;
}

static int write_bad_list(const char *path, const struct salvage_result *r, struct err *e)
{
	FILE *f = fopen(path, "we");
	bool failed;

	if (!f)
		return err_errno(e, "'%s'", path);
	(void)fputs(BAD_HEAD, f); /* ferror() below */
	for (size_t i = 0; i < r->bad_count; i++)
		(void)fprintf(f, "%" PRIu64 " %" PRIu64 "\n", r->bad[i].offset_bytes, r->bad[i].length_bytes);
	failed = fflush(f) || ferror(f) || fsync(fileno(f));
	if (failed)
		(void)err_errno(e, "'%s': write", path);
	if (fclose(f) && !failed)
		return err_errno(e, "'%s': close", path);
	return failed ? -EIO : 0;
}

/* Opened before the rename, behind which nothing may fail for want of memory. */
static int open_folder(const char *path, int *ret_fd, struct err *e)
{
	AUTO_FREE char *folder = strdup(path);
	char *slash = folder ? strrchr(folder, '/') : NULL;

	if (!folder)
		return err_set(e, -ENOMEM, "'%s': out of memory", path);
	if (slash)
		slash[slash == folder] = '\0';
	*ret_fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? err_errno(e, "'%s': open its folder", path) : 0;
}

int salvage_publish(struct salvage *s, const struct salvage_result *r, struct err *e)
{
	AUTO_FREE char *list = with_suffix(s->path, ".bad");
	AUTO_FD int folder = -1;
	int code = 0;

	if (fsync(s->fd))
		return err_errno(e, "'%s': flush", s->path);
	if (s->is_block)
		return 0;
	if (!list)
		return err_set(e, -ENOMEM, "'%s': out of memory", s->path);
	if (r->bad_count)
		code = write_bad_list(list, r, e);
	else if (unlink(list) && errno != ENOENT)
		code = err_errno(e, "remove the old '%s'", list);
	if (!code)
		code = open_folder(s->path, &folder, e);
	if (code)
		return code;
	if (rename(s->temp, s->path))
		return err_errno(e, "'%s': rename", s->temp);
	free(TAKE(s->temp));
	return fsync(folder) ? err_errno(e, "'%s': flush its folder", s->path) : 0;
}

bool salvage_is_device(const struct salvage *s)
{
	return s->is_block;
}

void salvage_drop(struct salvage *s)
{
	if (!s)
		return;
	if (s->temp)
		(void)unlink(s->temp); /* if it stays, the next run takes it over */
	if (s->fd >= 0)
		(void)close(s->fd); /* what matters was flushed before */
	free(s->temp);
	free(s->path);
	free(s);
}

void salvage_result_clear(struct salvage_result *r)
{
	free(r->bad);
	*r = (struct salvage_result){ 0 };
}
