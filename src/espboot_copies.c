/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which kernel and initramfs lie on the EFI system partition, by what fits: the newest; with a smaller initramfs; those that
 * are there as long as the system has their kernel; none. Then the menu that names them.
 */
#include "espboot_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"
#include "num.h"
#include "textfile.h"

#define IS_SMALL "small"
#define IS_NONE "no"

struct choice {
	const struct espboot_params *par;
	const struct map *root;
	struct espboot_plan *plan;
	struct espboot_kernel kernel;  /* the newest whose initramfs is good */
	bool has_bad;                  /* newer ones were passed over */
	char record[ESPBOOT_RECORD_MAX + 16]; /* what lies there */
	char title[256];
	char *cmdline;
	uint64_t cluster_bytes;
	uint64_t needed_bytes;         /* by the newest, whole */
	size_t base_count;             /* files that come with every choice */
};

static void close_folder(DIR *d)
{
	if (d)
		(void)closedir(d); /* it was only read */
}
DEFINE_AUTO(folder, DIR *, close_folder);

static int add(struct choice *c, const char *what, const char *version, const char *source, struct err *e)
{
	char name[BOOTMENU_VERSION_MAX + 64];

	(void)snprintf(name, sizeof(name), BOOTMENU_FOLDER "/%s-%s", what, version);
	return espboot_plan_add(c->par->esp, c->plan, name, source, NULL, e);
}

static int add_menu(struct choice *c, const char *version, struct err *e)
{
	struct espboot_plan *p = c->plan;
	struct bootmenu menu = {
		.title = c->title,
		.host_partuuid = c->root->host.partuuid,
		.fs_uuid = c->root->fs_uuid,
		.extents = &c->root->extents,
		.copy_count = version[0] ? 1 : 0,
		.cmdline = c->cmdline,
	};
	char *text = NULL;
	int code;

	(void)snprintf(menu.copies[0].version, BOOTMENU_VERSION_MAX, "%s", version);
	free(TAKE(p->menu));
	code = bootmenu_format(&menu, &p->menu, e);
	if (code || !c->par->is_complete)
		return code;
	text = strdup(p->menu);
	if (!text)
		return err_set(e, -ENOMEM, "out of memory");
	return espboot_plan_add(c->par->esp, p, BOOTMENU_FILE, NULL, text, e);
}

static bool record_says(const struct choice *c, const char *what)
{
	char wanted[sizeof(c->record)];

	(void)snprintf(wanted, sizeof(wanted), "%s %s\n", c->kernel.record, what);
	return c->kernel.version[0] && strcmp(wanted, c->record) == 0;
}

