/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What profctl does to a system in a folder; the running system is for tests/vm. */
#include "profctl_folder.h"

/* ---- bad input ---- */

static void test_no_profile(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(set("none", PROFILE_NORMAL, &e), -EPERM);
	assert_string_equal(e.reason, "no-profile");
	assert_text_has(e.text, "'none'");
	assert_text_has(e.text, "'safe'");
	assert_text_has(e.text, "'fast'");
	assert_null(get(CHOICE));
	assert_null(get(SYSCTL));
	assert_int_equal(set("none", PROFILE_ISO_COPY, &e), -EPERM);
	assert_null(get(CHOICE));
}

static void test_bad_files(void **state)
{
	struct profctl_params par = params();
	struct err e = ERR_INIT;

	(void)state;
	put(CONF, "profile \"x\" {\n\tdirt = \"1MiB\"\n}\n");
	assert_int_equal(set("safe", PROFILE_NORMAL, &e), -EINVAL);
	assert_text_has(e.text, CONF ":2");
	assert_int_equal(profctl_status(&par, &status, &e), -EINVAL);
	assert_null(get(SYSCTL));
	put(CONF, "");
	put(CHOICE, "normal = safe\nnormal = \"safe\n");
	assert_int_equal(set("safe", PROFILE_NORMAL, &e), -EINVAL);
	assert_text_has(e.text, CHOICE ":");
	par.conf = "/nonexistent/wubi.conf";
	assert_int_equal(profctl_set(&par, "safe", PROFILE_NORMAL, &result, &e), -ENOENT);
	assert_text_has(e.text, "/nonexistent/wubi.conf");
}

static void test_running_system_only(void **state)
{
	const struct profctl_params par = params();
	struct profctl_phase *phase = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(profctl_apply(&par, &result, &e), -EINVAL);
	assert_int_equal(profctl_phase_enter(&par, PROFILE_ISO_COPY, &phase, &e), -EINVAL);
	assert_null(phase);
	assert_int_equal(profctl_phase_enter_profile(&par, "safe", &phase, &e), -EINVAL);
	profctl_phase_free(NULL);
}

/* ---- set ---- */

static void test_set(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	set_ok("safe");
	assert_true(result.changed);
	assert_true(profile_knobs_equal(&result.knobs, &safe_knobs));
	assert_int_equal(result.now.mount_count, 0);
	assert_text_has(get(CHOICE), "normal = safe\n");
	assert_text_has(get(SYSCTL), "\nvm.dirty_bytes = 67108864\n");
	assert_text_has(get(SYSCTL), "\nvm.dirty_background_bytes = 16777216\n");
	assert_text_has(get(SYSCTL), "\nvm.dirty_expire_centisecs = 500\n");
	assert_text_has(get(SYSCTL), "\nvm.dirty_writeback_centisecs = 100\n");
	assert_null(strstr(get(SYSCTL), "ratio"));
	assert_null(get(GRUB));
	assert_null(get(SAVED)); /* what is in force here says nothing of that system */
	assert_int_equal(set("safe", PROFILE_NORMAL, &e), 0);
	assert_false(result.changed);
}

static void test_set_ratio(void **state)
{
	(void)state;
	put(CONF, WRITEBACK_PROFILE);
	set_ok("wb");
	assert_text_has(get(SYSCTL), "\nvm.dirty_ratio = 20\n");
	assert_text_has(get(SYSCTL), "\nvm.dirty_background_ratio = 10\n");
	assert_null(strstr(get(SYSCTL), "bytes"));
	/* only what no remount takes */
	assert_text_has(get(GRUB), "\nGRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX rootflags=data=writeback\"\n");
	set_ok("safe");
	assert_null(get(GRUB));
}

static void test_set_by_speed(void **state)
{
	uint64_t speed = 1;

	(void)state;
	assert_int_equal(profctl_speed_read(fake_dir, &speed, NULL), 0);
	assert_int_equal(speed, 0);
	assert_int_equal(profctl_speed_write(fake_dir, 3 * NUM_MIB, NULL), 0);
	assert_int_equal(profctl_speed_read(fake_dir, &speed, NULL), 0);
	assert_int_equal(speed, 3 * NUM_MIB);
	put(CONF, SPEED_PROFILE);
	set_ok("quick");
	assert_text_has(get(SYSCTL), "\nvm.dirty_bytes = 25165824\n"); /* 8 s of 3 MiB/s */
	put(SPEED, "{\"version\":1,\"bytes_per_s\":\"many\"}");
	assert_int_equal(profctl_speed_read(fake_dir, &speed, NULL), 0);
	assert_int_equal(speed, 0);
	put(SPEED, "no JSON");
	assert_int_equal(profctl_speed_read(fake_dir, &speed, NULL), 0);
	assert_int_equal(speed, 0);
}

