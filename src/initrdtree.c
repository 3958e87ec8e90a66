/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "initrdtree.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <fts.h>
#include <search.h>
#include <string.h>
#include <sys/stat.h>

#include "cpio.h"
#include "elfneeds.h"
#include "initrdfile.h"

#define ELF_MAX (64u * 1024 * 1024)
#define TEXT_MAX (16u * 1024 * 1024) /* a map of 10,000 extents is 0.3 MiB, Debian's modules.dep 0.6 MiB */

/* A file that has several names, within one archive. */
struct link {
	uint32_t inode, major, minor;
	struct filetree_node *node;         /* of its first name */
	const struct filetree_node *wanted; /* of the first name whose content is wanted; NULL: none so far */
};

struct load {
	struct filetree *tree;
	void *links; /* tsearch(): struct link */
	size_t link_count;
};

static const char *plain_path(const char *path)
{
	while (*path == '/' || (path[0] == '.' && path[1] == '/'))
		path++;
	return path;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_elf(const char *path)
{
	static const char *const programs[] = { "wubi-attach", "dmsetup", "fsck", "fsck.ext4", "e2fsck", "logsave" };
	const char *base = base_name(path);

	if (strstr(path, "lib/modules/"))
		return false;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (strcmp(base, programs[i]) == 0)
			return true;
	return strstr(base, ".so") != NULL;
}

static bool is_text(const char *path)
{
	static const char *const patterns[] = {
		"lib/modules/*/modules.dep", "lib/modules/*/modules.builtin", "usr/lib/modules/*/modules.dep",
		"usr/lib/modules/*/modules.builtin", "etc/wubi/maps/*.map", "etc/ld.so.conf", "etc/ld.so.conf.d/*.conf",
		"scripts/local-top/ORDER",
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (fnmatch(patterns[i], path, FNM_PATHNAME) == 0)
			return true;
	return false;
}

static bool is_wanted(const char *path, uint64_t bytes)
{
	path = plain_path(path);
	return is_elf(path) ? bytes <= ELF_MAX : bytes <= TEXT_MAX && is_text(path);
}

static void free_needs(void *note)
{
	elfneeds_free(note);
}

/* data of a file that was wanted: to what the tree keeps of it. */
static int take_content(struct filetree *tree, struct filetree_node *node, const char *path, void *data, size_t n, struct err *e)
{
	struct elfneeds *needs = NULL;
	struct err ignored = ERR_INIT;

	if (!is_elf(plain_path(path)))
		return filetree_set_text(tree, node, data, n, e);
	if (elfneeds_read(data, n, &needs, &ignored) == -ENOMEM)
		return err_set(e, -ENOMEM, "out of memory");
	/* NULL: linker scripts are named like libraries, and what is damaged helps nobody */
	return filetree_set_note(tree, node, needs, needs ? elfneeds_bytes(needs) : 0, e);
}

static int compare_links(const void *a, const void *b)
{
	const struct link *l = a, *r = b;

	if (l->inode != r->inode)
		return l->inode < r->inode ? -1 : 1;
	if (l->major != r->major)
		return l->major < r->major ? -1 : 1;
	return l->minor == r->minor ? 0 : l->minor < r->minor ? -1 : 1;
}

static struct link *find_link(const struct load *l, const struct cpio_entry *entry)
{
	struct link key = { .inode = entry->inode, .major = entry->device_major, .minor = entry->device_minor };
	void *found = tfind(&key, &l->links, compare_links);

	return found ? *(struct link **)found : NULL;
}

static int remember_link(struct load *l, const struct cpio_entry *entry, struct filetree_node *node, struct err *e)
{
	struct link *link;

	if (l->link_count++ >= FILETREE_NODES_MAX) /* names may come again and again, each time as another file */
		return err_set(e, -E2BIG, "more than %u files with several names", FILETREE_NODES_MAX);
	link = malloc(sizeof(*link));
	if (link)
		*link = (struct link){ entry->inode, entry->device_major, entry->device_minor, node,
				       is_wanted(entry->path, entry->size_bytes) ? node : NULL };
	if (link && tsearch(link, &l->links, compare_links))
		return 0;
	free(link);
	return err_set(e, -ENOMEM, "out of memory");
}

static bool is_linked(const struct cpio_entry *entry)
{
	return S_ISREG(entry->mode) && entry->links > 1;
}

/* Of a file with several names, the one that says what to keep of its content; NULL: none. The content comes with the last. */
static const char *wanted_name(const struct link *link, const struct cpio_entry *entry)
{
	if (is_wanted(entry->path, entry->size_bytes))
		return entry->path;
	return link && link->wanted && is_wanted(link->wanted->path, entry->size_bytes) ? link->wanted->path : NULL;
}

static bool wants(void *ctx, const struct cpio_entry *entry)
{
	return wanted_name(is_linked(entry) ? find_link(ctx, entry) : NULL, entry) != NULL;
}

static int visit(void *ctx, const struct cpio_entry *entry, void *data, struct err *e)
{
	struct load *l = ctx;
	struct link *first = is_linked(entry) ? find_link(l, entry) : NULL;
	struct filetree_node *node;
	const char *path = wanted_name(first, entry);
	int r = filetree_add(l->tree, entry->path, entry->mode, entry->target, &node, e);

	if (r || !node)
		return r;
	if (first && first->node != node) {
		node->same = first->node;
		if (!first->wanted && path)
			first->wanted = node;
		node = first->node;
	} else if (is_linked(entry) && !first) {
		r = remember_link(l, entry, node, e);
	}
	if (entry->size_bytes > 0)
		node->size_bytes = entry->size_bytes;
	if (!r && data && path)
		r = take_content(l->tree, node, path, data, (size_t)entry->size_bytes, e);
	return r;
}

static void end_of_archive(void *ctx)
{
	struct load *l = ctx;

	tdestroy(l->links, free);
	l->links = NULL;
	l->link_count = 0;
}

int initrdtree_from_image(const char *path, struct filetree **ret, struct err *e)
{
	AUTO(filetree) struct filetree *tree = filetree_new(free_needs);
	struct load l = { .tree = tree };
	const struct cpio_visitor visitor = { wants, visit, end_of_archive, &l };
	int r;

	if (!tree)
		return err_set(e, -ENOMEM, "out of memory");
	r = initrdfile_read(path, &visitor, e);
	end_of_archive(&l);
	if (!r)
		*ret = TAKE(tree);
	return r;
}

static int read_whole(const char *path, size_t n, void **ret, struct err *e)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	AUTO_FREE char *data = malloc(n ? n : 1);
	size_t done = 0;

	if (fd < 0)
		return err_errno(e, "'%.300s'", path);
	if (!data)
		return err_set(e, -ENOMEM, "out of memory");
	while (done < n) {
		ssize_t got = read(fd, data + done, n - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? err_errno(e, "'%.300s'", path) : err_set(e, -EIO, "'%.300s' became shorter", path);
		done += (size_t)got;
	}
	*ret = TAKE(data);
	return 0;
}

static int add_file(struct filetree *tree, const char *root, const FTSENT *f, struct err *e)
{
	const char *path = plain_path(f->fts_path + strlen(root));
	struct filetree_node *node;
	AUTO_FREE void *data = NULL;
	char target[PATH_MAX];
	ssize_t n = 0;
	int r;

	if (S_ISLNK(f->fts_statp->st_mode)) {
		n = readlink(f->fts_path, target, sizeof(target) - 1);
		if (n < 0)
			return err_errno(e, "'%.300s'", f->fts_path);
		target[n] = '\0';
	}
	r = filetree_add(tree, path, f->fts_statp->st_mode, n > 0 ? target : NULL, &node, e);
	if (r || !node || !S_ISREG(f->fts_statp->st_mode))
		return r;
	node->size_bytes = (uint64_t)f->fts_statp->st_size;
	if (!is_wanted(path, node->size_bytes))
		return 0;
	r = read_whole(f->fts_path, (size_t)node->size_bytes, &data, e);
	return r ? r : take_content(tree, node, path, data, (size_t)node->size_bytes, e);
}

static int add_files(struct filetree *tree, const char *root, FTS *walk, struct err *e)
{
	int r = 0;

	while (!r) {
		FTSENT *f;

		errno = 0;
		f = fts_read(walk);
		if (!f)
			return errno ? err_errno(e, "'%.300s'", root) : 0;
		if (f->fts_info == FTS_DNR || f->fts_info == FTS_ERR || f->fts_info == FTS_NS)
			return err_set(e, -f->fts_errno, "'%.300s': %s", f->fts_path, strerror(f->fts_errno));
		if (f->fts_info != FTS_DP && f->fts_level > 0)
			r = add_file(tree, root, f, e);
	}
	return r;
}

int initrdtree_from_folder(const char *path, struct filetree **ret, struct err *e)
{
	AUTO(filetree) struct filetree *tree = filetree_new(free_needs);
	AUTO_FREE char *root = strdup(path);
	char *const roots[] = { root, NULL };
	struct stat st;
	FTS *walk;
	int r;

	if (!tree || !root)
		return err_set(e, -ENOMEM, "out of memory");
	if (stat(path, &st))
		return err_errno(e, "'%.300s'", path);
	if (!S_ISDIR(st.st_mode))
		return err_set(e, -ENOTDIR, "'%.300s': %s", path, strerror(ENOTDIR));
	walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, NULL);
	if (!walk)
		return err_errno(e, "'%.300s'", path);
	r = add_files(tree, root, walk, e);
	(void)fts_close(walk); /* nothing was changed */
	if (!r)
		*ret = TAKE(tree);
	return r;
}
