/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that is looked at before anything is written. */
#include "install_private.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include "num.h"

/* What the installed system needs beside what it has; wubi-tools brings its own dependencies. */
static const char *const packages[] = {
	"wubi-tools", "shim-signed", "grub-efi-amd64-signed", "grub-efi-amd64-bin", "grub2-common", "efibootmgr", NULL,
};

#define LOADER_BYTES (6 * NUM_MIB) /* shim, MokManager and GRUB */

/* A refusal goes into the report and the look goes on; a failure ends it. */
static int take(struct install_plan *p, int code, struct err *e)
{
	return code && report_take(&p->report, e) ? 0 : code;
}

/* ---- the machine ---- */

static int look_at_machine(struct install_plan *p)
{
	struct utsname u;

	if (!efiboot_is_there())
		report_add(&p->report, "bios",
			   "this machine was started by BIOS, not by UEFI firmware: only UEFI can be installed for "
			   "yet; if its setup has a choice between the two, start the live medium by UEFI");
	if (uname(&u) || strcmp(u.machine, "x86_64") != 0)
		report_add(&p->report, "architecture", "this machine is no x86-64: there is no signed boot loader for it here");
	p->secure_boot = efiboot_secure_boot();
	return 0;
}

/* The key is sealed to what started Windows: shim and GRUB in between ask for the recovery key. */
static void look_for_bitlocker(struct install_plan *p)
{
	for (size_t i = 0; i < p->volumes.count; i++) {
		if (strcmp(p->volumes.rows[i].what, "BitLocker") != 0)
			continue;
		report_add(&p->notes, "bitlocker",
			   "'%s' is encrypted by BitLocker: start Windows from the firmware, not from Linux' menu, or "
			   "it asks for the recovery key; so let Windows be what the firmware starts by itself",
			   p->volumes.rows[i].path);
		return;
	}
}

/* ---- the volume ---- */

static int choose(const struct install_params *par, struct install_plan *p, struct err *e)
{
	int code = take(p, install_choose(par, 0, &p->volumes, &p->volume, &p->esp, e), e);

	look_for_bitlocker(p);
	if (code || !p->volume)
		return code;
	if (p->volume->reason[0] && !p->volume->is_usable) {
		report_add(&p->report, p->volume->reason, "'%s': %s", p->volume->path, p->volume->text);
		return 0;
	}
	if (!p->esp)
		return 0;
	code = take(p, install_state_of(p->volume, p->esp, &p->state, e), e);
	if (!code && p->state == INSTALL_COMPLETE)
		report_add(&p->report, "installed",
			   "'%s' holds a complete system in '%s': 'wubi-install --repair' makes its boot entry "
			   "anew, 'wubi-install --remove' removes it with all its files",
			   p->volume->path, INSTALL_ROOT_IMAGE);
	if (!code && p->state == INSTALL_FOREIGN)
		report_add(&p->report, "image-exists",
			   "'%s' holds '%s', which this program did not make, and its files would be lost: move it "
			   "away in Windows, or remove it with 'wubi-disk remove'",
			   p->volume->path, INSTALL_ROOT_IMAGE);
	return code;
}

static void check_esp_space(struct install_plan *p, uint64_t copies_bytes)
{
	char have[NUM_BYTES_TEXT], want[NUM_BYTES_TEXT];

	p->esp_free_bytes += install_esp_own_bytes(); /* of an interrupted run: taken away first */
	if (p->esp_free_bytes < LOADER_BYTES + ESPBOOT_RESERVE_BYTES)
		report_add(&p->report, "esp-full",
			   "the EFI system partition '%s' has %s free, and %s are needed: remove files of systems "
			   "that are gone from it",
			   p->esp->path, num_format_bytes(p->esp_free_bytes, have),
			   num_format_bytes(LOADER_BYTES + ESPBOOT_RESERVE_BYTES, want));
	p->copies_fit = p->esp_free_bytes >= LOADER_BYTES + ESPBOOT_RESERVE_BYTES + copies_bytes;
	if (!p->copies_fit)
		report_add(&p->notes, "no-copies",
			   "the EFI system partition '%s' has %s free, too little for a copy of kernel and initramfs (about "
			   "%s): a smaller one is tried; without it, when Windows moves the image, 'wubi-install --repair' "
			   "from a live system is needed",
			   p->esp->path, num_format_bytes(p->esp_free_bytes, have), num_format_bytes(copies_bytes, want));
}

