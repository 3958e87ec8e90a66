/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a map becomes; the rest is in tests/vm/refresh.sh. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maprefresh.h"

#define MIB UINT64_C(1048576)

struct fixture {
	struct map map;
	struct verify_result seen;
	struct extent_list active;
	struct map_host host;
	struct maprefresh_item item;
};

static void put_extents(struct extent_list *l, uint64_t at_mib)
{
	extent_list_clear(l);
	assert_int_equal(extent_list_append(l, at_mib * MIB, 10 * MIB, NULL), 0);
}

static int set_up(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	x->map.generation = 4;
	x->map.size_bytes = 10 * MIB;
	x->map.host = (struct map_host){ .serial = 7, .partuuid = "aaaaaaaa-01", .partition_bytes = 100 * MIB,
					 .cluster_bytes = 4096, .sector_bytes = 512 };
	(void)snprintf(x->map.name, sizeof(x->map.name), "root");
	x->host = (struct map_host){ .serial = 7, .partuuid = "AAAAAAAA-01", .partition_bytes = 100 * MIB };
	put_extents(&x->map.extents, 20);
	put_extents(&x->seen.extents, 20);
	put_extents(&x->active, 20);
	x->seen.verdict = (struct verdict_result){ .verdict = VERDICT_MATCH, .settled = VERDICT_MATCH, .attachable = true,
						   .reason_count = 2, .reasons = { "what was seen", "what to do" } };
	x->item.map = &x->map;
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;

	extent_list_clear(&x->map.extents);
	extent_list_clear(&x->seen.extents);
	extent_list_clear(&x->active);
	free(x);
	return 0;
}

static void expect(struct fixture *x, enum maprefresh_action action, const char *reason)
{
	uint64_t was = x->map.generation;

	assert_int_equal(maprefresh_decide(&x->seen, &x->active, &x->host, &x->item, NULL), 0);
	assert_int_equal(x->item.action, action);
	assert_string_equal(x->item.reason, reason);
	assert_true(x->item.text[0]);
	assert_int_equal(x->map.generation, was + (action == MAPREFRESH_WRITE));
	if (action == MAPREFRESH_WRITE)
		assert_true(extent_list_equal(&x->map.extents, &x->seen.extents));
}

static void set_verdict(struct fixture *x, enum verdict v, bool attachable)
{
	x->seen.verdict.verdict = x->seen.verdict.settled = v;
	x->seen.verdict.attachable = attachable;
}

/* The PARTUUID is the same in other letters. */
static void test_a_right_map_is_kept(void **state)
{
	struct fixture *x = *state;

	expect(x, MAPREFRESH_KEEP, "");
	x->host.partuuid[0] = '\0'; /* unknown is no change */
	expect(x, MAPREFRESH_KEEP, "");
}

static void test_changed_host_facts(void **state)
{
	struct fixture *x = *state;

	x->host.partition_bytes = 90 * MIB;
	expect(x, MAPREFRESH_WRITE, "");
	assert_text_has(x->item.text, "size");
	assert_int_equal(x->map.host.partition_bytes, 90 * MIB);
	expect(x, MAPREFRESH_KEEP, ""); /* what it wrote is right */
	x->host.serial = 8;
	expect(x, MAPREFRESH_WRITE, "");
	assert_int_equal(x->map.host.serial, 8);
	(void)snprintf(x->host.partuuid, sizeof(x->host.partuuid), "bbbbbbbb-02");
	expect(x, MAPREFRESH_WRITE, "");
	assert_string_equal(x->map.host.partuuid, "bbbbbbbb-02");
	assert_int_equal(x->map.host.cluster_bytes, 4096);
	assert_int_equal(x->map.generation, 7);
}

static void test_moved_is_followed(void **state)
{
	struct fixture *x = *state;

	put_extents(&x->seen.extents, 50);
	put_extents(&x->active, 50);
	set_verdict(x, VERDICT_MOVED, true);
	x->host.partition_bytes = 90 * MIB;
	expect(x, MAPREFRESH_WRITE, "");
	assert_int_equal(x->map.host.partition_bytes, 90 * MIB);
	set_verdict(x, VERDICT_MATCH, true);
	expect(x, MAPREFRESH_KEEP, "");
}

