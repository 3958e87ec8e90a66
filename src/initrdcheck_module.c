/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's device-mapper: built in, or a module with what modules.dep says that it needs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "initrdcheck_private.h"

#define MODULE "dm_mod"
#define NAME_MAX_BYTES 128
#define LIST_MAX (16u * 1024 * 1024)

/* "kernel/drivers/md/dm-mod.ko.xz" to "dm_mod": what the kernel calls it. False: that is no module. */
static bool module_name(const char *path, size_t n, char ret[NAME_MAX_BYTES])
{
	static const char *const suffixes[] = { "", ".gz", ".xz", ".zst" };
	const char *base = memrchr(path, '/', n);
	const char *end = path + n, *dot;
	bool known = false;

	base = base ? base + 1 : path;
	dot = memmem(base, (size_t)(end - base), ".ko", 3);
	if (!dot || dot - base >= NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		known = known || (strlen(suffixes[i]) == (size_t)(end - dot - 3) &&
				  memcmp(dot + 3, suffixes[i], (size_t)(end - dot - 3)) == 0);
	for (const char *p = base; p < dot; p++)
		ret[p - base] = (char)(*p == '-' ? '_' : *p);
	ret[dot - base] = '\0';
	return known;
}

struct module_search {
	char folder[300]; /* "lib/modules/VERSION/" */
	const char *name;
};

/* What is behind "lib/modules/" of a path, wherever lib is; NULL: it is not there. */
static const char *behind_modules(const char *path)
{
	if (strncmp(path, "usr/", 4) == 0)
		path += 4;
	return strncmp(path, "lib/modules/", 12) == 0 ? path + 12 : NULL;
}

static int is_module(void *ctx, const struct filetree_node *node)
{
	const struct module_search *s = ctx;
	const char *path = strncmp(node->path, "usr/", 4) == 0 ? node->path + 4 : node->path;
	const struct filetree_node *file = node->same ? node->same : node;
	char name[NAME_MAX_BYTES];

	if (strncmp(path, s->folder, strlen(s->folder)) != 0 || !module_name(path, strlen(path), name))
		return 0;
	return strcmp(name, s->name) == 0 && S_ISREG(file->mode) && file->size_bytes > 0;
}

static bool has_module(const struct initrdcheck *c, const char *name)
{
	struct module_search s = { .name = name };

	(void)snprintf(s.folder, sizeof(s.folder), "lib/modules/%s/", c->result.kernel);
	return filetree_each(c->tree, is_module, &s) != 0;
}

static const struct filetree_node *find_list(const struct initrdcheck *c, const char *list)
{
	static const char *const folders[] = { "lib/modules", "usr/lib/modules" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const struct filetree_node *node;

		(void)snprintf(path, sizeof(path), "%s/%s/%s", folders[i], c->result.kernel, list);
		node = filetree_find_file(c->tree, path, false);
		if (node && node->text)
			return node;
	}
	return NULL;
}

/* *ret NULL: there is no such file. */
static int read_system_list(const struct initrdcheck *c, const char *list, char **ret, struct err *e)
{
	AUTO_FREE char *text = malloc(LIST_MAX + 1);
	char path[PATH_MAX];
	FILE *f;
	int r = 0;

	if (!text)
		return err_set(e, -ENOMEM, "out of memory");
	(void)snprintf(path, sizeof(path), "%s/%s/%s", c->params->modules, c->result.kernel, list);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT || errno == ENOTDIR ? 0 : err_errno(e, "'%.300s'", path);
	text[fread(text, 1, LIST_MAX, f)] = '\0';
	if (ferror(f))
		r = err_errno(e, "'%.300s'", path);
	(void)fclose(f); /* only read */
	if (!r)
		*ret = TAKE(text);
	return r;
}

/* One of the kernel's lists: from the initramfs, or with 'system' from the system when it is not there. *ret NULL: neither. */
static int read_list(const struct initrdcheck *c, const char *list, bool system, char **ret, struct err *e)
{
	const struct filetree_node *node = find_list(c, list);

	*ret = NULL;
	if (!node)
		return system ? read_system_list(c, list, ret, e) : 0;
	*ret = strdup(node->text);
	return *ret ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static bool has_line(const char *builtin, const char *name)
{
	while (builtin && *builtin) {
		size_t n = strcspn(builtin, "\n");
		char line_name[NAME_MAX_BYTES];

		if (module_name(builtin, n, line_name) && strcmp(line_name, name) == 0)
			return true;
		builtin += n + (builtin[n] == '\n');
	}
	return false;
}

/* What is behind the colon in a line of modules.dep, "PATH: PATH PATH..."; NULL: the module has none. *ret_line: the line. */
static const char *find_needs(const char *dep, const char *name, const char **ret_line)
{
	while (dep && *dep) {
		size_t n = strcspn(dep, "\n"), path = strcspn(dep, ":\n");
		char line_name[NAME_MAX_BYTES];

		if (path < n && module_name(dep, path, line_name) && strcmp(line_name, name) == 0) {
			*ret_line = dep;
			return dep + path + 1;
		}
		dep += n + (dep[n] == '\n');
	}
	return NULL;
}

/*
 * The file that modules.dep names, in n characters. modprobe opens exactly that one: in an image it has to be there. In a tree it
 * need not: the list may be the system's, and modules are decompressed before the image gets its own.
 */
static bool has_listed(const struct initrdcheck *c, const char *listed, size_t n, const char *name)
{
	static const char *const folders[] = { "lib/modules/", "usr/lib/modules/" };
	char path[PATH_MAX];

	if (!c->params->image)
		return has_module(c, name);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const struct filetree_node *node = NULL;
		bool absolute = *listed == '/';
		int m = snprintf(path, sizeof(path), "%s%s/%.*s", absolute ? "" : folders[i], absolute ? "" : c->result.kernel,
				 (int)n, listed);

		if (m > 0 && (size_t)m < sizeof(path))
			node = filetree_find_file(c->tree, path, false);
		if (node && node->size_bytes > 0)
			return true;
	}
	return false;
}

static void check_needs(struct initrdcheck *c, const char *needs, size_t n, const char *builtin)
{
	while (n > 0) {
		size_t skip = strspn(needs, " \t"), word;
		char name[NAME_MAX_BYTES];

		if (skip >= n)
			return;
		word = strcspn(needs + skip, " \t\n");
		if (module_name(needs + skip, word, name) && !has_listed(c, needs + skip, word, name) && !has_line(builtin, name))
			report_add(&c->result.findings, "no-module", "the kernel module '%s', which '" MODULE "' needs, is not "
				   "in it: device-mapper could not be loaded; install the package 'linux-image-%s' again, "
				   INITRDCHECK_REBUILD, name, c->result.kernel);
		needs += skip + word;
		n -= skip + word;
	}
}

static int check_module(struct initrdcheck *c, const char *builtin, struct err *e)
{
	AUTO_FREE char *dep = NULL;
	const char *needs, *line;
	int r = read_list(c, "modules.dep", !c->params->image, &dep, e);

	if (r)
		return r;
	if (!has_module(c, MODULE)) {
		report_add(&c->result.findings, "no-module", "device-mapper ('" MODULE "') is neither built into the kernel %s "
			   "nor a module in it: no image could be attached; install the package 'linux-image-%s' again, "
			   INITRDCHECK_REBUILD, c->result.kernel, c->result.kernel);
		return 0;
	}
	needs = find_needs(dep, MODULE, &line);
	if (needs && !has_listed(c, line, strcspn(line, ":"), MODULE))
		report_add(&c->result.findings, "no-module", "'%.*s', which 'modules.dep' of the kernel %s names, is not in it: "
			   "device-mapper ('" MODULE "') could not be loaded; run 'depmod %s', " INITRDCHECK_REBUILD,
			   (int)strcspn(line, ":"), line, c->result.kernel, c->result.kernel);
	else if (needs)
		check_needs(c, needs, strcspn(needs, "\n"), builtin);
	else
		report_add(&c->result.findings, "no-module", "'modules.dep' of the kernel %s does not have '" MODULE "': it "
			   "would not be found; run 'depmod %s', " INITRDCHECK_REBUILD, c->result.kernel, c->result.kernel);
	return 0;
}

struct kernel_search {
	char *kernel;
	size_t size;
	bool several;
};

static int see_kernel(void *ctx, const struct filetree_node *node)
{
	struct kernel_search *s = ctx;
	const char *version = behind_modules(node->path);
	size_t n = version ? strcspn(version, "/") : 0;

	if (n == 0 || n >= s->size || (version[n] == '\0' && !S_ISDIR(node->mode)))
		return 0;
	if (*s->kernel && (strncmp(s->kernel, version, n) != 0 || s->kernel[n] != '\0'))
		s->several = true;
	memcpy(s->kernel, version, n);
	s->kernel[n] = '\0';
	return s->several;
}

static int find_kernel(struct initrdcheck *c, struct err *e)
{
	struct kernel_search s = { c->result.kernel, sizeof(c->result.kernel), false };

	if (*c->result.kernel)
		return strchr(c->result.kernel, '/') ? err_set(e, -EINVAL, "'%s' is no version of a kernel", c->result.kernel) :
			0;
	(void)filetree_each(c->tree, see_kernel, &s);
	if (s.several)
		return err_set(e, -EINVAL, "it has modules of several kernels: say of which with --kernel");
	if (!*c->result.kernel)
		report_add(&c->result.findings, "no-module", "it has no kernel modules, and without the kernel's version it "
			   "cannot be told whether device-mapper is built in; say it with --kernel");
	return 0;
}

int initrdcheck_module(struct initrdcheck *c, struct err *e)
{
	AUTO_FREE char *builtin = NULL;
	int r = find_kernel(c, e);

	if (r || !*c->result.kernel)
		return r;
	r = read_list(c, "modules.builtin", true, &builtin, e);
	if (r || has_line(builtin, MODULE))
		return r;
	return check_module(c, builtin, e);
}
