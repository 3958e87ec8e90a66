/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "image.h"
#include "num.h"
#include "output.h"
#include "progress_tty.h"
#include "signals.h"
#include "verbs.h"

static int confirm(const struct options *o, const char *path, uint64_t bytes, struct err *e)
{
	char size[NUM_BYTES_TEXT], answer[NTFSVOL_PATH_MAX];
	int r;

	progout_print(stderr, "remove %s (%s) from '%s'? All data in it is lost.\n"
		     "Type 'yes', or the path of the image, to remove it: ", path,
		     num_format_bytes(bytes, size), o->base.operands[0]);
	r = ask_answer(answer, sizeof(answer), "interrupted before anything was removed", e);
	if (r)
		return r;
	if (strcmp(answer, "yes") != 0 && strcmp(answer, path) != 0)
		return err_set(e, -ECANCELED, "not confirmed: nothing was removed");
	return 0;
}

static int print_removed(const struct options *o, const char *path, uint64_t bytes)
{
	char size[NUM_BYTES_TEXT];

	if (o->base.json) {
		struct jsonout *root = jsonout_object();

		jsonout_add_string(root, "status", o->base.dry_run ? "dry-run" : "done");
		jsonout_add_string(root, "image", path);
		jsonout_add_u64(root, "freed_bytes", bytes);
		return progout_json(root);
	}
	if (!o->base.quiet)
		progout_print(stdout, "%s %s, %s\n", o->base.dry_run ? "dry run: would remove" : "removed", path,
			     num_format_bytes(bytes, size));
	return PROGOUT_DONE;
}

static int run(const struct options *o, const char *path, bool check_only, uint64_t *ret_bytes, struct err *e)
{
	struct progress_tty progress;
	int r;

	progress_tty_init(&progress, o->progress, o->base.quiet);
	r = image_remove(o->base.operands[0], path, check_only, &progress.progress, ret_bytes, e);
	progress_tty_end(&progress);
	return r;
}

int verb_remove(const struct options *o)
{
	char buf[NTFSVOL_PATH_MAX];
	const char *path = verb_image_path(o, buf);
	struct err e = ERR_INIT;
	uint64_t bytes = 0;
	bool ask = !o->yes && !o->base.dry_run;
	int r;

	if (ask && !isatty(STDIN_FILENO)) {
		progout_print(stderr, "wubi-disk: remove: there is no terminal to ask on: use --yes to remove "
			     "'%s'\n", path);
		return PROGOUT_USAGE;
	}
	r = run(o, path, true, &bytes, &e);
	if (!r && ask)
		r = confirm(o, path, bytes, &e);
	if (!r && signals_pending())
		r = err_set(&e, -ECANCELED, "interrupted before anything was removed");
	if (!r && !o->base.dry_run)
		r = run(o, path, false, &bytes, &e);
	return r ? progout_fail(&o->base, &e, NULL) : print_removed(o, path, bytes);
}
