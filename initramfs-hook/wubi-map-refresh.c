/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wubi-map-refresh - on the running system: what boot found out about a moved image comes into the maps. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "auto.h"
#include "dpkglock.h"
#include "initramfs.h"
#include "mapfolder.h"
#include "maprefresh.h"
#include "progmain.h"
#include "progout.h"
#include "signals.h"

struct refresh_options {
	struct optrows_base base;
	const char *maps;
	const char *state;
	const char *esp;
	const char *boot;
	const char *modules;
	uint64_t lock_timeout_s; /* 0: not given */
	bool unit;
};

#define FIELD(f) offsetof(struct refresh_options, f)

static const struct optrows_option rows[] = {
	{ "maps", 'm', "DIR", "the folder of the maps (default " MAPFOLDER_DEFAULT ")", 1, 0, 0, OPTROWS_TEXT, FIELD(maps),
	  NULL },
	{ "state-dir", 0, "DIR", "where an unfinished run is remembered (default " MAPREFRESH_STATE_DEFAULT ")", 1, 0, 0,
	  OPTROWS_TEXT, FIELD(state), NULL },
	{ "esp", 'e', "DIR", "the EFI system partition (default: the first of /boot/efi, /efi, /boot with EFI/wubi in it)", 1, 0,
	  0, OPTROWS_TEXT, FIELD(esp), NULL },
	{ "boot", 0, "DIR", "the folder of the initramfs images (default " INITRAMFS_BOOT ")", 1, 0, 0, OPTROWS_TEXT, FIELD(boot),
	  NULL },
	{ "modules", 0, "DIR", "the folder of the kernels' modules (default " INITRAMFS_MODULES ")", 1, 0, 0, OPTROWS_TEXT,
	  FIELD(modules), NULL },
	{ "lock-timeout", 0, "SECONDS", "how long to wait for others to install packages (default 600)", 1, 0, 0, OPTROWS_COUNT,
	  FIELD(lock_timeout_s), NULL },
	{ "unit", 0, NULL, "as the unit does at boot: give up when the initramfs could not be built three times", 1, 0, 0,
	  OPTROWS_FLAG, FIELD(unit), NULL },
	OPTROWS_DRY_RUN(1),
	OPTROWS_JSON(1),
	OPTROWS_QUIET(1, "errors only"),
	OPTROWS_STANDARD(1),
};

static const struct optrows_verb verbs[] = {
	{ 1, "", "", 0, 0, "",
	  "Looks at each map whose device is attached. One that is not right any more is written anew with the next generation, "
	  "then the initramfs is built, then the copy on the EFI system partition is written. Nothing is ever written to the "
	  "Windows volume.",
	  NULL },
};

static const char *action_name(enum maprefresh_action a)
{
	static const char *const names[] = {
		[MAPREFRESH_KEEP] = "keep",
		[MAPREFRESH_WRITE] = "write",
		[MAPREFRESH_REFUSE] = "refuse",
		[MAPREFRESH_FAIL] = "fail",
	};

	return names[a];
}

static bool is_bad(const struct maprefresh_item *item)
{
	return item->action == MAPREFRESH_REFUSE || item->action == MAPREFRESH_FAIL;
}

static void print_text(const struct refresh_options *o, const struct maprefresh_plan *p)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct maprefresh_item *item = &p->items[i];

		if (is_bad(item))
			continue; /* told as the failure that it is */
		progout_print(stdout, "%s: %s: %s\n", item->path, action_name(item->action), item->text);
		if (item->esp_stale)
			progout_print(stdout, "%s/%s.map: write\n", p->esp, item->name);
	}
	if (p->unfinished)
		progout_print(stdout, "an earlier run did not get as far as the initramfs%s\n",
			      p->given_up ? ", and it is not tried again" : "");
	if (o->base.dry_run)
		progout_print(stdout, "dry run: nothing was done\n");
}

static int print_json(const struct refresh_options *o, const struct maprefresh_plan *p, int status)
{
	const char *done = maprefresh_has_work(p) ? o->base.dry_run ? "dry-run" : "done" : "unchanged";
	struct jsonout *root = jsonout_object(), *array, *m;
	char tool[256];

	jsonout_add_string(root, "status", status == PROGOUT_REFUSED ? "refused" : status == PROGOUT_FAILED ? "failed" : done);
	array = jsonout_add_array(root, "maps");
	for (size_t i = 0; i < p->count; i++) {
		const struct maprefresh_item *item = &p->items[i];

		m = jsonout_add_object(array, NULL);
		jsonout_add_string(m, "path", item->path);
		jsonout_add_string(m, "name", item->name[0] ? item->name : NULL);
		jsonout_add_bool(m, "attached", item->active);
		jsonout_add_string(m, "action", action_name(item->action));
		jsonout_add_string(m, "reason", item->reason[0] ? item->reason : NULL);
		jsonout_add_string(m, "text", item->text);
		if (item->map)
			jsonout_add_u64(m, "generation", item->map->generation);
		jsonout_add_bool(m, "esp_copy", item->esp_stale);
	}
	jsonout_add_string(root, "initramfs", maprefresh_needs_initramfs(p) && initramfs_tool(INITRAMFS_TOOLS, tool) ?
			   strrchr(tool, '/') + 1 : NULL);
	jsonout_add_string(root, "esp", p->esp[0] ? p->esp : NULL);
	return progout_json(root);
}

