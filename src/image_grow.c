/* SPDX-License-Identifier: GPL-2.0-or-later */
/* grow: the order in which an image becomes larger. See image_grow.h. */
#include "image_grow_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void image_grown_clear(struct image_grown *g)
{
	map_free(g->map);
	g->map = NULL;
}

/* ---- the maps ---- */

struct work {
	const struct image_grow_params *par;
	struct session *s;
	const struct image_grow_plan *plan;
	const struct progress *progress;
	struct map *map;               /* as it will be */
	struct image_host_maps beside; /* those of this image, on the volume */
};

static bool is_copy(const struct work *w, size_t i)
{
	return w->beside.items[i].match == MAP_MATCH_RECORD && !strcmp(w->beside.items[i].map->map_id, w->map->map_id);
}

/* The generation is above that of each copy, wherever an earlier run was cut short. */
static int make_map(struct work *w, struct err *e)
{
	struct ntfsvol_ref ref = { w->plan->map->mft_record, w->plan->map->mft_sequence };
	struct image_ident id = { w->plan->map->image, &ref, w->plan->map->fs_uuid };
	int code = map_copy(w->plan->map, &w->map, e);

	if (!code)
		code = extent_list_copy(&w->plan->image.extents, &w->map->extents, e);
	if (!code)
		code = session_maps_beside(w->s, &id, &w->beside, e);
	if (code)
		return code;
	w->map->size_bytes = w->plan->image.size_bytes;
	session_fill_host(w->s, &w->map->host);
	for (size_t i = 0; i < w->beside.count; i++)
		if (is_copy(w, i) && w->beside.items[i].map->generation > w->map->generation)
			w->map->generation = w->beside.items[i].map->generation;
	if (!++w->map->generation)
		return err_set(e, -EOVERFLOW, "the map's generation is at its end");
	return map_check(w->map, e);
}

/* The copies beside the image, as far as there are any: a user who wanted none gets none. */
static int stage_host_maps(struct work *w, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t n;
	int code = map_format(w->map, &text, &n, e);

	for (size_t i = 0; !code && i < w->beside.count; i++)
		if (is_copy(w, i))
			code = ntfsvol_put_small(w->s->v, w->beside.items[i].path, text, n, true, e);
	return code;
}

/* ---- the file ---- */

/* The new clusters first, so that nothing else is put into them; the old ones last, for the same reason. */
static int stage_metadata(struct work *w, struct err *e)
{
	struct ntfsvol_ref ref = { w->map->mft_record, w->map->mft_sequence };
	struct ntfsvol *v = w->s->v;
	int code = 0;

	if (w->plan->grows) {
		code = ntfsvol_reserve(v, &w->plan->added, e);
		if (!code)
			code = ntfsvol_set_image_extents(v, &ref, &w->map->extents, e);
	}
	if (!code)
		code = stage_host_maps(w, e);
	if (!code && w->plan->relocates)
		code = ntfsvol_release(v, &w->plan->before, e);
	return code ? code : ntfsvol_io_error(v, e);
}

/* From a fresh open, strictly. */
static int check_result(const struct work *w, struct err *e)
{
	__attribute__((cleanup(auto_verify_result))) struct verify_result r = { 0 };
	__attribute__((cleanup(auto_ntfsvol_file))) struct ntfsvol_file file = { 0 };
	AUTO(blkio) struct blkio *io = NULL;
	AUTO(ntfsvol) struct ntfsvol *v = NULL;
	int code = filedev_open(w->par->volume, FILEDEV_READ, &io, e);

	if (!code)
		code = filedev_drop_cache(io, e);
	if (!code)
		code = verify_volume(io, w->map->host.partuuid, w->map, &r, e);
	if (!code && r.verdict.verdict != VERDICT_MATCH)
		code = err_set(e, -EIO, "it does not verify: %s: %s", verdict_name(r.verdict.verdict),
			       r.verdict.reason_count ? r.verdict.reasons[0] : "no reason known");
	if (!code)
		code = ntfsvol_open(io, false, &v, e);
	if (!code)
		code = ntfsvol_read_file(v, w->map->mft_record, &file, e);
	if (!code)
		code = ntfsvol_io_error(v, e);
	if (!code && (file.index_data_bytes != w->map->size_bytes || file.index_allocated_bytes != w->map->size_bytes))
		code = err_set(e, -EIO, "it does not verify: its folder entry says %llu of %llu bytes",
			       (unsigned long long)file.index_data_bytes, (unsigned long long)w->map->size_bytes);
	return code;
}

