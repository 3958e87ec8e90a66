/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "verdict.h"

#define CLUSTER 4096u

struct fixture {
	struct map map;
	struct extent_list now;
	struct verdict_facts facts;
	struct verdict_result result;
};

static int set_up(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	(void)snprintf(x->map.map_id, sizeof(x->map.map_id), "cdb137e7-e340-4611-9063-1011a6bacd19");
	(void)snprintf(x->map.name, sizeof(x->map.name), "root");
	(void)snprintf(x->map.image, sizeof(x->map.image), "/ubuntu/disks/root.disk");
	(void)snprintf(x->map.fs_type, sizeof(x->map.fs_type), "ext4");
	(void)snprintf(x->map.host.partuuid, sizeof(x->map.host.partuuid), "aaaaaaaa-01");
	x->map.mft_record = 66;
	x->map.mft_sequence = 2;
	x->map.host.serial = 0x1234;
	x->map.host.cluster_bytes = CLUSTER;
	x->map.host.sector_bytes = 512;
	x->map.size_bytes = 100 * CLUSTER;
	assert_int_equal(extent_list_append(&x->map.extents, 1000 * CLUSTER, 100 * CLUSTER, NULL), 0);
	assert_int_equal(extent_list_copy(&x->map.extents, &x->now, NULL), 0);
	x->facts = (struct verdict_facts){
		.ntfs = true, .journal_clean = true, .serial = 0x1234, .partuuid = "aaaaaaaa-01",
		.cluster_bytes = CLUSTER, .sector_bytes = 512, .record_in_use = true,
		.data_bytes = 100 * CLUSTER, .initialized_bytes = 100 * CLUSTER, .allocated_bytes = 100 * CLUSTER,
		.extents = &x->now, .extents_problem = "", .indexed = true, .path = "/ubuntu/disks/root.disk",
		.at_map_path = true, .canary_known = true, .canary_ok = true, .canary_reason = "",
	};
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;

	extent_list_clear(&x->map.extents);
	extent_list_clear(&x->now);
	free(x);
	return 0;
}

static void expect(struct fixture *x, enum verdict verdict, bool attachable)
{
	verdict_decide(&x->map, &x->facts, &x->result);
	assert_string_equal(verdict_name(x->result.verdict), verdict_name(verdict));
	assert_int_equal(x->result.attachable, attachable);
	assert_true(x->result.reason_count > 0);
}

static void expect_says(const struct fixture *x, const char *what)
{
	for (size_t i = 0; i < x->result.reason_count; i++)
		if (strstr(x->result.reasons[i], what))
			return;
	fail_msg("no reason says '%s'", what);
}

static void move(struct fixture *x)
{
	extent_list_clear(&x->now);
	assert_int_equal(extent_list_append(&x->now, 5000 * CLUSTER, 60 * CLUSTER, NULL), 0);
	assert_int_equal(extent_list_append(&x->now, 9000 * CLUSTER, 40 * CLUSTER, NULL), 0);
}

static void test_encrypted_beats_all(void **state)
{
	struct fixture *x = *state;

	x->facts.bitlocker = true;
	x->facts.dirty = true;
	expect(x, VERDICT_ENCRYPTED, false);
}

static void test_another_volume_is_missing(void **state)
{
	struct fixture *x = *state;

	x->facts.serial = 0x9999;
	x->facts.partuuid = "bbbbbbbb-01";
	expect(x, VERDICT_MISSING, false);
	x->facts.dirty = true; /* the state of another volume is no news about this map */
	expect(x, VERDICT_MISSING, false);
	x->facts.ntfs = false;
	expect(x, VERDICT_MISSING, false);
}

static void test_the_same_partition_formatted_anew_is_missing(void **state)
{
	struct fixture *x = *state;

	x->facts.serial = 0x9999;
	x->facts.record_in_use = false;
	expect(x, VERDICT_MISSING, false);
	x->facts.cluster_bytes = 2 * CLUSTER;
	x->facts.record_in_use = true;
	expect(x, VERDICT_MISSING, false);
}

static void test_every_unsafe_state_is_unsettled(void **state)
{
	struct fixture *x = *state;
	bool *const states[] = { &x->facts.dirty, &x->facts.hibernated, &x->facts.fast_startup };

	for (size_t i = 0; i < 3; i++) {
		*states[i] = true;
		expect(x, VERDICT_UNSETTLED, false);
		assert_int_equal(x->result.settled, VERDICT_MATCH);
		*states[i] = false;
	}
	x->facts.journal_clean = false;
	expect(x, VERDICT_UNSETTLED, false);
	move(x);
	expect(x, VERDICT_UNSETTLED, false);
	assert_int_equal(x->result.settled, VERDICT_MOVED);
}

