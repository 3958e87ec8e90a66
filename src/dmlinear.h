/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dmlinear - device-mapper devices over an image's extents. The only file that includes libdevmapper.
 *
 * Sectors here are 512 bytes. UUIDs are "WUBI-<map_id>-<name>", device names "wubi-<name>".
 */
#ifndef WUBI_DMLINEAR_H
#define WUBI_DMLINEAR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "extent.h"

struct dmlinear_params {
	const char *name;              /* "wubi-root" */
	const char *uuid;              /* "WUBI-..." */
	dev_t device;                  /* the partition's number */
	const struct extent_list *extents;
	bool readonly;
	unsigned udev_timeout_ms;      /* how long udev may take before we go on without it */
};

/* The table as dmsetup reads it: a line "START LENGTH linear DEVICE OFFSET" an extent. *ret_text: free(). */
int dmlinear_format(const struct extent_list *extents, const char *device, char **ret_text, struct err *e);

/*
 * Creates the device and loads the table (which claims the partition), but does not resume it.
 * -EEXIST: a device of this name has another UUID or another table (the text says which); -EBUSY: the partition is in use, or
 * another active dm device shows one of these bytes (the kernel's claim does not keep dm from dm); -EROFS, -ENXIO;
 * -ENODEV: the kernel has no device-mapper. *ret_active: the same device with the same table is active already; then
 * nothing was done and nothing is left to do.
 */
int dmlinear_prepare(const struct dmlinear_params *params, bool *ret_active, struct err *e);

/* Resumes what prepare made, and waits for udev at most udev_timeout_ms; makes the node itself if udev did not. */
int dmlinear_activate(const struct dmlinear_params *params, struct err *e);

/* Removes a device that prepare made, or an active one. Only one whose UUID starts with "WUBI-". -ENXIO: none, -EBUSY. */
int dmlinear_remove(const char *name, unsigned udev_timeout_ms, struct err *e);

/* Is there an active device of ours that lies on this partition? Its name goes to ret_name ("" if none). */
int dmlinear_find_on(dev_t device, char ret_name[128], struct err *e);

/* Name of the active device with this exact UUID, "" if none. -ENODEV without device-mapper. */
int dmlinear_find_uuid(const char *uuid, char ret_name[128], struct err *e);

#endif
