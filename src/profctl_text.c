/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files for other programs: sysctl.d, and GRUB's configuration. */
#include "profctl_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "auto.h"
#include "sysfs.h"

extern char **environ;

void profctl_boot_id(char ret[64])
{
	(void)sysfs_read_line("/proc/sys/kernel/random/boot_id", ret, 64); /* "" when it is not known */
}

/* One member of each pair: writing the other as 0 is refused by the kernel, or sets the first to 0. */
int profctl_sysctl_text(const struct profile_knobs *k, const char *name, char **ret, struct err *e)
{
	char *text = NULL;
	int n = asprintf(&text,
			 "# Written by 'wubi-profile set %s', and anew at each set and at boot: not for editing.\n"
			 "vm.%s = %" PRIu64 "\n"
			 "vm.%s = %" PRIu64 "\n"
			 "vm.dirty_expire_centisecs = %" PRIu64 "\n"
			 "vm.dirty_writeback_centisecs = %" PRIu64 "\n",
			 name, k->dirty_bytes ? "dirty_bytes" : "dirty_ratio", k->dirty_bytes ? k->dirty_bytes : k->dirty_ratio,
			 k->background_bytes ? "dirty_background_bytes" : "dirty_background_ratio",
			 k->background_bytes ? k->background_bytes : k->background_ratio, k->expire_cs, k->writeback_cs);

	if (n < 0)
		return err_set(e, -ENOMEM, "out of memory");
	*ret = text;
	return 0;
}

/* The options are words that mountopts_check() knows: nothing in them is special to a shell. */
int profctl_rootflags_text(const struct profile *p, char **ret, struct err *e)
{
	char remount[MOUNTOPTS_TEXT], first[MOUNTOPTS_TEXT];
	char *text = NULL;
	int r = mountopts_split(p->mount, remount, first, e);

	if (r)
		return r;
	if (first[0] && asprintf(&text,
				 "# Written by 'wubi-profile set %s': mount options of '/' that no remount takes.\n"
				 "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX rootflags=%s\"\n", p->name, first) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	*ret = text;
	return 0;
}

/* Its output goes to standard error: standard output is for our own result. */
static int start_update_grub(pid_t *ret)
{
	const char *const arguments[] = { "update-grub", NULL };
	char *const *argv = (char *const *)arguments; /* posix_spawn() changes no string */
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
	(void)sigemptyset(&defaults); /* what we ignore is not its to ignore */
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
		r = posix_spawnp(ret, "update-grub", &actions, &attributes, argv, environ);
	if (r == ENOENT) /* after 'su' PATH need not have it */
		r = posix_spawn(ret, "/usr/sbin/update-grub", &actions, &attributes, argv, environ);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	return r;
}

int profctl_update_grub(bool *ret_ran, struct err *e)
{
	int status = 0, r;
	pid_t pid, got;

	*ret_ran = false;
	r = start_update_grub(&pid);
	if (r == ENOENT)
		return 0;
	if (r)
		return err_set(e, -r, "run 'update-grub': %s", strerror(r));
	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_errno(e, "wait for 'update-grub'");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_set(e, -EIO, "'update-grub' failed (%s %d)", WIFEXITED(status) ? "status" : "signal",
			       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	*ret_ran = true;
	return 0;
}
