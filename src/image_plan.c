/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preflight: everything that could forbid an image, looked at before the first write, told in one report. */
#include "image_plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ext4fmt.h"
#include "num.h"
#include "swapfmt.h"

#define SIZE_STEP_BYTES NUM_MIB
#define EXT4_LIMIT_BYTES (16 * NUM_TIB)

void image_plan_clear(struct image_plan *plan)
{
	extent_list_clear(&plan->extents);
}

static int check_fs(const struct image_params *par, struct err *e)
{
	size_t label = par->label ? strlen(par->label) : 0;
	bool ext4 = !strcmp(par->fs, "ext4"), swap = !strcmp(par->fs, "swap");

	if (!ext4 && !swap && strcmp(par->fs, "none") != 0)
		return err_set(e, -EINVAL, "file system '%s': choose ext4, swap or none", par->fs);
	if (ext4 && par->size_bytes < EXT4FMT_MIN_BYTES)
		return err_set(e, -EINVAL, "size of %llu bytes: an ext4 needs 8 MiB", (unsigned long long)par->size_bytes);
	if (ext4 && par->size_bytes >= EXT4_LIMIT_BYTES)
		return err_set(e, -EINVAL, "size of %llu bytes: an ext4 with a resize inode ends below 16 TiB",
			       (unsigned long long)par->size_bytes);
	if (ext4 && label > EXT4FMT_LABEL_MAX)
		return err_set(e, -EINVAL, "label '%s': ext4 takes 16 bytes", par->label);
	if (swap && label > SWAPFMT_LABEL_MAX)
		return err_set(e, -EINVAL, "label '%s': swap takes 15 bytes", par->label);
	return 0;
}

/* What is wrong with the request itself, whatever the volume. */
static int check_params(const struct image_params *par, struct image_plan *plan, struct err *e)
{
	int code;

	if (!map_name_is_valid(par->name))
		return err_set(e, -EINVAL, "name '%s': use a to z, 0 to 9 and '-', a letter first, at most 31", par->name);
	if (par->path)
		(void)snprintf(plan->path, sizeof(plan->path), "%s", par->path);
	else
		image_default_path(par->name, plan->path);
	if ((par->path && strlen(par->path) >= sizeof(plan->path)) || !map_image_is_valid(plan->path))
		return err_set(e, -EINVAL, "image '%s': give an absolute path on the volume, like /ubuntu/disks/%s.disk",
			       plan->path, par->name);
	if (!par->size_bytes || !par->max_extents)
		return err_set(e, -EINVAL, "size and number of extents must not be 0");
	code = check_fs(par, e);
	if (!code && num_align_up(par->size_bytes, SIZE_STEP_BYTES, &plan->size_bytes))
		code = err_set(e, -EINVAL, "size of %llu bytes is too large", (unsigned long long)par->size_bytes);
	return code;
}

static int round_to_clusters(struct session *s, struct image_plan *plan, struct err *e)
{
	if (num_align_up(plan->size_bytes, ntfsvol_info(s->v)->cluster_bytes, &plan->size_bytes))
		return err_set(e, -EINVAL, "size of %llu bytes is too large", (unsigned long long)plan->size_bytes);
	return 0;
}

static int check_path(struct session *s, struct image_plan *plan, struct report *r, struct err *e)
{
	__attribute__((cleanup(auto_ntfsvol_file))) struct ntfsvol_file file = { 0 };
	struct ntfsvol_entry entry;
	struct err why = ERR_INIT;
	int code = ntfsvol_find(s->v, plan->path, &entry, &why);

	if (code == -ENOENT)
		return 0;
	if (code && report_take(r, &why))
		return 0;
	if (code == -ENOMEM || (code && ntfsvol_io_error(s->v, NULL)))
		return err_set(e, code, "%s", why.text);
	if (code) {
		report_add(r, "corrupt", "%s: run chkdsk /f in Windows, then retry", why.text);
		return 0;
	}
	if (entry.is_dir) {
		report_add(r, "image-exists", "'%s' is a folder on the volume: name another image, or rename it in Windows",
			   entry.path);
		return 0;
	}
	code = ntfsvol_read_file(s->v, entry.ref.record, &file, &why);
	if (code == -ENOMEM)
		return err_set(e, code, "%s", why.text);
	report_add(r, "image-exists", "'%s' exists on the volume (%llu bytes): it may hold a system with its user's data; "
		   "remove it with 'wubi-disk remove' or name another image", entry.path,
		   (unsigned long long)file.data_bytes);
	return 0;
}

static int choose(struct session *s, const struct image_params *par, struct image_plan *plan,
		  const struct progress *p, struct err *e)
{
	struct freespace_params fp = { .want_bytes = plan->size_bytes, .max_extents = par->max_extents };
	AUTO(freespace) struct freespace *f = NULL;
	struct err why = ERR_INIT;
	int code = session_scan(s, &fp, &plan->picture, p, &f, &plan->free, &why);

	plan->free_known = !code;
	if (!code)
		code = freespace_choose(f, &plan->extents, &why);
	if (!code)
		picture_add_image(&plan->picture, &plan->extents);
	if (code && report_take(&plan->report, &why))
		return 0;
	return code ? err_set(e, code, "volume '%s': %s", s->io->name, why.text) : 0;
}

static int check_volume(struct session *s, const struct image_params *par, struct image_plan *plan,
			const struct progress *p, struct err *e)
{
	struct image_ident id = { plan->path, NULL, "" };
	int code;

	plan->volume = *ntfsvol_info(s->v);
	plan->volume_known = true;
	code = round_to_clusters(s, plan, e);
	if (!code)
		code = check_path(s, plan, &plan->report, e);
	if (!code && par->host_map)
		code = session_check_host_map(s, &id, par->name, &plan->report, e);
	if (!code)
		code = session_check_found(s, &plan->report, p, e);
	if (!code)
		code = choose(s, par, plan, p, e);
	if (!code)
		code = session_check_lost(s, plan->path, &plan->extents, &plan->report, e);
	return code ? code : ntfsvol_io_error(s->v, e);
}

int image_plan_session(const struct image_params *par, struct session *s, struct image_plan *plan,
		       const struct progress *p, struct err *e)
{
	int code;

	memset(plan, 0, sizeof(*plan));
	code = check_params(par, plan, e);
	if (!code)
		code = session_open(par->volume, true, s, e);
	if (code)
		return code;
	session_check_state(s, par->force_dirty ? SESSION_DIRTY_FORCED : SESSION_DIRTY_CAN_BE_FORCED);
	plan->device = s->device;
	plan->boot = s->boot;
	plan->report = s->report;
	code = image_check_map_files(par->maps, par->map_count, par->volume, &plan->report, e);
	if (!code && s->v)
		code = check_volume(s, par, plan, p, e);
	if (code)
		image_plan_clear(plan);
	return code;
}

int image_preflight(const struct image_params *par, struct image_plan *ret, const struct progress *p, struct err *e)
{
	__attribute__((cleanup(auto_session))) struct session s = { 0 };

	return image_plan_session(par, &s, ret, p, e);
}
