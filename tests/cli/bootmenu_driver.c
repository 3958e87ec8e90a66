/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints the boot menu: bootmenu_driver TITLE PARTUUID FSUUID CMDLINE START+LENGTH[,...] [VERSION...]; "system": the entries;
 * "partition" TITLE FSUUID: that of a system in a partition.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootmenu.h"
#include "extent.h"

static int parse_ranges(char *text, struct extent_list *l)
{
	char *end = text;

	for (;;) {
		unsigned long long start = strtoull(end, &end, 10), n;

		if (*end++ != '+')
			return -EINVAL;
		n = strtoull(end, &end, 10);
		if (extent_list_append(l, start * 512, n * 512, NULL))
			return -EINVAL;
		if (*end++ != ',')
			return 0;
	}
}

int main(int argc, char **argv)
{
	AUTO(extent_list) struct extent_list extents = { 0 };
	AUTO_FREE char *text = NULL;
	struct bootmenu m = { .extents = &extents };
	struct err e = ERR_INIT;

	if (argc == 2 && strcmp(argv[1], "system") == 0)
		return fputs(bootmenu_system_entries(), stdout) < 0;
	if (argc == 4 && strcmp(argv[1], "partition") == 0)
		return bootmenu_format_partition(argv[2], argv[3], &text, NULL) || fputs(text, stdout) < 0;
	if (argc < 6 || argc > 6 + BOOTMENU_COPIES_MAX || parse_ranges(argv[5], &extents)) {
		(void)fprintf(stderr, "bootmenu_driver: TITLE PARTUUID FSUUID CMDLINE START+LENGTH[,...] [VERSION...]\n");
		return 2;
	}
	m.title = argv[1];
	m.host_partuuid = argv[2];
	m.fs_uuid = argv[3];
	m.cmdline = argv[4];
	m.copy_count = (size_t)argc - 6;
	for (size_t i = 0; i < m.copy_count; i++)
		(void)snprintf(m.copies[i].version, sizeof(m.copies[i].version), "%s", argv[6 + i]);
	if (bootmenu_format(&m, &text, &e)) {
		(void)fprintf(stderr, "bootmenu_driver: %s\n", e.text);
		return 1;
	}
	return fputs(text, stdout) < 0;
}
