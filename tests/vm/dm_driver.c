/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dm_driver - dmlinear from the command line, for dm.sh in the guest.
 *
 *   dm_driver prepare|activate NAME UUID PARTITION EXTENTS [ro]
 *   dm_driver remove NAME | find-on PARTITION | find-uuid UUID | format DEVICE EXTENTS
 *
 * EXTENTS: "START+LENGTH,START+LENGTH..." in sectors, logically one behind the other.
 * DM_TIMEOUT_MS in the environment is the limit for udev (2000). On an error stderr gets "ENAME: reason: text".
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dmlinear.h"

static unsigned timeout_ms(void)
{
	const char *text = getenv("DM_TIMEOUT_MS");

	return text ? (unsigned)strtoul(text, NULL, 10) : 2000;
}

static int device_number(const char *path, dev_t *ret, struct err *e)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return err_errno(e, "'%s'", path);
	*ret = st.st_rdev;
	return 0;
}

/* Unchecked, so that a test can hand over what dmlinear has to refuse. */
static int extents_parse(const char *text, struct extent_list *ret, struct err *e)
{
	struct extent x = { 0, 0, 0 };
	char *end = NULL;

	while (*text) {
		x.physical_bytes = strtoull(text, &end, 10) * 512;
		if (*end != '+')
			return err_set(e, -EINVAL, "no '+' in '%s'", text);
		x.length_bytes = strtoull(end + 1, &end, 10) * 512;
		if (extent_list_push(ret, &x, e) < 0)
			return e->code;
		x.logical_bytes += x.length_bytes;
		text = *end == ',' ? end + 1 : end;
	}
	return 0;
}

static int run_device(const char *verb, char **argv, bool readonly, struct err *e)
{
	AUTO(extent_list) struct extent_list extents = { 0 };
	struct dmlinear_params p = {
		.name = argv[0],
		.uuid = argv[1],
		.extents = &extents,
		.readonly = readonly,
		.udev_timeout_ms = timeout_ms(),
	};
	bool active = false;
	int r = device_number(argv[2], &p.device, e);

	if (r == 0)
		r = extents_parse(argv[3], &extents, e);
	if (r < 0)
		return r;
	if (strcmp(verb, "activate") == 0)
		return dmlinear_activate(&p, e);
	r = dmlinear_prepare(&p, &active, e);
	if (r == 0)
		puts(active ? "active" : "prepared");
	return r;
}

static int run_find(const char *verb, const char *what, struct err *e)
{
	char name[128] = "untouched";
	dev_t device = 0;
	int r = 0;

	if (strcmp(verb, "find-uuid") == 0)
		r = dmlinear_find_uuid(what, name, e);
	else if ((r = device_number(what, &device, e)) == 0)
		r = dmlinear_find_on(device, name, e);
	if (r == 0)
		puts(name);
	return r;
}

static int run_format(char **argv, struct err *e)
{
	AUTO(extent_list) struct extent_list extents = { 0 };
	AUTO_FREE char *text = NULL;
	int r = extents_parse(argv[1], &extents, e);

	if (r == 0)
		r = dmlinear_format(&extents, argv[0], &text, e);
	if (r == 0)
		fputs(text, stdout);
	return r;
}

static int run(int argc, char **argv, struct err *e)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if ((strcmp(verb, "prepare") == 0 || strcmp(verb, "activate") == 0) && argc >= 6)
		return run_device(verb, argv + 2, argc > 6 && strcmp(argv[6], "ro") == 0, e);
	if (strcmp(verb, "remove") == 0 && argc == 3)
		return dmlinear_remove(argv[2], timeout_ms(), e);
	if (strncmp(verb, "find-", 5) == 0 && argc == 3)
		return run_find(verb, argv[2], e);
	if (strcmp(verb, "format") == 0 && argc == 4)
		return run_format(argv + 2, e);
	return err_set(e, -EINVAL, "usage: see the head of dm_driver.c");
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;

	if (run(argc, argv, &e) == 0)
		return fflush(stdout) == 0 ? 0 : 1;
	fprintf(stderr, "%s: %s: %s\n", strerrorname_np(-e.code), e.reason, e.text);
	return 1;
}
