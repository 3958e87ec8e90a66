/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is left of an image: its clusters, who has them, and what the file system in there says. */
#include "image_rescue_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "mapdev.h"
#include "verify.h"

void image_rescue_clear(struct image_rescue *r)
{
	free(r->extents);
	r->extents = NULL;
	salvage_result_clear(&r->copy);
}

/* Where the map's extents would not be its own. After a quick format the bytes may still be there, but nothing proves it. */
static int check_volume(const struct session *s, const struct map *m, struct err *e)
{
	bool ntfs = s->boot.kind == BOOTSECT_NTFS, named = s->device.partuuid[0] && !strcasecmp(s->device.partuuid,
												m->host.partuuid);

	if (s->boot.kind == BOOTSECT_BITLOCKER)
		return err_refuse(e, "bitlocker", "'%s' is encrypted by BitLocker now, and what would be copied is "
				  "ciphertext: decrypt it in Windows (manage-bde -off), then retry", s->io->name);
	if (!ntfs && !named)
		return err_refuse(e, "not-this-volume", "'%s' holds no NTFS, so nothing shows that it is the map's volume: it "
				  "was formatted anew, or is another one; name the right one, or read it through 'wubi-disk "
				  "table' at your own risk", s->io->name);
	if (ntfs && s->boot.serial != m->host.serial && !named)
		return err_refuse(e, "not-this-volume", "the serial number of '%s' is %016llx, the map's volume had %016llx: "
				  "it was formatted anew, or is another one; name the right one, or read it through "
				  "'wubi-disk table' at your own risk", s->io->name, (unsigned long long)s->boot.serial,
				  (unsigned long long)m->host.serial);
	for (size_t i = 0; i < m->extents.count; i++)
		if (m->extents.items[i].physical_bytes + m->extents.items[i].length_bytes > s->io->size_bytes)
			return err_refuse(e, "not-this-volume", "extent %zu of the map lies beyond the end of '%s': it was made "
					  "smaller, and that part of the image is outside", i, s->io->name);
	return 0;
}

/* What the rest cannot do without is a failure; else the report says what could not be told, and why. */
static int or_unknown(struct image_rescue *r, const struct err *why, struct err *e)
{
	if (why->code == -ENOMEM || why->code == -ECANCELED)
		return err_set(e, why->code, "%s", why->text);
	r->known = false;
	if (!r->problem[0])
		(void)snprintf(r->problem, sizeof(r->problem), "%.*s", IMAGE_RESCUE_TEXT - 1, why->text);
	return 0;
}

struct scan {
	struct reuse *reuse;
	struct picture *picture;
	uint64_t cluster_bytes;
	struct err why; /* the first -ENOMEM: the scan itself knows of no failure */
};

static void take_free(void *ctx, uint64_t lcn, uint64_t clusters)
{
	struct scan *scan = ctx;

	picture_add_free(scan->picture, lcn * scan->cluster_bytes, clusters * scan->cluster_bytes);
	if (!scan->why.code)
		(void)reuse_add_free(scan->reuse, lcn * scan->cluster_bytes, clusters * scan->cluster_bytes, &scan->why);
}

static int take_run(void *ctx, uint64_t record, uint64_t physical_bytes, uint64_t length_bytes, struct err *e)
{
	struct scan *scan = ctx;

	return reuse_add_run(scan->reuse, record, physical_bytes, length_bytes, e);
}

static int scan_bitmap(struct session *s, struct scan *scan, const struct progress *p, struct err *e)
{
	const struct ntfsvol_info *info = ntfsvol_info(s->v);
	struct freespace_params params = { .total_clusters = info->total_clusters, .cluster_bytes = info->cluster_bytes,
					   .max_extents = 1 };
	AUTO(freespace) struct freespace *f = NULL;
	struct freespace_summary summary;
	int code = freespace_new(&params, &f, e);

	if (code)
		return code;
	picture_init(scan->picture, info->total_bytes);
	freespace_set_seen(f, take_free, scan);
	code = ntfsvol_scan(s->v, f, p, e);
	if (!code)
		code = freespace_finish(f, &summary, e);
	if (!code && scan->why.code)
		code = err_set(e, scan->why.code, "%s", scan->why.text);
	return code;
}

static int name_owners(struct session *s, const struct reuse *reuse, struct image_rescue *r, struct err *e)
{
	const struct reuse_owner *owners = reuse_owners(reuse, &r->owners_in_all);
	int code = 0;

	for (size_t i = 0; !code && i < r->owners_in_all && i < IMAGE_RESCUE_OWNERS; i++) {
		__attribute__((cleanup(auto_ntfsvol_file))) struct ntfsvol_file file = { 0 };
		struct image_rescue_owner *to = &r->owners[r->owner_count++];
		struct err why = ERR_INIT;

		to->record = owners[i].record;
		to->bytes = owners[i].bytes;
		if (!ntfsvol_read_file(s->v, to->record, &file, &why))
			(void)snprintf(to->path, sizeof(to->path), "%s", file.path);
		else if (why.code == -ENOMEM)
			code = err_set(e, why.code, "%s", why.text);
	}
	return code;
}

