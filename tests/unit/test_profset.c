/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile_fakes.h"

#include "jsonin.h"
#include "jsonout.h"
#include "profset.h"

#define ROOT_UUID FAKE_ROOT_UUID
#define HOME_UUID FAKE_HOME_UUID

static const struct profile_machine machine = {
	.page_bytes = 4096, .memory_bytes = 4 * NUM_GIB, .disk_bytes_per_s = 100 * NUM_MIB,
};
static const struct profile_machine unmeasured = { .page_bytes = 4096, .memory_bytes = 4 * NUM_GIB };
static const struct profile safe = {
	.name = "safe", .mount = "sync",
	.dirty = { PROFILE_BYTES, 64 * NUM_MIB }, .background = { PROFILE_BYTES, 16 * NUM_MIB },
	.expire_cs = 500, .writeback_cs = 100,
};

static void add_mount(struct profset *s, const char *name, const char *uuid, const char *target, const char *options)
{
	struct profset_mount *m = &s->mounts[s->mount_count++];

	(void)snprintf(m->name, sizeof(m->name), "%s", name);
	(void)snprintf(m->uuid, sizeof(m->uuid), "%s", uuid);
	(void)snprintf(m->target, sizeof(m->target), "%s", target);
	(void)snprintf(m->options, sizeof(m->options), "%s", options);
	m->is_root = strcmp(target, "/") == 0;
}

static struct profset with_root(const char *options)
{
	struct profset s = { .knobs = fake_usual };

	add_mount(&s, "root", ROOT_UUID, "/", options);
	return s;
}

static struct profile with_mount(const char *options)
{
	struct profile p = safe;

	(void)snprintf(p.mount, sizeof(p.mount), "%s", options);
	return p;
}

/* ---- planning ---- */

static const char *planned(const char *mount, const char *base, const char *shown)
{
	static struct profset_change c;
	const struct profile p = with_mount(mount);
	const struct profset now = with_root(shown), before = with_root(base ? base : "rw");
	struct err e = ERR_INIT;

	if (profset_plan(&p, &machine, base ? &before : NULL, &now, &c, &e))
		fail_msg("%s", e.text);
	assert_int_equal(c.mount_count, 1);
	assert_string_equal(c.mounts[0].target, "/");
	return c.mounts[0].options;
}

static void test_plan_bad(void **state)
{
	struct profile p = with_mount("sync,async");
	const struct profset now = with_root("rw");
	struct profset_change c;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(profset_plan(&p, &machine, NULL, &now, &c, &e), -EINVAL);
	assert_text_has(e.text, "safe");
	p = safe;
	p.dirty = (struct profile_amount){ PROFILE_DISK_MS, 8000 };
	assert_int_equal(profset_plan(&p, &unmeasured, NULL, &now, &c, &e), -ENODATA);
}

static void test_plan(void **state)
{
	struct profset_change c;
	const struct profset now = with_root("rw");

	(void)state;
	assert_int_equal(profset_plan(&safe, &machine, NULL, &now, &c, NULL), 0);
	assert_int_equal(c.knobs.dirty_bytes, 64 * NUM_MIB);
	assert_int_equal(c.knobs.dirty_ratio, 0);
	assert_int_equal(c.knobs.background_bytes, 16 * NUM_MIB);
	assert_int_equal(c.knobs.expire_cs, 500);
	assert_true(profset_is_changing(&c, &now));
	assert_string_equal(planned("sync", NULL, "rw"), "sync");
	assert_string_equal(planned("sync", NULL, "rw,sync"), "");
	assert_string_equal(planned("async,commit=5", NULL, "rw,sync,commit=30"), "async,commit=5");
	assert_string_equal(planned("", NULL, "rw,sync"), "");
	/* only what a remount takes */
	assert_string_equal(planned("data=writeback,commit=7", NULL, "rw"), "commit=7");
}

/* No profile leaves fsync without its promise. */
static void test_F08_plan_barrier(void **state)
{
	(void)state;
	assert_string_equal(planned("async,commit=1", NULL, "rw,nobarrier"), "commit=1,barrier");
	assert_string_equal(planned("sync,barrier=1", NULL, "rw,nobarrier"), "sync,barrier=1");
	assert_string_equal(planned("", NULL, "rw,nobarrier"), "barrier");
	assert_string_equal(planned("sync", "rw,nobarrier", "rw,sync,nobarrier"), "barrier");
	assert_string_equal(planned("sync", "rw", "rw,nobarrier"), "sync,barrier");
}

