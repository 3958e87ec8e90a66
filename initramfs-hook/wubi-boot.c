/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wubi-boot - on the running system: what starts it, on the EFI system partition and on the disk of the image, is kept right. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>

#include "auto.h"
#include "boot_output.h"
#include "bootmenu.h"
#include "bootsystem.h"
#include "espboot.h"
#include "fsfreeze.h"
#include "progmain.h"
#include "progout.h"
#include "signals.h"
#include "target.h"
#include "textfile.h"

enum { VERB_UPDATE = 1, VERB_STATUS = 2, VERB_FLUSH = 4, VERB_ENTRY = 8, VERB_ESP = VERB_UPDATE | VERB_STATUS, VERB_ALL = 15 };

struct boot_options {
	struct optrows_base base;
	const char *maps;
	const char *esp;
	const char *state;
	const char *order;
	bool hook;
};

#define FIELD(f) offsetof(struct boot_options, f)

static int check_order(const char *value, struct err *e)
{
	if (!strcmp(value, "linux") || !strcmp(value, "windows"))
		return 0;
	return err_set(e, -EINVAL, "'%s': 'linux' or 'windows'", value);
}

static const struct optrows_option rows[] = {
	{ "default", 0, "SYSTEM", "what the firmware starts by itself: linux or windows (default: as it is)", VERB_UPDATE, 0, 0,
	  OPTROWS_TEXT, FIELD(order), check_order },
	{ "hook", 0, NULL, "as the hooks of packages do: a failure is told, remembered, and tried again at the next start, and "
	  "the exit status is 0; nothing is done, and nothing said, on a system that is not in an image", VERB_UPDATE, 0, 0,
	  OPTROWS_FLAG, FIELD(hook), NULL },
	{ "esp", 'e', "DIR", "where the EFI system partition is mounted (default: /boot/efi, /efi or /boot)", VERB_ESP, 0, 0,
	  OPTROWS_TEXT, FIELD(esp), NULL },
	{ "maps", 'm', "DIR", "the folder of the maps (default " MAPFOLDER_DEFAULT ")", VERB_ESP, 0, 0, OPTROWS_TEXT, FIELD(maps),
	  NULL },
	{ "state-dir", 0, "DIR", "where a run that failed is remembered (default " BOOTSYSTEM_STATE_DEFAULT ")", VERB_ESP, 0, 0,
	  OPTROWS_TEXT, FIELD(state), NULL },
	OPTROWS_DRY_RUN(VERB_UPDATE),
	OPTROWS_JSON(VERB_ESP),
	OPTROWS_QUIET(VERB_ALL, "errors only"),
	OPTROWS_STANDARD(VERB_ALL),
};

static const struct optrows_verb verbs[] = {
	{ VERB_UPDATE, "update", "", 0, 0, "set right what starts this system",
	  "Brings boot loader, menu, kernel copy and maps on the EFI system partition and the firmware's entry up to date, where "
	  "they are not, and puts on the disk what GRUB reads from the image.", NULL },
	{ VERB_STATUS, "status", "", 0, 0, "is it all right?", "Changes nothing.",
	  "Exit status: 0 all is right, 1 an update is due, or failed, 2 usage, 3 refused, 4 interrupted." },
	{ VERB_FLUSH, "flush", "", 0, 0, "put on the disk what GRUB reads",
	  "GRUB replays no journal: /boot and / are synced, and their journals written out, by a freeze and thaw.", NULL },
	{ VERB_ENTRY, "entry", "", 0, 0, "print our entries for GRUB's menu",
	  "Windows, and the kernel copy on the EFI system partition. For /etc/grub.d.", NULL },
};

static const char *state_of(const struct boot_options *o)
{
	return o->state ? o->state : BOOTSYSTEM_STATE_DEFAULT;
}

static int is_interrupted(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
	(void)ctx;
	(void)phase;
	(void)done;
	(void)total;
	return signals_pending();
}

