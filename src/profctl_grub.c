/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GRUB's part: rootflags= in a file of its own, and update-grub, which is due as long as a mark on the disk says so. */
#include "profctl_private.h"

#include <errno.h>
#include <string.h>

#include "auto.h"
#include "runprog.h"
#include "textfile.h"

#define REMEDY "put right what it says, then run 'update-grub', or this again"

int profctl_update_grub(const struct profctl_params *par, bool *ret_ran, struct err *e)
{
	char program[PATH_MAX];
	const char *const arguments[] = { program, NULL };
	int r;

	*ret_ran = runprog_find("update-grub", RUNPROG_SYSTEM_PATH, program, sizeof(program));
	r = *ret_ran ? runprog_run(arguments, RUNPROG_SYSTEM_PATH, NULL, e) : 0;
	if (r)
		return err_set(e, r, "%s: " REMEDY, e ? e->text : "");
	return profctl_remove(par, PROFCTL_GRUB_PENDING, e);
}

int profctl_note_grub(const struct profctl_params *par, struct report *notes, struct err *e)
{
	AUTO_FREE char *pending = NULL;
	int r = profctl_read(par, PROFCTL_GRUB_PENDING, &pending, e);

	if (!r && pending)
		report_add(notes, "grub-pending", "'" PROFCTL_GRUB "' has changed, and update-grub has not succeeded since: "
			   "until it does, the kernel's command line stays as it was: 'wubi-profile set' or 'reset' runs it");
	return r;
}

/* Before the file is changed: whoever comes after a kill knows that update-grub is due. */
static int mark_pending(const struct profctl_params *par, struct err *e)
{
	char path[PATH_MAX];
	int r = profctl_path(par, PROFCTL_GRUB_PENDING, path, e);

	return r ? r : textfile_write(path, "update-grub is due: " PROFCTL_GRUB " has changed\n", e);
}

static int run_now(const struct profctl_params *par, const char *text, struct profctl_result *res, struct err *e)
{
	bool ran = false;
	int r = profctl_update_grub(par, &ran, e);

	if (r)
		return r;
	res->changed = true;
	if (!ran)
		report_add(&res->notes, "no-update-grub", "'" PROFCTL_GRUB "' %s, and there is no update-grub here: until the "
			   "boot loader's configuration is made anew by hand, the kernel's command line stays as it was",
			   text ? "has changed" : "is gone");
	return 0;
}

int profctl_put_grub(const struct profctl_params *par, struct profctl_files *f, const char *text, bool at_boot,
		     struct profctl_result *res, struct err *e)
{
	AUTO_FREE char *old = NULL, *pending = NULL;
	bool elsewhere = profctl_is_elsewhere(par), differs, changed = false;
	int r = profctl_read(par, PROFCTL_GRUB, &old, e);

	if (!r && !elsewhere)
		r = profctl_read(par, PROFCTL_GRUB_PENDING, &pending, e);
	if (r)
		return r;
	differs = old && text ? strcmp(old, text) != 0 : old || text;
	if (differs && !elsewhere)
		r = mark_pending(par, e);
	if (!r && differs)
		r = profctl_put(par, f, PROFCTL_GRUB, text, &changed, e);
	res->changed = res->changed || changed;
	if (r || elsewhere || (!differs && !pending))
		return r;
	return at_boot ? profctl_note_grub(par, &res->notes, e) : run_now(par, text, res, e);
}