/* Two runs at a time would both count the generation on. The lock ends with the process. No folder, no maps, nothing to lock. */
static int lock_folder(const char *folder, int *ret_fd, struct err *e)
{
	*ret_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd < 0)
		return errno == ENOENT ? 0 : err_errno(e, "folder '%s'", folder);
	if (flock(*ret_fd, LOCK_EX))
		return err_errno(e, "lock the folder '%s'", folder);
	return 0;
}

static int refresh(const struct refresh_options *o, const struct maprefresh_params *par, struct maprefresh_plan *p, struct err *e)
{
	AUTO_FD int lock = -1;
	int code = o->base.dry_run ? 0 : lock_folder(par->maps, &lock, e);

	if (!code)
		code = maprefresh_plan(par, p, e);
	if (code || o->base.dry_run)
		return code;
	if (!o->base.json && !o->base.quiet) {
		print_text(o, p);
		code = progout_flush(e); /* before the long work, and before the tool's own words */
	}
	return code ? code : maprefresh_run(par, p, e);
}

static void tell(void *ctx, const char *text)
{
	const struct refresh_options *o = ctx;

	if (!o->base.quiet)
		progout_print(stderr, "wubi-map-refresh: %s\n", text);
}

static bool is_interrupted(void *ctx)
{
	(void)ctx;
	return signals_pending();
}

static struct maprefresh_params params_of(struct refresh_options *o)
{
	return (struct maprefresh_params){
		.maps = o->maps ? o->maps : MAPFOLDER_DEFAULT,
		.state = o->state ? o->state : MAPREFRESH_STATE_DEFAULT,
		.esp = o->esp,
		.boot = o->boot ? o->boot : INITRAMFS_BOOT,
		.modules = o->modules ? o->modules : INITRAMFS_MODULES,
		.dpkg_lock = DPKGLOCK_FILE,
		.lock_timeout_s = o->lock_timeout_s ? (unsigned)o->lock_timeout_s : DPKGLOCK_TIMEOUT_S,
		.by_unit = o->unit,
		.tell = tell,
		.interrupted = is_interrupted,
		.ctx = o,
	};
}

static void print_bad(const struct maprefresh_plan *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (is_bad(&p->items[i]))
			progout_print(stderr, "wubi-map-refresh: %s: %s\n", p->items[i].path, p->items[i].text);
}

/* A refusal is about safety, and goes before a failure. */
static int run(const void *options)
{
	__attribute__((cleanup(auto_maprefresh_plan))) struct maprefresh_plan p = { .items = NULL };
	struct refresh_options o = *(const struct refresh_options *)options;
	const struct maprefresh_params par = params_of(&o);
	int status = PROGOUT_DONE, printed = PROGOUT_DONE;
	struct err e = ERR_INIT;

	signals_install(true);
	if (refresh(&o, &par, &p, &e)) {
		print_bad(&p);
		return progout_fail(&o.base, &e, NULL);
	}
	if (maprefresh_refusal(&p, NULL))
		status = PROGOUT_REFUSED;
	else if (maprefresh_failure(&p, NULL))
		status = PROGOUT_FAILED;
	if (o.base.json)
		printed = print_json(&o, &p, status);
	else if (o.base.dry_run && !o.base.quiet)
		print_text(&o, &p);
	print_bad(&p);
	return status ? status : printed;
}

static const struct optrows_program program = {
	.name = "wubi-map-refresh",
	.about = "Writes the maps of the attached images anew when Windows or a partition tool has moved an image, so that the "
		 "next boot finds its map right. Boot works without this, too: it follows the image each time.",
	.options = rows,
	.option_count = sizeof(rows) / sizeof(rows[0]),
	.verbs = verbs,
	.verb_count = 1,
	.options_bytes = sizeof(struct refresh_options),
	.run = run,
};

int main(int argc, char **argv)
{
	struct refresh_options o;

	return progmain(&program, argc, argv, &o);
}
