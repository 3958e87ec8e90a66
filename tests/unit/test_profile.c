/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "num.h"
#include "profile.h"

#define PAGE 4096u

static const struct profile sound = {
	.name = "mine", .mount = "async,commit=5", .dirty = { PROFILE_BYTES, 64 * NUM_MIB },
	.background = { PROFILE_BYTES, 16 * NUM_MIB }, .expire_cs = 500, .writeback_cs = 100, .loss_ms = 11000,
};

/* 8 GiB, and a disk of 100 MB/s. */
static const struct profile_machine machine = { PAGE, 8 * NUM_GIB, 100000000 };

static void check_refused(const struct profile *p, const char *key, const char *word)
{
	struct err e = ERR_INIT;

	if (profile_check(p, PAGE, &e) != -EINVAL)
		fail_msg("taken: %s %s", key, word);
	if (strncmp(e.text, key, strlen(key)) != 0 || e.text[strlen(key)] != ':')
		fail_msg("'%s' does not begin with %s", e.text, key);
	assert_text_has(e.text, word);
	assert_text_has(e.text, "allowed");
}

static void test_bad_amounts(void **state)
{
	static const char *const bad[] = {
		"", " ", "x", "-1", "+1", "1.5MiB", "64 MiB", " 64MiB", "64MiB ", "64mebi", "64KB/s", "0x40", "MiB", "%", "s",
		"ms", "20%%", "20 %", "20pct", "2%s", "2s%", "5min", "5us", "5S", "5Ms", "5MiBs", "05s", "05%", "1e3", "8s8s",
		"00000000000000000000000009%",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct profile_amount a = { PROFILE_PERCENT, 77 };
		struct err e = ERR_INIT;

		if (profile_parse_amount(bad[i], &a, &e) != -EINVAL)
			fail_msg("'%s' is taken", bad[i]);
		assert_text_has(e.text, bad[i]);
		assert_text_has(e.text, "MiB");
		assert_text_has(e.text, "20%");
		assert_text_has(e.text, "8s");
		assert_true(a.unit == PROFILE_PERCENT && a.value == 77);
	}
}

static void test_amounts_too_large(void **state)
{
	static const char *const large[] = {
		"18446744073709551616", "99999999999P", "18446744073709552s", "18446744073709551616ms",
		"99999999999999999999999999999999%",
	};
	struct profile_amount a;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(large); i++)
		if (profile_parse_amount(large[i], &a, NULL) != -ERANGE)
			fail_msg("'%s'", large[i]);
}

static void test_amounts(void **state)
{
	static const struct {
		const char *text;
		struct profile_amount amount;
		const char *again;
	} good[] = {
		{ "64MiB", { PROFILE_BYTES, 64 * NUM_MIB }, "64MiB" },
		{ "64M", { PROFILE_BYTES, 64 * NUM_MIB }, "64MiB" },
		{ "64MB", { PROFILE_BYTES, 64000000 }, "62500KiB" },
		{ "8193", { PROFILE_BYTES, 8193 }, "8193" },
		{ "1GiB", { PROFILE_BYTES, NUM_GIB }, "1GiB" },
		{ "0", { PROFILE_BYTES, 0 }, "0" },
		{ "20%", { PROFILE_PERCENT, 20 }, "20%" },
		{ "0%", { PROFILE_PERCENT, 0 }, "0%" },
		{ "8s", { PROFILE_DISK_MS, 8000 }, "8s" },
		{ "500ms", { PROFILE_DISK_MS, 500 }, "500ms" },
		{ "2000ms", { PROFILE_DISK_MS, 2000 }, "2s" },
		{ "0ms", { PROFILE_DISK_MS, 0 }, "0s" },
	};
	char buf[PROFILE_AMOUNT_TEXT];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct profile_amount a;

		assert_int_equal(profile_parse_amount(good[i].text, &a, NULL), 0);
		assert_true(a.unit == good[i].amount.unit && a.value == good[i].amount.value);
		assert_string_equal(profile_format_amount(&a, buf), good[i].again);
		assert_int_equal(profile_parse_amount(buf, &a, NULL), 0);
		assert_true(a.unit == good[i].amount.unit && a.value == good[i].amount.value);
	}
	assert_string_equal(profile_format_amount(&(struct profile_amount){ PROFILE_BYTES, UINT64_MAX }, buf),
			    "18446744073709551615");
}

