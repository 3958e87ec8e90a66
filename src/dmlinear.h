/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dmlinear - device-mapper devices over an image's extents. The only file that includes libdevmapper.
 *
 * Sectors here are 512 bytes. Names and UUIDs: dmnames.h.
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
	/*
	 * 0: the device is as long as its extents, which have no hole. Else its size; the extents are in logical order, and what
	 * they leave out are "zero" targets: they read as zeros, and what is written there is lost.
	 */
	uint64_t size_bytes;
	bool readonly;
	bool no_links;                 /* udev shall not look for a file system: the links of /dev/disk are somebody else's */
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

/*
 * Removes a device that prepare made, or an active one. Only one of ours. -ENXIO: none; -EBUSY; -ENODEV:
 * the kernel has no device-mapper.
 */
int dmlinear_remove(const char *name, unsigned udev_timeout_ms, struct err *e);

/* An active device of ours. */
struct dmlinear_active {
	char name[128];
	char uuid[129];
	dev_t number; /* its own */
	dev_t device; /* the partition that it lies on */
	bool readonly;
	bool is_host; /* not an image, but the partition without them */
	uint64_t size_bytes;
	struct extent_list extents; /* logical on the device, physical on the partition; what is left out reads as zeros */
};

struct dmlinear_active_list { /* zero-initialised is empty; release with dmlinear_active_clear() */
	struct dmlinear_active *items;
	size_t count;
};

/*
 * All active devices of ours, in the kernel's order. None without device-mapper. -EINVAL: one has a table that we do not make.
 * *ret is overwritten, on success only.
 */
int dmlinear_active(struct dmlinear_active_list *ret, struct err *e);
void dmlinear_active_clear(struct dmlinear_active_list *l);

static inline void auto_dmlinear_active(struct dmlinear_active_list *l)
{
	dmlinear_active_clear(l);
}

/* Is there an active device of ours that lies on this partition? Its name goes to ret_name ("" if none). */
int dmlinear_find_on(dev_t device, char ret_name[128], struct err *e);

/* Name of the active device with this exact UUID, "" if none. -ENODEV without device-mapper. */
int dmlinear_find_uuid(const char *uuid, char ret_name[128], struct err *e);

#endif
