/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user whose system it is. */
#include "target_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FIRST_USER 1000 /* as Debian's adduser.conf and login.defs have it */
#define SHELL "/bin/bash"

static const char *const wanted_groups[] = { "sudo", "adm", "cdrom", "dip", "plugdev", "lpadmin", "netdev", "audio", "video" };

/* The line of a name in passwd or group; NULL: none. */
static const char *find_line(const char *text, const char *name)
{
	size_t n = strlen(name);

	while (text && *text) {
		if (strncmp(text, name, n) == 0 && text[n] == ':')
			return text;
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return NULL;
}

/* Third field. */
static unsigned long number_of(const char *line)
{
	const char *at = strchr(line, ':');

	at = at ? strchr(at + 1, ':') : NULL;
	return at ? strtoul(at + 1, NULL, 10) : 0;
}

static int look_for(const struct target *t, const char *user, bool *ret_is_there, struct err *e)
{
	AUTO_FREE char *passwd = NULL;
	const char *line;
	int code = target_read(t, "/etc/passwd", &passwd, e);

	if (code)
		return code;
	line = find_line(passwd, user);
	*ret_is_there = line != NULL;
	if (line && number_of(line) < FIRST_USER)
		return err_refuse(e, "user", "'%s' is a user of the system itself: choose another name", user);
	return 0;
}

int target_user_check(const struct target *t, const struct target_settings *s, struct err *e)
{
	bool is_there;

	return s->user && s->user[0] ? look_for(t, s->user, &is_there, e) : 0;
}

static int make_user(struct target *t, const struct target_settings *s, struct err *e)
{
	const char *full_name = s->full_name ? s->full_name : "";
	const char *shell = target_has(t, SHELL) ? SHELL : "/bin/sh";
	const char *const add[] = { "useradd", "-m", "-s", shell, "-c", full_name, s->user, NULL };
	const char *const change[] = { "usermod", "-s", shell, "-c", full_name, s->user, NULL };
	bool is_there = false;
	int code = look_for(t, s->user, &is_there, e);

	return code ? code : target_run(t, is_there ? change : add, e);
}

static int add_groups(struct target *t, const char *user, struct err *e)
{
	AUTO_FREE char *text = NULL;
	char list[256] = "";
	const char *const arguments[] = { "usermod", "-a", "-G", list, user, NULL };
	int code = target_read(t, "/etc/group", &text, e);

	for (size_t i = 0; !code && i < sizeof(wanted_groups) / sizeof(wanted_groups[0]); i++) {
		size_t used = strlen(list);

		if (find_line(text, wanted_groups[i]))
			(void)snprintf(list + used, sizeof(list) - used, "%s%s", used ? "," : "", wanted_groups[i]); /* all fit */
	}
	return code || !list[0] ? code : target_run(t, arguments, e);
}

/* By standard input: arguments can be seen by everybody. */
static int set_password(struct target *t, const struct target_settings *s, struct err *e)
{
	static const char *const arguments[] = { "chpasswd", "-e", NULL };
	struct target_program p = { .arguments = arguments };
	AUTO_FREE char *line = NULL;

	if (asprintf(&line, "%s:%s\n", s->user, s->password_hash) < 0) {
		line = NULL;
		return err_set(e, -ENOMEM, "user '%s': out of memory", s->user);
	}
	p.input = line;
	return target_do(t, &p, NULL, e);
}

int target_user(struct target *t, const struct target_settings *s, struct err *e)
{
	int code;

	if (!s->user || !s->user[0])
		return 0;
	code = make_user(t, s, e);
	if (!code)
		code = add_groups(t, s->user, e);
	if (!code && s->password_hash && s->password_hash[0])
		code = set_password(t, s, e);
	return code;
}
