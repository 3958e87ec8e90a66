/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commit: the only code that writes to an NTFS volume.
 *
 * Between the dirty mark and its clearing the staged sectors go out in four phases with a flush behind each, so that at
 * every instant, whatever subset of a phase's writes reached the disk, each file that was there is still reachable and
 * whole:
 *   1. what nothing refers to yet: data in free clusters, unused MFT records, unused index blocks, and the bitmaps as
 *      (old | new), so that a cluster is never free while something may refer to it;
 *   2. MFT records in use that stay in use (folders whose index root changed, $MFT itself);
 *   3. index blocks in use, one by one, in the order of their last change: libntfs-3g writes the new half of a split block
 *      and its parent before it cuts the old block;
 *   4. MFT records that are given up, and the bitmaps as they shall be.
 */
#include "ntfsvol_private.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define RECORD_FLAGS_OFFSET 22 /* of MFT_RECORD.flags; fixups do not touch it */
#define WRITE_BYTES (1024 * 1024)

enum phase { PHASE_NEW, PHASE_RECORDS, PHASE_INDEX, PHASE_FREED, PHASE_COUNT };

struct unit {
	uint64_t offset_bytes;
	uint64_t n;
	uint64_t seq;
	enum phase phase;
	bool bitmap; /* goes out twice when something was freed */
};

struct plan {
	struct ntfsvol *v;
	struct ntfsvol_ranges mft, mirror, bitmaps;
	struct unit *units;
	size_t count, capacity;
};

static void plan_clear(struct plan *p)
{
	free(p->mft.items);
	free(p->mirror.items);
	free(p->bitmaps.items);
	free(p->units);
}

static int add_ranges(struct ntfsvol *v, ntfs_attr *na, struct ntfsvol_ranges *ret, struct err *e)
{
	uint64_t cluster = v->info.cluster_bytes;
	size_t count = 0;
	void *bigger;

	if (!NAttrNonResident(na))
		return 0;
	errno = 0;
	if (ntfs_attr_map_whole_runlist(na))
		return ntfsvol_fail(v, e, "read a run list of the metadata");
	for (const runlist_element *rl = na->rl; rl->length; rl++)
		count++;
	bigger = realloc(ret->items, (ret->count + count + 1) * sizeof(*ret->items));
	if (!bigger)
		return err_set(e, -ENOMEM, "commit: out of memory");
	ret->items = bigger;
	for (const runlist_element *rl = na->rl; rl->length; rl++)
		if (rl->lcn >= 0)
			ret->items[ret->count++] = (struct ntfsvol_range){ (uint64_t)rl->lcn * cluster,
									   (uint64_t)rl->length * cluster };
	return 0;
}

/* The range that holds the offset; *ret_before is the sum of the ranges before it. NULL: none. */
static const struct ntfsvol_range *range_of(const struct ntfsvol_ranges *r, uint64_t offset, uint64_t *ret_before)
{
	uint64_t before = 0;

	for (size_t i = 0; i < r->count; i++) {
		if (offset >= r->items[i].offset_bytes && offset - r->items[i].offset_bytes < r->items[i].length_bytes) {
			*ret_before = before;
			return &r->items[i];
		}
		before += r->items[i].length_bytes;
	}
	return NULL;
}

static int add_unit(struct plan *p, const struct unit *u, struct err *e)
{
	if (p->count == p->capacity) {
		size_t capacity = p->capacity ? 2 * p->capacity : 256;
		void *bigger = realloc(p->units, capacity * sizeof(*p->units));

		if (!bigger)
			return err_set(e, -ENOMEM, "commit: out of memory");
		p->units = bigger;
		p->capacity = capacity;
	}
	p->units[p->count++] = *u;
	return 0;
}

static bool record_in_use(const uint8_t head[RECORD_FLAGS_OFFSET + 2])
{
	return !memcmp(head, "FILE", 4) && (head[RECORD_FLAGS_OFFSET] & 1);
}

