/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "filetree.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINKS_MAX 40 /* as the kernel's MAXSYMLINKS */

struct filetree {
	void *root; /* tsearch(): struct filetree_node by path */
	size_t nodes;
	size_t kept_bytes; /* of FILETREE_TEXT_MAX */
	void (*note_free)(void *note);
};

static int compare(const void *a, const void *b)
{
	const struct filetree_node *left = a, *right = b;

	return strcmp(left->path, right->path);
}

struct filetree *filetree_new(void (*note_free)(void *note))
{
	struct filetree *t = calloc(1, sizeof(*t));

	if (t)
		t->note_free = note_free;
	return t;
}

/* n more bytes in place of 'less' that go. */
static int keep(struct filetree *t, size_t less, size_t n, const char *path, struct err *e)
{
	if (n > FILETREE_TEXT_MAX || t->kept_bytes - less > FILETREE_TEXT_MAX - n)
		return err_set(e, -E2BIG, "'%.200s': too much to keep in memory", path);
	t->kept_bytes += n - less;
	return 0;
}

static void drop_note(struct filetree *t, struct filetree_node *node)
{
	t->kept_bytes -= node->note_bytes;
	if (node->note && t->note_free)
		t->note_free(node->note);
	node->note = NULL;
	node->note_bytes = 0;
}

/* The content, the note and the target; the path stays. */
static void node_empty(struct filetree *t, struct filetree_node *node)
{
	drop_note(t, node);
	t->kept_bytes -= node->text_bytes + (node->target ? strlen(node->target) : 0);
	free(node->target);
	free(node->text);
	*node = (struct filetree_node){ .path = node->path };
}

void filetree_free(struct filetree *t)
{
	if (!t)
		return;
	while (t->root) {
		struct filetree_node *node = *(struct filetree_node **)t->root;

		tdelete(node, &t->root, compare);
		node_empty(t, node);
		free(node->path);
		free(node);
	}
	free(t);
}

static struct filetree_node *find_exact(const struct filetree *t, const char *path)
{
	struct filetree_node key = { .path = (char *)path }; /* compare() only reads it */
	void *found = tfind(&key, &t->root, compare);

	return found ? *(struct filetree_node **)found : NULL;
}

/* A path on its way: what is behind us has no links in it any more, what is ahead may. */
struct walk {
	char done[PATH_MAX];
	char ahead[PATH_MAX];
	size_t done_bytes;
	int links;
};

static int walk_start(struct walk *w, const char *path)
{
	w->done[0] = '\0';
	w->done_bytes = 0;
	w->links = 0;
	if (strlen(path) >= sizeof(w->ahead))
		return -ENAMETOOLONG;
	strcpy(w->ahead, path); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy): measured */
	return 0;
}

static void walk_up(struct walk *w)
{
	char *slash = strrchr(w->done, '/');

	w->done_bytes = slash ? (size_t)(slash - w->done) : 0;
	w->done[w->done_bytes] = '\0';
}

static int walk_down(struct walk *w, const char *name, size_t n)
{
	size_t slash = w->done_bytes ? 1 : 0;

	if (w->done_bytes + slash + n >= sizeof(w->done))
		return -ENAMETOOLONG;
	if (slash)
		w->done[w->done_bytes] = '/';
	memcpy(w->done + w->done_bytes + slash, name, n);
	w->done_bytes += slash + n;
	w->done[w->done_bytes] = '\0';
	return 0;
}

/* The link's target takes the place of its name. */
static int walk_follow(struct walk *w, const char *target, const char *rest)
{
	char ahead[PATH_MAX];
	size_t n = strlen(target), m = strlen(rest);

	if (++w->links > LINKS_MAX)
		return -ELOOP;
	if (n + 1 + m >= sizeof(ahead))
		return -ENAMETOOLONG;
	(void)snprintf(ahead, sizeof(ahead), "%s/%s", target, rest); /* fits */
	if (*target == '/')
		w->done_bytes = 0;
	else
		walk_up(w);
	w->done[w->done_bytes] = '\0';
	memcpy(w->ahead, ahead, n + 1 + m + 1);
	return 0;
}

/* To the end of the path, into w->done; of a link at the end itself only with 'last'. 0, -ENAMETOOLONG, -ELOOP. */
static int walk(const struct filetree *t, struct walk *w, bool last)
{
	for (;;) {
		char *name = w->ahead + strspn(w->ahead, "/");
		size_t n = strcspn(name, "/");
		const char *rest = name + n + strspn(name + n, "/");
		const struct filetree_node *node;
		int r;

		if (n == 0)
			return 0;
		if (n == 2 && name[0] == '.' && name[1] == '.') {
			walk_up(w);
		} else if (n != 1 || name[0] != '.') {
			r = walk_down(w, name, n);
			if (r)
				return r;
			node = *rest || last ? find_exact(t, w->done) : NULL;
			if (node && node->target) {
				r = walk_follow(w, node->target, rest);
				if (r)
					return r;
				continue;
			}
		}
		memmove(w->ahead, rest, strlen(rest) + 1);
	}
}