/* A file system that cannot be frozen, such as a /boot on the ESP, has no journal to write out: it was synced. */
static int flush_one(const char *folder, struct err *e)
{
	int code = fsfreeze_flush(folder, e);

	if (code != -EOPNOTSUPP)
		return code;
	err_clear(e);
	return 0;
}

static int flush(struct err *e)
{
	struct stat boot, root;
	bool has_boot = stat("/boot", &boot) == 0;
	int code = has_boot ? flush_one("/boot", e) : 0;

	if (code || (has_boot && stat("/", &root) == 0 && boot.st_dev == root.st_dev))
		return code;
	return flush_one("/", e);
}

static struct espboot_params params_of(const struct boot_options *o, const struct bootsystem *s)
{
	struct espboot_params par = bootsystem_params(s);

	par.order = !o->order ? ESPBOOT_KEEP : *o->order == 'l' ? ESPBOOT_FIRST : ESPBOOT_LAST;
	return par;
}

struct boot_run {
	const struct boot_options *o;
	struct bootsystem system;
	struct espboot_plan plan;
	char *pending;
	bool has_work;
};

static void auto_boot_run(struct boot_run *r)
{
	espboot_plan_clear(&r->plan);
	bootsystem_clear(&r->system);
	free(r->pending);
}

static int plan(struct boot_run *r, struct err *e)
{
	struct espboot_params par = params_of(r->o, &r->system);
	int code = espboot_plan(&par, &r->plan, e);

	if (code)
		return code;
	if (r->system.bad_map)
		report_add(&r->plan.notes, "bad-map", "%s", r->system.bad_map);
	r->has_work = espboot_has_work(&r->plan);
	r->pending = bootsystem_pending(state_of(r->o));
	return 0;
}

static int print(const struct boot_run *r, const char *status)
{
	const struct boot_outcome out = {
		.base = &r->o->base,
		.plan = &r->plan,
		.status = status,
		.esp = r->system.esp,
		.pending = r->pending,
	};

	return boot_output(&out);
}

/* Text before the work, JSON after it. */
static int work(struct boot_run *r, struct err *e)
{
	const struct espboot_params par = params_of(r->o, &r->system);
	const struct progress progress = { .step = is_interrupted, .ctx = NULL };
	char path[PATH_MAX];
	int code;

	if (!r->o->base.json && (r->has_work || !r->o->hook || report_has(&r->plan.notes, "bad-initramfs")))
		(void)print(r, ""); /* a closed stdout is no reason to leave the boot loader as it is; the end tells it */
	code = r->has_work ? espboot_update(&par, &r->plan, &progress, e) : 0;
	if (!code)
		code = bootsystem_pending_path(state_of(r->o), path, e);
	return code ? code : textfile_remove(path, e);
}

/* What a hook's caller installed has to be on the disk, whatever became of the EFI system partition. */
static int update(struct boot_run *r, struct err *e)
{
	struct err why = ERR_INIT;
	AUTO_FD int lock = -1;
	int code = r->o->base.dry_run ? 0 : bootsystem_lock(&lock, e), flushed;

	if (!code)
		code = plan(r, e);
	if (r->o->base.dry_run)
		return code;
	if (!code)
		code = work(r, e);
	flushed = flush(&why);
	if (!code && flushed)
		return err_set(e, flushed, "%s", why.text);
	return code;
}

/* For the next start. */
static void remember(const struct boot_options *o, const struct err *e)
{
	struct err why = ERR_INIT;
	char path[PATH_MAX], text[sizeof(e->text) + 2];

	(void)snprintf(text, sizeof(text), "%s\n", e->text);
	if (bootsystem_pending_path(state_of(o), path, &why) || textfile_write(path, text, &why))
		progout_print(stderr, "wubi-boot: %s\n", why.text);
}

