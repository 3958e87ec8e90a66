/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filetree - the files of a root file system by their paths, in memory, with symbolic links that are followed inside it: what
 * an initramfs is once the kernel has unpacked it. Pure.
 *
 * Paths are given with or without a leading '/' or "./". Bounded, whatever is put in: FILETREE_NODES_MAX, PATH_MAX,
 * FILETREE_TEXT_MAX.
 */
#ifndef WUBI_FILETREE_H
#define WUBI_FILETREE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "auto.h"
#include "err.h"

#define FILETREE_NODES_MAX 500000u
#define FILETREE_TEXT_MAX (128u * 1024 * 1024) /* paths, targets, notes, and content that is kept, all files together */

struct filetree_node {
	char *path;                 /* "usr/sbin/wubi-attach": no '/' around it, no links in its folders */
	mode_t mode;                /* type and permissions, as of stat() */
	uint64_t size_bytes;
	char *target;               /* of a symbolic link; else NULL */
	char *text;                 /* content that filetree_set_text() kept, with a NUL behind it; NULL: none */
	size_t text_bytes;
	void *note;                 /* of filetree_set_note(); NULL: none */
	size_t note_bytes;
	struct filetree_node *same; /* another name of that file (a hard link): content, size and note are there; else NULL */
};

struct filetree;

/* note_free may be NULL. NULL: no memory. */
struct filetree *filetree_new(void (*note_free)(void *note));
void filetree_free(struct filetree *t); /* NULL is fine */
DEFINE_AUTO(filetree, struct filetree *, filetree_free);

/*
 * Puts in a file, folder, link or device; what was there under that path is overwritten, as unpacking does. Links in the folders
 * of the path are followed. target: of a symbolic link, else NULL. *ret is the tree's, and stays where it is; NULL for the root
 * itself. Folders need not be put in. -EINVAL for a path that is too long, leads upward or goes round in circles, -E2BIG beyond
 * the bounds, -ENOMEM.
 */
int filetree_add(struct filetree *t, const char *path, mode_t mode, const char *target, struct filetree_node **ret,
		 struct err *e);

/* Keeps a copy of n bytes of content. -E2BIG beyond the bounds, -ENOMEM. */
int filetree_set_text(struct filetree *t, struct filetree_node *node, const char *text, size_t n, struct err *e);

/*
 * The user's note, of n bytes, in place of the one before. It is the tree's, whatever happens: freed with the function of
 * filetree_new(). NULL: none. -E2BIG beyond the bounds.
 */
int filetree_set_note(struct filetree *t, struct filetree_node *node, void *note, size_t n, struct err *e);

/*
 * What is there, links followed, of several names of one file the one that has the content; NULL: nothing, or only a link that
 * leads nowhere.
 */
const struct filetree_node *filetree_find(const struct filetree *t, const char *path);

/* The same, but a link at the end of the path is not followed. */
const struct filetree_node *filetree_find_link(const struct filetree *t, const char *path);

/* Like filetree_find(), but only a regular file; with 'executable', only one that somebody may run. */
const struct filetree_node *filetree_find_file(const struct filetree *t, const char *path, bool executable);

/* Calls fn for all nodes in the order of their paths, until it does not return 0; returns what it returned last. */
int filetree_each(const struct filetree *t, int (*fn)(void *ctx, const struct filetree_node *node), void *ctx);

#endif
