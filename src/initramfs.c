/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "initramfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "auto.h"
#include "initramfs_private.h"

#define IMAGE "initrd.img-"
#define HIDDEN ".wubi-initrd-" /* no boot menu takes it for an image */
#define HIDDEN_END ".new"
#define VERSION_MAX INITRAMFS_VERSION_MAX

void initramfs_kernels_clear(struct initramfs_kernels *k)
{
	free(k->versions);
	*k = (struct initramfs_kernels){ NULL, 0 };
}

static void auto_dir(DIR **d)
{
	if (*d)
		(void)closedir(*d); /* it was only read */
}

bool initramfs_tool(const char *more, char ret[256])
{
	return initramfs_find("update-initramfs", more, ret) || initramfs_find("dracut", more, ret);
}

static bool is_dracut(const char *tool)
{
	return strcmp(strrchr(tool, '/'), "/dracut") == 0;
}

/* ---- which kernels ---- */

static bool has_modules(const char *modules, const char *version)
{
	char path[PATH_MAX];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/%s", modules, version);

	return n > 0 && n < PATH_MAX && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Copies of an image that were made by hand, or by update-initramfs (.dpkg-bak, .old), have no modules. */
static bool version_of(const char *modules, const char *name, char ret[VERSION_MAX])
{
	if (strncmp(name, IMAGE, strlen(IMAGE)) != 0 || !name[strlen(IMAGE)])
		return false;
	if (snprintf(ret, VERSION_MAX, "%s", name + strlen(IMAGE)) >= VERSION_MAX)
		return false;
	return has_modules(modules, ret);
}

static bool is_leftover(const char *name)
{
	size_t n = strlen(name), end = strlen(HIDDEN_END);

	return strncmp(name, HIDDEN, strlen(HIDDEN)) == 0 && n > end && !strcmp(name + n - end, HIDDEN_END);
}

static int by_version(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void put_first(struct initramfs_kernels *k, const char *running)
{
	struct utsname u;
	char version[VERSION_MAX];

	if (!running && uname(&u) == 0)
		running = u.release;
	for (size_t i = 0; running && i < k->count; i++) {
		if (strcmp(k->versions[i], running) != 0)
			continue;
		memcpy(version, k->versions[i], sizeof(version));
		memmove(k->versions[1], k->versions[0], i * sizeof(k->versions[0]));
		memcpy(k->versions[0], version, sizeof(version));
		return;
	}
}

static int read_versions(DIR *dir, const char *modules, struct initramfs_kernels *k, struct err *e)
{
	const struct dirent *d;

	while ((d = readdir(dir))) {
		char version[VERSION_MAX];
		void *wider;

		if (!version_of(modules, d->d_name, version))
			continue;
		wider = reallocarray(k->versions, k->count + 1, sizeof(*k->versions));
		if (!wider)
			return err_set(e, -ENOMEM, "out of memory for the list of kernels");
		k->versions = wider;
		memcpy(k->versions[k->count++], version, sizeof(version));
	}
	return 0;
}

int initramfs_kernels(const char *boot, const char *modules, const char *running, struct initramfs_kernels *ret, struct err *e)
{
	__attribute__((cleanup(auto_dir))) DIR *dir = opendir(boot);
	__attribute__((cleanup(initramfs_kernels_clear))) struct initramfs_kernels k = { NULL, 0 };
	int code;

	if (!dir)
		return err_errno(e, "folder '%s'", boot);
	code = read_versions(dir, modules, &k, e);
	if (code)
		return code;
	if (!k.count)
		return err_set(e, -ENOENT, "no kernel has an image '" IMAGE "VERSION' in '%s' and a folder in '%s'", boot,
			       modules);
	qsort(k.versions, k.count, sizeof(*k.versions), by_version);
	put_first(&k, running);
	*ret = k;
	k.versions = NULL;
	return 0;
}

/* What a run left that was killed goes on this occasion. */
static void remove_leftovers(const char *boot)
{
	__attribute__((cleanup(auto_dir))) DIR *dir = opendir(boot);
	const struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (is_leftover(d->d_name))
			(void)unlinkat(dirfd(dir), d->d_name, 0); /* in the way of nothing */
}

/* ---- one kernel ---- */

static int sync_path(const char *path, int flags, struct err *e)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | flags);

	if (fd < 0 || fsync(fd))
		return err_errno(e, "'%s'", path);
	return 0;
}

