/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attach and detach: verify, create the device, load the table (this claims the partition), verify again, resume. */
#include "image_private.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "dmlinear.h"

#define UDEV_TIMEOUT_MS 10000
#define CLONES_MAX 16

/* Volumes of the map's serial number among all block devices: a clone must not be taken for the original. */
struct clones {
	char paths[CLONES_MAX][280];
	const char *list[CLONES_MAX];
	size_t count;
};

static void add_if_clone(struct clones *c, const char *path, uint64_t serial)
{
	AUTO(blkio) struct blkio *io = NULL;
	unsigned char head[BOOTSECT_BYTES];
	struct bootsect boot;

	if (c->count == CLONES_MAX || filedev_open(path, FILEDEV_READ, &io, NULL) || io->size_bytes < sizeof(head) ||
	    blkio_read(io, 0, head, sizeof(head), NULL) ||
	    bootsect_parse(head, sizeof(head), io->size_bytes, &boot, NULL))
		return; /* no medium, no NTFS, damaged: no candidate */
	if (boot.kind != BOOTSECT_NTFS || boot.serial != serial)
		return;
	(void)snprintf(c->paths[c->count], sizeof(c->paths[0]), "%s", path);
	c->list[c->count] = c->paths[c->count];
	c->count++;
}

static int find_clones(const char *volume, const struct map *m, struct clones *c, struct err *e)
{
	DIR *dir = opendir("/sys/class/block");
	struct dirent *d;
	char path[280];

	c->count = 0;
	c->list[c->count++] = volume;
	if (!dir)
		return err_errno(e, "list the block devices: open '/sys/class/block'");
	while ((d = readdir(dir))) {
		/* our own devices show the image's content, never the volume's boot sector; the rest is looked at */
		if (d->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "/dev/%s", d->d_name);
		for (char *p = path + 5; *p; p++)
			if (*p == '!')
				*p = '/'; /* how sysfs writes a slash */
		add_if_clone(c, path, m->host.serial);
	}
	(void)closedir(dir); /* read only: nothing to lose */
	return 0;
}

static int refuse_verdict(const struct verify_result *r, const char *volume, struct err *e)
{
	char reason[ERR_REASON_MAX], text[600] = "";
	size_t used = 0;

	(void)snprintf(reason, sizeof(reason), "verdict-%s", verdict_name(r->verdict.verdict));
	for (size_t i = 0; i < r->verdict.reason_count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? "; " : "", r->verdict.reasons[i]);
	return err_refuse(e, reason, "volume '%s': the map is not safe to use (%s): %s", volume,
			  verdict_name(r->verdict.verdict), text);
}

/* No write ever goes through a stale map: looked at before the claim, and again under it. */
static int verify_again(const char *volume, const struct map *m, const struct extent_list *extents, struct err *e)
{
	__attribute__((cleanup(auto_verify_result))) struct verify_result r = { 0 };
	int code = verify_candidates(&volume, 1, m, &r, e);

	if (code)
		return code;
	if (!r.verdict.attachable)
		return refuse_verdict(&r, volume, e);
	if (!extent_list_equal(&r.extents, extents))
		return err_refuse(e, "changed", "volume '%s' changed while the image was being attached: find out what writes "
				  "to it, then retry", volume);
	return 0;
}

static int attach_verified(const char *volume, const struct map *m, const struct dmlinear_params *par, struct err *e)
{
	struct err why = ERR_INIT;
	bool active = false;
	int code = dmlinear_prepare(par, &active, &why);

	if (code == -EBUSY)
		return err_refuse(e, "busy", "%s: something uses the volume (a mount, another mapping); unmount it, then "
				  "retry", why.text);
	if (code == -EEXIST)
		return err_refuse(e, "exists", "%s: detach it, or give the map another name", why.text);
	if (code)
		return err_set(e, code, "%s", why.text);
	if (active)
		return 0;
	code = verify_again(volume, m, par->extents, e);
	if (!code)
		code = dmlinear_activate(par, e);
	if (code)
		(void)dmlinear_remove(par->name, UDEV_TIMEOUT_MS, NULL); /* the first error counts */
	return code;
}

int image_attach(const char *volume, const struct map *m, bool readonly, char ret_name[128], struct err *e)
{
	__attribute__((cleanup(auto_verify_result))) struct verify_result r = { 0 };
	AUTO_FREE struct clones *clones = malloc(sizeof(*clones));
	struct dmlinear_params par = { .readonly = readonly, .udev_timeout_ms = UDEV_TIMEOUT_MS };
	char name[48], uuid[96];
	struct stat st;
	int code;

	if (!clones)
		return err_set(e, -ENOMEM, "attach: out of memory");
	if (stat(volume, &st))
		return err_errno(e, "volume '%s'", volume);
	if (!S_ISBLK(st.st_mode))
		return err_refuse(e, "not-a-block-device", "'%s' is no block device: device-mapper needs one; for an image of a "
				  "disk use losetup first", volume);
	code = find_clones(volume, m, clones, e);
	if (!code)
		code = verify_candidates(clones->list, clones->count, m, &r, e);
	if (code)
		return code;
	if (!r.verdict.attachable)
		return refuse_verdict(&r, volume, e);
	(void)snprintf(name, sizeof(name), "wubi-%s", m->name);
	(void)snprintf(uuid, sizeof(uuid), "WUBI-%s-%s", m->map_id, m->name);
	par.name = name;
	par.uuid = uuid;
	par.device = st.st_rdev;
	par.extents = &r.extents;
	code = attach_verified(volume, m, &par, e);
	if (!code)
		(void)snprintf(ret_name, 128, "%s", name);
	return code;
}

int image_detach(const char *name, struct err *e)
{
	char full[128];
	struct err why = ERR_INIT;
	int code;

	if (!strncmp(name, "/dev/mapper/", 12))
		name += 12;
	(void)snprintf(full, sizeof(full), "%s%s", strncmp(name, "wubi-", 5) ? "wubi-" : "", name);
	code = dmlinear_remove(full, UDEV_TIMEOUT_MS, &why);
	if (code == -ENXIO)
		return 0; /* a second run ends in the same state */
	if (code == -EBUSY)
		return err_refuse(e, "busy", "/dev/mapper/%s is in use (mounted, or swap): unmount it, then retry", full);
	return code ? err_set(e, code, "%s", why.text) : 0;
}