static int add_record(struct choice *c, const char *what, struct err *e)
{
	char *text = NULL;

	if (asprintf(&text, "%s %s\n", c->kernel.record, what) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	return espboot_plan_add(c->par->esp, c->plan, ESPBOOT_SMALL, NULL, text, e);
}

/* Ends a choice: 1 if it fits. */
static int end_choice(struct choice *c, const char *version, uint64_t reserve_bytes, struct err *e)
{
	int code = add_menu(c, version, e);

	if (code)
		return code;
	return espboot_plan_fits(c->plan, c->cluster_bytes, reserve_bytes, &c->plan->needed_bytes) ? 1 : 0;
}

static bool has_initrd(const struct choice *c, const char *version)
{
	char path[PATH_MAX], name[BOOTMENU_VERSION_MAX + 64];
	struct stat st;

	(void)snprintf(name, sizeof(name), BOOTMENU_FOLDER "/initrd.img-%s", version);
	return espboot_path(c->par->esp, name, path, NULL) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
}

/* Room that Windows needs is not taken; but what is there already stays. */
static uint64_t reserve(const struct choice *c)
{
	for (size_t i = c->base_count; i < c->plan->file_count; i++)
		if (!c->plan->files[i].is_right)
			return ESPBOOT_RESERVE_BYTES;
	return 0;
}

static int try_whole(struct choice *c, struct err *e)
{
	int code = add(c, "vmlinuz", c->kernel.version, c->kernel.vmlinuz, e);

	if (!code)
		code = add(c, "initrd.img", c->kernel.version, c->kernel.initrd, e);
	if (!code)
		code = end_choice(c, c->kernel.version, reserve(c), e);
	c->needed_bytes = c->plan->needed_bytes;
	return code;
}

/* What lies there is right, if it is what the record says. */
static int add_small(struct choice *c, bool is_there, struct err *e)
{
	struct espboot_file *f;
	int code = add(c, "vmlinuz", c->kernel.version, c->kernel.vmlinuz, e);

	if (!code)
		code = add(c, "initrd.img", c->kernel.version, NULL, e);
	if (code)
		return code;
	f = &c->plan->files[c->plan->file_count - 1];
	f->is_small = true;
	f->is_right = is_there;
	f->bytes = is_there ? f->old_bytes : 0;
	return add_record(c, IS_SMALL, e);
}

static int try_small(struct choice *c, struct err *e)
{
	bool is_there = record_says(c, IS_SMALL) && has_initrd(c, c->kernel.version);
	bool is_possible = c->par->work && !record_says(c, IS_NONE) && espboot_small_is_possible(c->par->root);
	int code;

	if (!is_there && !is_possible)
		return 0;
	code = add_small(c, is_there, e);
	if (!code)
		code = end_choice(c, c->kernel.version, reserve(c), e);
	c->plan->small_initramfs = code == 1;
	return code;
}

/* The newest that lies there whole and of which the system has the kernel. "": none. */
static int find_old(const struct choice *c, char ret[BOOTMENU_VERSION_MAX], struct err *e)
{
	AUTO(folder) DIR *d = NULL;
	const struct dirent *item;
	char folder[PATH_MAX];
	int code = espboot_path(c->par->esp, BOOTMENU_FOLDER, folder, e);

	ret[0] = '\0';
	if (code)
		return code;
	d = opendir(folder);
	if (!d)
		return errno == ENOENT ? 0 : err_errno(e, "'%s'", folder);
	while (errno = 0, (item = readdir(d)) != NULL) {
		const char *version = item->d_name + strlen("vmlinuz-");

		if (strncmp(item->d_name, "vmlinuz-", strlen("vmlinuz-")) != 0 || (ret[0] && strverscmp(version, ret) <= 0))
			continue;
		if (!espboot_source_has_kernel(c->par->root, version) || !has_initrd(c, version))
			continue;
		(void)snprintf(ret, BOOTMENU_VERSION_MAX, "%s", version);
	}
	return errno ? err_errno(e, "'%s'", folder) : 0;
}

static void note(struct choice *c, const char *old)
{
	static const char otherwise[] = "if Windows moves the image, this system starts again only after "
					"'wubi-install --repair' from a live system";
	char needed[NUM_BYTES_TEXT], free_text[NUM_BYTES_TEXT];
	struct report *notes = &c->plan->notes;

	(void)num_format_bytes(c->needed_bytes + ESPBOOT_RESERVE_BYTES, needed);
	(void)num_format_bytes(c->plan->free_bytes, free_text);
	if (!c->kernel.version[0] && c->has_bad && old[0])
		return; /* told already */
	if (!c->kernel.version[0])
		report_add(notes, "no-copies", "there is no kernel with %s initramfs in '%s/boot', so that no copy of one "
			   "can lie on the EFI system partition: %s", c->has_bad ? "a good" : "an", c->par->root, otherwise);
	else if (old[0])
		report_add(notes, "old-copies", "the EFI system partition '%s' has no room for copies of kernel %s and its "
			   "initramfs beside what is there (%s needed, %s free), so the older copies of kernel %s stay: "
			   "they start this system if Windows moves the image; more room there helps", c->par->esp,
			   c->kernel.version, needed, free_text, old);
	else
		report_add(notes, "no-copies", "the EFI system partition '%s' has no room for copies of kernel %s and its "
			   "initramfs (%s needed, %s free): %s; more room there helps", c->par->esp, c->kernel.version, needed,
			   free_text, otherwise);
}

/* Of kernels that the system has no more: the next look has their room. */
static uint64_t gone_bytes(const struct choice *c)
{
	AUTO(folder) DIR *d = NULL;
	const struct dirent *item;
	char path[PATH_MAX];
	uint64_t sum = 0;

	if (c->par->is_complete && espboot_path(c->par->esp, BOOTMENU_FOLDER, path, NULL) == 0)
		d = opendir(path);
	while (d && (item = readdir(d)) != NULL) {
		struct stat st;

		if (strncmp(item->d_name, "vmlinuz-", strlen("vmlinuz-")) != 0 &&
		    strncmp(item->d_name, "initrd.img-", strlen("initrd.img-")) != 0)
			continue;
		if (fstatat(dirfd(d), item->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			sum += (uint64_t)st.st_size / c->cluster_bytes * c->cluster_bytes;
	}
	return sum;
}

/* What lies there, or nothing. */
static int take_rest(struct choice *c, struct err *e)
{
	char old[BOOTMENU_VERSION_MAX];
	int code = find_old(c, old, e);

	if (!code && old[0])
		code = add(c, "vmlinuz", old, NULL, e);
	if (!code && old[0])
		code = add(c, "initrd.img", old, NULL, e);
	if (!code && record_says(c, IS_NONE)) /* nobody needs to try again */
		code = add_record(c, IS_NONE, e);
	if (!code)
		code = end_choice(c, old, 0, e);
	if (code < 0)
		return code;
	if (!code)
		return espboot_plan_full(c->par, c->plan, e);
	(void)snprintf(c->plan->kernel, sizeof(c->plan->kernel), "%s", old);
	if (old[0] || !c->kernel.version[0] || c->needed_bytes + ESPBOOT_RESERVE_BYTES > c->plan->free_bytes + gone_bytes(c))
		note(c, old);
	return 0;
}

static int choose(struct choice *c, struct err *e)
{
	int code = 0;

	if (c->kernel.version[0])
		code = try_whole(c, e);
	if (!code) {
		espboot_plan_cut(c->plan, c->base_count);
		if (c->kernel.version[0])
			code = try_small(c, e);
	}
	if (!code) {
		espboot_plan_cut(c->plan, c->base_count);
		return take_rest(c, e);
	}
	if (code < 0)
		return code;
	c->plan->copies_fit = true;
	(void)snprintf(c->plan->kernel, sizeof(c->plan->kernel), "%s", c->kernel.version);
	return 0;
}

static int read_record(struct choice *c, struct err *e)
{
	AUTO_FREE char *text = NULL;
	char path[PATH_MAX];
	int code = espboot_path(c->par->esp, ESPBOOT_SMALL, path, e);

	if (!code && textfile_read(path, &text, NULL) == 0) /* one that is damaged says nothing */
		(void)snprintf(c->record, sizeof(c->record), "%s", text);
	return code;
}

/* ---- which kernel ---- */

/* Are the copies those of this kernel? Then no other ones would be written for it. */
static int is_copied(const struct choice *c, bool *ret, struct err *e)
{
	char path[PATH_MAX], name[BOOTMENU_VERSION_MAX + 64];
	int code;

	*ret = record_says(c, IS_SMALL) && has_initrd(c, c->kernel.version);
	if (*ret)
		return 0;
	(void)snprintf(name, sizeof(name), BOOTMENU_FOLDER "/initrd.img-%s", c->kernel.version);
	code = espboot_path(c->par->esp, name, path, e);
	return code ? code : espboot_compare(path, c->kernel.initrd, NULL, ret, e);
}

/* A good copy gives way to a good one only: it is what starts the system when nothing else does. */
static int choose_kernel(struct choice *c, struct err *e)
{
	const char *root = c->par->root;
	char lack[ESPBOOT_LACK_MAX] = "";
	int code = espboot_source_kernel(root, "", &c->kernel, e);

	while (!code && c->kernel.version[0]) {
		char bad[BOOTMENU_VERSION_MAX];
		bool copied;

		code = is_copied(c, &copied, e);
		if (!code && !copied)
			code = espboot_check_initrd(root, c->kernel.initrd, c->kernel.version, lack, e);
		if (code || copied || !lack[0])
			return code;
		c->has_bad = true;
		report_add(&c->plan->notes, "bad-initramfs", "'%s' is not copied to the EFI system partition, for it would not "
			   "start this system: %s", c->kernel.initrd, lack);
		memcpy(bad, c->kernel.version, sizeof(bad));
		code = espboot_source_kernel(root, bad, &c->kernel, e);
	}
	return code;
}

int espboot_copies_add(const struct espboot_params *par, const struct map *root, struct espboot_plan *p, struct err *e)
{
	AUTO_FREE struct choice *c = calloc(1, sizeof(*c));
	int code;

	if (!c)
		return err_set(e, -ENOMEM, "out of memory");
	c->par = par;
	c->root = root;
	c->plan = p;
	c->base_count = p->file_count;
	code = espboot_device_space(par->esp, &p->free_bytes, &c->cluster_bytes, e);
	if (!code)
		code = read_record(c, e);
	if (!code)
		code = choose_kernel(c, e);
	if (!code)
		code = espboot_source_title(par->root, c->title, e);
	if (!code)
		code = espboot_source_cmdline(par->root, &c->cmdline, e);
	if (!code)
		code = choose(c, e);
	free(c->cmdline);
	return code;
}
