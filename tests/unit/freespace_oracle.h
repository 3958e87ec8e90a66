/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * freespace_oracle - what freespace must answer, by brute force: a volume is an array with one byte
 * a cluster.
 *
 * compare_with_oracle() scans and chooses, and asserts that all of it is as reckoned here.
 * draw_volume() makes a random one.
 */
#ifndef WUBI_TEST_FREESPACE_ORACLE_H
#define WUBI_TEST_FREESPACE_ORACLE_H

#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "freespace.h"
#include "num.h"

#define VOLUME_MAX 40000

struct volume {
	uint8_t is_free[VOLUME_MAX]; /* as in the bitmap */
	uint8_t taken[VOLUME_MAX];   /* by the oracle's reckoning: free, and not to be avoided */
	struct cluster_run avoid[8];
	struct freespace_params par;
	struct freespace_summary sum;
	unsigned seed;
};

static uint64_t draw(struct volume *v, uint64_t below)
{
	uint64_t high = (uint64_t)rand_r(&v->seed) & 0x7fff;

	return (high << 15 | ((uint64_t)rand_r(&v->seed) & 0x7fff)) % below;
}

static uint64_t unit_of(const struct volume *v)
{
	return v->par.cluster_bytes < 4096 ? 4096 / v->par.cluster_bytes : 1;
}

/* The bitmap, in pieces of 'piece' bytes (0: of odd sizes, another each time), with garbage bits
 * behind the volume. */
static int feed_all(struct volume *v, struct freespace *f, size_t piece, struct err *e)
{
	size_t n = (v->par.total_clusters + 7) / 8;
	uint8_t bits[VOLUME_MAX / 8 + 3];
	size_t at = 0;

	memset(bits, (int)draw(v, 256), sizeof(bits));
	for (uint64_t i = 0; i < v->par.total_clusters; i++) {
		uint8_t bit = (uint8_t)(1u << i % 8);

		bits[i / 8] = (uint8_t)(v->is_free[i] ? bits[i / 8] & ~bit : bits[i / 8] | bit);
	}
	if (draw(v, 2))
		n += 2; /* NTFS rounds the bitmap up to 8 bytes: what lies behind the volume counts
			   for nothing */
	while (at < n) {
		size_t want = piece ? piece : 1 + (size_t)draw(v, 29);
		size_t part = want < n - at ? want : n - at;
		uint8_t *exact = malloc(part);
		int r;

		memcpy(exact, bits + at, part); /* so that ASan sees a look behind the piece */
		r = freespace_feed(f, exact, part, e);
		free(exact);
		if (r < 0)
			return r;
		at += part;
	}
	return 0;
}

static struct freespace *scan(struct volume *v, size_t piece)
{
	struct freespace *f = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(freespace_new(&v->par, &f, &e), 0);
	assert_int_equal(feed_all(v, f, piece, &e), 0);
	assert_int_equal(freespace_finish(f, &v->sum, &e), 0);
	return f;
}

/* ---- the oracle ---- */

struct part {
	uint64_t start, length; /* clusters, whole units */
};

struct parts {
	struct part items[VOLUME_MAX];
	size_t count;
};

static bool in_zone(const struct volume *v, uint64_t lcn)
{
	return lcn >= v->par.zone.lcn && lcn - v->par.zone.lcn < v->par.zone.clusters;
}

static void reckon_taken(struct volume *v)
{
	for (uint64_t i = 0; i < v->par.total_clusters; i++) {
		v->taken[i] = v->is_free[i];
		for (size_t k = 0; k < v->par.avoid_count; k++) {
			if (i >= v->avoid[k].lcn && i < v->avoid[k].lcn + v->avoid[k].clusters)
				v->taken[i] = 0;
		}
	}
}

static bool unit_is_good(const struct volume *v, uint64_t unit, bool outside)
{
	for (uint64_t i = unit * unit_of(v); i < (unit + 1) * unit_of(v); i++) {
		if (i >= v->par.total_clusters || !v->taken[i] || (outside && in_zone(v, i)))
			return false;
	}
	return true;
}

