/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Against a brute-force oracle: a volume is an array with one byte a cluster, 1 for free. */
#include <errno.h>
#include <string.h>

#include "alloc_fail.h"
#include "cmocka_all.h"

#include "../../src/extent.c"

#include "../../src/freespace.c"

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

/* The bitmap, in pieces of 'piece' bytes (0: of odd sizes, another each time), with garbage bits behind the volume. */
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
		n += 2; /* NTFS rounds the bitmap up to 8 bytes: what lies behind the volume counts for nothing */
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
		if (start >= p->items[i].start && start + length <= p->items[i].start + p->items[i].length)
			return &p->items[i];
	}
	return NULL;
}

static void check_several(const struct volume *v, const struct extent_list *l, const struct parts *p, size_t count,
			  uint64_t least)
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

enum outcome { ONE_OUTSIDE, ONE_ANYWHERE, SEVERAL_OUTSIDE, SEVERAL_ANYWHERE, FRAGMENTED, NO_SPACE, OUTCOMES };

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
	assert_int_equal(extent_list_check(&l, v->par.want_bytes, v->par.total_clusters * v->par.cluster_bytes,
					   (uint32_t)unit_of(v) * v->par.cluster_bytes, &e), 0);
	one = best_fit(&outside, want);
	if (!one)
		one = best_fit(&anywhere, want);
	if (one) {
		assert_int_equal(l.count, 1);
		assert_int_equal(l.items[0].physical_bytes, best_start(v, one, want) * v->par.cluster_bytes);
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
	static const uint64_t offsets[] = { 0, NUM_MIB, 63 * 512, 4096, 2048 * 512 + 8192, 123 * NUM_MIB + 64 * 1024 };
	uint64_t unit_bytes;

	memset(v, 0, sizeof(*v));
	v->seed = seed;
	v->par.cluster_bytes = 512u << draw(v, 13);
	v->par.total_clusters = 1 + draw(v, draw(v, 4) ? 700 : VOLUME_MAX - 1);
	v->par.max_extents = 1 + (unsigned)draw(v, draw(v, 2) ? 2 : 40);
	v->par.disk_offset_bytes = offsets[draw(v, COUNT_OF(offsets))];
	unit_bytes = unit_of(v) * v->par.cluster_bytes;
	v->par.want_bytes = (1 + draw(v, draw(v, 2) ? 20 : v->par.total_clusters / unit_of(v) + 1)) * unit_bytes;
	if (draw(v, 3))
		v->par.zone = (struct cluster_run){ draw(v, v->par.total_clusters + 5), draw(v, v->par.total_clusters) };
	draw_bitmap(v);
	draw_avoid(v);
}

static struct volume vol;

static void random_volumes_agree_with_the_oracle(void **state)
{
	unsigned seen[OUTCOMES] = { 0 };

	(void)state;
	for (unsigned seed = 1; seed <= 2000; seed++) {
		draw_volume(&vol, seed);
		seen[compare_with_oracle(&vol)]++;
	}
	for (size_t i = 0; i < OUTCOMES; i++) {
		if (seen[i] < 20)
			fail_msg("outcome %zu was drawn only %u times", i, seen[i]);
	}
}

/* All of the volume in one state; clusters of 4 KiB. */
static void plain_volume(uint64_t clusters, bool is_free)
{
	memset(&vol, 0, sizeof(vol));
	vol.seed = 1;
	vol.par = (struct freespace_params){ .total_clusters = clusters, .cluster_bytes = 4096, .max_extents = 1,
					     .want_bytes = 4096 };
	memset(vol.is_free, is_free, clusters);
}

static void set_free(uint64_t lcn, uint64_t clusters)
{
	memset(vol.is_free + lcn, 1, clusters);
}

static void choose_is(const struct extent *expected, size_t count)
{
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };
	AUTO(freespace) struct freespace *f = scan(&vol, 0);
	struct err e = ERR_INIT;

	assert_int_equal(freespace_choose(f, &l, &e), 0);
	assert_int_equal(freespace_choose(f, &l, &e), 0); /* again: the same */
	assert_int_equal(l.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(l.items[i].physical_bytes, expected[i].physical_bytes * 4096);
		assert_int_equal(l.items[i].length_bytes, expected[i].length_bytes * 4096);
	}
	(void)compare_with_oracle(&vol);
}

