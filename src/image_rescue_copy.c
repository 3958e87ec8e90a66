/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copying out. The volume is only read; the copy is looked at by e2fsck when it is complete. */
#include "image_rescue_private.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapdev.h"
#include "runprog.h"

/* The last line that says something: "root: 12/7680 files (0.0% non-contiguous), 5000/30720 blocks". */
static void last_line(const char *text, char ret[IMAGE_RESCUE_TEXT])
{
	size_t end = text ? strlen(text) : 0, start;

	while (end && (text[end - 1] == '\n' || text[end - 1] == ' '))
		end--;
	for (start = end; start && text[start - 1] != '\n'; start--)
		;
	if (end > start)
		(void)snprintf(ret, IMAGE_RESCUE_TEXT, "%.*s", (int)(end - start < IMAGE_RESCUE_TEXT ? end - start : 0),
			       text + start);
}

static bool is_interrupted(void *ctx)
{
	return progress_step(ctx, "check the copy", 0, 0, NULL) != 0;
}

static void run_fsck(const char *output, const struct progress *p, struct image_rescue *r)
{
	char program[4096];
	const char *const arguments[] = { program, "-f", "-n", output, NULL };
	const char *const variables[] = { "LC_ALL=C", NULL };
	struct progress copy = p ? *p : (struct progress){ 0 };
	const struct runprog_params par = {
		.arguments = arguments,
		.more = RUNPROG_SYSTEM_PATH,
		.variables = variables,
		.errors_too = true,
		.interrupted = is_interrupted,
		.ctx = &copy,
	};
	AUTO_FREE char *text = NULL;
	struct err why = ERR_INIT;
	int code;

	if (!runprog_find("e2fsck", RUNPROG_SYSTEM_PATH, program, sizeof(program))) {
		(void)snprintf(r->fsck_text, sizeof(r->fsck_text), "e2fsck is not there (package e2fsprogs)");
		return;
	}
	code = runprog_do(&par, &text, &why);
	last_line(text, r->fsck_text);
	r->fsck = !code ? IMAGE_RESCUE_FSCK_CLEAN : text && code != -ECANCELED ? IMAGE_RESCUE_FSCK_ERRORS
									      : IMAGE_RESCUE_FSCK_FAILED;
	if (code == -ECANCELED || (code && !r->fsck_text[0]))
		(void)snprintf(r->fsck_text, sizeof(r->fsck_text), "%.*s", IMAGE_RESCUE_TEXT - 1, why.text);
}

static int check_output(const struct image_rescue_params *par, struct err *e)
{
	bool upon = false;
	int code = blockdev_is_upon(par->volume, par->output, &upon, e);

	if (!code && upon)
		return err_refuse(e, "same-volume", "'%s' lies on the volume '%s' itself, so that writing it could overwrite "
				  "what is to be saved: name a file on another disk", par->output, par->volume);
	return code ? code : salvage_check(par->output, par->map->size_bytes, par->replace, e);
}

static int copy_out(struct session *s, const struct image_rescue_params *par, const struct progress *p,
		    struct image_rescue *r, struct err *e)
{
	AUTO(salvage) struct salvage *out = NULL;
	AUTO(blkio) struct blkio *image = NULL;
	struct err why = ERR_INIT;
	int code = mapdev_new(s->io, &par->map->extents, &image, e);

	if (!code)
		code = salvage_open(par->output, par->map->size_bytes, par->replace, &out, e);
	if (code)
		return code;
	code = salvage_copy(image, out, p, &r->copy, &why);
	if (!code)
		code = salvage_publish(out, &r->copy, &why);
	if (code)
		return err_set(e, code, "%s; %s", why.text, salvage_is_device(out) ? "what is on the device now is no whole copy"
										    : "no copy was made");
	r->copied = true;
	return 0;
}

static int rescue(const struct image_rescue_params *par, const struct progress *p, struct image_rescue *ret, struct err *e)
{
	__attribute__((cleanup(auto_session))) struct session s = { 0 };
	struct report users = { .count = 0 };
	int code = 0;

	if (par->output)
		code = check_output(par, e);
	if (!code)
		code = blockdev_check_drivers(par->volume, &users, e);
	if (!code)
		code = report_refuse(&users, e);
	if (!code)
		code = session_open_damaged(par->volume, &s, e);
	if (!code)
		code = image_rescue_look(&s, par->map, p, ret, e);
	if (!code && par->output && !par->check_only)
		code = copy_out(&s, par, p, ret, e);
	if (!code && ret->copied && ret->health_known)
		run_fsck(par->output, p, ret);
	if (!code)
		image_rescue_judge(ret);
	return code;
}

int image_rescue(const struct image_rescue_params *par, const struct progress *p, struct image_rescue *ret, struct err *e)
{
	struct image_rescue_params own = *par;
	char real[PATH_MAX];

	*ret = (struct image_rescue){ .reason = "" };
	if (par->output && realpath(par->output, real))
		own.output = real; /* what a symbolic link leads to is replaced, and not the link */
	return rescue(&own, p, ret, e);
}