/* The package manager that runs us has done its own work well. */
static int end_hook(const struct boot_options *o, const struct err *e)
{
	(void)progout_fail(&o->base, e, NULL);
	progout_print(stderr, "wubi-boot: this is tried again at the next start; 'wubi-boot status' says how it stands\n");
	openlog("wubi-boot", LOG_PID, LOG_DAEMON);
	syslog(LOG_ERR, "%s", e->text);
	remember(o, e);
	return PROGOUT_DONE;
}

/*
 * Not in an image: nothing. In one, without an EFI system partition, as in a chroot, or while somebody has it unmounted: no
 * failure, and is done at the next start all the same.
 */
static int skip(const struct boot_options *o, struct err *e)
{
	struct err why = ERR_INIT;

	if (strcmp(e->reason, "no-esp") != 0)
		return PROGOUT_DONE;
	if (!o->base.quiet)
		progout_print(stderr, "wubi-boot: note: %s\n", e->text);
	if (o->base.dry_run)
		return PROGOUT_DONE;
	remember(o, e);
	return flush(&why) ? end_hook(o, &why) : PROGOUT_DONE;
}

static int look(const struct boot_options *o, struct boot_run *r, struct err *e)
{
	r->o = o;
	return bootsystem_look(o->maps ? o->maps : MAPFOLDER_DEFAULT, o->esp, &r->system, e);
}

static int run_update(const struct boot_options *o)
{
	__attribute__((cleanup(auto_boot_run))) struct boot_run r = { .o = o };
	struct err e = ERR_INIT;
	int code;

	if (o->hook && getenv(TARGET_VARIABLE))
		return PROGOUT_DONE;
	code = look(o, &r, &e);
	if (code && o->hook && bootsystem_is_none(&e))
		return skip(o, &e);
	if (!code)
		code = update(&r, &e);
	if (code)
		return o->hook && !o->base.dry_run ? end_hook(o, &e) : progout_fail(&o->base, &e, NULL);
	if (o->base.dry_run)
		return print(&r, r.has_work ? "dry-run" : "unchanged");
	return o->base.json ? print(&r, r.has_work ? "done" : "unchanged") : PROGOUT_DONE;
}

static int run_status(const struct boot_options *o)
{
	__attribute__((cleanup(auto_boot_run))) struct boot_run r = { .o = o };
	struct err e = ERR_INIT;
	int code = look(o, &r, &e), printed;

	if (!code)
		code = plan(&r, &e);
	if (code)
		return progout_fail(&o->base, &e, NULL);
	printed = print(&r, r.has_work || r.pending ? "due" : "unchanged");
	return printed || (!r.has_work && !r.pending) ? printed : PROGOUT_FAILED;
}

static int run_flush(const struct boot_options *o)
{
	struct err e = ERR_INIT;

	return flush(&e) ? progout_fail(&o->base, &e, NULL) : PROGOUT_DONE;
}

static int run(const void *options)
{
	const struct boot_options *o = options;

	signals_install(true);
	switch (o->base.verb) {
	case VERB_UPDATE:
		return run_update(o);
	case VERB_STATUS:
		return run_status(o);
	case VERB_FLUSH:
		return run_flush(o);
	default:
		(void)fputs(bootmenu_system_entries(), stdout); /* has tabs; the end of the program tells if not all arrived */
		return PROGOUT_DONE;
	}
}

static const struct optrows_program program = {
	.name = "wubi-boot",
	.about = "Keeps right what starts a system in an image on a Windows volume: signed boot loader, menu, kernel copy and "
		 "maps on the EFI system partition, the firmware's entry, and what GRUB reads from the image. The hooks of "
		 "kernels, initramfs and boot loader packages run it.",
	.options = rows,
	.option_count = sizeof(rows) / sizeof(rows[0]),
	.verbs = verbs,
	.verb_count = sizeof(verbs) / sizeof(verbs[0]),
	.options_bytes = sizeof(struct boot_options),
	.run = run,
};

int main(int argc, char **argv)
{
	struct boot_options o;

	return progmain(&program, argc, argv, &o);
}
