/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The preflight of grow: is the map the file's, how large shall it be, and which clusters does it take? Nothing is written. */
#include "image_grow_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "num.h"

#define SIZE_STEP_BYTES NUM_MIB
#define EXT4_LIMIT_BYTES (16 * NUM_TIB)
#define UNIT_MIN_BYTES 4096 /* what freespace.h gives out, where clusters are smaller */

void image_grow_plan_clear(struct image_grow_plan *plan)
{
	image_plan_clear(&plan->image);
	extent_list_clear(&plan->before);
	extent_list_clear(&plan->added);
	map_free(plan->map);
	plan->map = NULL;
}

/* ---- the maps ---- */

/* What is written to must be this image's, or not there yet. What cannot be read at all is image_check_map_files()'s to tell. */
static int check_other_maps(const struct image_grow_params *par, struct image_grow_plan *plan, struct err *e)
{
	for (size_t i = 1; i < par->map_count; i++) {
		AUTO(map) struct map *m = NULL;
		int code = mapfile_read(par->maps[i], &m, NULL);

		if (code == -ENOMEM)
			return err_set(e, code, "read '%s': out of memory", par->maps[i]);
		if (!code && strcmp(m->map_id, plan->map->map_id) != 0)
			report_add(&plan->image.report, "map-file", "'%s' is the map of another image: it would be replaced; "
				   "name the copies of '%s'", par->maps[i], par->maps[0]);
	}
	return 0;
}

static int check_maps(const struct image_grow_params *par, struct image_grow_plan *plan, struct err *e)
{
	int code = mapfile_read(par->maps[0], &plan->map, e);

	if (!code)
		code = image_check_map_files(par->maps, par->map_count, par->volume, &plan->image.report, e);
	return code ? code : check_other_maps(par, plan, e);
}

/* ---- the file ---- */

static void refuse_verdict(const struct verdict_result *v, struct report *r)
{
	char reason[ERR_REASON_MAX], text[600] = "";
	size_t used = 0;

	(void)snprintf(reason, sizeof(reason), "verdict-%s", verdict_name(v->verdict));
	for (size_t i = 0; i < v->reason_count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "; %s", v->reasons[i]);
	report_add(r, reason, "the map is not the file's (%s), and what would grow is not known to be the image%s",
		   verdict_name(v->verdict), text);
}

/* An earlier run may have come as far as the file; then what is left is done by this one. */
static bool verdict_suffices(const struct verdict_result *v)
{
	return v->verdict == VERDICT_MATCH || v->verdict == VERDICT_GROWN || (v->verdict == VERDICT_MOVED && v->attachable);
}

static int look_at_fs(struct session *s, struct image_grow_plan *plan, struct err *e)
{
	struct canary_result canary = { .known = false };
	AUTO(blkio) struct blkio *image = NULL;
	int code = mapdev_new(s->io, &plan->before, &image, e);

	if (!code)
		code = canary_check(image, plan->map->fs_type, plan->map->fs_uuid, &canary, e);
	plan->fs_bytes = canary.known && canary.ok ? canary.fs_bytes : 0;
	return code;
}

static int check_file(struct session *s, struct image_grow_plan *plan, struct err *e)
{
	__attribute__((cleanup(auto_verify_result))) struct verify_result r = { 0 };
	const struct verdict_result *v = &r.verdict;
	int code = verify_volume(s->io, s->device.partuuid, plan->map, &r, e);

	if (code)
		return code;
	if (v->verdict == VERDICT_UNSETTLED && plan->image.report.count)
		return 0; /* that is in the report, with what to do */
	if (!verdict_suffices(v)) {
		refuse_verdict(v, &plan->image.report);
		return 0;
	}
	if (strcasecmp(r.path, plan->map->image) != 0)
		report_add(&plan->image.report, "verdict-renamed", "the image is at '%s' now: move it back to '%s' in Windows, "
			   "then retry", r.path, plan->map->image);
	if (r.suspended)
		report_add(&plan->image.report, "suspended", "'%s' holds a hibernated Linux session, which would be lost: start "
			   "that Linux and shut it down, then retry", plan->map->image);
	plan->before = r.extents;
	r.extents = (struct extent_list){ 0 };
	plan->before_bytes = extent_list_bytes(&plan->before);
	plan->stale_map = v->verdict != VERDICT_MATCH;
	return look_at_fs(s, plan, e);
}

