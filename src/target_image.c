/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An initramfs is built; the one that was there goes only when the new one is known to be whole. */
#include "target_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "initrdcheck.h"
#include "textfile.h"

#define IMAGE "/boot/initrd.img-"
#define KEPT ".wubi-kept" /* neither GRUB's 10_linux nor update-initramfs takes a name with such an end for an image */
#define HALF ".new"       /* update-initramfs' own, while it is at work */

struct looked_at { /* paths from outside */
	char image[PATH_MAX], modules[PATH_MAX], programs[PATH_MAX], maps[PATH_MAX], fstab[PATH_MAX], cmdline[PATH_MAX];
};

static int find_paths(const struct target *t, const char *image, struct looked_at *ret, struct err *e)
{
	int code = target_path(t, image, ret->image, e);

	if (!code)
		code = target_path(t, TARGET_MODULES, ret->modules, e);
	if (!code)
		code = target_path(t, INITRDCHECK_PROGRAMS, ret->programs, e);
	if (!code)
		code = target_path(t, TARGET_MAPS, ret->maps, e);
	if (!code)
		code = target_path(t, "/etc/fstab", ret->fstab, e);
	return code ? code : target_path(t, "/etc/kernel/cmdline", ret->cmdline, e);
}

static int check_image(const struct target *t, const char *image, const char *version, struct err *e)
{
	AUTO_FREE struct initrdcheck_result *r = calloc(1, sizeof(*r));
	AUTO_FREE struct looked_at *at = calloc(1, sizeof(*at));
	struct initrdcheck_params p = { .kernel = version };
	struct initrdneed need;
	int code;

	if (!r || !at)
		return err_set(e, -ENOMEM, "'%s': out of memory", image);
	code = find_paths(t, image, at, e);
	if (code)
		return code;
	p.image = at->image;
	p.modules = at->modules;
	p.programs = at->programs;
	/* not the running system's command line: that is the medium's */
	p.system = (struct initrdneed_system){ at->maps, t->root, at->fstab, { at->cmdline, NULL } };
	code = initrdneed_look(&p.system, &need, e);
	if (code || !need.needed) /* it has moved out, and nothing of it is in an image any more */
		return code;
	code = initrdcheck_run(&p, r, e);
	if (code || !r->findings.count)
		return code;
	return err_set(e, -EBADMSG, "'%s' of the new system was built, but %s", image, r->findings.items[0].text);
}

/* ---- the old one ---- */

struct aside { /* paths from outside; the image itself, should it be a link */
	char image[PATH_MAX], kept[PATH_MAX];
	bool is_kept;
};

/* One that a run left which was killed is as good as put back where the image is missing; else the image takes its place. */
static int put_aside(const struct target *t, const char *version, struct aside *a, struct err *e)
{
	char path[PATH_MAX];
	struct stat st;
	int code;

	(void)snprintf(path, sizeof(path), IMAGE "%s", version); /* as below, it fits */
	code = target_own_path(t, path, a->image, e);
	(void)snprintf(path, sizeof(path), IMAGE "%s" KEPT, version);
	if (!code)
		code = target_own_path(t, path, a->kept, e);
	if (code)
		return code;
	if (rename(a->image, a->kept) < 0 && errno != ENOENT)
		return err_errno(e, "rename '%s' to '%s'", a->image, a->kept);
	a->is_kept = lstat(a->kept, &st) == 0;
	return 0;
}

static int sync_path(const char *path, struct err *e)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(e, "'%s'", path);
	return fsync(fd) < 0 ? err_errno(e, "'%s': fsync", path) : 0;
}

static int sync_image(const struct target *t, const char *image, struct err *e)
{
	char path[PATH_MAX];
	int code = target_path(t, image, path, e);

	if (!code)
		code = sync_path(path, e);
	if (!code)
		code = target_path(t, "/boot", path, e);
	return code ? code : sync_path(path, e);
}

/* After a failure, which counts; of what goes wrong here only that is told which somebody has to put right. */
static int put_back(const struct target *t, const char *version, const struct aside *a, int code, struct err *e)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), IMAGE "%s" HALF, version); /* it fits */
	(void)target_remove(t, path, NULL);
	if (!a->is_kept)
		return code;
	if (rename(a->kept, a->image) < 0)
		return err_wrap(e, code, "'%s' could not be put back (%s): rename it to '%s'", a->kept, strerror(errno),
				a->image);
	if (target_path(t, "/boot", path, NULL) == 0)
		(void)sync_path(path, NULL);
	return code;
}

/* ---- the new one ---- */

/* Made from nothing: 'update-initramfs -u' would leave one alone that it has not made itself. */
static int build(struct target *t, const char *image, const char *version, struct err *e)
{
	const char *const by_update[] = { "update-initramfs", "-c", "-k", version, NULL };
	const char *const by_dracut[] = { "dracut", "--force", image, version, NULL };
	char program[PATH_MAX];

	if (target_find(t, by_update[0], program))
		return target_run(t, by_update, e);
	if (target_find(t, by_dracut[0], program))
		return target_run(t, by_dracut, e);
	return err_refuse(e, "no-initramfs", "the new system has neither update-initramfs nor dracut: choose a medium with one "
			  "of them, or give the package by --packages");
}

int target_build_image(struct target *t, const char *version, struct err *e)
{
	AUTO_FREE struct aside *a = calloc(1, sizeof(*a));
	char image[PATH_MAX];
	int code;

	if (!a)
		return err_set(e, -ENOMEM, "kernel '%s': out of memory", version);
	(void)snprintf(image, sizeof(image), IMAGE "%s", version); /* it fits */
	code = put_aside(t, version, a, e);
	if (code)
		return code;
	code = build(t, image, version, e);
	if (!code)
		code = check_image(t, image, version, e);
	if (!code)
		code = sync_image(t, image, e);
	if (code)
		return put_back(t, version, a, code, e);
	return a->is_kept ? textfile_remove(a->kept, e) : 0;
}
