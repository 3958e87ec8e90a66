/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options.h"

#include <errno.h>
#include <string.h>

#include "ext4fmt.h"
#include "map.h"
#include "mapfolder.h"
#include "swapfmt.h"
#include "verbs.h"

#define FIELD(f) offsetof(struct options, f)
#define VERBS_WITH_IMAGE (VERB_CREATE | VERB_MAP | VERB_SHOW | VERB_REMOVE)
#define VERBS_THAT_CHANGE (VERB_CREATE | VERB_MAP | VERB_ATTACH | VERB_DETACH | VERB_REMOVE | VERB_GROW | VERB_EXPORT | \
			   VERB_RESCUE)

static int check_one_of(const char *value, const char *const *allowed, const char *what, struct err *e)
{
	for (size_t i = 0; allowed[i]; i++)
		if (!strcmp(value, allowed[i]))
			return 0;
	return err_set(e, -EINVAL, "'%s' is not one of %s", value, what);
}

static int check_fs(const char *value, struct err *e)
{
	static const char *const allowed[] = { "ext4", "swap", "none", NULL };

	return check_one_of(value, allowed, "ext4, swap, none", e);
}

static int check_state(const char *value, struct err *e)
{
	static const char *const allowed[] = { "dirty", NULL };

	if (check_one_of(value, allowed, "", NULL))
		return err_set(e, -EINVAL, "'%s' cannot be overridden: only 'dirty' can", value);
	return 0;
}

static int check_progress(const char *value, struct err *e)
{
	enum progress_tty_mode mode;

	return progress_tty_parse(value, &mode, e);
}

static int check_name(const char *value, struct err *e)
{
	if (!map_name_is_valid(value))
		return err_set(e, -EINVAL, "'%s' is no name: use a letter, then letters, digits or '-', not 'host', "
			       "all lower case, at most 31", value);
	return 0;
}

static int check_image(const char *value, struct err *e)
{
	if (!map_image_is_valid(value))
		return err_set(e, -EINVAL, "'%s' is no path on the volume: it starts with '/' and uses '/', "
			       "as in /ubuntu/disks/root.disk", value);
	return 0;
}

static int check_not_empty(const char *value, struct err *e)
{
	return *value ? 0 : err_set(e, -EINVAL, "it is empty");
}