static void test_times(void **state)
{
	static const char *const bad[] = {
		"", "5", "5 s", "5m", "5min", "s", "-5s", "1.5s", "5ms", "501ms", "5sec", "20%", "64MiB", "5S",
	};
	struct err e = ERR_INIT;
	unsigned ms = 7;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		if (profile_parse_ms(bad[i], &ms, &e) != -EINVAL)
			fail_msg("'%s' is taken", bad[i]);
		assert_text_has(e.text, "5s");
		assert_text_has(e.text, "500ms");
	}
	assert_int_equal(profile_parse_ms("4294968s", &ms, NULL), -ERANGE);
	assert_int_equal(profile_parse_ms("18446744073709551616s", &ms, NULL), -ERANGE);
	assert_int_equal(ms, 7);
	assert_int_equal(profile_parse_ms("0s", &ms, NULL), 0);
	assert_int_equal(ms, 0);
	assert_int_equal(profile_parse_ms("500ms", &ms, NULL), 0);
	assert_int_equal(ms, 500);
	assert_int_equal(profile_parse_ms("3600s", &ms, NULL), 0);
	assert_int_equal(ms, 3600000);
}

static void test_names(void **state)
{
	static const char *const bad[] = {
		"", "-", "1", "1a", "-a", "A", "Safe", "a_b", "a b", "a.b", "a/b", "\xc3\xa4", "a\n",
		"a2345678901234567890123456789012",
	};
	static const char *const good[] = { "a", "safe", "my-own-2", "a-", "a234567890123456789012345678901" };
	struct profile p = sound;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (profile_name_is_valid(bad[i]))
			fail_msg("'%s' is taken", bad[i]);
	for (size_t i = 0; i < COUNT_OF(good); i++)
		if (!profile_name_is_valid(good[i]))
			fail_msg("'%s' is refused", good[i]);
	(void)strcpy(p.name, "Mine");
	check_refused(&p, "name", "'Mine'");
}

static void test_phases(void **state)
{
	enum profile_phase phase = PROFILE_ISO_COPY;

	(void)state;
	assert_false(profile_phase_parse("", &phase));
	assert_false(profile_phase_parse("iso_copy", &phase));
	assert_false(profile_phase_parse("Normal", &phase));
	assert_int_equal(phase, PROFILE_ISO_COPY);
	for (int i = 0; i < PROFILE_PHASES; i++) {
		assert_true(profile_phase_parse(profile_phase_name((enum profile_phase)i), &phase));
		assert_int_equal(phase, i);
	}
	assert_string_equal(profile_phase_name(PROFILE_NORMAL), "normal");
	assert_string_equal(profile_phase_name(PROFILE_ISO_COPY), "iso-copy");
}

static void test_check_mount_options(void **state)
{
	struct profile p = sound;

	(void)state;
	(void)strcpy(p.mount, "sync,nobarrier");
	check_refused(&p, "mount", "'nobarrier'");
	(void)strcpy(p.mount, "");
	assert_int_equal(profile_check(&p, PAGE, NULL), 0); /* commit=5 is what ext4 does by itself */
}

