/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "alloc_fail.h"
#include "cmocka_all.h"

#include "../../src/extent.c"

#include "../../src/freespace.c"

#include "freespace_oracle.h"

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
	vol.par = (struct freespace_params){ .total_clusters = clusters,
					     .cluster_bytes = 4096,
					     .max_extents = 1,
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
	const struct freespace_params good = { .total_clusters = 64,
					       .cluster_bytes = 4096,
					       .max_extents = 1 };
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
	struct freespace_params par = {
		.total_clusters = 65, .cluster_bytes = 4096, .max_extents = 1, .want_bytes = 4096
	};
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
	choose_is(
		(const struct extent[]){
			{ 0, 0, 5 }, { 0, 100, 10 }, { 0, 200, 10 }, { 0, 300, 10 } },
		4);
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
	static const struct cluster_run bad[] = {
		{ 0, 1 }, { 9, 0 }, { 40, 1 }, { 95, 110 }, { 300, 1 }
	};

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

/* The run behind an image is the image's: it is measured, and what is chosen lies elsewhere. */
static void the_run_behind_is_counted_and_not_chosen(void **state)
{
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };
	static const struct cluster_run avoid = { 130, 1 };

	(void)state;
	plain_volume(1000, false);
	set_free(100, 50);
	set_free(300, 60);
	vol.par.behind_lcn = 100;
	vol.par.avoid = &avoid;
	vol.par.avoid_count = 1;
	vol.par.want_bytes = 20 * 4096;
	{
		AUTO(freespace) struct freespace *f = NULL;
		struct freespace_summary sum;

		assert_int_equal(freespace_new(&vol.par, &f, NULL), 0);
		assert_int_equal(feed_all(&vol, f, 0, NULL), 0);
		assert_int_equal(freespace_finish(f, &sum, NULL), 0);
		assert_int_equal(sum.behind_clusters, 30); /* up to what is to be avoided */
		assert_int_equal(sum.free_clusters, 109);
		assert_int_equal(freespace_choose(f, &l, NULL), 0);
	}
	assert_int_equal(l.count, 1);
	assert_true(l.items[0].physical_bytes != 100 * 4096);
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
	struct freespace_params par = { .total_clusters = 16u << 20,
					.cluster_bytes = 4096,
					.max_extents = 100,
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
		cmocka_unit_test(the_run_behind_is_counted_and_not_chosen),
		cmocka_unit_test(what_is_seen_is_what_is_free),
		cmocka_unit_test(random_volumes_agree_with_the_oracle),
		cmocka_unit_test(memory_grows_with_the_answer_not_with_the_volume),
		cmocka_unit_test(every_failed_allocation_is_enomem),
	};

	return cmocka_run_group_tests_name("freespace", tests, NULL, NULL);
}
