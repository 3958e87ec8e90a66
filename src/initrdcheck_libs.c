/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program with all that the dynamic loader needs to start it (ld.so(8)). */
#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "elfneeds.h"
#include "initrdcheck_private.h"

#define FILES_MAX 512 /* of one program's closure */

struct closure {
	struct initrdcheck *c;
	const char *program;               /* for people */
	const struct elfneeds *first;      /* the program's: libraries have to be of its kind */
	const struct filetree_node *files[FILES_MAX];
	size_t count;
	const char *missing[REPORT_MAX];   /* told already; borrowed from the tree */
	size_t missing_count;
	char found[PATH_MAX];
};

static bool is_known(const struct closure *l, const struct filetree_node *node)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->files[i] == node)
			return true;
	return false;
}

/* A library of the program's kind at folder/name? */
static const struct filetree_node *library_at(struct closure *l, const char *folder, size_t folder_bytes, const char *name)
{
	const struct filetree_node *node;
	const struct elfneeds *needs;
	int n = snprintf(l->found, sizeof(l->found), "%.*s/%s", (int)folder_bytes, folder, name);

	if (n < 0 || (size_t)n >= sizeof(l->found))
		return NULL;
	node = filetree_find_file(l->c->tree, l->found, false);
	needs = node ? node->note : NULL;
	return needs && needs->machine == l->first->machine && needs->bits == l->first->bits ? node : NULL;
}

/* The folders of RUNPATH or RPATH; $ORIGIN is the folder of the file that has it. */
static const struct filetree_node *search_path(struct closure *l, const struct filetree_node *by, const char *path,
					       const char *name)
{
	static const char *const origins[] = { "$ORIGIN", "${ORIGIN}" };
	const char *slash = strrchr(by->path, '/');
	char folder[PATH_MAX];

	while (*path) {
		size_t n = strcspn(path, ":"), skip = 0;
		const struct filetree_node *node;
		int m;

		for (size_t i = 0; i < 2; i++)
			if (strncmp(path, origins[i], strlen(origins[i])) == 0)
				skip = strlen(origins[i]);
		m = snprintf(folder, sizeof(folder), "%.*s%.*s", skip && slash ? (int)(slash - by->path) : 0, by->path,
			     (int)(n - skip), path + skip);
		node = n >= skip && m > 0 && (size_t)m < sizeof(folder) ? library_at(l, folder, (size_t)m, name) : NULL;
		if (node)
			return node;
		path += n + (path[n] == ':');
	}
	return NULL;
}

/* One folder, and the variants in it for newer processors, of which the loader takes one when this machine has them. */
static const struct filetree_node *search_folder(struct closure *l, const char *folder, size_t bytes, const char *name)
{
	static const char *const variants[] = { "", "/glibc-hwcaps/x86-64-v4", "/glibc-hwcaps/x86-64-v3",
					       "/glibc-hwcaps/x86-64-v2" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		int n = snprintf(path, sizeof(path), "%.*s%s", (int)bytes, folder, variants[i]);
		const struct filetree_node *node = NULL;

		if (n > 0 && (size_t)n < sizeof(path))
			node = library_at(l, path, (size_t)n, name);
		if (node)
			return node;
	}
	return NULL;
}

/* The lines of an ld.so.conf that are folders. 'include' is not followed: Debian's has ld.so.conf.d, and that is read anyway. */
static const struct filetree_node *search_conf(struct closure *l, const char *text, const char *name)
{
	while (*text) {
		size_t n = strcspn(text, "\n"), used = n;
		const struct filetree_node *node;

		while (used && isspace((unsigned char)text[used - 1]))
			used--;
		node = *text == '/' ? search_folder(l, text, used, name) : NULL;
		if (node)
			return node;
		text += n + (text[n] == '\n');
	}
	return NULL;
}

struct conf_search {
	struct closure *l;
	const char *name;
	const struct filetree_node *found;
};

static int search_conf_of(void *ctx, const struct filetree_node *node)
{
	struct conf_search *s = ctx;

	if (node->text && strncmp(node->path, "etc/ld.so.conf", 14) == 0)
		s->found = search_conf(s->l, node->text, s->name);
	return s->found != NULL;
}

/* Both builders copy the system's when the hooks have run: until then the system's are what will be there. */
static const struct filetree_node *search_system_conf(struct closure *l, const char *name)
{
	const struct filetree_node *node = NULL;
	glob_t files;

	if (glob("/etc/ld.so.conf.d/*.conf", 0, NULL, &files))
		return NULL;
	for (size_t i = 0; !node && i < files.gl_pathc; i++) {
		char text[4096];
		FILE *f = fopen(files.gl_pathv[i], "re");
		size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

		text[n] = '\0';
		if (f)
			(void)fclose(f); /* only read; what could not be read has no folders */
		node = search_conf(l, text, name);
	}
	globfree(&files);
	return node;
}