static void choose_refuses(const char *reason, const char *word)
{
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };
	AUTO(freespace) struct freespace *f = scan(&vol, 0);
	struct err e = ERR_INIT;

	assert_int_equal(freespace_choose(f, &l, &e), -EPERM);
	assert_string_equal(e.reason, reason);
	assert_text_has(e.text, word);
	assert_int_equal(l.count, 0);
	(void)compare_with_oracle(&vol);
}

static void nonsense_is_refused(void **state)
{
	static const struct cluster_run unsorted[] = { { 9, 1 }, { 3, 1 } };
	static const struct cluster_run overlapping[] = { { 3, 3 }, { 5, 1 } };
	static const struct cluster_run huge[] = { { UINT64_MAX, 3 } };
	const struct freespace_params good = { .total_clusters = 64, .cluster_bytes = 4096, .max_extents = 1 };
	struct freespace_params bad[13];
	struct freespace *f = NULL;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		bad[i] = good;
	bad[0].cluster_bytes = 0;
	bad[1].cluster_bytes = 256;
	bad[2].cluster_bytes = 4u << 20;
	bad[3].cluster_bytes = 4097;
	bad[4].total_clusters = 0;
	bad[5].total_clusters = UINT64_MAX;
	bad[6].want_bytes = 4095;
	bad[7].max_extents = 0;
	bad[8].zone = (struct cluster_run){ UINT64_MAX, 2 };
	bad[9].avoid = unsorted;
	bad[9].avoid_count = 2;
	bad[10].avoid = overlapping;
	bad[10].avoid_count = 2;
	bad[11].avoid = huge;
	bad[11].avoid_count = 1;
	bad[12].cluster_bytes = 512;
	bad[12].want_bytes = 512;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = ERR_INIT;

		assert_int_equal(freespace_new(&bad[i], &f, &e), -EINVAL);
		assert_int_equal(e.code, -EINVAL);
	}
	assert_null(f);
	freespace_free(NULL);
}

static void a_short_bitmap_is_refused(void **state)
{
	AUTO(freespace) struct freespace *f = NULL;
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };
	struct freespace_summary sum = { .free_clusters = 77 };
	struct freespace_params par = { .total_clusters = 65, .cluster_bytes = 4096, .max_extents = 1, .want_bytes = 4096 };
	static const uint8_t bits[9];
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(freespace_new(&par, &f, &e), 0);
	assert_int_equal(freespace_feed(f, bits, 8, &e), 0);
	assert_int_equal(freespace_finish(f, &sum, &e), -EINVAL);
	assert_text_has(e.text, "64 of 65");
	assert_int_equal(sum.free_clusters, 77);
	assert_int_equal(freespace_choose(f, &l, &e), -EINVAL);
	assert_int_equal(freespace_feed(f, bits, 1, &e), 0);
	assert_int_equal(freespace_finish(f, &sum, &e), 0);
	assert_int_equal(sum.free_clusters, 65);
	assert_int_equal(freespace_feed(f, bits, 1, &e), -EINVAL);
	assert_int_equal(freespace_choose(f, &l, &e), 0);
}

static void all_used(void **state)
{
	(void)state;
	plain_volume(1000, false);
	choose_refuses("no-space", "0 B free");
	assert_int_equal(vol.sum.free_runs, 0);
	assert_int_equal(vol.sum.top_count, 0);
}

static void all_free(void **state)
{
	(void)state;
	plain_volume(1000, true);
	vol.par.want_bytes = 1000 * 4096;
	choose_is(&(struct extent){ 0, 0, 1000 }, 1);
	vol.par.want_bytes = 1001 * 4096;
	choose_refuses("no-space", "3.9 MiB");
	vol.par.want_bytes = 0;
	freespace_free(scan(&vol, 0));
	assert_int_equal(vol.sum.extents_needed, 0);
	assert_int_equal(vol.sum.usable_bytes, 1000 * 4096);
}

