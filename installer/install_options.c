/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "install_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "install_verbs.h"

#define FIELD(f) offsetof(struct install_options, f)

static int check_not_empty(const char *value, struct err *e)
{
	return *value ? 0 : err_set(e, -EINVAL, "it is empty");
}

#define CHECK(name, key)                                          \
	static int check_##name(const char *value, struct err *e) \
	{                                                         \
		return conf_install_check(key, value, e);         \
	}
CHECK(hostname, "hostname")
CHECK(user, "user")
CHECK(full_name, "full-name")
CHECK(locale, "locale")
CHECK(time_zone, "time-zone")
CHECK(keyboard, "keyboard")
CHECK(default, "default")

static int check_progress(const char *value, struct err *e)
{
	enum progress_tty_mode mode;

	return progress_tty_parse(value, &mode, e);
}

static const struct optrows_option rows[] = {
	{ "config", 'c', "FILE", "answers for an unattended run, see wubi-install.conf(5); options win", 1, 0, 0, OPTROWS_TEXT,
	  FIELD(config), check_not_empty },
	{ "volume", 'v', "VOLUME", "the Windows volume: a device, PARTUUID=, LABEL= or SERIAL=", 1, 0, 0, OPTROWS_TEXT,
	  FIELD(volume), check_not_empty },
	{ "esp", 'e', "PARTITION", "the EFI system partition, if the volume's disk has several", 1, 0, 0, OPTROWS_TEXT,
	  FIELD(esp), check_not_empty },
	{ "size", 's', "SIZE", "size of the system's image: 30G is 30 GiB", 1, 0, 0, OPTROWS_SIZE, FIELD(size_bytes), NULL },
	{ "swap", 0, "SIZE", "make an image for swap, too", 1, 0, 0, OPTROWS_SIZE, FIELD(swap_bytes), NULL },
	{ "home", 0, "SIZE", "make an image for /home, too", 1, 0, 0, OPTROWS_SIZE, FIELD(home_bytes), NULL },
	{ "iso", 'i', "FILE", "install what is on this ISO file, not the running live system", 1, 0, 0, OPTROWS_TEXT,
	  FIELD(iso), check_not_empty },
	{ "squashfs", 0, "FILE", "install what is in this squashfs file", 1, 0, 0, OPTROWS_TEXT, FIELD(squashfs),
	  check_not_empty },
	{ "packages", 0, "DIR", "look here first for the packages that the new system needs", 1, 0, 0, OPTROWS_TEXT,
	  FIELD(packages), check_not_empty },
	{ "no-network", 0, NULL, "ask no mirror for packages", 1, 0, 0, OPTROWS_FLAG, FIELD(no_network), NULL },
	{ "hostname", 'n', "NAME", "name of the new system", 1, 0, 0, OPTROWS_TEXT, FIELD(hostname), check_hostname },
	{ "user", 'u', "NAME", "its user, who may become root by sudo", 1, 0, 0, OPTROWS_TEXT, FIELD(user), check_user },
	{ "full-name", 0, "TEXT", "the user's full name", 1, 0, 0, OPTROWS_TEXT, FIELD(full_name), check_full_name },
	{ "locale", 'l', "LOCALE", "language and country, as de_DE.UTF-8", 1, 0, 0, OPTROWS_TEXT, FIELD(locale), check_locale },
	{ "time-zone", 'z', "ZONE", "as Europe/Berlin", 1, 0, 0, OPTROWS_TEXT, FIELD(time_zone), check_time_zone },
	{ "keyboard", 'k', "LAYOUT", "as de, or de:nodeadkeys", 1, 0, 0, OPTROWS_TEXT, FIELD(keyboard), check_keyboard },
	{ "default", 'd', "SYSTEM", "what the firmware starts by itself: windows (default) or linux", 1, 0, 0, OPTROWS_TEXT,
	  FIELD(boot_default), check_default },
	{ "unmount", 0, NULL, "unmount the volume first, if a desktop has mounted it", 1, 0, 0, OPTROWS_FLAG, FIELD(unmount),
	  NULL },
	{ "list", 0, NULL, "show the disks, and which volumes can be used; of DISK... alone, if any", 1, 0, 0, OPTROWS_FLAG,
	  FIELD(list), NULL },
	{ "remove", 0, NULL, "take the system away again: boot entry, images, maps", 1, 0, 0, OPTROWS_FLAG, FIELD(remove),
	  NULL },
	{ "repair", 0, NULL, "make an installed system boot again: maps, initramfs, boot entry", 1, 0, 0, OPTROWS_FLAG,
	  FIELD(repair), NULL },
	{ "root", 0, "PARTITION", "with --repair: what 'wubi-disk export' has made; that is started from now on", 1, 0, 0,
	  OPTROWS_TEXT, FIELD(root), check_not_empty },
	{ "yes", 'y', NULL, "ask nothing", 1, 0, 0, OPTROWS_FLAG, FIELD(yes), NULL },
	OPTROWS_DRY_RUN(1),
	{ "progress", 'p', "MODE", "auto (default: on a terminal), plain (lines), json (lines), none; on standard error", 1, 0,
	  0, OPTROWS_TEXT, FIELD(progress_text), check_progress },
	OPTROWS_JSON(1),
	OPTROWS_QUIET(1, "no plan or progress; errors are still told"),
	OPTROWS_STANDARD(1),
};

