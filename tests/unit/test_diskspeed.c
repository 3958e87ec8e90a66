/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

#define DISKSPEED_BYTES (3 * NUM_MIB)
#include "../../src/diskspeed.c"

static char dir[] = "/tmp/wubi-test-diskspeed-XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

/* Fails if anything is left in it. */
static int remove_folder(void **state)
{
	(void)state;
	return rmdir(dir);
}

static void test_no_folder(void **state)
{
	uint64_t speed = 77;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(diskspeed_probe("/nowhere/at/all", &speed, &e), -ENOENT);
	assert_text_has(e.text, "'/nowhere/at/all'");
	assert_true(diskspeed_probe("/proc/self", &speed, &e) < 0);
	assert_text_has(e.text, "'/proc/self'");
	assert_int_equal(speed, 77);
}

static void test_speed(void **state)
{
	uint64_t speed = 0;
	struct err e = ERR_INIT;

	(void)state;
	if (diskspeed_probe(dir, &speed, &e))
		fail_msg("%s", e.text);
	assert_true(speed > 0);
}

static void test_a_write_that_fails(void **state)
{
	const struct rlimit small = { NUM_MIB + NUM_MIB / 2, RLIM_INFINITY }, all = { RLIM_INFINITY, RLIM_INFINITY };
	uint64_t speed = 77;
	struct err e = ERR_INIT;
	int code;

	(void)state;
	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	code = diskspeed_probe(dir, &speed, &e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	assert_int_equal(code, -EFBIG);
	assert_text_has(e.text, dir);
	assert_int_equal(speed, 77);
}

/* A descriptor that was opened with it and cannot do it, as a pipe cannot be written at an offset. */
static void test_what_may_be_tried_again(void **state)
{
	int fd = open(dir, O_TMPFILE | O_WRONLY | O_DIRECT, 0600);

	(void)state;
	if (fd < 0) /* a folder in memory, before Linux 6.6 */
		return;
	assert_false(may_retry(fd, EIO));
	assert_int_equal(errno, EIO);
	assert_true(may_retry(fd, EINTR));
	assert_true(may_retry(fd, EINVAL));
	assert_false(fcntl(fd, F_GETFL) & O_DIRECT);
	assert_false(may_retry(fd, EINVAL)); /* once */
	assert_int_equal(errno, EINVAL);
	assert_int_equal(close(fd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_folder),
		cmocka_unit_test(test_speed),
		cmocka_unit_test(test_a_write_that_fails),
		cmocka_unit_test(test_what_may_be_tried_again),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
