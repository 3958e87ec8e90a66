/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf_install.h"

#include <confuse.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "conf_private.h"
#include "num.h"
#include "textfile.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

enum key {
	VOLUME, ESP, SIZE, SWAP, HOME, ISO, SQUASHFS, PACKAGES, HOSTNAME, USER, FULL_NAME, PASSWORD_HASH, LOCALE, TIME_ZONE,
	KEYBOARD, PROFILE_OF_NORMAL, PROFILE_OF_ISO_COPY, COMMAND, UNMOUNT, CLOCK, DEFAULT, NETWORK, KEYS
};

static const char *const key_names[KEYS] = {
	[VOLUME] = "volume",       [ESP] = "esp",                       [SIZE] = "size",
	[SWAP] = "swap",           [HOME] = "home",                     [ISO] = "iso",
	[SQUASHFS] = "squashfs",   [PACKAGES] = "packages",             [HOSTNAME] = "hostname",
	[USER] = "user",           [FULL_NAME] = "full-name",           [PASSWORD_HASH] = "password-hash",
	[LOCALE] = "locale",       [TIME_ZONE] = "time-zone",           [KEYBOARD] = "keyboard",
	[PROFILE_OF_NORMAL] = "profile-normal",                         [PROFILE_OF_ISO_COPY] = "profile-iso-copy",
	[COMMAND] = "command",     [UNMOUNT] = "unmount",               [CLOCK] = "clock",
	[DEFAULT] = "default",     [NETWORK] = "network",
};

/* n characters of these two sets, and at least one. */
static bool consists_of(const char *value, size_t n, const char *set)
{
	return n > 0 && strspn(value, set) >= n;
}

static bool is_any(const char *value)
{
	(void)value;
	return true;
}

static bool is_size(const char *value)
{
	uint64_t bytes;

	return num_parse_bytes(value, &bytes, NULL) == 0 && bytes > 0;
}

static bool is_size_or_none(const char *value)
{
	uint64_t bytes;

	return num_parse_bytes(value, &bytes, NULL) == 0;
}

/* RFC 1123, 2.1; what is all digits and dots would be taken for an address. */
static bool is_hostname(const char *value)
{
	const char *at = value;

	if (strspn(value, DIGITS ".") == strlen(value))
		return false;
	for (;;) {
		size_t n = strcspn(at, ".");

		if (!consists_of(at, n, LOWER UPPER DIGITS "-") || at[0] == '-' || at[n - 1] == '-')
			return false;
		if (!at[n])
			return true;
		at += n + 1;
	}
}

/* Users and groups of base-passwd: whoever is made gets a group of the same name. */
static bool is_taken(const char *value)
{
	static const char *const taken[] = {
		"root", "daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp", "proxy",
		"www-data", "backup", "list", "irc", "gnats", "_apt", "nobody", "adm", "tty", "disk", "kmem",
		"dialout", "fax", "voice", "cdrom", "floppy", "tape", "sudo", "audio", "dip", "operator", "src",
		"shadow", "utmp", "video", "sasl", "plugdev", "staff", "users", "nogroup",
	};

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (!strcmp(value, taken[i]))
			return true;
	return false;
}

static bool is_user(const char *value)
{
	return consists_of(value, 1, LOWER "_") && consists_of(value, strlen(value), LOWER DIGITS "_-") && !is_taken(value);
}

static bool is_full_name(const char *value)
{
	return !strpbrk(value, ":,");
}

/* crypt(5): $id$..., and of all of them the last part is the hash, 22 characters or more. */
static bool is_password_hash(const char *value)
{
	static const char *const ids[] = { "y", "gy", "7", "2a", "2b", "2y", "6", "5", "sha1", "md5", "1" };
	const char *hash = strrchr(value, '$');
	size_t n = value[0] == '$' ? strcspn(value + 1, "$,") : 0;

	if (!strcmp(value, "*") || !strcmp(value, "!"))
		return true;
	if (n == 0 || hash <= value + n + 1 || strpbrk(value, " :;*!\\"))
		return false;
	if (strlen(hash + 1) < 22 || !consists_of(hash + 1, strlen(hash + 1), "./" LOWER UPPER DIGITS))
		return false;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (strlen(ids[i]) == n && !strncmp(value + 1, ids[i], n))
			return true;
	return false;
}

/* ll_CC.UTF-8, with a modifier or not. */
static bool is_locale(const char *value)
{
	size_t n = strspn(value, LOWER);

	if (!strcmp(value, "C.UTF-8"))
		return true;
	if ((n != 2 && n != 3) || value[n] != '_' || strspn(value + n + 1, UPPER) != 2)
		return false;
	value += n + 3;
	if (strncmp(value, ".UTF-8", 6) != 0)
		return false;
	value += 6;
	return !*value || (*value == '@' && consists_of(value + 1, strlen(value + 1), LOWER));
}

