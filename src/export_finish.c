/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs of e2fsprogs, on a copy that nobody else has open. */
#include "export_private.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "runprog.h"

static const char e2fsck[] = "e2fsck", tune2fs[] = "tune2fs", resize2fs[] = "resize2fs";

static int find(const char *name, char ret[PATH_MAX], struct err *e)
{
	if (runprog_find(name, RUNPROG_SYSTEM_PATH, ret, PATH_MAX))
		return 0;
	return err_set(e, -ENOENT, "there is no program '%s': install e2fsprogs", name);
}

int export_find_programs(struct err *e)
{
	char path[PATH_MAX];
	int code = find(e2fsck, path, e);

	if (!code)
		code = find(tune2fs, path, e);
	return code ? code : find(resize2fs, path, e);
}

static bool is_interrupted(void *ctx)
{
	const struct export_finish *f = ctx;

	return progress_step(f->progress, "check and resize", 0, 0, NULL) != 0;
}

/* The last line of what it said; text is cut. */
static const char *last_line(char *text)
{
	char *end = text + strlen(text);
	const char *line;

	while (end > text && (end[-1] == '\n' || end[-1] == ' '))
		*--end = '\0';
	line = strrchr(text, '\n');
	return line ? line + 1 : text;
}

static int run(const struct export_finish *f, const char *name, const char *option, const char *value, struct err *e)
{
	char program[PATH_MAX];
	const char *arguments[6] = { program };
	const char *const variables[] = { "LC_ALL=C", NULL };
	struct export_finish copy = *f;
	const struct runprog_params p = { .arguments = arguments, .more = RUNPROG_SYSTEM_PATH, .variables = variables,
					  .interrupted = is_interrupted, .ctx = &copy };
	AUTO_FREE char *said = NULL;
	size_t n = 1;
	int code = find(name, program, e);

	if (code)
		return code;
	if (option)
		arguments[n++] = option;
	if (value)
		arguments[n++] = value;
	arguments[n] = f->partition;
	code = runprog_do(&p, &said, e);
	return code == -EIO && said && said[0] ? err_wrap(e, code, "%s says '%.200s'", name, last_line(said)) : code;
}

/* Its first run says by its exit status that something was to mend, such as a journal, its second that there still is. */
static int check(const struct export_finish *f, struct err *e)
{
	struct err why = ERR_INIT;
	int code = run(f, e2fsck, "-f", "-p", &why);

	if (code == -EIO)
		return run(f, e2fsck, "-f", "-p", e);
	return code ? err_set(e, code, "%s", why.text) : 0;
}

int export_replay(const struct export_finish *f, struct err *e)
{
	return check(f, e);
}

int export_finish(const struct export_finish *f, struct err *e)
{
	int code = check(f, e);

	if (!code && f->uuid)
		code = run(f, tune2fs, "-U", f->uuid, e);
	if (!code && f->is_seeded)
		code = run(f, tune2fs, "-O", "^metadata_csum_seed", e);
	if (!code)
		code = check(f, e);
	if (!code)
		code = run(f, resize2fs, NULL, NULL, e);
	return code ? code : check(f, e);
}
