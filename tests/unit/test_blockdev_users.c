/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* trees of our own in place of /sys and /proc: who uses a device can then be tested without root and without devices */
static char sys_root[64];
static char mountinfo[96];
#define SYSFS_ROOT sys_root
#define BLOCKDEV_MOUNTINFO mountinfo

#include "../../src/blockdev_users.c"
#include "../../src/sysfs.c"

static char dir[64];
static char path[96]; /* a plain file */

static void write_text(const char *name, const char *text)
{
	char full[PATH_MAX];
	FILE *f;

	(void)snprintf(full, sizeof(full), "%s/%s", dir, name);
	f = fopen(full, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void run(const char *command)
{
	char full[2048];

	(void)snprintf(full, sizeof(full), "cd %s && { %s; }", dir, command);
	assert_int_equal(system(full), 0);
}

/* sda (8:0) with sda1 (8:1) and sda2 (8:2), sdb (8:16), dm-0, and two loop devices of which none is set up */
static int setup(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/test_users.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	(void)snprintf(sys_root, sizeof(sys_root), "%.40s/sys", dir);
	(void)snprintf(mountinfo, sizeof(mountinfo), "%s/mountinfo", dir);
	(void)snprintf(path, sizeof(path), "%s/volume image", dir);
	run("mkdir -p sys/dev/block sys/block sys/devices/sda/holders sys/devices/sda/sda1/holders "
	    "sys/devices/sda/sda2/holders sys/devices/sdb/holders sys/devices/wloop8/holders sys/devices/dm-0/dm; "
	    "echo 8:0 >sys/devices/sda/dev; echo 1 >sys/devices/sda/sda1/partition; "
	    "echo 2 >sys/devices/sda/sda2/partition; ln -s ../../devices/sda sys/dev/block/8:0; "
	    "ln -s ../../devices/sda/sda1 sys/dev/block/8:1; ln -s ../../devices/sda/sda2 sys/dev/block/8:2; "
	    "ln -s ../../devices/sdb sys/dev/block/8:16; ln -s ../devices/dm-0 sys/block/dm-0; "
	    "echo wubi-root >sys/devices/dm-0/dm/name; echo WUBI-abc-root >sys/devices/dm-0/dm/uuid");
	write_text("volume image", "NTFS");
	write_text("mountinfo", "22 27 0:21 / /proc rw,relatime - proc proc rw\n");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	run("rm -rf -- \"$PWD\"");
	return 0;
}

static struct users_ident device(unsigned device_major, unsigned device_minor)
{
	struct users_ident id = { .is_block = true, .rdev = makedev(device_major, device_minor), .path = "/dev/test" };

	return id;
}

static void expect_users(const struct users_ident *id, size_t count, const char *part)
{
	struct report r = { 0 };

	assert_int_equal(users_check(id, "", &r, NULL), 0);
	assert_int_equal(r.count, count);
	if (count == 0)
		return;
	assert_true(report_has(&r, strstr(part, "attached") ? "attached" : "busy")); /* ours has a reason of its own */
	if (strstr(r.items[0].text, part) == NULL)
		fail_msg("'%s' lacks '%s'", r.items[0].text, part);
	assert_non_null(strstr(r.items[0].text, "then retry"));
}

static void expect_file(size_t count, const char *part)
{
	struct report r = { 0 };

	assert_int_equal(blockdev_check_users(path, &r, NULL), 0);
	assert_int_equal(r.count, count);
	if (count > 0 && strstr(r.items[0].text, part) == NULL)
		fail_msg("'%s' lacks '%s'", r.items[0].text, part);
}

static void test_what_is_not_a_volume(void **state)
{
	struct report r = { 0 };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(blockdev_check_users("/nonexistent", &r, &e), -ENOENT);
	assert_int_equal(blockdev_check_users(dir, &r, &e), -EPERM);
	assert_string_equal(e.reason, "not-a-volume");
	assert_int_equal(r.count, 0);
}

static void test_nobody(void **state)
{
	struct users_ident id = device(8, 2);

	(void)state;
	expect_file(0, "");
	expect_users(&id, 0, "");
}

/* what cannot be asked is not taken for "nobody" */
static void test_tables_that_cannot_be_read(void **state)
{
	struct report r = { 0 };
	struct err e = ERR_INIT;

	(void)state;
	run("rm mountinfo");
	assert_int_equal(blockdev_check_users(path, &r, &e), -ENOENT);
	write_text("mountinfo", "");
	run("rm -r sys/block");
	assert_int_equal(blockdev_check_users(path, &r, &e), -ENOENT);
	assert_non_null(strstr(e.text, "sys/block"));
}

static void test_mounted_device(void **state)
{
	struct users_ident sda = device(8, 0), sda1 = device(8, 1), sda2 = device(8, 2), sdb = device(8, 16);

	(void)state;
	write_text("mountinfo", "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
				"broken line\n"
				"99 27 8:2 / /mnt/my\\040disk rw shared:5 master:1 - fuseblk /dev/sda2 rw,user_id=0\n");
	expect_users(&sda2, 1, "'/mnt/my disk' (fuseblk)");
	expect_users(&sda, 1, "'/dev/sda2' is mounted"); /* a partition of the whole disk */
	expect_users(&sda1, 0, "");                      /* its neighbour is free */
	expect_users(&sdb, 0, "");
	write_text("mountinfo", "99 27 8:0 / /mnt rw - ntfs3 /dev/sda rw\n");
	expect_users(&sda2, 1, "'/dev/sda' is mounted"); /* the disk around the partition */
}

static void test_file_mounted_under_any_name(void **state)
{
	char text[512];

	(void)state;
	(void)snprintf(text, sizeof(text), "99 27 0:50 / /mnt rw - fuse %s/volume\\040image rw\n", dir);
	write_text("mountinfo", text);
	expect_file(1, "is mounted at '/mnt' (fuse)");
	run("ln 'volume image' other; ln -s 'volume image' link");
	(void)snprintf(text, sizeof(text), "99 27 0:50 / /mnt rw - fuse %s/other rw\n", dir);
	write_text("mountinfo", text);
	expect_file(1, "is mounted at '/mnt' (fuse)");
	(void)snprintf(path, sizeof(path), "%s/link", dir);
	expect_file(1, "is mounted at '/mnt' (fuse)");
	run("cp other another");
	(void)snprintf(path, sizeof(path), "%s/another", dir); /* a copy is another volume */
	expect_file(0, "");
}

static void test_broken_escapes_end_where_the_text_ends(void **state)
{
	char text[] = "a\\040b\\", other[] = "\\9\\12", full[] = "\\134\\011";

	(void)state;
	users_unescape(text);
	assert_string_equal(text, "a b\\");
	users_unescape(other);
	assert_string_equal(other, "\\9\\12");
	users_unescape(full);
	assert_string_equal(full, "\\\t");
}

static void test_loop_over_the_file(void **state)
{
	char text[256];

	(void)state;
	/* the number is beyond what a machine has, so that no real loop device answers */
	run("mkdir -p sys/block/loop99998/loop sys/block/loop99999");
	expect_file(0, ""); /* not set up */
	(void)snprintf(text, sizeof(text), "%s\n", path);
	write_text("sys/block/loop99998/loop/backing_file", text);
	expect_file(1, "losetup -d /dev/loop99998");
	run("ln 'volume image' other");
	(void)snprintf(text, sizeof(text), "%s/other\n", dir);
	write_text("sys/block/loop99998/loop/backing_file", text);
	expect_file(1, "losetup -d /dev/loop99998");
	(void)snprintf(text, sizeof(text), "%s (deleted)\n", path);
	write_text("sys/block/loop99998/loop/backing_file", text);
	expect_file(1, "losetup -d /dev/loop99998");
	write_text("sys/block/loop99998/loop/backing_file", "/nonexistent/elsewhere (deleted)\n");
	expect_file(0, "");
}

/* The volume is a loop device itself: users of its backing file count, it does not. */
static void test_volume_is_a_loop(void **state)
{
	struct users_ident id = device(7, 60000), backing;
	struct report r = { 0 };
	char text[256], loop[NAME_MAX + 1];

	(void)state;
	run("mkdir -p sys/devices/loop99998/loop sys/block/loop99999/loop; "
	    "ln -s ../../devices/loop99998 sys/dev/block/7:60000; ln -s ../devices/loop99998 sys/block/loop99998");
	(void)snprintf(text, sizeof(text), "%s\n", path);
	write_text("sys/block/loop99998/loop/backing_file", text);
	expect_users(&id, 0, "");
	assert_true(users_backing(&id, loop, sizeof(loop), &backing));
	assert_string_equal(loop, "loop99998");
	assert_string_equal(backing.path, path);
	assert_false(backing.is_block);
	assert_int_equal(users_check(&backing, loop, &r, NULL), 0);
	assert_int_equal(r.count, 0);
	write_text("sys/block/loop99999/loop/backing_file", text);
	assert_int_equal(users_check(&backing, loop, &r, NULL), 0);
	assert_int_equal(r.count, 1);
	assert_non_null(strstr(r.items[0].text, "/dev/loop99999"));
	id = device(8, 2);
	assert_false(users_backing(&id, loop, sizeof(loop), &backing));
}

/* The Windows files mounted beside an image: only a driver that may write keeps what is not on the disk. */
static void test_the_host_device(void **state)
{
	struct report r = { 0 };
	struct users_ident id = device(8, 2);

	(void)state;
	run("ln -s ../../../dm-0 sys/devices/sda/sda2/holders/dm-0; echo WUBI-host-12 >sys/devices/dm-0/dm/uuid; "
	    "echo 1 >sys/devices/dm-0/ro");
	assert_int_equal(users_check(&id, "", &r, NULL), 0);
	assert_int_equal(r.count, 1);
	assert_string_equal(r.items[0].reason, "attached");
	assert_non_null(strstr(r.items[0].text, "wubi-host stop"));
	run("echo 0 >sys/devices/dm-0/ro");
	expect_users(&id, 1, "wubi-host stop"); /* busy */
	run("rm sys/devices/dm-0/ro");
	expect_users(&id, 1, "wubi-host stop"); /* unknown is no better */
}

static void test_nodes(void **state)
{
	char name[64];

	(void)state;
	run("printf 'MAJOR=8\\nMINOR=2\\nDEVNAME=sda2\\nDEVTYPE=partition\\n' >sys/devices/sda/sda2/uevent; "
	    "printf 'MAJOR=8\\nDEVNAME=cciss/c0d0' >sys/devices/sda/uevent; echo MAJOR=8 >sys/devices/sdb/uevent");
	assert_true(sysfs_node(makedev(8, 2), name, sizeof(name)));
	assert_string_equal(name, "/dev/sda2");
	assert_true(sysfs_node(makedev(8, 0), name, sizeof(name)));
	assert_string_equal(name, "/dev/cciss/c0d0");
	assert_false(sysfs_node(makedev(8, 16), name, sizeof(name))); /* no name */
	assert_string_equal(name, "");
	assert_false(sysfs_node(makedev(8, 99), name, sizeof(name))); /* no device */
	assert_false(sysfs_node(makedev(8, 2), name, 5)); /* no room */
	assert_string_equal(name, "");
}

static void test_holders(void **state)
{
	struct users_ident sda = device(8, 0), sda1 = device(8, 1), sda2 = device(8, 2);

	(void)state;
	run("ln -s ../../../dm-0 sys/devices/sda/sda2/holders/dm-0");
	expect_users(&sda2, 1, "the image 'wubi-root' on '/dev/test' is attached");
	expect_users(&sda, 1, "the image 'wubi-root' on 'sda2' is attached");
	expect_users(&sda1, 0, "");
	write_text("sys/devices/dm-0/dm/uuid", "CRYPT-1234\n");
	write_text("sys/devices/dm-0/dm/name", "secret\n");
	expect_users(&sda2, 1, "dmsetup remove 'secret'");
	run("rm sys/devices/sda/sda2/holders/dm-0; ln -s ../../md127 sys/devices/sda/holders/md127");
	expect_users(&sda2, 1, "'/dev/md127' holds 'sda'");
	expect_users(&sda, 1, "mdadm --stop /dev/md127");
}

/* A child opens the file, and locks it with 'command' if that is not 0; it ends when the pipe closes. */
static pid_t hold(int flags, int command, int *ret_fd)
{
	int ready[2], end[2];
	char c = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct flock lock = { .l_type = flags == O_RDONLY ? F_RDLCK : F_WRLCK, .l_whence = SEEK_SET };
		int fd = open(path, flags | O_CLOEXEC);

		(void)close(end[1]);
		if (fd < 0 || (command != 0 && fcntl(fd, command, &lock) != 0) || write(ready[1], "k", 1) != 1)
			_exit(1);
		_exit(read(end[0], &c, 1) == 0 ? 0 : 1);
	}
	(void)close(ready[1]);
	(void)close(end[0]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	(void)close(ready[0]);
	*ret_fd = end[1];
	return pid;
}

static void let_go(pid_t pid, int fd)
{
	int status = -1;

	(void)close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	expect_file(0, "");
}

static void test_locks(void **state)
{
	char text[64];
	int fd = -1;
	pid_t pid = hold(O_RDONLY, F_SETLK, &fd);

	(void)state;
	(void)snprintf(text, sizeof(text), "is locked by process %ld, probably ntfs-3g", (long)pid);
	expect_file(1, text);
	expect_file(1, text); /* asking did not take it away */
	let_go(pid, fd);
	pid = hold(O_RDONLY, F_OFD_SETLK, &fd);
	expect_file(1, "is locked by another program");
	let_go(pid, fd);
}

/* ntfs-3g once it has mounted: no lock, and the mount may be in another namespace */
static void test_open_for_writing(void **state)
{
	char text[64];
	int fd = -1;
	pid_t pid = hold(O_RDWR, 0, &fd);

	(void)state;
	(void)snprintf(text, sizeof(text), "is open for writing in process %ld (", (long)pid);
	expect_file(1, text);
	let_go(pid, fd);
	pid = hold(O_RDONLY, 0, &fd); /* who only reads does no harm */
	expect_file(0, "");
	let_go(pid, fd);
}

static void test_own_lock_does_not_count(void **state)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	AUTO_FD int fd = open(path, O_RDWR | O_CLOEXEC);

	(void)state;
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	expect_file(0, "");
}

static bool is_on(const struct users_ident *volume, dev_t dev)
{
	bool on = false;

	assert_int_equal(users_on_device(volume, dev, 0, &on, NULL), 0);
	return on;
}

/* device-mapper over sda2, and a partition of an md over sdb */
static void test_what_a_device_stands_on(void **state)
{
	struct users_ident sda2 = device(8, 2), sdb = device(8, 16), sda1 = device(8, 1);

	(void)state;
	run("mkdir -p sys/devices/dm-0/slaves/sda2 sys/devices/md0/slaves/sdb sys/devices/md0/md0p1; "
	    "echo 254:0 >sys/devices/dm-0/dev; echo 9:0 >sys/devices/md0/dev; echo 8:2 >sys/devices/dm-0/slaves/sda2/dev; "
	    "echo 8:16 >sys/devices/md0/slaves/sdb/dev; echo 1 >sys/devices/md0/md0p1/partition; "
	    "ln -s ../../devices/dm-0 sys/dev/block/254:0; ln -s ../../devices/md0 sys/dev/block/9:0; "
	    "ln -s ../../devices/md0/md0p1 sys/dev/block/259:1");
	assert_true(is_on(&sda2, makedev(8, 2)) && is_on(&sda2, makedev(8, 0)) && is_on(&sda2, makedev(254, 0)));
	assert_false(is_on(&sda1, makedev(8, 2)) || is_on(&sda1, makedev(254, 0)) || is_on(&sda2, makedev(8, 16)));
	assert_true(is_on(&sdb, makedev(9, 0)) && is_on(&sdb, makedev(259, 1)));
	assert_false(is_on(&sda2, makedev(259, 1)));
	/* over itself: it ends */
	run("mkdir sys/devices/md0/slaves/md0; echo 9:0 >sys/devices/md0/slaves/md0/dev");
	assert_false(is_on(&sda2, makedev(9, 0)));
}

static void test_a_path_on_the_volume(void **state)
{
	char text[512], in[128];
	struct stat st;
	bool upon = false;

	(void)state;
	assert_int_equal(blockdev_is_upon(path, path, &upon, NULL), 0);
	assert_true(upon);
	(void)snprintf(in, sizeof(in), "%s/copy", dir);
	assert_int_equal(blockdev_is_upon(path, in, &upon, NULL), 0);
	assert_false(upon);
	assert_int_equal(stat(dir, &st), 0);
	if (major(st.st_dev) != 0)
		return; /* only what has no device of its own is looked for among the mounts */
	(void)snprintf(text, sizeof(text), "99 27 0:%u / /mnt rw,relatime - fuse %s/volume\\040image "
			  "rw\n", minor(st.st_dev), dir);
	write_text("mountinfo", text);
	assert_int_equal(blockdev_is_upon(path, in, &upon, NULL), 0);
	assert_true(upon);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_not_a_volume, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tables_that_cannot_be_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mounted_device, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_mounted_under_any_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_broken_escapes_end_where_the_text_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loop_over_the_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_volume_is_a_loop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_holders, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_host_device, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nodes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_locks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_open_for_writing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_lock_does_not_count, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_a_device_stands_on, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_path_on_the_volume, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