/* A menu of somebody else's there would be replaced, or taken for ours: that is asked before anything is written. */
static int look_at_menu(struct install_plan *p, const char *name, struct err *e)
{
	char start[64] = "", path[PATH_MAX];
	FILE *f;

	(void)snprintf(path, sizeof(path), INSTALL_ESP "/%s", name); /* two short ones */
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT || errno == ENOTDIR ? 0 : err_errno(e, "'%s' on '%s'", name, p->esp->path);
	(void)fread(start, 1, sizeof(start) - 1, f); /* of a short or unreadable file, what there is: it is not ours then */
	(void)fclose(f);                             /* it was only read */
	if (!bootmenu_is_ours(start))
		report_add(&p->report, "foreign-menu",
			   "'%s' on the EFI system partition '%s' is another system's, and the signed GRUB "
			   "reads its menu there: move it away, if that system is gone", name, p->esp->path);
	return 0;
}

/* One system of ours can be started from one EFI system partition. */
static int look_for_others(struct install_plan *p, struct err *e)
{
	bool is_others = false;
	int code = p->volume ? install_esp_is_others(p->volume, &is_others, e) : 0;

	if (is_others)
		report_add(&p->report, "other-system",
			   "the EFI system partition '%s' starts a system in an image on another volume, or in a partition, "
			   "which would not start any more: remove that one first ('wubi-install --remove --volume' with its "
			   "volume), or use another disk's EFI system partition (--esp); if that volume or partition is gone, "
			   "delete the folder EFI/wubi and boot/grub/grub.cfg there", p->esp->path);
	return code;
}

static int look_at_esp(struct install_plan *p, uint64_t copies_bytes, struct err *e)
{
	struct statvfs st;
	int code;

	if (!p->esp)
		return 0;
	if (!p->esp->partuuid[0] || (p->volume && !p->volume->partuuid[0]))
		report_add(&p->report, "no-partuuid",
			   "the partition table gives '%s' no identifier, so that neither the firmware nor GRUB could "
			   "find it: use a disk with a GPT", p->esp->partuuid[0] ? p->volume->path : p->esp->path);
	code = install_esp_mount(p->esp, false, e);
	if (code)
		return code;
	if (statvfs(INSTALL_ESP, &st))
		code = err_errno(e, "'%s'", p->esp->path);
	p->esp_free_bytes = code ? 0 : (uint64_t)st.f_bavail * st.f_frsize;
	if (!code)
		code = look_at_menu(p, BOOTMENU_FILE, e);
	if (!code)
		code = look_at_menu(p, "boot/grub/x86_64-efi/grub.cfg", e); /* gcdx64 looks there first */
	if (!code)
		code = look_for_others(p, e);
	if (!code)
		check_esp_space(p, copies_bytes);
	return install_esp_unmount(code ? NULL : e) && !code ? -EBUSY : code;
}

/* ---- what is copied ---- */

static int look_at_source(const struct install_params *par, struct install_plan *p, const struct install_host *h, struct err *e)
{
	const struct livesource_params sp = {
		.iso = par->conf.iso[0] ? par->conf.iso : NULL,
		.squashfs = par->conf.squashfs[0] ? par->conf.squashfs : NULL,
		.work = INSTALL_SOURCE,
		.root = "",
	};
	int code = install_work_folder(INSTALL_SOURCE, e);

	if (!code)
		code = livesource_find(&sp, &p->source, e);
	if (!code)
		code = install_begin(h, "checking the medium", e);
	if (!code)
		code = livesource_check(&p->source, h->progress, &p->source_is_checked, e);
	if (!code && !p->source_is_checked)
		report_add(&p->notes, "no-checksum",
			   "%s has no list of checksums: whether it is whole cannot be told before the copy", p->source.name);
	if (!code)
		code = livesource_mount(&sp, &p->source, e);
	if (!code)
		code = install_begin(h, "looking through the system", e);
	return code ? code : treecopy_measure(p->source.tree, NULL, h->progress, &p->totals, e);
}

static int resolve_packages(const struct install_params *par, struct install_plan *p, const struct install_host *h, struct err *e)
{
	const char *const folders[] = {
		par->conf.packages[0] ? par->conf.packages : INSTALL_POOL,
		INSTALL_POOL,
		p->source.pool[0] ? p->source.pool : INSTALL_POOL,
		"/var/cache/apt/archives",
		NULL,
	};
	const struct debpool_params dp = {
		.packages = packages,
		.folders = folders,
		.tree = p->source.tree,
		.architecture = p->source.architecture,
		.work = INSTALL_APT,
		.network = !par->conf.no_network,
		.tell = h->tell,
		.interrupted = h->interrupted,
		.ctx = h->ctx,
	};
	int code = install_work_folder(INSTALL_APT, e);

	if (!code)
		code = install_begin(h, "finding the packages that it needs", e);
	return code ? code : debpool_resolve(&dp, &p->debs, e);
}

