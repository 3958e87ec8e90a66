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

#include "filedev.h"

#define SIZE (3u * 1024 * 1024)

static char dir[64];
static char path[96];

static int setup(void **state)
{
	AUTO_FD int fd = -1;

	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/test_filedev.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/volume", dir);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	return fd < 0 ? -1 : ftruncate(fd, SIZE);
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(dir);
}

static void test_what_is_not_a_volume(void **state)
{
	struct blkio *io = NULL;
	struct err e = ERR_INIT;
	char fifo[128];

	(void)state;
	assert_int_equal(filedev_open("/nonexistent/volume", FILEDEV_READ, &io, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nonexistent/volume"));
	err_clear(&e);
	assert_int_equal(filedev_open(dir, FILEDEV_READ, &io, &e), -EPERM);
	assert_string_equal(e.reason, "not-a-volume");
	assert_int_equal(filedev_open("/dev/null", FILEDEV_WRITE, &io, &e), -EPERM);
	assert_string_equal(e.reason, "not-a-volume");
	(void)snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(filedev_open(fifo, FILEDEV_READ, &io, &e), -EPERM); /* and does not hang */
	assert_int_equal(unlink(fifo), 0);
	assert_null(io);
}

static void test_read_only(void **state)
{
	AUTO(blkio) struct blkio *io = NULL;
	char b[2];

	(void)state;
	assert_int_equal(filedev_open(path, FILEDEV_READ, &io, NULL), 0);
	assert_int_equal(io->size_bytes, SIZE);
	assert_int_equal(io->sector_bytes, 512);
	assert_string_equal(io->name, path);
	assert_false(filedev_is_block(io));
	assert_true(filedev_fd(io) >= 0);
	assert_int_equal(fcntl(filedev_fd(io), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(blkio_write(io, 0, "x", 1, NULL), -EROFS);
	assert_int_equal(blkio_zero(io, 0, 1, NULL), -EROFS);
	assert_int_equal(blkio_read(io, SIZE - 1, b, 2, NULL), -EINVAL);
	assert_int_equal(filedev_drop_cache(io, NULL), 0);
}

static void test_write_read_zero(void **state)
{
	AUTO(blkio) struct blkio *io = NULL;
	AUTO_FREE uint8_t *a = malloc(SIZE);
	AUTO_FREE uint8_t *b = malloc(SIZE);

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	for (unsigned i = 0; i < SIZE; i++)
		a[i] = (uint8_t)(i % 251 + 1);
	assert_int_equal(filedev_open(path, FILEDEV_WRITE, &io, NULL), 0);
	assert_int_equal(blkio_write(io, 0, a, SIZE, NULL), 0);
	assert_int_equal(blkio_zero(io, 1001, 1500000, NULL), 0);
	memset(a + 1001, 0, 1500000);
	assert_int_equal(blkio_flush(io, NULL), 0);
	assert_int_equal(blkio_read(io, 0, b, SIZE, NULL), 0);
	assert_memory_equal(a, b, SIZE);
	assert_int_equal(io->size_bytes, SIZE);
}

static void test_file_cut_while_open(void **state)
{
	AUTO(blkio) struct blkio *io = NULL;
	struct err e = ERR_INIT;
	char b[1024];

	(void)state;
	assert_int_equal(filedev_open(path, FILEDEV_READ, &io, NULL), 0);
	assert_int_equal(truncate(path, 512), 0);
	assert_int_equal(blkio_read(io, 0, b, sizeof(b), &e), -EIO);
	assert_non_null(strstr(e.text, path));
	assert_int_equal(truncate(path, SIZE), 0);
}

static void test_own_second_open_is_busy(void **state)
{
	AUTO(blkio) struct blkio *io = NULL;
	AUTO(blkio) struct blkio *reader = NULL;
	struct blkio *second = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(filedev_open(path, FILEDEV_WRITE, &io, NULL), 0);
	assert_int_equal(filedev_open(path, FILEDEV_WRITE, &second, &e), -EPERM);
	assert_string_equal(e.reason, "busy");
	assert_null(second);
	assert_int_equal(filedev_open(path, FILEDEV_READ, &reader, NULL), 0); /* reading claims nothing */
}

/* A child holds the kind of lock that ntfs-3g takes; it ends when the pipe closes. */
static pid_t hold_posix_lock(int *ret_fd)
{
	int ready[2], end[2];
	char c = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
		int fd = open(path, O_RDWR | O_CLOEXEC);

		(void)close(end[1]);
		if (fd < 0 || fcntl(fd, F_SETLK, &lock) != 0 || write(ready[1], "k", 1) != 1)
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

static void test_posix_lock_is_busy_and_named(void **state)
{
	struct blkio *io = NULL;
	struct err e = ERR_INIT;
	char pid_text[32];
	int fd = -1, status = -1;
	pid_t pid = hold_posix_lock(&fd);

	(void)state;
	(void)snprintf(pid_text, sizeof(pid_text), "process %ld,", (long)pid);
	assert_int_equal(filedev_open(path, FILEDEV_WRITE, &io, &e), -EPERM);
	assert_string_equal(e.reason, "busy");
	assert_non_null(strstr(e.text, pid_text));
	assert_int_equal(filedev_open(path, FILEDEV_READ, &io, NULL), 0);
	blkio_free(io);
	io = NULL;
	/* having opened and closed it did not take the other's lock away */
	assert_int_equal(filedev_open(path, FILEDEV_WRITE, &io, &e), -EPERM);
	(void)close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(filedev_open(path, FILEDEV_WRITE, &io, NULL), 0);
	blkio_free(io);
}

static void test_other_back_ends_have_no_descriptor(void **state)
{
	static const struct blkio_ops ops = { 0 };
	struct blkio io = { .ops = &ops };

	(void)state;
	assert_int_equal(filedev_fd(&io), -1);
	assert_false(filedev_is_block(&io));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_not_a_volume, setup, teardown),
		cmocka_unit_test_setup_teardown(test_read_only, setup, teardown),
		cmocka_unit_test_setup_teardown(test_write_read_zero, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_cut_while_open, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_second_open_is_busy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_posix_lock_is_busy_and_named, setup, teardown),
		cmocka_unit_test(test_other_back_ends_have_no_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
