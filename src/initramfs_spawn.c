/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds and runs the distribution's programs. */
#include "initramfs_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "auto.h"

extern char **environ;

static bool find_in(const char *path, const char *name, char ret[256])
{
	while (path && *path) {
		size_t n = strcspn(path, ":");

		if (n && n < 200 && snprintf(ret, 256, "%.*s/%s", (int)n, path, name) < 256 && access(ret, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

bool initramfs_find(const char *name, const char *more, char ret[256])
{
	return find_in(getenv("PATH"), name, ret) || find_in(more, name, ret);
}

/*
 * Ours, with a longer PATH; and dracut shall not tell the boot loader about an image under a name that it does not keep.
 * ret_path: free() after ret.
 */
static int make_environment(const char *more, char **ret_path, char ***ret)
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
	list[used++] = (char *)"NO_POST_UPDATE_HOOKS=1"; /* posix_spawn() changes no string */
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

int initramfs_spawn(const char *const *arguments, const char *more, struct err *e)
{
	AUTO_FREE char *path = NULL;
	AUTO_FREE char **environment = NULL;
	int status = 0, r = make_environment(more, &path, &environment);
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
