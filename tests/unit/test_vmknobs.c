/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder in the place of /proc/sys/vm; what is written passes through kernel_write(), which keeps the kernel's rules. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_all.h"

static char folder[64];
static ssize_t kernel_write(int fd, const void *buf, size_t n);

#define VMKNOBS_FOLDER folder
#define write kernel_write
#include "../../src/vmknobs.c"
#undef write

#define NOBODY 65534
#define MIB UINT64_C(1048576)
#define MEMORY (UINT64_C(8) << 30)

static char log_text[512];      /* "dirty_bytes=5 ..." */
static const char *refused;     /* this knob's write is EINVAL */
static const char *ignored;     /* this knob's write changes nothing */
static bool is_plain;           /* a folder without the kernel's rules */
static int bad_moments;         /* states with background >= limit */

static void put_value(const char *name, uint64_t value)
{
	char path[PATH_MAX];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fprintf(f, "%" PRIu64 "\n", value) > 0);
	assert_int_equal(fclose(f), 0);
}

static uint64_t get_value(const char *name)
{
	char path[PATH_MAX], text[32] = "";
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	assert_int_equal(fclose(f), 0);
	return strtoull(text, NULL, 10);
}

static uint64_t in_bytes(const char *bytes, const char *ratio)
{
	return get_value(bytes) ? get_value(bytes) : get_value(ratio) * MEMORY / 100;
}

static uint64_t limit_now(void)
{
	return in_bytes("dirty_bytes", "dirty_ratio");
}

static uint64_t background_now(void)
{
	return in_bytes("dirty_background_bytes", "dirty_background_ratio");
}

/* mm/page-writeback.c, the handlers of the four. The file is open and empty: what it had is in 'old'. */
static int keep_rules(const char *name, uint64_t old, uint64_t value)
{
	bool is_bytes = strstr(name, "_bytes") != NULL, is_limit = !strstr(name, "background");
	uint64_t least = is_limit ? 2 * (uint64_t)sysconf(_SC_PAGESIZE) : 1;
	const char *other = is_limit ? (is_bytes ? "dirty_ratio" : "dirty_bytes")
				     : (is_bytes ? "dirty_background_ratio" : "dirty_background_bytes");

	if (strstr(name, "centisecs"))
		return 0;
	if (is_bytes ? value < least : value > 100)
		return -1;
	if (!is_limit || value != old)
		put_value(other, 0);
	return 0;
}

/* What each knob has: the file of one that is being written is empty. */
static uint64_t values[PROFILE_KNOBS];

static ssize_t kernel_write(int fd, const void *buf, size_t n)
{
	char link[64], path[PATH_MAX] = "", text[64];
	const char *name;
	int knob = 0;
	uint64_t value;

	assert_true(n < sizeof(text));
	memcpy(text, buf, n);
	text[n] = '\0';
	value = strtoull(text, NULL, 10);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_true(readlink(link, path, sizeof(path) - 1) > 0);
	name = strrchr(path, '/') + 1;
	while (strcmp(profile_knob_name(knob), name) != 0)
		knob++;
	(void)snprintf(log_text + strlen(log_text), sizeof(log_text) - strlen(log_text), "%s=%" PRIu64 " ", name, value);
	if (is_plain) {
		put_value(name, value);
		return (ssize_t)n;
	}
	if ((refused && strcmp(refused, name) == 0) || keep_rules(name, values[knob], value) < 0) {
		put_value(name, values[knob]);
		errno = EINVAL;
		return -1;
	}
	put_value(name, ignored && strcmp(ignored, name) == 0 ? values[knob] : value);
	for (int i = 0; i < PROFILE_KNOBS; i++)
		values[i] = get_value(profile_knob_name(i));
	bad_moments += background_now() >= limit_now();
	return (ssize_t)n;
}

static void put_all(const struct profile_knobs *k)
{
	for (int i = 0; i < PROFILE_KNOBS; i++) {
		values[i] = profile_knob_get(k, i);
		put_value(profile_knob_name(i), values[i]);
	}
	log_text[0] = '\0';
	refused = ignored = NULL;
	is_plain = false;
	bad_moments = 0;
}

