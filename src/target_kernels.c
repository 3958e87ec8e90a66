/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels, their initramfs, GRUB's menu, and the durability profiles, of which a part is in that menu. */
#include "target_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "initrdcheck.h"
#include "profctl.h"

#define MODULES "/lib/modules"
#define KERNEL "/boot/vmlinuz-"
#define IMAGE "/boot/initrd.img-"
#define PROFILE_GRUB "/etc/default/grub.d/wubi.cfg" /* profctl's */
#define HEAD_BYTES 65536 /* of a kernel: its version's text is in there */
#define VERSION_MAX 128

/* ---- the kernel that the copy lacks ---- */

/* "" where the file is no kernel, or has no version. */
static int read_version(const char *kernel, char ret[VERSION_MAX], struct err *e)
{
	AUTO_FREE unsigned char *head = malloc(HEAD_BYTES);
	AUTO_FD int fd = open(kernel, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (!head)
		return err_set(e, -ENOMEM, "'%s': out of memory", kernel);
	n = fd < 0 ? -1 : pread(fd, head, HEAD_BYTES, 0);
	if (n < 0)
		return err_errno(e, "'%s'", kernel);
	if (!target_kernel_version(head, (size_t)n, ret, VERSION_MAX))
		ret[0] = '\0';
	return 0;
}

static int make_kernel(struct target *t, const char *kernel, const char *version, const char *path, struct err *e)
{
	char other[VERSION_MAX];
	int code;

	if (!kernel || !kernel[0])
		return 0;
	code = read_version(kernel, other, e);
	if (code || strcmp(other, version) != 0)
		return code;
	code = target_make_folder(t, "/boot", e);
	return code ? code : target_copy_in(t, kernel, path, e);
}

/* ---- its initramfs ---- */

struct looked_at { /* paths from outside */
	char image[PATH_MAX], modules[PATH_MAX], programs[PATH_MAX], maps[PATH_MAX], fstab[PATH_MAX], cmdline[PATH_MAX];
};

static int find_paths(const struct target *t, const char *image, struct looked_at *ret, struct err *e)
{
	int code = target_path(t, image, ret->image, e);

	if (!code)
		code = target_path(t, MODULES, ret->modules, e);
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
	code = initrdcheck_run(&p, r, e);
	if (code || !r->findings.count)
		return code;
	return err_set(e, -EBADMSG, "'%s' of the new system was built, but %s", image, r->findings.items[0].text);
}

/* Made from nothing: 'update-initramfs -u' would leave one alone that it has not made itself. */
static int build_image(struct target *t, const char *version, struct err *e)
{
	const char *const by_update[] = { "update-initramfs", "-c", "-k", version, NULL };
	char image[PATH_MAX], program[PATH_MAX];
	const char *const by_dracut[] = { "dracut", "--force", image, version, NULL };
	bool has_update = target_find(t, by_update[0], program);
	int code;

	if (!has_update && !target_find(t, by_dracut[0], program))
		return err_refuse(e, "no-initramfs", "the new system has neither update-initramfs nor dracut: choose a medium "
				  "with one of them, or give the package by --packages");
	(void)snprintf(image, sizeof(image), IMAGE "%s", version); /* it fits */
	code = target_remove(t, image, e);
	if (!code)
		code = target_run(t, has_update ? by_update : by_dracut, e);
	return code ? code : check_image(t, image, version, e);
}

/* ---- all of them ---- */

/* Modules without a kernel are what is left of one; those are passed over. */
static int do_kernel(struct target *t, const struct target_settings *s, const char *version, size_t *count, struct err *e)
{
	char path[PATH_MAX];
	int code = 0;

	(void)snprintf(path, sizeof(path), MODULES "/%s/modules.dep", version); /* as below, it fits */
	if (strlen(version) >= VERSION_MAX || !target_has(t, path))
		return 0;
	(void)snprintf(path, sizeof(path), KERNEL "%s", version);
	if (!target_has(t, path))
		code = make_kernel(t, s->kernel, version, path, e);
	if (code || !target_has(t, path))
		return code;
	(*count)++;
	return build_image(t, version, e);
}

static int do_kernels(struct target *t, const struct target_settings *s, size_t *count, struct err *e)
{
	char folder[PATH_MAX];
	struct dirent *d;
	DIR *dir;
	int code = target_path(t, MODULES, folder, e);

	if (code)
		return code;
	dir = opendir(folder);
	if (!dir)
		return errno == ENOENT ? 0 : err_errno(e, "folder '%s'", folder);
	while (!code && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			code = do_kernel(t, s, d->d_name, count, e);
	(void)closedir(dir); /* it was only read */
	return code;
}

static int update_grub(struct target *t, struct err *e)
{
	static const char *const arguments[] = { "update-grub", NULL };
	char program[PATH_MAX];
	int code;

	if (!target_find(t, arguments[0], program))
		return 0;
	code = target_make_folder(t, "/boot/grub", e);
	return code ? code : target_run(t, arguments, e);
}

int target_kernels(struct target *t, const struct target_settings *s, struct err *e)
{
	size_t count = 0;
	int code = do_kernels(t, s, &count, e);

	if (code)
		return code;
	if (!count)
		return err_refuse(e, "no-kernel", "the new system has no kernel: no '" KERNEL "VERSION' with a folder '" MODULES
				  "/VERSION', and the medium's own is of another version: choose another medium");
	return update_grub(t, e);
}

/* ---- profiles ---- */

static int set_profile(struct target *t, const char *name, enum profile_phase phase, struct err *e)
{
	const struct profctl_params par = { .root = t->root };
	AUTO_FREE struct profctl_result *r = calloc(1, sizeof(*r));

	if (!name || !name[0])
		return 0;
	return r ? profctl_set(&par, name, phase, r, e) : err_set(e, -ENOMEM, "profile '%s': out of memory", name);
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

int target_profile(struct target *t, const struct target_settings *s, struct err *e)
{
	AUTO_FREE char *old = NULL, *now = NULL;
	int code = target_read(t, PROFILE_GRUB, &old, e);

	if (!code)
		code = set_profile(t, s->profile_normal, PROFILE_NORMAL, e);
	if (!code)
		code = set_profile(t, s->profile_iso_copy, PROFILE_ISO_COPY, e);
	if (!code)
		code = target_read(t, PROFILE_GRUB, &now, e);
	return code || is_same(old, now) ? code : update_grub(t, e);
}
