/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target_private.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "mountfs.h"
#include "runprog.h"
#include "textfile.h"

#define POLICY_FOLDER "/usr/sbin"
#define POLICY POLICY_FOLDER "/policy-rc.d"
#define POLICY_KEPT POLICY ".wubi-kept"
#define POLICY_TEXT "#!/bin/sh\n# wubi-install: no service is started here\nexit 101\n"

#define TICK_MS 100
#define PATIENCE_TICKS 50 /* 5 s from SIGTERM to SIGKILL */

/* /dev is the running system's: private, or a mount below it would show there as well. The rest is the target's own. */
static const struct row {
	const char *source, *path, *type, *options;
	bool only_if_there; /* the folder */
} rows[] = {
	{ "/dev", "/dev", NULL, "bind,private", false },
	{ "devpts", "/dev/pts", "devpts", "newinstance,ptmxmode=0666,mode=0620,gid=5,nosuid,noexec", true },
	{ "shm", "/dev/shm", "tmpfs", "nosuid,nodev,mode=1777", true },
	{ "proc", "/proc", "proc", "nosuid,nodev,noexec", false },
	{ "sysfs", "/sys", "sysfs", "ro,nosuid,nodev,noexec", false }, /* without efivarfs */
	{ "run", "/run", "tmpfs", "nosuid,nodev,mode=0755", false },
};

/* ---- programs ---- */

bool target_find(const struct target *t, const char *name, char ret[PATH_MAX])
{
	const char *at = RUNPROG_SYSTEM_PATH;

	while (*at) {
		size_t n = strcspn(at, ":");
		char resolved[PATH_MAX];

		if (snprintf(ret, PATH_MAX, "%.*s/%s", (int)n, at, name) < PATH_MAX &&
		    textfile_resolve(t->root, ret, resolved) == 0 && access(resolved, X_OK) == 0)
			return true;
		at += n + (at[n] == ':');
	}
	return false;
}

static bool ask(void *ctx)
{
	const struct target *t = ctx;

	return t->interrupted && t->interrupted(t->ctx);
}

static const char installing[] = TARGET_VARIABLE "=1";

/* Nothing of the live user's environment: TMPDIR, a session's D-Bus, LD_PRELOAD. */
int target_do(const struct target *t, const struct target_program *p, char **ret_output, struct err *e)
{
	const char *const variables[] = { "DEBIAN_FRONTEND=noninteractive", "DEBCONF_NONINTERACTIVE_SEEN=true", "LC_ALL=C.UTF-8",
					  "HOME=/root", "TERM=dumb", installing, p->variable, NULL };
	AUTO_FREE const char **arguments = NULL;
	char program[PATH_MAX];
	struct target copy = *t;
	struct runprog_params run = { .more = p->path ? p->path : RUNPROG_SYSTEM_PATH, .variables = variables, .bare = true,
				      .root = t->root, .input = p->input, .interrupted = ask, .ctx = &copy };
	struct err why = ERR_INIT;
	size_t n = 0;
	int code;

	if (!target_find(t, p->arguments[0], program))
		return err_set(e, -ENOENT, "the new system has no program '%s'", p->arguments[0]);
	while (p->arguments[n])
		n++;
	arguments = calloc(n + 1, sizeof(*arguments));
	if (!arguments)
		return err_set(e, -ENOMEM, "run '%s': out of memory", program);
	memcpy(arguments, p->arguments, n * sizeof(*arguments));
	arguments[0] = program;
	run.arguments = arguments;
	code = runprog_do(&run, ret_output, &why);
	return code ? err_set(e, code, "in the new system: %s", why.text) : 0;
}

int target_run(struct target *t, const char *const *arguments, struct err *e)
{
	const struct target_program p = { .arguments = arguments };

	return target_do(t, &p, NULL, e);
}

int target_run_if_there(struct target *t, const char *const *arguments, struct err *e)
{
	char program[PATH_MAX];

	return target_find(t, arguments[0], program) ? target_run(t, arguments, e) : 0;
}

int target_command(struct target *t, const struct target_settings *s, struct err *e)
{
	const char *const arguments[] = { "sh", "-c", s->command, NULL };

	return s->command && s->command[0] ? target_run(t, arguments, e) : 0;
}

/* ---- what still runs in there holds its mounts, and in the end the target's own ---- */

static bool is_in(const struct target *t, const char *pid)
{
	char link[PATH_MAX], root[PATH_MAX];
	ssize_t n;

	if (!pid[0] || strspn(pid, "0123456789") != strlen(pid))
		return false;
	(void)snprintf(link, sizeof(link), "/proc/%s/root", pid);
	n = readlink(link, root, sizeof(root) - 1);
	if (n < 0)
		return false;
	root[n] = '\0';
	return strcmp(root, t->root) == 0;
}

/* number 0: only counts. */
static size_t signal_all(const struct target *t, int number)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	size_t n = 0;

	while (dir && (d = readdir(dir)))
		if (is_in(t, d->d_name) && kill((pid_t)strtol(d->d_name, NULL, 10), number) == 0)
			n++;
	if (dir)
		(void)closedir(dir); /* it was only read */
	return n;
}