static int set_up(void **state)
{
	(void)state;
	/* in memory if possible: on a disk, ext4 writes out what replaces a file's text, some thousand times */
	(void)snprintf(folder, sizeof(folder), "%s/wubi-test-vmknobs-XXXXXX",
		       access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	char path[PATH_MAX];

	(void)state;
	for (int i = 0; i < PROFILE_KNOBS; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, profile_knob_name(i));
		(void)unlink(path);
	}
	return rmdir(folder);
}

static const struct profile_knobs defaults = { 0, 20, 0, 10, 3000, 500 };
static const struct profile_knobs safe = { 64 * MIB, 0, 16 * MIB, 0, 500, 100 };

static void assert_is(const struct profile_knobs *wanted)
{
	struct profile_knobs now = { 0 };
	struct err e = ERR_INIT;

	if (vmknobs_read(&now, &e))
		fail_msg("%s", e.text);
	for (int i = 0; i < PROFILE_KNOBS; i++)
		assert_int_equal(profile_knob_get(&now, i), profile_knob_get(wanted, i));
}

static void test_bad_values_are_no_numbers(void **state)
{
	static const char *const texts[] = { "-\n", "--1\n", "-1x\n", "", "\n", "5 6\n", "0x10\n", "99999999999999999999\n" };
	struct profile_knobs k = { .dirty_bytes = 7 };
	char path[PATH_MAX];

	(void)state;
	put_all(&defaults);
	(void)snprintf(path, sizeof(path), "%s/dirty_writeback_centisecs", folder);
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct err e = ERR_INIT;
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		assert_true(fputs(texts[i], f) >= 0);
		assert_int_equal(fclose(f), 0);
		assert_true(vmknobs_read(&k, &e) < 0);
		assert_text_has(e.text, "vm.dirty_writeback_centisecs");
		assert_true(vmknobs_write(&safe, &e) < 0);
	}
	assert_int_equal(k.dirty_bytes, 7);
	assert_string_equal(log_text, "");
}

static void put_text(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* The kernel takes it for the one interval, and then never writes because something is old: as with 0. */
static void test_a_negative_interval_is_never(void **state)
{
	struct profile_knobs k = { .writeback_cs = 7 };

	(void)state;
	put_all(&defaults);
	put_text("dirty_writeback_centisecs", "-1\n");
	assert_int_equal(vmknobs_read(&k, NULL), 0);
	assert_int_equal(k.writeback_cs, 0);
	assert_int_equal(vmknobs_write(&safe, NULL), 0);
	assert_is(&safe);
	put_text("dirty_expire_centisecs", "-1\n");
	assert_int_equal(vmknobs_read(&k, NULL), -EINVAL);
}

static void test_both_of_a_pair_are_refused(void **state)
{
	struct profile_knobs k = safe;
	struct err e = ERR_INIT;

	(void)state;
	put_all(&defaults);
	k.background_ratio = 5;
	assert_int_equal(vmknobs_write(&k, &e), -EINVAL);
	k = safe;
	k.dirty_ratio = 5;
	assert_int_equal(vmknobs_write(&k, &e), -EINVAL);
	assert_string_equal(log_text, "");
}

static void test_a_missing_knob_is_named(void **state)
{
	char path[PATH_MAX];
	struct profile_knobs k;
	struct err e = ERR_INIT;

	(void)state;
	put_all(&defaults);
	(void)snprintf(path, sizeof(path), "%s/dirty_expire_centisecs", folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(vmknobs_read(&k, &e), -ENOENT);
	assert_text_has(e.text, path);
	assert_int_equal(vmknobs_check_writable(&e), -ENOENT);
	assert_int_equal(vmknobs_write(&safe, &e), -ENOENT);
	assert_string_equal(log_text, "");
}

static void give_away(const char *name)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(chown(path, NOBODY, (gid_t)-1), 0);
}

static void test_no_right_is_told(void **state)
{
	char path[PATH_MAX];
	struct err e = ERR_INIT;
	int code;

	(void)state;
	put_all(&defaults);
	assert_int_equal(vmknobs_check_writable(&e), 0);
	assert_is(&defaults); /* nothing was written, not even emptied */
	(void)snprintf(path, sizeof(path), "%s/dirty_ratio", folder);
	assert_int_equal(chmod(path, 0444), 0);
	assert_int_equal(chmod(folder, 0755), 0);
	if (geteuid() == 0) { /* whom a mode does not stop */
		for (int i = 0; i < PROFILE_DIRTY_RATIO; i++)
			give_away(profile_knob_name(i));
		assert_int_equal(seteuid(NOBODY), 0);
		code = vmknobs_check_writable(&e);
		assert_int_equal(seteuid(0), 0);
	} else {
		code = vmknobs_check_writable(&e);
	}
	assert_int_equal(code, -EACCES);
	assert_text_has(e.text, path);
	assert_text_has(e.text, "root");
	assert_int_equal(chmod(path, 0644), 0);
}

/* What the texts for the errnos say, without the means to make them. */
static void test_reasons_of_an_open(void **state)
{
	static const struct {
		int problem;
		const char *word;
	} rows[] = { { EACCES, "root" }, { EPERM, "root" }, { EROFS, "container" }, { EIO, "error" } };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct err e = ERR_INIT;

		errno = rows[i].problem;
		assert_int_equal(open_error("/proc/sys/vm/dirty_ratio", &e), -rows[i].problem);
		assert_text_has(e.text, "/proc/sys/vm/dirty_ratio");
		assert_text_has(e.text, rows[i].word);
	}
}

