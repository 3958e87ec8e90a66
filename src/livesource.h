/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * livesource - the system that is copied: of the running live medium, of an ISO file, or of a squashfs file.
 *
 * Layouts of media: live-boot's (live/filesystem.squashfs, or live/filesystem.module listing several, at /run/live/medium),
 * casper's (casper/filesystem.squashfs, at /cdrom), and Ubuntu's layered one (casper/install-sources.yaml names the squashfs that
 * is the default; NAME.squashfs lies over its prefixes up to each dot: minimal, minimal.standard; the .live ones are not
 * installed). The layers become one tree by overlayfs, read-only.
 */
#ifndef WUBI_LIVESOURCE_H
#define WUBI_LIVESOURCE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "progress.h"

#define LIVESOURCE_LAYERS_MAX 8

struct livesource_params {
	const char *iso;       /* one of these, or neither: the running live system */
	const char *squashfs;
	const char *work;      /* folder for mount points: exists, is the caller's and empty */
	const char *root;      /* "": where /run/live/medium and /cdrom are; tests have a folder */
};

struct livesource {
	char name[PATH_MAX];           /* for messages: the ISO, the squashfs, "the live medium /run/live/medium" */
	char medium[PATH_MAX];         /* where the medium is mounted; "" with a squashfs file */
	char layout[24];               /* "live-boot", "casper", "casper-layered", "squashfs" */
	char layers[LIVESOURCE_LAYERS_MAX][PATH_MAX]; /* bottom first */
	size_t layer_count;
	char pool[PATH_MAX];           /* packages on the medium: MEDIUM/pool; "" none */
	char kernel[PATH_MAX];         /* on the medium, for a system that has none in /boot; "" none */
	char tree[PATH_MAX];           /* the merged system, read-only: after livesource_mount() */
	/* of tree, by its os-release, dpkg, and /lib/modules */
	char title[128];               /* PRETTY_NAME */
	char id[32], version[32], codename[32];
	char architecture[16];         /* "amd64": dpkg's */
	/* private: what was mounted, in order */
	bool is_iso;
	char mounts[LIVESOURCE_LAYERS_MAX + 4][PATH_MAX];
	size_t mount_count;
};

/*
 * Finds it; an ISO (a file, or a block device) is mounted read-only below work. Refusals: "no-source" (not a live system, and
 * none was named), "layout" (no layout that is known: says which are; or a list on the medium names what is not there),
 * "not-an-iso", "not-a-squashfs", "bad-medium" (a layer cannot be read). *ret: livesource_close(); after an error nothing is
 * left to close.
 */
int livesource_find(const struct livesource_params *par, struct livesource *ret, struct err *e);

/*
 * Checksums: of the whole ISO file if a list beside it names it, else of layers and kernel by the medium's own list; of a
 * squashfs file by sha256sum.txt in its folder or FILE.sha256. *ret_checked false: there is no list with all the layers. Refusal
 * "bad-medium".
 */
int livesource_check(const struct livesource *s, const struct progress *p, bool *ret_checked, struct err *e);

/*
 * Mounts the layers as one tree. Refusals "no-system" (no os-release, dpkg status or modules in it), "architecture" (not ours).
 * What was mounted before an error is livesource_close()'s.
 */
int livesource_mount(const struct livesource_params *par, struct livesource *s, struct err *e);

/* Unmounts all that was mounted, last first; the first failure is told. A zeroed one is fine. */
int livesource_close(struct livesource *s, struct err *e);

#endif