static const struct optrows_option option_rows[] = {
	{ "size", 's', "SIZE", "size of the image: 30G is 30 GiB, 30GB is 30 * 1000^3 bytes; for grow also "
	  "+SIZE, what shall come to it",
	  VERB_CREATE | VERB_GROW, 0, VERB_CREATE | VERB_GROW, OPTROWS_GROWTH, FIELD(size), NULL },
	{ "name", 'n', "NAME", "name of the image, and of its device /dev/mapper/wubi-NAME (default root)",
	  VERBS_WITH_IMAGE, 0, 0, OPTROWS_TEXT, FIELD(name), check_name },
	{ "image", 'i', "PATH", "the image on the volume (default /ubuntu/disks/NAME.disk)",
	  VERBS_WITH_IMAGE, 0, 0, OPTROWS_TEXT, FIELD(image), check_image },
	{ "map", 'm', "FILE", "the extent map; create and grow write it, and take more than one; the others read it",
	  VERB_CREATE | VERB_MAP | VERB_VERIFY | VERB_SHOW | VERB_TABLE | VERB_ATTACH | VERB_GROW | VERB_EXPORT |
	  VERB_RESCUE,
	  VERB_CREATE | VERB_GROW, VERB_VERIFY | VERB_TABLE | VERB_ATTACH | VERB_GROW | VERB_EXPORT | VERB_RESCUE,
	  OPTROWS_LIST, FIELD(maps), check_not_empty },
	{ "output", 'o', "FILE", "map: write the map here (default: standard output), may be given more than once; "
	  "rescue: copy the old image to this new file or block device, on another volume",
	  VERB_MAP | VERB_RESCUE, VERB_MAP, 0, OPTROWS_LIST, FIELD(outputs), check_not_empty },
	{ "fs", 'f', "TYPE", "file system to put into it: ext4 (default), swap, none",
	  VERB_CREATE, 0, 0, OPTROWS_TEXT, FIELD(fs), check_fs },
	{ "label", 'l', "LABEL", "label of the file system",
	  VERB_CREATE, 0, 0, OPTROWS_TEXT, FIELD(label), NULL },
	{ "max-extents", 'e', "N", "take at most N pieces of the volume (default 1; grow: as many as it has)",
	  VERB_CREATE | VERB_GROW, 0, 0, OPTROWS_COUNT, FIELD(max_extents), NULL },
	{ "zero", 'z', NULL, "fill what is new with zeros first, so that no old Windows data stays in it",
	  VERB_CREATE | VERB_GROW, 0, 0, OPTROWS_FLAG, FIELD(zero), NULL },
	{ "relocate", 0, NULL, "move the whole image to a free run that holds all of it",
	  VERB_GROW, 0, 0, OPTROWS_FLAG, FIELD(relocate), NULL },
	{ "no-host-map", 0, NULL, "put no copy of the map beside the image on the volume",
	  VERB_CREATE | VERB_MAP | VERB_RESCUE, 0, 0, OPTROWS_FLAG, FIELD(no_host_map), NULL },
	{ "force-state", 0, "STATE", "go on although the volume is in this state; only 'dirty' is allowed",
	  VERB_CREATE | VERB_MAP, 0, 0, OPTROWS_TEXT, FIELD(force_state), check_state },
	{ "device", 'd', "DEV", "the partition to name in the table, as /dev/sda2 or 8:2",
	  VERB_TABLE, 0, VERB_TABLE, OPTROWS_TEXT, FIELD(device), check_not_empty },
	{ "to", 't', "PARTITION", "the partition that the file system is copied to: empty, and large enough",
	  VERB_EXPORT, 0, VERB_EXPORT, OPTROWS_TEXT, FIELD(to), check_not_empty },
	{ "readonly", 'r', NULL, "make a device that cannot be written",
	  VERB_ATTACH, 0, 0, OPTROWS_FLAG, FIELD(readonly), NULL },
	{ "in-place", 0, NULL, "make the file again over its old clusters, when all of them are free",
	  VERB_RESCUE, 0, 0, OPTROWS_FLAG, FIELD(in_place), NULL },
	{ "report", 0, NULL, "only look, write nothing",
	  VERB_RESCUE, 0, 0, OPTROWS_FLAG, FIELD(report), NULL },
	{ "maps", 0, "DIR", "the folder of the system's maps (default " MAPFOLDER_DEFAULT ")",
	  VERB_STATUS, 0, 0, OPTROWS_TEXT, FIELD(folder), check_not_empty },
	{ "esp", 0, "DIR", "where the EFI system partition is mounted (default: /boot/efi, /efi or /boot)",
	  VERB_STATUS, 0, 0, OPTROWS_TEXT, FIELD(esp), check_not_empty },
	{ "record", 0, NULL, "as the timer does: what is off is kept in " STATUS_RECORD ", which a login shows",
	  VERB_STATUS, 0, 0, OPTROWS_FLAG, FIELD(record), NULL },
	{ "yes", 'y', NULL, "do not ask, as for removing an image, or writing over what is there",
	  VERB_REMOVE | VERB_GROW | VERB_EXPORT | VERB_RESCUE, 0, 0, OPTROWS_FLAG, FIELD(yes), NULL },
	OPTROWS_DRY_RUN(VERBS_THAT_CHANGE),
	{ "progress", 'p', "MODE", "auto (default: on a terminal), plain (lines), json (lines), none; "
	  "on standard error",
	  VERB_CREATE | VERB_INFO | VERB_GROW | VERB_EXPORT | VERB_RESCUE, 0, 0, OPTROWS_TEXT,
	  FIELD(progress_text), check_progress },
	OPTROWS_JSON(VERB_ALL),
	OPTROWS_QUIET(VERB_ALL, "no report, picture or progress; errors are still told"),
	OPTROWS_STANDARD(VERB_ALL),
};

