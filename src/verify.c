/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verify.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "blockdev.h"
#include "canary.h"
#include "filedev.h"
#include "mapdev.h"
#include "ntfsvol.h"

void verify_result_clear(struct verify_result *r)
{
	extent_list_clear(&r->extents);
}

struct look {
	const struct blkio *io;
	const struct map *m;
	struct ntfsvol *v;
	struct ntfsvol_file file;
	struct canary_result canary;
	char path_problem[VERDICT_REASON_TEXT];
	struct verdict_facts facts;
};

static bool is_maps_file(const struct look *l, const struct ntfsvol_ref *ref)
{
	return ref->record == l->m->mft_record && ref->sequence == l->m->mft_sequence;
}

static int check_canary(struct look *l, const struct extent_list *extents, struct canary_result *ret, struct err *e)
{
	AUTO(blkio) struct blkio *image = NULL;
	struct err why = ERR_INIT;

	*ret = (struct canary_result){ .known = true };
	if (mapdev_new(l->io, extents, &image, &why)) {
		(void)snprintf(ret->reason, sizeof(ret->reason), "%.150s", why.text);
		return why.code == -ENOMEM ? err_set(e, -ENOMEM, "%s", why.text) : 0;
	}
	return canary_check(image, l->m->fs_type, l->m->fs_uuid, ret, e);
}

/* Another file at the map's path: does it carry the same file system? */
static int look_at_other(struct look *l, uint64_t record, struct err *e)
{
	__attribute__((cleanup(auto_ntfsvol_file))) struct ntfsvol_file other = { 0 };
	struct canary_result canary = { 0 };
	int code = ntfsvol_read_file(l->v, record, &other, e);

	if (!code && other.extents.count)
		code = check_canary(l, &other.extents, &canary, e);
	l->facts.path_same_fs = canary.known && canary.ok;
	return code;
}

static int look_at_path(struct look *l, struct err *e)
{
	struct ntfsvol_entry entry;
	struct err why = ERR_INIT;
	int code = ntfsvol_find(l->v, l->m->image, &entry, &why);

	if (code == -ENOMEM)
		return err_set(e, code, "%s", why.text);
	if (code && !strcmp(why.reason, "twins")) {
		(void)snprintf(l->path_problem, sizeof(l->path_problem), "%.255s", why.text);
		l->facts.path_problem = l->path_problem;
		l->facts.at_map_path = l->file.indexed && !strcasecmp(l->file.path, l->m->image);
	}
	if (code) /* no entry, or a damaged folder: the record decides; what the medium failed to give is seen later */
		return 0;
	l->facts.at_map_path = is_maps_file(l, &entry.ref);
	l->facts.path_taken = !l->facts.at_map_path;
	return l->facts.path_taken && !l->facts.record_in_use && !entry.is_dir
		       ? look_at_other(l, entry.ref.record, e) : 0;
}

/* The file's own extents when it has some, else the map's: that is where the content is, or was. */
static int look_at_content(struct look *l, struct err *e)
{
	const struct extent_list *at = l->facts.extents && l->facts.extents->count ? l->facts.extents : &l->m->extents;
	int code = check_canary(l, at, &l->canary, e);

	l->facts.canary_known = l->canary.known;
	l->facts.canary_ok = l->canary.ok;
	l->facts.canary_other_uuid = l->canary.other_uuid;
	l->facts.canary_reason = l->canary.reason;
	return code;
}

static int look_at_bitmap(struct look *l, struct err *e)
{
	struct verdict_facts *f = &l->facts;
	uint64_t total = ntfsvol_info(l->v)->total_bytes;
	bool inside = true;
	int code = 0;

	if (f->extents)
		code = ntfsvol_count_free(l->v, f->extents, &f->free_clusters, e);
	for (size_t i = 0; i < l->m->extents.count; i++)
		inside = inside && l->m->extents.items[i].physical_bytes + l->m->extents.items[i].length_bytes <= total;
	if (!code && inside && !(f->extents && extent_list_equal(f->extents, &l->m->extents)))
		code = ntfsvol_count_free(l->v, &l->m->extents, &f->map_free_clusters, e);
	return code;
}

static void take_file(struct look *l)
{
	struct verdict_facts *f = &l->facts;
	const struct ntfsvol_file *x = &l->file;

	f->record_in_use = x->in_use && is_maps_file(l, &x->ref);
	if (!f->record_in_use)
		return;
	f->is_dir = x->is_dir;
	f->compressed = x->compressed;
	f->encrypted = x->encrypted;
	f->sparse = x->sparse;
	f->reparse = x->reparse;
	f->resident = x->resident;
	f->data_bytes = x->data_bytes;
	f->initialized_bytes = x->initialized_bytes;
	f->allocated_bytes = x->allocated_bytes;
	f->extents = x->extents_problem[0] || !x->extents.count ? NULL : &x->extents;
	f->extents_problem = x->extents_problem;
	f->indexed = x->indexed;
	f->path = x->path;
}

