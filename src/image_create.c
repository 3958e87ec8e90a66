/* SPDX-License-Identifier: GPL-2.0-or-later */
/* create: the order in which an image comes to be. See image.h. */
#include "image_plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ext4fmt.h"
#include "ids.h"
#include "num.h"
#include "swapfmt.h"

#define ZERO_STEP_BYTES (64 * NUM_MIB)

const char image_readme[] =
	"This folder holds Linux.\r\n"
	"\r\n"
	"The files in \\ubuntu\\disks are disks of a Linux system that was installed\r\n"
	"beside Windows with wubi-tools. Linux reads and writes them directly.\r\n"
	"\r\n"
	"Do not delete, move, rename, compress or encrypt them, and do not let a\r\n"
	"cleaning or defragmenting program do so: Linux would not start any more.\r\n"
	"If chkdsk has moved them to a folder found.000, move them back here.\r\n"
	"\r\n"
	"To remove Linux: start the live medium that it was installed from, run\r\n"
	"'wubi-disk remove', or the uninstaller of your Linux. Deleting the files here\r\n"
	"removes the Linux system and everything in it.\r\n";

static int fill_map(const struct image_params *par, const struct session *s, const struct image_plan *plan,
		    struct map **ret, struct err *e)
{
	AUTO(map) struct map *m = calloc(1, sizeof(*m));
	uint8_t id[16];
	int code;

	if (!m)
		return err_set(e, -ENOMEM, "build the map: out of memory");
	ids_random(id);
	ids_to_text(id, m->map_id);
	m->generation = 1;
	(void)snprintf(m->name, sizeof(m->name), "%s", par->name);
	(void)snprintf(m->image, sizeof(m->image), "%s", plan->path);
	m->size_bytes = plan->size_bytes;
	(void)snprintf(m->fs_type, sizeof(m->fs_type), "%s", par->fs);
	if (strcmp(par->fs, "none") != 0) {
		ids_random(id);
		ids_to_text(id, m->fs_uuid);
	}
	session_fill_host(s, &m->host);
	code = extent_list_copy(&plan->extents, &m->extents, e);
	if (!code)
		*ret = TAKE(m);
	return code;
}

static int stage_readme(struct session *s, const char *image, struct err *e)
{
	struct ntfsvol_entry there;

	struct err why = ERR_INIT;
	int code;

	if (strncasecmp(image, "/ubuntu/", 8) != 0)
		return 0; /* not our folder */
	code = ntfsvol_find(s->v, IMAGE_README, &there, &why);
	if (!code || err_is_refusal(&why))
		return 0; /* there is one: ours, or the user's */
	if (code != -ENOENT)
		return err_set(e, code, "%s", why.text);
	return ntfsvol_put_small(s->v, IMAGE_README, image_readme, strlen(image_readme), false, e);
}

/* The clusters first, so that no folder or map that NTFS stores for us is put into them. */
static int stage_metadata(const struct image_params *par, struct session *s, struct map *m, struct err *e)
{
	struct ntfsvol_ref ref;
	int code = ntfsvol_reserve(s->v, &m->extents, e);

	if (!code)
		code = ntfsvol_create_image(s->v, m->image, &m->extents, &ref, e);
	if (code)
		return code;
	m->mft_record = ref.record;
	m->mft_sequence = ref.sequence;
	code = map_check(m, e);
	if (!code)
		code = stage_readme(s, m->image, e);
	if (!code && par->host_map)
		code = session_stage_host_map(s, m, e);
	return code;
}

static int zero_image(const struct blkio *image, const struct progress *p, struct err *e)
{
	for (uint64_t at = 0; at < image->size_bytes;) {
		uint64_t n = image->size_bytes - at < ZERO_STEP_BYTES ? image->size_bytes - at : ZERO_STEP_BYTES;
		int code = blkio_zero(image, at, n, e);

		if (!code)
			code = blkio_flush(image, e); /* progress counts what is on the disk */
		at += n;
		if (!code)
			code = progress_step(p, "zero the image", at, image->size_bytes, e);
		if (code)
			return code;
	}
	return 0;
}

/* Data goes into clusters that are free until the commit: an interruption here changes nothing that anyone owns. */
static int write_data(const struct image_params *par, struct session *s, const struct map *m,
		      const struct progress *p, struct err *e)
{
	AUTO(blkio) struct blkio *image = NULL;
	struct ext4fmt_params ext4 = { .label = par->label };
	struct swapfmt_params swap = { .label = par->label };
	int code = mapdev_new(s->io, &m->extents, &image, e);

	if (!code && par->zero)
		code = zero_image(image, p, e);
	if (!code && !strcmp(par->fs, "ext4")) {
		(void)ids_from_text(m->fs_uuid, ext4.uuid); /* made by ids_to_text() */
		code = ext4fmt_write(image, &ext4, p, e);
	} else if (!code && !strcmp(par->fs, "swap")) {
		(void)ids_from_text(m->fs_uuid, swap.uuid); /* made by ids_to_text() */
		code = swapfmt_write(image, &swap, e);
	}
	if (!code)
		code = blkio_flush(s->io, e);
	return code;
}

