/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "image.h"
#include "output.h"
#include "progress_tty.h"
#include "verbs.h"

/* A volume that is not NTFS has no geometry to show; BitLocker's is a state that 'info' is there to tell. */
static bool can_be_shown(const struct image_info *info)
{
	return info->volume_known || info->boot.kind == BOOTSECT_BITLOCKER;
}

static int refuse(const struct options *o, const struct image_info *info)
{
	struct err e = ERR_INIT;

	if (report_refuse(&info->report, &e) == 0)
		(void)err_refuse(&e, "not-ntfs", "'%s' holds no NTFS volume that can be read",
				 o->base.operands[0]);
	return progout_fail(&o->base, &e, &info->report);
}

static int print_info(const struct options *o, const struct image_info *info)
{
	struct err e = ERR_INIT;

	if (o->base.json) {
		struct jsonout *root = jsonout_object();

		output_info_json(root, info);
		return progout_json(root);
	}
	output_info_text(stdout, o->base.operands[0], info);
	if (!o->base.quiet && info->volume_known) {
		progout_print(stdout, "\n");
		if (output_picture(stdout, &info->picture, &e))
			return progout_fail(&o->base, &e, NULL);
	}
	return PROGOUT_DONE;
}

int verb_info(const struct options *o)
{
	struct progress_tty progress;
	struct image_info info;
	struct err e = ERR_INIT;
	int r, status;

	memset(&info, 0, sizeof(info));
	progress_tty_init(&progress, o->progress, o->base.quiet);
	r = image_info(o->base.operands[0], &info, &progress.progress, &e);
	progress_tty_end(&progress);
	if (r)
		status = progout_fail(&o->base, &e, NULL);
	else if (!can_be_shown(&info))
		status = refuse(o, &info);
	else
		status = print_info(o, &info);
	return status;
}