/* What was in force before and no profile may have alone, comes back when a profile does not name it. */
static void test_plan_lazytime(void **state)
{
	(void)state;
	assert_string_equal(planned("async", "rw,lazytime", "rw"), "lazytime");
	assert_string_equal(planned("async,nolazytime", "rw,lazytime", "rw"), "");
}

/* One profile after another is the same as the second alone. */
static void test_plan_base(void **state)
{
	(void)state;
	assert_string_equal(planned("sync", "rw", "rw,commit=30"), "sync,commit=5");
	assert_string_equal(planned("sync,commit=30", "rw", "rw,commit=30"), "sync");
	assert_string_equal(planned("commit=60", "rw", "rw,sync,commit=30"), "commit=60,async");
	assert_string_equal(planned("async", "rw,sync", "rw,sync"), "async");
	assert_string_equal(planned("", "rw,commit=20", "rw,commit=30"), "commit=20");
	/* what was there before anyone asked is nobody's to undo, unless a profile may have it */
	assert_string_equal(planned("sync", "rw,nobarrier", "rw"), "sync");
}

static void test_plan_other_mounts(void **state)
{
	struct profset now = with_root("rw,sync"), base = { .knobs = fake_usual };
	const struct profile p = with_mount("commit=9");
	struct profset_change c;

	(void)state;
	add_mount(&now, "home", HOME_UUID, "/home", "rw,sync");
	add_mount(&base, "home", HOME_UUID, "/somewhere", "rw");
	assert_int_equal(profset_plan(&p, &machine, &base, &now, &c, NULL), 0);
	assert_int_equal(c.mount_count, 2);
	assert_string_equal(c.mounts[0].options, "commit=9"); /* not in base: not ours to undo */
	assert_string_equal(c.mounts[1].target, "/home");
	assert_string_equal(c.mounts[1].options, "commit=9,async");
}

static void test_plan_back(void **state)
{
	struct profset saved = with_root("rw,commit=30"), now = with_root("rw,sync");
	struct profset_change c;

	(void)state;
	saved.knobs = (struct profile_knobs){ .dirty_bytes = 8192, .background_ratio = 3, .expire_cs = 1, .writeback_cs = 2 };
	add_mount(&saved, "gone", HOME_UUID, "/home", "rw,sync");
	add_mount(&now, "new", "WUBI-bbbbbbbb-cccc-dddd-eeee-ffffffffffff-new", "/new", "rw,sync");
	(void)snprintf(now.mounts[0].target, sizeof(now.mounts[0].target), "/moved");
	assert_int_equal(profset_plan_back(&saved, &now, &c, NULL), 0);
	assert_true(profile_knobs_equal(&c.knobs, &saved.knobs));
	assert_int_equal(c.mount_count, 2);
	assert_string_equal(c.mounts[0].target, "/moved");
	assert_string_equal(c.mounts[0].options, "async,commit=30");
	assert_string_equal(c.mounts[1].options, "");
	/* there and back again */
	assert_int_equal(profset_plan_back(&now, &now, &c, NULL), 0);
	assert_false(profset_is_changing(&c, &now));
}

static const char *after_reboot(const char *wanted, const char *saved, const char *shown)
{
	static char ret[MOUNTOPTS_TEXT];
	const struct profset now = with_root(shown), before = with_root(saved ? saved : "rw");
	struct err e = ERR_INIT;

	if (profset_after_reboot(wanted, saved ? &before : NULL, &now, ret, &e))
		fail_msg("%s", e.text);
	return ret;
}

static void test_after_reboot(void **state)
{
	const struct profset none = { .knobs = fake_usual };
	char ret[MOUNTOPTS_TEXT];

	(void)state;
	assert_string_equal(after_reboot("sync", NULL, "rw"), "");
	assert_string_equal(after_reboot("sync,data=writeback", NULL, "rw"), "data=writeback");
	assert_string_equal(after_reboot("data=writeback", "rw", "rw,data=writeback"), "");
	assert_string_equal(after_reboot("sync", "rw", "rw,data=writeback"), "data=ordered");
	assert_string_equal(after_reboot("", "rw,data=journal", "rw,data=journal"), "");
	assert_string_equal(after_reboot("data=journal", "rw", "rw,data=writeback"), "data=journal");
	assert_int_equal(profset_after_reboot("data=writeback", NULL, &none, ret, NULL), 0);
	assert_string_equal(ret, "");
}

