/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that are read and kept: configuration, choice, what was before, the lock. */
#include "profctl_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "auto.h"
#include "jsonin.h"
#include "jsonout.h"
#include "textfile.h"

#define PAUSE_NS (50 * 1000 * 1000L)
#define TRIES 600 /* 30 s: more than a set needs whose disk answers */

bool profctl_is_elsewhere(const struct profctl_params *par)
{
	return par->root && par->root[0];
}

int profctl_path(const struct profctl_params *par, const char *file, char ret[PATH_MAX], struct err *e)
{
	const char *root = par->root ? par->root : "";

	return textfile_resolve(root, file, ret) ? err_errno(e, "'%.300s%s'", root, file) : 0;
}

int profctl_read(const struct profctl_params *par, const char *file, char **ret, struct err *e)
{
	char path[PATH_MAX];
	int r = profctl_path(par, file, path, e);

	if (r)
		return r;
	r = textfile_read(path, ret, e);
	if (r != -ENOENT)
		return r;
	err_clear(e);
	*ret = NULL;
	return 0;
}

int profctl_remove(const struct profctl_params *par, const char *file, struct err *e)
{
	char path[PATH_MAX];
	int r = profctl_path(par, file, path, e);

	return r ? r : textfile_remove(path, e);
}

int profctl_put(const struct profctl_params *par, struct profctl_files *f, const char *file, const char *text, bool *ret_changed,
		struct err *e)
{
	char path[PATH_MAX];
	int r = profctl_path(par, file, path, e);

	return r ? r : profctl_files_put(f, path, text, ret_changed, e);
}

/* ---- profiles and the choice ---- */

int profctl_conf_read(const struct profctl_params *par, struct conf *ret, struct err *e)
{
	char path[PATH_MAX];
	int r = profctl_path(par, CONF_DEFAULT, path, e);

	if (r)
		return r;
	if (par->conf && access(par->conf, F_OK))
		return err_errno(e, "'%s'", par->conf);
	return conf_read(par->conf ? par->conf : path, ret, e);
}

int profctl_choice_read(const struct profctl_params *par, struct conf_choice *ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	char path[PATH_MAX];
	int r = profctl_path(par, PROFCTL_CHOICE, path, e);

	if (!r)
		r = profctl_read(par, PROFCTL_CHOICE, &text, e);
	if (r)
		return r;
	return conf_choice_parse(text ? text : "", path, ret, e);
}

int profctl_find(const struct conf *c, const char *name, const char *where, const struct profile **ret, struct err *e)
{
	const struct profile *p = conf_find(c, name);
	char names[256] = "";

	if (p) {
		*ret = p;
		return 0;
	}
	for (size_t i = 0; i < c->count; i++) {
		size_t used = strlen(names);

		(void)snprintf(names + used, sizeof(names) - used, "%s'%s'", used ? ", " : "", c->profiles[i].name);
	}
	return err_refuse(e, "no-profile", "'%s': there is no profile '%.64s': choose one of %s, or write it into " CONF_DEFAULT
			  ", see wubi.conf(5)", where, name, names);
}

const char *profctl_name_of(const struct conf *c, const struct conf_choice *choice, enum profile_phase phase)
{
	return choice->profile[phase][0] ? choice->profile[phase] : c->phase[phase];
}

/* ---- the lock ---- */

static int fail_lock(const char *path, struct err *e)
{
	bool is_denied = errno == EACCES || errno == EPERM;
	int r = err_errno(e, "'%s'", path);

	return is_denied ? err_set(e, r, "%s: run it as root", e ? e->text : "") : r;
}

