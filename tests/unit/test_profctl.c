/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What profctl does to a system in a folder, and what it says of one; the running system is for tests/vm. */
#include "profile_fakes.h"

#include "profctl.h"

#define CONF "/etc/wubi/wubi.conf"
#define CHOICE "/etc/wubi/profile.conf"
#define SYSCTL "/etc/sysctl.d/90-wubi.conf"
#define GRUB "/etc/default/grub.d/wubi.cfg"
#define SAVED "/var/lib/wubi/saved.json"
#define SPEED "/var/lib/wubi/speed.json"

#define WRITEBACK_PROFILE "profile \"wb\" { mount = \"async,commit=7,data=writeback\" dirty = \"20%\" background = \"10%\" " \
	"expire = \"5s\" writeback = \"5s\" loss = \"60s\" }\n"

static const struct profile_knobs safe_knobs = {
	.dirty_bytes = 64 * NUM_MIB, .background_bytes = 16 * NUM_MIB, .expire_cs = 500, .writeback_cs = 100,
};

static char *path_of(const char *file)
{
	static char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s%s", fake_dir, file);
	return path;
}

static void put(const char *file, const char *text)
{
	char command[PATH_MAX + 32];
	FILE *f;

	(void)snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s')\"", path_of(file));
	assert_int_equal(system(command), 0);
	f = fopen(path_of(file), "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static const char *get(const char *file)
{
	static char text[4096];
	FILE *f = fopen(path_of(file), "r");
	size_t n;

	if (!f)
		return NULL;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	assert_int_equal(fclose(f), 0);
	return text;
}

static struct profctl_params params(void)
{
	return (struct profctl_params){ .root = fake_dir };
}

static struct profctl_result result;

static int set(const char *name, enum profile_phase phase, struct err *e)
{
	const struct profctl_params par = params();

	return profctl_set(&par, name, phase, &result, e);
}

static void set_ok(const char *name)
{
	struct err e = ERR_INIT;

	if (set(name, PROFILE_NORMAL, &e))
		fail_msg("%s", e.text);
	assert_string_equal(result.profile, name);
}

static struct profctl_status status;

static void look(void)
{
	const struct profctl_params par = params();
	struct err e = ERR_INIT;

	if (profctl_status(&par, &status, &e))
		fail_msg("%s", e.text);
}

/* Of that name, which has to be there. */
static __attribute__((noinline, returns_nonnull)) const struct profctl_difference *difference(const char *what)
{
	size_t i = 0;

	while (i < status.difference_count && strcmp(status.differences[i].what, what) != 0)
		i++;
	if (i == status.difference_count)
		fail_msg("no difference '%s'", what);
	return &status.differences[i];
}

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
	set_ok("fast");
	assert_text_has(get(SYSCTL), "\nvm.dirty_bytes = 25165824\n"); /* 8 s of 3 MiB/s */
	put(SPEED, "{\"version\":1,\"bytes_per_s\":\"many\"}");
	assert_int_equal(profctl_speed_read(fake_dir, &speed, NULL), 0);
	assert_int_equal(speed, 0);
	put(SPEED, "no JSON");
	assert_int_equal(profctl_speed_read(fake_dir, &speed, NULL), 0);
	assert_int_equal(speed, 0);
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
	char old[4096];
	struct err e = ERR_INIT;

	(void)state;
	put(CONF, WRITEBACK_PROFILE);
	set_ok("safe");
	(void)snprintf(old, sizeof(old), "%s", get(SYSCTL));
	assert_int_equal(unlink(path_of(CHOICE)), 0);
	assert_int_equal(symlink("/proc/no-such/profile.conf", path_of(CHOICE)), 0);
	assert_int_not_equal(set("wb", PROFILE_NORMAL, &e), 0);
	assert_text_has(e.text, "/proc/no-such");
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

/* ---- status ---- */

static void test_status_unchosen(void **state)
{
	(void)state;
	look();
	assert_false(status.is_chosen);
	assert_string_equal(status.expected->name, "safe");
	assert_true(status.difference_count > 0);
	assert_string_equal(difference("vm.dirty_bytes")->seen, "vm.dirty_ratio = 20");
	assert_string_equal(difference("vm.dirty_bytes")->who, ""); /* nobody */
	assert_false(status.window.calls_are_durable);
	assert_false(status.window_is_kept);
}

static void test_status_agrees(void **state)
{
	(void)state;
	set_ok("safe");
	fake_put_knobs(&safe_knobs);
	fake_mount(FAKE_ROOT_UUID, "/", "rw,sync");
	look();
	assert_true(status.is_chosen);
	assert_int_equal(status.difference_count, 0);
	assert_false(status.phase_runs);
	assert_false(status.phase_is_stale);
	assert_true(status.window.calls_are_durable);
	assert_true(status.window_is_kept);
	assert_int_equal(status.window.bytes, 64 * NUM_MIB);
}

/* A later file with the other member of the pair (F04): the next time that all files are read it wins. */
static void test_status_later_file(void **state)
{
	const struct profctl_difference *d;

	(void)state;
	set_ok("safe");
	fake_put_knobs(&safe_knobs);
	put("/etc/sysctl.d/99-x.conf", "# mine\n\nvm.dirty_ratio = 40\n");
	look();
	assert_int_equal(status.difference_count, 1);
	d = difference("vm.dirty_bytes");
	assert_string_equal(d->who, "/etc/sysctl.d/99-x.conf:3");
	assert_text_has(d->seen, "vm.dirty_ratio = 40");
	/* and then it has won */
	fake_put_knobs(&(struct profile_knobs){ .dirty_ratio = 40, .background_bytes = 16 * NUM_MIB, .expire_cs = 500,
					       .writeback_cs = 100 });
	look();
	assert_int_equal(status.difference_count, 1);
	d = difference("vm.dirty_bytes");
	assert_string_equal(d->wanted, "67108864");
	assert_string_equal(d->seen, "vm.dirty_ratio = 40");
	assert_string_equal(d->who, "/etc/sysctl.d/99-x.conf:3");
	/* an earlier one does not */
	assert_int_equal(unlink(path_of("/etc/sysctl.d/99-x.conf")), 0);
	put("/etc/sysctl.d/10-x.conf", "vm.dirty_ratio = 40\n");
	fake_put_knobs(&safe_knobs);
	look();
	assert_int_equal(status.difference_count, 0);
}

static void test_status_by_hand(void **state)
{
	struct profile_knobs k = safe_knobs;

	(void)state;
	set_ok("safe");
	k.expire_cs = 4711;
	fake_put_knobs(&k);
	look();
	assert_int_equal(status.difference_count, 1);
	assert_string_equal(difference("vm.dirty_expire_centisecs")->wanted, "500");
	assert_string_equal(difference("vm.dirty_expire_centisecs")->seen, "4711");
	assert_text_has(difference("vm.dirty_expire_centisecs")->who, "another program or by hand");
	/* both: a value by hand, and a file that will have another one */
	put("/etc/sysctl.d/99-x.conf", "vm.dirty_expire_centisecs=9\n");
	look();
	assert_int_equal(status.difference_count, 2);
}

static void test_status_own_file(void **state)
{
	(void)state;
	set_ok("safe");
	fake_put_knobs(&safe_knobs);
	assert_int_equal(unlink(path_of(SYSCTL)), 0);
	look();
	assert_int_equal(status.difference_count, 4);
	assert_text_has(difference("vm.dirty_bytes")->seen, SYSCTL);
	/* the profile was changed since the set */
	set_ok("safe");
	put(CONF, "profile \"safe\" { mount = \"sync\" dirty = \"32MiB\" background = \"16MiB\" expire = \"5s\" "
	    "writeback = \"1s\" loss = \"0s\" }\n");
	look();
	assert_int_equal(status.difference_count, 1);
	assert_string_equal(difference("vm.dirty_bytes")->wanted, "33554432");
	assert_text_has(difference("vm.dirty_bytes")->who, SYSCTL ":2");
	assert_text_has(difference("vm.dirty_bytes")->who, "earlier");
}

static void test_status_mounts(void **state)
{
	(void)state;
	set_ok("safe");
	fake_put_knobs(&safe_knobs);
	fake_mount(FAKE_ROOT_UUID, "/", "rw,commit=30");
	fake_mount(FAKE_HOME_UUID, "/proc", "rw,sync");
	look();
	assert_int_equal(status.difference_count, 1);
	assert_string_equal(difference("mount /")->wanted, "sync");
	assert_string_equal(difference("mount /")->seen, "rw,commit=30");
	assert_text_has(difference("mount /")->who, "by hand");
	assert_false(status.window.calls_are_durable); /* the worst of all */
	assert_int_equal(status.window.ms, 5000 + 1000 + 30000);
	put("/etc/fstab", "# a comment\nUUID=1 / ext4 errors=remount-ro,sync 0 1\n");
	look();
	assert_null(strstr(difference("mount /")->who, "fstab"));
	put("/etc/fstab", "# a comment\nUUID=2 /home ext4 async\nUUID=1\t/ ext4\terrors=remount-ro,async 0 1\n");
	look();
	assert_text_has(difference("mount /")->who, "/etc/fstab:3");
}

static void test_status_after_reboot(void **state)
{
	(void)state;
	put(CONF, WRITEBACK_PROFILE);
	set_ok("wb");
	fake_put_knobs(&result.knobs);
	fake_mount(FAKE_ROOT_UUID, "/", "rw,commit=7");
	look();
	assert_int_equal(status.difference_count, 1);
	assert_string_equal(difference("mount /")->wanted, "data=writeback");
	assert_text_has(difference("mount /")->who, "boot");
	(void)snprintf(fake_mounts[0].options, sizeof(fake_mounts[0].options), "rw,commit=7,data=writeback");
	look();
	assert_int_equal(status.difference_count, 0);
	/* the promise of 60 s cannot be judged without the disk's speed */
	assert_false(status.window.speed_is_known);
	assert_false(status.window_is_kept);
	assert_int_equal(profctl_speed_write(fake_dir, NUM_GIB, NULL), 0);
	look();
	assert_true(status.window.ms >= 17000);
}

static void test_status_speed(void **state)
{
	(void)state;
	assert_int_equal(profctl_speed_write(fake_dir, 3 * NUM_MIB, NULL), 0);
	set_ok("fast");
	fake_put_knobs(&result.knobs);
	look();
	assert_int_equal(status.difference_count, 0);
	assert_true(status.window_is_kept);
	assert_int_equal(unlink(path_of(SPEED)), 0);
	look();
	assert_int_equal(status.difference_count, 1);
	(void)difference("the disk's speed");
}

static void test_status_damaged(void **state)
{
	const struct profctl_params par = params();
	struct err e = ERR_INIT;

	(void)state;
	set_ok("safe");
	fake_put_knobs(&safe_knobs);
	put(SAVED, "{\"version\":1,\"boot_id\":\"x\"}");
	look();
	assert_int_equal(status.difference_count, 1);
	(void)difference(SAVED);
	put(CHOICE, "normal = gone\n");
	assert_int_equal(profctl_status(&par, &status, &e), -EPERM);
	assert_text_has(e.text, CHOICE);
	assert_text_has(e.text, "'gone'");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fake_set_up, fake_tear_down)

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
		TEST(test_set_iso_copy),
		TEST(test_check_only),
		TEST(test_reset),
		TEST(test_status_unchosen),
		TEST(test_status_agrees),
		TEST(test_status_later_file),
		TEST(test_status_by_hand),
		TEST(test_status_own_file),
		TEST(test_status_mounts),
		TEST(test_status_after_reboot),
		TEST(test_status_speed),
		TEST(test_status_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