static void test_every_state_to_every_other(void **state)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct profile_knobs states[] = {
		{ 0, 20, 0, 10, 3000, 500 },              /* the kernel's defaults */
		{ 0, 10, 0, 5, 3000, 500 },
		{ 0, 5, 0, 1, 100, 50 },
		{ 64 * MIB, 0, 16 * MIB, 0, 500, 100 },
		{ 16 * MIB, 0, 8 * MIB, 0, 500, 0 },
		{ 1024 * MIB, 0, 512 * MIB, 0, 1500, 500 },
		{ 2048 * MIB, 0, 0, 10, 3000, 500 },      /* mixed */
		{ 0, 20, 64 * MIB, 0, 3000, 500 },
		{ 0, 1, 0, 0, 3000, 500 },                /* echo 0 > dirty_background_ratio */
		{ 2 * page, 0, page, 0, 1, 1 },
	};
	int transitions = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(states); i++)
		for (size_t j = 0; j < COUNT_OF(states); j++) {
			struct err e = ERR_INIT;

			put_all(&states[i]);
			if (vmknobs_write(&states[j], &e))
				fail_msg("from state %zu to %zu: %s, after: %s", i, j, e.text, log_text);
			assert_is(&states[j]);
			if (bad_moments)
				fail_msg("from state %zu to %zu: background >= limit at some time: %s", i, j, log_text);
			if (i == j)
				assert_string_equal(log_text, "");
			transitions++;
		}
	assert_int_equal(transitions, 100);
}

static void test_order(void **state)
{
	static const struct profile_knobs small = { 8 * MIB, 0, 4 * MIB, 0, 500, 100 };
	static const struct profile_knobs low_ratio = { 0, 8, 0, 4, 500, 100 };
	static const struct profile_knobs near = { 24 * MIB, 0, 12 * MIB, 0, 500, 100 };
	char two_units[160];

	(void)state;
	put_all(&safe);
	assert_int_equal(vmknobs_write(&small, NULL), 0);
	assert_string_equal(log_text, "dirty_background_bytes=4194304 dirty_bytes=8388608 ");
	log_text[0] = '\0';
	assert_int_equal(vmknobs_write(&safe, NULL), 0);
	assert_string_equal(log_text, "dirty_bytes=67108864 dirty_background_bytes=16777216 ");
	log_text[0] = '\0';
	assert_int_equal(vmknobs_write(&near, NULL), 0); /* 16 MiB of now are below 24 */
	assert_string_equal(log_text, "dirty_bytes=25165824 dirty_background_bytes=12582912 ");
	put_all(&defaults);
	assert_int_equal(vmknobs_write(&low_ratio, NULL), 0);
	assert_string_equal(log_text, "dirty_background_ratio=4 dirty_ratio=8 dirty_expire_centisecs=500 "
				      "dirty_writeback_centisecs=100 ");
	put_all(&defaults);
	assert_int_equal(vmknobs_write(&safe, NULL), 0);
	(void)snprintf(two_units, sizeof(two_units), "dirty_background_bytes=%ld dirty_bytes=67108864 "
		       "dirty_background_bytes=16777216 dirty_expire_centisecs=500 dirty_writeback_centisecs=100 ",
		       sysconf(_SC_PAGESIZE));
	assert_string_equal(log_text, two_units);
}

