/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attach and detach, for a volume that the user names. */
#include "image_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attach.h"
#include "dmlinear.h"
#include "dmnames.h"
#include "hostscan.h"

/* Another block device with the same image on it? One that cannot be read is no candidate: it could not be attached. */
static bool is_clone(const struct hostscan_device *d, const struct attach_volume *v, const struct map *m)
{
	__attribute__((cleanup(auto_verify_result))) struct verify_result r = { 0 };
	AUTO(blkio) struct blkio *io = NULL;

	return d->device != v->device && hostscan_is_candidate(d, m) &&
	       !filedev_open(d->path, FILEDEV_READ, &io, NULL) && !verify_volume(io, "", m, &r, NULL) &&
	       verify_fits(&r);
}

static int refuse_clones(const struct attach_volume *v, const struct map *m, struct err *e)
{
	__attribute__((cleanup(auto_hostscan))) struct hostscan s = { .count = 0 };
	int code = hostscan_run(false, NULL, &s, e);

	for (size_t i = 0; !code && i < s.count; i++)
		if (is_clone(&s.items[i], v, m))
			code = err_refuse(e, "verdict-ambiguous", "both '%s' and '%s' hold this image, one is a clone of the "
					  "other: unplug it, or give it a new serial number (ntfslabel --new-serial)", v->path,
					  s.items[i].path);
	return code;
}

static int check(const char *volume, const struct attach_request *req, struct attach_volume *v,
		 struct extent_list *ret_extents, struct err *e)
{
	int code = attach_volume_open(volume, v, e);

	if (!code)
		code = attach_check(v, req, ret_extents, e);
	return code ? code : refuse_clones(v, req->map, e);
}

int image_attach_check(const char *volume, const struct map *m, struct extent_list *ret_extents, struct err *e)
{
	__attribute__((cleanup(auto_extent_list))) struct extent_list extents = { 0 };
	__attribute__((cleanup(auto_attach_volume))) struct attach_volume v = { .io = NULL };
	const struct attach_request req = { .map = m };
	int code = check(volume, &req, &v, &extents, e);

	if (!code) {
		*ret_extents = extents;
		extents = (struct extent_list){ 0 };
	}
	return code;
}

int image_attach(const char *volume, const struct map *m, bool readonly, char ret_name[128], struct err *e)
{
	__attribute__((cleanup(auto_extent_list))) struct extent_list extents = { 0 };
	__attribute__((cleanup(auto_attach_volume))) struct attach_volume v = { .io = NULL };
	const struct attach_request req = { .map = m, .readonly = readonly };
	int code = check(volume, &req, &v, &extents, e);

	return code ? code : attach_run(&v, &req, &extents, ret_name, e);
}

int image_detach(const char *name, struct err *e)
{
	char full[128];
	struct err why = ERR_INIT;
	int code;

	(void)snprintf(full, sizeof(full), DMNAMES_PREFIX "%s", dmnames_of_operand(name));
	code = dmlinear_remove(full, ATTACH_UDEV_TIMEOUT_MS, &why);
	if (code == -ENXIO)
		return 0; /* a second run ends in the same state */
	if (code == -EBUSY)
		return err_refuse(e, "busy", "/dev/mapper/%s is in use (mounted, or swap): unmount it, then retry", full);
	return code ? err_set(e, code, "%s", why.text) : 0;
}
