/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wubi-host - the Windows files, on a system that runs from the same partition. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "hostdev.h"
#include "mapfolder.h"
#include "progmain.h"
#include "progout.h"
#include "signals.h"

enum { VERB_START = 1, VERB_STOP = 2, VERB_STATUS = 4, VERB_ALL = 7 };

struct host_options {
	struct optrows_base base;
	const char *mount;
	const char *device;
	const char *maps;
	bool read_write;
};

#define FIELD(f) offsetof(struct host_options, f)

static const struct optrows_option rows[] = {
	{ "read-write", 'w', NULL, "mount so that the Windows files can be changed; only on a volume that Windows has settled",
	  VERB_START, 0, 0, OPTROWS_FLAG, FIELD(read_write), NULL },
	{ "mount", 'm', "DIR", "the folder to mount at, made if it is not there (default " HOSTDEV_MOUNT_DEFAULT ")", VERB_START,
	  0, 0, OPTROWS_TEXT, FIELD(mount), NULL },
	{ "device", 'd', "DEV", "the partition, where images of several are attached (default: the one of the running system)",
	  VERB_START, 0, 0, OPTROWS_TEXT, FIELD(device), NULL },
	{ "maps", 0, "DIR", "the folder of the maps (default " MAPFOLDER_DEFAULT ")", VERB_START, 0, 0, OPTROWS_TEXT, FIELD(maps),
	  NULL },
	OPTROWS_DRY_RUN(VERB_START | VERB_STOP),
	OPTROWS_JSON(VERB_ALL),
	OPTROWS_QUIET(VERB_ALL, "errors only"),
	OPTROWS_STANDARD(VERB_ALL),
};

static const struct optrows_verb verbs[] = {
	{ VERB_START, "start", "", 0, 0, "mount the Windows files",
	  "Makes /dev/mapper/wubi-host, which is the partition with zeros where the images lie, and mounts it: read-only unless "
	  "--read-write is given. Needs the kernel's ntfs3, or the package " HOSTDEV_PACKAGE ".", NULL },
	{ VERB_STOP, "stop", "", 0, 0, "unmount them",
	  "Removes /dev/mapper/wubi-host. Refuses while a file in it is in use.", NULL },
	{ VERB_STATUS, "status", "", 0, 0, "is it there, and how?", "Changes nothing.", NULL },
};

static int print_json(const char *status, const struct hostdev_state *s, const struct report *notes)
{
	struct jsonout *root = jsonout_object(), *array;

	if (status)
		jsonout_add_string(root, "status", status);
	jsonout_add_bool(root, "active", s->active);
	if (s->active) {
		jsonout_add_string(root, "device", "/dev/mapper/wubi-host");
		jsonout_add_string(root, "partition", s->path);
		jsonout_add_string(root, "mount", s->mount[0] ? s->mount : NULL);
		jsonout_add_string(root, "driver", s->driver[0] ? s->driver : NULL);
		jsonout_add_bool(root, "read_only", s->readonly);
		jsonout_add_u64(root, "size_bytes", s->size_bytes);
		jsonout_add_u64(root, "hidden_bytes", s->hidden_bytes);
	}
	array = jsonout_add_array(root, "notes");
	for (size_t i = 0; notes && i < notes->count; i++)
		jsonout_add_string(array, NULL, notes->items[i].text);
	return progout_json(root);
}

static int print_state(const struct host_options *o, const char *status, const struct hostdev_state *s,
		       const struct report *notes)
{
	if (o->base.json)
		return print_json(status, s, notes);
	for (size_t i = 0; notes && i < notes->count; i++)
		progout_print(stderr, "wubi-host: note: %s\n", notes->items[i].text);
	if (o->base.quiet)
		return PROGOUT_DONE;
	if (!s->active)
		progout_print(stdout, "not active\n");
	else if (!s->mount[0])
		progout_print(stdout, "/dev/mapper/wubi-host over %s, %s, not mounted\n", s->path,
			      s->readonly ? "read-only" : "read-write");
	else
		progout_print(stdout, "%s %s at %s, %s%s%s; %llu MiB of it are images and read as zeros\n", s->path,
			      s->driver[0] ? "is" : "would be", s->mount, s->readonly ? "read-only" : "read-write",
			      s->driver[0] ? ", by " : "", s->driver, (unsigned long long)s->hidden_bytes >> 20);
	return PROGOUT_DONE;
}

