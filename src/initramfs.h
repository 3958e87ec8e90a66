/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * initramfs - has the distribution's program build the initramfs images, one kernel after the other, the running one first. What
 * boots now stays what it is until its successor is whole, checked and on disk.
 */
#ifndef WUBI_INITRAMFS_H
#define WUBI_INITRAMFS_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

#define INITRAMFS_BOOT "/boot"
#define INITRAMFS_MODULES "/lib/modules"
#define INITRAMFS_HOOKS "/etc/initramfs/post-update.d"
#define INITRAMFS_TOOLS "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#define INITRAMFS_VERSION_MAX 128

struct initramfs_kernels { /* zero-initialised is empty; release with initramfs_kernels_clear() */
	char (*versions)[INITRAMFS_VERSION_MAX];
	size_t count;
};

struct initramfs_params { /* all borrowed */
	const char *boot;    /* folder of the images, initrd.img-VERSION */
	const char *modules; /* folder of the kernels' modules, a folder VERSION each: an image without is nobody's */
	const char *running; /* the version to begin with; NULL: the running one */
	const char *tools;   /* folders as in PATH, for where PATH has not got the tool: that of 'su' has no sbin. NULL: none */
	const char *hooks;   /* folder of what has to know about a new image, run as dracut and update-initramfs do */
	/* Is this image right for this kernel? 0 or an error, which becomes the result. */
	int (*check)(void *ctx, const char *image, const char *kernel, struct err *e);
	bool (*interrupted)(void *ctx); /* NULL: never. Asked before each kernel. */
	void *ctx;
};

/* Path of "update-initramfs", or else of "dracut", in PATH or in the folders 'more' (NULL: none). False: neither. */
bool initramfs_tool(const char *more, char ret[256]);

/*
 * The kernels that have an image initrd.img-VERSION in boot and a folder in modules, the running one (NULL: as uname says)
 * first. Reads only. *ret is overwritten, on success only. -ENOENT: there is none. -ENOMEM, and errors of the folder.
 */
int initramfs_kernels(const char *boot, const char *modules, const char *running, struct initramfs_kernels *ret, struct err *e);
void initramfs_kernels_clear(struct initramfs_kernels *k);

/*
 * Builds the images of all kernels that have one, and waits. What the tool prints goes to standard error. An image that cannot
 * be built, or is not right when the tool says that it is built, does not keep the other kernels from theirs.
 *
 * dracut writes over the image that is there, so it is given another name, hidden from boot menus; the image takes the old one's
 * place when it is checked and on disk. update-initramfs does so itself.
 *
 * -ENOENT: there is no tool or no kernel; -ECANCELED: interrupted; else the first failure, with the names of all kernels that
 * failed.
 */
int initramfs_rebuild(const struct initramfs_params *p, struct err *e);

#endif
