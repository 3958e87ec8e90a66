/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "initramfs.h"

static char dir[] = "/tmp/wubi-test-initramfs-XXXXXX";
static const char *bad_kernel; /* what the check says no to */
static int checks, kernels_until_interrupt;

static int enter_folder(void **state)
{
	char path[128];

	(void)state;
	if (!mkdtemp(dir) || chdir(dir))
		return -1;
	(void)snprintf(path, sizeof(path), "/nowhere::%s/bin", dir);
	return setenv("PATH", path, 1);
}

static int leave_folder(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "/bin/rm -rf '%s'", dir);
	return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static void put(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void put_tool(const char *name, const char *command)
{
	char path[64], text[600];

	(void)snprintf(path, sizeof(path), "%s", name);
	(void)snprintf(text, sizeof(text), "#!/bin/sh\necho \"${0##*/} $*\" >>%s/said\n%s\n", dir, command);
	put(path, text, 0755);
}

/* Kernels 1 (runs), 2 and 3; 4 has no modules, 5 no image. */
static int start_anew(void **state)
{
	(void)state;
	assert_int_equal(system("/bin/rm -rf bin sbin boot modules hooks said; "
				"/bin/mkdir -p bin sbin boot modules/1.0 modules/2.0 modules/3.0 modules/5.0"), 0);
	for (int i = 1; i <= 4; i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "boot/initrd.img-%d.0", i);
		put(path, "old\n", 0600);
	}
	put("boot/initrd.img-2.0.dpkg-bak", "old\n", 0600);
	bad_kernel = "";
	checks = 0;
	kernels_until_interrupt = 100;
	return 0;
}

static void read_text(const char *path, char ret[1024])
{
	FILE *f = fopen(path, "r");

	ret[0] = '\0';
	if (!f)
		return;
	ret[fread(ret, 1, 1023, f)] = '\0';
	fclose(f);
}

static void assert_file(const char *path, const char *wanted)
{
	char text[1024];

	read_text(path, text);
	assert_string_equal(text, wanted);
}

static int check(void *ctx, const char *image, const char *kernel, struct err *e)
{
	assert_ptr_equal(ctx, &checks);
	assert_int_equal(access(image, R_OK), 0);
	checks++;
	return strcmp(kernel, bad_kernel) ? 0 : err_set(e, -EBADMSG, "it lacks the map");
}

static bool interrupt(void *ctx)
{
	(void)ctx;
	return kernels_until_interrupt-- == 0;
}

static int rebuild(struct err *e)
{
	const struct initramfs_params p = {
		.boot = "boot", .modules = "modules", .running = "2.0", .tools = "sbin", .hooks = "hooks",
		.check = check, .interrupted = interrupt, .ctx = &checks,
	};

	err_clear(e);
	return initramfs_rebuild(&p, e);
}

static void test_no_tool_no_kernel(void **state)
{
	struct err e = ERR_INIT;
	char tool[256];

	(void)state;
	assert_false(initramfs_tool("sbin", tool));
	assert_int_equal(rebuild(&e), -ENOENT);
	assert_text_has(e.text, "update-initramfs");
	assert_text_has(e.text, "dracut");
	put_tool("bin/dracut", "exit 0");
	assert_int_equal(system("/bin/rm -rf modules/?.0"), 0);
	assert_int_equal(rebuild(&e), -ENOENT);
	assert_text_has(e.text, "no kernel");
}

/* su keeps a PATH without sbin, and what the tool runs needs one that has it. */
static void test_folders_beside_path(void **state)
{
	char tool[256];

	(void)state;
	put_tool("sbin/dracut", "exit 0");
	assert_false(initramfs_tool(NULL, tool));
	assert_true(initramfs_tool("/nowhere:sbin", tool));
	assert_string_equal(tool, "sbin/dracut");
	put_tool("bin/update-initramfs", "case $PATH in *:sbin) exit 0 ;; esac; exit 7");
	assert_int_equal(rebuild(NULL), 0);
	assert_int_equal(chmod("bin/update-initramfs", 0644), 0); /* not to be run */
	assert_true(initramfs_tool("sbin", tool));
	assert_string_equal(tool, "sbin/dracut");
}