static void take_volume(struct look *l)
{
	const struct ntfsvol_info *info = ntfsvol_info(l->v);
	struct verdict_facts *f = &l->facts;

	f->ntfs = true;
	f->serial = info->serial;
	f->cluster_bytes = info->cluster_bytes;
	f->sector_bytes = info->sector_bytes;
	f->dirty = info->state.dirty;
	f->hibernated = info->state.hibernated;
	f->fast_startup = info->state.fast_startup;
	f->journal_clean = info->state.journal_clean;
}

/* Only a volume that is the map's, by its geometry, is worth a look at records and clusters. */
static int look_inside(struct look *l, struct err *e)
{
	int code;

	take_volume(l);
	if (l->facts.cluster_bytes != l->m->host.cluster_bytes)
		return 0;
	code = ntfsvol_read_file(l->v, l->m->mft_record, &l->file, e);
	if (code)
		return code;
	take_file(l);
	code = look_at_path(l, e);
	if (!code)
		code = look_at_bitmap(l, e);
	if (!code)
		code = look_at_content(l, e);
	return code;
}

static int open_volume(struct look *l, struct err *e)
{
	struct err why = ERR_INIT;
	int code = ntfsvol_open(l->io, false, &l->v, &why);

	if (code && !strcmp(why.reason, "bitlocker"))
		l->facts.bitlocker = true;
	else if (code && strcmp(why.reason, "not-ntfs") != 0)
		return err_set(e, err_is_refusal(&why) ? -EIO : code, "%s", why.text);
	return 0;
}

int verify_volume(const struct blkio *io, const char *partuuid, const struct map *m, struct verify_result *ret,
		  struct err *e)
{
	struct look l = { .io = io, .m = m, .facts = { .partuuid = partuuid } };
	int code;

	memset(ret, 0, sizeof(*ret));
	(void)snprintf(ret->volume, sizeof(ret->volume), "%s", io->name);
	code = open_volume(&l, e);
	if (!code && l.v)
		code = look_inside(&l, e);
	if (!code && l.v)
		code = ntfsvol_io_error(l.v, e);
	if (!code) {
		verdict_decide(m, &l.facts, &ret->verdict);
		(void)snprintf(ret->path, sizeof(ret->path), "%s", l.file.path);
		ret->suspended = l.canary.suspended;
		if (l.facts.extents) {
			ret->extents = l.file.extents;
			l.file.extents = (struct extent_list){ 0 };
		}
	}
	ntfsvol_file_clear(&l.file);
	ntfsvol_free(l.v);
	return code;
}

/* A driver that has the volume mounted keeps metadata in memory: what is on the disk is not the truth then. */
static int check_users(const char *path, struct err *e)
{
	struct report users = { .count = 0 };
	int code = blockdev_check_drivers(path, &users, e);

	return code || !users.count ? code : err_set(e, -EBUSY, "cannot tell: %s", users.items[0].text);
}

static int verify_path(const char *path, const struct map *m, struct verify_result *ret, struct err *e)
{
	AUTO(blkio) struct blkio *io = NULL;
	struct blockdev_info info;
	int code = filedev_open(path, FILEDEV_READ, &io, e);

	if (!code)
		code = check_users(path, e);
	if (!code)
		code = blockdev_probe(io, &info, e);
	return code ? code : verify_volume(io, info.partuuid, m, ret, e);
}

/* One device under two names (a by-uuid link) is one candidate. */
static bool is_same_volume(const char *a, const char *b)
{
	struct stat x, y;

	if (stat(a, &x) || stat(b, &y))
		return false;
	if (S_ISBLK(x.st_mode) && S_ISBLK(y.st_mode))
		return x.st_rdev == y.st_rdev;
	return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool verify_fits(const struct verify_result *r)
{
	enum verdict v = r->verdict.settled;

	return v == VERDICT_MATCH || v == VERDICT_MOVED || v == VERDICT_GROWN || v == VERDICT_RENAMED || v == VERDICT_ORPHANED;
}

static void make_ambiguous(struct verify_result *ret, const char *other)
{
	struct verdict_result *r = &ret->verdict;

	r->verdict = r->settled = VERDICT_AMBIGUOUS;
	r->attachable = false;
	r->reason_count = 2;
	(void)snprintf(r->reasons[0], VERDICT_REASON_TEXT, "both '%.100s' and '%.100s' hold this image", ret->volume, other);
	(void)snprintf(r->reasons[1], VERDICT_REASON_TEXT,
		       "one is a clone of the other: unplug it, or give it a new serial number (ntfslabel --new-serial)");
}

static bool was_seen(const char *const *volumes, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (is_same_volume(volumes[k], volumes[i]))
			return true;
	return false;
}

int verify_candidates(const char *const *volumes, size_t count, const struct map *m, struct verify_result *ret,
		      struct err *e)
{
	int code = verify_path(volumes[0], m, ret, e);

	for (size_t i = 1; !code && i < count; i++) {
		struct verify_result next;

		if (was_seen(volumes, i))
			continue;
		code = verify_path(volumes[i], m, &next, e);
		if (code)
			break;
		if (verify_fits(ret) && verify_fits(&next)) {
			make_ambiguous(ret, next.volume);
			verify_result_clear(&next);
			return 0;
		}
		if (verify_fits(&next)) {
			verify_result_clear(ret);
			*ret = next;
		} else {
			verify_result_clear(&next);
		}
	}
	return code;
}
