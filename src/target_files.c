/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that make the copied system one of this machine. */
#include "target_private.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "mapfile.h"

#define DPKG_FOLDER "/etc/dpkg/dpkg.cfg.d"
#define UNSAFE "force-unsafe-io"
#define SSH_FOLDER "/etc/ssh"
#define APT_FOLDER "/etc/apt"

/*
 * grub-mkconfig asks grub-probe, and then these files, which win. By UUID it would not find root before wubi-attach has been at
 * work, and os-prober would mount the Windows volume: its entry is made by /etc/grub.d/35_wubi.
 */
#define GRUB_TEXT \
	"# wubi-install: root is in an image, see wubi(7)\n" \
	"GRUB_DEVICE=/dev/mapper/wubi-root\n" \
	"GRUB_DISABLE_LINUX_UUID=true\n" \
	"GRUB_DISABLE_LINUX_PARTUUID=true\n" \
	"GRUB_DISABLE_OS_PROBER=true\n"

static int write_taken(const struct target *t, const char *path, char *text, struct err *e)
{
	int code = target_write(t, path, text, e);

	free(text);
	return code;
}

/* ---- file systems ---- */

static int write_maps(struct target *t, const struct target_settings *s, struct err *e)
{
	int code = target_make_folder(t, TARGET_MAPS, e);

	for (size_t i = 0; !code && i < s->map_count; i++) {
		char path[PATH_MAX], resolved[PATH_MAX];

		(void)snprintf(path, sizeof(path), TARGET_MAPS "/%s.map", s->maps[i]->name); /* it fits */
		code = target_path(t, path, resolved, e);
		if (!code)
			code = mapfile_write(resolved, s->maps[i], e);
	}
	return code;
}

static int file_systems(struct target *t, const struct target_settings *s, struct err *e)
{
	int code = write_taken(t, "/etc/fstab", target_fstab_text(s), e);

	if (!code && s->esp_partuuid && s->esp_partuuid[0])
		code = target_make_folder(t, "/boot/efi", e);
	return code ? code : write_maps(t, s, e);
}

static void close_folder(DIR *d)
{
	if (d)
		(void)closedir(d); /* it was only read */
}
DEFINE_AUTO(folder, DIR *, close_folder);

static int is_empty(const struct target *t, const char *path, bool *ret, struct err *e)
{
	char resolved[PATH_MAX];
	int code = target_path(t, path, resolved, e);
	AUTO(folder) DIR *d = code ? NULL : opendir(resolved);
	const struct dirent *item;

	*ret = true;
	if (code)
		return code;
	if (!d)
		return err_errno(e, "'%s'", resolved);
	while (errno = 0, (item = readdir(d)) != NULL)
		if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0 && strcmp(item->d_name, "lost+found") != 0)
			*ret = false;
	return errno ? err_errno(e, "read '%s'", resolved) : 0;
}

static int add_fstab_line(struct target *t, const struct map *m, struct report *notes, struct err *e)
{
	AUTO_FREE char *old = NULL;
	bool hides = false;
	int code = target_read(t, "/etc/fstab", &old, e);

	if (code || target_fstab_has(old ? old : "", m))
		return code;
	if (strcmp(m->name, "home") == 0)
		code = is_empty(t, "/home", &hides, e);
	if (code)
		return code;
	if (hides) {
		report_add(notes, "empty-home", "'%s' has no file in it, so that it is not mounted at /home yet, where it "
			   "would hide the files of the users: copy those into it, then run --repair again (recovery.md has "
			   "the commands)", m->image);
		return 0;
	}
	return write_taken(t, "/etc/fstab", target_fstab_text_with(old ? old : "", m), e);
}

int target_add_fstab(struct target *t, const struct map *const *maps, size_t count, struct report *notes, struct err *e)
{
	int code = 0;

	for (size_t i = 0; !code && i < count; i++)
		code = add_fstab_line(t, maps[i], notes, e);
	return code;
}

/* ---- whose it is ---- */

static int name_host(struct target *t, const char *hostname, struct err *e)
{
	AUTO_FREE char *old = NULL;
	char *text = NULL;
	int code;

	if (!hostname || !hostname[0])
		return 0;
	if (asprintf(&text, "%s\n", hostname) < 0)
		text = NULL;
	code = write_taken(t, "/etc/hostname", text, e);
	if (!code)
		code = target_read(t, "/etc/hosts", &old, e);
	return code ? code : write_taken(t, "/etc/hosts", target_hosts_text(old, hostname), e);
}

