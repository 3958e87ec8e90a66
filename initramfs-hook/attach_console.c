/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "attach_console.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "progout.h"

#define LOGLEVEL_INFO 6
#define SPLASH_TRIES 50         /* of 100 ms each: a splash that does not answer must not keep the text back */
#define SPLASH_PAUSE_NS 100000000L

extern char **environ;

/* With 'quiet' the kernel shows errors only; what is as it should be is not shown then either. */
static bool kernel_is_quiet(void)
{
	FILE *f = fopen("/proc/sys/kernel/printk", "re");
	int level = LOGLEVEL_INFO + 1;

	if (!f)
		return false;
	if (fscanf(f, "%d", &level) != 1)
		level = LOGLEVEL_INFO + 1;
	(void)fclose(f); /* it was only read */
	return level <= LOGLEVEL_INFO;
}

void console_open(bool boot, bool quiet, struct console *ret)
{
	*ret = (struct console){ .boot = boot, .quiet = quiet || (boot && kernel_is_quiet()), .fd = -1 };
	if (boot)
		ret->fd = open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	ret->log = open_memstream(&ret->log_text, &ret->log_n);
}

/* The splash owns the screen and takes what is written to the console: it has to go first. */
static void end_splash(void)
{
	static char quit[] = "quit", program[] = "plymouth";
	char *const argv[] = { program, quit, NULL };
	const struct timespec pause = { 0, SPLASH_PAUSE_NS };
	pid_t pid;

	if (access("/run/plymouth/pid", F_OK) && access("/dev/.initramfs/plymouth/pid", F_OK))
		return;
	if (posix_spawnp(&pid, program, NULL, NULL, argv, environ))
		return;
	for (int i = 0; i < SPLASH_TRIES && waitpid(pid, NULL, WNOHANG) == 0; i++)
		(void)nanosleep(&pause, NULL);
}

static void write_all(int fd, const char *text)
{
	size_t n = strlen(text);

	while (n) {
		ssize_t put = write(fd, text, n);

		if (put <= 0)
			return; /* there is no other place to tell it */
		text += put;
		n -= (size_t)put;
	}
}

/* One line in the kernel's log, where dmesg and the journal have it. */
static void to_kernel_log(const char *line)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	write_all(fd, line);
	(void)close(fd); /* nothing is kept back */
}

/* Control characters of names on the volume are masked; progout_print() writes to streams, so by way of one. */
static void print_masked(char text[1200], const char *prefix, const char *line)
{
	FILE *f = fmemopen(text, 1200, "w");

	text[0] = '\0';
	if (!f)
		return;
	progout_print(f, "%swubi: %.1100s\n", prefix, line);
	(void)fclose(f); /* memory: cut is all that can happen */
}

static void to_console(struct console *c, enum boot_level level, const char *line)
{
	char text[1200];

	if (level == BOOT_ERROR && !c->errors) {
		end_splash();
		print_masked(text, "<3>", line);
		to_kernel_log(text);
	}
	print_masked(text, "", line);
	for (char *p = text; *p; p++)
		if (*p == '\n')
			*p = '\0';
	write_all(c->fd < 0 ? STDERR_FILENO : c->fd, text);
	write_all(c->fd < 0 ? STDERR_FILENO : c->fd, "\r\n"); /* the console may be in raw mode by now */
}

void console_say(void *ctx, enum boot_level level, const char *line)
{
	struct console *c = ctx;

	if (c->log)
		progout_print(c->log, "wubi: %s\n", line);
	if (level == BOOT_INFO && c->quiet)
		return;
	if (!c->boot && c->quiet && level != BOOT_ERROR)
		return;
	if (c->boot)
		to_console(c, level, line);
	else
		progout_print(stderr, "wubi: %s\n", line);
	c->errors += level == BOOT_ERROR;
}

const char *console_log(struct console *c)
{
	if (!c->log || fflush(c->log))
		return "";
	return c->log_text ? c->log_text : "";
}

void console_close(struct console *c)
{
	if (c->log)
		(void)fclose(c->log); /* memory */
	free(c->log_text);
	if (c->fd >= 0)
		(void)close(c->fd); /* written without a buffer */
	*c = (struct console){ .fd = -1 };
}