/* The record is still the map's: what it has is its own, whatever became of the rest. A damaged one has nothing for certain. */
static int own_record(struct session *s, const struct map *m, uint64_t *ret, struct err *e)
{
	__attribute__((cleanup(auto_ntfsvol_file))) struct ntfsvol_file file = { 0 };
	struct err why = ERR_INIT;
	int code = ntfsvol_read_file(s->v, m->mft_record, &file, &why);

	*ret = !code && file.in_use && file.ref.sequence == m->mft_sequence ? m->mft_record : REUSE_NO_RECORD;
	return code == -ENOMEM ? err_set(e, code, "%s", why.text) : ntfsvol_io_error(s->v, e);
}

static int look_at_clusters(struct session *s, const struct map *m, const struct progress *p, struct image_rescue *r,
			    struct err *e)
{
	AUTO(reuse) struct reuse *reuse = NULL;
	struct scan scan = { .picture = &r->picture, .cluster_bytes = ntfsvol_info(s->v)->cluster_bytes };
	uint64_t own = REUSE_NO_RECORD;
	int code = own_record(s, m, &own, e);

	if (!code)
		code = reuse_new(&m->extents, own, &reuse, e);
	scan.reuse = reuse;
	if (!code)
		code = scan_bitmap(s, &scan, p, e);
	if (!code)
		code = ntfsvol_all_runs(s->v, take_run, &scan, p, &r->damaged_records, e);
	if (!code) {
		reuse_finish(reuse);
		code = name_owners(s, reuse, r, e);
	}
	if (!code)
		code = ntfsvol_io_error(s->v, e);
	if (code)
		return code;
	r->extents = calloc(m->extents.count, sizeof(*r->extents));
	if (!r->extents)
		return err_set(e, -ENOMEM, "look at the old clusters: out of memory");
	for (size_t i = 0; i < m->extents.count; i++)
		r->extents[i] = reuse_of_extent(reuse, i);
	r->sums = reuse_all(reuse);
	return 0;
}

static int look_at_verdict(struct session *s, const struct map *m, struct image_rescue *r, struct err *e)
{
	__attribute__((cleanup(auto_verify_result))) struct verify_result seen = { 0 };
	struct err why = ERR_INIT;
	int code = verify_volume(s->io, s->device.partuuid, m, &seen, &why);

	if (!code)
		r->verdict = seen.verdict;
	if (code == -ENOMEM)
		return err_set(e, code, "%s", why.text);
	if (code) {
		r->verdict.reason_count = 1;
		(void)snprintf(r->verdict.reasons[0], VERDICT_REASON_TEXT, "%.255s", why.text);
	}
	return 0;
}

/* At the old place, whatever the file has now. */
static int look_at_content(struct session *s, const struct map *m, struct image_rescue *r, struct err *e)
{
	AUTO(blkio) struct blkio *image = NULL;
	struct err why = ERR_INIT;
	int code = mapdev_new(s->io, &m->extents, &image, e);

	if (code)
		return code;
	if (canary_check(image, m->fs_type, m->fs_uuid, &r->superblock, &why)) {
		r->superblock = (struct canary_result){ .known = true };
		(void)snprintf(r->superblock.reason, sizeof(r->superblock.reason), "%.150s", why.text);
	}
	r->health_known = !strcmp(m->fs_type, "ext4");
	return r->health_known ? ext4fmt_inspect(image, &r->health, e) : 0;
}

int image_rescue_look(struct session *s, const struct map *m, const struct progress *p, struct image_rescue *ret,
		      struct err *e)
{
	struct err why = ERR_INIT;
	int code = check_volume(s, m, e);

	if (code)
		return code;
	ret->total_bytes = m->size_bytes;
	ret->known = s->v != NULL;
	if (!s->v)
		(void)snprintf(ret->problem, sizeof(ret->problem), "%.*s", IMAGE_RESCUE_TEXT - 1,
			       s->report.count ? s->report.items[0].text : "its NTFS cannot be read");
	if (s->v && look_at_clusters(s, m, p, ret, &why))
		code = or_unknown(ret, &why, e);
	if (!code && s->v)
		code = look_at_verdict(s, m, ret, e);
	if (!ret->known)
		picture_init(&ret->picture, s->io->size_bytes);
	picture_add_image(&ret->picture, &m->extents);
	return code ? code : look_at_content(s, m, ret, e);
}

void image_rescue_judge(struct image_rescue *r)
{
	if (r->sums.taken_bytes)
		r->reason = "reused";
	else if (!r->known || r->damaged_records)
		r->reason = "unknown";
	else if (r->sums.unowned_bytes)
		r->reason = "unowned";
	else if (r->copy.bad_count)
		r->reason = "bad-sectors";
	else if (r->superblock.known && !r->superblock.ok)
		r->reason = "superblock";
	else if ((r->health_known && r->health.problems) || r->fsck == IMAGE_RESCUE_FSCK_ERRORS ||
		 r->fsck == IMAGE_RESCUE_FSCK_FAILED)
		r->reason = "file-system";
}