/* ---- sizes ---- */

static unsigned kernels_of(const char *tree)
{
	char pattern[PATH_MAX + 32];
	glob_t found = { .gl_pathc = 0 };
	size_t n;

	(void)snprintf(pattern, sizeof(pattern), "%s/lib/modules/*/modules.dep", tree); /* it fits */
	n = glob(pattern, GLOB_NOSORT, NULL, &found) ? 0 : found.gl_pathc;
	globfree(&found);
	return n ? (unsigned)n : 1;
}

static void check_sizes(const struct install_params *par, struct install_plan *p)
{
	char need[NUM_BYTES_TEXT], given[NUM_BYTES_TEXT], free_text[NUM_BYTES_TEXT];

	p->needed_bytes = install_size_needed(p->totals.disk_bytes + p->debs.installed_bytes, p->totals.files + p->totals.folders,
					      kernels_of(p->source.tree));
	p->sizes[INSTALL_ROOT] = par->conf.size_bytes;
	p->sizes[INSTALL_HOME] = par->conf.home_bytes;
	p->sizes[INSTALL_SWAP] = par->conf.swap_bytes;
	if (!par->conf.size_bytes)
		report_add(&p->report, "no-size",
			   "no size was given: %s needs at least %s, better more, and '%s' has %s free in one piece: "
			   "--size",
			   p->source.title, num_format_bytes(p->needed_bytes, need), p->volume ? p->volume->path : "the volume",
			   num_format_bytes(p->volume ? p->volume->largest_run_bytes : 0, free_text));
	else if (par->conf.size_bytes < p->needed_bytes)
		report_add(&p->report, "too-small",
			   "%s does not fit into %s: its files, the file system's own needs and room for an update "
			   "take %s",
			   p->source.title, num_format_bytes(par->conf.size_bytes, given),
			   num_format_bytes(p->needed_bytes, need));
}

/* All images at once: each alone may fit where all do not. */
static void check_free(struct install_plan *p)
{
	char need[NUM_BYTES_TEXT], have[NUM_BYTES_TEXT];
	uint64_t sum = 0;

	for (int i = 0; i < INSTALL_IMAGES; i++)
		sum += p->sizes[i];
	if (p->state != INSTALL_INCOMPLETE && sum > p->volume->free_bytes)
		report_add(&p->report, "no-space",
			   "'%s' has %s free, and the images take %s together: free space in Windows, or take less",
			   p->volume->path, num_format_bytes(p->volume->free_bytes, have), num_format_bytes(sum, need));
}

/* What an interrupted run made says so, and goes first; all else is somebody's. */
static int check_images(struct install_plan *p, struct err *e)
{
	char label[EXT4FMT_LABEL_MAX + 1];
	bool exists = false;
	int code = 0;

	for (int i = INSTALL_HOME; !code && i < INSTALL_IMAGES; i++) {
		if (!p->sizes[i])
			continue;
		code = install_label_of(p->volume, (enum install_image)i, &exists, label, e);
		if (!code && exists && strcmp(label, INSTALL_LABEL_INCOMPLETE) != 0)
			report_add(&p->report, "image-exists",
				   "'%s' holds an image '%s' already, and its files would be lost: move it away in "
				   "Windows, or do without --%s",
				   p->volume->path, install_image_names[i], install_image_names[i]);
	}
	return code;
}

/* The image that is in the way of an anew goes first: then the preflight would tell another story, so it is made then. */
static int plan_image(struct install_plan *p, const struct install_host *h, struct err *e)
{
	const struct image_params ip = {
		.volume = p->volume->path,
		.name = "root",
		.size_bytes = p->sizes[INSTALL_ROOT],
		.max_extents = 1,
		.fs = "ext4",
		.label = INSTALL_LABEL_INCOMPLETE,
		.host_map = true,
	};
	int code;

	if (!p->sizes[INSTALL_ROOT] || p->state != INSTALL_NONE)
		return 0;
	code = image_preflight(&ip, &p->image, h->progress, e);
	if (code)
		return code;
	p->image_is_planned = true;
	for (size_t i = 0; i < p->image.report.count; i++)
		report_add(&p->report, p->image.report.items[i].reason, "%s", p->image.report.items[i].text);
	return 0;
}

