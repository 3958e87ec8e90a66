/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dmnames - what our device-mapper devices are called, and how one is known again: an image's is "wubi-<map's name>" with the
 * UUID "WUBI-<map_id>-<map's name>"; the partition without the images (hostdev.h) has names of its own.
 */
#ifndef WUBI_DMNAMES_H
#define WUBI_DMNAMES_H

#include <stdbool.h>

#define DMNAMES_FOLDER "/dev/mapper/"
#define DMNAMES_PREFIX "wubi-"
#define DMNAMES_UUID_PREFIX "WUBI-"
#define DMNAMES_HOST DMNAMES_PREFIX "host"
#define DMNAMES_HOST_UUID_PREFIX DMNAMES_UUID_PREFIX "host-" /* no map id begins so */

/* Of our images or the host. */
bool dmnames_uuid_is_ours(const char *uuid);
bool dmnames_uuid_is_host(const char *uuid);

/* The map's name in "/dev/mapper/wubi-NAME", within the argument; NULL: not of that form. */
const char *dmnames_of_node(const char *path);

/* The map's name, however a user gives it: "root", "wubi-root" or "/dev/mapper/wubi-root". Within the argument. */
const char *dmnames_of_operand(const char *given);

#endif