/* ---- what is in force ---- */

static void test_read_none(void **state)
{
	struct profset s;

	(void)state;
	fake_mount("CRYPT-LUKS2-0123-home", "/", "rw");
	fake_mount("WUBI-host-0123456789abcdef", "/proc", "rw");
	fake_mount(HOME_UUID, "/dev", "rw");
	(void)snprintf(fake_mounts[2].type, sizeof(fake_mounts[2].type), "xfs");
	assert_int_equal(profset_read(&s, NULL), 0);
	assert_int_equal(s.mount_count, 0);
	assert_true(profile_knobs_equal(&s.knobs, &fake_usual));
}

static void test_read(void **state)
{
	struct profset s;

	(void)state;
	fake_mount(ROOT_UUID, "/", "rw,errors=remount-ro");
	fake_mount(HOME_UUID, "/proc", "rw,sync");
	assert_int_equal(profset_read(&s, NULL), 0);
	assert_int_equal(s.mount_count, 2);
	assert_string_equal(s.mounts[0].name, "root");
	assert_string_equal(s.mounts[0].uuid, ROOT_UUID);
	assert_true(s.mounts[0].is_root);
	assert_string_equal(s.mounts[1].options, "rw,sync");
	assert_false(s.mounts[1].is_root);
	/* under another mount: nobody gets there */
	fake_mounts[1].device++;
	assert_int_equal(profset_read(&s, NULL), 0);
	assert_int_equal(s.mount_count, 1);
}

/* ---- the change ---- */

static void plan_safe(struct profset_change *c, struct profset *now)
{
	assert_int_equal(profset_read(now, NULL), 0);
	assert_int_equal(profset_plan(&safe, &machine, NULL, now, c, NULL), 0);
}

static void mount_two(void)
{
	fake_mount(ROOT_UUID, "/", "rw,commit=30");
	fake_mount(HOME_UUID, "/proc", "rw");
}

static void test_apply_and_restore(void **state)
{
	static const struct profile_knobs starts[] = {
		{ .dirty_ratio = 20, .background_ratio = 10, .expire_cs = 3000, .writeback_cs = 500 },
		{ .dirty_bytes = 900000, .background_bytes = 800000, .expire_cs = 1, .writeback_cs = 2 },
		{ .dirty_bytes = 8192, .background_ratio = 3, .expire_cs = 10, .writeback_cs = 20 },
		{ .dirty_ratio = 50, .background_bytes = 4096, .expire_cs = 10, .writeback_cs = 0 },
		{ .dirty_ratio = 20, .background_ratio = 0, .expire_cs = 3000, .writeback_cs = 500 },
	};
	struct profset before, after;
	struct profset_change c;
	struct err e = ERR_INIT;
	bool changed = false;

	(void)state;
	mount_two();
	for (size_t i = 0; i < COUNT_OF(starts); i++) {
		fake_put_knobs(&starts[i]);
		plan_safe(&c, &before);
		assert_true(profset_is_changing(&c, &before));
		assert_int_equal(profset_apply(&c, &before, &e), 0);
		assert_int_equal(profset_read(&after, &e), 0);
		assert_true(profile_knobs_equal(&after.knobs, &c.knobs));
		assert_string_equal(after.mounts[0].options, "rw,commit=30,sync");
		assert_string_equal(after.mounts[1].options, "rw,sync");
		assert_false(profset_is_in_force(&before));
		assert_int_equal(profset_restore(&before, &changed, &e), 0);
		assert_true(changed);
		assert_true(profset_is_in_force(&before));
		assert_int_equal(profset_read(&after, &e), 0);
		assert_true(profile_knobs_equal(&after.knobs, &starts[i]));
		assert_string_equal(after.mounts[0].options, "rw,commit=30");
		assert_int_equal(profset_restore(&before, &changed, &e), 0);
		assert_false(changed);
	}
}