static void a_run_at_lcn_0_and_one_that_ends_in_the_last_cluster(void **state)
{
	(void)state;
	for (uint64_t clusters = 250; clusters < 330; clusters++) {
		plain_volume(clusters, false);
		vol.par.disk_offset_bytes = 63 * 512; /* no start is a multiple of 1 MiB */
		set_free(0, 5);
		vol.par.want_bytes = 5 * 4096;
		choose_is(&(struct extent){ 0, 0, 5 }, 1);
		set_free(clusters - 6, 6);
		vol.par.want_bytes = 6 * 4096;
		choose_is(&(struct extent){ 0, clusters - 6, 6 }, 1);
		vol.par.want_bytes = 7 * 4096;
		vol.par.max_extents = 2;
		choose_is((const struct extent[]){ { 0, 0, 5 }, { 0, clusters - 6, 2 } }, 2);
	}
}

static void the_smallest_run_that_fits_and_the_lowest_of_equal_ones(void **state)
{
	(void)state;
	plain_volume(5000, false);
	set_free(10, 100);
	set_free(300, 20);
	set_free(400, 21);
	set_free(500, 21);
	vol.par.want_bytes = 21 * 4096;
	choose_is(&(struct extent){ 0, 400, 21 }, 1);
	vol.par.max_extents = 5;
	choose_is(&(struct extent){ 0, 400, 21 }, 1);
	vol.par.want_bytes = 22 * 4096;
	choose_is(&(struct extent){ 0, 10, 22 }, 1);
}

static void several_only_when_allowed_and_the_refusal_says_how_many(void **state)
{
	(void)state;
	plain_volume(5000, false);
	for (uint64_t i = 0; i < 10; i++)
		set_free(100 * i, 10);
	vol.par.want_bytes = 35 * 4096;
	choose_refuses("fragmented", "--max-extents 4");
	vol.par.max_extents = 3;
	choose_refuses("fragmented", "40.0 KiB");
	vol.par.max_extents = 4;
	choose_is((const struct extent[]){ { 0, 0, 5 }, { 0, 100, 10 }, { 0, 200, 10 }, { 0, 300, 10 } }, 4);
	vol.par.want_bytes = 101 * 4096;
	choose_refuses("no-space", "400.0 KiB");
}

static void the_mft_zone_is_left_alone_while_that_is_possible(void **state)
{
	(void)state;
	plain_volume(2000, false);
	set_free(100, 300);
	vol.par.zone = (struct cluster_run){ 150, 100 };
	vol.par.want_bytes = 50 * 4096;
	choose_is(&(struct extent){ 0, 100, 50 }, 1); /* the part before the zone */
	vol.par.want_bytes = 150 * 4096;
	choose_is(&(struct extent){ 0, 250, 150 }, 1); /* behind it */
	vol.par.want_bytes = 151 * 4096;
	choose_is(&(struct extent){ 0, 100, 151 }, 1);
	vol.par.max_extents = 2; /* one extent is worth more than the zone */
	choose_is(&(struct extent){ 0, 100, 151 }, 1);
	plain_volume(2000, false);
	set_free(100, 60);
	set_free(300, 60);
	vol.par.zone = (struct cluster_run){ 150, 100 };
	vol.par.max_extents = 2;
	vol.par.want_bytes = 105 * 4096;
	choose_is((const struct extent[]){ { 0, 100, 50 }, { 0, 300, 55 } }, 2);
	vol.par.want_bytes = 111 * 4096;
	choose_is((const struct extent[]){ { 0, 100, 51 }, { 0, 300, 60 } }, 2);
}