static void test_emptied(void **state)
{
	struct fixture *x = *state;

	x->facts.free_clusters = 1;
	expect(x, VERDICT_EMPTIED, false);
	x->facts.free_clusters = 0;
	x->facts.data_bytes = x->facts.initialized_bytes = x->facts.allocated_bytes = 0;
	x->facts.resident = true;
	x->facts.extents = NULL;
	x->facts.map_free_clusters = 100;
	expect(x, VERDICT_EMPTIED, false);
	expect_says(x, "100 are free and 0 belong");
	expect_says(x, "superblocks are still there");
	x->facts.data_bytes = 99 * CLUSTER;
	expect(x, VERDICT_EMPTIED, false);
}

static void test_foreign(void **state)
{
	struct fixture *x = *state;
	bool *const flags[] = { &x->facts.compressed, &x->facts.encrypted, &x->facts.sparse, &x->facts.reparse,
				&x->facts.is_dir };

	for (size_t i = 0; i < 5; i++) {
		*flags[i] = true;
		expect(x, VERDICT_FOREIGN, false);
		*flags[i] = false;
	}
	x->facts.initialized_bytes -= 1;
	expect(x, VERDICT_FOREIGN, false);
	x->facts.initialized_bytes += 1;
	x->facts.data_bytes = x->facts.initialized_bytes = x->facts.allocated_bytes = 101 * CLUSTER;
	expect(x, VERDICT_FOREIGN, false);
}

static void test_wrong_content_is_foreign_wherever_it_lies(void **state)
{
	struct fixture *x = *state;

	x->facts.canary_ok = false;
	x->facts.canary_reason = "no ext4 superblock";
	expect(x, VERDICT_FOREIGN, false);
	expect_says(x, "no ext4 superblock");
	move(x);
	expect(x, VERDICT_FOREIGN, false);
}

static void test_moved_needs_a_canary_to_be_attached(void **state)
{
	struct fixture *x = *state;

	move(x);
	expect(x, VERDICT_MOVED, true);
	x->facts.canary_known = x->facts.canary_ok = false;
	expect(x, VERDICT_MOVED, false);
}

/* The file as grow leaves it: 'more' clusters right behind the old ones, and 'elsewhere' in a run of their own. */
static void grow(struct fixture *x, uint64_t more, uint64_t elsewhere)
{
	extent_list_clear(&x->now);
	assert_int_equal(extent_list_append(&x->now, 1000 * CLUSTER, (100 + more) * CLUSTER, NULL), 0);
	assert_int_equal(extent_list_append(&x->now, 5000 * CLUSTER, elsewhere * CLUSTER, NULL), 0);
	x->facts.data_bytes = x->facts.initialized_bytes = x->facts.allocated_bytes = (100 + more + elsewhere) * CLUSTER;
}

static void test_grown_begins_where_the_map_says(void **state)
{
	struct fixture *x = *state;

	grow(x, 20, 0);
	expect(x, VERDICT_GROWN, true);
	expect_says(x, "refresh the map");
	grow(x, 0, 7);
	expect(x, VERDICT_GROWN, true);
	grow(x, 20, 7);
	x->facts.canary_known = false; /* as sure as a match */
	expect(x, VERDICT_GROWN, true);
	x->facts.dirty = true;
	expect(x, VERDICT_UNSETTLED, false);
	assert_int_equal(x->result.settled, VERDICT_GROWN);
}

static void test_what_only_looks_grown_is_refused(void **state)
{
	struct fixture *x = *state;
	const struct verdict_facts good = x->facts;

	grow(x, 20, 0);
	x->facts.canary_ok = false;
	x->facts.canary_reason = "no ext4 superblock";
	expect(x, VERDICT_FOREIGN, false);
	x->facts = good;
	grow(x, 20, 0);
	x->facts.free_clusters = 1; /* of the new part, perhaps */
	expect(x, VERDICT_EMPTIED, false);
	x->facts = good;
	grow(x, 20, 0);
	x->facts.initialized_bytes = 100 * CLUSTER;
	expect(x, VERDICT_FOREIGN, false);
	x->facts = good;
	grow(x, 20, 0);
	x->facts.data_bytes -= 1;
	expect(x, VERDICT_FOREIGN, false);
}

static void test_moved_and_grown_is_moved(void **state)
{
	struct fixture *x = *state;

	grow(x, 20, 0);
	x->now.items[0].physical_bytes += CLUSTER;
	expect(x, VERDICT_MOVED, true);
	expect_says(x, "has grown");
	x->facts.canary_known = x->facts.canary_ok = false;
	expect(x, VERDICT_MOVED, false);
}

