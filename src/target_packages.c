/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packages that come and go. Without a network. */
#include "target_private.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runprog.h"

#define CACHE "/var/cache/wubi-install"
#define UPDATE_CONF "/etc/initramfs-tools/update-initramfs.conf"
#define UPDATE_CONF_HELD "# wubi-install builds it once, later\nupdate_initramfs=no\n"

/* What a live medium needs and an installed system does not: initramfs hooks that look for a medium, and installers. */
static const char *const live_packages[] = {
	"live-boot", "live-boot-*", "live-config", "live-config-*", "live-tools", "live-task-*", "live-wallpaper", "task-live-*",
	"calamares", "calamares-settings-*", "debian-installer-launcher", "casper", "ubiquity", "ubiquity-*", "lubuntu-live*",
	"ubuntu-desktop-installer", "ubuntu-desktop-bootstrap", "live-installer", "live-installer-*",
};

static const char *const live_folders[] = {
	"/etc/live", "/usr/lib/live/mount", "/usr/lib/live/config", "/usr/lib/live/boot", "/lib/live", "/var/lib/live",
};

static const char *const live_units[] = { "live-*", "casper*", "ubiquity*", "calamares*" };

bool target_is_live_package(const char *name)
{
	for (size_t i = 0; i < sizeof(live_packages) / sizeof(live_packages[0]); i++)
		if (fnmatch(live_packages[i], name, 0) == 0)
			return true;
	return false;
}

bool target_is_live_only(const char *simulation)
{
	while (*simulation) {
		size_t n = strcspn(simulation, "\n"), length = strcspn(simulation, " \n");
		bool goes = length == 4 && (!strncmp(simulation, "Remv", 4) || !strncmp(simulation, "Purg", 4));
		char name[128];

		if (length == 4 && strncmp(simulation, "Inst", 4) == 0)
			return false;
		if (goes) {
			(void)snprintf(name, sizeof(name), "%.*s", (int)(n - 4), simulation + 4 + (n > 4));
			name[strcspn(name, " :\n")] = '\0'; /* an architecture, a version */
			if (!target_is_live_package(name))
				return false;
		}
		simulation += n + (simulation[n] == '\n');
	}
	return true;
}

/* ---- what packages' scripts want to be done is done later, once, by target_kernels(), when all is in place ---- */

/*
 * In its own /run, which is gone in the end, and first in the PATH of dpkg: a package of GRUB would look for disks and for an EFI
 * system partition here, and would find this machine's or fail.
 */
#define STAND_INS "/run/wubi-install"
#define STAND_IN_TEXT "#!/bin/sh\necho \"${0##*/}: wubi-install does that later\" >&2\n"
static const char *const stand_ins[] = { STAND_INS "/grub-install", STAND_INS "/update-grub" };

static int put_stand_ins(struct target *t, struct err *e)
{
	char path[PATH_MAX];
	int code = target_make_folder(t, STAND_INS, e);

	for (size_t i = 0; !code && i < sizeof(stand_ins) / sizeof(stand_ins[0]); i++) {
		code = target_write(t, stand_ins[i], STAND_IN_TEXT, e);
		if (!code)
			code = target_path(t, stand_ins[i], path, e);
		if (!code && chmod(path, 0755) < 0)
			code = err_errno(e, "'%s': mode", path);
	}
	return code;
}

struct hold {
	char *old; /* what the file had; NULL: there is none, or nothing is held */
};

static int hold_back(struct target *t, struct hold *h, struct err *e)
{
	int code = put_stand_ins(t, e);

	if (!code)
		code = target_read(t, UPDATE_CONF, &h->old, e);
	if (code || !h->old)
		return code;
	if (strcmp(h->old, UPDATE_CONF_HELD) == 0) { /* of a run that was killed */
		free(h->old);
		h->old = strdup("update_initramfs=yes\n");
	}
	return target_write(t, UPDATE_CONF, UPDATE_CONF_HELD, e);
}

/* Also after a failure, which counts then. */
static int release(struct target *t, struct hold *h, int code, struct err *e)
{
	AUTO_FREE char *old = TAKE(h->old);
	int r = old ? target_write(t, UPDATE_CONF, old, code ? NULL : e) : 0;

	return code ? code : r;
}

