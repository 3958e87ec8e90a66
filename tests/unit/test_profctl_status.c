/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What profctl says of a system in a folder. */
#include "profctl_folder.h"

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
	assert_true(status.window.bytes >= 64 * NUM_MIB);
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
	put(CONF, SPEED_PROFILE);
	set_ok("quick");
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

/* A file of sysctl.d that cannot be read is a difference, and no reason to tell nothing else. */
static void test_status_unreadable_file(void **state)
{
	FILE *f;

	(void)state;
	set_ok("safe");
	fake_put_knobs(&safe_knobs);
	put("/etc/sysctl.d/99-x.conf", "");
	f = fopen(path_of("/etc/sysctl.d/99-x.conf"), "w");
	assert_non_null(f);
	for (unsigned i = 0; i < 2 * NUM_MIB; i++)
		assert_int_equal(fputc('\n', f), '\n');
	assert_int_equal(fclose(f), 0);
	look();
	assert_int_equal(status.difference_count, 1);
	assert_text_has(difference("the files of sysctl.d")->seen, "cannot be told");
	assert_text_has(difference("the files of sysctl.d")->who, "/etc/sysctl.d/99-x.conf");
	fake_put_knobs(&fake_usual);
	look();
	assert_string_equal(difference("vm.dirty_bytes")->seen, "vm.dirty_ratio = 20");
	assert_text_has(difference("vm.dirty_bytes")->who, "cannot be told");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_status_unchosen),
		TEST(test_status_agrees),
		TEST(test_status_later_file),
		TEST(test_status_by_hand),
		TEST(test_status_own_file),
		TEST(test_status_mounts),
		TEST(test_status_after_reboot),
		TEST(test_status_speed),
		TEST(test_status_damaged),
		TEST(test_status_unreadable_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
