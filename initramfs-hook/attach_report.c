/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "attach_report.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define REPORT_VERSION 1
#define TEMP_MAX (PATH_MAX + 64) /* a path, and what a temporary name adds */

static const char hibernation_off[] =
	"# Written at boot by wubi-attach: a session that is resumed goes on with what it had in memory, while Windows may have\n"
	"# moved its files meanwhile. See wubi(7).\n"
	"[Sleep]\n"
	"AllowHibernation=no\n"
	"AllowHybridSleep=no\n"
	"AllowSuspendThenHibernate=no\n";

static void add_map(struct jsonout *array, const struct boot_map *m)
{
	struct jsonout *item = jsonout_add_object(array, NULL), *reasons;

	jsonout_add_string(item, "name", m->name);
	jsonout_add_string(item, "verdict", verdict_name(m->verdict.verdict));
	reasons = jsonout_add_array(item, "reasons");
	for (size_t i = 0; i < m->verdict.reason_count; i++)
		jsonout_add_string(reasons, NULL, m->verdict.reasons[i]);
	jsonout_add_string(item, "device", m->device[0] ? m->device : NULL);
}

struct jsonout *report_json(const struct boot_result *r)
{
	struct jsonout *root = jsonout_object();
	struct jsonout *maps, *volumes;
	const char *host = boot_host(r);

	jsonout_add_u64(root, "version", REPORT_VERSION);
	maps = jsonout_add_array(root, "maps");
	for (size_t i = 0; i < r->count; i++)
		add_map(maps, &r->maps[i]);
	jsonout_add_string(root, "host", host[0] ? host : NULL);
	jsonout_add_u64(root, "elapsed_ms", r->elapsed_ms);
	volumes = jsonout_add_array(root, "volumes");
	for (size_t i = 0; i < r->seen.count; i++) {
		struct jsonout *item = jsonout_add_object(volumes, NULL);

		jsonout_add_string(item, "device", r->seen.items[i].path);
		jsonout_add_string(item, "text", r->seen.items[i].text);
	}
	return root;
}

/* With its parents; what is there already is fine. */
static int make_dirs(const char *path, struct err *e)
{
	char part[PATH_MAX];

	(void)snprintf(part, sizeof(part), "%s", path);
	for (char *p = part + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(part, 0755) && errno != EEXIST)
			return err_errno(e, "make the folder '%s'", part);
		*p = '/';
	}
	if (mkdir(part, 0755) && errno != EEXIST)
		return err_errno(e, "make the folder '%s'", part);
	return 0;
}

/* It is a tmpfs: complete or not there, but nothing to sync. */
static int finish_file(FILE *f, const char *temp, const char *path, struct err *e)
{
	int bad = ferror(f);

	if (fclose(f) || bad) {
		(void)remove(temp); /* the error that is told counts */
		return err_set(e, -EIO, "write '%s'", path);
	}
	if (rename(temp, path))
		return err_errno(e, "write '%s'", path);
	return 0;
}

static int open_file(const char *path, char temp[TEMP_MAX], FILE **ret, struct err *e)
{
	(void)snprintf(temp, TEMP_MAX, "%s.new", path);
	*ret = fopen(temp, "we");
	return *ret ? 0 : err_errno(e, "write '%s'", path);
}

static int write_text(const char *path, const char *text, struct err *e)
{
	char temp[TEMP_MAX];
	FILE *f;
	int code = open_file(path, temp, &f, e);

	if (code)
		return code;
	(void)fputs(text, f); /* finish_file() looks at the stream */
	return finish_file(f, temp, path, e);
}

static int write_json(const char *path, const struct boot_result *r, struct err *e)
{
	AUTO(jsonout) struct jsonout *root = report_json(r);
	char temp[TEMP_MAX];
	FILE *f;
	int code = open_file(path, temp, &f, e);

	if (code)
		return code;
	code = jsonout_print(root, f, e);
	if (code) {
		(void)fclose(f); /* it is removed */
		(void)remove(temp);
		return code;
	}
	return finish_file(f, temp, path, e);
}

int report_write(const char *run_dir, const struct boot_result *r, const char *log, struct err *e)
{
	char path[PATH_MAX];
	int code = make_dirs(run_dir, e);

	(void)snprintf(path, sizeof(path), "%s/boot.json", run_dir);
	if (!code)
		code = write_json(path, r, e);
	(void)snprintf(path, sizeof(path), "%s/boot.log", run_dir);
	return code ? code : write_text(path, log, e);
}

int report_forbid_hibernation(const char *run_dir, struct err *e)
{
	char dir[PATH_MAX], path[PATH_MAX + 32];
	const char *slash = strrchr(run_dir, '/');
	int code;

	(void)snprintf(dir, sizeof(dir), "%.*s/systemd/sleep.conf.d", slash ? (int)(slash - run_dir) : 1,
		       slash ? run_dir : ".");
	code = make_dirs(dir, e);
	(void)snprintf(path, sizeof(path), "%s/50-wubi.conf", dir);
	return code ? code : write_text(path, hibernation_off, e);
}

int report_root(const char *path, const char *device, struct err *e)
{
	FILE *f = fopen(path, "ae");

	if (!f)
		return err_errno(e, "write '%s'", path);
	(void)fprintf(f, "ROOT=%s\n", device); /* fclose() tells */
	return fclose(f) ? err_errno(e, "write '%s'", path) : 0;
}
