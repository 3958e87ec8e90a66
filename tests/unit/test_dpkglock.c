/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dpkglock.h"

static char dir[] = "/tmp/wubi-test-dpkglock-XXXXXX";
static char file[64];
static char told[256];
static int lines;
static pid_t other;
static int release_after; /* questions of "interrupted?", then the other process ends */

static int set_up(void **state)
{
	(void)state;
	(void)unsetenv("DPKG_FRONTEND_LOCKED"); /* as when the tests run while a package is built */
	(void)unsetenv("DPKG_RUNNING_VERSION");
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(file, sizeof(file), "%s/lock", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(file);
	return rmdir(dir);
}

static void end_other(void)
{
	if (other <= 0)
		return;
	assert_int_equal(kill(other, SIGKILL), 0);
	assert_int_equal(waitpid(other, NULL, 0), other);
	other = 0;
}

/* Another process that has the lock, as apt has it. */
static void lock_elsewhere(void)
{
	int ready[2];
	char c;

	assert_int_equal(pipe(ready), 0);
	other = fork();
	assert_true(other >= 0);
	if (other == 0) {
		struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
		int fd = open(file, O_RDWR | O_CREAT, 0640);

		if (fd < 0 || fcntl(fd, F_SETLK, &l) || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
}

static void tell(void *ctx, const char *text)
{
	assert_ptr_equal(ctx, &lines);
	lines++;
	(void)snprintf(told, sizeof(told), "%s", text);
}

static bool never(void *ctx)
{
	(void)ctx;
	if (release_after > 0 && --release_after == 0)
		end_other();
	return false;
}

static bool at_once(void *ctx)
{
	(void)ctx;
	return true;
}

static int take(unsigned timeout_s, bool (*interrupted)(void *), int *fd, struct err *e)
{
	const struct dpkglock_params p = { file, timeout_s, tell, interrupted, &lines };

	lines = 0;
	err_clear(e);
	return dpkglock_take(&p, fd, e);
}

static void test_nobody_has_it(void **state)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = -1;
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(take(0, NULL, &fd, NULL), 0);
	assert_true(fd >= 0);
	assert_int_equal(lines, 0);
	child = fork();
	if (child == 0) {
		int again = open(file, O_RDWR);

		_exit(again >= 0 && fcntl(again, F_SETLK, &l) == -1 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(close(fd), 0);
}

static void test_others_have_it(void **state)
{
	struct err e = ERR_INIT;
	char number[32];
	int fd;

	(void)state;
	lock_elsewhere();
	(void)snprintf(number, sizeof(number), "process %d ", (int)other);
	assert_int_equal(take(0, NULL, &fd, &e), -EAGAIN);
	assert_int_equal(fd, -1);
	assert_text_has(e.text, number);
	assert_text_has(e.text, "retry");
	assert_int_equal(take(60, at_once, &fd, &e), -ECANCELED);
	release_after = 2;
	assert_int_equal(take(60, never, &fd, &e), 0);
	assert_int_equal(lines, 1);
	assert_text_has(told, number);
	assert_int_equal(close(fd), 0);
}

static void test_nothing_to_lock(void **state)
{
	const struct dpkglock_params none = { .file = "/nowhere/dpkg/lock-frontend" };
	int fd = 0;

	(void)state;
	assert_int_equal(dpkglock_take(&none, &fd, NULL), 0);
	assert_int_equal(fd, -1);
	lock_elsewhere();
	assert_int_equal(setenv("DPKG_FRONTEND_LOCKED", "1", 1), 0);
	assert_int_equal(take(0, NULL, &fd, NULL), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(unsetenv("DPKG_FRONTEND_LOCKED"), 0);
	assert_int_equal(setenv("DPKG_RUNNING_VERSION", "1.21", 1), 0);
	assert_int_equal(take(0, NULL, &fd, NULL), 0);
	assert_int_equal(unsetenv("DPKG_RUNNING_VERSION"), 0);
	assert_int_equal(take(0, NULL, &fd, NULL), -EAGAIN);
	end_other();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_has_it),
		cmocka_unit_test(test_others_have_it),
		cmocka_unit_test(test_nothing_to_lock),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
