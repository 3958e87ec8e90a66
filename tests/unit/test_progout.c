/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A child process prints; what comes out of its streams, and its exit status, are looked at. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "progmain.h"
#include "progout.h"

struct outcome {
	int status;
	char out[1024], err[1024];
};

static int memory(const char *name)
{
	int fd = memfd_create(name, 0);

	assert_true(fd >= 0);
	return fd;
}

static void take(int fd, char *ret, size_t n)
{
	ssize_t got = pread(fd, ret, n - 1, 0);

	assert_true(got >= 0);
	ret[got] = '\0';
	assert_int_equal(close(fd), 0);
}

static void in_child(int (*fn)(void), struct outcome *ret)
{
	int out = memory("out"), err = memory("err"), status;
	pid_t child;

	(void)fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
			_exit(99);
		status = fn();
		(void)fflush(NULL);
		_exit(status);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	ret->status = WEXITSTATUS(status);
	take(out, ret->out, sizeof(ret->out));
	take(err, ret->err, sizeof(ret->err));
}

static int no_verb(void)
{
	struct optrows_base o = { .verb_name = "", .json = true };
	struct err e = ERR_INIT;

	(void)err_refuse(&e, "dirty", "run chkdsk");
	return progout_init("wubi-test") ? 99 : progout_finish(progout_fail(&o, &e, NULL));
}

static int with_findings(void)
{
	struct optrows_base o = { .verb_name = "check" };
	struct report findings = { .count = 0 };
	struct err e = ERR_INIT;

	report_add(&findings, "no-map", "first \x1b[1m");
	report_add(&findings, "no-rule", "second");
	(void)report_refuse(&findings, &e);
	return progout_init("wubi-test") ? 99 : progout_fail(&o, &e, &findings);
}

static int bad_request(void)
{
	struct optrows_base o = { .verb_name = "check" };
	struct err e = ERR_INIT;

	(void)err_set(&e, -EINVAL, "not that");
	return progout_init("wubi-test") ? 99 : progout_fail_request(&o, &e, NULL);
}

static int interrupted(void)
{
	struct optrows_base o = { .verb_name = "" };
	struct err e = ERR_INIT;

	(void)err_set(&e, -ECANCELED, "interrupted");
	return progout_init("wubi-test") ? 99 : progout_fail(&o, &e, NULL);
}

static int closed_streams(void)
{
	struct err e = ERR_INIT;

	if (close(STDOUT_FILENO) || progout_init("wubi-test") || progout_check_open(&e) != -EBADF)
		return 99;
	progout_print(stdout, "lost\n");
	return progout_finish(PROGOUT_DONE);
}

static void failures(void **state)
{
	static const struct {
		int (*fn)(void);
		int status;
		const char *out, *err;
	} rows[] = {
		{ no_verb, 3, "{\"status\":\"refused\",\"reason\":\"dirty\",\"message\":\"run chkdsk\",\"findings\":"
		  "[{\"reason\":\"dirty\",\"text\":\"run chkdsk\"}]}\n", "wubi-test: run chkdsk\n" },
		{ with_findings, 3, "", "wubi-test: check: first ?[1m\nwubi-test: check: second\n" },
		{ bad_request, 2, "", "wubi-test: check: not that\n" },
		{ interrupted, 4, "", "wubi-test: interrupted\n" },
		{ closed_streams, 1, "", "wubi-test: write to standard output: Bad file descriptor\n" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct outcome o;

		in_child(rows[i].fn, &o);
		assert_string_equal(o.err, rows[i].err);
		assert_string_equal(o.out, rows[i].out);
		assert_int_equal(o.status, rows[i].status);
	}
}

struct options {
	struct optrows_base base;
};

static int run(const void *options)
{
	const struct options *o = options;

	progout_print(stdout, "ran%s\n", o->base.quiet ? " quiet" : "");
	return 7;
}

static const struct optrows_option option_rows[] = { OPTROWS_QUIET(1, "no text"), OPTROWS_STANDARD(1) };
static const struct optrows_verb verb_rows[] = { { 1, "", "", 0, 0, "", "", NULL } };
static const struct optrows_program program = {
	.name = "wubi-test",
	.about = "A test.",
	.options = option_rows,
	.option_count = COUNT_OF(option_rows),
	.verbs = verb_rows,
	.verb_count = COUNT_OF(verb_rows),
	.options_bytes = sizeof(struct options),
	.run = run,
};

static const char *argument;

static int as_main(void)
{
	char name[] = "x", word[32];
	char *argv[] = { name, word, NULL };
	struct options o;

	(void)snprintf(word, sizeof(word), "%s", argument);
	return progmain(&program, 2, argv, &o);
}

static void what_main_does(void **state)
{
	static const struct {
		const char *argument;
		int status;
		const char *out, *err;
	} rows[] = {
		{ "-q", 7, "ran quiet\n", "" },
		{ "--version", 0, "wubi-test " WUBI_VERSION "\n", "" },
		{ "--list-options", 0, "- --quiet -q -\n- --help -h -\n- --version -V -\n", "" },
		{ "--test-args", 0, "", "" },
		{ "-x", 2, "", "wubi-test: unknown option '-x'\ntry 'wubi-test --help'\n" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct outcome o;

		argument = rows[i].argument;
		in_child(as_main, &o);
		assert_string_equal(o.err, rows[i].err);
		assert_string_equal(o.out, rows[i].out);
		assert_int_equal(o.status, rows[i].status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failures),
		cmocka_unit_test(what_main_does),
	};

	return cmocka_run_group_tests_name("progout", tests, NULL, NULL);
}
