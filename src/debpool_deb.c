/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "debpool_private.h"

#include <errno.h>
#include <string.h>

#include "runprog.h"

#define QUIET "exec \"$@\" 2>/dev/null" /* what dpkg-deb says of a broken package is said by us, once it matters */

/* -EIO is dpkg-deb's own failure. */
static int run(const struct debpool_params *par, const char *option, const char *path, char **ret, struct err *e)
{
	char program[PATH_MAX];
	const char *const arguments[] = { "/bin/sh", "-c", QUIET, "sh", program, option, path, NULL };
	const struct runprog_params p = { .arguments = arguments, .interrupted = par->interrupted, .ctx = par->ctx };

	if (!runprog_find("dpkg-deb", RUNPROG_SYSTEM_PATH, program, sizeof(program)))
		return err_set(e, -ENOENT, "'dpkg-deb' is not there: install dpkg");
	return runprog_do(&p, ret, e);
}

int debpool_deb_control(const struct debpool_params *par, const char *path, char **ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct err problem = ERR_INIT;
	int code = run(par, "-f", path, &text, &problem);

	*ret = NULL;
	if (code && code != -EIO) {
		if (e)
			*e = problem;
		return code;
	}
	if (!code && text && text[0])
		*ret = TAKE(text);
	return 0;
}

/* The list of its files: to make it, all of them are unpacked. */
int debpool_deb_check(const struct debpool_params *par, const char *path, bool *ret_is_whole, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct err problem = ERR_INIT;
	int code = run(par, "-c", path, &text, &problem);

	*ret_is_whole = !code;
	if (!code || code == -EIO)
		return 0;
	if (e)
		*e = problem;
	return code;
}

bool debpool_field(const char *control, const char *name, char *ret, size_t size)
{
	size_t n = strlen(name);

	ret[0] = '\0';
	for (const char *line = control; line && *line;) {
		const char *end = strchrnul(line, '\n');

		if (!strncasecmp(line, name, n) && line[n] == ':') {
			line += n + 1;
			line += strspn(line, " \t");
			if (line > end)
				return false;
			(void)snprintf(ret, size, "%.*s", (int)(end - line), line); /* a cut one is like none that there is */
			return true;
		}
		line = *end ? end + 1 : NULL;
	}
	return false;
}
