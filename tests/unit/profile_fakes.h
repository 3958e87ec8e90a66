/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_fakes - in the place of /proc/sys/vm a folder that keeps the kernel's rule for pairs, and in the place of mountinfo
 * a list of mounts that takes sync, async, commit= and barriers. Include it before anything else.
 */
#ifndef WUBI_TEST_PROFILE_FAKES_H
#define WUBI_TEST_PROFILE_FAKES_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cmocka_all.h"

static char fake_dir[] = "/tmp/wubi-test-profile-XXXXXX";
static const char *fake_refused; /* this option, or the write of this knob, is EINVAL */
static const char *fake_ignored; /* this one is taken and changes nothing */
static ssize_t fake_write(int fd, const void *buf, size_t n);

#define VMKNOBS_FOLDER fake_dir
#define write fake_write
#include "../../src/vmknobs.c"
#undef write

#define SYSFS_ROOT fake_dir
#include "../../src/sysfs.c"

#include "mountfs.h"

#define FAKE_ROOT_UUID "WUBI-11111111-2222-3333-4444-555555555555-root"
#define FAKE_HOME_UUID "WUBI-66666666-7777-8888-9999-aaaaaaaaaaaa-home"

/* ---- knobs ---- */

static void fake_put(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", fake_dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fprintf(f, "%s\n", text) > 0);
	assert_int_equal(fclose(f), 0);
}

/* What a knob had before it was opened to be written, which has made the file empty. */
static char fake_values[PROFILE_KNOBS][32];

static char *fake_value(const char *name)
{
	for (int knob = 0; knob < PROFILE_KNOBS; knob++)
		if (strcmp(profile_knob_name(knob), name) == 0)
			return fake_values[knob];
	fail_msg("no knob '%s'", name);
	return NULL;
}

static void fake_put_value(const char *name, const char *value)
{
	(void)snprintf(fake_value(name), sizeof(fake_values[0]), "%s", value);
	fake_put(name, fake_value(name));
}

static void fake_put_knobs(const struct profile_knobs *k)
{
	for (int knob = 0; knob < PROFILE_KNOBS; knob++) {
		char text[32];

		(void)snprintf(text, sizeof(text), "%" PRIu64, profile_knob_get(k, knob));
		fake_put_value(profile_knob_name(knob), text);
	}
}

static ssize_t fake_write(int fd, const void *buf, size_t n)
{
	char link[64], path[PATH_MAX] = "";
	const char *name;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_true(readlink(link, path, sizeof(path) - 1) > 0);
	name = strrchr(path, '/') + 1;
	if ((fake_refused && strcmp(name, fake_refused) == 0) || (strstr(name, "_bytes") && *(const char *)buf == '0')) {
		fake_put(name, fake_value(name));
		errno = EINVAL;
		return -1;
	}
	if (fake_ignored && strcmp(name, fake_ignored) == 0) {
		fake_put_value(name, "77");
		return (ssize_t)n;
	}
	for (int knob = PROFILE_DIRTY_BYTES; knob <= PROFILE_BACKGROUND_RATIO; knob++)
		if (strcmp(profile_knob_name(knob), name) == 0)
			fake_put_value(profile_knob_name(knob ^ 1), "0");
	(void)snprintf(fake_value(name), sizeof(fake_values[0]), "%.*s", (int)n - 1, (const char *)buf);
	return write(fd, buf, n);
}

/* ---- mounts ---- */

static struct mountfs_super fake_mounts[4];
static size_t fake_mount_count;
static char fake_log[1024]; /* "TARGET OPTIONS;" each reconfigure that was asked for */

/* target: a folder that is there; each on another device, so that there can be as many as there are file systems. */
static void fake_mount(const char *uuid, const char *target, const char *options)
{
	struct mountfs_super *m = &fake_mounts[fake_mount_count++];
	char folder[PATH_MAX], name[64];
	struct stat st;

	assert_int_equal(stat(target, &st), 0);
	*m = (struct mountfs_super){ .device = st.st_dev, .type = "ext4" };
	(void)snprintf(m->target, sizeof(m->target), "%s", target);
	(void)snprintf(m->options, sizeof(m->options), "%s", options);
	(void)snprintf(folder, sizeof(folder), "mkdir -p %s/dev/block/%u:%u/dm", fake_dir, major(st.st_dev), minor(st.st_dev));
	assert_int_equal(system(folder), 0);
	(void)snprintf(name, sizeof(name), "dev/block/%u:%u/dm/uuid", major(st.st_dev), minor(st.st_dev));
	fake_put(name, uuid);
	(void)snprintf(name, sizeof(name), "dev/block/%u:%u/dm/name", major(st.st_dev), minor(st.st_dev));
	fake_put(name, strrchr(uuid, '-') + 1);
}

int mountfs_supers(struct mountfs_super **ret, size_t *ret_count, struct err *e)
{
	(void)e;
	*ret = calloc(COUNT_OF(fake_mounts), sizeof(**ret));
	assert_non_null(*ret);
	memcpy(*ret, fake_mounts, sizeof(fake_mounts));
	*ret_count = fake_mount_count;
	return 0;
}

/* Takes out an option of that kind, and puts this one at the end. */
static void fake_change(char *options, size_t size, const char *option)
{
	const char *const defaults[] = { "async", "commit=5", "barrier", "auto_da_alloc", "delalloc", "nolazytime" };
	const char *kind = strstr(option, "sync") ? "sync" : strstr(option, "barrier") ? "barrier" : "commit";
	char old[512], *next = old, *item;

	(void)snprintf(old, sizeof(old), "%s", options);
	options[0] = '\0';
	while ((item = strsep(&next, ",")) != NULL)
		if (!strstr(item, kind))
			(void)snprintf(options + strlen(options), size - strlen(options), "%s%s", *options ? "," : "", item);
	for (size_t i = 0; i < COUNT_OF(defaults); i++)
		if (strcmp(defaults[i], option) == 0)
			return;
	(void)snprintf(options + strlen(options), size - strlen(options), "%s%s", *options ? "," : "", option);
}

int mountfs_reconfigure(const char *target, const char *options, struct err *e)
{
	char copy[512], *next = copy, *option;
	struct mountfs_super *m = NULL;

	(void)snprintf(fake_log + strlen(fake_log), sizeof(fake_log) - strlen(fake_log), "%s %s;", target, options);
	for (size_t i = 0; i < fake_mount_count; i++)
		if (strcmp(fake_mounts[i].target, target) == 0)
			m = &fake_mounts[i];
	assert_non_null(m);
	if (fake_refused && strstr(options, fake_refused))
		return err_set(e, -EINVAL, "'%s': the words of the kernel", target);
	(void)snprintf(copy, sizeof(copy), "%s", options);
	while ((option = strsep(&next, ",")) != NULL)
		if (*option && !(fake_ignored && strcmp(option, fake_ignored) == 0))
			fake_change(m->options, sizeof(m->options), option);
	return 0;
}

/* ---- for each test ---- */

static const struct profile_knobs fake_usual = {
	.dirty_ratio = 20, .background_ratio = 10, .expire_cs = 3000, .writeback_cs = 500,
};

static int fake_set_up(void **state)
{
	(void)state;
	(void)strcpy(strrchr(fake_dir, '-'), "-XXXXXX");
	fake_refused = fake_ignored = NULL;
	fake_mount_count = 0;
	fake_log[0] = '\0';
	if (!mkdtemp(fake_dir))
		return -1;
	fake_put_knobs(&fake_usual);
	return 0;
}

static int fake_tear_down(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", fake_dir);
	return system(command);
}

#endif