static int drop_host_key(struct target *t, const char *path, struct err *e)
{
	static const char begin[] = SSH_FOLDER "/ssh_host_";

	return strncmp(path, begin, sizeof(begin) - 1) == 0 ? target_remove(t, path, e) : 0;
}

/* Those of a medium are everybody's. */
static int make_host_keys(struct target *t, struct err *e)
{
	static const char *const keygen[] = { "ssh-keygen", "-A", NULL };
	char server[PATH_MAX];
	int code = target_for_each_in(t, SSH_FOLDER, drop_host_key, e);

	return code || !target_find(t, "sshd", server) ? code : target_run_if_there(t, keygen, e);
}

/* An empty one is filled at the first start; none at all, or "uninitialized", would make that a "first boot" with presets. */
static int forget_identity(struct target *t, struct err *e)
{
	int code = target_remove(t, "/etc/machine-id", e);

	if (!code)
		code = target_write(t, "/etc/machine-id", "", e);
	if (!code)
		code = target_remove(t, "/var/lib/dbus/machine-id", e);
	if (!code)
		code = target_remove(t, "/var/lib/systemd/random-seed", e);
	return code ? code : make_host_keys(t, e);
}

static int set_clock(struct target *t, bool utc, struct err *e)
{
	AUTO_FREE char *old = NULL;
	int code = target_read(t, "/etc/adjtime", &old, e);

	return code ? code : write_taken(t, "/etc/adjtime", target_adjtime_text(old, utc), e);
}

/* ---- what the makers of the medium set for their own use ---- */

static int make_dpkg_safe(struct target *t, const char *path, struct err *e)
{
	AUTO_FREE char *old = NULL, *text = NULL;
	bool is_changed = false, is_left = false;
	int code = target_read(t, path, &old, e);

	if (code || !old)
		return code;
	text = target_text_without(old, UNSAFE, &is_changed, &is_left);
	if (text && !is_changed)
		return 0;
	return text && !is_left ? target_remove(t, path, e) : target_write(t, path, text, e);
}

static int put_apt(struct target *t, const char *path, char *(*make)(const char *old, bool *ret_changed), struct err *e)
{
	AUTO_FREE char *old = NULL, *text = NULL;
	bool is_changed = false;
	int code = target_read(t, path, &old, e);

	if (code || !old)
		return code;
	text = make(old, &is_changed);
	return text && !is_changed ? 0 : target_write(t, path, text, e);
}

static int forget_medium(struct target *t, const char *path, struct err *e)
{
	if (fnmatch("*.list", path, 0) == 0)
		return put_apt(t, path, target_apt_lines_text, e);
	return fnmatch("*.sources", path, 0) == 0 ? put_apt(t, path, target_apt_stanzas_text, e) : 0;
}

/* GRUB's packages for a firmware make it of this; ours need none of those. */
static int default_grub(struct target *t, struct err *e)
{
	AUTO_FREE char *text = NULL;
	int code = target_has(t, "/etc/default/grub") ? 0 : target_read(t, "/usr/share/grub/default/grub", &text, e);

	return code || !text ? code : target_write(t, "/etc/default/grub", text, e);
}

static int boot_settings(struct target *t, struct err *e)
{
	int code = default_grub(t, e);

	if (!code)
		code = target_write(t, TARGET_GRUB, GRUB_TEXT, e);
	/* no hibernation: Windows may have moved the image meanwhile */
	if (!code && target_has(t, "/etc/initramfs-tools"))
		code = target_write(t, "/etc/initramfs-tools/conf.d/resume", "RESUME=none\n", e);
	return code;
}

int target_files(struct target *t, const struct target_settings *s, struct err *e)
{
	int code = file_systems(t, s, e);

	if (!code)
		code = name_host(t, s->hostname, e);
	if (!code)
		code = forget_identity(t, e);
	if (!code)
		code = set_clock(t, s->clock_utc, e);
	if (!code)
		code = target_locale_files(t, s, e);
	if (!code)
		code = target_for_each_in(t, DPKG_FOLDER, make_dpkg_safe, e);
	if (!code)
		code = forget_medium(t, APT_FOLDER "/sources.list", e);
	if (!code)
		code = target_for_each_in(t, APT_FOLDER "/sources.list.d", forget_medium, e);
	if (!code)
		code = boot_settings(t, e);
	return code;
}
