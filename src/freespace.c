/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "freespace.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "num.h"

#define UNIT_MIN_BYTES 4096u
#define CLUSTER_MIN_BYTES 512u
#define CLUSTER_MAX_BYTES (2u * 1024 * 1024)
#define NO_RUN UINT64_MAX

/* What an image can take of a set of runs: the one that fits best, or the fewest, largest. */
struct tracker {
	struct cluster_run best;  /* the smallest that holds all; clusters 0: none does */
	struct cluster_run *heap; /* smallest first; only the largest that are needed */
	size_t count;
	size_t capacity;
	size_t limit;	       /* more runs than this are of no use */
	uint64_t sum_clusters; /* of the heap */
};

struct freespace {
	struct freespace_params par;
	uint64_t unit_clusters;
	uint64_t want_clusters;
	freespace_seen_fn *seen;
	void *seen_ctx;
	uint64_t next_lcn;	/* of the next bit */
	uint64_t run_start;	/* of the free stretch that is open, or NO_RUN */
	size_t avoid_next;	/* entries before it lie behind the scan */
	struct tracker outside; /* runs and parts of runs that the MFT zone leaves */
	struct tracker anywhere;
	uint64_t largest_usable_clusters;
	struct freespace_summary sum;
	int failed; /* latched: a run was lost, so that no answer would be true */
	bool finished;
};

/* ---- new ---- */

static int check_params(const struct freespace_params *p, struct err *e)
{
	uint64_t unit = p->cluster_bytes > UNIT_MIN_BYTES ? p->cluster_bytes : UNIT_MIN_BYTES;
	uint64_t end = 0;

	if (!num_is_power_of_two(p->cluster_bytes) || p->cluster_bytes < CLUSTER_MIN_BYTES ||
	    p->cluster_bytes > CLUSTER_MAX_BYTES)
		return err_set(e, -EINVAL, "clusters of %" PRIu32 " bytes are impossible",
			       p->cluster_bytes);
	if (p->total_clusters == 0 || num_mul(p->total_clusters, p->cluster_bytes, &end) < 0)
		return err_set(e, -EINVAL, "a volume of %" PRIu64 " clusters is impossible",
			       p->total_clusters);
	if (p->want_bytes % unit != 0)
		return err_set(e, -EINVAL, "%" PRIu64 " bytes are no multiple of %" PRIu64,
			       p->want_bytes, unit);
	if (p->max_extents == 0)
		return err_set(e, -EINVAL, "an image needs at least one extent");
	if (num_add(p->zone.lcn, p->zone.clusters, &end) < 0)
		return err_set(e, -EINVAL, "the MFT zone ends beyond 2^64 clusters");
	end = 0;
	for (size_t i = 0; i < p->avoid_count; i++) {
		if (p->avoid[i].lcn < end ||
		    num_add(p->avoid[i].lcn, p->avoid[i].clusters, &end) < 0)
			return err_set(e, -EINVAL,
				       "entry %zu of the clusters to avoid is not in order", i);
	}
	return 0;
}

int freespace_new(const struct freespace_params *params, struct freespace **ret, struct err *e)
{
	struct freespace *f;
	int r = check_params(params, e);

	if (r < 0)
		return r;
	f = calloc(1, sizeof(*f));
	if (!f)
		return err_set(e, -ENOMEM, "out of memory for the free space");
	f->par = *params;
	f->unit_clusters =
		params->cluster_bytes < UNIT_MIN_BYTES ? UNIT_MIN_BYTES / params->cluster_bytes : 1;
	f->want_clusters = params->want_bytes / params->cluster_bytes;
	f->run_start = NO_RUN;
	f->outside.limit = params->max_extents;
	f->anywhere.limit = SIZE_MAX; /* extents_needed counts them all */
	*ret = f;
	return 0;
}

void freespace_set_seen(struct freespace *f, freespace_seen_fn *seen, void *ctx)
{
	f->seen = seen;
	f->seen_ctx = ctx;
}

void freespace_free(struct freespace *f)
{
	if (!f)
		return;
	free(f->outside.heap);
	free(f->anywhere.heap);
	free(f);
}

/* ---- the fewest largest runs ---- */

/* Of two equal runs the one with the higher LCN goes first, so that the lowest stay. */
static bool goes_before(const struct cluster_run *a, const struct cluster_run *b)
{
	return a->clusters != b->clusters ? a->clusters < b->clusters : a->lcn > b->lcn;
}

