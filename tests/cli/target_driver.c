/* SPDX-License-Identifier: GPL-2.0-or-later */
/* target_driver ROOT [KEY=VALUE...] STEP...: target's steps in ROOT, in this order; then it is left. */
#include <stdio.h>
#include <string.h>

#include "mapfile.h"
#include "progout.h"
#include "signals.h"
#include "target.h"

#define MANY 16

static struct target_settings settings;
static struct debpool debs;
static char files[MANY][PATH_MAX];
static struct map *maps[MANY];

static const struct {
	const char *name;
	const char **value;
} keys[] = {
	{ "hostname", &settings.hostname }, { "user", &settings.user }, { "full-name", &settings.full_name },
	{ "password-hash", &settings.password_hash }, { "locale", &settings.locale }, { "time-zone", &settings.time_zone },
	{ "keyboard", &settings.keyboard }, { "profile-normal", &settings.profile_normal },
	{ "profile-iso-copy", &settings.profile_iso_copy }, { "do", &settings.command }, { "esp", &settings.esp_partuuid },
	{ "kernel", &settings.kernel },
};

static int packages(struct target *t, const struct target_settings *s, struct err *e)
{
	(void)s;
	return target_packages(t, &debs, e);
}

static int purge(struct target *t, const struct target_settings *s, struct err *e)
{
	(void)s;
	return target_purge_live(t, e);
}

static const struct {
	const char *name;
	int (*run)(struct target *t, const struct target_settings *s, struct err *e);
} steps[] = {
	{ "packages", packages }, { "purge", purge }, { "files", target_files }, { "user", target_user },
	{ "kernels", target_kernels }, { "profile", target_profile }, { "command", target_command },
};

static int set(const char *argument, struct err *e)
{
	const char *value = strchr(argument, '=') + 1;
	size_t n = (size_t)(value - argument) - 1;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strlen(keys[i].name) == n && strncmp(keys[i].name, argument, n) == 0) {
			*keys[i].value = value;
			return 0;
		}
	}
	if (strncmp(argument, "clock=", 6) == 0) {
		settings.clock_utc = strcmp(value, "utc") == 0;
		return 0;
	}
	if (strncmp(argument, "deb=", 4) == 0 && debs.count < MANY) {
		(void)snprintf(files[debs.count++], PATH_MAX, "%s", value);
		return 0;
	}
	if (strncmp(argument, "map=", 4) == 0 && settings.map_count < MANY)
		return mapfile_read(value, &maps[settings.map_count++], e);
	return err_set(e, -1, "no key '%s'", argument);
}

static bool is_interrupted(void *ctx)
{
	(void)ctx;
	return signals_pending();
}

static int do_steps(struct target *t, char **words, struct err *e)
{
	int code = 0;

	for (; !code && *words; words++)
		for (size_t i = 0; !code && i < sizeof(steps) / sizeof(steps[0]); i++)
			if (strcmp(steps[i].name, *words) == 0)
				code = steps[i].run(t, &settings, e);
	return code;
}

int main(int argc, char **argv)
{
	AUTO(target) struct target *t = NULL;
	struct err e = ERR_INIT;
	int code = argc < 2 ? err_set(&e, -1, "no folder") : 0;

	signals_install(true);
	debs.files = files;
	settings.maps = (const struct map *const *)maps;
	for (int i = 2; !code && i < argc; i++)
		if (strchr(argv[i], '='))
			code = set(argv[i], &e);
	if (!code)
		code = target_enter(argv[1], is_interrupted, NULL, &t, &e);
	if (!code)
		code = do_steps(t, argv + 2, &e);
	if (!code)
		code = target_leave(t, &e);
	for (size_t i = 0; i < settings.map_count; i++)
		map_free(maps[i]);
	if (code)
		(void)fprintf(stderr, "%s: %s\n", e.reason[0] ? e.reason : "failed", e.text);
	return code ? 1 : 0;
}