static const struct optrows_verb verbs[] = {
	{ 1, "", "[DISK...]", 0, OPTROWS_OPERANDS_MAX, "",
	  "Run as root from a live system that was started by UEFI. Checks everything first, shows what it will do, and asks; "
	  "nothing is written before. No volume is ever taken by itself.",
	  NULL },
};

static int finish(void *options, struct err *e)
{
	struct install_options *o = options;

	if (o->list + o->remove + o->repair > 1)
		return err_set(e, -EINVAL, "only one of --list, --remove and --repair can be done");
	if (o->base.operand_count && !o->list)
		return err_set(e, -EINVAL, "'%s': disks are named for --list alone; --volume names where to install",
			       o->base.operands[0]);
	if (o->root && !o->repair)
		return err_set(e, -EINVAL, "option '--root' is for --repair: it names what 'wubi-disk export' has made");
	if (o->root && o->volume)
		return err_set(e, -EINVAL, "--root and --volume name two places of the system");
	if (o->iso && o->squashfs)
		return err_set(e, -EINVAL, "--iso and --squashfs name two sources");
	return progress_tty_parse(o->progress_text, &o->progress, e);
}

static int run(const void *options)
{
	return install_verbs_run(options);
}

const struct optrows_program install_options_program = {
	.name = "wubi-install",
	.about = "Installs the running live system, or what is on an ISO file, into one file on the Windows volume, and makes "
		 "it boot beside Windows.",
	.options = rows,
	.option_count = sizeof(rows) / sizeof(rows[0]),
	.verbs = verbs,
	.verb_count = sizeof(verbs) / sizeof(verbs[0]),
	.options_bytes = sizeof(struct install_options),
	.finish = finish,
	.run = run,
};

/* ---- with the configuration ---- */

static int take_text(const char *option, const char *value, char *ret, size_t size, struct err *e)
{
	if (!value)
		return 0;
	if (strlen(value) >= size)
		return err_set(e, -EINVAL, "option '--%s': longer than %zu bytes", option, size - 1);
	(void)snprintf(ret, size, "%s", value);
	return 0;
}

#define TAKE_TEXT(option, value, field) \
	(code = code ? code : take_text(option, value, c.field, sizeof(c.field), e))

static void take_numbers(const struct install_options *o, struct conf_install *c)
{
	if (o->size_bytes)
		c->size_bytes = o->size_bytes;
	if (o->swap_bytes)
		c->swap_bytes = o->swap_bytes;
	if (o->home_bytes)
		c->home_bytes = o->home_bytes;
	c->unmount = c->unmount || o->unmount;
	c->no_network = c->no_network || o->no_network;
	if (o->boot_default) {
		c->default_linux = !strcmp(o->boot_default, "linux");
		c->default_given = true;
	}
}

int install_options_merge(const struct install_options *o, struct conf_install *ret, struct err *e)
{
	struct conf_install c = { .size_bytes = 0 };
	int code = o->config ? conf_install_read(o->config, &c, e) : 0;

	if (o->iso || o->squashfs) /* another source than the file's */
		c.iso[0] = c.squashfs[0] = '\0';
	TAKE_TEXT("volume", o->volume, volume);
	TAKE_TEXT("esp", o->esp, esp);
	TAKE_TEXT("iso", o->iso, iso);
	TAKE_TEXT("squashfs", o->squashfs, squashfs);
	TAKE_TEXT("packages", o->packages, packages);
	TAKE_TEXT("hostname", o->hostname, hostname);
	TAKE_TEXT("user", o->user, user);
	TAKE_TEXT("full-name", o->full_name, full_name);
	TAKE_TEXT("locale", o->locale, locale);
	TAKE_TEXT("time-zone", o->time_zone, time_zone);
	TAKE_TEXT("keyboard", o->keyboard, keyboard);
	take_numbers(o, &c);
	if (!code)
		*ret = c;
	return code;
}