/* What start would make. */
static void foresee(const struct hostdev_params *par, const struct hostdev_plan *p, struct hostdev_state *ret)
{
	*ret = (struct hostdev_state){
		.active = true,
		.readonly = !par->read_write,
		.size_bytes = p->size_bytes,
		.hidden_bytes = p->hidden_bytes,
	};
	(void)snprintf(ret->path, sizeof(ret->path), "%s", p->path);
	(void)snprintf(ret->mount, sizeof(ret->mount), "%s", par->mount);
}

static int run_start(const struct host_options *o)
{
	__attribute__((cleanup(auto_hostdev_plan))) struct hostdev_plan p = { .device = 0 };
	const struct hostdev_params par = {
		.maps = o->maps ? o->maps : MAPFOLDER_DEFAULT,
		.mount = o->mount ? o->mount : HOSTDEV_MOUNT_DEFAULT,
		.device = o->device,
		.read_write = o->read_write,
		.check_only = o->base.dry_run,
	};
	struct hostdev_state s;
	struct err e = ERR_INIT;
	bool changed = false;

	if (hostdev_start(&par, &p, &changed, &e))
		return progout_fail(&o->base, &e, NULL);
	if (o->base.dry_run && changed)
		foresee(&par, &p, &s);
	else if (hostdev_status(&s, &e))
		return progout_fail(&o->base, &e, NULL);
	if (changed && par.read_write && !o->base.json)
		progout_print(stderr, "wubi-host: note: what is written there is Windows' own. After a power cut the volume may "
			      "be dirty, and this system does not start until Windows has checked it, or with "
			      "wubi.unsettled=allow on the kernel's command line. Whoever removes, moves or compresses an "
			      "image file in it destroys this system. 'wubi-host stop' before the computer is turned off\n");
	return print_state(o, !changed ? "unchanged" : o->base.dry_run ? "dry-run" : "done", &s, &p.notes);
}

static int run_stop(const struct host_options *o)
{
	struct hostdev_state s = { .active = false };
	struct err e = ERR_INIT;
	bool changed = false;
	int code = o->base.dry_run ? hostdev_status(&s, &e) : hostdev_stop(&changed, &e);

	if (code)
		return progout_fail(&o->base, &e, NULL);
	if (o->base.json)
		return print_json(o->base.dry_run ? "dry-run" : changed ? "done" : "unchanged", &s, NULL);
	if (o->base.dry_run && s.active && !o->base.quiet)
		progout_print(stdout, "dry run: would unmount '%s' and remove /dev/mapper/wubi-host\n", s.mount);
	return PROGOUT_DONE;
}

static int run_status(const struct host_options *o)
{
	struct hostdev_state s;
	struct err e = ERR_INIT;

	if (hostdev_status(&s, &e))
		return progout_fail(&o->base, &e, NULL);
	return print_state(o, NULL, &s, NULL);
}

static int run(const void *options)
{
	const struct host_options *o = options;

	/* no step between the device and the mount is a place to stop at */
	signals_install(true);
	if (o->base.verb == VERB_START)
		return run_start(o);
	return o->base.verb == VERB_STOP ? run_stop(o) : run_status(o);
}

static const struct optrows_program program = {
	.name = "wubi-host",
	.about = "Shows the Windows files while Linux runs from an image on the same partition. The partition itself is held by "
		 "the images' devices; what is mounted is a device of its own with the images cut out of it.",
	.options = rows,
	.option_count = sizeof(rows) / sizeof(rows[0]),
	.verbs = verbs,
	.verb_count = sizeof(verbs) / sizeof(verbs[0]),
	.options_bytes = sizeof(struct host_options),
	.run = run,
};

int main(int argc, char **argv)
{
	struct host_options o;

	return progmain(&program, argc, argv, &o);
}
