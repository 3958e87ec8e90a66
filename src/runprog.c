/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runprog.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auto.h"

#define TICK_MS 100
#define PATIENCE_TICKS 100       /* 10 s from SIGTERM to SIGKILL */
#define OUTPUT_MAX (16U << 20)

extern char **environ;

/* What a child that could not become the program says to us: in which step, and errno. */
struct failure {
	int step, problem;
};

enum { STEP_CHROOT, STEP_SETUP, STEP_EXEC };

struct child {
	const struct runprog_params *p;
	char *const *environment;
	int input, output; /* -1: none */
	pid_t pid;
};

static bool find_in(const char *path, const char *name, char *ret, size_t size)
{
	while (path && *path) {
		size_t n = strcspn(path, ":");

		if (n && n < PATH_MAX) {
			int used = snprintf(ret, size, "%.*s/%s", (int)n, path, name);

			if (used > 0 && (size_t)used < size && access(ret, X_OK) == 0)
				return true;
		}
		path += n + (path[n] == ':');
	}
	return false;
}

bool runprog_find(const char *name, const char *more, char *ret, size_t size)
{
	return find_in(getenv("PATH"), name, ret, size) || find_in(more, name, ret, size);
}

/* "NAME=": does the list set the same one? */
static bool is_set_by(const char *variable, const char *const *list)
{
	size_t n = strcspn(variable, "=") + 1;

	for (; list && *list; list++)
		if (strncmp(variable, *list, n) == 0)
			return true;
	return false;
}

/* Ours (not if it shall be bare), with a longer PATH, and over it the variables. ret_path: free() after ret. */
static int make_environment(const struct runprog_params *p, char **ret_path, char ***ret)
{
	const char *path = p->bare ? NULL : getenv("PATH"), *more = p->more;
	size_t n = 0, variables = 0, used = 0;
	char **list;

	while (environ && environ[n])
		n++;
	while (p->variables && p->variables[variables])
		variables++;
	list = calloc(n + variables + 2, sizeof(*list));
	if (!list || asprintf(ret_path, "PATH=%s%s%s", path ? path : "", path && more ? ":" : "", more ? more : "") < 0) {
		free(list);
		*ret_path = NULL;
		return -ENOMEM;
	}
	list[used++] = *ret_path;
	for (size_t i = 0; i < variables; i++)
		list[used++] = (char *)(uintptr_t)p->variables[i]; /* execve() changes no string */
	for (size_t i = 0; !p->bare && i < n; i++)
		if (strncmp(environ[i], "PATH=", 5) != 0 && !is_set_by(environ[i], p->variables))
			list[used++] = environ[i];
	*ret = list;
	return 0;
}

/* ---- the child ---- */

static void fail_child(int report, int step)
{
	const struct failure f = { step, errno };

	/* the child's end, not that of our program; if the pipe is broken, nobody is there to be told */
	_Exit(write(report, &f, sizeof(f)) == (ssize_t)sizeof(f) ? 127 : 126);
}

/* Standard output is for our own result; what we ignore is not the tool's to ignore. */
static int set_up(const struct child *c, int null)
{
	static const int numbers[] = { SIGPIPE, SIGXFSZ };
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = SIG_DFL;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], &action, NULL) < 0)
			return -1;
	/* without our terminal: what is typed there reaches it once, through us, and it can ask nobody */
	if (c->p->interrupted && setsid() < 0)
		return -1;
	if (dup2(c->input >= 0 ? c->input : null, STDIN_FILENO) < 0)
		return -1;
	if (dup2(c->output >= 0 ? c->output : STDERR_FILENO, STDOUT_FILENO) < 0)
		return -1;
	return c->p->errors_too ? dup2(STDOUT_FILENO, STDERR_FILENO) : 0;
}