static int finish_maps(const struct work *w, struct image_maps *maps, struct err *e)
{
	struct err why = ERR_INIT;
	int code = check_result(w, &why);

	if (code)
		return err_set(e, code, "the file has grown, but could not be proven to be right: %s; the map files are as they "
			       "were: look with 'wubi-disk verify'", why.text);
	code = image_maps_publish(maps, &why);
	return code ? err_set(e, code, "the file has grown, but not all map files are written: %s; run the same command again",
			      why.text) : 0;
}

/* All that can fail for want of space, memory or rights comes before the commit. */
static int write_file(struct work *w, struct err *e)
{
	__attribute__((cleanup(image_maps_drop))) struct image_maps maps = { .count = 0 };
	int code = make_map(w, e);

	if (!code)
		code = stage_metadata(w, e);
	if (!code)
		code = image_maps_stage(w->map, w->par->maps, w->par->map_count, &maps, e);
	if (!code && w->plan->grows)
		code = image_grow_write_data(w->par, w->s, w->plan, w->progress, e);
	if (!code)
		code = progress_step(w->progress, "write the NTFS metadata", 0, 0, e);
	if (!code)
		code = ntfsvol_commit(&w->s->v, e);
	if (code)
		return code;
	session_close(w->s); /* the claim goes, so that the result is looked at as anyone would */
	return finish_maps(w, &maps, e);
}

/* ---- all of it ---- */

static int write_fs(const struct work *w, const struct map *m, struct image_grown *ret, struct err *e)
{
	struct err why = ERR_INIT;
	int code;

	session_close(w->s);
	code = image_grow_fs(w->par->volume, m, w->progress, &ret->fs, &why);
	return code ? err_set(e, code, "the image has %llu bytes and its map is right, but the file system in it has its old "
			      "size: %s; run the same command again, or resize2fs in the installed system",
			      (unsigned long long)m->size_bytes, why.text) : 0;
}

static int grow_in(struct work *w, struct image_grown *ret, struct err *e)
{
	const struct image_grow_plan *plan = w->plan;
	bool changes = plan->grows || plan->stale_map;
	int code = changes ? write_file(w, e) : map_copy(plan->map, &w->map, e);

	if (!code && plan->fs_bytes && plan->fs_bytes < plan->image.size_bytes)
		code = write_fs(w, w->map, ret, e);
	if (code)
		return code;
	ret->before_bytes = plan->before_bytes;
	ret->grew = plan->grows;
	ret->relocated = plan->relocates;
	ret->wrote_maps = changes;
	ret->map = TAKE(w->map);
	return 0;
}

static int grow(const struct image_grow_params *par, image_grow_shown_fn *shown, void *ctx, struct work *w,
		struct image_grow_plan *plan, struct image_grown *ret, struct err *e)
{
	int code = image_grow_plan_session(par, w->s, plan, w->progress, e);

	if (code)
		return code;
	if (shown && shown(ctx, plan))
		code = 1;
	if (plan->image.report.count)
		code = report_refuse(&plan->image.report, e);
	return code ? code : grow_in(w, ret, e);
}

int image_grow(const struct image_grow_params *par, image_grow_shown_fn *shown, void *ctx, const struct progress *p,
	       struct image_grown *ret, struct err *e)
{
	__attribute__((cleanup(auto_session))) struct session s = { 0 };
	AUTO_FREE struct image_grow_plan *plan = calloc(1, sizeof(*plan));
	AUTO_FREE struct work *w = calloc(1, sizeof(*w));
	int code;

	memset(ret, 0, sizeof(*ret));
	if (!plan || !w)
		return err_set(e, -ENOMEM, "grow: out of memory");
	*w = (struct work){ .par = par, .s = &s, .plan = plan, .progress = p };
	code = grow(par, shown, ctx, w, plan, ret, e);
	map_free(w->map);
	image_host_maps_clear(&w->beside);
	image_grow_plan_clear(plan);
	return code;
}