static const struct filetree_node *search_default(struct closure *l, const char *name)
{
	static const char *const folders[] = { "lib/%s", "usr/lib/%s", "lib64", "usr/lib64", "lib", "usr/lib" };
	char folder[256];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const char *percent = strchr(folders[i], '%');
		const struct filetree_node *node;
		int n = percent ? snprintf(folder, sizeof(folder), "%.*s%s", (int)(percent - folders[i]), folders[i],
					   l->first->multiarch) :
				  snprintf(folder, sizeof(folder), "%s", folders[i]);

		node = n > 0 && (size_t)n < sizeof(folder) ? search_folder(l, folder, (size_t)n, name) : NULL;
		if (node)
			return node;
	}
	return NULL;
}

/* The loader does not read ld.so.conf, but what ldconfig made of it. Both builders run that last. */
static bool has_cache(const struct initrdcheck *c)
{
	return !c->params->image || filetree_find_file(c->tree, "etc/ld.so.cache", false);
}

static const struct filetree_node *find_library(struct closure *l, const struct filetree_node *by, const char *name)
{
	const struct elfneeds *needs = by->note;
	struct conf_search conf = { l, name, NULL };
	const struct filetree_node *node = NULL;

	if (strchr(name, '/'))
		return library_at(l, "", 0, name);
	if (needs->search)
		node = search_path(l, by, needs->search, name);
	if (!node)
		node = search_default(l, name);
	if (!node && has_cache(l->c)) {
		(void)filetree_each(l->c->tree, search_conf_of, &conf);
		node = conf.found;
	}
	return node || l->c->params->image ? node : search_system_conf(l, name);
}

static void tell_missing(struct closure *l, const char *name, const struct filetree_node *by)
{
	for (size_t i = 0; i < l->missing_count; i++)
		if (strcmp(l->missing[i], name) == 0)
			return;
	if (l->missing_count < REPORT_MAX)
		l->missing[l->missing_count++] = name;
	report_add(&l->c->result.findings, "no-library", "'%.100s', which '/%.200s' needs, is not in it: '%s' would not start; "
		   "install the package that has it again ('ldd /%.200s' shows what is missing), " INITRDCHECK_REBUILD, name,
		   by->path,
		   l->program,
		   by->path);
}

static void tell_fuse(struct closure *l, const char *name)
{
	if (strncmp(name, "libfuse", 7) == 0)
		report_add(&l->c->result.findings, "fuse", "'%s' needs '%.100s': a program that is built for FUSE has no place "
			   "between root and its disk; install the package 'wubi-tools' again, " INITRDCHECK_REBUILD, l->program,
			   name);
}

/* The loader, and the libraries of one file; what is new is looked at later. */
static int follow(struct closure *l, const struct filetree_node *by, struct err *e)
{
	const struct elfneeds *needs = by->note;

	if (needs->interpreter && !filetree_find_file(l->c->tree, needs->interpreter, true))
		tell_missing(l, needs->interpreter, by);
	for (size_t i = 0; i < needs->library_count; i++) {
		const struct filetree_node *node = find_library(l, by, needs->libraries[i]);

		tell_fuse(l, needs->libraries[i]);
		if (!node) {
			tell_missing(l, needs->libraries[i], by);
			continue;
		}
		if (is_known(l, node))
			continue;
		if (l->count == FILES_MAX)
			return err_set(e, -E2BIG, "'%s' needs more than %d libraries", l->program, FILES_MAX);
		l->files[l->count++] = node;
	}
	return 0;
}

static const struct filetree_node *find_program(const struct initrdcheck *c, const char *name)
{
	static const char *const folders[] = { "usr/sbin", "sbin", "usr/bin", "bin" };
	char path[256];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const struct filetree_node *node;

		(void)snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		node = filetree_find_file(c->tree, path, true);
		if (node)
			return node;
	}
	return NULL;
}

int initrdcheck_program(struct initrdcheck *c, const struct initrdcheck_wanted *wanted, struct err *e)
{
	const struct filetree_node *program = find_program(c, wanted->name);
	AUTO_FREE struct closure *l = calloc(1, sizeof(*l));
	int r = 0;

	if (!l)
		return err_set(e, -ENOMEM, "out of memory");
	if (!program || !program->note) {
		report_add(&c->result.findings, wanted->reason, "the program '%s' %s: %s; install the package '%s' again, "
			   INITRDCHECK_REBUILD, wanted->name, program ? "in it is damaged" : "is not in it", wanted->otherwise,
			   wanted->package);
		return 0;
	}
	l->c = c;
	l->program = wanted->name;
	l->first = program->note;
	l->files[l->count++] = program;
	for (size_t i = 0; !r && i < l->count; i++)
		r = follow(l, l->files[i], e);
	c->result.libraries += l->count - 1;
	return r;
}