static void test_grown_is_followed(void **state)
{
	struct fixture *x = *state;

	put_extents(&x->seen.extents, 50);
	x->seen.extents.items[0].length_bytes += MIB;
	assert_int_equal(extent_list_copy(&x->seen.extents, &x->active, NULL), 0);
	set_verdict(x, VERDICT_GROWN, true);
	expect(x, MAPREFRESH_WRITE, "");
	assert_text_has(x->item.text, "grown");
	assert_int_equal(x->map.size_bytes, extent_list_bytes(&x->seen.extents));
}

/* Without anything in it that proves what it is, as swap. */
static void test_moved_without_proof_is_refused(void **state)
{
	struct fixture *x = *state;

	put_extents(&x->seen.extents, 50);
	put_extents(&x->active, 50);
	set_verdict(x, VERDICT_MOVED, false);
	expect(x, MAPREFRESH_REFUSE, "verdict-moved");
}

/* Whatever the verdict says: what is in use is not what the volume gives. */
static void test_other_clusters_in_use(void **state)
{
	struct fixture *x = *state;

	put_extents(&x->active, 50);
	expect(x, MAPREFRESH_REFUSE, "changed");
	set_verdict(x, VERDICT_MOVED, true);
	expect(x, MAPREFRESH_REFUSE, "changed");
	set_verdict(x, VERDICT_UNSETTLED, false);
	expect(x, MAPREFRESH_REFUSE, "changed");
}

static void test_renamed_and_orphaned_keep_the_map(void **state)
{
	struct fixture *x = *state;

	set_verdict(x, VERDICT_RENAMED, true);
	x->host.partition_bytes = 90 * MIB;
	expect(x, MAPREFRESH_KEEP, "");
	set_verdict(x, VERDICT_ORPHANED, true);
	expect(x, MAPREFRESH_KEEP, "");
	assert_text_has(x->item.text, "what was seen");
}

static void test_unsettled(void **state)
{
	struct fixture *x = *state;

	set_verdict(x, VERDICT_UNSETTLED, false);
	x->seen.verdict.settled = VERDICT_MATCH;
	expect(x, MAPREFRESH_KEEP, "");
	x->host.partition_bytes = 90 * MIB;
	expect(x, MAPREFRESH_REFUSE, "verdict-unsettled");
	assert_text_has(x->item.text, "what to do");
}

static void test_the_rest_is_refused(void **state)
{
	static const enum verdict all[] = { VERDICT_UNKNOWN, VERDICT_EMPTIED, VERDICT_MISSING, VERDICT_REPLACED, VERDICT_FOREIGN,
					    VERDICT_ENCRYPTED, VERDICT_AMBIGUOUS, VERDICT_INVALID };
	struct fixture *x = *state;
	char reason[64];

	extent_list_clear(&x->seen.extents);
	for (size_t i = 0; i < COUNT_OF(all); i++) {
		set_verdict(x, all[i], false);
		(void)snprintf(reason, sizeof(reason), "verdict-%s", verdict_name(all[i]));
		expect(x, MAPREFRESH_REFUSE, reason);
	}
}

static void test_last_generation(void **state)
{
	struct fixture *x = *state;

	x->map.generation = UINT64_MAX;
	x->host.partition_bytes = 90 * MIB;
	assert_int_equal(maprefresh_decide(&x->seen, &x->active, &x->host, &x->item, NULL), -EOVERFLOW);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_right_map_is_kept),
		TEST(test_changed_host_facts),
		TEST(test_moved_is_followed),
		TEST(test_grown_is_followed),
		TEST(test_moved_without_proof_is_refused),
		TEST(test_other_clusters_in_use),
		TEST(test_renamed_and_orphaned_keep_the_map),
		TEST(test_unsettled),
		TEST(test_the_rest_is_refused),
		TEST(test_last_generation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
