/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packages that come and go. Without a network. */
#include "target_private.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

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

bool target_is_live_package(const char *name)
{
	for (size_t i = 0; i < sizeof(live_packages) / sizeof(live_packages[0]); i++)
		if (fnmatch(live_packages[i], name, 0) == 0)
			return true;
	return false;
}

/* ---- packages' own wish for an initramfs: it is made once, for each kernel, when all is in place ---- */

struct hold {
	char *old; /* what the file had; NULL: there is none, or nothing is held */
};

static int hold_initramfs(struct target *t, struct hold *h, struct err *e)
{
	int code = target_read(t, UPDATE_CONF, &h->old, e);

	if (code || !h->old)
		return code;
	if (strcmp(h->old, UPDATE_CONF_HELD) == 0) { /* of a run that was killed */
		free(h->old);
		h->old = strdup("update_initramfs=yes\n");
	}
	return target_write(t, UPDATE_CONF, UPDATE_CONF_HELD, e);
}

/* Also after a failure, which counts then. */
static int release_initramfs(struct target *t, struct hold *h, int code, struct err *e)
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

static int run_dpkg(struct target *t, const char *const *arguments, struct err *e)
{
	const struct target_program p = { .arguments = arguments, .variable = "INITRD=No" };

	return target_do(t, &p, NULL, e);
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
	return run_dpkg(t, arguments, e);
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
			(void)run_dpkg(t, settle, NULL); /* see debpool.h: the last one tells */
		first = i;
	}
	if (!code)
		code = unpack(t, names, first, debs->count, e);
	return code ? code : run_dpkg(t, configure, e);
}

static int put(struct target *t, const struct debpool *debs, char **names, struct err *e)
{
	struct hold h = { NULL };
	int code = copy_debs(t, debs, names, e), r;

	if (!code)
		code = hold_initramfs(t, &h, e);
	if (!code)
		code = install(t, debs, names, e);
	code = release_initramfs(t, &h, code, e);
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

/* apt knows what depends on them; dpkg alone would refuse. Nothing else goes, and nothing comes. */
static const char *const purge[] = { "apt-get", "-y", "-q", "--no-download", "-o", "APT::Get::AutomaticRemove=false",
				     "-o", "APT::Install-Recommends=false", "-o", "Dpkg::Options::=--force-unsafe-io",
				     "--purge", "remove" };
#define PURGE_COUNT (sizeof(purge) / sizeof(purge[0]))
#define LIVE_MAX 128

static int purge_packages(struct target *t, struct err *e)
{
	static const char *const query[] = { "dpkg-query", "-W", "-f=${db:Status-Abbrev} ${Package}\\n", NULL };
	const struct target_program ask = { .arguments = query };
	const char *arguments[PURGE_COUNT + LIVE_MAX];
	AUTO_FREE char *text = NULL;
	struct hold h = { NULL };
	int code = target_do(t, &ask, &text, e);

	if (code || !pick_live(text, arguments + PURGE_COUNT, LIVE_MAX))
		return code;
	memcpy(arguments, purge, sizeof(purge));
	code = hold_initramfs(t, &h, e);
	if (!code)
		code = run_dpkg(t, arguments, e);
	return release_initramfs(t, &h, code, e);
}

int target_purge_live(struct target *t, struct err *e)
{
	int code = purge_packages(t, e);

	for (size_t i = 0; !code && i < sizeof(live_folders) / sizeof(live_folders[0]); i++)
		code = target_remove_tree(t, live_folders[i], e);
	return code;
}