/* What no profile may have, and was there before, comes back as well. */
static void test_restore_odd(void **state)
{
	const struct profile p = with_mount("barrier,commit=1");
	struct profset before, after;
	struct profset_change c;
	struct err e = ERR_INIT;
	bool changed;

	(void)state;
	fake_mount(ROOT_UUID, "/", "rw,nobarrier,commit=600");
	assert_int_equal(profset_read(&before, NULL), 0);
	assert_int_equal(profset_plan(&p, &machine, NULL, &before, &c, &e), 0);
	assert_int_equal(profset_apply(&c, &before, &e), 0);
	if (profset_restore(&before, &changed, &e))
		fail_msg("%s", e.text);
	assert_int_equal(profset_read(&after, NULL), 0);
	assert_non_null(strstr(after.mounts[0].options, "nobarrier"));
	assert_non_null(strstr(after.mounts[0].options, "commit=600"));
}

/* Each of these fails in another place; all is as it was, and the text has the reason. */
static void test_rollback(void **state)
{
	static const struct {
		const char *refused, *ignored, *word;
		int code;
	} rows[] = {
		{ "sync", NULL, "the words of the kernel", -EINVAL },
		{ NULL, "sync", "took 'sync' without an error", -EIO },
		{ "dirty_bytes", NULL, "dirty_bytes", -EINVAL },
		{ "dirty_background_bytes", NULL, "dirty_background_bytes", -EINVAL },
		{ "dirty_writeback_centisecs", NULL, "dirty_writeback_centisecs", -EINVAL },
	};
	struct profset before, after;
	struct profset_change c;

	(void)state;
	mount_two();
	plan_safe(&c, &before);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct err e = ERR_INIT;

		fake_refused = rows[i].refused;
		fake_ignored = rows[i].ignored;
		assert_int_equal(profset_apply(&c, &before, &e), rows[i].code);
		assert_text_has(e.text, rows[i].word);
		if (strstr(e.text, "set back"))
			fail_msg("%zu: %s", i, e.text);
		assert_int_equal(profset_read(&after, NULL), 0);
		assert_true(profile_knobs_equal(&after.knobs, &before.knobs));
		assert_string_equal(after.mounts[0].options, before.mounts[0].options);
		assert_string_equal(after.mounts[1].options, before.mounts[1].options);
	}
}

/* The second of two mounts: the first one has changed already. */
static void test_rollback_second(void **state)
{
	struct profset before, after;
	struct profset_change c;
	struct err e = ERR_INIT;

	(void)state;
	mount_two();
	plan_safe(&c, &before);
	(void)snprintf(c.mounts[1].options, sizeof(c.mounts[1].options), "commit=9");
	fake_refused = "commit=9";
	assert_int_equal(profset_apply(&c, &before, &e), -EINVAL);
	assert_text_has(e.text, "/proc");
	assert_non_null(strstr(fake_log, "/ sync;"));
	assert_non_null(strstr(fake_log, "/ async;"));
	assert_int_equal(profset_read(&after, NULL), 0);
	assert_string_equal(after.mounts[0].options, "rw,commit=30");
}

/* Not even the way back works: that is told, too. */
static void test_rollback_fails(void **state)
{
	struct profset before;
	struct profset_change c;
	struct err e = ERR_INIT;

	(void)state;
	mount_two();
	plan_safe(&c, &before);
	fake_ignored = "dirty_expire_centisecs";
	assert_int_equal(profset_apply(&c, &before, &e), -EIO);
	assert_text_has(e.text, "dirty_expire_centisecs");
	assert_text_has(e.text, "could not be set back");
	assert_text_has(e.text, "wubi-profile reset");
}

/* One mount that takes no change any more does not keep the others and the knobs from it. */
static void test_restore_the_rest(void **state)
{
	const struct profile p = with_mount("sync,commit=9");
	struct profset before, after;
	struct profset_change c;
	struct err e = ERR_INIT;
	bool changed = false;

	(void)state;
	mount_two();
	assert_int_equal(profset_read(&before, NULL), 0);
	assert_int_equal(profset_plan(&p, &machine, NULL, &before, &c, NULL), 0);
	assert_int_equal(profset_apply(&c, &before, &e), 0);
	fake_refused = "commit=30"; /* of the first mount */
	assert_int_equal(profset_restore(&before, &changed, &e), -EINVAL);
	assert_text_has(e.text, "the words of the kernel");
	assert_int_equal(profset_read(&after, NULL), 0);
	assert_true(profile_knobs_equal(&after.knobs, &before.knobs));
	assert_string_equal(after.mounts[1].options, "rw");
	assert_false(profset_is_in_force(&before));
}

