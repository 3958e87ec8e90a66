/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profctl_folder - a system in a folder, for the tests of profctl. Include it before anything else. */
#ifndef WUBI_TEST_PROFCTL_FOLDER_H
#define WUBI_TEST_PROFCTL_FOLDER_H

#include "profile_fakes.h"

#include "profctl.h"

#define CONF "/etc/wubi/wubi.conf"
#define CHOICE "/etc/wubi/profile.conf"
#define SYSCTL "/etc/sysctl.d/90-wubi.conf"
#define GRUB "/etc/default/grub.d/wubi.cfg"
#define SAVED "/var/lib/wubi/saved.json"
#define SPEED "/var/lib/wubi/speed.json"

#define WRITEBACK_PROFILE "profile \"wb\" { mount = \"async,commit=7,data=writeback\" dirty = \"20%\" background = \"10%\" " \
	"expire = \"5s\" writeback = \"5s\" loss = \"60s\" }\n"

#define SPEED_PROFILE "profile \"quick\" { mount = \"async\" dirty = \"8s\" background = \"2s\" expire = \"5s\" " \
	"writeback = \"5s\" loss = \"600s\" }\n"

static const struct profile_knobs safe_knobs = {
	.dirty_bytes = 64 * NUM_MIB, .background_bytes = 16 * NUM_MIB, .expire_cs = 500, .writeback_cs = 100,
};

static inline char *path_of(const char *file)
{
	static char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s%s", fake_dir, file);
	return path;
}

static inline void put(const char *file, const char *text)
{
	char command[PATH_MAX + 32];
	FILE *f;

	(void)snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s')\"", path_of(file));
	assert_int_equal(system(command), 0);
	f = fopen(path_of(file), "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static inline const char *get(const char *file)
{
	static char text[4096];
	FILE *f = fopen(path_of(file), "r");
	size_t n;

	if (!f)
		return NULL;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	assert_int_equal(fclose(f), 0);
	return text;
}

static inline struct profctl_params params(void)
{
	return (struct profctl_params){ .root = fake_dir };
}

static struct profctl_result result;

static inline int set(const char *name, enum profile_phase phase, struct err *e)
{
	const struct profctl_params par = params();

	return profctl_set(&par, name, phase, &result, e);
}

static inline void set_ok(const char *name)
{
	struct err e = ERR_INIT;

	if (set(name, PROFILE_NORMAL, &e))
		fail_msg("%s", e.text);
	assert_string_equal(result.profile, name);
}

static struct profctl_status status;

static inline void look(void)
{
	const struct profctl_params par = params();
	struct err e = ERR_INIT;

	if (profctl_status(&par, &status, &e))
		fail_msg("%s", e.text);
}

/* Of that name, which has to be there. */
static __attribute__((noinline, returns_nonnull, unused)) const struct profctl_difference *difference(const char *what)
{
	size_t i = 0;

	while (i < status.difference_count && strcmp(status.differences[i].what, what) != 0)
		i++;
	if (i == status.difference_count)
		fail_msg("no difference '%s'", what);
	return &status.differences[i];
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fake_set_up, fake_tear_down)

#endif
