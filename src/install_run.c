/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of an installation, and the way back from each. */
#include "install_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "progress.h"

struct run {
	const struct install_params *par;
	struct install_plan *plan;
	const struct install_host *h;
	struct install_mounts mounts;
	bool made[INSTALL_IMAGES];        /* images that this run made */
	bool esp_written, is_complete;
	struct profctl_phase *phase;
	struct target *target;
	struct treecopy_record *record;
	uint16_t number;
};

static void image_path(enum install_image i, char ret[NTFSVOL_PATH_MAX])
{
	image_default_path(install_image_names[i], ret);
}

/* ---- the images ---- */

/* There is no complete system: what is on the EFI system partition would start nothing, or one that is half made. */
static int clear_boot(struct run *r, struct err *e)
{
	bool is_others = false;
	size_t files;
	int code = install_begin(r->h, "making room", e), last;

	if (!code)
		code = install_esp_mount(r->plan->esp, true, e);
	if (!code)
		code = install_esp_is_others(r->plan->volume, &is_others, e);
	if (!code && is_others)
		code = err_refuse(e, "other-system",
				  "the EFI system partition '%s' starts a system on another volume", r->plan->esp->path);
	if (!code)
		code = espboot_remove(INSTALL_ESP, r->plan->esp->path, false, &files, e);
	last = install_esp_unmount(code ? NULL : e);
	return code ? code : last;
}

/* Root last: what says that the rest is of an interrupted run. An image that says nothing of the kind is somebody's. */
static int remove_incomplete(struct run *r, struct err *e)
{
	char path[NTFSVOL_PATH_MAX], label[EXT4FMT_LABEL_MAX + 1];
	uint64_t freed;
	bool exists;
	int code = 0;

	for (int i = INSTALL_IMAGES - 1; !code && i >= 0; i--) {
		code = install_label_of(r->plan->volume, (enum install_image)i, &exists, label, e);
		if (code || !exists || strcmp(label, INSTALL_LABEL_INCOMPLETE) != 0)
			continue;
		image_path((enum install_image)i, path);
		code = image_remove(r->plan->volume->path, path, false, NULL, &freed, e);
	}
	return code;
}

static int make_image(struct run *r, enum install_image i, struct err *e)
{
	const struct image_params ip = {
		.volume = r->plan->volume->path,
		.name = install_image_names[i],
		.size_bytes = r->plan->sizes[i],
		.max_extents = 1,
		.fs = i == INSTALL_SWAP ? "swap" : "ext4",
		.label = INSTALL_LABEL_INCOMPLETE,
		.host_map = true,
	};
	int code = image_create(&ip, NULL, NULL, r->h->progress, &r->mounts.maps[i], e);

	r->made[i] = !code;
	return code ? err_wrap(e, code, "the image '%s'", install_image_names[i]) : 0;
}

static int make_images(struct run *r, struct err *e)
{
	int code = install_begin(r->h, "making the images", e);

	for (int i = 0; !code && i < INSTALL_IMAGES; i++)
		if (r->plan->sizes[i])
			code = make_image(r, (enum install_image)i, e);
	return code ? code : install_mount(r->plan->volume, &r->mounts, false, e);
}

/* ---- the copy ---- */

static int enter_phase(struct run *r, struct err *e)
{
	const struct profctl_params pp = { .root = "" };

	return profctl_phase_enter_profile(&pp, r->plan->profiles[PROFILE_ISO_COPY], &r->phase, e);
}

static int copy(struct run *r, struct err *e)
{
	const struct treecopy_params tp = {
		.source = r->plan->source.tree,
		.target = INSTALL_TARGET,
		.total_bytes = r->plan->totals.content_bytes,
	};
	struct treecopy_totals done;
	int code = install_begin(r->h, "copying", e);

	if (!code)
		code = treecopy_run(&tp, r->h->progress, &r->record, &done, e);
	if (!code)
		code = install_begin(r->h, "comparing the copy with what was read", e);
	return code ? code : treecopy_verify(r->record, INSTALL_TARGET, 0, r->h->progress, e);
}

