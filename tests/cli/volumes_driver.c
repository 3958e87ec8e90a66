/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * volumes_driver - volumes and its table for the bats files:
 *	volumes_driver text|json NEEDED-BYTES DISK...
 *	volumes_driver choose|esp SPEC DISK...     the device that it names; the EFI system partition of that
 *	volumes_driver unmount DEVICE
 * --all for DISK...: those of this machine.
 * A failure is 'REASON: TEXT' on stderr; exit status 3 for a refusal, else 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../installer/install_list.c"

static int fail(const struct err *e)
{
	(void)fprintf(stderr, "%s: %s\n", e->reason, e->text);
	return err_is_refusal(e) ? 3 : 1;
}

static int list(const struct volumes *v, bool json)
{
	struct jsonout *root = jsonout_object();

	if (!json) {
		jsonout_free(root);
		install_list_text(stdout, v);
		return 0;
	}
	install_list_json(root, v);
	return progout_json(root);
}

static int name(const struct volumes *v, const char *spec, bool esp)
{
	const struct volumes_row *row = NULL;
	struct err e = ERR_INIT;

	if (volumes_choose(v, spec, VOLUMES_NTFS, &row, &e) || (esp && volumes_esp(v, row, NULL, &row, &e)))
		return fail(&e);
	(void)puts(row->path);
	return 0;
}

int main(int argc, char **argv)
{
	__attribute__((cleanup(auto_volumes))) struct volumes v = { .rows = NULL };
	const char *verb = argc > 2 ? argv[1] : "";
	struct err e = ERR_INIT;

	if (progout_init("volumes_driver") || argc < 3)
		return 2;
	if (!strcmp(verb, "unmount"))
		return volumes_unmount(argv[2], &e) ? fail(&e) : 0;
	if (volumes_scan(argc > 3 && !strcmp(argv[3], "--all") ? NULL : (const char *const *)argv + 3,
			 strtoull(argv[2], NULL, 10), &v, &e))
		return fail(&e);
	if (!strcmp(verb, "text") || !strcmp(verb, "json"))
		return list(&v, !strcmp(verb, "json"));
	return name(&v, argv[2], !strcmp(verb, "esp"));
}
