/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file system in a grown image. libext2fs cannot grow one: resize2fs does, on the device that the map makes. Where there is
 * none, for a volume in a plain file, the file system stays as it is, which is no error: it is whole, and smaller than the image.
 */
#include "image_grow_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "dmnames.h"
#include "runprog.h"
#include "swapfmt.h"

static int grow_swap(const char *volume, const struct map *m, struct err *e)
{
	AUTO(blkio) struct blkio *io = NULL;
	AUTO(blkio) struct blkio *image = NULL;
	int code = filedev_open(volume, FILEDEV_WRITE, &io, e);

	if (!code)
		code = mapdev_new(io, &m->extents, &image, e);
	return code ? code : swapfmt_grow(image, e);
}

void image_grow_check_programs(const char *fs_type, bool is_block, struct report *r)
{
	static const char *const needed[] = { "e2fsck", "resize2fs" };
	char path[256];

	if (!is_block || strcmp(fs_type, "ext4") != 0)
		return;
	for (size_t i = 0; i < 2; i++)
		if (!runprog_find(needed[i], RUNPROG_SYSTEM_PATH, path, sizeof(path)))
			report_add(r, "no-program", "'%s' is not there, and the file system in the image could not grow with it: "
				   "install the package e2fsprogs, then retry", needed[i]);
}

static bool never(void *ctx)
{
	(void)ctx;
	return false;
}

/* In a session of its own: a key on our terminal would end it in the middle. */
static int run(const char *name, const char *option, const char *device, struct err *e)
{
	char path[256] = "";
	const char *const arguments[] = { path, device, NULL };
	const char *const more[] = { path, option, "-p", device, NULL };
	const struct runprog_params p = {
		.arguments = option ? more : arguments,
		.more = RUNPROG_SYSTEM_PATH,
		.interrupted = never,
	};

	if (!runprog_find(name, RUNPROG_SYSTEM_PATH, path, sizeof(path)))
		return err_set(e, -ENOENT, "'%s' is not there: install the package e2fsprogs", name);
	return runprog_do(&p, NULL, e);
}

/* It fails, too, when it has mended something; then the second run has nothing to mend. */
static int check(const char *device, struct err *e)
{
	return run("e2fsck", "-f", device, NULL) ? run("e2fsck", "-f", device, e) : 0;
}

/* On the disk, and still the map's file system? */
static int settle(const char *volume, const struct map *m, struct err *e)
{
	struct canary_result canary = { .known = false };
	AUTO(blkio) struct blkio *io = NULL;
	AUTO(blkio) struct blkio *image = NULL;
	int code = filedev_open(volume, FILEDEV_WRITE, &io, e);

	if (!code)
		code = blkio_flush(io, e);
	if (!code)
		code = mapdev_new(io, &m->extents, &image, e);
	if (!code)
		code = canary_check(image, m->fs_type, m->fs_uuid, &canary, e);
	return !code && !canary.ok ? err_set(e, -EIO, "the grown file system is not right: %s", canary.reason) : code;
}

static int grow_ext4(const char *volume, const struct map *m, const struct progress *p, struct err *e)
{
	char name[128], device[160];
	struct err why = ERR_INIT;
	int code = image_attach(volume, m, false, name, e), gone;

	if (code)
		return code;
	(void)snprintf(device, sizeof(device), DMNAMES_FOLDER "%s", name);
	(void)progress_step(p, "check the file system", 0, 0, NULL); /* too late to stop */
	code = check(device, e);
	if (!code) {
		(void)progress_step(p, "grow the file system", 0, 0, NULL);
		code = run("resize2fs", NULL, device, e);
	}
	gone = image_detach(name, &why);
	if (!code && gone)
		code = err_set(e, gone, "%s", why.text);
	return code ? code : settle(volume, m, e);
}

int image_grow_fs(const char *volume, const struct map *m, const struct progress *p, enum image_grown_fs *ret, struct err *e)
{
	struct stat st;
	int code = 0;

	*ret = IMAGE_GROWN_FS_FULL;
	if (stat(volume, &st))
		return err_errno(e, "volume '%s'", volume);
	if (!strcmp(m->fs_type, "swap")) {
		code = grow_swap(volume, m, e);
		*ret = IMAGE_GROWN_FS_DONE;
	} else if (!strcmp(m->fs_type, "ext4")) {
		code = S_ISBLK(st.st_mode) ? grow_ext4(volume, m, p, e) : 0;
		*ret = S_ISBLK(st.st_mode) ? IMAGE_GROWN_FS_DONE : IMAGE_GROWN_FS_PENDING;
	}
	return code;
}