/* An MFT record, or its copy in $MFTMirr: did it describe a file before, and does it still? */
static int classify_record(struct plan *p, struct unit *u, struct err *e)
{
	uint8_t before[RECORD_FLAGS_OFFSET + 2], after[RECORD_FLAGS_OFFSET + 2];
	int code = blkio_read(p->v->base, u->offset_bytes, before, sizeof(before), e);

	if (!code)
		code = blkio_read(p->v->stage, u->offset_bytes, after, sizeof(after), e);
	if (!code)
		u->phase = !record_in_use(before) ? PHASE_NEW : record_in_use(after) ? PHASE_RECORDS : PHASE_FREED;
	return code;
}

/* Was this cluster allocated on the disk, before our changes? Read from the volume itself, not through the stage. */
static int was_allocated(struct plan *p, uint64_t lcn, bool *ret, struct err *e)
{
	uint64_t cluster = p->v->info.cluster_bytes, at = lcn / 8;
	LCN holder = ntfs_attr_vcn_to_lcn(p->v->vol->lcnbmp_na, (VCN)(at / cluster));
	uint8_t byte = 0xff;
	int code = 0;

	if (holder >= 0)
		code = blkio_read(p->v->base, (uint64_t)holder * cluster + at % cluster, &byte, 1, e);
	*ret = byte >> (lcn % 8) & 1;
	return code;
}

static bool is_unused_index(const struct ntfsvol *v, uint64_t offset)
{
	for (size_t i = 0; i < v->unused_index.count; i++)
		if (v->unused_index.items[i].offset_bytes == offset)
			return true;
	return false;
}

/* Index blocks by their magic; anything else was written into clusters of its own. */
static int classify_other(struct plan *p, struct unit *u, uint64_t left, struct err *e)
{
	uint64_t cluster = p->v->info.cluster_bytes;
	char magic[4] = "";
	bool allocated = true;
	int code = blkio_read(p->v->stage, u->offset_bytes, magic, sizeof(magic), e);

	if (code)
		return code;
	u->phase = PHASE_NEW;
	if (memcmp(magic, "INDX", 4)) {
		uint64_t end = u->offset_bytes / cluster * cluster + cluster;

		u->n = end - u->offset_bytes < left ? end - u->offset_bytes : left;
		return 0;
	}
	u->n = p->v->vol->indx_record_size < left ? p->v->vol->indx_record_size : left;
	code = was_allocated(p, u->offset_bytes / cluster, &allocated, e);
	if (allocated && !is_unused_index(p->v, u->offset_bytes))
		u->phase = PHASE_INDEX;
	return code;
}

/* Cuts the next unit off a stretch of staged bytes. */
static int classify(struct plan *p, struct unit *u, uint64_t left, struct err *e)
{
	uint64_t before = 0, record = p->v->info.mft_record_bytes;
	const struct ntfsvol_range *r = range_of(&p->mft, u->offset_bytes, &before);

	if (!r)
		r = range_of(&p->mirror, u->offset_bytes, &before);
	if (r) {
		uint64_t in = (before + u->offset_bytes - r->offset_bytes) % record;

		u->n = record - in < left ? record - in : left;
		return classify_record(p, u, e);
	}
	r = range_of(&p->bitmaps, u->offset_bytes, &before);
	if (r) {
		uint64_t end = r->offset_bytes + r->length_bytes - u->offset_bytes;

		u->n = end < left ? end : left;
		u->phase = PHASE_NEW;
		u->bitmap = true;
		return 0;
	}
	return classify_other(p, u, left, e);
}

static int plan_stretch(struct plan *p, uint64_t offset, uint64_t n, struct err *e)
{
	int code = 0;

	while (!code && n) {
		struct unit u = { .offset_bytes = offset };

		code = classify(p, &u, n, e);
		if (code)
			return code;
		u.seq = stage_seq(p->v->stage, u.offset_bytes, u.n);
		code = add_unit(p, &u, e);
		offset += u.n;
		n -= u.n;
	}
	return code;
}