static void swap_runs(struct cluster_run *a, struct cluster_run *b)
{
	struct cluster_run old = *a;

	*a = *b;
	*b = old;
}

static int heap_push(struct tracker *t, struct cluster_run run, struct err *e)
{
	size_t i = t->count;

	if (t->count == t->capacity) {
		size_t capacity = t->capacity ? t->capacity * 2 : 64;
		struct cluster_run *heap = reallocarray(t->heap, capacity, sizeof(*heap));

		if (!heap)
			return err_set(e, -ENOMEM, "out of memory for %zu free runs", capacity);
		t->heap = heap;
		t->capacity = capacity;
	}
	t->heap[t->count++] = run;
	t->sum_clusters += run.clusters;
	while (i > 0 && goes_before(&t->heap[i], &t->heap[(i - 1) / 2])) {
		swap_runs(&t->heap[i], &t->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	return 0;
}

static void heap_pop(struct tracker *t)
{
	size_t i = 0;
	size_t child;

	t->sum_clusters -= t->heap[0].clusters;
	t->heap[0] = t->heap[--t->count];
	while ((child = 2 * i + 1) < t->count) {
		if (child + 1 < t->count && goes_before(&t->heap[child + 1], &t->heap[child]))
			child++;
		if (!goes_before(&t->heap[child], &t->heap[i]))
			break;
		swap_runs(&t->heap[child], &t->heap[i]);
		i = child;
	}
}

static int track(struct tracker *t, uint64_t want_clusters, struct cluster_run run, struct err *e)
{
	bool full = t->sum_clusters >= want_clusters || t->count >= t->limit;
	int r;

	if (run.clusters >= want_clusters &&
	    (t->best.clusters == 0 || run.clusters < t->best.clusters))
		t->best = run;
	if (full && t->count > 0 && run.clusters <= t->heap[0].clusters)
		return 0;
	r = heap_push(t, run, e);
	if (r < 0)
		return r;
	while (t->count > t->limit || t->sum_clusters - t->heap[0].clusters >= want_clusters)
		heap_pop(t);
	return 0;
}

/* ---- runs ---- */

/* The whole units of [lcn, end); clusters 0: there is none. */
static struct cluster_run usable_part(const struct freespace *f, uint64_t lcn, uint64_t end)
{
	uint64_t mask = f->unit_clusters - 1;
	uint64_t first = (lcn + mask) & ~mask; /* a cluster number is below 2^55: no overflow */

	end &= ~mask;
	return (struct cluster_run){ first, end > first ? end - first : 0 };
}

static int track_part(struct freespace *f, struct tracker *t, uint64_t lcn, uint64_t end,
		      struct err *e)
{
	struct cluster_run part = usable_part(f, lcn, end);

	if (part.clusters == 0 || f->want_clusters == 0)
		return 0;
	return track(t, f->want_clusters, part, e);
}

static void note_top(struct freespace_summary *s, struct cluster_run run)
{
	size_t i = s->top_count;

	while (i > 0 && s->top[i - 1].clusters < run.clusters)
		i--;
	if (i == FREESPACE_TOP)
		return;
	if (s->top_count < FREESPACE_TOP)
		s->top_count++;
	memmove(&s->top[i + 1], &s->top[i], (s->top_count - 1 - i) * sizeof(s->top[0]));
	s->top[i] = run;
}

/* One free run, nothing of it to be avoided. */
static int take_run(struct freespace *f, uint64_t lcn, uint64_t end, struct err *e)
{
	uint64_t zone_lcn = f->par.zone.lcn;
	uint64_t zone_end = zone_lcn + f->par.zone.clusters;
	struct cluster_run usable = usable_part(f, lcn, end);
	int r;

	f->sum.free_clusters += end - lcn;
	f->sum.free_runs++;
	f->sum.usable_bytes += usable.clusters * f->par.cluster_bytes;
	note_top(&f->sum, (struct cluster_run){ lcn, end - lcn });
	if (usable.clusters > f->largest_usable_clusters)
		f->largest_usable_clusters = usable.clusters;
	if (f->seen)
		f->seen(f->seen_ctx, lcn, end - lcn);
	if (f->par.behind_lcn != 0 && lcn == f->par.behind_lcn) {
		f->sum.behind_clusters = end - lcn;
		return 0;
	}
	r = track_part(f, &f->anywhere, lcn, end, e);
	if (r < 0)
		return r;
	if (f->par.zone.clusters == 0 || end <= zone_lcn || lcn >= zone_end)
		return track_part(f, &f->outside, lcn, end, e);
	if (lcn < zone_lcn) {
		r = track_part(f, &f->outside, lcn, zone_lcn, e);
		if (r < 0)
			return r;
	}
	return end > zone_end ? track_part(f, &f->outside, zone_end, end, e) : 0;
}

/* A stretch of clear bits, [lcn, end): without what is to be avoided it is any number of runs. */
static int take_stretch(struct freespace *f, uint64_t lcn, uint64_t end, struct err *e)
{
	for (; f->avoid_next < f->par.avoid_count; f->avoid_next++) {
		const struct cluster_run *avoid = &f->par.avoid[f->avoid_next];
		uint64_t avoid_end = avoid->lcn + avoid->clusters;
		int r = 0;

		if (avoid->clusters == 0 || avoid_end <= lcn)
			continue;
		if (avoid->lcn >= end)
			break;
		if (avoid->lcn > lcn)
			r = take_run(f, lcn, avoid->lcn, e);
		if (r < 0)
			return r;
		if (avoid_end >= end)
			return 0; /* this entry may reach into the next stretch */
		lcn = avoid_end;
	}
	return take_run(f, lcn, end, e);
}

static int close_run(struct freespace *f, uint64_t end, struct err *e)
{
	uint64_t start = f->run_start;

	f->run_start = NO_RUN;
	return start == NO_RUN ? 0 : take_stretch(f, start, end, e);
}

/* ---- bits ---- */

/* The bits from f->next_lcn on, the lowest first; those from 'bits' on count for nothing. */
static int feed_word(struct freespace *f, uint64_t word, unsigned bits, struct err *e)
{
	unsigned bit = 0;
	int r = 0;

	if (word == UINT64_MAX && f->run_start == NO_RUN)
		bit = bits;
	while (bit < bits) {
		uint64_t rest = word >> bit;

		if (rest & 1) {
			r = close_run(f, f->next_lcn + bit, e);
			if (r < 0)
				return r;
			rest = ~rest;
		} else if (f->run_start == NO_RUN) {
			f->run_start = f->next_lcn + bit;
		}
		if (rest == 0) /* the same to the end of the word; ctz(0) is undefined */
			break;
		bit += (unsigned)__builtin_ctzll(rest);
	}
	f->next_lcn += bits;
	return 0;
}

int freespace_feed(struct freespace *f, const uint8_t *bits, size_t n, struct err *e)
{
	if (f->failed)
		return err_set(e, f->failed, "the scan of the free space has failed before");
	if (f->finished)
		return err_set(e, -EINVAL, "the scan of the free space has ended");
	while (n > 0 && f->next_lcn < f->par.total_clusters) {
		uint64_t left = f->par.total_clusters - f->next_lcn;
		size_t bytes = n < sizeof(uint64_t) ? n : sizeof(uint64_t);
		unsigned count = (unsigned)bytes * 8;
		uint64_t word = 0;

		memcpy(&word, bits, bytes);
		if (count > left)
			count = (unsigned)left;
		f->failed = feed_word(f, le64toh(word), count, e);
		if (f->failed)
			return f->failed;
		bits += bytes;
		n -= bytes;
	}
	return 0;
}

int freespace_finish(struct freespace *f, struct freespace_summary *ret, struct err *e)
{
	if (f->failed)
		return err_set(e, f->failed, "the scan of the free space has failed before");
	if (f->next_lcn < f->par.total_clusters)
		return err_set(e, -EINVAL, "the bitmap ends at cluster %" PRIu64 " of %" PRIu64,
			       f->next_lcn, f->par.total_clusters);
	f->failed = close_run(f, f->next_lcn, e);
	if (f->failed)
		return f->failed;
	f->finished = true;
	if (f->want_clusters > 0 && f->anywhere.sum_clusters >= f->want_clusters)
		f->sum.extents_needed = f->anywhere.count;
	*ret = f->sum;
	return 0;
}

/* ---- the choice ---- */

/*
 * How many clusters to leave free at the start of a run so that the rest starts at a multiple of 1
 * MiB of the disk. 0 also where no multiple of the unit is one: a partition that starts at
 * sector 63.
 */
static uint64_t alignment_pad(const struct freespace *f, uint64_t lcn)
{
	uint64_t cluster = f->par.cluster_bytes;
	uint64_t unit = f->unit_clusters * cluster;
	uint64_t step = unit < NUM_MIB ? unit : NUM_MIB;
	uint64_t offset = f->par.disk_offset_bytes % NUM_MIB;
	uint64_t beyond = (lcn * cluster % NUM_MIB + offset) % NUM_MIB;

	if (offset % step != 0 || beyond == 0)
		return 0;
	return (NUM_MIB - beyond) / cluster;
}

static int put_run(const struct freespace *f, struct extent_list *l, struct cluster_run run,
		   struct err *e)
{
	return extent_list_append(l, run.lcn * f->par.cluster_bytes,
				  run.clusters * f->par.cluster_bytes, e);
}

static int choose_one(const struct freespace *f, struct cluster_run run, struct extent_list *l,
		      struct err *e)
{
	uint64_t pad = alignment_pad(f, run.lcn);

	if (pad <= run.clusters - f->want_clusters)
		run.lcn += pad;
	run.clusters = f->want_clusters;
	return put_run(f, l, run, e);
}

static int compare_lcn(const void *a, const void *b)
{
	const struct cluster_run *x = a;
	const struct cluster_run *y = b;

	return (x->lcn > y->lcn) - (x->lcn < y->lcn);
}

/*
 * What the runs have too much is given back: first to align starts, the rest from the end of the
 * largest run. It is less than the smallest run (else that one would not be there), so that no run
 * vanishes.
 */
static int choose_several(const struct freespace *f, struct tracker *t, struct extent_list *l,
			  struct err *e)
{
	uint64_t excess = t->sum_clusters - f->want_clusters;
	size_t largest = 0;
	int r = 0;

	qsort(t->heap, t->count, sizeof(*t->heap),
	      compare_lcn); /* finished: it is no heap any more */
	for (size_t i = 1; i < t->count; i++) {
		if (t->heap[i].clusters > t->heap[largest].clusters)
			largest = i;
	}
	for (size_t i = 0; i < t->count; i++) {
		uint64_t pad = alignment_pad(f, t->heap[i].lcn);

		if (pad > excess)
			continue;
		t->heap[i].lcn += pad;
		t->heap[i].clusters -= pad;
		excess -= pad;
	}
	t->heap[largest].clusters -= excess;
	t->sum_clusters = f->want_clusters;
	for (size_t i = 0; i < t->count && r == 0; i++)
		r = put_run(f, l, t->heap[i], e);
	return r;
}

static int refuse(const struct freespace *f, struct err *e)
{
	char want[NUM_BYTES_TEXT];
	char space[NUM_BYTES_TEXT];
	char usable[NUM_BYTES_TEXT];

	num_format_bytes(f->par.want_bytes, want);
	num_format_bytes(f->sum.free_clusters * f->par.cluster_bytes, space);
	if (f->sum.extents_needed == 0)
		return err_refuse(e, "no-space",
				  "the image needs %s, but the volume has %s free, of which %s can "
				  "be used; "
				  "choose a smaller size, or free space in Windows",
				  want, space, num_format_bytes(f->sum.usable_bytes, usable));
	num_format_bytes(f->largest_usable_clusters * f->par.cluster_bytes, usable);
	return err_refuse(e, "fragmented",
			  "the free space is fragmented: the image needs %s in at most %u "
			  "extent%s, the largest free "
			  "run has %s (%s are free in all), so that it would take %" PRIu64
			  " extents; choose a smaller "
			  "size, allow --max-extents %" PRIu64 ", or defragment the volume in "
							       "Windows",
			  want, f->par.max_extents, f->par.max_extents == 1 ? "" : "s", usable,
			  space, f->sum.extents_needed, f->sum.extents_needed);
}

static bool tracker_suffices(const struct freespace *f, const struct tracker *t)
{
	return t->sum_clusters >= f->want_clusters && t->count <= f->par.max_extents;
}

int freespace_choose(struct freespace *f, struct extent_list *ret, struct err *e)
{
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };
	int r;

	if (!f->finished || f->want_clusters == 0)
		return err_set(e, -EINVAL,
			       "there is nothing to choose: the scan has not ended, or no size is "
			       "wanted");
	if (f->outside.best.clusters)
		r = choose_one(f, f->outside.best, &l, e);
	else if (f->anywhere.best.clusters)
		r = choose_one(f, f->anywhere.best, &l, e);
	else if (tracker_suffices(f, &f->outside))
		r = choose_several(f, &f->outside, &l, e);
	else if (tracker_suffices(f, &f->anywhere))
		r = choose_several(f, &f->anywhere, &l, e);
	else
		r = refuse(f, e);
	if (r < 0)
		return r;
	extent_list_clear(ret);
	*ret = l;
	l = (struct extent_list){ NULL, 0, 0 };
	return 0;
}