static void end_all(const struct target *t)
{
	if (!signal_all(t, SIGTERM))
		return;
	for (int i = 0; i < PATIENCE_TICKS && signal_all(t, 0); i++)
		(void)poll(NULL, 0, TICK_MS);
	for (int i = 0; i < PATIENCE_TICKS && signal_all(t, SIGKILL); i++)
		(void)poll(NULL, 0, TICK_MS);
}

void target_end_programs(const char *root)
{
	struct target t = { .mount_count = 0 };

	if (realpath(root, t.root) && strcmp(t.root, "/") != 0)
		end_all(&t);
}

/* ---- services ---- */

/* What is there is kept, once: after a run that was killed it is our own. */
static int hold_services(struct target *t, struct err *e)
{
	AUTO_FREE char *old = NULL;
	char policy[PATH_MAX], kept[PATH_MAX];
	struct stat st;
	int code = target_make_folder(t, POLICY_FOLDER, e);

	if (!code)
		code = target_own_path(t, POLICY, policy, e);
	if (!code)
		code = target_own_path(t, POLICY_KEPT, kept, e);
	if (code)
		return code;
	t->services_held = true;
	if (lstat(policy, &st) == 0) {
		bool is_ours = S_ISREG(st.st_mode) && textfile_read(policy, &old, NULL) == 0 && !strcmp(old, POLICY_TEXT);

		if (!is_ours && rename(policy, kept) < 0)
			return err_errno(e, "rename '%s'", policy);
	}
	code = textfile_write(policy, POLICY_TEXT, e);
	if (!code && chmod(policy, 0755) < 0)
		code = err_errno(e, "'%s': mode", policy);
	return code;
}

static int release_services(struct target *t, struct err *e)
{
	char policy[PATH_MAX], kept[PATH_MAX];
	int code;

	if (!t->services_held)
		return 0;
	code = target_own_path(t, POLICY, policy, e);
	if (!code)
		code = target_own_path(t, POLICY_KEPT, kept, e);
	if (!code)
		code = textfile_remove(policy, e);
	if (!code && rename(kept, policy) < 0 && errno != ENOENT)
		code = err_errno(e, "rename '%s'", kept);
	t->services_held = code != 0;
	return code;
}

/* ---- mounts ---- */

static int mount_row(struct target *t, const struct row *row, struct err *e)
{
	char path[PATH_MAX];
	int code;

	if (row->only_if_there && !target_has(t, row->path))
		return 0;
	code = target_make_folder(t, row->path, e);
	if (!code)
		code = target_path(t, row->path, path, e);
	if (!code)
		code = mountfs_mount(row->source, path, row->type, row->options, e);
	if (!code)
		memcpy(t->mounts[t->mount_count++], path, sizeof(path));
	return code;
}

/* Of a run that was killed. */
static int unmount_old(const struct target *t, struct err *e)
{
	char path[PATH_MAX];
	bool is_mounted = false;
	int code = 0;

	for (size_t i = sizeof(rows) / sizeof(rows[0]); !code && i > 0; i--) {
		code = target_path(t, rows[i - 1].path, path, e);
		do {
			is_mounted = false;
			if (!code)
				code = mountfs_is_target(path, &is_mounted, e);
			if (!code && is_mounted)
				code = mountfs_unmount(path, e);
		} while (!code && is_mounted);
	}
	return code;
}

static int mount_all(struct target *t, struct err *e)
{
	int code = unmount_old(t, e);

	for (size_t i = 0; !code && i < sizeof(rows) / sizeof(rows[0]); i++)
		code = mount_row(t, &rows[i], e);
	return code;
}

static int unmount_all(struct target *t, struct err *e)
{
	int code = 0;

	while (!code && t->mount_count) {
		code = mountfs_unmount(t->mounts[t->mount_count - 1], e);
		if (!code || code == -EINVAL) /* somebody else has */
			t->mount_count--;
	}
	return code;
}

int target_enter(const char *root, bool (*interrupted)(void *ctx), void *ctx, struct target **ret, struct err *e)
{
	AUTO(target) struct target *t = calloc(1, sizeof(*t));
	int code;

	if (!t)
		return err_set(e, -ENOMEM, "'%s': out of memory", root);
	t->old_umask = umask(022); /* of all that its programs make */
	t->interrupted = interrupted;
	t->ctx = ctx;
	if (!realpath(root, t->root))
		return err_errno(e, "'%s'", root);
	if (strcmp(t->root, "/") == 0)
		return err_set(e, -EINVAL, "'%s' is the running system, not one that was copied", root);
	code = mount_all(t, e);
	if (!code)
		code = hold_services(t, e);
	if (!code)
		*ret = TAKE(t);
	return code;
}

int target_leave(struct target *t, struct err *e)
{
	struct err why = ERR_INIT;
	int code, r;

	end_all(t);
	code = release_services(t, e);
	r = unmount_all(t, &why);
	(void)umask(t->old_umask);
	return !code && r ? err_set(e, r, "%s", why.text) : code;
}

void target_free(struct target *t)
{
	if (!t)
		return;
	/* the error that counts is the one for which it was not left; after target_leave() nothing is left to do */
	if (t->mount_count || t->services_held)
		(void)target_leave(t, NULL);
	(void)umask(t->old_umask);
	free(t);
}