/* A file below /usr/share/zoneinfo. */
static bool is_time_zone(const char *value)
{
	for (;;) {
		size_t n = strcspn(value, "/");

		if (!consists_of(value, n, LOWER UPPER DIGITS "_+-"))
			return false;
		if (!value[n])
			return true;
		value += n + 1;
	}
}

static bool is_keyboard(const char *value)
{
	size_t n = strcspn(value, ":");

	if (!consists_of(value, n, LOWER DIGITS "_"))
		return false;
	return !value[n] || consists_of(value + n + 1, strlen(value + n + 1), LOWER UPPER DIGITS "_-");
}

struct rule {
	bool (*is_valid)(const char *value);
	const char *what, *allowed;
	bool is_secret;              /* is not repeated in messages */
	size_t offset, size;         /* in struct conf_install: a text, if size is not 0, else a number of bytes or a flag */
	const char *no, *yes;        /* a flag: its two values */
	size_t given_offset;
};

#define TEXT(field) .offset = offsetof(struct conf_install, field), .size = sizeof(((struct conf_install *)NULL)->field)
#define BYTES(field) .offset = offsetof(struct conf_install, field)
#define FLAG(field, given) .offset = offsetof(struct conf_install, field), .given_offset = offsetof(struct conf_install, given)

#define SIZE_ALLOWED "allowed are a number and its unit, as 30G (1024) or 30GB (1000)"
#define VOLUME_ALLOWED "allowed are /dev/sda3, PARTUUID=..., UUID=..., LABEL=... and SERIAL=..."
#define PATH_ALLOWED "allowed is the path of "

static const struct rule rules[KEYS] = {
	[VOLUME] = { is_any, "volume", VOLUME_ALLOWED, TEXT(volume) },
	[ESP] = { is_any, "EFI system partition", VOLUME_ALLOWED, TEXT(esp) },
	[SIZE] = { is_size, "size", SIZE_ALLOWED ", more than 0", BYTES(size_bytes) },
	[SWAP] = { is_size_or_none, "size", SIZE_ALLOWED "; 0: none", BYTES(swap_bytes) },
	[HOME] = { is_size_or_none, "size", SIZE_ALLOWED "; 0: none", BYTES(home_bytes) },
	[ISO] = { is_any, "image of a medium", PATH_ALLOWED "one", TEXT(iso) },
	[SQUASHFS] = { is_any, "squashfs", PATH_ALLOWED "one", TEXT(squashfs) },
	[PACKAGES] = { is_any, "folder", PATH_ALLOWED "a folder", TEXT(packages) },
	[HOSTNAME] = { is_hostname, "host name", "allowed are a-z, A-Z, 0-9 and '-', not first or last, in parts with '.' "
		       "between them, and not a number", TEXT(hostname) },
	[USER] = { is_user, "name for a user", "allowed are a-z, 0-9, '_' and '-', a letter or '_' first, 32 at most, and no "
		   "name that the system itself uses", TEXT(user) },
	[FULL_NAME] = { is_full_name, "full name", "allowed is text without ':' and ','", TEXT(full_name) },
	[PASSWORD_HASH] = { is_password_hash, "hash of a password", "allowed are crypt(5)'s $ID$..., as 'mkpasswd' prints "
			    "it, and '*' or '!' for none that would let anybody in", .is_secret = true, TEXT(password_hash) },
	[LOCALE] = { is_locale, "locale", "allowed are ll_CC.UTF-8, as de_DE.UTF-8, and C.UTF-8", TEXT(locale) },
	[TIME_ZONE] = { is_time_zone, "time zone", "allowed are names as Europe/Berlin, of /usr/share/zoneinfo",
			TEXT(time_zone) },
	[KEYBOARD] = { is_keyboard, "keyboard", "allowed are LAYOUT and LAYOUT:VARIANT, as de and de:nodeadkeys",
		       TEXT(keyboard) },
	[PROFILE_OF_NORMAL] = { profile_name_is_valid, "name of a profile", PROFILE_NAME_ALLOWED, TEXT(profile_normal) },
	[PROFILE_OF_ISO_COPY] = { profile_name_is_valid, "name of a profile", PROFILE_NAME_ALLOWED, TEXT(profile_iso_copy) },
	[COMMAND] = { is_any, "command", "allowed is one line", TEXT(command) },
	[UNMOUNT] = { NULL, "yes or no", "allowed are true and false", .no = "false", .yes = "true",
		      FLAG(unmount, unmount_given) },
	[CLOCK] = { NULL, "clock", "allowed are local and utc", .no = "local", .yes = "utc", FLAG(clock_utc, clock_given) },
	[DEFAULT] = { NULL, "system to start", "allowed are windows and linux", .no = "windows", .yes = "linux",
		      FLAG(default_linux, default_given) },
	[NETWORK] = { NULL, "yes or no", "allowed are true and false", .no = "true", .yes = "false",
		      FLAG(no_network, network_given) },
};

