/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runprog.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auto.h"

extern char **environ;

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

/* Ours, with a longer PATH, and variable (NULL: none). ret_path: free() after ret. */
static int make_environment(const char *more, const char *variable, char **ret_path, char ***ret)
{
	const char *path = getenv("PATH");
	size_t n = 0, used = 0;
	char **list;

	while (environ[n])
		n++;
	list = calloc(n + 3, sizeof(*list));
	if (!list || asprintf(ret_path, "PATH=%s%s%s", path ? path : "", path && more ? ":" : "", more ? more : "") < 0) {
		free(list);
		*ret_path = NULL;
		return ENOMEM;
	}
	list[used++] = *ret_path;
	if (variable)
		list[used++] = (char *)(uintptr_t)variable; /* posix_spawn() changes no string */
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "PATH=", 5) != 0)
			list[used++] = environ[i];
	*ret = list;
	return 0;
}

/* Standard output is for our own result; what we ignore is not the tool's to ignore. */
static int start(const char *const *arguments, char *const *environment, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return r;
	r = posix_spawnattr_init(&attributes);
	if (r) {
		(void)posix_spawn_file_actions_destroy(&actions);
		return r;
	}
	(void)sigemptyset(&defaults);
	(void)sigaddset(&defaults, SIGPIPE);
	(void)sigaddset(&defaults, SIGXFSZ);
	r = posix_spawnattr_setsigdefault(&attributes, &defaults);
	if (!r)
		r = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	if (!r)
		r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (!r)
		r = posix_spawn(ret, arguments[0], &actions, &attributes, (char *const *)arguments, environment);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	return r;
}

int runprog_run(const char *const *arguments, const char *more, const char *variable, struct err *e)
{
	AUTO_FREE char *path = NULL;
	AUTO_FREE char **environment = NULL;
	int status = 0, r = make_environment(more, variable, &path, &environment);
	pid_t pid, got;

	if (!r)
		r = start(arguments, environment, &pid);
	if (r)
		return err_set(e, -r, "run '%s': %s", arguments[0], strerror(r));
	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_errno(e, "wait for '%s'", arguments[0]);
	if (WIFSIGNALED(status))
		return err_set(e, -EIO, "'%s' was ended by signal %d", arguments[0], WTERMSIG(status));
	if (WEXITSTATUS(status))
		return err_set(e, -EIO, "'%s' failed with status %d", arguments[0], WEXITSTATUS(status));
	return 0;
}