/* ---- all ---- */

static void check_user(const struct install_params *par, struct install_plan *p)
{
	if (!par->conf.user[0] && !par->conf.command[0])
		report_add(&p->report, "no-user",
			   "no user was named: nobody could log in to the new system: --user, with password-hash in "
			   "the configuration or a terminal to ask for the password on");
	else if (par->conf.user[0] && !par->conf.password_hash[0])
		report_add(&p->report, "no-password",
			   "user '%s' has no password: give password-hash in the configuration, or run this on a "
			   "terminal, where it is asked for",
			   par->conf.user);
}

/* By the copied system's own lists: to be told after the copy would be late. */
static int check_settings(const struct install_params *par, struct install_plan *p, struct err *e)
{
	const struct target_settings s = {
		.locale = par->conf.locale,
		.time_zone = par->conf.time_zone,
		.user = par->conf.user,
	};

	return target_check(p->source.tree, &s, &p->report, e);
}

static uint64_t copies_guess(const struct livesource *s)
{
	struct stat st;

	return (s->kernel[0] && stat(s->kernel, &st) == 0 ? (uint64_t)st.st_size : 12 * NUM_MIB) + 64 * NUM_MIB;
}

/* The copy has the same wubi.conf as this system: our package brings it. */
static int look_at_profiles(const struct install_params *par, struct install_plan *p, struct err *e)
{
	const char *const chosen[PROFILE_PHASES] = {
		[PROFILE_NORMAL] = par->conf.profile_normal,
		[PROFILE_ISO_COPY] = par->conf.profile_iso_copy,
	};
	const struct profctl_params pp = { .root = "" };
	AUTO_FREE struct conf *c = calloc(1, sizeof(*c));
	const struct profile *found;
	int code = c ? profctl_conf_read(&pp, c, e) : err_set(e, -ENOMEM, "out of memory");

	for (int i = 0; !code && i < PROFILE_PHASES; i++) {
		(void)snprintf(p->profiles[i], PROFILE_NAME_MAX, "%s", chosen[i][0] ? chosen[i] : c->phase[i]);
		code = take(p, profctl_find(c, p->profiles[i], "wubi-install.conf", &found, e), e);
	}
	return code;
}

static int look(const struct install_params *par, struct install_plan *p, const struct install_host *h, struct err *e)
{
	int code = look_at_machine(p);

	if (!code)
		code = look_at_profiles(par, p, e);
	if (!code)
		code = install_begin(h, "looking at the disks", e);
	if (!code)
		code = choose(par, p, e);
	if (code || p->report.count || !install_plan_copies(p))
		return code; /* reading the medium takes minutes: first what is known already */
	code = take(p, look_at_source(par, p, h, e), e);
	if (!code && p->source.tree[0])
		code = take(p, resolve_packages(par, p, h, e), e);
	return code ? code : take(p, look_at_esp(p, copies_guess(&p->source), e), e);
}

bool install_plan_copies(const struct install_plan *p)
{
	return p->state == INSTALL_NONE || p->state == INSTALL_INCOMPLETE;
}

int install_plan_settle(const struct install_params *par, struct install_plan *p, const struct install_host *h, struct err *e)
{
	int code;

	if (!install_plan_copies(p))
		return 0;
	check_user(par, p);
	if (!p->source.tree[0])
		return 0;
	check_sizes(par, p);
	if (!p->volume)
		return 0;
	check_free(p);
	code = take(p, check_images(p, e), e);
	if (!code)
		code = check_settings(par, p, e);
	if (code || p->report.count)
		return code;
	return take(p, plan_image(p, h, e), e);
}

int install_plan_make(const struct install_params *par, const struct install_host *h, struct install_plan **ret, struct err *e)
{
	AUTO(install_plan) struct install_plan *p = calloc(1, sizeof(*p));
	int code;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->lock_fd = -1;
	code = install_work_open(&p->lock_fd, e);
	if (!code)
		code = look(par, p, h, e);
	if (!code)
		*ret = TAKE(p);
	return code;
}

void install_plan_free(struct install_plan *p)
{
	if (!p)
		return;
	(void)livesource_close(&p->source, NULL); /* read-only mounts; what stays is seen in INSTALL_WORK */
	if (p->image_is_planned)
		image_plan_clear(&p->image);
	debpool_clear(&p->debs);
	volumes_clear(&p->volumes);
	if (p->lock_fd >= 0)
		install_work_close(p->lock_fd);
	free(p);
}
