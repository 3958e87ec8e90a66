/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An initramfs with the modules of this machine alone (MODULES=dep of initramfs-tools), where the whole one is too large. */
#include "espboot_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "runprog.h"
#include "textfile.h"

#define MAKER "/usr/sbin/mkinitramfs"
#define TARGET_WORK "/var/tmp" /* of another root: its programs see nothing of ours */
#define SETTINGS "conf/conf.d/zzz-wubi-small" /* the last one there wins */

bool espboot_small_is_possible(const char *root)
{
	char path[PATH_MAX];

	return textfile_resolve(root, MAKER, path) == 0 && access(path, X_OK) == 0;
}

#define PHASE "making a smaller initramfs"

/* The progress is asked whether to go on. */
static bool is_interrupted(void *ctx)
{
	const struct progress *progress = ctx;

	return progress_step(progress, PHASE, 0, 0, NULL) != 0;
}

static int run(const struct espboot_params *par, const char *const *arguments, const struct progress *progress, struct err *e)
{
	struct progress copy = progress ? *progress : (struct progress){ .step = NULL };
	static const char *const variables[] = { "LC_ALL=C", NULL };
	const struct runprog_params p = {
		.arguments = arguments,
		.more = RUNPROG_SYSTEM_PATH,
		.variables = variables,
		.root = par->root[0] ? par->root : NULL,
		.interrupted = is_interrupted,
		.ctx = &copy,
	};

	return runprog_do(&p, NULL, e);
}

static int make_folder(const struct espboot_params *par, struct espboot_small *s, struct err *e)
{
	char at[PATH_MAX];

	const char *work = par->root[0] ? TARGET_WORK : par->work;

	if (textfile_resolve(par->root, work, at) < 0)
		return err_errno(e, "'%s%s'", par->root, work);
	if (mkdir(at, 0755) < 0 && errno != EEXIST)
		return err_errno(e, "make the folder '%s'", at);
	if (snprintf(s->folder, sizeof(s->folder), "%s/wubi-small.XXXXXX", at) >= PATH_MAX || !mkdtemp(s->folder)) {
		s->folder[0] = '\0';
		return err_errno(e, "a folder in '%s'", at);
	}
	return 0;
}

int espboot_small_make(const struct espboot_params *par, const char *version, const struct progress *progress,
		       struct espboot_small *ret, struct err *e)
{
	char conf[PATH_MAX + 8], settings[PATH_MAX + 40], file[PATH_MAX + 16];
	const char *const copy[] = { "/bin/cp", "-a", "/etc/initramfs-tools", conf, NULL };
	const char *const make[] = { MAKER, "-d", conf, "-o", file, version, NULL };
	int code = progress_step(progress, PHASE, 0, 0, e);

	if (!code)
		code = make_folder(par, ret, e);
	if (code)
		return code;
	/* as its programs see them */
	(void)snprintf(conf, sizeof(conf), "%s/conf", ret->folder + strlen(par->root));
	(void)snprintf(file, sizeof(file), "%s/initrd.img", ret->folder + strlen(par->root));
	code = run(par, copy, progress, e);
	(void)snprintf(settings, sizeof(settings), "%s/" SETTINGS, ret->folder);
	if (!code)
		code = textfile_write(settings, "MODULES=dep\n", e);
	if (!code)
		code = run(par, make, progress, e);
	if (!code && snprintf(ret->file, sizeof(ret->file), "%s/initrd.img", ret->folder) >= PATH_MAX)
		code = err_set(e, -ENAMETOOLONG, "'%.300s': %s", ret->folder, strerror(ENAMETOOLONG));
	return code;
}

void espboot_small_clear(struct espboot_small *s)
{
	const char *const arguments[] = { "/bin/rm", "-rf", "--one-file-system", "--", s->folder, NULL };

	if (s->folder[0])
		(void)runprog_run(arguments, RUNPROG_SYSTEM_PATH, NULL, NULL); /* litter at worst, in a folder for that */
	*s = (struct espboot_small){ .folder = "" };
}