static void become(const struct child *c, int null, int report)
{
	const char *root = c->p->root;

	if (root && (chroot(root) < 0 || chdir("/") < 0))
		fail_child(report, STEP_CHROOT);
	if (set_up(c, null) < 0)
		fail_child(report, STEP_SETUP);
	(void)execve(c->p->arguments[0], (char *const *)(uintptr_t)c->p->arguments, c->environment);
	fail_child(report, STEP_EXEC);
}

static int start_error(const struct child *c, const struct failure *f, struct err *e)
{
	const char *name = c->p->arguments[0];

	if (f->step == STEP_CHROOT)
		return err_set(e, -f->problem, "run '%s' in '%s': %s", name, c->p->root, strerror(f->problem));
	return err_set(e, -f->problem, "run '%s': %s", name, strerror(f->problem));
}

/* Above the standard ones, which are about to be replaced. */
static int move_up(int *fd)
{
	int moved = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (moved < 0)
		return -1;
	(void)close(*fd);
	*fd = moved;
	return 0;
}

/* Back when it runs as the program: the pipe closes with its exec. */
static int start(struct child *c, struct err *e)
{
	AUTO_FD int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	AUTO_FD int from = -1;
	AUTO_FD int to = -1;
	struct failure f;
	int ends[2];
	ssize_t n;

	if (null < 0 || move_up(&null) < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "run '%s'", c->p->arguments[0]);
	from = ends[0];
	to = ends[1];
	if (move_up(&to) < 0)
		return err_errno(e, "run '%s'", c->p->arguments[0]);
	c->pid = fork();
	if (c->pid < 0)
		return err_errno(e, "run '%s'", c->p->arguments[0]);
	if (c->pid == 0)
		become(c, null, to);
	(void)close(TAKE_FD(to));
	do
		n = read(from, &f, sizeof(f));
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(f))
		return 0;
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return start_error(c, &f, e);
}

/* ---- waiting ---- */

/* 1: it has ended, and ret_status is set. 0: a tick has passed. -1 with errno. */
static int wait_tick(const struct child *c, int pidfd, int *ret_status)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN }; /* before Linux 5.3 it is -1, and this waits all of the tick */
	pid_t got = waitpid(c->pid, ret_status, WNOHANG);

	if (got == 0) {
		(void)poll(&p, 1, TICK_MS);
		got = waitpid(c->pid, ret_status, WNOHANG);
	}
	if (got < 0 && errno != EINTR)
		return -1;
	return got == c->pid;
}

/* Of its session, who has ended; those that it leaves behind are ours meanwhile. Is none left? */
static bool are_gone(const struct child *c)
{
	pid_t group = c->p->interrupted ? -c->pid : c->pid, got;

	do
		got = waitpid(group, NULL, WNOHANG);
	while (got > 0 || (got < 0 && errno == EINTR));
	return got < 0 && (group > 0 || kill(group, 0) < 0);
}

/* The program, and all that it started if its session is its own. */
static void end(const struct child *c)
{
	pid_t group = c->p->interrupted ? -c->pid : c->pid;
	int was_reaper = 0;
	bool is_left = true;

	(void)prctl(PR_GET_CHILD_SUBREAPER, &was_reaper); /* without, it takes until init has seen to them */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	(void)kill(group, SIGTERM);
	for (int i = 0; i < PATIENCE_TICKS && (is_left = !are_gone(c)); i++)
		(void)poll(NULL, 0, TICK_MS);
	if (is_left) {
		(void)kill(group, SIGKILL);
		while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
			;
		(void)are_gone(c);
	}
	(void)prctl(PR_SET_CHILD_SUBREAPER, was_reaper);
}

static bool is_too_much(const struct child *c)
{
	struct stat st;

	return c->output >= 0 && fstat(c->output, &st) == 0 && st.st_size > (off_t)OUTPUT_MAX;
}

static int too_much(const struct child *c, struct err *e)
{
	return err_set(e, -EFBIG, "'%s' has said more than %u bytes", c->p->arguments[0], OUTPUT_MAX);
}