/* ---- the size ---- */

static int check_size(const struct image_grow_params *par, struct session *s, struct image_grow_plan *plan, struct err *e)
{
	uint64_t wanted = par->size_bytes, size;
	char now[NUM_BYTES_TEXT];

	/* by the map, so that a second run after a cut asks for no more than the first */
	if (par->more && num_add(wanted, plan->map->size_bytes, &wanted))
		return err_set(e, -EINVAL, "size of %llu bytes more is too large", (unsigned long long)par->size_bytes);
	size = wanted;
	if (wanted != plan->before_bytes && (num_align_up(wanted, SIZE_STEP_BYTES, &size) ||
					     num_align_up(size, ntfsvol_info(s->v)->cluster_bytes, &size)))
		return err_set(e, -EINVAL, "size of %llu bytes is too large", (unsigned long long)wanted);
	if (!strcmp(plan->map->fs_type, "ext4") && size >= EXT4_LIMIT_BYTES)
		return err_set(e, -EINVAL, "size of %llu bytes: an ext4 with a resize inode ends below 16 TiB",
			       (unsigned long long)size);
	if (wanted < plan->before_bytes)
		report_add(&plan->image.report, "shrink", "the image has %llu bytes (%s) and would have %llu: what is behind "
			   "that would be lost, and grow takes nothing away; ask for more, or make a smaller image and copy "
			   "the files",
			   (unsigned long long)plan->before_bytes, num_format_bytes(plan->before_bytes, now),
			   (unsigned long long)wanted);
	plan->image.size_bytes = size;
	return 0;
}

/* ---- the clusters ---- */

struct choice {
	uint64_t bytes;       /* to find */
	unsigned max_extents; /* 0: none, only look */
	uint64_t behind_lcn;  /* the image's own end: not to be chosen */
};

/*
 * Free runs for c->bytes, in *ret. Refusals of freespace_choose(). plan->image.free is what was seen. What is chosen comes in
 * units; a file of other tools may need a part of the last one only.
 */
static int choose(struct session *s, struct image_grow_plan *plan, const struct choice *c, const struct progress *p,
		  struct extent_list *ret, struct err *e)
{
	uint64_t unit = ntfsvol_info(s->v)->cluster_bytes;
	struct freespace_params fp = { .max_extents = c->max_extents ? c->max_extents : 1, .behind_lcn = c->behind_lcn };
	AUTO(freespace) struct freespace *f = NULL;
	int code;

	if (unit < UNIT_MIN_BYTES)
		unit = UNIT_MIN_BYTES;
	if (num_align_up(c->bytes, unit, &fp.want_bytes))
		return err_set(e, -EINVAL, "size of %llu bytes is too large", (unsigned long long)c->bytes);
	code = session_scan(s, &fp, &plan->image.picture, p, &f, &plan->image.free, e);
	plan->image.free_known = !code;
	if (code || !c->max_extents)
		return code;
	code = freespace_choose(f, ret, e);
	if (!code)
		ret->items[ret->count - 1].length_bytes -= fp.want_bytes - c->bytes;
	return code;
}

static int append_all(struct extent_list *to, const struct extent_list *from, struct err *e)
{
	int code = 0;

	for (size_t i = 0; !code && i < from->count; i++)
		code = extent_list_append(to, from->items[i].physical_bytes, from->items[i].length_bytes, e);
	return code;
}