/* A new node with this path, or the one that is there, emptied. */
static int node_at(struct filetree *t, const char *path, struct filetree_node **ret, struct err *e)
{
	struct filetree_node *node = find_exact(t, path);

	if (node) {
		node_empty(t, node);
		*ret = node;
		return 0;
	}
	if (t->nodes >= FILETREE_NODES_MAX)
		return err_set(e, -E2BIG, "more than %u files", FILETREE_NODES_MAX);
	if (keep(t, 0, strlen(path), path, e))
		return -E2BIG;
	node = calloc(1, sizeof(*node));
	if (node)
		node->path = strdup(path);
	if (!node || !node->path || !tsearch(node, &t->root, compare)) {
		if (node)
			free(node->path);
		free(node);
		return err_set(e, -ENOMEM, "out of memory");
	}
	t->nodes++;
	*ret = node;
	return 0;
}

static bool leads_upward(const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && path[0] == '.' && path[1] == '.')
			return true;
		path += n + strspn(path + n, "/");
	}
	return false;
}

int filetree_add(struct filetree *t, const char *path, mode_t mode, const char *target, struct filetree_node **ret, struct err *e)
{
	AUTO_FREE struct walk *w = malloc(sizeof(*w));
	AUTO_FREE char *copy = target ? strdup(target) : NULL;
	struct filetree_node *node = NULL;
	int r;

	*ret = NULL;
	if (!w || (target && !copy))
		return err_set(e, -ENOMEM, "out of memory");
	if (leads_upward(path) || walk_start(w, path) || walk(t, w, false))
		return err_set(e, -EINVAL, "'%.200s' is no path that could be unpacked", path);
	if (w->done_bytes == 0)
		return 0;
	r = node_at(t, w->done, &node, e);
	if (!r && copy)
		r = keep(t, 0, strlen(copy), path, e);
	if (r)
		return r;
	node->mode = mode;
	node->target = TAKE(copy);
	*ret = node;
	return 0;
}

int filetree_set_text(struct filetree *t, struct filetree_node *node, const char *text, size_t n, struct err *e)
{
	char *copy = malloc(n + 1);
	int r;

	if (!copy)
		return err_set(e, -ENOMEM, "out of memory");
	r = keep(t, node->text_bytes, n, node->path, e);
	if (r) {
		free(copy);
		return r;
	}
	if (n)
		memcpy(copy, text, n);
	copy[n] = '\0';
	free(node->text);
	node->text = copy;
	node->text_bytes = n;
	return 0;
}

int filetree_set_note(struct filetree *t, struct filetree_node *node, void *note, size_t n, struct err *e)
{
	int r;

	drop_note(t, node);
	node->note = note;
	r = keep(t, 0, n, node->path, e);
	if (r)
		drop_note(t, node);
	else
		node->note_bytes = n;
	return r;
}

static const struct filetree_node *find(const struct filetree *t, const char *path, bool last)
{
	AUTO_FREE struct walk *w = malloc(sizeof(*w));

	if (!w || walk_start(w, path) || walk(t, w, last))
		return NULL;
	return find_exact(t, w->done);
}

const struct filetree_node *filetree_find(const struct filetree *t, const char *path)
{
	const struct filetree_node *node = find(t, path, true);

	return node && node->same ? node->same : node;
}

const struct filetree_node *filetree_find_link(const struct filetree *t, const char *path)
{
	return find(t, path, false);
}

const struct filetree_node *filetree_find_file(const struct filetree *t, const char *path, bool executable)
{
	const struct filetree_node *node = filetree_find(t, path);

	if (!node || !S_ISREG(node->mode))
		return NULL;
	return !executable || node->mode & (S_IXUSR | S_IXGRP | S_IXOTH) ? node : NULL;
}

struct each {
	int (*fn)(void *ctx, const struct filetree_node *node);
	void *ctx;
	int result;
};

static void visit(const void *entry, VISIT which, void *closure)
{
	struct each *each = closure;

	if ((which == postorder || which == leaf) && each->result == 0)
		each->result = each->fn(each->ctx, *(struct filetree_node *const *)entry);
}

int filetree_each(const struct filetree *t, int (*fn)(void *ctx, const struct filetree_node *node), void *ctx)
{
	struct each each = { fn, ctx, 0 };

	twalk_r(t->root, visit, &each);
	return each.result;
}
