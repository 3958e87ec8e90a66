/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "initrdcheck.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "initrdcheck_private.h"
#include "initrdtree.h"

#define UNIT "wubi-attach.service"

const char *initrdcheck_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A file with this name in one of the folders, with something in it: an empty one, or a link to /dev/null, is masked. */
static const struct filetree_node *find_in(const struct initrdcheck *c, const char *const *folders, const char *name)
{
	char path[PATH_MAX];

	for (size_t i = 0; folders[i]; i++) {
		const struct filetree_node *node;
		int n = snprintf(path, sizeof(path), "%s/%s", folders[i], name);

		if (n < 0 || (size_t)n >= sizeof(path))
			continue;
		node = filetree_find_link(c->tree, path);
		if (node) {
			node = filetree_find_file(c->tree, path, false);
			return node && node->size_bytes > 0 ? node : NULL;
		}
	}
	return NULL;
}

static const struct filetree_node *find_rules(const struct initrdcheck *c, const char *name)
{
	static const char *const folders[] = { "etc/udev/rules.d", "run/udev/rules.d", "usr/lib/udev/rules.d", "lib/udev/rules.d",
					       NULL };

	return find_in(c, folders, name);
}

static void check_rules(struct initrdcheck *c)
{
	struct report *r = &c->result.findings;

	if (!find_rules(c, "55-dm.rules") && !find_rules(c, "10-dm.rules"))
		report_add(r, "no-rule", "udev's rules '55-dm.rules' are not in it: the image's device would have no name under "
			   "/dev/mapper, and root would not be found; install the package 'dmsetup' again, " INITRDCHECK_REBUILD);
	if (!find_rules(c, "95-dm-notify.rules"))
		report_add(r, "no-rule", "udev's rules '95-dm-notify.rules' are not in it: who makes a device would wait for "
			   "udev's answer in vain; install the package 'dmsetup' again, " INITRDCHECK_REBUILD);
}

static const char *const unit_folders[] = { "etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system", NULL };

/* The link with which initrd.target wants the unit; with 'follow', only one that leads to a file. */
static bool is_wanted(const struct initrdcheck *c, bool follow)
{
	char path[PATH_MAX];

	for (size_t i = 0; unit_folders[i]; i++) {
		(void)snprintf(path, sizeof(path), "%s/initrd.target.wants/" UNIT, unit_folders[i]);
		if (follow ? filetree_find_file(c->tree, path, false) : filetree_find_link(c->tree, path))
			return true;
	}
	return false;
}

static bool has_dracut_hook(const struct initrdcheck *c)
{
	static const char *const hooks[] = {
		"var/lib/dracut/hooks/initqueue/settled/20-wubi-attach.sh",
		"lib/dracut/hooks/initqueue/settled/20-wubi-attach.sh",
	};

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		if (filetree_find_file(c->tree, hooks[i], false))
			return true;
	return false;
}

/* The order in which the scripts run is written when all of them are there: in a tree that is being built it is not yet. */
static bool is_in_order(const struct initrdcheck *c)
{
	const struct filetree_node *order = filetree_find_file(c->tree, "scripts/local-top/ORDER", false);

	return !c->params->image || (order && order->text && strstr(order->text, "/scripts/local-top/wubi "));
}

static void check_hook(struct initrdcheck *c)
{
	struct report *r = &c->result.findings;
	bool link = is_wanted(c, false), unit = find_in(c, unit_folders, UNIT) != NULL;

	if (filetree_find_file(c->tree, "scripts/local-top/wubi", true)) {
		if (!is_in_order(c))
			report_add(r, "no-hook", "'scripts/local-top/ORDER' does not have 'scripts/local-top/wubi', so that it "
				   "would not be run; install the package 'wubi-tools' again, " INITRDCHECK_REBUILD);
		return;
	}
	if (unit && is_wanted(c, true))
		return;
	if (has_dracut_hook(c) && !link)
		return;
	report_add(r, "no-hook", "%s: wubi-attach would not be run, and root not be found; install the package 'wubi-tools' "
		   "again, " INITRDCHECK_REBUILD, link ? "'" UNIT "' is wanted by initrd.target, but is not in it, or masked" :
		   unit ? "'" UNIT "' is in it, but initrd.target does not want it" :
		   "neither 'scripts/local-top/wubi' nor '" UNIT "' is in it");
}