static void say_relocate(const struct image_grow_plan *plan, uint64_t cluster_bytes, char *ret, size_t size)
{
	const struct freespace_summary *f = &plan->image.free;
	char want[NUM_BYTES_TEXT];

	num_format_bytes(plan->image.size_bytes, want);
	if (f->top_count && f->top[0].clusters * cluster_bytes >= plan->image.size_bytes)
		(void)snprintf(ret, size, "or move all of it to a free run that holds its %s, with --relocate", want);
	else
		(void)snprintf(ret, size, "or defragment the volume in Windows: no free run holds its %s, so that --relocate "
			       "would need --max-extents, too", want);
}

/* Not in place, and why. rest: what is not right behind the image. */
static void refuse_in_place(struct image_grow_plan *plan, uint64_t cluster_bytes, uint64_t rest, struct report *r)
{
	const struct freespace_summary *f = &plan->image.free;
	char want[NUM_BYTES_TEXT], right[NUM_BYTES_TEXT], behind[NUM_BYTES_TEXT + 8], space[NUM_BYTES_TEXT], relocate[256];
	uint64_t more = plan->image.size_bytes - plan->before_bytes;

	num_format_bytes(more, want);
	(void)snprintf(behind, sizeof(behind), "%s are", num_format_bytes(more - rest, right));
	num_format_bytes(f->free_clusters * cluster_bytes, space);
	if (!f->extents_needed) {
		report_add(r, "no-space", "the image needs %s more, but the volume has only %s free; choose a smaller size, or "
			   "free space in Windows", want, space);
		return;
	}
	say_relocate(plan, cluster_bytes, relocate, sizeof(relocate));
	report_add(r, "fragmented", "the image needs %s more, and right behind it %s free: allow more pieces with --max-extents "
		   "%llu (it has %zu; each is one more range for GRUB, and one more piece for Windows' defragmenter to move), %s",
		   want, rest == more ? "nothing is" : behind, (unsigned long long)f->extents_needed + plan->before.count,
		   plan->before.count, relocate);
}

/* More extents, where what is right behind the image does not suffice: all of that, and the fewest others. */
static int choose_more(const struct image_grow_params *par, struct session *s, struct image_grow_plan *plan,
		       uint64_t behind, const struct progress *p, struct err *e)
{
	__attribute__((cleanup(auto_extent_list))) struct extent_list others = { 0 };
	const struct extent *last = &plan->before.items[plan->before.count - 1];
	uint64_t cluster = ntfsvol_info(s->v)->cluster_bytes, end = last->physical_bytes + last->length_bytes;
	unsigned have = (unsigned)plan->before.count;
	struct choice c = { .behind_lcn = end / cluster };
	struct err why = ERR_INIT;
	int code;

	behind -= behind % UNIT_MIN_BYTES; /* blocks of a file system stay in one piece */
	c.bytes = plan->image.size_bytes - plan->before_bytes - behind;
	c.max_extents = par->max_extents > have ? par->max_extents - have : 1;
	code = choose(s, plan, &c, p, &others, &why);
	if (code && !err_is_refusal(&why))
		return err_set(e, code, "%s", why.text);
	if (code || par->max_extents <= have) {
		refuse_in_place(plan, cluster, c.bytes, &plan->image.report);
		return 0;
	}
	code = extent_list_append(&plan->added, end, behind, e);
	return code ? code : append_all(&plan->added, &others, e);
}

static int choose_in_place(const struct image_grow_params *par, struct session *s, struct image_grow_plan *plan,
			   const struct progress *p, struct err *e)
{
	const struct extent *last = &plan->before.items[plan->before.count - 1];
	uint64_t cluster = ntfsvol_info(s->v)->cluster_bytes, end = last->physical_bytes + last->length_bytes;
	uint64_t more = plan->image.size_bytes - plan->before_bytes, behind;
	const struct choice look = { .behind_lcn = end / cluster };
	int code = choose(s, plan, &look, p, NULL, e);

	if (code)
		return code;
	behind = plan->image.free.behind_clusters * cluster;
	if (behind >= more) /* one extent that reaches into the MFT zone comes before several outside it */
		code = extent_list_append(&plan->added, end, more, e);
	else
		code = choose_more(par, s, plan, behind, p, e);
	if (code || !plan->added.count)
		return code;
	code = append_all(&plan->image.extents, &plan->before, e);
	return code ? code : append_all(&plan->image.extents, &plan->added, e);
}

