/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "alloc_fail.h"
#include "cmocka_all.h"

#include "../../src/extent.c"

#define DEVICE_BYTES (UINT64_C(1) << 30)
#define ALIGN_BYTES 4096u
#define K4 UINT64_C(4096)

/* One list, made as it stands: no merging, no check. */
static void fill(struct extent_list *l, const struct extent *x, size_t n)
{
	extent_list_clear(l);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(extent_list_push(l, &x[i], NULL), 0);
}

static void append_refuses_overflow_and_changes_nothing(void **state)
{
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(extent_list_append(&l, UINT64_MAX - 1, 2, &e), -EOVERFLOW);
	assert_int_equal(l.count, 0);
	assert_int_equal(extent_list_append(&l, 0, UINT64_MAX - 10, &e), 0);
	assert_int_equal(extent_list_append(&l, 0, 11, &e), -EOVERFLOW); /* the file's length */
	assert_int_equal(extent_list_append(&l, UINT64_MAX - 10, 11, &e), -EOVERFLOW);
	assert_int_equal(l.count, 1);
	assert_true(l.items[0].length_bytes == UINT64_MAX - 10);
}

/* C17: length 0, adjacent, at LCN 0, not adjacent, descending. */
static void append_merges_and_drops(void **state)
{
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };

	(void)state;
	assert_int_equal(extent_list_append(&l, 100, 0, NULL), 0);
	assert_int_equal(l.count, 0);
	assert_int_equal(extent_list_append(&l, 0, K4, NULL), 0);
	assert_int_equal(extent_list_append(&l, 9 * K4, 0, NULL), 0);
	assert_int_equal(extent_list_append(&l, K4, K4, NULL), 0); /* touches */
	assert_int_equal(l.count, 1);
	assert_int_equal(l.items[0].length_bytes, 2 * K4);
	assert_int_equal(extent_list_append(&l, 3 * K4, K4, NULL), 0);
	assert_int_equal(extent_list_append(&l, 2 * K4, K4, NULL),
			 0); /* before the last: no merging */
	assert_int_equal(l.count, 3);
	assert_int_equal(l.items[2].logical_bytes, 3 * K4);
	assert_int_equal(extent_list_bytes(&l), 4 * K4);
	assert_int_equal(extent_list_check(&l, 4 * K4, DEVICE_BYTES, ALIGN_BYTES, NULL), 0);
}

/* C17, C18: each is one fault in an otherwise good list of 5 blocks. */
static void unusable_lists_are_refused(void **state)
{
	static const struct {
		const char *names; /* what the message must say */
		size_t count;
		struct extent x[3];
	} bad[] = {
		{ "no extent", 0, { { 0, 0, 0 } } },
		{ "extent 1 is empty",
		  3,
		  { { 0, 0, 2 * K4 }, { 2 * K4, 5 * K4, 0 }, { 2 * K4, 9 * K4, 3 * K4 } } },
		{ "extent 0", 1, { { K4, 0, 5 * K4 } } }, /* does not start at 0 */
		{ "extent 1", 2, { { 0, 0, 2 * K4 }, { 3 * K4, 9 * K4, 3 * K4 } } }, /* hole */
		{ "extent 1",
		  2,
		  { { 0, 0, 2 * K4 }, { K4, 9 * K4, 3 * K4 } } }, /* logical overlap */
		{ "extent 0", 2, { { 2 * K4, 9 * K4, 3 * K4 }, { 0, 0, 2 * K4 } } }, /* unsorted */
		{ "extent 1",
		  2,
		  { { 0, 0, 2 * K4 }, { 2 * K4, 9 * K4 + 512, 3 * K4 } } }, /* physical unaligned */
		{ "extent 0", 1, { { 0, 0, 5 * K4 + 512 } } },		    /* length unaligned */
		{ "extent 0",
		  2,
		  { { 0, 0, 2 * K4 + 512 }, { 2 * K4 + 512, 9 * K4, 3 * K4 - 512 } } },
		{ "extent 0", 1, { { 0, DEVICE_BYTES - 4 * K4, 5 * K4 } } }, /* beyond the device */
		{ "extent 0", 1, { { 0, UINT64_MAX - K4 + 1, 5 * K4 } } },   /* wraps around */
		{ "overlap", 2, { { 0, 8 * K4, 2 * K4 }, { 2 * K4, 9 * K4, 3 * K4 } } },
		{ "overlap", 2, { { 0, 8 * K4, 2 * K4 }, { 2 * K4, 6 * K4, 3 * K4 } } },
		{ "overlap", 3, { { 0, 8 * K4, K4 }, { K4, K4, K4 }, { 2 * K4, 6 * K4, 3 * K4 } } },
		{ "0 and 1",
		  2,
		  { { 0, 8 * K4, 2 * K4 }, { 2 * K4, 10 * K4, 3 * K4 } } }, /* not merged */
		{ "instead of 20480",
		  2,
		  { { 0, 0, 2 * K4 }, { 2 * K4, 9 * K4, 2 * K4 } } }, /* sum */
		{ "instead of 20480", 2, { { 0, 0, 2 * K4 }, { 2 * K4, 9 * K4, 4 * K4 } } },
	};
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = ERR_INIT;

		fill(&l, bad[i].x, bad[i].count);
		assert_int_equal(extent_list_check(&l, 5 * K4, DEVICE_BYTES, ALIGN_BYTES, &e),
				 -EINVAL);
		assert_text_has(e.text, bad[i].names);
	}
	fill(&l, &(struct extent){ 0, 0, 5 * K4 }, 1);
	assert_int_equal(extent_list_check(&l, 5 * K4, DEVICE_BYTES, 0, NULL), -EINVAL);
	assert_int_equal(extent_list_check(&l, 5 * K4, DEVICE_BYTES, 3, NULL), -EINVAL);
	assert_int_equal(extent_list_check(&l, 5 * K4, 5 * K4 - 1, ALIGN_BYTES, NULL), -EINVAL);
}