static void test_check_changes_nothing(void **state)
{
	struct profset before, after;
	struct profset_change c;
	char path[128];
	struct err e = ERR_INIT;

	(void)state;
	mount_two();
	plan_safe(&c, &before);
	assert_int_equal(profset_check(&c, &e), 0);
	assert_string_equal(fake_log, "/ ;/proc ;");
	(void)snprintf(path, sizeof(path), "%s/dirty_expire_centisecs", fake_dir);
	assert_int_equal(profset_read(&after, NULL), 0);
	assert_true(profile_knobs_equal(&before.knobs, &after.knobs));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(profset_check(&c, &e), -ENOENT);
	assert_int_equal(profset_apply(&c, &before, &e), -ENOENT);
	assert_text_has(e.text, "dirty_expire_centisecs");
	assert_string_equal(fake_log, "/ ;/proc ;");
	assert_false(profset_is_in_force(&before)); /* cannot be told */
}

static void test_unmounted_meanwhile(void **state)
{
	struct profset before, after;
	struct profset_change c;
	struct err e = ERR_INIT;

	(void)state;
	mount_two();
	plan_safe(&c, &before);
	(void)snprintf(fake_mounts[1].type, sizeof(fake_mounts[1].type), "gone");
	assert_int_equal(profset_apply(&c, &before, &e), -ENOENT);
	assert_text_has(e.text, "/proc");
	assert_int_equal(profset_read(&after, NULL), 0);
	assert_string_equal(after.mounts[0].options, "rw,commit=30");
}

/* ---- JSON ---- */

static char *as_json(const struct profset *s)
{
	AUTO(jsonout) struct jsonout *root = jsonout_object();
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	assert_non_null(f);
	profset_to_json(s, root);
	assert_int_equal(jsonout_print(root, f, NULL), 0);
	assert_int_equal(fclose(f), 0);
	return text;
}

static int from_text(const char *text, struct profset *ret, struct err *e)
{
	AUTO(jsonin) struct jsonin *root = NULL;
	int r = jsonin_parse(text, &root, e);

	return r ? r : profset_from_json(root, ret, e);
}

static void test_json_round_trip(void **state)
{
	struct profset s = with_root("rw,sync,errors=remount-ro"), back;
	AUTO_FREE char *text = NULL;
	struct err e = ERR_INIT;

	(void)state;
	s.knobs = (struct profile_knobs){ .dirty_bytes = UINT64_C(1) << 40, .background_ratio = 5, .expire_cs = 3000 };
	add_mount(&s, "home", HOME_UUID, "/a \"b\" \\c", "rw");
	text = as_json(&s);
	if (from_text(text, &back, &e))
		fail_msg("%s", e.text);
	assert_true(profile_knobs_equal(&s.knobs, &back.knobs));
	assert_int_equal(back.mount_count, 2);
	assert_string_equal(back.mounts[0].uuid, ROOT_UUID);
	assert_true(back.mounts[0].is_root);
	assert_string_equal(back.mounts[0].options, s.mounts[0].options);
	assert_string_equal(back.mounts[1].target, "/a \"b\" \\c");
	assert_false(back.mounts[1].is_root);
}

#define KNOBS_JSON(dirty, ratio) "\"knobs\":{\"dirty_bytes\":" dirty ",\"dirty_ratio\":" ratio ",\"dirty_background_bytes\":0," \
	"\"dirty_background_ratio\":10,\"dirty_expire_centisecs\":3000,\"dirty_writeback_centisecs\":500}"
#define MOUNT_JSON(uuid, target) "{\"name\":\"root\",\"uuid\":\"" uuid "\",\"target\":\"" target "\",\"options\":\"rw\"}"

