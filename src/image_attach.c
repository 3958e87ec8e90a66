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

/* The user's volume, opened once: all looks go through this descriptor, whatever its name leads to by then. */
struct target {
	struct blkio *io;
	struct blockdev_info info;
	dev_t device;
};

static void target_close(struct target *t)
{
	blkio_free(t->io);
}

static int target_open(const char *volume, struct target *ret, struct err *e)
{
	struct stat st;
	int code = filedev_open(volume, FILEDEV_READ, &ret->io, e);

	if (code)
		return code;
	if (!filedev_is_block(ret->io))
		return err_refuse(e, "not-a-block-device", "'%s' is no block device: device-mapper needs one; for an image of a "
				  "disk use losetup first", volume);
	if (fstat(filedev_fd(ret->io), &st))
		return err_errno(e, "volume '%s'", volume);
	ret->device = st.st_rdev;
	return blockdev_probe(ret->io, &ret->info, e);
}

/* Another block device with the same image on it? One that cannot be read is no candidate: it could not be attached. */
static bool is_clone(const char *path, const struct target *t, const struct map *m)
{
	__attribute__((cleanup(auto_verify_result))) struct verify_result r = { 0 };
	AUTO(blkio) struct blkio *io = NULL;
	unsigned char head[BOOTSECT_BYTES];
	struct bootsect boot;
	struct stat st;
	enum verdict v;

	if (stat(path, &st) || !S_ISBLK(st.st_mode) || st.st_rdev == t->device ||
	    filedev_open(path, FILEDEV_READ, &io, NULL) || io->size_bytes < sizeof(head) ||
	    blkio_read(io, 0, head, sizeof(head), NULL) ||
	    bootsect_parse(head, sizeof(head), io->size_bytes, &boot, NULL))
		return false;
	if (boot.kind != BOOTSECT_NTFS || boot.serial != m->host.serial || verify_volume(io, "", m, &r, NULL))
		return false;
	v = r.verdict.settled;
	return v == VERDICT_MATCH || v == VERDICT_MOVED || v == VERDICT_RENAMED || v == VERDICT_ORPHANED;
}

static int refuse_clones(const char *volume, const struct target *t, const struct map *m, struct err *e)
{
	DIR *dir = opendir("/sys/class/block");
	struct dirent *d;
	char path[280];
	bool found = false;

	if (!dir)
		return err_errno(e, "list the block devices: open '/sys/class/block'");
	while (!found && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "/dev/%s", d->d_name);
		for (char *p = path + 5; *p; p++)
			if (*p == '!')
				*p = '/'; /* how sysfs writes a slash */
		found = is_clone(path, t, m);
	}
	(void)closedir(dir); /* read only: nothing to lose */
	if (found)
		return err_refuse(e, "verdict-ambiguous", "both '%s' and '%s' hold this image, one is a clone of the other: "
				  "unplug it, or give it a new serial number (ntfslabel --new-serial)", volume, path);
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

static int verify_target(const char *volume, const struct target *t, const struct map *m, struct extent_list *ret_extents,
			 struct err *e)
{
	__attribute__((cleanup(auto_verify_result))) struct verify_result r = { 0 };
	int code = verify_volume(t->io, t->info.partuuid, m, &r, e);

	if (code)
		return code;
	if (!r.verdict.attachable)
		return refuse_verdict(&r, volume, e);
	*ret_extents = r.extents;
	r.extents = (struct extent_list){ 0 };
	return 0;
}

/* No write ever goes through a stale map: looked at before the claim, and again under it. */
static int verify_again(const char *volume, const struct target *t, const struct map *m,
			const struct extent_list *before, struct err *e)
{
	__attribute__((cleanup(auto_extent_list))) struct extent_list now = { 0 };
	int code = verify_target(volume, t, m, &now, e);

	if (!code && !extent_list_equal(&now, before))
		code = err_refuse(e, "changed", "volume '%s' changed while the image was being attached: find out what writes to "
				  "it, then retry", volume);
	return code;
}

static int attach_verified(const char *volume, const struct target *t, const struct map *m,
			   const struct dmlinear_params *par, struct err *e)
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
	code = verify_again(volume, t, m, par->extents, e);
	if (!code)
		code = dmlinear_activate(par, e);
	if (code)
		(void)dmlinear_remove(par->name, UDEV_TIMEOUT_MS, NULL); /* the first error counts */
	return code;
}

static int check_target(const char *volume, const struct map *m, struct target *t, struct extent_list *ret_extents,
			struct err *e)
{
	int code = target_open(volume, t, e);

	if (!code)
		code = verify_target(volume, t, m, ret_extents, e);
	return code ? code : refuse_clones(volume, t, m, e);
}

int image_attach_check(const char *volume, const struct map *m, struct extent_list *ret_extents, struct err *e)
{
	__attribute__((cleanup(auto_extent_list))) struct extent_list extents = { 0 };
	__attribute__((cleanup(target_close))) struct target t = { 0 };
	int code = check_target(volume, m, &t, &extents, e);

	if (!code) {
		*ret_extents = extents;
		extents = (struct extent_list){ 0 };
	}
	return code;
}

int image_attach(const char *volume, const struct map *m, bool readonly, char ret_name[128], struct err *e)
{
	__attribute__((cleanup(auto_extent_list))) struct extent_list extents = { 0 };
	__attribute__((cleanup(target_close))) struct target t = { 0 };
	struct dmlinear_params par = { .readonly = readonly, .udev_timeout_ms = UDEV_TIMEOUT_MS };
	char name[48], uuid[96];
	int code = check_target(volume, m, &t, &extents, e);

	if (code)
		return code;
	(void)snprintf(name, sizeof(name), "wubi-%s", m->name);
	(void)snprintf(uuid, sizeof(uuid), "WUBI-%s-%s", m->map_id, m->name);
	par.name = name;
	par.uuid = uuid;
	par.device = t.device;
	par.extents = &extents;
	code = attach_verified(volume, &t, m, &par, e);
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