static void bad_clusters_are_never_used(void **state)
{
	static const struct cluster_run bad[] = { { 0, 1 }, { 9, 0 }, { 40, 1 }, { 95, 110 }, { 300, 1 } };

	(void)state;
	plain_volume(1000, false);
	set_free(0, 100);
	set_free(200, 20); /* the entry at 95 reaches into it */
	vol.par.avoid = bad;
	vol.par.avoid_count = COUNT_OF(bad);
	memcpy(vol.avoid, bad, sizeof(bad)); /* for the oracle */
	vol.par.want_bytes = 54 * 4096;
	choose_is(&(struct extent){ 0, 41, 54 }, 1);
	assert_int_equal(vol.sum.free_clusters, 39 + 54 + 15);
	assert_int_equal(vol.sum.free_runs, 3);
	vol.par.want_bytes = 55 * 4096;
	choose_refuses("fragmented", "--max-extents 2");
}

static void starts_are_multiples_of_1_mib_of_the_disk_where_that_fits(void **state)
{
	(void)state;
	plain_volume(5000, false);
	set_free(200, 300);
	vol.par.want_bytes = 244 * 4096;
	choose_is(&(struct extent){ 0, 256, 244 }, 1);
	vol.par.want_bytes = 245 * 4096;
	choose_is(&(struct extent){ 0, 200, 245 }, 1);
	vol.par.disk_offset_bytes = 3 * NUM_MIB + 16 * 4096; /* cluster 240 is on a multiple */
	choose_is(&(struct extent){ 0, 240, 245 }, 1);
	vol.par.disk_offset_bytes = 63 * 512; /* none is, from Windows XP */
	choose_is(&(struct extent){ 0, 200, 245 }, 1);
	set_free(1000, 40);
	vol.par.disk_offset_bytes = 0;
	vol.par.max_extents = 2;
	vol.par.want_bytes = 310 * 4096;
	choose_is((const struct extent[]){ { 0, 200, 294 }, { 0, 1024, 16 } }, 2);
	vol.par.want_bytes = 316 * 4096;
	choose_is((const struct extent[]){ { 0, 200, 300 }, { 0, 1024, 16 } }, 2);
	vol.par.want_bytes = 317 * 4096;
	choose_is((const struct extent[]){ { 0, 200, 277 }, { 0, 1000, 40 } }, 2);
}

static void small_clusters_make_whole_units_of_4_kib(void **state)
{
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };
	AUTO(freespace) struct freespace *f = NULL;

	(void)state;
	plain_volume(200, false);
	vol.par.cluster_bytes = 512;
	vol.par.want_bytes = 4096;
	set_free(1, 14); /* 14 clusters, no unit */
	f = scan(&vol, 0);
	assert_int_equal(freespace_choose(f, &l, NULL), -EPERM);
	assert_int_equal(vol.sum.usable_bytes, 0);
	freespace_free(TAKE(f));
	set_free(15, 2); /* 1 to 16: one unit, at 8 */
	f = scan(&vol, 0);
	assert_int_equal(freespace_choose(f, &l, NULL), 0);
	assert_int_equal(l.items[0].physical_bytes, 8 * 512);
	assert_int_equal(l.items[0].length_bytes, 4096);
}

static void pieces_of_any_size_give_one_answer(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed < 20; seed++) {
		struct freespace_summary whole;

		draw_volume(&vol, seed);
		freespace_free(scan(&vol, SIZE_MAX));
		whole = vol.sum;
		for (size_t piece = 1; piece < 20; piece++) {
			freespace_free(scan(&vol, piece));
			assert_memory_equal(&vol.sum, &whole, sizeof(whole));
		}
	}
}

static void note_seen(void *ctx, uint64_t lcn, uint64_t clusters)
{
	uint8_t *marks = ctx;

	for (uint64_t i = lcn; i < lcn + clusters; i++) {
		assert_int_equal(marks[i], 0);
		marks[i] = 1;
	}
}

static void what_is_seen_is_what_is_free(void **state)
{
	static uint8_t marks[VOLUME_MAX];

	(void)state;
	for (unsigned seed = 1; seed < 50; seed++) {
		AUTO(freespace) struct freespace *f = NULL;

		draw_volume(&vol, seed);
		reckon_taken(&vol);
		memset(marks, 0, sizeof(marks));
		assert_int_equal(freespace_new(&vol.par, &f, NULL), 0);
		freespace_set_seen(f, note_seen, marks);
		assert_int_equal(feed_all(&vol, f, 0, NULL), 0);
		assert_int_equal(freespace_finish(f, &vol.sum, NULL), 0);
		assert_memory_equal(marks, vol.taken, vol.par.total_clusters);
	}
}

