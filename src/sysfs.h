/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sysfs - attributes of block devices as the kernel tells them. Reads only, allocates nothing. */
#ifndef WUBI_SYSFS_H
#define WUBI_SYSFS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* a unit test that includes sysfs.c puts a tree of its own here */
#ifndef SYSFS_ROOT
#define SYSFS_ROOT "/sys"
#endif

struct sysfs_path {
	char text[PATH_MAX];
};

/* "/sys/dev/block/8:2/rest" */
struct sysfs_path sysfs_path(dev_t dev, const char *rest);

/*
 * First line of a file without the white space around it. False, and an empty string, if there is no such file or
 * nothing in it.
 */
bool sysfs_read_line(const char *path, char *ret, size_t size);

/* The kernel's node of a device, "/dev/sda2", whether or not it is there. False: no such device; *ret is empty then. */
bool sysfs_node(dev_t dev, char *ret, size_t size);

bool sysfs_is_partition(dev_t dev);

/* The disk of a partition; every other device is its own whole. */
dev_t sysfs_whole(dev_t dev);

/* Does who uses one of the two use the other, too? A device and itself do, a partition and its disk; not two partitions. */
bool sysfs_is_related(dev_t a, dev_t b);

#endif