/* A limit of 0 per cent, which the kernel takes, is nothing that it takes as a change. */
static void test_a_limit_of_nothing(void **state)
{
	static const struct profile_knobs nothing = { 0, 0, 0, 0, 500, 100 };

	(void)state;
	put_all(&safe);
	assert_int_equal(vmknobs_write(&nothing, NULL), 0);
	assert_is(&nothing);
	assert_int_equal(vmknobs_write(&safe, NULL), 0);
	assert_is(&safe);
	put_all(&defaults);
	assert_int_equal(vmknobs_write(&nothing, NULL), 0);
	assert_is(&nothing);
}

static void test_only_what_differs(void **state)
{
	struct profile_knobs k = safe;

	(void)state;
	put_all(&safe);
	k.expire_cs = 501;
	assert_int_equal(vmknobs_write(&k, NULL), 0);
	assert_string_equal(log_text, "dirty_expire_centisecs=501 ");
}

static void test_each_refusal_ends_it(void **state)
{
	(void)state;
	for (int i = 0; i < PROFILE_KNOBS; i++) {
		static const struct profile_knobs mixed = { 64 * MIB, 0, 0, 1, 500, 100 };
		const struct profile_knobs *from = i == PROFILE_DIRTY_RATIO ? &safe : &defaults;
		const struct profile_knobs *to = i == PROFILE_BACKGROUND_RATIO ? &mixed :
						 i == PROFILE_DIRTY_RATIO ? &defaults : &safe;
		struct err e = ERR_INIT;
		char number[32], *last;

		put_all(from);
		refused = profile_knob_name(i);
		assert_int_equal(vmknobs_write(to, &e), -EINVAL);
		assert_text_has(e.text, profile_knob_name(i));
		(void)snprintf(number, sizeof(number), "%" PRIu64,
			       i == PROFILE_BACKGROUND_BYTES ? (uint64_t)sysconf(_SC_PAGESIZE) : profile_knob_get(to, i));
		assert_text_has(e.text, number);
		last = strstr(log_text, profile_knob_name(i));
		assert_non_null(last);
		assert_int_equal(strcspn(last, " ") + 1, strlen(last)); /* nothing was written after it */
	}
}

static void test_too_small_is_the_kernels_word(void **state)
{
	struct profile_knobs k = safe;
	struct err e = ERR_INIT;

	(void)state;
	put_all(&safe);
	k.dirty_bytes = 5;
	assert_int_equal(vmknobs_write(&k, &e), -EINVAL);
	assert_text_has(e.text, "vm.dirty_bytes to 5");
}

static void test_what_did_not_stick_is_seen(void **state)
{
	(void)state;
	for (int i = 0; i < PROFILE_KNOBS; i++) {
		const struct profile_knobs *from = i == PROFILE_DIRTY_RATIO || i == PROFILE_BACKGROUND_RATIO ? &safe : &defaults;
		const struct profile_knobs *to = from == &safe ? &defaults : &safe;
		struct err e = ERR_INIT;

		put_all(from);
		ignored = profile_knob_name(i);
		assert_int_equal(vmknobs_write(to, &e), -EIO);
		assert_text_has(e.text, profile_knob_name(i));
	}
	put_all(&defaults);
	is_plain = true; /* the other member of a pair stays */
	assert_int_equal(vmknobs_write(&safe, NULL), -EIO);
}

static void test_machine(void **state)
{
	struct profile_machine m = { .disk_bytes_per_s = 5 };

	(void)state;
	assert_int_equal(vmknobs_machine(&m, NULL), 0);
	assert_int_equal(m.page_bytes, sysconf(_SC_PAGESIZE));
	assert_int_equal(m.memory_bytes, sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
	assert_int_equal(m.disk_bytes_per_s, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_values_are_no_numbers),
		cmocka_unit_test(test_a_negative_interval_is_never),
		cmocka_unit_test(test_both_of_a_pair_are_refused),
		cmocka_unit_test(test_a_missing_knob_is_named),
		cmocka_unit_test(test_no_right_is_told),
		cmocka_unit_test(test_reasons_of_an_open),
		cmocka_unit_test(test_every_state_to_every_other),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_a_limit_of_nothing),
		cmocka_unit_test(test_only_what_differs),
		cmocka_unit_test(test_each_refusal_ends_it),
		cmocka_unit_test(test_too_small_is_the_kernels_word),
		cmocka_unit_test(test_what_did_not_stick_is_seen),
		cmocka_unit_test(test_machine),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