/* Unit by unit: no run, no rounding, as unlike the module as can be. */
static void reckon_parts(const struct volume *v, bool outside, struct parts *p)
{
	bool open = false;

	p->count = 0;
	for (uint64_t unit = 0; unit * unit_of(v) < v->par.total_clusters; unit++) {
		if (!unit_is_good(v, unit, outside)) {
			open = false;
			continue;
		}
		if (!open)
			p->items[p->count++] = (struct part){ unit * unit_of(v), 0 };
		open = true;
		p->items[p->count - 1].length += unit_of(v);
	}
}

static int longest_first(const void *a, const void *b)
{
	const struct part *x = a;
	const struct part *y = b;

	return (x->length < y->length) - (x->length > y->length);
}

/* 0: not even all of them. *ret_least is the shortest of those that are needed. */
static size_t fewest(const struct parts *p, uint64_t want, uint64_t *ret_least)
{
	static struct part sorted[VOLUME_MAX];
	uint64_t sum = 0;

	memcpy(sorted, p->items, p->count * sizeof(sorted[0]));
	qsort(sorted, p->count, sizeof(sorted[0]), longest_first);
	for (size_t i = 0; i < p->count; i++) {
		sum += sorted[i].length;
		*ret_least = sorted[i].length;
		if (sum >= want)
			return i + 1;
	}
	return 0;
}

static const struct part *best_fit(const struct parts *p, uint64_t want)
{
	const struct part *best = NULL;

	for (size_t i = 0; i < p->count; i++) {
		if (p->items[i].length >= want && (!best || p->items[i].length < best->length))
			best = &p->items[i];
	}
	return best;
}

static uint64_t best_start(const struct volume *v, const struct part *p, uint64_t want)
{
	for (uint64_t s = p->start; s + want <= p->start + p->length; s += unit_of(v)) {
		if ((v->par.disk_offset_bytes + s * v->par.cluster_bytes) % NUM_MIB == 0)
			return s;
	}
	return p->start;
}

static const struct part *part_around(const struct parts *p, uint64_t start, uint64_t length)
{
	for (size_t i = 0; i < p->count; i++) {
		if (start >= p->items[i].start &&
		    start + length <= p->items[i].start + p->items[i].length)
			return &p->items[i];
	}
	return NULL;
}

static void check_several(const struct volume *v, const struct extent_list *l,
			  const struct parts *p, size_t count, uint64_t least)
{
	const struct part *seen = NULL;

	assert_int_equal(l->count, count);
	for (size_t i = 0; i < l->count; i++) {
		const struct extent *x = &l->items[i];
		const struct part *in = part_around(p, x->physical_bytes / v->par.cluster_bytes,
						    x->length_bytes / v->par.cluster_bytes);

		assert_non_null(in);
		assert_true(!seen || in > seen); /* ascending, each from another run */
		assert_true(in->length >= least);
		seen = in;
	}
}

static void check_summary(const struct volume *v, const struct parts *anywhere, size_t needed)
{
	struct part runs[FREESPACE_TOP + 1];
	uint64_t clusters = 0;
	uint64_t count = 0;
	uint64_t usable = 0;
	size_t top = 0;

	memset(runs, 0, sizeof(runs));
	for (uint64_t i = 0; i < v->par.total_clusters; i++) {
		uint64_t start = i;

		while (i < v->par.total_clusters && v->taken[i])
			i++;
		if (i == start)
			continue;
		clusters += i - start;
		count++;
		top = FREESPACE_TOP;
		while (top > 0 && runs[top - 1].length < i - start) {
			runs[top] = runs[top - 1];
			top--;
		}
		runs[top] = (struct part){ start, i - start };
	}
	for (size_t i = 0; i < anywhere->count; i++)
		usable += anywhere->items[i].length;
	assert_int_equal(v->sum.free_clusters, clusters);
	assert_int_equal(v->sum.free_runs, count);
	assert_int_equal(v->sum.usable_bytes, usable * v->par.cluster_bytes);
	assert_int_equal(v->sum.top_count, count < FREESPACE_TOP ? count : FREESPACE_TOP);
	for (size_t i = 0; i < v->sum.top_count; i++) {
		assert_int_equal(v->sum.top[i].lcn, runs[i].start);
		assert_int_equal(v->sum.top[i].clusters, runs[i].length);
	}
	assert_int_equal(v->sum.extents_needed, needed);
}

enum outcome {
	ONE_OUTSIDE,
	ONE_ANYWHERE,
	SEVERAL_OUTSIDE,
	SEVERAL_ANYWHERE,
	FRAGMENTED,
	NO_SPACE,
	OUTCOMES
};