static void test_renamed_and_orphaned(void **state)
{
	struct fixture *x = *state;

	x->facts.at_map_path = false;
	x->facts.path = "/found.000/dir0000.chk/root.disk";
	expect(x, VERDICT_RENAMED, true);
	expect_says(x, "/found.000/dir0000.chk/root.disk");
	expect_says(x, "do not reinstall");
	x->facts.indexed = false;
	expect(x, VERDICT_ORPHANED, true);
	expect_says(x, "keep the map");
}

static void test_replaced_and_missing(void **state)
{
	struct fixture *x = *state;

	x->facts.record_in_use = false;
	x->facts.extents = NULL;
	x->facts.map_free_clusters = 40;
	expect(x, VERDICT_MISSING, false);
	expect_says(x, "40 are free and 60 belong");
	x->facts.path_taken = true;
	expect(x, VERDICT_REPLACED, false);
	x->facts.path_same_fs = true;
	expect(x, VERDICT_REPLACED, false);
	expect_says(x, "wubi-disk map");
}

/* Somebody who is told 'no' is told what to do, and what the risk of going on would be. */
static void expect_advice(struct fixture *x, enum verdict verdict, const char *what)
{
	static const char *const verbs[] = { "run ", "restore ", "write ", "undo ", "clear ", "decrypt ", "name ", "move ",
					     "unplug ", "take ", "derive ", "copy ", "start ", "hold ", "refresh " };
	const struct verdict_result *r = &x->result;
	bool found = false;

	expect(x, verdict, false);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		found = found || strstr(r->reasons[r->reason_count - 1], verbs[i]);
	if (!found)
		fail_msg("%s (%s): the last reason says not what to do: %s", verdict_name(verdict), what,
			 r->reasons[r->reason_count - 1]);
	assert_true(verdict_risk(verdict)[0] || verdict == VERDICT_MOVED);
}

/* With and without what is odd besides, which must not come last. */
static void expect_advice_always(struct fixture *x, enum verdict verdict, const char *what)
{
	expect_advice(x, verdict, what);
	x->facts.path_problem = "two entries have this name";
	x->facts.partuuid = x->facts.serial == x->map.host.serial ? "bbbbbbbb-01" : "aaaaaaaa-01";
	expect_advice(x, verdict, what);
	x->facts.path_problem = NULL;
	x->facts.partuuid = "aaaaaaaa-01";
}

static void test_the_last_reason_of_a_plain_refusal_says_what_to_do(void **state)
{
	struct fixture *x = *state;
	const struct verdict_facts good = x->facts;

	x->facts.bitlocker = true;
	expect_advice_always(x, VERDICT_ENCRYPTED, "BitLocker");
	x->facts = good;
	x->facts.ntfs = false;
	expect_advice_always(x, VERDICT_MISSING, "no NTFS");
	x->facts = good;
	x->facts.serial = 0x9999;
	x->facts.partuuid = "bbbbbbbb-01";
	expect_advice(x, VERDICT_MISSING, "another volume");
	x->facts = good;
	x->facts.sector_bytes = 4096;
	expect_advice_always(x, VERDICT_MISSING, "formatted anew");
	x->facts = good;
	x->facts.record_in_use = false;
	expect_advice_always(x, VERDICT_MISSING, "no file");
	x->facts.canary_ok = false;
	expect_advice_always(x, VERDICT_MISSING, "no file, no content");
	x->facts.path_taken = true;
	expect_advice_always(x, VERDICT_REPLACED, "another file");
	x->facts.path_same_fs = true;
	expect_advice_always(x, VERDICT_REPLACED, "a copy");
	x->facts = good;
	x->facts.free_clusters = 1;
	expect_advice_always(x, VERDICT_EMPTIED, "free bits");
	x->facts.data_bytes = 0;
	x->facts.canary_ok = false;
	expect_advice_always(x, VERDICT_EMPTIED, "no bytes");
}

static void test_the_last_reason_of_a_foreign_file_says_what_to_do(void **state)
{
	struct fixture *x = *state;
	const struct verdict_facts good = x->facts;
	bool *const flags[] = { &x->facts.compressed, &x->facts.encrypted, &x->facts.sparse, &x->facts.reparse,
				&x->facts.resident, &x->facts.is_dir };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		*flags[i] = true;
		expect_advice_always(x, VERDICT_FOREIGN, "an attribute");
		*flags[i] = false;
	}
	x->facts.extents = NULL;
	expect_advice_always(x, VERDICT_FOREIGN, "no runs");
	x->facts = good;
	x->facts.data_bytes = x->facts.initialized_bytes = x->facts.allocated_bytes = 101 * CLUSTER;
	expect_advice_always(x, VERDICT_FOREIGN, "longer");
	x->facts = good;
	x->facts.allocated_bytes += CLUSTER;
	expect_advice_always(x, VERDICT_FOREIGN, "allocated");
	x->facts = good;
	x->facts.initialized_bytes -= 1;
	expect_advice_always(x, VERDICT_FOREIGN, "initialised");
	x->facts = good;
	x->facts.canary_ok = false;
	x->facts.canary_reason = "no ext4 superblock";
	expect_advice_always(x, VERDICT_FOREIGN, "content");
	move(x);
	expect_advice_always(x, VERDICT_FOREIGN, "content, moved");
	x->facts.canary_known = false;
	expect_advice_always(x, VERDICT_MOVED, "no canary");
}