/* 8 million runs, of which the answer needs 100. */
static void memory_grows_with_the_answer_not_with_the_volume(void **state)
{
	AUTO(freespace) struct freespace *f = NULL;
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };
	struct freespace_params par = { .total_clusters = 16u << 20, .cluster_bytes = 4096, .max_extents = 100,
					.want_bytes = 100 * 4096 };
	struct freespace_summary sum;
	uint8_t bits[65536];

	(void)state;
	memset(bits, 0x55, sizeof(bits));
	alloc_failed = 0;
	alloc_fail_at = 6; /* f, and two heaps of 64, then 128: 5 */
	assert_int_equal(freespace_new(&par, &f, NULL), 0);
	for (size_t i = 0; i < par.total_clusters / 8 / sizeof(bits); i++)
		assert_int_equal(freespace_feed(f, bits, sizeof(bits), NULL), 0);
	assert_int_equal(freespace_finish(f, &sum, NULL), 0);
	alloc_fail_at = 0;
	assert_int_equal(sum.free_runs, 8u << 20);
	assert_int_equal(sum.extents_needed, 100);
	assert_int_equal(freespace_choose(f, &l, NULL), 0);
	assert_int_equal(l.count, 100);
	assert_int_equal(l.items[99].physical_bytes, 199 * 4096);
}

static int allocate_everything(void)
{
	AUTO(freespace) struct freespace *f = NULL;
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };
	struct err e = ERR_INIT;
	struct freespace_summary sum;
	int r = freespace_new(&vol.par, &f, &e);

	if (r == 0) {
		r = feed_all(&vol, f, 1, &e);
		if (r < 0) { /* latched: there is no answer from a part of the runs */
			assert_int_equal(freespace_feed(f, (const uint8_t *)"", 1, NULL), r);
			assert_int_equal(freespace_finish(f, &sum, NULL), r);
		}
	}
	if (r == 0)
		r = freespace_finish(f, &sum, &e);
	if (r == 0)
		r = freespace_choose(f, &l, &e);
	assert_int_equal(r, e.code);
	return r;
}

static void every_failed_allocation_is_enomem(void **state)
{
	int k = 0;
	int r;

	(void)state;
	plain_volume(1000, false);
	for (uint64_t i = 1; i < 1000; i += 2)
		set_free(i, 1); /* the last run is closed by finish */
	vol.par.want_bytes = 500 * 4096;
	vol.par.max_extents = 500;
	do {
		alloc_failed = 0;
		alloc_fail_at = ++k;
		r = allocate_everything();
		assert_int_equal(r, alloc_failed ? -ENOMEM : 0);
	} while (alloc_failed);
	alloc_fail_at = 0;
	assert_true(k > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(a_short_bitmap_is_refused),
		cmocka_unit_test(all_used),
		cmocka_unit_test(all_free),
		cmocka_unit_test(a_run_at_lcn_0_and_one_that_ends_in_the_last_cluster),
		cmocka_unit_test(the_smallest_run_that_fits_and_the_lowest_of_equal_ones),
		cmocka_unit_test(several_only_when_allowed_and_the_refusal_says_how_many),
		cmocka_unit_test(the_mft_zone_is_left_alone_while_that_is_possible),
		cmocka_unit_test(bad_clusters_are_never_used),
		cmocka_unit_test(starts_are_multiples_of_1_mib_of_the_disk_where_that_fits),
		cmocka_unit_test(small_clusters_make_whole_units_of_4_kib),
		cmocka_unit_test(pieces_of_any_size_give_one_answer),
		cmocka_unit_test(what_is_seen_is_what_is_free),
		cmocka_unit_test(random_volumes_agree_with_the_oracle),
		cmocka_unit_test(memory_grows_with_the_answer_not_with_the_volume),
		cmocka_unit_test(every_failed_allocation_is_enomem),
	};

	return cmocka_run_group_tests_name("freespace", tests, NULL, NULL);
}
