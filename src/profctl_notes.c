/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of a profile this system cannot have, or not yet, or not at its next boot. */
#include "profctl_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sysctld.h"
#include "textfile.h"

#define UNIT "/sysinit.target.wants/wubi-profile.service"

bool profctl_has_root(const struct profset *s)
{
	for (size_t i = 0; i < s->mount_count; i++)
		if (s->mounts[i].is_root)
			return true;
	return false;
}

/* ---- mounts ---- */

static void add_name(char *names, size_t size, const char *target)
{
	size_t used = strlen(names);

	(void)snprintf(names + used, size - used, "%s'%.60s'", used ? ", " : "", target);
}

void profctl_note_images(const struct profile *p, const struct profset *now, struct report *notes)
{
	char names[200] = "";

	if (!p->mount[0] || profctl_has_root(now))
		return;
	for (size_t i = 0; i < now->mount_count; i++)
		add_name(names, sizeof(names), now->mounts[i].target);
	if (now->mount_count)
		report_add(notes, "not-an-image", "mount options '%s' are for %s, and not for '/', which is no ext4 in an image "
			   "of ours", p->mount, names);
	else
		report_add(notes, "not-an-image", "mount options '%s' are left out: no ext4 in an image of ours is mounted, so "
			   "that they would not mean what the profile promises; the kernel's values of the profile do apply",
			   p->mount);
}

/* Of other mounts than '/': its options go to the kernel's command line. */
static int note_first_mount(const struct profile *p, const struct profset *now, struct report *notes, struct err *e)
{
	char remount[MOUNTOPTS_TEXT], first[MOUNTOPTS_TEXT], missing[MOUNTOPTS_TEXT], names[200] = "";
	int r = mountopts_split(p->mount, remount, first, e);

	for (size_t i = 0; !r && first[0] && i < now->mount_count; i++) {
		if (now->mounts[i].is_root)
			continue;
		r = mountopts_missing(first, now->mounts[i].options, missing, e);
		if (!r && missing[0])
			add_name(names, sizeof(names), now->mounts[i].target);
	}
	if (!r && names[0])
		report_add(notes, "first-mount-only", "mount %s: '%s' counts at the first mount only: write it into the options "
			   "in /etc/fstab", names, first);
	return r;
}

int profctl_note_reboot(const char *wanted, const struct profset *saved, const struct profset *now, struct report *notes,
			struct err *e)
{
	char options[MOUNTOPTS_TEXT];
	int r = profset_after_reboot(wanted, saved, now, options, e);

	if (!r && options[0])
		report_add(notes, "after-reboot", "mount '/': '%s' counts from the next boot on: no remount takes it", options);
	return r;
}

int profctl_note_mounts(const struct profile *p, const struct profset *saved, const struct profset *now, struct report *notes,
			struct err *e)
{
	int r;

	profctl_note_images(p, now, notes);
	r = note_first_mount(p, now, notes, e);
	return r ? r : profctl_note_reboot(p->mount, saved, now, notes, e);
}

/* ---- later boots ---- */

void profctl_note_boot(const struct profctl_params *par, struct report *notes)
{
	static const char *const folders[] = { "/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system" };
	const char *root = par->root ? par->root : "";
	char folder[PATH_MAX], path[PATH_MAX + 64];
	struct stat st;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (textfile_resolve(root, folders[i], folder))
			continue;
		(void)snprintf(path, sizeof(path), "%s" UNIT, folder);
		if (lstat(path, &st) == 0) /* the link is enough, which may be absolute */
			return;
	}
	if (root[0])
		report_add(notes, "not-at-boot", "the unit that puts mount options in force at boot is not enabled there: "
			   "'systemctl --root=%s enable wubi-profile.service'", root);
	else if (access("/run/systemd/system", F_OK))
		report_add(notes, "not-at-boot", "there is no systemd here: have 'wubi-profile apply' called at each boot, or "
			   "the mount options will not be in force then");
	else
		report_add(notes, "not-at-boot", "the unit that puts mount options in force at boot is not enabled: 'systemctl "
			   "enable wubi-profile.service'");
}

/* ---- files of sysctl.d behind ours ---- */

/* The pair that begins with knob, or the single one. */
static int find_winner(const char *root, int knob, int count, struct sysctld_setting *ret, struct err *e)
{
	char names[2][64];
	const char *const keys[] = { names[0], names[1] };

	for (int i = 0; i < count; i++)
		(void)snprintf(names[i], sizeof(names[0]), "vm.%s", profile_knob_name(knob + i));
	return sysctld_winner(root, keys, (size_t)count, ret, e);
}

static bool is_later(const struct sysctld_setting *w)
{
	const char *name = strrchr(w->path, '/'), *ours = strrchr(PROFCTL_SYSCTL, '/');

	return name && (strcmp(w->path, "/etc/sysctl.conf") == 0 || strcmp(name, ours) > 0);
}

static bool agrees(const struct sysctld_setting *w, const struct profile_knobs *k, int knob, int count)
{
	char key[64], value[32];

	for (int i = 0; i < count; i++) {
		(void)snprintf(key, sizeof(key), "vm.%s", profile_knob_name(knob + i));
		(void)snprintf(value, sizeof(value), "%" PRIu64, profile_knob_get(k, knob + i));
		if (strcmp(w->key, key) == 0 && strcmp(w->value, value) == 0)
			return true;
	}
	return false;
}

void profctl_note_later(const struct profctl_params *par, const struct profile_knobs *now, struct profile_knobs *k,
			struct report *notes)
{
	const char *root = par->root ? par->root : "";
	struct err why = ERR_INIT;

	for (int knob = 0, count; knob < PROFILE_KNOBS; knob += count) {
		struct sysctld_setting w = { .line = 0 };

		count = knob < PROFILE_EXPIRE ? 2 : 1;
		if (find_winner(root, knob, count, &w, &why)) {
			report_add(notes, "later-file", "whether another file sets 'vm.%s' at boot cannot be told: %.200s",
				   profile_knob_name(knob), why.text);
			return; /* it is the same for the others */
		}
		if (!is_later(&w) || agrees(&w, k, knob, count))
			continue;
		report_add(notes, "later-file", "'%s = %s' in %.150s:%u counts %s, for it comes after '" PROFCTL_SYSCTL "': "
			   "remove the line, or the profile is not whole",
			   w.key, w.value, w.path, w.line, now ? "here" : "at boot");
		for (int i = 0; now && i < count; i++)
			profile_knob_put(k, knob + i, profile_knob_get(now, knob + i));
	}
}