/* ---- in ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Numbered: folders of packages may have files of the same name. */
static int copy_debs(struct target *t, const struct debpool *debs, char **names, struct err *e)
{
	int code = target_remove_tree(t, CACHE, e);

	if (!code)
		code = target_make_folder(t, CACHE, e);
	for (size_t i = 0; !code && i < debs->count; i++) {
		if (asprintf(&names[i], "%s/%03zu-%s", CACHE, i, base_name(debs->files[i])) < 0) {
			names[i] = NULL;
			return err_set(e, -ENOMEM, "'%s': out of memory", debs->files[i]);
		}
		code = target_copy_in(t, debs->files[i], names[i], e);
	}
	return code;
}

/* What was changed by hand in the copied system stays as it is. */
#define DPKG "dpkg", "--force-unsafe-io", "--force-confdef", "--force-confold"
static const char *const unpack_words[] = { DPKG, "--unpack" };
#define UNPACK_WORDS (sizeof(unpack_words) / sizeof(unpack_words[0]))

/* Which package it is, dpkg tells itself. */
static int run_dpkg(struct target *t, const char *step, const char *const *arguments, struct err *e)
{
	const struct target_program p = { .arguments = arguments, .variable = "INITRD=No",
					  .path = STAND_INS ":" RUNPROG_SYSTEM_PATH };
	struct err why = ERR_INIT;
	int code = target_do(t, &p, NULL, &why);

	if (code == -EIO)
		return err_set(e, code, "%s: %s: its messages above name the package", step, why.text);
	return code ? err_set(e, code, "%s: %s", step, why.text) : 0;
}

/* names[first] to names[end - 1]. */
static int unpack(struct target *t, char *const *names, size_t first, size_t end, struct err *e)
{
	AUTO_FREE const char **arguments = calloc(UNPACK_WORDS + (end - first) + 1, sizeof(*arguments));

	if (!arguments)
		return err_set(e, -ENOMEM, "packages: out of memory");
	memcpy(arguments, unpack_words, sizeof(unpack_words));
	for (size_t i = first; i < end; i++)
		arguments[UNPACK_WORDS + i - first] = names[i];
	return run_dpkg(t, "unpack packages", arguments, e);
}

static int install(struct target *t, const struct debpool *debs, char *const *names, struct err *e)
{
	static const char *const settle[] = { DPKG, "--configure", "--pending", NULL };
	static const char *const configure[] = { DPKG, "--configure", "-a", NULL };
	size_t first = 0;
	int code = 0;

	for (size_t i = 1; !code && i < debs->count; i++) {
		if (!debs->settle || !debs->settle[i])
			continue;
		code = unpack(t, names, first, i, e);
		if (!code)
			(void)run_dpkg(t, "", settle, NULL); /* see debpool.h: the last one tells */
		first = i;
	}
	if (!code)
		code = unpack(t, names, first, debs->count, e);
	return code ? code : run_dpkg(t, "configure packages", configure, e);
}

static int put(struct target *t, const struct debpool *debs, char **names, struct err *e)
{
	struct hold h = { NULL };
	int code = copy_debs(t, debs, names, e), r;

	if (!code)
		code = hold_back(t, &h, e);
	if (!code)
		code = install(t, debs, names, e);
	code = release(t, &h, code, e);
	r = target_remove_tree(t, CACHE, code ? NULL : e);
	return code ? code : r;
}

int target_packages(struct target *t, const struct debpool *debs, struct err *e)
{
	char **names;
	int code;

	if (!debs->count)
		return 0;
	names = calloc(debs->count, sizeof(*names));
	if (!names)
		return err_set(e, -ENOMEM, "packages: out of memory");
	code = put(t, debs, names, e);
	for (size_t i = 0; i < debs->count; i++)
		free(names[i]);
	free(names);
	return code;
}

/* ---- out ---- */

/* Lines "ii  NAME": all that are there, or of which configuration is left. Splits the text; *ret: into it, NULL ends. */
static int pick_live(char *text, const char **list, size_t max)
{
	char *line;
	size_t n = 0;

	while ((line = strsep(&text, "\n")) != NULL) {
		char *name = strchr(line, ' ');

		if (!name || n + 1 >= max || strncmp(line, "un", 2) == 0 || strncmp(line, "pn", 2) == 0)
			continue;
		name += strspn(name, " ");
		if (target_is_live_package(name))
			list[n++] = name;
	}
	list[n] = NULL;
	return (int)n;
}