int profctl_lock(const struct profctl_params *par, int *ret_fd, struct err *e)
{
	const struct timespec pause = { 0, PAUSE_NS };
	AUTO_FD int fd = -1;

	*ret_fd = -1;
	if (par->check_only || profctl_is_elsewhere(par))
		return 0;
	/* status, without rights, looks into it: whatever the umask is */
	if (mkdir("/run/wubi", 0755) == 0 ? chmod("/run/wubi", 0755) : errno != EEXIST)
		return fail_lock("/run/wubi", e);
	fd = open(PROFCTL_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail_lock(PROFCTL_LOCK, e);
	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB); i++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return fail_lock(PROFCTL_LOCK, e);
		if (i == TRIES)
			return err_refuse(e, "busy", "another wubi-profile changes the settings, and has for 30 s: wait for it "
					  "('fuser -v " PROFCTL_LOCK "' tells), then retry");
		(void)nanosleep(&pause, NULL); /* cut short by a signal is fine */
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* ---- what was in force before the first set ---- */

int profctl_saved_read(const struct profctl_params *par, bool *ret_found, struct profset *ret, struct err *e)
{
	AUTO(jsonin) struct jsonin *root = NULL;
	AUTO_FREE char *text = NULL;
	uint64_t version = 0;
	int r = profctl_read(par, PROFCTL_SAVED, &text, e);

	*ret_found = false;
	if (r || !text)
		return r;
	r = jsonin_parse(text, &root, e);
	if (!r && (!jsonin_get_u64(root, "version", &version) || version != 1))
		r = err_set(e, -EINVAL, "no version 1");
	if (!r)
		r = profset_from_json(jsonin_get(root, "setting"), ret, e);
	if (r) {
		(void)err_wrap(e, r, "'" PROFCTL_SAVED "'"); /* returns r */
		return err_set(e, r, "%s; it has what was in force before the first 'set': put it right, or remove it and do "
			       "without", e ? e->text : "");
	}
	*ret_found = true;
	return 0;
}

int profctl_json_write(const struct profctl_params *par, const char *file, const struct jsonout *root, struct err *e)
{
	AUTO_FREE char *text = NULL;
	char path[PATH_MAX];
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	int r;

	if (!f)
		return err_errno(e, "'%s'", file);
	r = jsonout_print(root, f, e);
	if (fclose(f) && !r)
		r = err_set(e, -ENOMEM, "'%s': out of memory", file);
	if (!r)
		r = profctl_path(par, file, path, e);
	return r ? r : textfile_write(path, text, e);
}

int profctl_saved_write(const struct profctl_params *par, const struct profset *s, struct err *e)
{
	AUTO(jsonout) struct jsonout *root = jsonout_object();
	char boot_id[64];

	profctl_boot_id(boot_id);
	jsonout_add_u64(root, "version", 1);
	jsonout_add_string(root, "boot_id", boot_id);
	profset_to_json(s, jsonout_add_object(root, "setting"));
	return profctl_json_write(par, PROFCTL_SAVED, root, e);
}

/* ---- several files at once ---- */

int profctl_files_put(struct profctl_files *f, const char *path, const char *text, bool *ret_changed, struct err *e)
{
	AUTO_FREE char *old = NULL;
	int r = textfile_read(path, &old, e);

	*ret_changed = false;
	if (r && r != -ENOENT)
		return r;
	if (r)
		err_clear(e);
	if (old && text ? strcmp(old, text) == 0 : !old && !text)
		return 0;
	if (f->count == PROFCTL_FILES_MAX)
		return err_set(e, -E2BIG, "'%s': one file too many", path);
	(void)snprintf(f->items[f->count].path, sizeof(f->items[0].path), "%s", path);
	f->items[f->count++].old = TAKE(old); /* before it is written: a failure may have done so */
	r = text ? textfile_write(path, text, e) : textfile_remove(path, e);
	if (!r)
		*ret_changed = true;
	return r;
}

int profctl_files_undo(struct profctl_files *f, struct err *e)
{
	int first = 0;

	while (f->count > 0) {
		const char *path = f->items[--f->count].path;
		AUTO_FREE char *old = TAKE(f->items[f->count].old);
		int r = old ? textfile_write(path, old, first ? NULL : e) : textfile_remove(path, first ? NULL : e);

		if (!first)
			first = r;
	}
	return first;
}

void profctl_files_clear(struct profctl_files *f)
{
	while (f->count > 0)
		free(f->items[--f->count].old);
}
