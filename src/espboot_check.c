/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Would an initramfs of the system boot it? Else the one that is copied already is better. */
#include "espboot_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "initrdcheck.h"
#include "textfile.h"

struct paths { /* of the system, as we see them */
	char modules[PATH_MAX], programs[PATH_MAX], maps[PATH_MAX], fstab[PATH_MAX], cmdline[PATH_MAX];
};

static int resolve(const char *root, struct paths *ret, struct err *e)
{
	const struct initrdneed_system system = INITRDNEED_SYSTEM;
	const struct {
		const char *path;
		char *ret;
	} all[] = {
		{ INITRDCHECK_MODULES, ret->modules }, { INITRDCHECK_PROGRAMS, ret->programs }, { system.maps, ret->maps },
		{ system.fstab, ret->fstab }, { system.cmdlines[1], ret->cmdline },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (textfile_resolve(root, all[i].path, all[i].ret) < 0)
			return err_errno(e, "'%s%s'", root, all[i].path);
	return 0;
}

/* With a map of where the image was, it is found all the same: the initramfs follows it. */
static const struct finding *find_lack(const struct report *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		if (strcmp(findings->items[i].reason, "stale-map") != 0)
			return &findings->items[i];
	return NULL;
}

int espboot_check_initrd(const char *root, const char *image, const char *version, char ret_lack[ESPBOOT_LACK_MAX],
			 struct err *e)
{
	AUTO_FREE struct initrdcheck_result *r = calloc(1, sizeof(*r));
	AUTO_FREE struct paths *at = calloc(1, sizeof(*at));
	struct initrdcheck_params p = { .image = image, .kernel = version, .system = INITRDNEED_SYSTEM };
	const struct finding *lack;
	int code = r && at ? resolve(root, at, e) : err_set(e, -ENOMEM, "out of memory");

	ret_lack[0] = '\0';
	if (code)
		return code;
	p.modules = at->modules;
	p.programs = at->programs;
	if (root[0]) /* not the running system's command line */
		p.system = (struct initrdneed_system){ at->maps, root, at->fstab, { at->cmdline, NULL } };
	code = initrdcheck_run(&p, r, e);
	if (code == -ENOMEM)
		return code;
	if (code) {
		err_clear(e); /* nothing bad is known of it; if it cannot be read at all, copying it tells that */
		return 0;
	}
	lack = find_lack(&r->findings);
	if (lack)
		(void)snprintf(ret_lack, ESPBOOT_LACK_MAX, "%s", lack->text);
	return 0;
}