/* Of the image that it was measured on, and of no other one. */
static void test_speed_of_another_disk(void **state)
{
	uint64_t speed = 1;

	(void)state;
	put(SPEED, "{\"version\":1,\"bytes_per_s\":3145728,\"device\":\"" FAKE_HOME_UUID "\"}");
	assert_int_equal(profctl_speed_read(fake_dir, &speed, NULL), 0);
	assert_int_equal(speed, 0);
	fake_mount(FAKE_HOME_UUID, fake_dir, "rw");
	assert_int_equal(profctl_speed_read(fake_dir, &speed, NULL), 0);
	assert_int_equal(speed, 3 * NUM_MIB);
	put(SPEED, "{\"version\":1,\"bytes_per_s\":3145728}");
	assert_int_equal(profctl_speed_read(fake_dir, &speed, NULL), 0);
	assert_int_equal(speed, 0);
	assert_int_equal(profctl_speed_write(fake_dir, 5, NULL), 0);
	assert_text_has(get(SPEED), FAKE_HOME_UUID);
	assert_int_equal(profctl_speed_read(fake_dir, &speed, NULL), 0);
	assert_int_equal(speed, 5);
}

/* The kernel knows no block device below the folder: what is measured there is memory. */
static void test_speed_of_no_disk(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(set("fast", PROFILE_NORMAL, &e), -ENODATA);
	assert_text_has(e.text, "'fast'");
	assert_text_has(e.text, "bytes or per cent");
	assert_null(get(SPEED));
	assert_null(get(CHOICE));
	assert_int_equal(set("fast", PROFILE_ISO_COPY, &e), 0); /* it is for what copies */
}

/* Only the name is kept, and where a boot looks it is another profile, or none. */
static void test_conf_elsewhere(void **state)
{
	struct profctl_params par = params();
	char own[PATH_MAX];
	struct err e = ERR_INIT;

	(void)state;
	put("/own.conf", WRITEBACK_PROFILE);
	(void)snprintf(own, sizeof(own), "%s", path_of("/own.conf"));
	par.conf = own;
	for (int phase = 0; phase < PROFILE_PHASES; phase++) {
		assert_int_equal(profctl_set(&par, "wb", (enum profile_phase)phase, &result, &e), -EPERM);
		assert_string_equal(e.reason, "conf-elsewhere");
		assert_text_has(e.text, CONF "'");
		assert_text_has(e.text, "none of that name");
	}
	put(CONF, "profile \"wb\" { mount = \"async,commit=7,data=writeback\" dirty = \"21%\" background = \"10%\" "
	    "expire = \"5s\" writeback = \"5s\" loss = \"60s\" }\n");
	assert_int_equal(profctl_set(&par, "wb", PROFILE_NORMAL, &result, &e), -EPERM);
	assert_text_has(e.text, "another profile of that name");
	assert_null(get(CHOICE));
	assert_null(get(SYSCTL));
	put(CONF, "# the same\n" WRITEBACK_PROFILE);
	assert_int_equal(profctl_set(&par, "wb", PROFILE_NORMAL, &result, &e), 0);
	assert_int_equal(profctl_set(&par, "safe", PROFILE_NORMAL, &result, &e), 0); /* it comes with the program */
}

/* A link of that system is one within that system. */
static void test_links_stay_in_the_root(void **state)
{
	char outside[] = "/tmp/wubi-test-outside-XXXXXX";
	char path[64];
	const struct profctl_params par = params();
	struct err e = ERR_INIT;

	(void)state;
	assert_non_null(mkdtemp(outside));
	put("/etc/keep", "");
	assert_int_equal(symlink(outside, path_of("/etc/sysctl.d")), 0);
	assert_int_equal(symlink(outside, path_of("/etc/wubi")), 0);
	set_ok("safe");
	assert_int_equal(rmdir(outside), 0); /* nothing was written there */
	(void)snprintf(path, sizeof(path), "%s/90-wubi.conf", outside);
	assert_text_has(get(path), "vm.dirty_bytes");
	assert_int_equal(set("safe", PROFILE_NORMAL, &e), 0);
	assert_false(result.changed);
	assert_int_equal(profctl_reset(&par, &result, &e), 0);
	assert_null(get(path));
}

/* ---- what it tells beside ---- */

static const char *note(const char *reason)
{
	for (size_t i = 0; i < result.notes.count; i++)
		if (strcmp(result.notes.items[i].reason, reason) == 0)
			return result.notes.items[i].text;
	return "";
}

static void test_not_at_boot(void **state)
{
	static const char *const places[] = { "/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system" };

	(void)state;
	set_ok("safe");
	assert_text_has(note("not-at-boot"), "enable wubi-profile.service");
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		char file[128];

		(void)snprintf(file, sizeof(file), "%s/sysinit.target.wants/x", places[i]);
		put(file, "");
		(void)snprintf(file, sizeof(file), "%s/sysinit.target.wants/wubi-profile.service", places[i]);
		assert_int_equal(symlink("/lib/systemd/system/wubi-profile.service", path_of(file)), 0);
		set_ok("safe");
		assert_string_equal(note("not-at-boot"), "");
		assert_int_equal(unlink(path_of(file)), 0);
	}
	set_ok("safe");
	assert_text_has(note("not-at-boot"), fake_dir);
}