static int make_plan(struct plan *p, struct err *e)
{
	AUTO_FREE struct stage_run *runs = NULL;
	ntfs_volume *vol = p->v->vol;
	size_t count = 0;
	int code = add_ranges(p->v, vol->mft_na, &p->mft, e);

	if (!code)
		code = add_ranges(p->v, vol->mftmirr_na, &p->mirror, e);
	if (!code)
		code = add_ranges(p->v, vol->lcnbmp_na, &p->bitmaps, e);
	if (!code)
		code = add_ranges(p->v, vol->mftbmp_na, &p->bitmaps, e);
	if (!code)
		code = stage_runs(p->v->stage, &runs, &count, e);
	for (size_t i = 0; !code && i < count;) {
		uint64_t start = runs[i].offset_bytes, end = start;

		for (; i < count && runs[i].offset_bytes == end; i++)
			end += runs[i].n;
		code = plan_stretch(p, start, end - start, e);
	}
	return code;
}

/* A bitmap with old and new bits: what was used stays used until phase 4, what will be used is used from phase 1. */
static int write_union(struct ntfsvol *v, uint64_t offset, size_t n, struct err *e)
{
	AUTO_FREE uint8_t *before = malloc(n);
	AUTO_FREE uint8_t *after = malloc(n);
	int code;

	if (!before || !after)
		return err_set(e, -ENOMEM, "commit: out of memory");
	code = blkio_read(v->base, offset, before, n, e);
	if (!code)
		code = blkio_read(v->stage, offset, after, n, e);
	if (code)
		return code;
	for (size_t i = 0; i < n; i++)
		after[i] |= before[i];
	return memcmp(before, after, n) ? blkio_write(v->base, offset, after, n, e) : 0;
}

static int write_unit(struct ntfsvol *v, const struct unit *u, bool as_union, struct err *e)
{
	int code = 0;

	for (uint64_t done = 0; !code && done < u->n;) {
		size_t n = u->n - done < WRITE_BYTES ? (size_t)(u->n - done) : WRITE_BYTES;

		code = as_union ? write_union(v, u->offset_bytes + done, n, e)
				: stage_write_out(v->stage, u->offset_bytes + done, n, e);
		done += n;
	}
	return code;
}

static int write_phase(struct plan *p, enum phase phase, struct err *e)
{
	struct ntfsvol *v = p->v;
	bool wrote = false;
	int code = 0;

	for (size_t i = 0; !code && i < p->count; i++) {
		struct unit *u = &p->units[i];
		bool second = u->bitmap && v->freed_something && phase == PHASE_FREED;

		if (u->phase != phase && !second)
			continue;
		code = write_unit(v, u, u->bitmap && v->freed_something && !second, e);
		wrote = true;
		if (!code && phase == PHASE_INDEX)
			code = blkio_flush(v->base, e);
	}
	if (!code && wrote && phase != PHASE_INDEX)
		code = blkio_flush(v->base, e);
	return code;
}

/* Neighbours of phase 1 become one write; the others stay apart, because a record or block is a unit of its own. */
static void merge_new(struct plan *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->count; i++) {
		struct unit *last = kept ? &p->units[kept - 1] : NULL;
		const struct unit *u = &p->units[i];

		if (last && last->phase == PHASE_NEW && u->phase == PHASE_NEW && last->bitmap == u->bitmap &&
		    last->offset_bytes + last->n == u->offset_bytes)
			last->n += u->n;
		else
			p->units[kept++] = *u;
	}
	p->count = kept;
}

static int by_seq(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	if (x->phase == PHASE_INDEX && y->phase == PHASE_INDEX)
		return (x->seq > y->seq) - (x->seq < y->seq);
	if (x->phase != y->phase)
		return (x->phase > y->phase) - (x->phase < y->phase);
	return (x->offset_bytes > y->offset_bytes) - (x->offset_bytes < y->offset_bytes);
}