/* What verify lets pass with a warning is a failure of ours here. */
int image_check_result(const char *volume, bool force_dirty, const struct map *m, struct err *e)
{
	__attribute__((cleanup(auto_verify_result))) struct verify_result r = { 0 };
	__attribute__((cleanup(auto_ntfsvol_file))) struct ntfsvol_file file = { 0 };
	AUTO(blkio) struct blkio *io = NULL;
	AUTO(ntfsvol) struct ntfsvol *v = NULL;
	int code = filedev_open(volume, FILEDEV_READ, &io, e);

	if (!code)
		code = filedev_drop_cache(io, e);
	if (!code)
		code = verify_volume(io, m->host.partuuid, m, &r, e);
	if (code)
		return code;
	if (r.verdict.settled != VERDICT_MATCH || (r.verdict.verdict != VERDICT_MATCH && !force_dirty))
		return err_set(e, -EIO, "the new image does not verify: %s: %s", verdict_name(r.verdict.verdict),
			       r.verdict.reason_count ? r.verdict.reasons[0] : "no reason known");
	code = ntfsvol_open(io, false, &v, e);
	if (!code)
		code = ntfsvol_read_file(v, m->mft_record, &file, e);
	if (!code)
		code = ntfsvol_io_error(v, e);
	if (!code && (file.index_data_bytes != m->size_bytes || file.index_allocated_bytes != m->size_bytes ||
		      file.initialized_bytes != m->size_bytes || !file.hidden || !file.system || !file.readonly))
		code = err_set(e, -EIO, "the new image does not verify: its folder entry says %llu of %llu bytes",
			       (unsigned long long)file.index_data_bytes, (unsigned long long)m->size_bytes);
	return code;
}

/* There is never a map for an image that is not proven: they lie ready, and take their places last of all. */
static int finish(const struct image_params *par, const struct map *m, struct image_maps *maps, struct err *e)
{
	struct err why = ERR_INIT;
	int code = image_check_result(par->volume, par->force_dirty, m, &why);

	if (code)
		return err_set(e, code, "the image is on the volume, but could not be proven to be right: %s; no map was put in "
			       "place: look with 'wubi-disk info', then write one with 'wubi-disk map' or remove the image",
			       why.text);
	code = image_maps_publish(maps, &why);
	return code ? err_set(e, code, "the image is made, but its map was not put in place: %s; write it with 'wubi-disk map'",
			      why.text) : 0;
}

/* All that can fail for want of space, memory or rights comes before the commit. */
static int prepare(const struct image_params *par, struct session *s, struct map *m, struct image_maps *maps,
		   const struct progress *p, struct err *e)
{
	int code = stage_metadata(par, s, m, e);

	if (!code)
		code = ntfsvol_io_error(s->v, e);
	if (!code)
		code = image_maps_stage(m, par->maps, par->map_count, maps, e);
	if (!code)
		code = write_data(par, s, m, p, e);
	return code ? code : progress_step(p, "write the NTFS metadata", 0, 0, e);
}

static int create_in(const struct image_params *par, struct session *s, const struct image_plan *plan,
		     const struct progress *p, struct map **ret_map, struct err *e)
{
	__attribute__((cleanup(image_maps_drop))) struct image_maps maps = { .count = 0 };
	AUTO(map) struct map *m = NULL;
	int code = fill_map(par, s, plan, &m, e);

	if (!code)
		code = prepare(par, s, m, &maps, p, e);
	if (!code)
		code = ntfsvol_commit(&s->v, e);
	if (code)
		return code;
	session_close(s); /* the claim goes, so that the result is looked at as anyone would */
	code = finish(par, m, &maps, e);
	if (!code)
		*ret_map = TAKE(m);
	return code;
}

int image_create(const struct image_params *par, image_shown_fn *shown, void *ctx, const struct progress *p,
		 struct map **ret_map, struct err *e)
{
	__attribute__((cleanup(auto_session))) struct session s = { 0 };
	AUTO_FREE struct image_plan *plan = calloc(1, sizeof(*plan));
	int code;

	if (!plan)
		return err_set(e, -ENOMEM, "create: out of memory");
	code = image_plan_session(par, &s, plan, p, e);
	if (code)
		return code;
	if (shown && shown(ctx, plan))
		code = 1;
	if (plan->report.count)
		code = report_refuse(&plan->report, e);
	if (!code)
		code = create_in(par, &s, plan, p, ret_map, e);
	image_plan_clear(plan);
	return code;
}
