/* SPDX-License-Identifier: GPL-2.0-or-later */
/* status: what is chosen, what is in force, where they differ and why, and what a power cut may cost. */
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "output.h"
#include "progout.h"
#include "verbs.h"

static const char *phase_profile(const struct profctl_status *s, enum profile_phase p)
{
	return *s->choice.profile[p] ? s->choice.profile[p] : s->conf.phase[p];
}

/* Where no file system is ours there is no window to keep: nobody can tell what the others do. */
static bool keeps(const struct profctl_status *s)
{
	return s->now.mount_count == 0 || s->window_is_kept;
}

static bool agrees(const struct profctl_status *s)
{
	return s->difference_count == 0 && !s->phase_is_stale && s->is_chosen && keeps(s);
}

/* Does the profile want mount options where there are none of ours? */
static bool lacks_mounts(const struct profctl_status *s)
{
	return s->now.mount_count == 0 && *s->expected->mount;
}

static void add_phase_json(struct jsonout *root, const struct profctl_status *s)
{
	struct jsonout *phases = jsonout_add_object(root, "phase"), *running;

	for (int i = 0; i < PROFILE_PHASES; i++)
		jsonout_add_string(phases, profile_phase_name((enum profile_phase)i), phase_profile(s, (enum profile_phase)i));
	if (!s->phase_runs && !s->phase_is_stale) {
		jsonout_add_string(root, "running_phase", NULL);
		return;
	}
	running = jsonout_add_object(root, "running_phase");
	jsonout_add_u64(running, "pid", (uint64_t)s->phase_pid);
	jsonout_add_bool(running, "stale", s->phase_is_stale);
}

static int print_json(const struct profctl_status *s)
{
	struct report notes = { .count = 0 };
	struct jsonout *root = jsonout_object(), *array;

	jsonout_add_string(root, "profile", s->expected->name);
	jsonout_add_bool(root, "chosen", s->is_chosen);
	add_phase_json(root, s);
	output_knobs_json(root, &s->now.knobs);
	output_mounts_json(root, &s->now);
	output_window_json(root, &s->window, &s->window_is_kept);
	array = jsonout_add_array(root, "differences");
	for (size_t i = 0; i < s->difference_count; i++) {
		struct jsonout *item = jsonout_add_object(array, NULL);

		jsonout_add_string(item, "what", s->differences[i].what);
		jsonout_add_string(item, "wanted", s->differences[i].wanted);
		jsonout_add_string(item, "seen", s->differences[i].seen);
		jsonout_add_string(item, "who", *s->differences[i].who ? s->differences[i].who : NULL);
	}
	profctl_note_images(s->expected, &s->now, &notes);
	output_notes_json(root, &notes);
	return progout_json(root);
}

static void print_choice(const struct profctl_status *s)
{
	progout_print(stdout, "profile   %s", s->expected->name);
	if (s->phase_runs)
		progout_print(stdout, ", while process %lld runs; then %s", (long long)s->phase_pid,
			      phase_profile(s, PROFILE_NORMAL));
	progout_print(stdout, "%s\n", s->is_chosen ? "" : ": the default, none was chosen ('wubi-profile set NAME')");
	if (s->phase_is_stale)
		progout_print(stdout, "          process %lld was killed while it had another profile in force: 'wubi-profile "
			      "reset' or 'set' puts that right\n", (long long)s->phase_pid);
	progout_print(stdout, "iso copy  %s%s\n", phase_profile(s, PROFILE_ISO_COPY),
		      *s->choice.profile[PROFILE_ISO_COPY] ? "" : " (the default)");
}

static void print_in_force(const struct profctl_status *s)
{
	progout_print(stdout, "kernel\n");
	output_knobs("  ", &s->now.knobs);
	progout_print(stdout, "mounts\n");
	for (size_t i = 0; i < s->now.mount_count; i++)
		progout_print(stdout, "  %s: %s\n", s->now.mounts[i].target, s->now.mounts[i].options);
	if (s->now.mount_count == 0)
		progout_print(stdout, "  none from an image%s\n",
			      lacks_mounts(s) ? ", so that the profile's mount options do not apply" : "");
}

/* Without a file system of ours nobody can tell what the others do. */
static void print_window(const struct profctl_status *s)
{
	char text[OUTPUT_WINDOW_TEXT], promised[OUTPUT_TIME_TEXT];

	progout_print(stdout, "loss      %s\n", output_window(&s->window, text));
	if (s->now.mount_count == 0)
		progout_print(stdout, "          (for an ext4 with its default options)\n");
	if (!s->window_is_kept)
		progout_print(stdout, "          '%s' promises %s\n", s->expected->name, s->expected->loss_ms ?
			      output_time(s->expected->loss_ms, promised) : "that nothing is lost that returned");
}

static void print_differences(const struct profctl_status *s)
{
	progout_print(stdout, "%s\n", s->difference_count ? "differs" : "differs   nothing");
	for (size_t i = 0; i < s->difference_count; i++) {
		const struct profctl_difference *d = &s->differences[i];

		progout_print(stdout, "  %s: %s; should be: %s%s%s\n", d->what, d->seen, d->wanted, *d->who ? "; by: " : "",
			      d->who);
	}
}

int verb_status(const struct options *o)
{
	AUTO_FREE struct profctl_status *s = calloc(1, sizeof(*s)); /* big: a path for each mount and difference */
	const struct profctl_params par = verb_params(o);
	struct err e = ERR_INIT;
	int printed = PROGOUT_DONE;

	if (!s)
		(void)err_errno(&e, "status");
	if (!s || profctl_status(&par, s, &e))
		return progout_fail(&o->base, &e, NULL);
	if (o->base.json) {
		printed = print_json(s);
	} else if (!o->base.quiet) {
		print_choice(s);
		print_in_force(s);
		print_window(s);
		print_differences(s);
	}
	return agrees(s) ? printed : PROGOUT_FAILED;
}