static void test_the_last_reason_of_an_unsettled_host_says_what_to_do(void **state)
{
	struct fixture *x = *state;
	bool *const states[] = { &x->facts.dirty, &x->facts.hibernated, &x->facts.fast_startup };

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		*states[i] = true;
		expect_advice_always(x, VERDICT_UNSETTLED, "a state");
		*states[i] = false;
	}
	x->facts.journal_clean = false;
	expect_advice_always(x, VERDICT_UNSETTLED, "journal");
	x->facts.at_map_path = false;
	x->facts.path = "/x";
	expect_advice_always(x, VERDICT_UNSETTLED, "renamed");
	x->facts.indexed = false;
	expect_advice_always(x, VERDICT_UNSETTLED, "orphaned");
	move(x);
	expect_advice_always(x, VERDICT_UNSETTLED, "moved");
	expect_says(x, "journal");
}

static void test_only_what_is_refused_has_a_risk(void **state)
{
	(void)state;
	for (enum verdict v = VERDICT_UNKNOWN; v <= VERDICT_INVALID; v++) {
		bool fits = v == VERDICT_MATCH || v == VERDICT_MOVED || v == VERDICT_GROWN || v == VERDICT_RENAMED ||
			    v == VERDICT_ORPHANED;

		if (fits == (verdict_risk(v)[0] != '\0'))
			fail_msg("%s: the risk is '%s'", verdict_name(v), verdict_risk(v));
	}
	assert_string_equal(verdict_risk((enum verdict)99), "");
}

/* A path of any length leaves room for what to do about it. */
static void test_a_long_name_does_not_hide_the_advice(void **state)
{
	struct fixture *x = *state;
	char path[1024];

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	x->facts.at_map_path = false;
	x->facts.path = path;
	expect(x, VERDICT_RENAMED, true);
	if (!strstr(x->result.reasons[x->result.reason_count - 1], "move it back to '/ubuntu/disks/root.disk'"))
		fail_msg("the last reason is '%s'", x->result.reasons[x->result.reason_count - 1]);
}

static void test_another_uuid_is_taken_over_and_not_restored(void **state)
{
	struct fixture *x = *state;

	x->facts.canary_ok = false;
	x->facts.canary_reason = "superblock has UUID 2, not 1";
	x->facts.canary_other_uuid = true;
	expect(x, VERDICT_FOREIGN, false);
	expect_says(x, "take it over with wubi-disk map");
	for (size_t i = 0; i < x->result.reason_count; i++)
		assert_null(strstr(x->result.reasons[i], "from a copy"));
}

static void test_match_with_and_without_the_same_partuuid(void **state)
{
	struct fixture *x = *state;

	expect(x, VERDICT_MATCH, true);
	assert_int_equal(x->result.reason_count, 1);
	x->facts.partuuid = "bbbbbbbb-01";
	expect(x, VERDICT_MATCH, true);
	expect_says(x, "bbbbbbbb-01");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_encrypted_beats_all),
		TEST(test_another_volume_is_missing),
		TEST(test_the_same_partition_formatted_anew_is_missing),
		TEST(test_every_unsafe_state_is_unsettled),
		TEST(test_emptied),
		TEST(test_foreign),
		TEST(test_wrong_content_is_foreign_wherever_it_lies),
		TEST(test_moved_needs_a_canary_to_be_attached),
		TEST(test_grown_begins_where_the_map_says),
		TEST(test_what_only_looks_grown_is_refused),
		TEST(test_moved_and_grown_is_moved),
		TEST(test_renamed_and_orphaned),
		TEST(test_replaced_and_missing),
		TEST(test_match_with_and_without_the_same_partuuid),
		TEST(test_the_last_reason_of_a_plain_refusal_says_what_to_do),
		TEST(test_the_last_reason_of_a_foreign_file_says_what_to_do),
		TEST(test_the_last_reason_of_an_unsettled_host_says_what_to_do),
		TEST(test_only_what_is_refused_has_a_risk),
		TEST(test_a_long_name_does_not_hide_the_advice),
		TEST(test_another_uuid_is_taken_over_and_not_restored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
