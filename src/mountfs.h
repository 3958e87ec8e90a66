/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mountfs - mounts and unmounts a file system, and says where a device is mounted. The only file that includes libmount. */
#ifndef WUBI_MOUNTFS_H
#define WUBI_MOUNTFS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"

struct mountfs_entry {
	char target[PATH_MAX];
	char type[32]; /* the kernel's: "ntfs3", "fuseblk" */
	bool readonly;
	bool super_is_readonly; /* the file system itself, not this mount of it alone */
};

/*
 * Mounts as mount(8) does, with a helper of the type where there is one; fstab is not read. type: NULL with "bind"; "a,b": the
 * first that fits. options: comma-separated; "loop" makes a loop device that goes with the mount; "private" keeps what is mounted
 * below it out of other places.
 * -ENODEV: neither the kernel nor a helper knows this type.
 */
int mountfs_mount(const char *source, const char *target, const char *type, const char *options, struct err *e);

/* -EBUSY: in use; -EINVAL: not a mount point. */
int mountfs_unmount(const char *target, struct err *e);

/* All that is mounted below the folder, not at it, the last first. The first that cannot be is the error. */
int mountfs_unmount_below(const char *folder, struct err *e);

/* Where the block device is mounted in this namespace, by its number: the last mount first. *ret->target is "" if nowhere. */
int mountfs_find(dev_t device, struct mountfs_entry *ret, struct err *e);

/* A mounted block device, once, however often it is mounted. */
struct mountfs_super {
	dev_t device;
	char target[PATH_MAX];  /* of its first mount that nothing covers */
	char type[32];          /* "ext4" */
	char options[512];      /* the super block's own, as mountinfo shows them: "rw,sync,errors=remount-ro" */
};

/* All that are mounted from a block device in this namespace, in the order of the mounts. *ret: free(). */
int mountfs_supers(struct mountfs_super **ret, size_t *ret_count, struct err *e);

/*
 * Changes options of a super block, and nothing else: neither the other options, nor the flags of a mount, nor whether it is
 * read-only (fspick(2), Linux 5.2).
 * options: comma-separated, "" asks only whether a change is possible at all. The file system's own words are in the error.
 */
int mountfs_reconfigure(const char *target, const char *options, struct err *e);

/* Is something mounted at exactly this folder? */
int mountfs_is_target(const char *folder, bool *ret, struct err *e);

#endif
