/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels, GRUB's menu, and the durability profiles, of which a part is in that menu. */
#include "target_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "profctl.h"

#define KERNEL "/boot/vmlinuz-"
#define PROFILE_GRUB "/etc/default/grub.d/wubi.cfg" /* profctl's */
#define HEAD_BYTES 65536 /* of a kernel: its version's text is in there */

/* ---- the kernel that the copy lacks ---- */

/* "" where the file is no kernel, or has no version. */
static int read_version(const char *kernel, char ret[TARGET_VERSION_MAX], struct err *e)
{
	AUTO_FREE unsigned char *head = malloc(HEAD_BYTES);
	AUTO_FD int fd = open(kernel, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (!head)
		return err_set(e, -ENOMEM, "'%s': out of memory", kernel);
	n = fd < 0 ? -1 : pread(fd, head, HEAD_BYTES, 0);
	if (n < 0)
		return err_errno(e, "'%s'", kernel);
	if (!target_kernel_version(head, (size_t)n, ret, TARGET_VERSION_MAX))
		ret[0] = '\0';
	return 0;
}

static int make_kernel(struct target *t, const char *kernel, const char *version, const char *path, struct err *e)
{
	char other[TARGET_VERSION_MAX];
	int code;

	if (!kernel || !kernel[0])
		return 0;
	code = read_version(kernel, other, e);
	if (code || strcmp(other, version) != 0)
		return code;
	code = target_make_folder(t, "/boot", e);
	return code ? code : target_copy_in(t, kernel, path, e);
}

/* ---- all of them ---- */

/* Modules without a kernel are what is left of one; those are passed over. */
static int do_kernel(struct target *t, const struct target_settings *s, const char *version, size_t *count, struct err *e)
{
	char path[PATH_MAX];
	int code = 0;

	(void)snprintf(path, sizeof(path), TARGET_MODULES "/%s/modules.dep", version); /* as below, it fits */
	if (strlen(version) >= TARGET_VERSION_MAX || !target_has(t, path))
		return 0;
	(void)snprintf(path, sizeof(path), KERNEL "%s", version);
	if (!target_has(t, path))
		code = make_kernel(t, s->kernel, version, path, e);
	if (code || !target_has(t, path))
		return code;
	(*count)++;
	return target_build_image(t, version, e);
}

/* One that fails does not keep the others from theirs; the first failure is told. */
static int do_kernels(struct target *t, const struct target_settings *s, size_t *count, struct err *e)
{
	char folder[PATH_MAX];
	struct dirent *d;
	DIR *dir;
	int code = target_path(t, TARGET_MODULES, folder, e), r = 0;

	if (code)
		return code;
	dir = opendir(folder);
	if (!dir)
		return errno == ENOENT ? 0 : err_errno(e, "folder '%s'", folder);
	while (r != -ECANCELED && (d = readdir(dir))) {
		struct err why = ERR_INIT;

		r = d->d_name[0] != '.' ? do_kernel(t, s, d->d_name, count, &why) : 0;
		if (r && (!code || r == -ECANCELED)) {
			code = r;
			(void)err_wrap(&why, r, "kernel '%s'", d->d_name);
			if (e)
				*e = why;
		}
	}
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
		return err_refuse(e, "no-kernel", "the new system has no kernel: no '" KERNEL "VERSION' with a folder '"
				  TARGET_MODULES "/VERSION', and the medium's own is of another version: choose another medium");
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