static const struct optrows_verb verb_rows[] = {
	{ VERB_INFO, "info", "VOLUME", 1, 1, "what the volume is, its state, its free space, its images",
	  "Reads only. VOLUME is a block device, or a plain file that holds NTFS.", NULL },
	{ VERB_CREATE, "create", "VOLUME", 1, 1, "make an image and its map",
	  "Checks everything first and shows what it found; writes nothing until all of it passes. The "
	  "volume must not be mounted, hibernated, under Fast Startup, or due for chkdsk.", NULL },
	{ VERB_MAP, "map", "VOLUME", 1, 1, "write the map of an image that exists",
	  "Derives the map from the volume's MFT. With --map FILE the new map keeps that one's id.", NULL },
	{ VERB_VERIFY, "verify", "VOLUME...", 1, OPTROWS_OPERANDS_MAX, "is a map still true for a volume?",
	  "Reads only. Exit status 0 is 'match', 3 any other verdict, 1 that it could not be told. Of "
	  "several volumes the one that fits is found; two that fit are 'ambiguous'.", NULL },
	{ VERB_SHOW, "show", "[VOLUME]", 0, 1, "the extents as a table and a picture",
	  "From a map (--map FILE), from the volume, or from both: the map's extents over the volume's free "
	  "space.", NULL },
	{ VERB_TABLE, "table", "", 0, 0, "the device-mapper table of a map, for dmsetup",
	  "The map is not compared with the volume: run verify first, on the same volume.", NULL },
	{ VERB_ATTACH, "attach", "VOLUME", 1, 1, "make /dev/mapper/wubi-NAME from a map that is still true",
	  "Verifies the map before and after the partition is claimed.", NULL },
	{ VERB_DETACH, "detach", "NAME", 1, 1, "remove /dev/mapper/wubi-NAME",
	  "Refuses while the device is in use.", NULL },
	{ VERB_REMOVE, "remove", "VOLUME", 1, 1, "remove an image from the volume",
	  "All data in the image is lost. Needs --image or --name, and asks; without a terminal it needs "
	  "--yes.", NULL },
	{ VERB_STATUS, "status", "", 0, 0, "is all well with the system that runs from an image?",
	  "For the installed system. Looks at maps, copies on the EFI system partition, initramfs and free space on the "
	  "Windows volume; says what is off, and the command that mends it. Changes nothing.",
	  "Exit status: 0 healthy, 1 could not tell, 2 usage, 3 something is off." },
	{ VERB_GROW, "grow", "VOLUME", 1, 1, "make an image larger, and its map, and its file system",
	  "Nothing may use the image: not the Linux in it, either. Asks; without a terminal it needs --yes. "
	  "Killed at any moment, the old or the new map leads to the image, and the same command goes on.", NULL },
	{ VERB_EXPORT, "export", "VOLUME", 1, 1, "copy an image to a partition of its own",
	  "Moving out: the file system of the image becomes that of the partition, in its size, with another UUID. The image "
	  "is only read. Then 'wubi-install --repair --root PARTITION' makes it start.", NULL },
	{ VERB_RESCUE, "rescue", "VOLUME", 1, 1, "look for an image that is gone, copy it out, or bring it back",
	  "Says which of the old clusters are still free and which files have the others. Exit status 0 is that all is "
	  "whole, 3 that it is not, with a copy made all the same where one was asked for.", NULL },
};

static int check_together(const struct options *o, struct err *e)
{
	if (o->base.verb == VERB_CREATE && o->size.more)
		return err_set(e, -EINVAL, "option '--size': '+' before a size is for grow");
	if (o->base.verb == VERB_SHOW && o->maps.count == 0 && o->base.operand_count == 0)
		return err_set(e, -EINVAL, "'show' needs --map FILE or VOLUME");
	if (o->base.verb == VERB_SHOW && o->base.operand_count == 0 && (o->image || o->name))
		return err_set(e, -EINVAL, "option '--%s' needs VOLUME", o->image ? "image" : "name");
	if (o->base.verb == VERB_SHOW && o->maps.count && (o->image || o->name))
		return err_set(e, -EINVAL, "option '--%s' and --map name an image twice",
			       o->image ? "image" : "name");
	if (o->base.verb == VERB_REMOVE && !o->image && !o->name)
		return err_set(e, -EINVAL, "'remove' needs --image PATH or --name NAME");
	if (o->base.verb == VERB_RESCUE && o->in_place && o->outputs.count)
		return err_set(e, -EINVAL, "option '--in-place' and --output are two ways: give one of them");
	if (o->base.verb == VERB_RESCUE && !o->in_place && o->no_host_map)
		return err_set(e, -EINVAL, "option '--no-host-map' needs --in-place");
	return 0;
}

static int check_label(const struct options *o, struct err *e)
{
	bool swap = o->fs && !strcmp(o->fs, "swap");
	size_t max = swap ? SWAPFMT_LABEL_MAX : EXT4FMT_LABEL_MAX;

	if (!o->label)
		return 0;
	if (o->fs && !strcmp(o->fs, "none"))
		return err_set(e, -EINVAL, "option '--label' needs a file system, but --fs is 'none'");
	if (strlen(o->label) > max)
		return err_set(e, -EINVAL, "option '--label': '%s' is longer than the %zu bytes that %s "
			       "allows", o->label, max, swap ? "swap" : "ext4");
	return 0;
}

static int finish(void *options, struct err *e)
{
	struct options *o = options;
	int r = check_together(o, e);

	if (!r)
		r = progress_tty_parse(o->progress_text, &o->progress, e);
	return r ? r : check_label(o, e);
}

static int run(const void *options)
{
	return verbs_run(options);
}

const struct optrows_program options_program = {
	.name = "wubi-disk",
	.about = "Makes and keeps disk images for Linux on an NTFS volume that is not mounted, and maps of where their bytes "
		 "lie. VOLUME is a block device, or a plain file that holds NTFS.",
	.options = option_rows,
	.option_count = sizeof(option_rows) / sizeof(option_rows[0]),
	.verbs = verb_rows,
	.verb_count = sizeof(verb_rows) / sizeof(verb_rows[0]),
	.options_bytes = sizeof(struct options),
	.finish = finish,
	.run = run,
};
