/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "alloc_fail.h"
#include "cmocka_all.h"

#include "../../src/reuse.c"

#define DISK 400 /* bytes, each looked at by itself by the oracle */

/* Two extents, the second one lies lower. */
static void make_extents(struct extent_list *l)
{
	assert_int_equal(extent_list_append(l, 200, 150, NULL), 0);
	assert_int_equal(extent_list_append(l, 20, 100, NULL), 0);
}

static void nothing_known_is_unowned(void **state)
{
	AUTO(reuse) struct reuse *r = NULL;
	__attribute__((cleanup(auto_extent_list))) struct extent_list l = { NULL, 0, 0 };
	struct reuse_sums all;
	size_t n = 7;

	(void)state;
	make_extents(&l);
	assert_int_equal(reuse_new(&l, REUSE_NO_RECORD, &r, NULL), 0);
	reuse_finish(r);
	all = reuse_all(r);
	assert_true(all.unowned_bytes == 250 && !all.free_bytes && !all.kept_bytes && !all.taken_bytes);
	(void)reuse_owners(r, &n);
	assert_int_equal(n, 0);
}

static void what_lies_outside_does_not_count(void **state)
{
	AUTO(reuse) struct reuse *r = NULL;
	__attribute__((cleanup(auto_extent_list))) struct extent_list l = { NULL, 0, 0 };
	struct reuse_sums all;
	size_t n;

	(void)state;
	make_extents(&l);
	assert_int_equal(reuse_new(&l, 5, &r, NULL), 0);
	assert_int_equal(reuse_add_run(r, 9, 0, 20, NULL), 0);
	assert_int_equal(reuse_add_run(r, 9, 120, 80, NULL), 0);
	assert_int_equal(reuse_add_free(r, 350, UINT64_MAX - 10, NULL), 0); /* runs over the end of all numbers */
	assert_int_equal(reuse_add_run(r, 5, 0, 0, NULL), 0);
	reuse_finish(r);
	all = reuse_all(r);
	assert_true(all.unowned_bytes == 250);
	(void)reuse_owners(r, &n);
	assert_int_equal(n, 0);
}

static void another_file_counts_before_all_else(void **state)
{
	AUTO(reuse) struct reuse *r = NULL;
	__attribute__((cleanup(auto_extent_list))) struct extent_list l = { NULL, 0, 0 };
	struct reuse_sums first, second;
	const struct reuse_owner *owners;
	size_t n;

	(void)state;
	make_extents(&l);
	assert_int_equal(reuse_new(&l, 5, &r, NULL), 0);
	assert_int_equal(reuse_add_free(r, 0, 400, NULL), 0);
	assert_int_equal(reuse_add_run(r, 5, 200, 100, NULL), 0);
	assert_int_equal(reuse_add_run(r, 8, 10, 300, NULL), 0); /* both extents, and what is between them */
	assert_int_equal(reuse_add_run(r, 7, 340, 30, NULL), 0);
	assert_int_equal(reuse_add_run(r, 8, 345, 1, NULL), 0);
	reuse_finish(r);
	first = reuse_of_extent(r, 0);
	second = reuse_of_extent(r, 1);
	assert_true(first.taken_bytes == 120 && first.free_bytes == 30);
	assert_true(second.taken_bytes == 100 && !second.free_bytes);
	owners = reuse_owners(r, &n);
	assert_int_equal(n, 2);
	assert_true(owners[0].record == 8 && owners[0].bytes == 211);
	assert_true(owners[1].record == 7 && owners[1].bytes == 10);
}

struct oracle {
	unsigned free[DISK], own[DISK], taken[DISK];
};

static void count_each(const struct oracle *o, uint64_t from, uint64_t n, struct reuse_sums *ret)
{
	for (uint64_t i = from; i < from + n; i++)
		if (o->taken[i])
			ret->taken_bytes++;
		else if (o->free[i])
			ret->free_bytes++;
		else if (o->own[i])
			ret->kept_bytes++;
		else
			ret->unowned_bytes++;
}

static void agrees_with_brute_force(void **state)
{
	(void)state;
	srand(6);
	for (int round = 0; round < 500; round++) {
		AUTO(reuse) struct reuse *r = NULL;
		__attribute__((cleanup(auto_extent_list))) struct extent_list l = { NULL, 0, 0 };
		struct reuse_sums want[2] = { { 0 }, { 0 } };
		struct oracle o;

		memset(&o, 0, sizeof(o));
		make_extents(&l);
		assert_int_equal(reuse_new(&l, 5, &r, NULL), 0);
		for (int i = rand() % 30; i > 0; i--) {
			uint64_t at = (uint64_t)rand() % DISK, n = (uint64_t)rand() % 60, kind = (uint64_t)rand() % 3;

			for (uint64_t k = at; k < at + n && k < DISK; k++)
				(kind == 0 ? o.free : kind == 1 ? o.own : o.taken)[k]++;
			if (kind == 0)
				assert_int_equal(reuse_add_free(r, at, n, NULL), 0);
			else
				assert_int_equal(reuse_add_run(r, kind == 1 ? 5 : 6 + (uint64_t)rand() % 4, at, n, NULL), 0);
		}
		reuse_finish(r);
		for (size_t i = 0; i < 2; i++) {
			struct reuse_sums have = reuse_of_extent(r, i);

			count_each(&o, l.items[i].physical_bytes, l.items[i].length_bytes, &want[i]);
			assert_memory_equal(&have, &want[i], sizeof(have));
		}
	}
}

static void every_failed_allocation_is_enomem(void **state)
{
	(void)state;
	for (int k = 1; k < 12; k++) {
		AUTO(reuse) struct reuse *r = NULL;
		__attribute__((cleanup(auto_extent_list))) struct extent_list l = { NULL, 0, 0 };
		int code;

		make_extents(&l);
		alloc_failed = 0;
		alloc_fail_at = k;
		code = reuse_new(&l, 5, &r, NULL);
		for (uint64_t i = 0; !code && i < 300; i++)
			code = reuse_add_run(r, i, 200 + i % 100, 1, NULL);
		alloc_fail_at = 0;
		assert_int_equal(code, alloc_failed ? -ENOMEM : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_known_is_unowned),
		cmocka_unit_test(what_lies_outside_does_not_count),
		cmocka_unit_test(another_file_counts_before_all_else),
		cmocka_unit_test(agrees_with_brute_force),
		cmocka_unit_test(every_failed_allocation_is_enomem),
	};

	return cmocka_run_group_tests_name("reuse", tests, NULL, NULL);
}