static enum outcome compare_with_oracle(struct volume *v)
{
	static struct parts outside;
	static struct parts anywhere;
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };
	AUTO(freespace) struct freespace *f = NULL;
	uint64_t want = v->par.want_bytes / v->par.cluster_bytes;
	uint64_t least_outside = 0;
	uint64_t least = 0;
	const struct part *one;
	struct err e = ERR_INIT;
	size_t n_outside;
	size_t n;
	int r;

	reckon_taken(v);
	reckon_parts(v, true, &outside);
	reckon_parts(v, false, &anywhere);
	n_outside = fewest(&outside, want, &least_outside);
	n = fewest(&anywhere, want, &least);
	f = scan(v, 0);
	check_summary(v, &anywhere, n);
	r = freespace_choose(f, &l, &e);
	if (n == 0 || n > v->par.max_extents) {
		assert_int_equal(r, -EPERM);
		assert_string_equal(e.reason, n ? "fragmented" : "no-space");
		assert_int_equal(l.count, 0);
		return n ? FRAGMENTED : NO_SPACE;
	}
	assert_int_equal(r, 0);
	assert_int_equal(extent_list_check(&l, v->par.want_bytes,
					   v->par.total_clusters * v->par.cluster_bytes,
					   (uint32_t)unit_of(v) * v->par.cluster_bytes, &e),
			 0);
	one = best_fit(&outside, want);
	if (!one)
		one = best_fit(&anywhere, want);
	if (one) {
		assert_int_equal(l.count, 1);
		assert_int_equal(l.items[0].physical_bytes,
				 best_start(v, one, want) * v->par.cluster_bytes);
		return best_fit(&outside, want) ? ONE_OUTSIDE : ONE_ANYWHERE;
	}
	if (n_outside && n_outside <= v->par.max_extents) {
		check_several(v, &l, &outside, n_outside, least_outside);
		return SEVERAL_OUTSIDE;
	}
	check_several(v, &l, &anywhere, n, least);
	return SEVERAL_ANYWHERE;
}

/* ---- volumes ---- */

static void draw_bitmap(struct volume *v)
{
	uint64_t longest = 1 + draw(v, draw(v, 3) ? 60 : 6000);
	uint8_t now = (uint8_t)draw(v, 2);
	uint64_t i = 0;

	while (i < v->par.total_clusters) {
		uint64_t n = 1 + draw(v, longest);

		for (; n > 0 && i < v->par.total_clusters; n--)
			v->is_free[i++] = now;
		now = !now;
	}
}

static void draw_avoid(struct volume *v)
{
	uint64_t at = 0;

	v->par.avoid = v->avoid;
	v->par.avoid_count = (size_t)draw(v, COUNT_OF(v->avoid) + 1);
	for (size_t i = 0; i < v->par.avoid_count; i++) {
		at += draw(v, v->par.total_clusters / 4 + 2);
		v->avoid[i] = (struct cluster_run){ at, draw(v, 9) };
		at += v->avoid[i].clusters;
	}
}

static void draw_volume(struct volume *v, unsigned seed)
{
	static const uint64_t offsets[] = { 0,	  NUM_MIB,	     63 * 512,
					    4096, 2048 * 512 + 8192, 123 * NUM_MIB + 64 * 1024 };
	uint64_t unit_bytes;

	memset(v, 0, sizeof(*v));
	v->seed = seed;
	v->par.cluster_bytes = 512u << draw(v, 13);
	v->par.total_clusters = 1 + draw(v, draw(v, 4) ? 700 : VOLUME_MAX - 1);
	v->par.max_extents = 1 + (unsigned)draw(v, draw(v, 2) ? 2 : 40);
	v->par.disk_offset_bytes = offsets[draw(v, COUNT_OF(offsets))];
	unit_bytes = unit_of(v) * v->par.cluster_bytes;
	v->par.want_bytes =
		(1 + draw(v, draw(v, 2) ? 20 : v->par.total_clusters / unit_of(v) + 1)) *
		unit_bytes;
	if (draw(v, 3))
		v->par.zone = (struct cluster_run){ draw(v, v->par.total_clusters + 5),
						    draw(v, v->par.total_clusters) };
	draw_bitmap(v);
	draw_avoid(v);
}

#endif