static int choose_elsewhere(const struct image_grow_params *par, struct session *s, struct image_grow_plan *plan,
			    const struct progress *p, struct err *e)
{
	const struct choice c = { .bytes = plan->image.size_bytes, .max_extents = par->max_extents ? par->max_extents : 1 };
	struct err why = ERR_INIT;
	int code = choose(s, plan, &c, p, &plan->added, &why);

	if (code && err_is_refusal(&why)) {
		report_add(&plan->image.report, why.reason, "the whole image would be moved, and lies where it is until the copy "
			   "is done: %s", why.text);
		return 0;
	}
	if (code)
		return err_set(e, code, "%s", why.text);
	plan->relocates = true;
	return extent_list_copy(&plan->added, &plan->image.extents, e);
}

static int choose_clusters(const struct image_grow_params *par, struct session *s, struct image_grow_plan *plan,
			   const struct progress *p, struct err *e)
{
	uint64_t limit = par->max_extents ? par->max_extents : 1;
	const struct choice look = { .bytes = 0 };
	int code;

	plan->grows = plan->image.size_bytes != plan->before_bytes || (par->relocate && plan->before.count > limit);
	if (!plan->grows) {
		code = choose(s, plan, &look, p, NULL, e);
		return code ? code : extent_list_copy(&plan->before, &plan->image.extents, e);
	}
	code = par->relocate ? choose_elsewhere(par, s, plan, p, e) : choose_in_place(par, s, plan, p, e);
	return code ? code : session_check_lost(s, plan->map->image, &plan->added, &plan->image.report, e);
}

/* ---- all of it ---- */

static int check_attached(const struct image_grow_params *par, struct err *e)
{
	char name[128];
	int code = image_find_attached(par->volume, name, e);

	if (code || !name[0])
		return code;
	return err_refuse(e, "attached", "an image of '%s' is in use as /dev/mapper/%s, and a file cannot grow safely under the "
			  "system that runs in it: start the live system that it was installed from, and grow it there; if it is "
			  "only attached, unmount it and run 'wubi-disk detach %s'", par->volume, name, name);
}

static int check_volume(const struct image_grow_params *par, struct session *s, struct image_grow_plan *plan,
			const struct progress *p, struct err *e)
{
	int code = session_check_found(s, &plan->image.report, p, e);

	plan->image.volume = *ntfsvol_info(s->v);
	plan->image.volume_known = true;
	if (!code)
		code = check_file(s, plan, e);
	if (!code && plan->before.count)
		code = check_size(par, s, plan, e);
	if (!code && plan->before.count && !report_has(&plan->image.report, "shrink"))
		code = choose_clusters(par, s, plan, p, e);
	if (code)
		return code;
	if (plan->image.extents.count)
		picture_add_image(&plan->image.picture, &plan->image.extents);
	if (plan->grows || (plan->fs_bytes && plan->fs_bytes < plan->before_bytes))
		image_grow_check_programs(plan->map->fs_type, s->device.is_block, &plan->image.report);
	return ntfsvol_io_error(s->v, e);
}

int image_grow_plan_session(const struct image_grow_params *par, struct session *s, struct image_grow_plan *plan,
			    const struct progress *p, struct err *e)
{
	int code = check_maps(par, plan, e);

	if (!code)
		code = check_attached(par, e);
	if (!code)
		code = session_open(par->volume, true, s, e);
	if (code)
		return code;
	session_check_state(s, SESSION_DIRTY_REFUSED);
	(void)snprintf(plan->image.path, sizeof(plan->image.path), "%s", plan->map->image);
	plan->image.device = s->device;
	plan->image.boot = s->boot;
	for (size_t i = 0; i < s->report.count; i++) /* behind those of the map files */
		report_add(&plan->image.report, s->report.items[i].reason, "%s", s->report.items[i].text);
	return s->v ? check_volume(par, s, plan, p, e) : 0;
}