/* Not by ntfs_volume_write_flags(): that clears each flag that it does not know. */
static int write_flags(struct ntfsvol *v, bool dirty)
{
	ntfs_attr_search_ctx *ctx = ntfs_attr_get_search_ctx(v->vol->vol_ni, NULL);
	const le16 mark = VOLUME_IS_DIRTY;
	int failed = 1;

	if (ctx && !ntfs_attr_lookup(AT_VOLUME_INFORMATION, AT_UNNAMED, 0, CASE_SENSITIVE, 0, NULL, 0, ctx)) {
		VOLUME_INFORMATION *info = /* its place was checked when the volume was mounted */
			(VOLUME_INFORMATION *)((u8 *)ctx->attr + le16_to_cpu(ctx->attr->value_offset));

		info->flags = (le16)(dirty ? info->flags | mark : info->flags & ~mark);
		v->vol->flags = info->flags;
		ntfs_inode_mark_dirty(v->vol->vol_ni);
		failed = ntfs_inode_sync(v->vol->vol_ni);
	}
	if (ctx)
		ntfs_attr_put_search_ctx(ctx);
	return failed;
}

static int set_dirty_mark(struct ntfsvol *v, bool dirty, struct err *e)
{
	errno = 0;
	if (write_flags(v, dirty) || v->dev.first.code)
		return ntfsvol_fail(v, e, "%s the dirty mark", dirty ? "set" : "clear");
	return blkio_flush(v->base, e);
}

/* A record's place on the device, by a byte of the attribute that holds it. */
static uint64_t device_offset(struct ntfsvol *v, ntfs_attr *na, uint64_t at)
{
	uint64_t cluster = v->info.cluster_bytes;
	LCN lcn = ntfs_attr_vcn_to_lcn(na, (VCN)(at / cluster));

	return lcn < 0 ? UINT64_MAX : (uint64_t)lcn * cluster + at % cluster;
}

/* Do both copies of $Volume's record still have these bytes? What cannot be read is not known to. */
static bool volume_record_is(struct ntfsvol *v, const uint8_t *bytes)
{
	uint64_t record = v->info.mft_record_bytes;
	ntfs_attr *const copies[] = { v->vol->mft_na, v->vol->mftmirr_na };
	uint8_t now[NTFS_BLOCK_SIZE];

	for (size_t i = 0; i < 2; i++)
		for (uint64_t at = 0; at < record; at += NTFS_BLOCK_SIZE)
			if (blkio_read(v->base, device_offset(v, copies[i], FILE_Volume * record + at), now,
				       sizeof(now), NULL) || memcmp(now, bytes + at, sizeof(now)) != 0)
				return false;
	return true;
}

/* $Volume's record as it was, in both copies, sector by sector (a cluster may be one): to undo a mark that failed half-way. */
static int restore_volume_record(struct ntfsvol *v, const uint8_t *before, struct err *e)
{
	uint64_t record = v->info.mft_record_bytes;
	ntfs_attr *const copies[] = { v->vol->mft_na, v->vol->mftmirr_na };
	int code = 0;

	for (size_t i = 0; i < 2; i++)
		for (uint64_t at = 0; !code && at < record; at += NTFS_BLOCK_SIZE)
			code = blkio_write(v->base, device_offset(v, copies[i], FILE_Volume * record + at), before + at,
					   NTFS_BLOCK_SIZE, e);
	return code ? code : blkio_flush(v->base, e);
}

static int read_volume_record(struct ntfsvol *v, uint8_t *ret, struct err *e)
{
	uint64_t record = v->info.mft_record_bytes;
	int code = 0;

	for (uint64_t at = 0; !code && at < record; at += NTFS_BLOCK_SIZE)
		code = blkio_read(v->base, device_offset(v, v->vol->mft_na, FILE_Volume * record + at), ret + at,
				  NTFS_BLOCK_SIZE, e);
	return code;
}