/* ---- the system ---- */

static void settings_of(const struct run *r, const struct map **maps, struct target_settings *ret)
{
	const struct conf_install *c = &r->par->conf;
	size_t count = 0;

	for (int i = 0; i < INSTALL_IMAGES; i++)
		if (r->mounts.maps[i])
			maps[count++] = r->mounts.maps[i];
	*ret = (struct target_settings){
		.hostname = c->hostname,
		.user = c->user,
		.full_name = c->full_name,
		.password_hash = c->password_hash,
		.locale = c->locale,
		.time_zone = c->time_zone,
		.keyboard = c->keyboard,
		.clock_utc = c->clock_utc,
		.profile_normal = r->plan->profiles[PROFILE_NORMAL],
		.profile_iso_copy = r->plan->profiles[PROFILE_ISO_COPY],
		.command = c->command,
		.esp_partuuid = r->plan->esp->partuuid,
		.maps = maps,
		.map_count = count,
		.kernel = r->plan->source.kernel,
	};
}

static int step_packages(struct run *r, const struct target_settings *s, struct err *e)
{
	(void)s;
	return target_packages(r->target, &r->plan->debs, e);
}

static int step_purge(struct run *r, const struct target_settings *s, struct err *e)
{
	(void)s;
	return target_purge_live(r->target, e);
}

static int step_files(struct run *r, const struct target_settings *s, struct err *e)
{
	return target_files(r->target, s, e);
}

static int step_user(struct run *r, const struct target_settings *s, struct err *e)
{
	return target_user(r->target, s, e);
}

static int step_profile(struct run *r, const struct target_settings *s, struct err *e)
{
	return target_profile(r->target, s, e);
}

static int step_command(struct run *r, const struct target_settings *s, struct err *e)
{
	return target_command(r->target, s, e);
}

static int step_kernels(struct run *r, const struct target_settings *s, struct err *e)
{
	return target_kernels(r->target, s, e);
}

/* The kernels last: the initramfs and GRUB's menu have what all others wrote. */
static int make_system(struct run *r, struct err *e)
{
	static const struct {
		const char *what;
		int (*run)(struct run *r, const struct target_settings *s, struct err *e);
	} steps[] = {
		{ "installing its packages", step_packages },   { "removing what only a live system needs", step_purge },
		{ "writing its settings", step_files },         { "making the user", step_user },
		{ "choosing its durability profile", step_profile }, { "running the command of the configuration", step_command },
		{ "building its initramfs and its boot menu", step_kernels },
	};
	const struct map *maps[INSTALL_IMAGES];
	struct target_settings s;
	int code = target_enter(INSTALL_TARGET, r->h->interrupted, r->h->ctx, &r->target, e);

	settings_of(r, maps, &s);
	for (size_t i = 0; !code && i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (steps[i].run == step_command && !(s.command && s.command[0]))
			continue;
		code = install_begin(r->h, steps[i].what, e);
		if (!code)
			code = steps[i].run(r, &s, e);
		if (code)
			return err_wrap(e, code, "%s", steps[i].what);
	}
	return code;
}

/* ---- booting ---- */

static int fill_esp(struct run *r, struct err *e)
{
	int code = install_begin(r->h, "copying what starts it to the EFI system partition", e);

	if (!code)
		code = install_esp_mount(r->plan->esp, true, e);
	if (code)
		return code;
	r->esp_written = true; /* or soon: what was there of ours is gone since clear_boot() */
	return install_esp_fill(r->h, r->plan->esp, &r->mounts, e);
}

/* Everything in the image is done: it goes to the disk whole, and then says so. */
static int complete(struct run *r, struct err *e)
{
	int code = install_begin(r->h, "writing everything to the disk", e);

	if (!code)
		code = target_leave(r->target, e);
	if (!code)
		code = profctl_phase_sync(r->phase, e);
	if (!code)
		code = profctl_phase_leave(r->phase, e);
	profctl_phase_free(TAKE(r->phase)); /* it keeps the file systems open */
	if (!code)
		code = install_unmount(&r->mounts, e);
	if (!code)
		code = install_attach(r->plan->volume, &r->mounts, e);
	for (int i = INSTALL_IMAGES - 1; !code && i >= 0; i--) /* root, which says that all is there, last */
		if (r->mounts.maps[i])
			code = install_set_label(&r->mounts, (enum install_image)i, e);
	r->is_complete = !code;
	return code;
}

