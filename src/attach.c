/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "attach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "dmlinear.h"
#include "dmnames.h"
#include "filedev.h"
#include "report.h"

void attach_volume_close(struct attach_volume *v)
{
	blkio_free(v->io);
	v->io = NULL;
}

int attach_volume_open(const char *path, struct attach_volume *ret, struct err *e)
{
	__attribute__((cleanup(auto_attach_volume))) struct attach_volume v = { .io = NULL };
	struct report report = { .count = 0 };
	struct stat st;
	int code = filedev_open(path, FILEDEV_READ, &v.io, e);

	if (code)
		return code;
	if (!filedev_is_block(v.io))
		return err_refuse(e, "not-a-block-device", "'%s' is no block device: device-mapper needs one; for an image of a "
				  "disk use losetup first", path);
	if (fstat(filedev_fd(v.io), &st))
		return err_errno(e, "volume '%s'", path);
	v.device = st.st_rdev;
	code = blockdev_probe(v.io, &v.info, e);
	if (code)
		return code;
	blockdev_check(&v.info, 0, &report); /* the sector size is the kernel's to refuse, with the table */
	code = report_refuse(&report, e);
	if (code)
		return err_wrap(e, code, "volume '%s'", path);
	(void)snprintf(v.path, sizeof(v.path), "%s", path);
	*ret = v;
	v.io = NULL;
	return 0;
}

void attach_names(const struct map *m, char ret_name[ATTACH_NAME_MAX], char ret_uuid[ATTACH_UUID_MAX])
{
	(void)snprintf(ret_name, ATTACH_NAME_MAX, DMNAMES_PREFIX "%s", m->name);
	(void)snprintf(ret_uuid, ATTACH_UUID_MAX, DMNAMES_UUID_PREFIX "%s-%s", m->map_id, m->name);
}

/* These two say that the runs are the map's, and only the file's name is not. */
static bool runs_are_the_maps(enum verdict v)
{
	return v == VERDICT_MATCH || v == VERDICT_RENAMED || v == VERDICT_ORPHANED;
}

bool attach_is_allowed(const struct verdict_result *r, bool allow_unsettled)
{
	return r->attachable || (allow_unsettled && r->verdict == VERDICT_UNSETTLED && runs_are_the_maps(r->settled));
}

static int refuse_verdict(const struct attach_volume *v, const struct verdict_result *r, struct err *e)
{
	char reason[ERR_REASON_MAX], text[600] = "";
	size_t used = 0;

	(void)snprintf(reason, sizeof(reason), "verdict-%s", verdict_name(r->verdict));
	for (size_t i = 0; i < r->reason_count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? "; " : "", r->reasons[i]);
	return err_refuse(e, reason, "volume '%s': the map is not safe to use (%s): %s", v->path, verdict_name(r->verdict),
			  text);
}

int attach_check(const struct attach_volume *v, const struct attach_request *req, struct extent_list *ret_extents,
		 struct err *e)
{
	__attribute__((cleanup(auto_verify_result))) struct verify_result r = { 0 };
	int code = verify_volume(v->io, v->info.partuuid, req->map, &r, e);

	if (code)
		return code;
	if (!attach_is_allowed(&r.verdict, req->allow_unsettled))
		return refuse_verdict(v, &r.verdict, e);
	*ret_extents = r.extents;
	r.extents = (struct extent_list){ 0 };
	return 0;
}

/* No write ever goes through a stale map: looked at before the claim, and again under it. */
static int check_again(const struct attach_volume *v, const struct attach_request *req, const struct extent_list *before,
		       struct err *e)
{
	__attribute__((cleanup(auto_extent_list))) struct extent_list now = { 0 };
	int code = attach_check(v, req, &now, e);

	if (!code && !extent_list_equal(&now, before))
		code = err_refuse(e, "changed", "volume '%s' changed while the image was being attached: find out what writes to "
				  "it, then retry", v->path);
	return code;
}

static int prepare(const struct dmlinear_params *par, bool *ret_active, struct err *e)
{
	struct err why = ERR_INIT;
	int code = dmlinear_prepare(par, ret_active, &why);

	if (code == -EBUSY)
		return err_refuse(e, "busy", "%s: something uses the volume (a mount, another mapping); unmount it, then "
				  "retry", why.text);
	if (code == -EEXIST)
		return err_refuse(e, "exists", "%s: detach it, or give the map another name", why.text);
	if (code == -EROFS)
		return err_refuse(e, "read-only", "%s", why.text);
	return code ? err_set(e, code, "%s", why.text) : 0;
}

int attach_run(const struct attach_volume *v, const struct attach_request *req, const struct extent_list *extents,
	       char ret_name[ATTACH_NAME_MAX], struct err *e)
{
	char name[ATTACH_NAME_MAX], uuid[ATTACH_UUID_MAX];
	const struct dmlinear_params par = {
		.name = name,
		.uuid = uuid,
		.device = v->device,
		.extents = extents,
		.readonly = req->readonly,
		.udev_timeout_ms = ATTACH_UDEV_TIMEOUT_MS,
	};
	bool active = false;
	int code;

	attach_names(req->map, name, uuid);
	code = prepare(&par, &active, e);
	if (code)
		return code;
	if (!active) {
		code = check_again(v, req, extents, e);
		if (!code)
			code = dmlinear_activate(&par, e);
		if (code) {
			(void)dmlinear_remove(name, ATTACH_UDEV_TIMEOUT_MS, NULL); /* the first error counts */
			return code;
		}
	}
	(void)snprintf(ret_name, ATTACH_NAME_MAX, "%s", name);
	return 0;
}