/* The first write of all. If it fails, the old record goes back, and then nothing was changed. */
static int set_first_mark(struct ntfsvol *v, struct err *e)
{
	AUTO_FREE uint8_t *before = malloc(v->info.mft_record_bytes);
	struct err why = ERR_INIT;
	int code;

	if (!before)
		return err_set(e, -ENOMEM, "out of memory; nothing was changed");
	code = read_volume_record(v, before, &why);
	if (code)
		return err_set(e, code, "%s; nothing was changed", why.text);
	code = set_dirty_mark(v, true, &why);
	if (!code)
		return 0;
	v->dev.closed = true;
	/* if it was the flush that failed, what can be read is the cache's word, not the disk's */
	if (restore_volume_record(v, before, NULL) && !(v->dev.first.code && volume_record_is(v, before)))
		return err_set(e, code, "%s, and the old record could not be put back: the volume may be marked dirty, or $MFT "
			       "and $MFTMirr differ; run chkdsk /f in Windows, no file is changed", why.text);
	return err_set(e, code, "%s; nothing was changed", why.text);
}

static int empty_journal(struct ntfsvol *v, struct err *e)
{
	errno = 0;
	/* as every read-write mount does: Windows must not replay old records over what we write */
	if (ntfs_logfile_reset(v->vol) || v->dev.first.code)
		return ntfsvol_fail(v, e, "empty $LogFile");
	return 0;
}

static int write_marked(struct plan *p, bool clear_mark, struct err *e)
{
	struct ntfsvol *v = p->v;
	int code = empty_journal(v, e);

	for (enum phase phase = 0; !code && phase < PHASE_COUNT; phase++)
		code = write_phase(p, phase, e);
	if (!code && stage_bytes(v->stage))
		code = err_set(e, -EIO, "%llu bytes were staged behind the plan's back",
			       (unsigned long long)stage_bytes(v->stage));
	if (!code && clear_mark)
		code = set_dirty_mark(v, false, e);
	return code;
}

static int write_all(struct plan *p, struct err *e)
{
	struct ntfsvol *v = p->v;
	bool was_dirty = (v->vol->flags & VOLUME_IS_DIRTY) != const_cpu_to_le16(0);
	struct err why = ERR_INIT;
	int code = 0;

	ntfsvol_log_start();
	stage_set_through(v->stage, true);
	if (!was_dirty)
		code = set_first_mark(v, e);
	if (code)
		return code;
	code = write_marked(p, !was_dirty, &why);
	if (code)
		return err_set(e, code, "%s; it is marked dirty: run chkdsk /f in Windows, no file that was there before "
			       "is changed", why.text);
	return 0;
}

/* No signal may cut the commit in two: those that come wait until it is done. */
static int write_uninterrupted(struct plan *p, struct err *e)
{
	sigset_t all, before;
	int code;

	(void)sigfillset(&all); /* cannot fail */
	code = pthread_sigmask(SIG_BLOCK, &all, &before);
	if (code)
		return err_set(e, -code, "block signals: %s; nothing was changed", strerror(code));
	code = write_all(p, e);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* cannot fail: it gave us this mask */
	return code;
}

/* Everything that libntfs-3g keeps in memory goes to the stage. */
static int settle(struct ntfsvol *v, struct err *e)
{
	errno = 0;
	if (ntfs_inode_sync(v->vol->lcnbmp_ni) || ntfs_inode_sync(v->vol->mft_ni) ||
	    ntfs_inode_sync(v->vol->mftmirr_ni) || v->dev.first.code)
		return ntfsvol_fail(v, e, "settle the metadata");
	return 0;
}

int ntfsvol_commit(struct ntfsvol **v, struct err *e)
{
	AUTO(ntfsvol) struct ntfsvol *own = TAKE(*v);
	struct plan p = { .v = own };
	struct err why = ERR_INIT;
	int code = settle(own, &why);

	if (!code && own->changed)
		code = make_plan(&p, &why);
	if (code) {
		plan_clear(&p);
		return err_set(e, code, "volume '%s': %s; nothing was changed", own->base->name, why.text);
	}
	if (p.count) {
		qsort(p.units, p.count, sizeof(*p.units), by_seq);
		merge_new(&p);
		code = write_uninterrupted(&p, &why);
	}
	plan_clear(&p);
	return code ? err_set(e, code, "volume '%s': write the NTFS metadata: %s", own->base->name, why.text) : 0;
}