/* C17: 1 to 3 runs, a run at 0, one that ends with the device, physically descending, more than
 * 1000. */
static void usable_lists_pass(void **state)
{
	static const struct extent one[] = { { 0, 0, 5 * K4 } };
	static const struct extent whole[] = { { 0, 0, DEVICE_BYTES } };
	static const struct extent last[] = { { 0, 7 * K4, K4 },
					      { K4, DEVICE_BYTES - 4 * K4, 4 * K4 } };
	static const struct extent descending[] = { { 0, 8 * K4, 2 * K4 },
						    { 2 * K4, 6 * K4, 2 * K4 },
						    { 4 * K4, 0, K4 } };
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };

	(void)state;
	fill(&l, one, 1);
	assert_int_equal(extent_list_check(&l, 5 * K4, 5 * K4, ALIGN_BYTES, NULL), 0);
	fill(&l, whole, 1);
	assert_int_equal(extent_list_check(&l, DEVICE_BYTES, DEVICE_BYTES, 512, NULL), 0);
	fill(&l, last, 2);
	assert_int_equal(extent_list_check(&l, 5 * K4, DEVICE_BYTES, ALIGN_BYTES, NULL), 0);
	fill(&l, descending, 3);
	assert_int_equal(extent_list_check(&l, 5 * K4, DEVICE_BYTES, ALIGN_BYTES, NULL), 0);
	extent_list_clear(&l);
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(extent_list_append(&l, (i * 7919 % 5000) * 3 * K4, K4, NULL), 0);
	assert_int_equal(l.count, 5000);
	assert_int_equal(extent_list_check(&l, 5000 * K4, 15000 * K4, ALIGN_BYTES, NULL), 0);
	l.items[2500].physical_bytes = l.items[17].physical_bytes;
	assert_int_equal(extent_list_check(&l, 5000 * K4, 15000 * K4, ALIGN_BYTES, NULL), -EINVAL);
}

static void find_gives_place_and_what_is_contiguous(void **state)
{
	static const struct extent x[] = { { 0, 8 * K4, 2 * K4 },
					   { 2 * K4, 6 * K4, K4 },
					   { 3 * K4, 20 * K4, 2 * K4 } };
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };
	struct extent got = { 1, 2, 3 };

	(void)state;
	assert_false(extent_list_find(&l, 0, &got));
	fill(&l, x, 3);
	assert_false(extent_list_find(&l, 5 * K4, &got));
	assert_false(extent_list_find(&l, UINT64_MAX, &got));
	assert_int_equal(got.length_bytes, 3);
	for (uint64_t at = 0; at < 5 * K4; at += 512) {
		const struct extent *in = &x[at < 2 * K4 ? 0 : at < 3 * K4 ? 1 : 2];

		assert_true(extent_list_find(&l, at, &got));
		assert_int_equal(got.logical_bytes, at);
		assert_int_equal(got.physical_bytes - in->physical_bytes, at - in->logical_bytes);
		assert_int_equal(got.logical_bytes + got.length_bytes,
				 in->logical_bytes + in->length_bytes);
	}
}

