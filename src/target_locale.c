/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Language, time zone and keyboard. */
#include "target_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ZONES "/usr/share/zoneinfo"
#define LOCALTIME "/etc/localtime"
#define LOCALE_GEN "/etc/locale.gen"
#define SUPPORTED "/usr/share/i18n/SUPPORTED"
#define KEYBOARD "/etc/default/keyboard"

static bool is_given(const char *value)
{
	return value && value[0];
}

/* ---- language ---- */

/* Of the C library itself: nobody has to make it. */
static bool is_built_in(const char *locale)
{
	return strcmp(locale, "C") == 0 || strcmp(locale, "POSIX") == 0 || strncmp(locale, "C.", 2) == 0;
}

/* *ret NULL: nothing is to be generated; else what locale.gen shall be, free(). */
static int plan_locale(const struct target *t, const char *locale, char **ret, struct err *e)
{
	AUTO_FREE char *old = NULL, *supported = NULL;
	char program[PATH_MAX];
	bool is_known = false;
	int code;

	*ret = NULL;
	if (is_built_in(locale) || !target_find(t, "locale-gen", program))
		return 0;
	code = target_read(t, LOCALE_GEN, &old, e);
	if (!code)
		code = target_read(t, SUPPORTED, &supported, e);
	if (code)
		return code;
	*ret = target_localegen_text(old, supported, locale, &is_known);
	if (!*ret)
		return err_set(e, -ENOMEM, "'" LOCALE_GEN "': out of memory");
	if (is_known)
		return 0;
	free(TAKE(*ret));
	return err_refuse(e, "locale",
			  "the new system knows no locale '%s': choose one of its '" SUPPORTED "', as 'de_DE.UTF-8'", locale);
}

static int generate(struct target *t, const char *locale, struct err *e)
{
	static const char *const arguments[] = { "locale-gen", NULL };
	AUTO_FREE char *text = NULL;
	int code = plan_locale(t, locale, &text, e);

	if (!code && text)
		code = target_write(t, LOCALE_GEN, text, e);
	return code || !text ? code : target_run(t, arguments, e);
}

static int set_locale(struct target *t, const char *locale, struct err *e)
{
	AUTO_FREE char *text = NULL;
	int code = generate(t, locale, e);

	if (code)
		return code;
	if (asprintf(&text, "LANG=%s\n", locale) < 0)
		text = NULL;
	return target_write(t, "/etc/default/locale", text, e);
}

/* ---- time zone ---- */

static bool is_zone(const struct target *t, const char *zone)
{
	char path[PATH_MAX], resolved[PATH_MAX];
	struct stat st;

	if (zone[0] == '/' || strstr(zone, "..") || snprintf(path, sizeof(path), ZONES "/%s", zone) >= (int)sizeof(path))
		return false;
	return target_path(t, path, resolved, NULL) == 0 && stat(resolved, &st) == 0 && S_ISREG(st.st_mode);
}

/* A link over what is there, in one step. */
static int put_link(const struct target *t, const char *to, const char *path, struct err *e)
{
	char own[PATH_MAX], temp[PATH_MAX + 8];
	int code = target_own_path(t, path, own, e);

	if (code)
		return code;
	(void)snprintf(temp, sizeof(temp), "%s.wubi", own); /* it fits */
	(void)unlink(temp); /* of a run that was killed; if it stays, symlink() says so */
	if (symlink(to, temp) < 0 || rename(temp, own) < 0)
		return err_errno(e, "make the link '%s'", own);
	return 0;
}

static int check_zone(const struct target *t, const char *zone, struct err *e)
{
	if (is_zone(t, zone))
		return 0;
	return err_refuse(e, "time-zone", "the new system knows no time zone '%.100s': choose one of its '" ZONES "', as "
			  "'Europe/Berlin'", zone);
}

static int set_zone(struct target *t, const char *zone, struct err *e)
{
	AUTO_FREE char *text = NULL, *to = NULL;
	int code = check_zone(t, zone, e);

	if (code)
		return code;
	if (asprintf(&to, ZONES "/%s", zone) < 0 || asprintf(&text, "%s\n", zone) < 0)
		return err_set(e, -ENOMEM, "time zone: out of memory");
	code = put_link(t, to, LOCALTIME, e);
	return code ? code : target_write(t, "/etc/timezone", text, e);
}

/* ---- keyboard ---- */

static int set_variable(char **text, const char *name, const char *value, struct err *e)
{
	char *changed = target_variable_text(*text, name, value);

	if (!changed)
		return err_set(e, -ENOMEM, "'" KEYBOARD "': out of memory");
	free(*text);
	*text = changed;
	return 0;
}

/* "de", "de:nodeadkeys", "de(nodeadkeys)" */
static int set_keyboard(struct target *t, const char *keyboard, struct err *e)
{
	static const char *const save[] = { "setupcon", "--save-only", NULL };
	AUTO_FREE char *text = NULL, *layout = strdup(keyboard);
	char *variant;
	int code;

	if (!layout)
		return err_set(e, -ENOMEM, "'" KEYBOARD "': out of memory");
	variant = layout + strcspn(layout, ":(");
	if (*variant)
		*variant++ = '\0';
	variant[strcspn(variant, ")")] = '\0';
	code = target_read(t, KEYBOARD, &text, e);
	if (!code && !text)
		code = set_variable(&text, "XKBMODEL", "pc105", e);
	if (!code)
		code = set_variable(&text, "XKBLAYOUT", layout, e);
	if (!code)
		code = set_variable(&text, "XKBVARIANT", variant, e);
	if (!code)
		code = target_write(t, KEYBOARD, text, e);
	if (!code) /* so that the initramfs and the first console have it; if not, the first start makes it */
		(void)target_run_if_there(t, save, NULL);
	return code;
}

int target_locale_check(const struct target *t, const struct target_settings *s, struct err *e)
{
	AUTO_FREE char *text = NULL;
	int code = is_given(s->locale) ? plan_locale(t, s->locale, &text, e) : 0;

	return code || !is_given(s->time_zone) ? code : check_zone(t, s->time_zone, e);
}

int target_locale_files(struct target *t, const struct target_settings *s, struct err *e)
{
	int code = 0;

	if (is_given(s->locale))
		code = set_locale(t, s->locale, e);
	if (!code && is_given(s->time_zone))
		code = set_zone(t, s->time_zone, e);
	if (!code && is_given(s->keyboard))
		code = set_keyboard(t, s->keyboard, e);
	return code;
}
