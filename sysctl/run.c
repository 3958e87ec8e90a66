/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run: a command under the profile of a phase.
 *
 * Without a controlling terminal the command has a process group of its own, and signals that we get go on to all of it.
 * With one it stays in our group, so that it is in the foreground when we are: it can read from the terminal, ^Z stops and
 * fg continues both of us, and ^C and the end of the terminal reach both. Such a signal comes from the kernel and is not
 * sent on; one that somebody sent to us alone goes on to the command.
 *
 * Signals are blocked throughout and taken one by one with sigwaitinfo(): none comes between a change and the note of how
 * to go back.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "progout.h"
#include "verbs.h"

enum { STATUS_CANNOT_RUN = 126, STATUS_NOT_THERE = 127, STATUS_SIGNAL = 128 }; /* as env(1) and the shell have it */

struct run {
	const struct options *o;
	struct profctl_phase *phase;
	sigset_t waited, before;                 /* what we wait for; the mask that we were started with */
	struct sigaction pipe_before, size_before;
	bool own_group;                          /* of the command */
	bool interrupted;
	bool left;                               /* the phase, and whether that went well is in 'failed' */
	bool failed;                             /* on our side; told */
	pid_t command;
};

static void tell(struct run *r, const struct err *e)
{
	(void)progout_fail(&r->o->base, e, NULL);
	r->failed = true;
}

/*
 * What was ignored when we were started stays so (nohup, background jobs of scripts). SIGPIPE and SIGXFSZ would end us in
 * between, when standard error is a pipe that nobody reads.
 */
static void take_signals(struct run *r)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	const struct sigaction ignore = { .sa_handler = SIG_IGN }, usual = { .sa_handler = SIG_DFL };
	struct sigaction old;

	/* none of these calls can fail with these numbers */
	(void)sigemptyset(&r->waited);
	(void)sigaddset(&r->waited, SIGCHLD);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			(void)sigaddset(&r->waited, numbers[i]);
	(void)sigaction(SIGPIPE, &ignore, &r->pipe_before);
	(void)sigaction(SIGXFSZ, &ignore, &r->size_before);
	(void)sigaction(SIGCHLD, &usual, NULL); /* ignored, it would take the command's status with it */
	(void)sigprocmask(SIG_BLOCK, &r->waited, &r->before);
}

static bool has_terminal(void)
{
	AUTO_FD int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	return fd >= 0;
}

/* In the child. Says why it cannot, and ends with the status that says so, too. */
static _Noreturn void become_command(const struct run *r)
{
	char *const *command = r->o->base.command;
	int code;

	if (r->own_group)
		(void)setpgid(0, 0); /* the parent does it, too; who comes first */
	(void)sigaction(SIGPIPE, &r->pipe_before, NULL);
	(void)sigaction(SIGXFSZ, &r->size_before, NULL);
	(void)sigprocmask(SIG_SETMASK, &r->before, NULL);
	(void)execvp(command[0], command);
	code = errno;
	progout_print(stderr, "wubi-profile: run: '%s': %s\n", command[0], strerror(code));
	_exit(code == ENOENT ? STATUS_NOT_THERE : STATUS_CANNOT_RUN);
}

static int start(struct run *r, struct err *e)
{
	r->own_group = !has_terminal();
	r->command = fork();
	if (r->command < 0)
		return err_errno(e, "run '%s'", r->o->base.command[0]);
	if (r->command == 0)
		become_command(r);
	if (r->own_group)
		(void)setpgid(r->command, r->command); /* EACCES: it has done so itself, and become the command */
	return 0;
}

static void leave(struct run *r)
{
	struct err e = ERR_INIT;

	if (r->left)
		return;
	r->left = true;
	if (profctl_phase_leave(r->phase, &e))
		tell(r, &e);
}

/*
 * First the command, which may need a while to end, then what was before: at once, and not when the command has ended.
 * reached: the terminal's signals have come to the command, too.
 */
static void pass_on(struct run *r, const siginfo_t *info, bool reached)
{
	if (r->own_group)
		(void)kill(-r->command, info->si_signo); /* ESRCH: it has ended */
	else if (!reached || info->si_code != SI_KERNEL)
		(void)kill(r->command, info->si_signo);
	if (!r->interrupted)
		progout_print(stderr, "wubi-profile: run: interrupted; waiting for '%s' to end\n", r->o->base.command[0]);
	r->interrupted = true;
	leave(r);
}

/* A signal that has come already; not the end of a child. */
static bool take_pending(const struct run *r, siginfo_t *ret)
{
	const struct timespec none = { 0 };
	int number;

	do
		number = sigtimedwait(&r->waited, ret, &none);
	while (number == SIGCHLD || (number < 0 && errno == EINTR));
	return number > 0;
}

/* Until the command has ended. *ret: as waitpid() says it. */
static int wait_for_command(struct run *r, int *ret, struct err *e)
{
	siginfo_t info;

	while (take_pending(r, &info))
		pass_on(r, &info, false); /* it may have come before there was a command */
	for (;;) {
		pid_t ended = waitpid(r->command, ret, WNOHANG);

		if (ended == r->command)
			return 0;
		if (ended < 0)
			return err_errno(e, "wait for '%s'", r->o->base.command[0]);
		if (sigwaitinfo(&r->waited, &info) < 0)
			continue; /* EINTR: stopped and continued */
		if (info.si_signo != SIGCHLD)
			pass_on(r, &info, true);
	}
}

static int status_of(const struct run *r, int status)
{
	if (r->failed)
		return PROGOUT_FAILED;
	if (r->interrupted)
		return PROGOUT_INTERRUPTED;
	return WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The sync comes while the phase lasts, so that nothing that comes after slows it; it counts for a command that failed, too. */
static int run_command(struct run *r)
{
	struct err e = ERR_INIT;
	siginfo_t info;
	int status = 0;

	if (take_pending(r, &info)) {
		progout_print(stderr, "wubi-profile: run: interrupted before '%s' was run\n", r->o->base.command[0]);
		r->interrupted = true;
	} else if (start(r, &e) || wait_for_command(r, &status, &e)) {
		tell(r, &e);
	} else if (!r->interrupted) {
		if (profctl_phase_sync(r->phase, &e))
			tell(r, &e);
	}
	leave(r);
	return status_of(r, status);
}

int verb_run(const struct options *o)
{
	AUTO(profctl_phase) struct profctl_phase *phase = NULL;
	const struct profctl_params par = verb_params(o);
	struct run r = { .o = o };
	struct err e = ERR_INIT;

	take_signals(&r);
	if (profctl_phase_enter(&par, o->phase, &phase, &e))
		return progout_fail(&o->base, &e, NULL);
	r.phase = phase;
	return run_command(&r);
}
