/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "initramfs_private.h"

#include "runprog.h"

bool initramfs_find(const char *name, const char *more, char ret[256])
{
	return runprog_find(name, more, ret, 256);
}

/* dracut shall not tell the boot loader about an image under a name that it does not keep. */
int initramfs_spawn(const char *const *arguments, const char *more, struct err *e)
{
	return runprog_run(arguments, more, "NO_POST_UPDATE_HOOKS=1", e);
}
