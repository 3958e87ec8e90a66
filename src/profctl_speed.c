/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The disk's speed: which disk is meant, what is known of it, and measuring it. */
#include "profctl_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "auto.h"
#include "diskspeed.h"
#include "jsonin.h"
#include "jsonout.h"
#include "sysfs.h"
#include "vmknobs.h"

#define SPEED_MAX (UINT64_C(1) << 50) /* bytes a second: more is no measurement */
#define DEVICE_TEXT 129

/* On an image's own file system: the root of a live system is in memory. NULL: none is mounted. */
static const struct profset_mount *choose_image(const struct profset *now)
{
	for (size_t i = 0; i < now->mount_count; i++)
		if (now->mounts[i].is_root)
			return &now->mounts[i];
	return now->mount_count ? &now->mounts[0] : NULL;
}

static const char *choose_folder(const struct profctl_params *par, const struct profset *now)
{
	const struct profset_mount *image = choose_image(now);

	if (profctl_is_elsewhere(par))
		return par->root;
	return image ? image->target : "/";
}

/* What an image is known again by, for a speed is that of the disk below it; "": none of device-mapper. */
static int read_device(const struct profctl_params *par, char ret[DEVICE_TEXT], struct err *e)
{
	AUTO_FREE struct profset *now = calloc(1, sizeof(*now));
	const struct profset_mount *image;
	struct stat st;
	int r = now ? 0 : err_set(e, -ENOMEM, "out of memory");

	ret[0] = '\0';
	if (!r && !profctl_is_elsewhere(par))
		r = profset_read(now, e);
	if (r)
		return r;
	image = choose_image(now);
	if (image)
		(void)snprintf(ret, DEVICE_TEXT, "%s", image->uuid); /* its target may be closed to who asks */
	else if (stat(choose_folder(par, now), &st) == 0)
		(void)sysfs_read_line(sysfs_path(st.st_dev, "dm/uuid").text, ret, DEVICE_TEXT);
	return 0;
}

int profctl_speed_read(const char *root, uint64_t *ret_bytes_per_s, struct err *e)
{
	const struct profctl_params par = { .root = root };
	char device[DEVICE_TEXT], its[DEVICE_TEXT] = "";
	AUTO(jsonin) struct jsonin *json = NULL;
	AUTO_FREE char *text = NULL;
	uint64_t speed = 0;
	int r = profctl_read(&par, PROFCTL_SPEED, &text, e);

	if (!r)
		r = read_device(&par, device, e);
	if (r)
		return r;
	*ret_bytes_per_s = 0;
	/* one that cannot be understood is one that was not measured: the next measurement replaces it */
	if (!text || jsonin_parse(text, &json, NULL) || !jsonin_get_u64(json, "bytes_per_s", &speed) || speed > SPEED_MAX)
		return 0;
	if (!jsonin_get_string(json, "device", its, sizeof(its)))
		its[0] = '\0';
	if (strcmp(its, device) == 0)
		*ret_bytes_per_s = speed;
	return 0;
}

int profctl_speed_write(const char *root, uint64_t bytes_per_s, struct err *e)
{
	const struct profctl_params par = { .root = root };
	AUTO(jsonout) struct jsonout *json = jsonout_object();
	char device[DEVICE_TEXT];
	int r = read_device(&par, device, e);

	if (r)
		return r;
	jsonout_add_u64(json, "version", 1);
	jsonout_add_u64(json, "bytes_per_s", bytes_per_s);
	jsonout_add_string(json, "device", device);
	return profctl_json_write(&par, PROFCTL_SPEED, json, e);
}

int profctl_speed_probe(const char *folder, uint64_t *ret_bytes_per_s, struct err *e)
{
	char node[PATH_MAX];
	struct stat st;

	if (stat(folder, &st))
		return err_errno(e, "folder '%s'", folder);
	if (major(st.st_dev) == 0 || !sysfs_node(st.st_dev, node, sizeof(node)))
		return err_set(e, -ENODATA, "'%s' is on no disk whose speed could be measured (but in memory, on a network, or "
			       "on several disks): choose a profile whose limits are bytes or per cent, or write one into "
			       CONF_DEFAULT, folder);
	return diskspeed_probe(folder, ret_bytes_per_s, e);
}

bool profctl_needs_speed(const struct profile *p)
{
	return p->dirty.unit == PROFILE_DISK_MS || p->background.unit == PROFILE_DISK_MS;
}

int profctl_machine(const struct profctl_params *par, const struct profile *p, const struct profset *now,
		    struct profile_machine *ret, struct err *e)
{
	struct profile_machine m = { 0 };
	int r = vmknobs_machine(&m, e);

	if (!r)
		r = profctl_speed_read(par->root, &m.disk_bytes_per_s, e);
	if (!r && !m.disk_bytes_per_s && profctl_needs_speed(p)) {
		r = profctl_speed_probe(choose_folder(par, now), &m.disk_bytes_per_s, e);
		if (!r && !par->check_only)
			r = profctl_speed_write(par->root, m.disk_bytes_per_s, e);
		if (r)
			return err_wrap(e, r, "profile '%s' goes by the disk's speed", p->name);
	}
	if (!r)
		*ret = m;
	return r;
}