static void test_json_hostile(void **state)
{
	static const char *const texts[] = {
		"null", "[]", "7", "\"x\"", "{}",
		"{" KNOBS_JSON("0", "20") "}",                                 /* no mounts */
		"{\"mounts\":[]}",
		"{\"knobs\":{},\"mounts\":[]}",
		"{\"knobs\":7,\"mounts\":[]}",
		"{" KNOBS_JSON("8192", "20") ",\"mounts\":[]}",                /* both of a pair */
		"{" KNOBS_JSON("-1", "0") ",\"mounts\":[]}",
		"{" KNOBS_JSON("0", "101") ",\"mounts\":[]}",
		"{" KNOBS_JSON("\"8192\"", "0") ",\"mounts\":[]}",
		"{" KNOBS_JSON("18446744073709551615", "0") ",\"mounts\":[]}",
		"{" KNOBS_JSON("1e300", "0") ",\"mounts\":[]}",
		"{" KNOBS_JSON("0", "20") ",\"mounts\":[7]}",
		"{" KNOBS_JSON("0", "20") ",\"mounts\":[null]}",
		"{" KNOBS_JSON("0", "20") ",\"mounts\":[{}]}",
		"{" KNOBS_JSON("0", "20") ",\"mounts\":[" MOUNT_JSON("CRYPT-1", "/") "]}",
		"{" KNOBS_JSON("0", "20") ",\"mounts\":[" MOUNT_JSON("WUBI-host-0123", "/") "]}",
		"{" KNOBS_JSON("0", "20") ",\"mounts\":[" MOUNT_JSON("WUBI-1-root", "relative") "]}",
		"{" KNOBS_JSON("0", "20") ",\"mounts\":[" MOUNT_JSON("WUBI-1-root", "") "]}",
		"{" KNOBS_JSON("0", "20") ",\"mounts\":[" MOUNT_JSON("WUBI-1-root", "/") "," MOUNT_JSON("WUBI-1-root", "/a") "]}",
	};
	struct profset s = { .mount_count = 99 };
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		err_clear(&e);
		if (from_text(texts[i], &s, &e) != -EINVAL)
			fail_msg("taken: %s", texts[i]);
		assert_true(e.text[0]);
		assert_int_equal(s.mount_count, 99); /* untouched */
	}
	assert_int_equal(profset_from_json(NULL, &s, &e), -EINVAL);
}

static void test_json_too_much(void **state)
{
	char text[16384] = "{" KNOBS_JSON("0", "20") ",\"mounts\":[";
	struct profset s;
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i <= PROFSET_MOUNTS_MAX; i++) {
		size_t used = strlen(text);

		(void)snprintf(text + used, sizeof(text) - used,
			       "%s{\"name\":\"m\",\"uuid\":\"WUBI-%d-m\",\"target\":\"/%d\",\"options\":\"rw\"}", i ? "," : "",
			       i, i);
	}
	strcat(text, "]}");
	assert_int_equal(from_text(text, &s, &e), -EINVAL);
	/* longer than what it goes into */
	(void)snprintf(text, sizeof(text), "{" KNOBS_JSON("0", "20") ",\"mounts\":[{\"name\":\"%040d\",\"uuid\":\"WUBI-1-m\","
		       "\"target\":\"/\",\"options\":\"rw\"}]}", 0);
	assert_int_equal(from_text(text, &s, &e), -EINVAL);
	(void)snprintf(text, sizeof(text), "{" KNOBS_JSON("0", "20") ",\"mounts\":[{\"name\":\"m\",\"uuid\":\"WUBI-1-m\","
		       "\"target\":\"/\",\"options\":\"%0512d\"}]}", 0);
	assert_int_equal(from_text(text, &s, &e), -EINVAL);
}

/* The kernel takes a ratio of 0 and has neither then: that, too, comes back. */
static void test_json_neither(void **state)
{
	struct profset s;

	(void)state;
	assert_int_equal(from_text("{" KNOBS_JSON("0", "0") ",\"mounts\":[]}", &s, NULL), 0);
	assert_int_equal(s.knobs.dirty_bytes, 0);
	assert_int_equal(s.knobs.dirty_ratio, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fake_set_up, fake_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_plan_bad),
		TEST(test_read_none),
		TEST(test_json_hostile),
		TEST(test_json_too_much),
		TEST(test_plan),
		TEST(test_F08_plan_barrier),
		TEST(test_plan_lazytime),
		TEST(test_plan_base),
		TEST(test_plan_other_mounts),
		TEST(test_plan_back),
		TEST(test_after_reboot),
		TEST(test_read),
		TEST(test_apply_and_restore),
		TEST(test_restore_odd),
		TEST(test_rollback),
		TEST(test_rollback_second),
		TEST(test_rollback_fails),
		TEST(test_restore_the_rest),
		TEST(test_check_changes_nothing),
		TEST(test_unmounted_meanwhile),
		TEST(test_json_round_trip),
		TEST(test_json_neither),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