static bool brute_overlap(const struct extent_list *a, const struct extent_list *b)
{
	for (size_t i = 0; i < a->count; i++) {
		for (size_t j = 0; j < b->count; j++) {
			const struct extent *x = &a->items[i];
			const struct extent *y = &b->items[j];

			for (uint64_t at = x->physical_bytes;
			     at < x->physical_bytes + x->length_bytes; at++) {
				if (at >= y->physical_bytes &&
				    at < y->physical_bytes + y->length_bytes)
					return true;
			}
		}
	}
	return false;
}

static void overlaps_agrees_with_brute_force(void **state)
{
	AUTO(extent_list) struct extent_list a = { NULL, 0, 0 };
	AUTO(extent_list) struct extent_list b = { NULL, 0, 0 };
	unsigned seed = 1;
	int seen[2] = { 0, 0 };

	(void)state;
	for (int round = 0; round < 3000; round++) {
		bool got;

		a.count = 0;
		b.count = 0;
		for (int i = rand_r(&seed) % 5; i > 0; i--)
			extent_list_push(&a,
					 &(struct extent){ 0, (uint64_t)rand_r(&seed) % 60,
							   (uint64_t)rand_r(&seed) % 8 },
					 NULL);
		for (int i = rand_r(&seed) % 5; i > 0; i--)
			extent_list_push(&b,
					 &(struct extent){ 0, (uint64_t)rand_r(&seed) % 60,
							   (uint64_t)rand_r(&seed) % 8 },
					 NULL);
		assert_int_equal(extent_list_overlaps(&a, &b, &got, NULL), 0);
		assert_int_equal(got, brute_overlap(&a, &b));
		seen[got]++;
	}
	assert_true(seen[0] > 100 && seen[1] > 100);
}

static void copies_are_equal_and_separate(void **state)
{
	static const struct extent x[] = { { 0, 8 * K4, 2 * K4 }, { 2 * K4, 6 * K4, K4 } };
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };
	AUTO(extent_list) struct extent_list copy = { NULL, 0, 0 };

	(void)state;
	assert_int_equal(extent_list_copy(&l, &copy, NULL), 0);
	assert_true(extent_list_equal(&l, &copy));
	fill(&l, x, 2);
	assert_false(extent_list_equal(&l, &copy));
	assert_int_equal(extent_list_copy(&l, &copy, NULL), 0);
	assert_int_equal(extent_list_copy(&l, &copy, NULL), 0); /* what it held is released */
	assert_int_equal(extent_list_copy(&l, &l, NULL), 0);
	assert_true(extent_list_equal(&l, &copy));
	assert_int_equal(extent_list_push(&copy, &x[0], NULL), 0);
	assert_int_equal(l.count, 2);
	copy.count = 2;
	copy.items[1].physical_bytes++;
	assert_false(extent_list_equal(&l, &copy));
	assert_true(extent_list_bytes(&(struct extent_list){ NULL, 0, 0 }) == 0);
	l.items[0].length_bytes = UINT64_MAX;
	assert_true(extent_list_bytes(&l) == UINT64_MAX);
}

static void begins_with_sees_each_difference(void **state)
{
	const struct extent x[] = { { 0, 8 * K4, 2 * K4 }, { 2 * K4, 20 * K4, K4 } };
	AUTO(extent_list) struct extent_list start = { NULL, 0, 0 };
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };

	(void)state;
	fill(&start, x, 2);
	fill(&l, x, 2);
	assert_true(extent_list_begins_with(&l, &start));
	l.items[1].length_bytes += K4; /* the last one may be longer */
	assert_true(extent_list_begins_with(&l, &start));
	assert_false(extent_list_begins_with(&start, &l));
	assert_int_equal(extent_list_append(&l, 40 * K4, K4, NULL), 0);
	assert_true(extent_list_begins_with(&l, &start));
	assert_false(extent_list_begins_with(&start, &l));
	l.items[0].length_bytes += K4; /* but no other one */
	assert_false(extent_list_begins_with(&l, &start));
	l.items[0].length_bytes -= K4;
	l.items[1].physical_bytes += K4;
	assert_false(extent_list_begins_with(&l, &start));
}

static int allocate_everything(void)
{
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };
	AUTO(extent_list) struct extent_list copy = { NULL, 0, 0 };
	struct err e = ERR_INIT;
	bool overlaps;
	int r = 0;

	for (uint64_t i = 0; i < 40 && r == 0; i++) {
		size_t before = l.count;

		r = extent_list_append(&l, 2 * i * K4, K4, &e);
		assert_int_equal(l.count, r == 0 ? before + 1 : before);
	}
	if (r == 0)
		r = extent_list_copy(&l, &copy, &e);
	if (r == 0)
		r = extent_list_check(&l, 40 * K4, DEVICE_BYTES, ALIGN_BYTES, &e);
	if (r == 0)
		r = extent_list_overlaps(&l, &copy, &overlaps, &e);
	assert_int_equal(r, e.code);
	return r;
}