static void test_F03_two_pages_at_least(void **state)
{
	static const struct {
		uint64_t page, bytes;
		bool good;
	} rows[] = {
		{ 4096, 1, false }, { 4096, 5, false }, { 4096, 4096, false }, { 4096, 8191, false }, { 4096, 8192, true },
		{ 4096, 131071, true }, { 4096, 131072, true }, { 65536, 1, false }, { 65536, 4096, false },
		{ 65536, 8191, false }, { 65536, 8192, false }, { 65536, 131071, false }, { 65536, 131072, true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct profile_machine m = { rows[i].page, 8 * NUM_GIB, 0 };
		struct profile_knobs k = { .dirty_bytes = rows[i].bytes + 1, .background_bytes = rows[i].bytes };
		struct profile p = sound;
		struct err e = ERR_INIT;

		p.background.value = rows[i].bytes;
		assert_int_equal(profile_check(&p, rows[i].page, &e), rows[i].good ? 0 : -EINVAL);
		assert_int_equal(profile_knobs_check(&k, &m, NULL), rows[i].good ? 0 : -EINVAL);
		if (!rows[i].good)
			assert_int_equal(strncmp(e.text, "background: ", 12), 0);
		if (!rows[i].good)
			assert_text_has(e.text, rows[i].page == 4096 ? "8192" : "131072");
		p.background.value = 1;
		p.dirty.value = rows[i].bytes;
		err_clear(&e);
		assert_int_equal(profile_check(&p, rows[i].page, &e), -EINVAL);
		assert_int_equal(strncmp(e.text, "dirty: ", 7) == 0, !rows[i].good);
		k = (struct profile_knobs){ .dirty_bytes = rows[i].bytes, .background_ratio = 0 };
		assert_int_equal(profile_knobs_check(&k, &m, NULL), -EINVAL);
	}
}

static void test_F07_background_is_below_the_limit(void **state)
{
	static const struct profile_amount pairs[][2] = { /* background, dirty */
		{ { PROFILE_BYTES, 64 * NUM_MIB }, { PROFILE_BYTES, 64 * NUM_MIB } },
		{ { PROFILE_BYTES, 65 * NUM_MIB }, { PROFILE_BYTES, 64 * NUM_MIB } },
		{ { PROFILE_PERCENT, 20 }, { PROFILE_PERCENT, 20 } },
		{ { PROFILE_PERCENT, 21 }, { PROFILE_PERCENT, 20 } },
		{ { PROFILE_DISK_MS, 2000 }, { PROFILE_DISK_MS, 2000 } },
		{ { PROFILE_DISK_MS, 3000 }, { PROFILE_DISK_MS, 2000 } },
	};
	struct profile p = sound;

	(void)state;
	p.loss_ms = 20000;
	for (size_t i = 0; i < COUNT_OF(pairs); i++) {
		p.background = pairs[i][0];
		p.dirty = pairs[i][1];
		check_refused(&p, "background", "not below");
		p.background.value = p.dirty.value - 1;
		assert_int_equal(profile_check(&p, PAGE, NULL), 0);
	}
}

/* What has two units can be compared on a machine only. */
static void test_F07_mixed_units(void **state)
{
	struct profile p = sound;
	struct profile_knobs k;
	struct err e = ERR_INIT;

	(void)state;
	p.background = (struct profile_amount){ PROFILE_PERCENT, 10 };
	assert_int_equal(profile_check(&p, PAGE, NULL), 0);
	assert_int_equal(profile_resolve(&p, &machine, &k, &e), -EINVAL);
	assert_text_has(e.text, "'mine'");
	assert_text_has(e.text, "not below");
	p.dirty.value = 2 * NUM_GIB;
	assert_int_equal(profile_resolve(&p, &machine, &k, NULL), 0);
	assert_true(k.dirty_bytes == 2 * NUM_GIB && k.dirty_ratio == 0 && k.background_bytes == 0 && k.background_ratio == 10);
}

static void test_shares_and_times_have_bounds(void **state)
{
	struct profile p = sound;

	(void)state;
	p.dirty = (struct profile_amount){ PROFILE_PERCENT, 101 };
	check_refused(&p, "dirty", "'101%'");
	p.dirty.value = 0;
	check_refused(&p, "dirty", "'0%'");
	p.dirty = (struct profile_amount){ PROFILE_DISK_MS, 0 };
	check_refused(&p, "dirty", "'0s'");
	p.dirty.value = 3600001;
	check_refused(&p, "dirty", "3600001");
	p = sound;
	p.background = (struct profile_amount){ PROFILE_PERCENT, 0 };
	check_refused(&p, "background", "'0%'");
	p.dirty = (struct profile_amount){ PROFILE_PERCENT, 100 };
	p.background.value = 99;
	assert_int_equal(profile_check(&p, PAGE, NULL), 0);
}

static void test_intervals_have_bounds(void **state)
{
	struct profile p = sound;

	(void)state;
	p.expire_cs = 0;
	check_refused(&p, "expire", "'0s'");
	p.expire_cs = PROFILE_CENTISECS_MAX + 1;
	check_refused(&p, "expire", "3600s");
	p = sound;
	p.writeback_cs = 0;
	check_refused(&p, "writeback", "'0s'");
	p.writeback_cs = UINT_MAX;
	check_refused(&p, "writeback", "3600s");
	p = sound;
	p.expire_cs = p.writeback_cs = PROFILE_CENTISECS_MAX;
	p.loss_ms = 2 * 3600000 + 5000;
	assert_int_equal(profile_check(&p, PAGE, NULL), 0);
}

static void test_no_more_is_promised_than_can_be_kept(void **state)
{
	struct profile p = sound;

	(void)state;
	p.loss_ms = 0;
	check_refused(&p, "loss", "'sync'");
	p.loss_ms = 10990; /* 5 s and 1 s and 5 s */
	check_refused(&p, "loss", "11s");
	p.loss_ms = 11000;
	assert_int_equal(profile_check(&p, PAGE, NULL), 0);
	(void)strcpy(p.mount, "commit=30");
	check_refused(&p, "loss", "36s");
	(void)strcpy(p.mount, "commit=1");
	p.loss_ms = 7000;
	assert_int_equal(profile_check(&p, PAGE, NULL), 0);
	p.dirty = (struct profile_amount){ PROFILE_DISK_MS, 8000 };
	check_refused(&p, "loss", "46s"); /* five times the queue: its own, the commit before, and the commit */
	p.loss_ms = 46000;
	assert_int_equal(profile_check(&p, PAGE, NULL), 0);
	(void)strcpy(p.mount, "sync");
	p.loss_ms = 0;
	assert_int_equal(profile_check(&p, PAGE, NULL), 0);
}

static void test_knobs_the_kernel_would_refuse_or_change(void **state)
{
	static const struct profile_knobs bad[] = {
		{ .dirty_bytes = 0, .background_bytes = 8192 },
		{ .dirty_bytes = 65536 },
		{ .dirty_bytes = 65536, .dirty_ratio = 20, .background_bytes = 8192 },
		{ .dirty_bytes = 65536, .background_bytes = 8192, .background_ratio = 1 },
		{ .dirty_bytes = 65536, .background_bytes = 65536 },
		{ .dirty_bytes = 8192, .background_bytes = 65536 },
		{ .dirty_ratio = 20, .background_ratio = 20 },
		{ .dirty_ratio = 101, .background_ratio = 20 },
		{ .dirty_ratio = 20, .background_ratio = 101 },
		{ .dirty_ratio = 1, .background_bytes = 4 * NUM_GIB },
		{ .dirty_bytes = 64 * NUM_MIB, .background_ratio = 10 },
	};
	static const struct profile_knobs good[] = {
		{ .dirty_ratio = 20, .background_ratio = 10 },
		{ .dirty_bytes = 16384, .background_bytes = 8192 },
		{ .dirty_bytes = 2 * NUM_GIB, .background_ratio = 10 },
		{ .dirty_ratio = 20, .background_bytes = 8192 },
		{ .dirty_ratio = 100, .background_ratio = 99 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (profile_knobs_check(&bad[i], &machine, NULL) != -EINVAL)
			fail_msg("row %zu is taken", i);
	for (size_t i = 0; i < COUNT_OF(good); i++)
		if (profile_knobs_check(&good[i], &machine, NULL))
			fail_msg("row %zu is refused", i);
}

/* What is written is the non-zero member of each pair, so there has to be exactly one, whatever the units. */
static void test_F01_F02_one_member_of_each_pair(void **state)
{
	static const struct profile_amount limits[] = {
		{ PROFILE_BYTES, 2 * NUM_GIB }, { PROFILE_PERCENT, 20 }, { PROFILE_DISK_MS, 8000 },
	};
	static const struct profile_amount backgrounds[] = {
		{ PROFILE_BYTES, NUM_MIB }, { PROFILE_PERCENT, 1 }, { PROFILE_DISK_MS, 1000 },
	};

	(void)state;
	for (size_t i = 0; i < 9; i++) {
		struct profile_knobs k, other;
		struct profile p = sound;

		p.dirty = limits[i / 3];
		p.background = backgrounds[i % 3];
		assert_int_equal(profile_resolve(&p, &machine, &k, NULL), 0);
		assert_true(!k.dirty_bytes != !k.dirty_ratio && !k.background_bytes != !k.background_ratio);
		assert_true(k.expire_cs == 500 && k.writeback_cs == 100);
		assert_int_equal(profile_knobs_check(&k, &machine, NULL), 0);
		other = k;
		assert_true(profile_knobs_equal(&k, &other));
	}
}

static void test_knobs_equal_looks_at_all(void **state)
{
	const struct profile_knobs one = { 1, 2, 3, 4, 5, 6 };
	uint64_t values[6];
	struct profile_knobs two;

	(void)state;
	assert_true(profile_knobs_equal(&one, &one));
	for (size_t i = 0; i < 6; i++) {
		memcpy(values, &one, sizeof(one));
		values[i]++;
		memcpy(&two, values, sizeof(two));
		assert_false(profile_knobs_equal(&one, &two));
	}
}

static void test_disk_time_needs_the_speed(void **state)
{
	struct profile_machine m = machine;
	struct profile_knobs k = { .dirty_bytes = 7 };
	struct profile p = sound;
	struct err e = ERR_INIT;

	(void)state;
	m.disk_bytes_per_s = 0;
	assert_int_equal(profile_resolve(&p, &m, &k, NULL), 0); /* bytes do not */
	p.background = (struct profile_amount){ PROFILE_DISK_MS, 100 };
	assert_int_equal(profile_resolve(&p, &m, &k, &e), -ENODATA);
	assert_text_has(e.text, "'mine': background");
	assert_text_has(e.text, "wubi-profile measure");
	p.dirty = (struct profile_amount){ PROFILE_DISK_MS, 8000 };
	assert_int_equal(profile_resolve(&p, &m, &k, &e), -ENODATA);
	assert_text_has(e.text, "dirty");
}

/* However much memory there is: a slow disk gets what it can write in that time. */
static void test_F05_bounded_by_the_disk(void **state)
{
	static const uint64_t memories[] = { 8 * NUM_GIB, 16 * NUM_GIB, 64 * NUM_GIB, 1024 * NUM_GIB };
	struct profile p = sound;

	(void)state;
	p.dirty = (struct profile_amount){ PROFILE_DISK_MS, 8000 };
	p.background = (struct profile_amount){ PROFILE_DISK_MS, 2000 };
	for (size_t i = 0; i < COUNT_OF(memories); i++) {
		struct profile_machine m = { PAGE, memories[i], 20000000 };
		struct profile_window w;
		struct profile_knobs k;

		assert_int_equal(profile_resolve(&p, &m, &k, NULL), 0);
		assert_int_equal(k.dirty_ratio, 0);
		assert_true(k.dirty_bytes <= 160000000 && k.dirty_bytes > 160000000 - PAGE);
		assert_true(k.background_bytes <= 40000000 && k.background_bytes > 40000000 - PAGE);
		assert_true(k.dirty_bytes % PAGE == 0 && k.background_bytes % PAGE == 0);
		profile_window(&k, &m, "rw", &w);
		assert_true(w.ms > 5000 + 1000 + 5 * 7990 && w.ms <= 5000 + 1000 + 5 * 8000);
	}
}

static void test_disk_time_has_bounds(void **state)
{
	static const struct {
		uint64_t page, memory, speed, dirty, background;
	} rows[] = {
		{ 4096, 8 * NUM_GIB, 1000000, 16 * NUM_MIB, 8 * NUM_MIB },             /* slow: 16 MiB, and half of that */
		{ 4096, 8 * NUM_GIB, 4000000, 31997952, 15998976 },                    /* the lower bound is above the half */
		{ 4096, NUM_GIB, 3000000000, 214745088, 107372544 },                   /* fast: a fifth of the memory */
		{ 4096, 64 * NUM_MIB, 100000000, 13418496, 6709248 },                  /* a fifth of it is less than 16 MiB */
		{ 65536, 8 * NUM_GIB, 100000000, 799997952, 199950336 },               /* in whole pages */
		{ 4096, 8 * NUM_GIB, UINT64_MAX, 1717985280, 858992640 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct profile_machine m = { rows[i].page, rows[i].memory, rows[i].speed };
		struct profile_knobs k;
		struct profile p = sound;
		struct err e = ERR_INIT;

		p.dirty = (struct profile_amount){ PROFILE_DISK_MS, 8000 };
		p.background = (struct profile_amount){ PROFILE_DISK_MS, 2000 };
		if (profile_resolve(&p, &m, &k, &e))
			fail_msg("row %zu: %s", i, e.text);
		assert_int_equal(k.dirty_bytes, rows[i].dirty);
		assert_int_equal(k.background_bytes, rows[i].background);
	}
}

/* Half of a limit that is a share of the memory or given in bytes. */
static void test_background_by_the_disk_under_another_limit(void **state)
{
	struct profile_machine m = { PAGE, NUM_GIB, 1000000000 };
	struct profile_knobs k;
	struct profile p = sound;

	(void)state;
	p.background = (struct profile_amount){ PROFILE_DISK_MS, 2000 };
	assert_int_equal(profile_resolve(&p, &m, &k, NULL), 0);
	assert_int_equal(k.background_bytes, 32 * NUM_MIB);
	p.dirty = (struct profile_amount){ PROFILE_PERCENT, 10 };
	assert_int_equal(profile_resolve(&p, &m, &k, NULL), 0);
	assert_int_equal(k.background_bytes, NUM_GIB / 20 - NUM_GIB / 20 % PAGE);
	p.dirty = (struct profile_amount){ PROFILE_BYTES, 3 * PAGE }; /* half of it is less than two pages */
	assert_int_equal(profile_resolve(&p, &m, &k, NULL), -EINVAL);
}

static void test_window(void **state)
{
	struct profile_knobs k = { .dirty_bytes = 200000001, .background_bytes = 8192, .expire_cs = 1500, .writeback_cs = 500 };
	struct profile_machine m = machine;
	struct profile_window w;

	(void)state;
	profile_window(&k, &m, "rw,errors=remount-ro", &w);
	assert_false(w.calls_are_durable);
	assert_int_equal(w.ms, 15000 + 5000 + 2001 + 5000 + 2 * 2001); /* a rest of a millisecond is one */
	/* the limit in memory, and what the disk took since its last flush */
	assert_int_equal(w.bytes, 3 * 200000001ULL + 5 * m.disk_bytes_per_s);
	assert_true(w.speed_is_known);
	profile_window(&k, &m, "rw,sync,commit=1", &w);
	assert_true(w.calls_are_durable);
	assert_int_equal(w.ms, 15000 + 5000 + 5 * 2001); /* a commit waits for the one before for longer than its interval */
	assert_int_equal(w.bytes, 5 * 200000001ULL);
	assert_true(w.fsync_is_durable);
	profile_window(&k, &m, "rw,sync,nobarrier", &w);
	assert_false(w.fsync_is_durable);
	assert_false(w.calls_are_durable);
	m.disk_bytes_per_s = 0;
	profile_window(&k, &m, "rw", &w);
	assert_int_equal(w.ms, 25000);
	assert_false(w.speed_is_known);
	k = (struct profile_knobs){ .dirty_ratio = 20, .background_ratio = 10, .expire_cs = 3000, .writeback_cs = 500 };
	profile_window(&k, &m, "rw", &w);
	assert_int_equal(w.bytes, 5 * (8 * NUM_GIB / 5));
}

static void test_window_without_bounds(void **state)
{
	struct profile_knobs k = { .dirty_bytes = UINT64_MAX, .background_bytes = 1, .expire_cs = 3000, .writeback_cs = 500 };
	struct profile_machine m = { PAGE, UINT64_MAX, 1 };
	struct profile_window w;

	(void)state;
	profile_window(&k, &m, "rw", &w);
	assert_true(w.ms == UINT64_MAX);
	k.dirty_bytes = 8192;
	k.expire_cs = UINT64_MAX;
	profile_window(&k, &machine, "rw", &w);
	assert_true(w.ms == UINT64_MAX);
	k.expire_cs = 1;
	k.writeback_cs = 0; /* as laptop mode had it: the flusher does not wake up */
	profile_window(&k, &machine, "rw,sync", &w);
	assert_true(w.ms == UINT64_MAX && w.calls_are_durable);
	k = (struct profile_knobs){ .dirty_ratio = 100, .background_ratio = 1, .writeback_cs = 1 };
	profile_window(&k, &m, "rw", &w);
	assert_true(w.bytes == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_amounts),
		cmocka_unit_test(test_amounts_too_large),
		cmocka_unit_test(test_amounts),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_phases),
		cmocka_unit_test(test_check_mount_options),
		cmocka_unit_test(test_F03_two_pages_at_least),
		cmocka_unit_test(test_F07_background_is_below_the_limit),
		cmocka_unit_test(test_F07_mixed_units),
		cmocka_unit_test(test_shares_and_times_have_bounds),
		cmocka_unit_test(test_intervals_have_bounds),
		cmocka_unit_test(test_no_more_is_promised_than_can_be_kept),
		cmocka_unit_test(test_knobs_the_kernel_would_refuse_or_change),
		cmocka_unit_test(test_F01_F02_one_member_of_each_pair),
		cmocka_unit_test(test_knobs_equal_looks_at_all),
		cmocka_unit_test(test_disk_time_needs_the_speed),
		cmocka_unit_test(test_F05_bounded_by_the_disk),
		cmocka_unit_test(test_disk_time_has_bounds),
		cmocka_unit_test(test_background_by_the_disk_under_another_limit),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_window_without_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
