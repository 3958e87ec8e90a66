/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "cmocka_all.h"
#include "runprog.h"

#define SHELL "/bin/sh"

static bool never(void *ctx)
{
	(void)ctx;
	return false;
}

/* By a shell; what it says comes back. */
static int shell(const char *script, struct runprog_params p, char **ret, struct err *e)
{
	const char *const arguments[] = { SHELL, "-c", script, NULL };

	p.arguments = arguments;
	return runprog_do(&p, ret, e);
}

static void assert_says(const char *script, struct runprog_params p, const char *wanted)
{
	AUTO_FREE char *said = NULL;
	struct err e = ERR_INIT;

	if (shell(script, p, &said, &e))
		fail_msg("%s", e.text);
	assert_string_equal(said, wanted);
}

static void test_what_cannot_be_run(void **state)
{
	static const char *const nowhere[] = { "/nowhere/program", NULL }, *const text[] = { "/etc/passwd", NULL };
	const struct runprog_params p = { .arguments = nowhere }, other_root = { .arguments = nowhere, .root = "/nowhere" };
	char *said = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(runprog_do(&p, &said, &e), -ENOENT);
	assert_text_has(e.text, "/nowhere/program");
	assert_null(said);
	assert_int_equal(runprog_run(text, NULL, NULL, &e), -EACCES);
	assert_int_equal(runprog_do(&other_root, &said, &e), geteuid() == 0 ? -ENOENT : -EPERM);
	assert_text_has(e.text, "'/nowhere'");
}

static void test_a_program_that_fails(void **state)
{
	AUTO_FREE char *said = NULL;
	char *none = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(shell("echo why; exit 7", (struct runprog_params){ 0 }, &said, &e), -EIO);
	assert_text_has(e.text, "status 7");
	assert_string_equal(said, "why\n");
	assert_int_equal(shell("kill -KILL $$", (struct runprog_params){ 0 }, &none, &e), -EIO);
	assert_text_has(e.text, "signal 9");
	free(none);
}

static void test_input_and_output(void **state)
{
	AUTO_FREE char *large = malloc(300001);

	(void)state;
	memset(large, 'x', 300000);
	large[300000] = '\0';
	assert_says("cat", (struct runprog_params){ 0 }, "");
	assert_says("cat", (struct runprog_params){ .input = "user:hash\n" }, "user:hash\n");
	assert_says("cat", (struct runprog_params){ .input = large }, large); /* more than a pipe holds */
	assert_says("echo one; (echo two); echo three >&1", (struct runprog_params){ 0 }, "one\ntwo\nthree\n");
}

static void test_too_much_output(void **state)
{
	AUTO_FREE char *said = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(shell("head -c 20000000 /dev/zero", (struct runprog_params){ 0 }, &said, &e), -EFBIG);
	assert_text_has(e.text, SHELL);
}

static void test_environment(void **state)
{
	static const char *const variables[] = { "WUBI_TEST_A=new", "WUBI_TEST_B=more", NULL };
	const struct runprog_params ours = { .variables = variables };
	const struct runprog_params bare = { .variables = variables, .bare = true, .more = "/bin" };

	(void)state;
	assert_int_equal(setenv("WUBI_TEST_A", "old", 1) | setenv("WUBI_TEST_C", "kept", 1), 0);
	assert_says("echo $WUBI_TEST_A $WUBI_TEST_B $WUBI_TEST_C", ours, "new more kept\n");
	assert_says("echo $WUBI_TEST_A $WUBI_TEST_B $WUBI_TEST_C $PATH $HOME", bare, "new more /bin\n");
}

static void test_signals_are_as_usual_for_it(void **state)
{
	(void)state;
	assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	/* yes(1) would tell of an error if SIGPIPE were ignored */
	assert_says("exec 2>&1; yes | head -n 1", (struct runprog_params){ 0 }, "y\n");
	assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
}

static void test_its_session(void **state)
{
	char ours[32];

	(void)state;
	(void)snprintf(ours, sizeof(ours), "%d\n", getsid(0));
	assert_says("cut -d ' ' -f 6 /proc/self/stat", (struct runprog_params){ 0 }, ours);
	assert_says("test $(cut -d ' ' -f 6 /proc/self/stat) = $$ && echo own", (struct runprog_params){ .interrupted = never },
		    "own\n");
}

static bool file_is_there(void *ctx)
{
	return access(ctx, F_OK) == 0;
}

/* What it has started is ended, too; one that wants to tidy up is left the time. */
static void test_interrupted(void **state)
{
	char folder[] = "/tmp/wubi-test-runprog-XXXXXX", begun[64], tidy[64], script[512];
	struct runprog_params p = { .interrupted = file_is_there, .ctx = begun };
	char *said = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(begun, sizeof(begun), "%s/begun", folder);
	(void)snprintf(tidy, sizeof(tidy), "%s/tidy", folder);
	(void)snprintf(script, sizeof(script), "trap 'echo tidy >%s; exit 1' TERM; tail -f /dev/null & echo $!; : >%s; wait",
		       tidy, begun);
	assert_int_equal(shell(script, p, &said, &e), -ECANCELED);
	assert_text_has(e.text, SHELL);
	assert_int_equal(unlink(tidy), 0);
	assert_int_equal(kill(atoi(said), 0), -1);
	assert_int_equal(unlink(begun) | rmdir(folder), 0);
	free(said);
}

static void test_root(void **state)
{
	const struct runprog_params p = { .root = "/" };

	(void)state;
	if (geteuid() != 0) {
		skip();
		return;
	}
	assert_says("pwd; echo in", p, "/\nin\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_cannot_be_run),
		cmocka_unit_test(test_a_program_that_fails),
		cmocka_unit_test(test_input_and_output),
		cmocka_unit_test(test_too_much_output),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_signals_are_as_usual_for_it),
		cmocka_unit_test(test_its_session),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