static int make_bootable(struct run *r, struct err *e)
{
	const struct espboot_params how = {
		.order = r->par->conf.default_linux ? ESPBOOT_FIRST : ESPBOOT_LAST,
		.start_next = true,
	};
	int code = install_begin(r->h, "making its boot entry", e), last;

	if (!code)
		code = install_boot_entry(r->plan->volume, r->plan->esp, &r->mounts, &how, &r->plan->notes, &r->number, e);
	last = install_unmount(&r->mounts, code ? NULL : e);
	if (!code)
		code = last;
	last = install_esp_unmount(code ? NULL : e);
	return code ? code : last;
}

/* ---- the way back ---- */

static void remember(char *left, size_t size, const char *what)
{
	size_t n = strlen(left);

	(void)snprintf(left + n, size - n, "%s%.120s", n ? ", " : "", what); /* a cut list still says that something is left */
}

static void remove_images(struct run *r, char *left, size_t size)
{
	char path[NTFSVOL_PATH_MAX];
	uint64_t freed;

	for (int i = INSTALL_IMAGES - 1; i >= 0; i--) {
		if (!r->made[i])
			continue;
		image_path((enum install_image)i, path);
		if (image_remove(r->plan->volume->path, path, false, NULL, &freed, NULL))
			remember(left, size, path);
	}
}

/* The first error is what is told; what could not be taken away comes behind it. */
static int undo(struct run *r, int code, struct err *e)
{
	char left[256] = "";
	size_t files;

	if (r->h->tell)
		r->h->tell(r->h->ctx, r->is_complete ? "ending" : "taking back what was done");
	target_free(TAKE(r->target));
	profctl_phase_free(TAKE(r->phase));
	if (install_unmount(&r->mounts, NULL))
		remember(left, sizeof(left), "a mount below " INSTALL_WORK);
	if (!r->is_complete && r->esp_written && espboot_remove(INSTALL_ESP, r->plan->esp->path, false, &files, NULL))
		remember(left, sizeof(left), "files in EFI/wubi on the EFI system partition");
	if (install_esp_unmount(NULL))
		remember(left, sizeof(left), "the mount " INSTALL_ESP);
	if (!r->is_complete)
		remove_images(r, left, sizeof(left));
	if (!e)
		return code;
	if (r->is_complete)
		return err_wrap(e, code, "the system is complete, but its boot entry is not: run 'wubi-install --repair'");
	if (left[0])
		return err_wrap(e, code, "this is left: %s, which the next run takes away", left);
	return err_wrap(e, code, "all that was made is removed again");
}

static int install(struct run *r, struct err *e)
{
	static int (*const steps[])(struct run *r, struct err *e) = {
		clear_boot, remove_incomplete, make_images, enter_phase, copy, make_system, fill_esp, complete, make_bootable,
	};
	int code = 0;

	for (size_t i = 0; !code && i < sizeof(steps) / sizeof(steps[0]); i++)
		code = steps[i](r, e);
	return code;
}

int install_run(const struct install_params *par, struct install_plan *p, const struct install_host *h, uint16_t *ret_number,
		struct err *e)
{
	struct run r = { .par = par, .plan = p, .h = h };
	int code;

	if (p->state == INSTALL_NO_ENTRY)
		return install_finish(par, p, h, ret_number, e);
	code = report_refuse(&p->report, e);
	if (code)
		return code;
	code = install(&r, e);
	if (code)
		code = undo(&r, code, e);
	else
		*ret_number = r.number;
	target_free(r.target);
	treecopy_record_free(r.record);
	install_mounts_clear(&r.mounts);
	return code;
}