static void test_update_initramfs(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	put_tool("bin/update-initramfs", "[ $3 != 1.0 ] || exit 3");
	assert_int_equal(rebuild(&e), -EIO);
	assert_text_has(e.text, "kernel 1.0:");
	assert_text_has(e.text, "status 3");
	assert_file("said", "update-initramfs -u -k 2.0\nupdate-initramfs -u -k 1.0\nupdate-initramfs -u -k 3.0\n");
	assert_int_equal(checks, 2);
}

/* update_initramfs=no, or /boot is read-only: status 0 and nothing built. */
static void test_done_is_not_believed(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	put_tool("bin/update-initramfs", "exit 0");
	bad_kernel = "3.0";
	assert_int_equal(rebuild(&e), -EBADMSG);
	assert_text_has(e.text, "kernel 3.0: it lacks the map");
	assert_int_equal(checks, 3);
}

/* As dracut ends a build: into the file, and away with it on an error. */
#define DRACUT "echo \"new $NO_POST_UPDATE_HOOKS\" >$2; "

static void test_dracut(void **state)
{
	(void)state;
	put_tool("bin/dracut", DRACUT);
	put("boot/.wubi-initrd-0.9.new", "of a killed run", 0600);
	assert_int_equal(rebuild(NULL), 0);
	assert_file("boot/initrd.img-2.0", "new 1\n");
	assert_file("boot/initrd.img-1.0", "new 1\n");
	assert_file("boot/initrd.img-4.0", "old\n");
	assert_int_equal(access("boot/.wubi-initrd-2.0.new", F_OK), -1);
	assert_int_equal(access("boot/.wubi-initrd-0.9.new", F_OK), -1);
	assert_int_equal(checks, 3);
}

static void assert_all_old(void)
{
	assert_file("boot/initrd.img-1.0", "old\n");
	assert_file("boot/initrd.img-2.0", "old\n");
	assert_file("boot/initrd.img-3.0", "old\n");
	assert_int_equal(system("[ -z \"$(/bin/ls boot/.wubi* 2>/dev/null)\" ]"), 0);
}

/* A full /boot, a builder that was killed: what boots stays. */
static void test_dracut_fails(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	put_tool("bin/dracut", DRACUT "exit 3");
	assert_int_equal(rebuild(&e), -EIO);
	assert_text_has(e.text, "kernel 2.0, 1.0, 3.0: '");
	assert_text_has(e.text, "status 3");
	assert_all_old();
	put_tool("bin/dracut", DRACUT "kill -9 $$");
	assert_int_equal(rebuild(&e), -EIO);
	assert_text_has(e.text, "signal 9");
	assert_all_old();
	put_tool("bin/dracut", DRACUT "");
	bad_kernel = "1.0";
	assert_int_equal(rebuild(&e), -EBADMSG);
	assert_file("boot/initrd.img-1.0", "old\n");
	assert_file("boot/initrd.img-3.0", "new 1\n");
}

/* The boot loader is told about the image under the name that it keeps. */
static void test_hooks(void **state)
{
	char text[1024];

	(void)state;
	put_tool("bin/dracut", DRACUT);
	put_tool("bin/run-parts", "/bin/cat boot/initrd.img-3.0 >>said");
	assert_int_equal(mkdir("hooks", 0755), 0);
	assert_int_equal(rebuild(NULL), 0);
	read_text("said", text);
	assert_text_has(text, "run-parts --arg=3.0 --arg=boot/initrd.img-3.0 hooks\nnew 1\n");
}

static void test_interrupted(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	put_tool("bin/dracut", DRACUT);
	kernels_until_interrupt = 1;
	assert_int_equal(rebuild(&e), -ECANCELED);
	assert_text_has(e.text, "kernel '1.0'");
	assert_file("boot/initrd.img-2.0", "new 1\n");
	assert_file("boot/initrd.img-1.0", "old\n");
}

#define TEST(f) cmocka_unit_test_setup(f, start_anew)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_tool_no_kernel), TEST(test_folders_beside_path), TEST(test_update_initramfs),
		TEST(test_done_is_not_believed), TEST(test_dracut), TEST(test_dracut_fails), TEST(test_hooks),
		TEST(test_interrupted),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
