/* SPDX-License-Identifier: GPL-2.0-or-later */
/* set, reset and apply: what changes what is in force. */
#include <stdio.h>

#include "output.h"
#include "progout.h"
#include "verbs.h"

static const char *status_text(const struct options *o, const struct profctl_result *r)
{
	if (!r->changed)
		return "unchanged";
	return o->base.dry_run ? "dry-run" : "done";
}

static int print_json(const struct options *o, const struct profctl_result *r)
{
	struct jsonout *root = jsonout_object();

	jsonout_add_string(root, "status", status_text(o, r));
	jsonout_add_string(root, "profile", r->profile);
	if (o->base.verb == VERB_SET) {
		jsonout_add_string(root, "phase", profile_phase_name(o->phase));
		jsonout_add_string(root, "root", *o->root ? o->root : NULL);
	}
	output_knobs_json(root, &r->knobs);
	output_mounts_json(root, &r->now);
	output_notes_json(root, &r->notes);
	return progout_json(root);
}

/* A dry run knows the kernel's values, and of the mounts only how they are. */
static void print_values(const struct options *o, const struct profctl_result *r)
{
	output_knobs("  ", &r->knobs);
	for (size_t i = 0; i < r->now.mount_count && !o->base.dry_run; i++)
		progout_print(stdout, "  %s: %s\n", r->now.mounts[i].target, r->now.mounts[i].options);
}

static void print_set(const struct options *o, const struct profctl_result *r)
{
	const char *name = r->profile ? r->profile : o->base.operands[0];
	const char *would = o->base.dry_run ? "would be " : "";

	if (o->phase == PROFILE_ISO_COPY) {
		progout_print(stdout, "'%s' %s%s for ISO copies; 'wubi-profile run' and the installer put it in force\n", name,
			      would, o->base.dry_run || r->changed ? "recorded" : "recorded already");
	} else if (*o->root) {
		progout_print(stdout, "'%s' %swritten below '%s', in force when that system starts\n", name, would, o->root);
	} else {
		progout_print(stdout, "'%s' %s in force, now and after every start\n", name,
			      !r->changed ? "is already" : o->base.dry_run ? "would be" : "is");
		print_values(o, r);
	}
}

static void print_reset(const struct options *o, const struct profctl_result *r)
{
	if (!r->changed) {
		progout_print(stdout, "nothing to do: no profile was set\n");
		return;
	}
	progout_print(stdout, "what was in force before the first 'set' %s so again\n", o->base.dry_run ? "would be" : "is");
	if (!o->base.dry_run)
		print_values(o, r);
}

static void print_apply(const struct options *o, const struct profctl_result *r)
{
	if (!r->profile) {
		progout_print(stdout, "nothing to do: no profile was chosen\n");
		return;
	}
	progout_print(stdout, "'%s' is in force\n", r->profile);
	print_values(o, r);
}

static int print_result(const struct options *o, const struct profctl_result *r)
{
	/* with --quiet, too: a profile of which a part was left out is not the whole profile */
	output_notes(&r->notes);
	if (o->base.json)
		return print_json(o, r);
	if (o->base.quiet)
		return PROGOUT_DONE;
	if (o->base.verb == VERB_SET)
		print_set(o, r);
	else if (o->base.verb == VERB_RESET)
		print_reset(o, r);
	else
		print_apply(o, r);
	if (o->base.dry_run)
		progout_print(stdout, "dry run: nothing was changed\n");
	return PROGOUT_DONE;
}

int verb_set(const struct options *o)
{
	const struct profctl_params par = verb_params(o);
	struct profctl_result r = { .profile = NULL };
	struct err e = ERR_INIT;

	if (profctl_set(&par, o->base.operands[0], o->phase, &r, &e))
		return progout_fail(&o->base, &e, NULL);
	return print_result(o, &r);
}

int verb_reset(const struct options *o)
{
	const struct profctl_params par = verb_params(o);
	struct profctl_result r = { .profile = NULL };
	struct err e = ERR_INIT;

	if (profctl_reset(&par, &r, &e))
		return progout_fail(&o->base, &e, NULL);
	return print_result(o, &r);
}

int verb_apply(const struct options *o)
{
	const struct profctl_params par = verb_params(o);
	struct profctl_result r = { .profile = NULL };
	struct err e = ERR_INIT;

	if (profctl_apply(&par, &r, &e))
		return progout_fail(&o->base, &e, NULL);
	return print_result(o, &r);
}