static void test_later_file(void **state)
{
	(void)state;
	put("/etc/sysctl.d/10-x.conf", "vm.dirty_ratio = 40\n");
	put("/etc/sysctl.d/99-x.conf", "vm.dirty_expire_centisecs = 500\n");
	set_ok("safe");
	assert_string_equal(note("later-file"), ""); /* the earlier one loses, the later one has the same */
	put("/etc/sysctl.d/99-x.conf", "vm.dirty_ratio = 41\n");
	set_ok("safe");
	assert_text_has(note("later-file"), "'vm.dirty_ratio = 41' in /etc/sysctl.d/99-x.conf:1");
	assert_text_has(get(SYSCTL), "\nvm.dirty_bytes = 67108864\n");
}

static void test_note_images(void **state)
{
	const struct profile p = { .name = "x", .mount = "sync" };
	struct profset now = { .mount_count = 0 };

	(void)state;
	result.notes.count = 0;
	profctl_note_images(&p, &now, &result.notes);
	assert_text_has(note("not-an-image"), "left out");
	now.mount_count = 1;
	(void)snprintf(now.mounts[0].target, sizeof(now.mounts[0].target), "/home");
	result.notes.count = 0;
	profctl_note_images(&p, &now, &result.notes);
	assert_text_has(note("not-an-image"), "for '/home', and not for '/'");
	assert_null(strstr(note("not-an-image"), "left out"));
	now.mounts[0].is_root = true;
	result.notes.count = 0;
	profctl_note_images(&p, &now, &result.notes);
	assert_int_equal(result.notes.count, 0);
}

static void test_set_iso_copy(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(set("balanced", PROFILE_ISO_COPY, &e), 0);
	assert_string_equal(result.profile, "balanced");
	assert_text_has(get(CHOICE), "iso-copy = balanced\n");
	assert_null(strstr(get(CHOICE), "normal ="));
	assert_null(get(SYSCTL));
	set_ok("safe");
	assert_text_has(get(CHOICE), "iso-copy = balanced\n");
	assert_text_has(get(CHOICE), "normal = safe\n");
}

static void test_check_only(void **state)
{
	struct profctl_params par = params();
	struct err e = ERR_INIT;

	(void)state;
	par.check_only = true;
	assert_int_equal(profctl_set(&par, "safe", PROFILE_NORMAL, &result, &e), 0);
	assert_true(result.changed);
	assert_true(profile_knobs_equal(&result.knobs, &safe_knobs));
	assert_null(get(SYSCTL));
	assert_null(get(CHOICE));
	assert_int_equal(profctl_set(&par, "fast", PROFILE_ISO_COPY, &result, &e), 0);
	assert_null(get(CHOICE));
	set_ok("safe");
	assert_int_equal(profctl_reset(&par, &result, &e), 0);
	assert_non_null(get(CHOICE));
	assert_non_null(get(SYSCTL));
}

/* The last file cannot be written: the ones before it are as they were. */
static void test_set_undone(void **state)
{
	char old[4096], name[251] = "";
	struct err e = ERR_INIT;

	(void)state;
	put(CONF, WRITEBACK_PROFILE);
	set_ok("safe");
	(void)snprintf(old, sizeof(old), "%s", get(SYSCTL));
	assert_int_equal(unlink(path_of(CHOICE)), 0);
	/* a name that is just short enough, and that of a temporary file beside it is not */
	memset(name, 'x', sizeof(name) - 1);
	assert_int_equal(symlink(name, path_of(CHOICE)), 0);
	assert_int_equal(set("wb", PROFILE_NORMAL, &e), -ENAMETOOLONG);
	assert_text_has(e.text, "xxx");
	assert_string_equal(get(SYSCTL), old);
	assert_null(get(GRUB));
}

static void test_reset(void **state)
{
	const struct profctl_params par = params();
	struct err e = ERR_INIT;

	(void)state;
	put(CONF, WRITEBACK_PROFILE);
	set_ok("wb");
	put(SAVED, "whatever: it goes");
	assert_int_equal(profctl_reset(&par, &result, &e), 0);
	assert_true(result.changed);
	assert_null(result.profile);
	assert_null(get(CHOICE));
	assert_null(get(SYSCTL));
	assert_null(get(GRUB));
	assert_null(get(SAVED));
	assert_string_equal(get(CONF), WRITEBACK_PROFILE);
	assert_int_equal(profctl_reset(&par, &result, &e), 0);
	assert_false(result.changed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_profile),
		TEST(test_bad_files),
		TEST(test_running_system_only),
		TEST(test_set_undone),
		TEST(test_set),
		TEST(test_set_ratio),
		TEST(test_set_by_speed),
		TEST(test_speed_of_another_disk),
		TEST(test_speed_of_no_disk),
		TEST(test_conf_elsewhere),
		TEST(test_links_stay_in_the_root),
		TEST(test_not_at_boot),
		TEST(test_later_file),
		TEST(test_note_images),
		TEST(test_set_iso_copy),
		TEST(test_check_only),
		TEST(test_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
