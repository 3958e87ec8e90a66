/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_driver - mount options, the kernel's knobs and what sets them, and the disk's speed from the command line, for
 * reconfigure.sh and knobs.sh in the guest.
 *
 *   kernel_driver supers | reconfigure TARGET OPTIONS
 *   kernel_driver knobs | set-knobs DIRTY_BYTES DIRTY_RATIO BACKGROUND_BYTES BACKGROUND_RATIO EXPIRE WRITEBACK | may-set-knobs
 *   kernel_driver winner ROOT KEY... | speed FOLDER
 *
 * On an error stderr gets "ENAME: text".
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "diskspeed.h"
#include "mountfs.h"
#include "sysctld.h"
#include "vmknobs.h"

static int run_supers(struct err *e)
{
	AUTO_FREE struct mountfs_super *list = NULL;
	size_t count = 0;
	int code = mountfs_supers(&list, &count, e);

	for (size_t i = 0; !code && i < count; i++)
		printf("%s %s %s\n", list[i].target, list[i].type, list[i].options);
	return code;
}

static int run_knobs(struct err *e)
{
	struct profile_knobs k = { 0 };
	int code = vmknobs_read(&k, e);

	if (!code)
		printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", k.dirty_bytes, k.dirty_ratio,
		       k.background_bytes, k.background_ratio, k.expire_cs, k.writeback_cs);
	return code;
}

static int run_set_knobs(char **words, struct err *e)
{
	uint64_t n[6];

	for (int i = 0; i < 6; i++)
		n[i] = strtoull(words[i], NULL, 10);
	return vmknobs_write(&(struct profile_knobs){ .dirty_bytes = n[0], .dirty_ratio = n[1], .background_bytes = n[2],
						      .background_ratio = n[3], .expire_cs = n[4], .writeback_cs = n[5] }, e);
}

static int run_winner(const char *root, char **keys, size_t count, struct err *e)
{
	struct sysctld_setting s = { .line = 0 };
	int code = sysctld_winner(root, (const char *const *)keys, count, &s, e);

	if (!code && s.path[0])
		printf("%s %s %s:%u\n", s.key, s.value, s.path, s.line);
	return code;
}

static int run_speed(const char *folder, struct err *e)
{
	uint64_t speed = 0;
	int code = diskspeed_probe(folder, &speed, e);

	if (!code)
		printf("%" PRIu64 "\n", speed);
	return code;
}

static int run(int argc, char **argv, struct err *e)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (strcmp(verb, "supers") == 0 && argc == 2)
		return run_supers(e);
	if (strcmp(verb, "reconfigure") == 0 && argc == 4)
		return mountfs_reconfigure(argv[2], argv[3], e);
	if (strcmp(verb, "knobs") == 0 && argc == 2)
		return run_knobs(e);
	if (strcmp(verb, "set-knobs") == 0 && argc == 8)
		return run_set_knobs(argv + 2, e);
	if (strcmp(verb, "may-set-knobs") == 0 && argc == 2)
		return vmknobs_check_writable(e);
	if (strcmp(verb, "winner") == 0 && argc >= 4)
		return run_winner(argv[2], argv + 3, (size_t)argc - 3, e);
	if (strcmp(verb, "speed") == 0 && argc == 3)
		return run_speed(argv[2], e);
	return err_set(e, -EINVAL, "see the head of kernel_driver.c");
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	int code = run(argc, argv, &e);

	if (code)
		fprintf(stderr, "%s: %s\n", strerrorname_np(-code), e.text);
	return code ? 1 : 0;
}
