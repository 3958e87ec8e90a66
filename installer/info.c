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
				 o->operands[0]);
	return output_fail(o, &e, &info->report);
}

static int print_info(const struct options *o, const struct image_info *info)
{
	struct err e = ERR_INIT;

	if (o->json) {
		struct jsonout *root = jsonout_object();

		output_info_json(root, info);
		return output_json(root);
	}
	output_info_text(stdout, o->operands[0], info);
	if (!o->quiet && info->volume_known) {
		output_print(stdout, "\n");
		if (output_picture(stdout, &info->picture, &e))
			return output_fail(o, &e, NULL);
	}
	return OUTPUT_DONE;
}

int verb_info(const struct options *o)
{
	struct progress_tty progress;
	struct image_info info;
	struct err e = ERR_INIT;
	int r, status;

	memset(&info, 0, sizeof(info));
	progress_tty_init(&progress, o);
	r = image_info(o->operands[0], &info, &progress.progress, &e);
	progress_tty_end(&progress);
	if (r)
		status = output_fail(o, &e, NULL);
	else if (!can_be_shown(&info))
		status = refuse(o, &info);
	else
		status = print_info(o, &info);
	return status;
}
