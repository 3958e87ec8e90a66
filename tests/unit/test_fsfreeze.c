/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order of the calls, of the process and of its guard, with a kernel that fails where it is told to. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"

#include "auto.h"

struct fake_kernel {
	char calls[64];      /* a letter each: s(yncfs) l(ock) f(reeze) t(haw) u(nlock); the guard's are capitals */
	int lock, sync;      /* errno of these */
	int guard_lock;
	bool dies;           /* killed while it is frozen */
	int freeze[4], thaw[4]; /* of the first, the second ... */
	unsigned freezes, thaws;
	bool blocked;        /* did signals wait all the time between? */
};
static struct fake_kernel *kernel; /* shared with the guard */
static pid_t flushing;

static bool is_guard(void)
{
	return getpid() != flushing;
}

static int called(char letter, int problem)
{
	size_t n = strlen(kernel->calls);
	sigset_t now;

	if (n + 1 < sizeof(kernel->calls))
		kernel->calls[n] = is_guard() ? (char)toupper(letter) : letter;
	(void)sigprocmask(SIG_SETMASK, NULL, &now);
	if (letter != 's')
		kernel->blocked = kernel->blocked && sigismember(&now, SIGTERM) == 1 && sigismember(&now, SIGINT) == 1;
	errno = problem;
	return problem ? -1 : 0;
}

static int fake_ioctl(int fd, unsigned long request, int argument)
{
	(void)fd, (void)argument;
	if (request == FIFREEZE) {
		int r = called('f', kernel->freeze[kernel->freezes++]);

		if (kernel->dies)
			(void)kill(getpid(), SIGKILL);
		return r;
	}
	assert_int_equal(request, FITHAW);
	return called('t', kernel->thaw[kernel->thaws++]);
}

static int fake_mlockall(int flags)
{
	assert_int_equal(flags, MCL_CURRENT);
	return called('l', is_guard() ? kernel->guard_lock : kernel->lock);
}

static int fake_munlockall(void)
{
	return called('u', 0);
}

static int fake_syncfs(int fd)
{
	(void)fd;
	return called('s', kernel->sync);
}

#define ioctl(fd, request, argument) fake_ioctl(fd, request, argument)
#define mlockall(flags) fake_mlockall(flags)
#define munlockall() fake_munlockall()
#define syncfs(fd) fake_syncfs(fd)

#include "../../src/fsfreeze.c"

static int set_up(void **state)
{
	(void)state;
	*kernel = (struct fake_kernel){ .blocked = true };
	flushing = getpid();
	return 0;
}

static void flush(int code, const char *calls, const char *word)
{
	struct err e = ERR_INIT;
	sigset_t now;

	assert_int_equal(fsfreeze_flush("/", &e), code);
	assert_string_equal(kernel->calls, calls);
	assert_text_has(e.text, word);
	assert_true(kernel->blocked);
	(void)sigprocmask(SIG_SETMASK, NULL, &now);
	assert_int_equal(sigismember(&now, SIGTERM), 0);
}

static void test_no_folder(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(fsfreeze_flush("/nowhere", &e), -ENOENT);
	assert_int_equal(fsfreeze_flush("/dev/null", &e), -ENOTDIR);
	assert_text_has(e.text, "/dev/null");
	assert_string_equal(kernel->calls, "");
}

static void test_what_was_not_synced_is_not_frozen(void **state)
{
	(void)state;
	kernel->sync = EIO;
	flush(-EIO, "s", "syncfs");
}

static void test_without_memory_locks_nothing_is_frozen(void **state)
{
	(void)state;
	kernel->lock = ENOMEM;
	flush(-ENOMEM, "sLl", "freeze");
}

static void test_without_a_guard_nothing_is_frozen(void **state)
{
	(void)state;
	kernel->guard_lock = EAGAIN;
	flush(-EAGAIN, "sL", "freeze");
}

/* All that have the pipe's other end are gone when it is read to its end: the killed one and the guard. */
static void test_killed_while_it_is_frozen(void **state)
{
	int ends[2], status = 0;
	pid_t child;
	char c;

	(void)state;
	kernel->dies = true;
	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		flushing = getpid();
		(void)close(ends[0]);
		_exit(fsfreeze_flush("/", NULL) ? 1 : 0);
	}
	(void)close(ends[1]);
	assert_int_equal(read(ends[0], &c, 1), 0);
	(void)close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_string_equal(kernel->calls, "sLlfT");
}

static void test_cannot_be_frozen(void **state)
{
	(void)state;
	kernel->freeze[0] = EOPNOTSUPP;
	flush(-EOPNOTSUPP, "sLlfu", "synced");
}

/* Whoever froze it thaws it. */
static void test_frozen_by_another(void **state)
{
	(void)state;
	kernel->freeze[0] = EBUSY;
	flush(-EBUSY, "sLlfu", "frozen");
}

static void test_no_right(void **state)
{
	(void)state;
	kernel->freeze[0] = EPERM;
	flush(-EPERM, "sLlfu", "freeze");
}

static void test_flush(void **state)
{
	(void)state;
	flush(0, "sLlftu", "");
}

static void test_interrupted_calls_are_made_again(void **state)
{
	(void)state;
	kernel->freeze[0] = EINTR;
	kernel->thaw[0] = kernel->thaw[1] = EINTR;
	flush(0, "sLlfftttu", "");
}

static void test_thawed_by_another(void **state)
{
	(void)state;
	kernel->thaw[0] = EINVAL;
	flush(0, "sLlftu", "");
}

/* The one state that a user has to know how to leave; the guard has tried, too. */
static void test_still_frozen(void **state)
{
	(void)state;
	kernel->thaw[0] = EIO;
	kernel->thaw[1] = EIO;
	flush(-EIO, "sLlftuT", "fsfreeze --unfreeze /");
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_folder),
		TEST(test_what_was_not_synced_is_not_frozen),
		TEST(test_without_memory_locks_nothing_is_frozen),
		TEST(test_without_a_guard_nothing_is_frozen),
		TEST(test_killed_while_it_is_frozen),
		TEST(test_cannot_be_frozen),
		TEST(test_frozen_by_another),
		TEST(test_no_right),
		TEST(test_flush),
		TEST(test_interrupted_calls_are_made_again),
		TEST(test_thawed_by_another),
		TEST(test_still_frozen),
	};

	kernel = mmap(NULL, sizeof(*kernel), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (kernel == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests_name("fsfreeze", tests, NULL, NULL);
}