static void every_failed_allocation_is_enomem(void **state)
{
	int k = 0;
	int r;

	(void)state;
	do {
		alloc_failed = 0;
		alloc_fail_at = ++k;
		r = allocate_everything();
		assert_int_equal(r, alloc_failed ? -ENOMEM : 0);
	} while (alloc_failed);
	alloc_fail_at = 0;
	assert_true(k > 5);
}

static void expect_rest(const struct extent *x, size_t n, uint64_t size_bytes, const struct extent *wanted, size_t count)
{
	AUTO(extent_list) struct extent_list l = { NULL, 0, 0 };
	AUTO(extent_list) struct extent_list rest = { NULL, 0, 0 };

	fill(&l, x, n);
	assert_int_equal(extent_list_complement(&l, size_bytes, &rest, NULL), 0);
	assert_int_equal(rest.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_true(rest.items[i].logical_bytes == wanted[i].physical_bytes);
		assert_true(rest.items[i].physical_bytes == wanted[i].physical_bytes);
		assert_true(rest.items[i].length_bytes == wanted[i].length_bytes);
	}
}

#define REST(x, size, ...) \
	expect_rest(x, sizeof(x) / sizeof((x)[0]), size, (const struct extent[]){ __VA_ARGS__ }, \
		    sizeof((const struct extent[]){ __VA_ARGS__ }) / sizeof(struct extent))

/* At the start, at the end, beyond it, side by side, twice, unsorted, empty; a size that is no multiple of anything. */
static void complement_is_what_is_left(void **state)
{
	static const struct extent middle[] = { { 0, 4 * K4, K4 } };
	static const struct extent start[] = { { 0, 0, 2 * K4 } };
	static const struct extent end[] = { { 0, 8 * K4, 2 * K4 } };
	static const struct extent beyond[] = { { 0, 8 * K4, 99 * K4 }, { 0, 200 * K4, K4 }, { 0, UINT64_MAX - 9, 99 } };
	static const struct extent adjacent[] = { { 0, 3 * K4, K4 }, { K4, 2 * K4, K4 }, { 0, 4 * K4, K4 } };
	static const struct extent twice[] = { { 0, 2 * K4, 4 * K4 }, { 0, 3 * K4, K4 }, { 0, 5 * K4, 2 * K4 } };
	static const struct extent empty[] = { { 0, 2 * K4, 0 } };
	static const struct extent all[] = { { 0, 5 * K4, 5 * K4 }, { 0, 0, 5 * K4 } };

	(void)state;
	REST(middle, 10 * K4, { 0, 0, 4 * K4 }, { 0, 5 * K4, 5 * K4 });
	REST(start, 10 * K4, { 0, 2 * K4, 8 * K4 });
	REST(end, 10 * K4, { 0, 0, 8 * K4 });
	REST(end, 10 * K4 + 512, { 0, 0, 8 * K4 }, { 0, 10 * K4, 512 });
	REST(beyond, 10 * K4, { 0, 0, 8 * K4 });
	REST(adjacent, 10 * K4, { 0, 0, 2 * K4 }, { 0, 5 * K4, 5 * K4 });
	REST(twice, 10 * K4, { 0, 0, 2 * K4 }, { 0, 7 * K4, 3 * K4 });
	REST(empty, 10 * K4, { 0, 0, 10 * K4 });
	expect_rest(all, 2, 10 * K4, NULL, 0);
	expect_rest(NULL, 0, 0, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(append_refuses_overflow_and_changes_nothing),
		cmocka_unit_test(append_merges_and_drops),
		cmocka_unit_test(unusable_lists_are_refused),
		cmocka_unit_test(usable_lists_pass),
		cmocka_unit_test(find_gives_place_and_what_is_contiguous),
		cmocka_unit_test(overlaps_agrees_with_brute_force),
		cmocka_unit_test(complement_is_what_is_left),
		cmocka_unit_test(copies_are_equal_and_separate),
		cmocka_unit_test(begins_with_sees_each_difference),
		cmocka_unit_test(every_failed_allocation_is_enomem),
	};

	return cmocka_run_group_tests_name("extent", tests, NULL, NULL);
}
