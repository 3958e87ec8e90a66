/* SPDX-License-Identifier: GPL-2.0-or-later */
/* livesource_private - what the files of livesource share. */
#ifndef WUBI_LIVESOURCE_PRIVATE_H
#define WUBI_LIVESOURCE_PRIVATE_H

#include "livesource.h"

#define LIVESOURCE_NAME_MAX 128 /* of a layer's file on the medium */

/* Names in the order of the list; what is no plain file name is an error. Pure. */
struct livesource_names {
	char names[LIVESOURCE_LAYERS_MAX][LIVESOURCE_NAME_MAX]; /* bottom first */
	size_t count;
};

/* live/filesystem.module: names, by white space. -EINVAL: a name with a slash; -E2BIG: too many. */
int livesource_module_names(const char *text, struct livesource_names *ret, struct err *e);

/*
 * casper/install-sources.yaml: the path of the source that is "default: true", else of the first; *ret_is_layered false: of type
 * "fsimage". A list of maps at the left margin, its keys at the first indent; more is not read. -EINVAL: no path.
 */
int livesource_default_path(const char *text, char ret[LIVESOURCE_NAME_MAX], bool *ret_is_layered, struct err *e);

/* "a.b.c.squashfs": a.squashfs, a.b.squashfs, a.b.c.squashfs. */
int livesource_chain(const char *path, struct livesource_names *ret, struct err *e);

/* Where no list says so: is it a part for one language, the live session or another kind of boot, and not of every system? */
bool livesource_is_extra(const char *name);

/* NAME=VALUE, with or without quotes, of os-release(5); "" if it is not there. */
void livesource_os_value(const char *text, const char *name, char *ret, size_t size);

/* Layers, pool and kernel of a mounted medium. *ret_found false: it has nothing of any layout. */
int livesource_layout(struct livesource *s, bool *ret_found, struct err *e);

/* Is it a squashfs? -EIO and others. */
int livesource_is_squashfs(const char *path, bool *ret, struct err *e);

/* What is in the tree: title and so on. */
int livesource_describe(struct livesource *s, struct err *e);

/* Mounts, and remembers it for livesource_close(). The folder work/name is made. */
int livesource_put(struct livesource *s, const char *work, const char *name, const char *source, const char *type,
		   const char *options, char ret[PATH_MAX], struct err *e);

int livesource_join(char ret[PATH_MAX], const char *a, const char *b, const char *c, struct err *e);

#endif