static bool is_printable(const char *value)
{
	while (*value) {
		size_t n = conf_scan_printable((const unsigned char *)value);

		if (n == 0)
			return false;
		value += n;
	}
	return true;
}

static int check(const struct rule *r, const char *value, struct err *e)
{
	bool is_valid = r->yes ? !strcmp(value, r->yes) || !strcmp(value, r->no) : r->is_valid(value);

	if (!*value)
		return err_set(e, -EINVAL, "is empty, %s", r->allowed);
	if (!is_printable(value)) /* may not be shown */
		return err_set(e, -EINVAL, "the value has a control character or is no UTF-8, allowed is plain text");
	if (r->size && strlen(value) >= r->size)
		return err_set(e, -EINVAL, "the value is too long, allowed are %zu bytes", r->size - 1);
	if (is_valid)
		return 0;
	if (r->is_secret)
		return err_set(e, -EINVAL, "the value is no %s, %s", r->what, r->allowed);
	return err_set(e, -EINVAL, "'%s' is no %s, %s", value, r->what, r->allowed);
}

static bool find_key(const char *name, size_t *ret)
{
	for (*ret = 0; *ret < KEYS; ++*ret)
		if (!strcmp(name, key_names[*ret]))
			return true;
	return false;
}

int conf_install_check(const char *key, const char *value, struct err *e)
{
	size_t at;

	if (!find_key(key, &at))
		return err_set(e, -EINVAL, "'%s' is no key of wubi-install.conf(5)", key);
	return check(&rules[at], value, e);
}

/* The value is one that check() has taken. */
static void store(const struct rule *r, const char *value, struct conf_install *ret)
{
	char *field = (char *)ret + r->offset;
	bool flag = r->yes && !strcmp(value, r->yes), given = true;
	uint64_t bytes = 0;

	if (r->size) {
		(void)snprintf(field, r->size, "%s", value);
	} else if (r->yes) {
		memcpy(field, &flag, sizeof(flag));
		memcpy((char *)ret + r->given_offset, &given, sizeof(given));
	} else {
		(void)num_parse_bytes(value, &bytes, NULL);
		memcpy(field, &bytes, sizeof(bytes));
	}
}

static int take_value(struct conf_reader *r, enum key key, const char *value, struct conf_install *ret)
{
	bool is_path = key == ISO || key == SQUASHFS || key == PACKAGES;
	struct err e = ERR_INIT;

	if (check(&rules[key], value, &e))
		return conf_reader_fail(r, r->key_line[key], "%s: %s", key_names[key], e.text);
	if (is_path && value[0] != '/') /* nobody knows from which folder it will be read */
		return conf_reader_fail(r, r->key_line[key], "%s: '%s' does not begin with '/', allowed is a whole path",
					key_names[key], value);
	store(&rules[key], value, ret);
	return 0;
}

static const char *allowed_in(const char *section)
{
	(void)section; /* there are none */
	return "allowed are KEY = \"VALUE\" with a key of volume, esp, unmount, size, swap, home, iso, squashfs, packages, "
	       "network, hostname, user, full-name, password-hash, locale, time-zone, keyboard, clock, profile-normal, "
	       "profile-iso-copy, default, command";
}

static cfg_t *grammar(void)
{
	cfg_opt_t options[KEYS + 1];

	for (size_t key = 0; key < KEYS; key++)
		options[key] = (cfg_opt_t)CFG_STR_CB(key_names[key], 0, CFGF_NODEFAULT, conf_reader_value);
	options[KEYS] = (cfg_opt_t)CFG_END();
	return cfg_init(options, CFGF_NONE); /* has a copy */
}

int conf_install_parse(const char *text, const char *name, struct conf_install *ret, struct err *e)
{
	AUTO(cfg) cfg_t *cfg = grammar();
	unsigned key_line[KEYS] = { 0 };
	struct conf_install c = { .volume = "" };
	struct conf_reader r = {
		.scan.is_flat = true, .keys = key_names, .key_count = KEYS, .key_line = key_line, .allowed = allowed_in
	};
	enum key later;

	if (conf_reader_run(&r, cfg, name, text) == 0)
		for (int key = 0; key < KEYS; key++)
			if (key_line[key] && take_value(&r, (enum key)key, cfg_getstr(cfg, key_names[key]), &c))
				break;
	later = key_line[ISO] > key_line[SQUASHFS] ? ISO : SQUASHFS;
	if (!r.err.code && c.iso[0] && c.squashfs[0])
		(void)conf_reader_fail(&r, key_line[later], "%s: is there together with %s, allowed is one of the two",
				       key_names[later], key_names[later == ISO ? SQUASHFS : ISO]);
	*ret = c;
	if (r.err.code && e)
		*e = r.err;
	return r.err.code;
}

int conf_install_read(const char *path, struct conf_install *ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	int code = textfile_read(path, &text, e);

	*ret = (struct conf_install){ .volume = "" };
	return code ? code : conf_install_parse(text, path, ret, e);
}
