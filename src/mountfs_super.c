/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of a super block, by the kernel's own calls: libmount's remount sets what it is not told to its default, 'sync' too.
 */
#include "mountfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "auto.h"

#define KERNEL_LOG "/dev/kmsg"
#define WORDS_MAX 400

/* Behind what is there, on one line. */
static void add_words(char words[WORDS_MAX], const char *more)
{
	size_t used = strlen(words);

	(void)snprintf(words + used, WORDS_MAX - used, "%s%.*s", used ? "; " : "", (int)strcspn(more, "\n"), more);
}

/* What the file system said into the context: a message each read, "e TEXT" for an error, "w " and "i " for less. */
static void read_context(int context, char words[WORDS_MAX])
{
	char message[WORDS_MAX];
	ssize_t n;

	while ((n = read(context, message, sizeof(message) - 1)) > 0) {
		message[n] = '\0';
		if (n > 2 && (message[0] == 'e' || message[0] == 'w'))
			add_words(words, message + 2);
	}
}

/* From here on: who opens it later, or is not allowed to, has no words. Nothing in it is waited for. */
static int open_log(void)
{
	int fd = open(KERNEL_LOG, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && lseek(fd, 0, SEEK_END) < 0)
		auto_close(&fd);
	return fd;
}

/* ext4 says most of it here and not into the context (6.1): records "6,812,5140900,-;EXT4-fs (ubda): TEXT". */
static void read_log(int log, const char *type, char words[WORDS_MAX])
{
	char record[2048];
	ssize_t n;

	while ((n = read(log, record, sizeof(record) - 1)) > 0 || (n < 0 && errno == EPIPE)) { /* EPIPE: some were lost */
		const char *text;

		record[n > 0 ? n : 0] = '\0';
		text = strchr(record, ';');
		if (text && strncasecmp(text + 1, type, strlen(type)) == 0)
			add_words(words, text + 1);
	}
}

/* As mountinfo has it. */
static int look_up(const char *target, struct mountfs_entry *ret, struct err *e)
{
	struct stat st;
	int code;

	if (stat(target, &st) < 0)
		return err_errno(e, "'%s': change mount options", target);
	code = mountfs_find(st.st_dev, ret, e);
	if (code)
		return code;
	return ret->target[0] ? 0 : err_set(e, -ENOENT, "'%s': change mount options: it is not mounted any more", target);
}

static int reconfigure_error(int problem, const char *target, const char *options, const char *words, struct err *e)
{
	char what[WORDS_MAX];

	(void)snprintf(what, sizeof(what), "'%s': change mount options%s%s%s", target, options[0] ? " to '" : "", options,
		       options[0] ? "'" : "");
	return err_set(e, -problem, "%s: %s%s%s%s", what, strerror(problem), words[0] ? " (" : "", words, words[0] ? ")" : "");
}

static int pick(const char *target, int *ret, struct err *e)
{
	*ret = fspick(AT_FDCWD, target, FSPICK_CLOEXEC);
	if (*ret >= 0)
		return 0;
	if (errno == ENOSYS)
		return err_set(e, -ENOSYS, "'%s': change mount options: this kernel is older than 5.2 and cannot", target);
	if (errno == EINVAL)
		return err_set(e, -EINVAL, "'%s' is not a mount point", target);
	if (errno == EPERM)
		return err_set(e, -EPERM, "'%s': no right to change mount options: run this as root, and not in a container",
			       target);
	return err_errno(e, "'%s': change mount options", target);
}

/* "sync,commit=5" into the context, one after the other. -1 with errno. */
static int set_options(int context, char *options)
{
	char *option;

	while ((option = strsep(&options, ",")) != NULL) {
		char *value = strchr(option, '=');

		if (!option[0])
			continue;
		if (value)
			*value++ = '\0';
		if (fsconfig(context, value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, option, value, 0) < 0)
			return -1;
	}
	return 0;
}

/*
 * The context begins without flags, and ext4 takes that for a wish to write: what is read-only would not be so any more, and be
 * written to, even by a reconfigure of nothing. So what it is has to be said.
 */
static int keep_read_only(int context, const struct mountfs_entry *entry)
{
	return entry->super_is_readonly ? fsconfig(context, FSCONFIG_SET_FLAG, "ro", NULL, 0) : 0;
}

int mountfs_reconfigure(const char *target, const char *options, struct err *e)
{
	AUTO_FREE char *copy = strdup(options);
	AUTO_FD int context = -1;
	AUTO_FD int log = open_log();
	struct mountfs_entry entry;
	char words[WORDS_MAX] = "";
	int problem, code;

	if (!copy)
		return err_set(e, -ENOMEM, "'%s': change mount options: out of memory", target);
	code = pick(target, &context, e);
	if (!code)
		code = look_up(target, &entry, e);
	if (code)
		return code;
	if (keep_read_only(context, &entry) == 0 && set_options(context, copy) == 0 &&
	    fsconfig(context, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) == 0)
		return 0;
	problem = errno;
	read_context(context, words);
	if (!words[0] && entry.type[0])
		read_log(log, entry.type, words);
	return reconfigure_error(problem, target, options, words, e);
}