static int tell_hooks(const struct initramfs_params *p, const char *image, const char *version, struct err *e)
{
	char program[256], version_argument[VERSION_MAX + 16], image_argument[PATH_MAX + 16];
	const char *const run[] = { program, version_argument, image_argument, p->hooks, NULL };

	if (access(p->hooks, F_OK) != 0 || !initramfs_find("run-parts", p->tools, program))
		return 0;
	(void)snprintf(version_argument, sizeof(version_argument), "--arg=%s", version); /* both fit */
	(void)snprintf(image_argument, sizeof(image_argument), "--arg=%s", image);
	return initramfs_spawn(run, p->tools, e);
}

/* From here on it is what boots. */
static int put_in_place(const struct initramfs_params *p, const char *made, const char *image, struct err *e)
{
	int code = sync_path(made, 0, e);

	if (!code && rename(made, image))
		code = err_errno(e, "rename '%s' to '%s'", made, image);
	return code ? code : sync_path(p->boot, O_DIRECTORY, e);
}

static int build_by_dracut(const struct initramfs_params *p, const char *tool, const char *image, const char *version,
			   struct err *e)
{
	char made[PATH_MAX];
	const char *const run[] = { tool, "--force", made, version, NULL };
	int code, n = snprintf(made, sizeof(made), "%s/" HIDDEN "%s" HIDDEN_END, p->boot, version);

	if (n < 0 || n >= PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "'%.300s': %s", p->boot, strerror(ENAMETOOLONG));
	code = initramfs_spawn(run, p->tools, e);
	if (!code)
		code = p->check(p->ctx, made, version, e);
	if (!code)
		code = put_in_place(p, made, image, e);
	if (code) {
		(void)unlink(made); /* the first error counts; mostly it is there */
		return code;
	}
	return tell_hooks(p, image, version, e);
}

/* It says "done" as well when it was told not to build (update_initramfs=no), or cannot (/boot is read-only). */
static int build_by_update(const struct initramfs_params *p, const char *tool, const char *image, const char *version,
			   struct err *e)
{
	const char *const run[] = { tool, "-u", "-k", version, NULL };
	int code = initramfs_spawn(run, p->tools, e);

	return code ? code : p->check(p->ctx, image, version, e);
}

static int build(const struct initramfs_params *p, const char *tool, const char *version, struct err *e)
{
	char image[PATH_MAX];
	int n = snprintf(image, sizeof(image), "%s/" IMAGE "%s", p->boot, version);

	if (n < 0 || n >= PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "'%.300s': %s", p->boot, strerror(ENAMETOOLONG));
	return is_dracut(tool) ? build_by_dracut(p, tool, image, version, e) : build_by_update(p, tool, image, version, e);
}

/* ---- all ---- */

int initramfs_rebuild(const struct initramfs_params *p, struct err *e)
{
	__attribute__((cleanup(initramfs_kernels_clear))) struct initramfs_kernels k = { NULL, 0 };
	struct err first = ERR_INIT, why = ERR_INIT;
	char tool[256], names[300] = "";
	size_t used = 0;
	int code;

	if (!initramfs_tool(p->tools, tool))
		return err_set(e, -ENOENT, "neither update-initramfs nor dracut is here: the initramfs cannot be built");
	remove_leftovers(p->boot);
	code = initramfs_kernels(p->boot, p->modules, p->running, &k, e);
	if (code)
		return code;
	for (size_t i = 0; i < k.count; i++) {
		if (p->interrupted && p->interrupted(p->ctx))
			return err_set(e, -ECANCELED, "interrupted before the initramfs of kernel '%s'", k.versions[i]);
		err_clear(&why);
		if (!build(p, tool, k.versions[i], &why))
			continue;
		if (!first.code)
			first = why;
		if (used < sizeof(names)) /* those that do not fit are not named */
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "", k.versions[i]);
	}
	return first.code ? err_set(e, first.code, "kernel %s: %.400s", names, first.text) : 0;
}