/* dracut's module 'squash' puts everything into a file system of its own, which is not looked into. */
static int check_squashed(const struct initrdcheck *c, struct err *e)
{
	static const char *const images[] = { "squash-root.img", "squashfs-root.img", "erofs-root.img" };

	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++)
		if (filetree_find_file(c->tree, images[i], false))
			return err_set(e, -ENOTSUP, "all of it is in '%s', where it cannot be looked at; to have it checked, "
				       "leave dracut's module 'squash' out (omit_dracutmodules+=\" squash \"), "
				       INITRDCHECK_REBUILD, images[i]);
	return 0;
}

/*
 * Root is checked before it is mounted: e2fsck repairs nothing that is. initramfs-tools runs logsave, and without it takes the
 * file system for one that could not be repaired. A system that has no such programs does without.
 */
static int check_fsck(struct initrdcheck *c, struct err *e)
{
	static const char otherwise[] = "root would be mounted without a check of its file system";
	static const struct initrdcheck_wanted programs[] = {
		{ "fsck", "util-linux", "no-fsck", otherwise },
		{ "fsck.ext4", "e2fsprogs", "no-fsck", otherwise },
		{ "logsave", "logsave", "no-fsck", "the file system of root would be taken for damaged" },
	};
	size_t count = filetree_find_file(c->tree, "scripts/local-top/wubi", true) ? 3 : 2;
	int r = 0;

	if (!c->has_ext4)
		return 0;
	for (size_t i = 0; i < count; i++) {
		char path[PATH_MAX];

		(void)snprintf(path, sizeof(path), "%.4000s/%s", c->params->programs, programs[i].name);
		if (access(path, X_OK))
			return 0;
	}
	for (size_t i = 0; !r && i < count; i++)
		r = initrdcheck_program(c, &programs[i], e);
	return r;
}

static int check_all(struct initrdcheck *c, struct err *e)
{
	static const char otherwise[] = "the image that root is in would not be attached";
	static const struct initrdcheck_wanted attach = { "wubi-attach", "wubi-tools", "no-program", otherwise };
	static const struct initrdcheck_wanted dmsetup = { "dmsetup", "dmsetup", "no-program", otherwise };
	int r = initrdneed_look(&c->params->system, &c->need, e);

	if (!r)
		r = check_squashed(c, e);
	if (!r)
		r = initrdcheck_program(c, &attach, e);
	if (!r)
		r = initrdcheck_program(c, &dmsetup, e);
	if (!r)
		r = initrdcheck_module(c, e);
	if (!r)
		r = initrdcheck_maps(c, e);
	if (!r)
		r = check_fsck(c, e);
	if (r)
		return r;
	check_rules(c);
	check_hook(c);
	return 0;
}

int initrdcheck_run(const struct initrdcheck_params *params, struct initrdcheck_result *ret, struct err *e)
{
	AUTO(filetree) struct filetree *tree = NULL;
	AUTO_FREE struct initrdcheck *c = calloc(1, sizeof(*c));
	struct err problem = ERR_INIT;
	int r;

	if (!c)
		return err_set(e, -ENOMEM, "out of memory");
	c->params = params;
	if (params->kernel && snprintf(c->result.kernel, sizeof(c->result.kernel), "%s", params->kernel) >=
			      (int)sizeof(c->result.kernel))
		return err_set(e, -EINVAL, "'%.300s' is no version of a kernel", params->kernel);
	r = params->image ? initrdtree_from_image(params->image, &tree, &problem) : initrdtree_from_folder(params->tree, &tree,
													   &problem);
	c->tree = tree;
	if (!r)
		r = check_all(c, &problem);
	if (r && !report_take(&c->result.findings, &problem)) {
		if (e)
			*e = problem;
		return r;
	}
	*ret = c->result;
	return 0;
}
