/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What system is in the tree? */
#include "livesource_private.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "textfile.h"

#define STATUS "/var/lib/dpkg/status"

#if defined(__x86_64__)
#define OUR_ARCHITECTURE "amd64"
#elif defined(__aarch64__)
#define OUR_ARCHITECTURE "arm64"
#elif defined(__i386__)
#define OUR_ARCHITECTURE "i386"
#else
#define OUR_ARCHITECTURE ""
#endif

static int no_system(const struct livesource *s, const char *what, struct err *e)
{
	return err_refuse(e, "no-system", "%s: there is %s in it, so it is no system that could be installed by copying it: "
			  "choose a live medium of Debian or of one that is made of it", s->name, what);
}

static int resolve(const struct livesource *s, const char *path, char ret[PATH_MAX], struct err *e)
{
	return textfile_resolve(s->tree, path, ret) ? err_errno(e, "'%s' of %s", path, s->name) : 0;
}

static int read_os(struct livesource *s, struct err *e)
{
	AUTO_FREE char *text = NULL;
	char path[PATH_MAX];
	struct err why = ERR_INIT;
	int code = resolve(s, "/etc/os-release", path, e);

	if (!code && access(path, F_OK) != 0)
		code = resolve(s, "/usr/lib/os-release", path, e);
	if (code)
		return code;
	code = textfile_read(path, &text, &why);
	if (code == -ENOENT)
		return no_system(s, "no os-release", e);
	if (code)
		return err_set(e, code, "%s", why.text);
	livesource_os_value(text, "PRETTY_NAME", s->title, sizeof(s->title));
	livesource_os_value(text, "ID", s->id, sizeof(s->id));
	livesource_os_value(text, "VERSION_ID", s->version, sizeof(s->version));
	livesource_os_value(text, "VERSION_CODENAME", s->codename, sizeof(s->codename));
	if (!s->title[0])
		(void)snprintf(s->title, sizeof(s->title), "%s", s->id[0] ? s->id : "Linux");
	return 0;
}

/* Of the package dpkg itself, which is in every system that has it. The file can have many MiB. */
static int read_architecture(struct livesource *s, struct err *e)
{
	AUTO_FREE char *line = NULL;
	char path[PATH_MAX];
	size_t size = 0;
	bool is_dpkg = false;
	FILE *f;
	int code = resolve(s, STATUS, path, e);

	if (code)
		return code;
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? no_system(s, "no list of dpkg's packages", e) : err_errno(e, "'%s'", path);
	while (!s->architecture[0] && getline(&line, &size, f) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "Package: ", 9) == 0)
			is_dpkg = strcmp(line + 9, "dpkg") == 0;
		else if (is_dpkg && strncmp(line, "Architecture: ", 14) == 0)
			(void)snprintf(s->architecture, sizeof(s->architecture), "%s", line + 14);
	}
	if (ferror(f))
		code = err_errno(e, "'%s': read", path);
	(void)fclose(f); /* it was only read */
	return code || s->architecture[0] ? code : no_system(s, "no dpkg", e);
}

static int look_for_modules(const struct livesource *s, struct err *e)
{
	char path[PATH_MAX];
	struct dirent *d;
	bool is_there = false;
	DIR *dir;
	int code = resolve(s, "/lib/modules", path, e);

	if (code)
		return code;
	dir = opendir(path);
	if (!dir && errno != ENOENT && errno != ENOTDIR)
		return err_errno(e, "folder '%s'", path);
	while (dir && !is_there && (d = readdir(dir)))
		is_there = d->d_name[0] != '.';
	if (dir)
		(void)closedir(dir); /* it was only read */
	return is_there ? 0 : no_system(s, "no kernel's modules", e);
}

int livesource_describe(struct livesource *s, struct err *e)
{
	int code = read_os(s, e);

	if (!code)
		code = read_architecture(s, e);
	if (!code)
		code = look_for_modules(s, e);
	if (!code && OUR_ARCHITECTURE[0] && strcmp(s->architecture, OUR_ARCHITECTURE) != 0)
		return err_refuse(e, "architecture", "%s is for '%s', and this system and its boot loader for '%s': choose the "
				  "medium for '%s'", s->name, s->architecture, OUR_ARCHITECTURE, OUR_ARCHITECTURE);
	return code;
}