/* apt knows what depends on them; dpkg alone would refuse. Nothing comes. */
static const char *const apt_words[] = { "apt-get", "-y", "-q", "--no-download", "--allow-change-held-packages",
					 "-o", "APT::Get::AutomaticRemove=false", "-o", "APT::Install-Recommends=false",
					 "-o", "Dpkg::Options::=--force-unsafe-io", "--purge", "remove" };
#define APT_WORDS (sizeof(apt_words) / sizeof(apt_words[0]))
#define LIVE_MAX 128

struct purge {
	const char *words[APT_WORDS + LIVE_MAX];
	size_t count; /* of names, behind apt_words */
};

static int simulate(struct target *t, const struct purge *p, bool *ret_alone, struct err *e)
{
	const char *words[APT_WORDS + LIVE_MAX];
	const struct target_program apt = { .arguments = words };
	AUTO_FREE char *text = NULL;
	int code;

	memcpy(words, p->words, sizeof(words));
	words[1] = "-s";
	code = target_do(t, &apt, &text, e);
	if (!code)
		*ret_alone = target_is_live_only(text);
	return code;
}

/*
 * A live medium's desktop may depend on one of them: that one stays, for nothing else may go. Each is tried together with those
 * before it: a package may depend on one of two.
 */
static int choose(struct target *t, char *text, struct purge *p, bool *ret_all, struct err *e)
{
	const char *names[LIVE_MAX];
	size_t n = (size_t)pick_live(text, names, LIVE_MAX);
	bool alone = true;
	int code;

	memcpy(p->words, apt_words, sizeof(apt_words));
	memcpy(p->words + APT_WORDS, names, (n + 1) * sizeof(*names));
	p->count = n;
	*ret_all = true;
	code = n ? simulate(t, p, &alone, e) : 0;
	if (code || alone)
		return code;
	*ret_all = false;
	p->count = 0;
	for (size_t i = 0; !code && i < n; i++) {
		p->words[APT_WORDS + p->count] = names[i];
		p->words[APT_WORDS + p->count + 1] = NULL;
		code = simulate(t, p, &alone, e);
		p->count += !code && alone;
	}
	p->words[APT_WORDS + p->count] = NULL;
	return code;
}

static int purge_packages(struct target *t, bool *ret_all, struct err *e)
{
	static const char *const query[] = { "dpkg-query", "-W", "-f=${db:Status-Abbrev} ${Package}\\n", NULL };
	const struct target_program ask = { .arguments = query };
	AUTO_FREE char *text = NULL;
	struct hold h = { NULL };
	struct purge p = { .count = 0 };
	int code = target_do(t, &ask, &text, e);

	if (!code)
		code = choose(t, text, &p, ret_all, e);
	if (code || !p.count)
		return code;
	code = hold_back(t, &h, e);
	if (!code)
		code = run_dpkg(t, "remove packages", p.words, e);
	return release(t, &h, code, e);
}

/* ---- what they leave ---- */

/* Switched on by hand when the medium was made: no package's script takes that back. */
static int drop_unit(struct target *t, const char *path, struct err *e)
{
	char own[PATH_MAX];
	struct stat st;
	bool is_live = false;
	int code;

	for (size_t i = 0; !is_live && i < sizeof(live_units) / sizeof(live_units[0]); i++)
		is_live = fnmatch(live_units[i], base_name(path), 0) == 0;
	if (!is_live || target_has(t, path))
		return 0;
	code = target_own_path(t, path, own, e);
	return !code && lstat(own, &st) == 0 && S_ISLNK(st.st_mode) ? target_remove(t, path, e) : code;
}

static int drop_units(struct target *t, const char *path, struct err *e)
{
	bool is_list = fnmatch("*.wants", path, 0) == 0 || fnmatch("*.requires", path, 0) == 0;

	return is_list ? target_for_each_in(t, path, drop_unit, e) : 0;
}

int target_purge_live(struct target *t, struct err *e)
{
	bool all = false;
	int code = purge_packages(t, &all, e);

	/* one that stays needs its folders: an initramfs could not be built without */
	for (size_t i = 0; !code && all && i < sizeof(live_folders) / sizeof(live_folders[0]); i++)
		code = target_remove_tree(t, live_folders[i], e);
	return code ? code : target_for_each_in(t, "/etc/systemd/system", drop_units, e);
}
