/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "initramfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const struct tool {
	const char *name;
	const char *arguments[5];
} tools[] = {
	{ "update-initramfs", { "update-initramfs", "-u", "-k", "all", NULL } },
	{ "dracut", { "dracut", "--regenerate-all", "--force", NULL } },
};

static bool is_in_path(const char *name)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	while (path && *path) {
		size_t n = strcspn(path, ":");

		/* cut short it is not there */
		(void)snprintf(file, sizeof(file), "%.*s/%s", (int)(n < 3000 ? n : 3000), path, name);
		if (n && access(file, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

static const struct tool *find_tool(void)
{
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (is_in_path(tools[i].name))
			return &tools[i];
	return NULL;
}

const char *initramfs_tool(void)
{
	const struct tool *t = find_tool();

	return t ? t->name : NULL;
}

/* Standard output is for our own result; what we ignore is not the tool's to ignore. */
static int start(const struct tool *t, pid_t *ret)
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
		r = posix_spawnp(ret, t->name, &actions, &attributes, (char *const *)t->arguments, environ);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	return r;
}

int initramfs_rebuild(struct err *e)
{
	const struct tool *t = find_tool();
	pid_t pid, got;
	int status = 0, r;

	if (!t)
		return err_set(e, -ENOENT, "neither update-initramfs nor dracut is here: the initramfs cannot be built");
	r = start(t, &pid);
	if (r)
		return err_set(e, -r, "run '%s': %s", t->name, strerror(r));
	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_errno(e, "wait for '%s'", t->name);
	if (WIFSIGNALED(status))
		return err_set(e, -EIO, "'%s' was ended by signal %d", t->name, WTERMSIG(status));
	if (WEXITSTATUS(status))
		return err_set(e, -EIO, "'%s' failed with status %d", t->name, WEXITSTATUS(status));
	return 0;
}