static int status_error(const char *name, int status, struct err *e)
{
	if (WIFSIGNALED(status))
		return err_set(e, -EIO, "'%s' was ended by signal %d", name, WTERMSIG(status));
	if (WEXITSTATUS(status))
		return err_set(e, -EIO, "'%s' failed with status %d", name, WEXITSTATUS(status));
	return 0;
}

static int wait_for(const struct child *c, struct err *e)
{
	const struct runprog_params *p = c->p;
	AUTO_FD int pidfd = pidfd_open(c->pid, 0);
	int status = 0, r;

	while ((r = wait_tick(c, pidfd, &status)) == 0) {
		bool is_interrupted = p->interrupted && p->interrupted(p->ctx);

		if (!is_interrupted && !is_too_much(c))
			continue;
		end(c);
		return is_interrupted ? err_set(e, -ECANCELED, "'%s' was interrupted", p->arguments[0]) : too_much(c, e);
	}
	if (r < 0)
		return err_errno(e, "wait for '%s'", p->arguments[0]);
	r = status_error(p->arguments[0], status, e);
	return !r && is_too_much(c) ? too_much(c, e) : r;
}

/* ---- what it reads and writes: files in memory, so that neither side waits for the other ---- */

static int make_memory(const char *name, const char *text, int *ret, struct err *e)
{
	AUTO_FD int fd = memfd_create("wubi", MFD_CLOEXEC);
	size_t n = strlen(text);

	if (fd < 0 || move_up(&fd) < 0)
		return err_errno(e, "run '%s': memory for its input and output", name);
	while (n > 0) {
		ssize_t put = write(fd, text, n);

		if (put < 0)
			return err_errno(e, "run '%s': its input", name);
		text += put;
		n -= (size_t)put;
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_errno(e, "run '%s': its input", name);
	*ret = TAKE_FD(fd);
	return 0;
}

static int read_output(const struct child *c, char **ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct stat st;
	size_t n, used = 0;

	if (fstat(c->output, &st) < 0)
		return err_errno(e, "'%s': its output", c->p->arguments[0]);
	n = st.st_size < (off_t)OUTPUT_MAX ? (size_t)st.st_size : OUTPUT_MAX;
	text = malloc(n + 1);
	if (!text)
		return err_set(e, -ENOMEM, "'%s': its output: out of memory", c->p->arguments[0]);
	while (used < n) {
		ssize_t got = pread(c->output, text + used, n - used, (off_t)used);

		if (got < 0)
			return err_errno(e, "'%s': its output", c->p->arguments[0]);
		if (got == 0)
			break;
		used += (size_t)got;
	}
	text[used] = '\0';
	*ret = TAKE(text);
	return 0;
}

int runprog_do(const struct runprog_params *p, char **ret_output, struct err *e)
{
	AUTO_FREE char *path = NULL;
	AUTO_FREE char **environment = NULL;
	AUTO_FD int input = -1;
	AUTO_FD int output = -1;
	struct child c = { .p = p, .input = -1, .output = -1 };
	int code = make_environment(p, &path, &environment), problem;

	if (code)
		return err_set(e, code, "run '%s': %s", p->arguments[0], strerror(-code));
	if (p->input)
		code = make_memory(p->arguments[0], p->input, &input, e);
	if (!code && ret_output)
		code = make_memory(p->arguments[0], "", &output, e);
	c.environment = environment;
	c.input = input;
	c.output = output;
	if (!code)
		code = start(&c, e);
	if (code)
		return code;
	code = wait_for(&c, e);
	if (!ret_output)
		return code;
	problem = read_output(&c, ret_output, code ? NULL : e);
	return code ? code : problem;
}

int runprog_run(const char *const *arguments, const char *more, const char *variable, struct err *e)
{
	const char *const variables[] = { variable, NULL };
	const struct runprog_params p = { .arguments = arguments, .more = more, .variables = variables };

	return runprog_do(&p, NULL, e);
}
