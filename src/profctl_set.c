/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Choosing a profile, going back to none, and what a boot does. A kill at any point leaves what status tells and reset, or
 * the next boot, puts right: what was before is saved first; then the settings; then the files, the choice last. Going back:
 * the settings first, what was saved is removed last. A boot that finds something saved and no choice completes a reset.
 */
#include "profctl_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "vmknobs.h"

struct job { /* putting one profile in force */
	const struct profctl_params *par;
	struct profctl_result *result;
	const struct profile *profile;     /* in result->conf */
	const struct conf_choice *choice;  /* as it shall be; NULL: it stays, and so do GRUB's files */
	struct profset now, saved;
	bool is_saved;
	struct profset_change change;
	struct profile_knobs wanted;       /* for the file: what another file has, 'change' leaves alone */
};

/* ---- the files ---- */

static int put_choice(const struct profctl_params *par, struct profctl_files *f, const struct conf_choice *choice,
		      bool *ret_changed, struct err *e)
{
	AUTO_FREE char *text = NULL;
	int r = conf_choice_format(choice, &text, e);

	return r ? r : profctl_put(par, f, PROFCTL_CHOICE, text, ret_changed, e);
}

static int put_files(struct job *j, struct profctl_files *f, struct err *e)
{
	AUTO_FREE char *sysctl = NULL, *rootflags = NULL;
	bool changed = false;
	int r = profctl_sysctl_text(&j->wanted, j->profile->name, &sysctl, e);

	if (!r)
		r = profctl_put(j->par, f, PROFCTL_SYSCTL, sysctl, &changed, e);
	j->result->changed = j->result->changed || changed;
	if (r || !j->choice)
		return r;
	if (profctl_is_elsewhere(j->par) || profctl_has_root(&j->now))
		r = profctl_rootflags_text(j->profile, &rootflags, e);
	if (!r)
		r = profctl_put_grub(j->par, f, rootflags, false, j->result, e);
	if (!r)
		r = put_choice(j->par, f, j->choice, &changed, e);
	j->result->changed = j->result->changed || changed;
	return r;
}

/* After a failure: files, GRUB's configuration, and the settings (before NULL: none) as they were. Returns r, the text in why. */
static int undo(const struct profctl_params *par, struct profctl_files *f, const struct profset *before, int r, struct err *why)
{
	struct err more = ERR_INIT;
	bool ignored, with_grub = false;
	int back;

	for (size_t i = 0; i < f->count; i++)
		with_grub = with_grub || strstr(f->items[i].path, PROFCTL_GRUB);
	back = profctl_files_undo(f, &more);
	if (!back && with_grub && !profctl_is_elsewhere(par))
		back = profctl_update_grub(par, &ignored, &more);
	if (before && profset_restore(before, &ignored, back ? NULL : &more) && !back)
		back = more.code;
	if (!back)
		return r;
	return err_set(why, r, "%.300s; and not all could be set back: %.200s; 'wubi-profile status' shows what is in force, "
		       "'wubi-profile reset' tries again", why->text, more.text);
}

/* ---- a profile ---- */

static int put_in_force(struct job *j, struct err *e)
{
	__attribute__((cleanup(auto_profctl_files))) struct profctl_files files = { .count = 0 };
	bool elsewhere = profctl_is_elsewhere(j->par);
	struct err why = ERR_INIT;
	int r = elsewhere ? 0 : profset_apply(&j->change, &j->now, &why);

	if (!r) {
		r = put_files(j, &files, &why);
		if (r)
			r = undo(j->par, &files, elsewhere ? NULL : &j->now, r, &why);
	}
	if (r)
		return err_set(e, r, "%s", why.text);
	return elsewhere ? 0 : profset_read(&j->result->now, e);
}

/* Everything that can be known before something is changed. */
static int plan(struct job *j, struct err *e)
{
	struct profile_machine machine;
	int r = profctl_machine(j->par, j->profile, &j->now, &machine, e);

	/* at boot the mounts are as fstab says, which may be newer than what is saved */
	if (!r)
		r = profset_plan(j->profile, &machine, j->is_saved && j->choice ? &j->saved : NULL, &j->now, &j->change, e);
	if (r)
		return r;
	j->wanted = j->change.knobs;
	/* at boot the administrator's own file wins, as it does without us; a set is for now, whatever comes later */
	profctl_note_later(j->par, j->choice ? NULL : &j->now.knobs, &j->change.knobs, &j->result->notes);
	j->result->knobs = j->change.knobs;
	j->result->now = j->now;
	if (j->choice)
		profctl_note_boot(j->par, &j->result->notes);
	if (profctl_is_elsewhere(j->par))
		return 0;
	if (profset_is_changing(&j->change, &j->now))
		j->result->changed = true;
	r = profctl_note_mounts(j->profile, j->is_saved ? &j->saved : NULL, &j->now, &j->result->notes, e);
	return r ? r : profset_check(&j->change, e);
}

static int settle(const struct profctl_params *par, bool *ret_changed, struct err *e)
{
	struct profctl_run run;
	int r;

	if (!par->check_only)
		return profctl_run_settle(par, ret_changed, e);
	r = profctl_run_read(par, &run, e);
	return r || run.state != PROFCTL_RUN_LIVE ? r : profctl_run_refuse(&run, e);
}

/* Under the lock. saves: this is a set, whose first one keeps what was before. */
static int put_here(struct job *j, bool saves, struct err *e)
{
	int r = vmknobs_check_writable(e);

	if (!r)
		r = settle(j->par, &j->result->changed, e);
	if (!r)
		r = profset_read(&j->now, e);
	if (!r)
		r = profctl_saved_read(j->par, &j->is_saved, &j->saved, e);
	if (!r)
		r = plan(j, e);
	if (r || j->par->check_only)
		return r;
	if (saves && !j->is_saved)
		r = profctl_saved_write(j->par, &j->now, e);
	if (r)
		return r;
	r = put_in_force(j, e);
	/* it stays when it is still needed; and one that could not be removed does no harm, for nothing is chosen */
	if (r && saves && !j->is_saved && profset_is_in_force(&j->now))
		(void)profctl_remove(j->par, PROFCTL_SAVED, NULL);
	return r;
}

static int put_elsewhere(struct job *j, struct err *e)
{
	int r = plan(j, e);

	return r || j->par->check_only ? r : put_in_force(j, e);
}

static int record_choice(const struct profctl_params *par, const struct conf_choice *choice, struct profctl_result *res,
			 struct err *e)
{
	__attribute__((cleanup(auto_profctl_files))) struct profctl_files files = { .count = 0 };

	return par->check_only ? 0 : put_choice(par, &files, choice, &res->changed, e);
}

/* Hands the result over; name is one of res->conf's, which is copied. */
static int deliver(const struct profctl_result *res, const char *name, struct profctl_result *ret)
{
	*ret = *res;
	ret->profile = name ? conf_find(&ret->conf, name)->name : NULL;
	return 0;
}

static bool is_same_amount(const struct profile_amount *a, const struct profile_amount *b)
{
	return a->unit == b->unit && a->value == b->value;
}

/* Only the name is kept: it has to mean the same where every later boot looks. */
static int check_conf(const struct profctl_params *par, const struct profile *p, struct err *e)
{
	const struct profctl_params usual = { .root = par->root };
	AUTO_FREE struct conf *conf = calloc(1, sizeof(*conf));
	const struct profile *there;
	char path[PATH_MAX];
	int r = conf ? profctl_path(par, CONF_DEFAULT, path, e) : err_set(e, -ENOMEM, "out of memory");

	if (!r)
		r = profctl_conf_read(&usual, conf, e);
	if (r)
		return r;
	there = conf_find(conf, p->name);
	if (there && strcmp(there->mount, p->mount) == 0 && is_same_amount(&there->dirty, &p->dirty) &&
	    is_same_amount(&there->background, &p->background) && there->expire_cs == p->expire_cs &&
	    there->writeback_cs == p->writeback_cs && there->loss_ms == p->loss_ms)
		return 0;
	return err_refuse(e, "conf-elsewhere", "'%.300s': only the name '%s' would be kept, and '%.300s', where each boot looks, "
			  "%s: write the profile there, then 'set' without --conf", par->conf, p->name, path,
			  there ? "has another profile of that name" : "has none of that name");
}

/* Under the lock. *ret: in conf. */
static int read_choice(const struct profctl_params *par, const char *name, struct conf *conf, struct conf_choice *choice,
		       const struct profile **ret, struct err *e)
{
	int r = profctl_conf_read(par, conf, e);

	if (!r)
		r = profctl_find(conf, name, par->conf ? par->conf : CONF_DEFAULT, ret, e);
	if (!r && par->conf)
		r = check_conf(par, *ret, e);
	return r ? r : profctl_choice_read(par, choice, e);
}

int profctl_set(const struct profctl_params *par, const char *name, enum profile_phase phase, struct profctl_result *ret,
		struct err *e)
{
	struct profctl_result res = { .changed = false };
	struct conf_choice choice;
	struct job j = { .par = par, .result = &res, .choice = &choice };
	AUTO_FD int lock = -1;
	int r = profctl_lock(par, &lock, e); /* before the choice is read: another one may be about to change it */

	if (!r)
		r = read_choice(par, name, &res.conf, &choice, &j.profile, e);
	if (r)
		return r;
	if (strcmp(choice.profile[phase], j.profile->name) != 0)
		res.changed = true;
	(void)snprintf(choice.profile[phase], sizeof(choice.profile[phase]), "%s", j.profile->name);
	if (phase != PROFILE_NORMAL)
		r = record_choice(par, &choice, &res, e);
	else
		r = profctl_is_elsewhere(par) ? put_elsewhere(&j, e) : put_here(&j, true, e);
	return r ? r : deliver(&res, j.profile->name, ret);
}

/* ---- back to no profile ---- */

/* The settings. *ret_before: what they were until then. */
static int reset_settings(const struct profctl_params *par, struct profctl_result *res, struct profset *ret_before, struct err *e)
{
	const struct profset *target = NULL;
	struct profset_change change;
	struct profctl_run run;
	struct profset saved;
	bool is_saved = false;
	int r = profctl_run_read(par, &run, e);

	if (!r && run.state == PROFCTL_RUN_LIVE)
		r = profctl_run_refuse(&run, e);
	if (!r)
		r = profset_read(ret_before, e);
	if (!r)
		r = profctl_saved_read(par, &is_saved, &saved, e);
	if (r)
		return r;
	if (is_saved)
		target = &saved;
	else if (run.state == PROFCTL_RUN_STALE && !run.is_broken)
		target = &run.before;
	if (target)
		r = profset_plan_back(target, ret_before, &change, e);
	if (!r && target)
		r = par->check_only ? profset_check(&change, e) : profset_apply(&change, ret_before, e);
	if (!r)
		r = profctl_note_reboot("", target, ret_before, &res->notes, e);
	if (!r)
		res->changed = is_saved || run.state == PROFCTL_RUN_STALE || (target && profset_is_changing(&change, ret_before));
	return r;
}

static int remove_files(const struct profctl_params *par, bool at_boot, struct profctl_files *f, struct profctl_result *res,
			struct err *e)
{
	bool changed = false;
	int r = profctl_put(par, f, PROFCTL_SYSCTL, NULL, &changed, e);

	if (!r) {
		res->changed = res->changed || changed;
		r = profctl_put_grub(par, f, NULL, at_boot, res, e);
	}
	if (!r)
		r = profctl_put(par, f, PROFCTL_CHOICE, NULL, &changed, e);
	res->changed = res->changed || changed;
	/* in this order: a killed run's file without what is saved would bring back what was before that run */
	if (!r && !profctl_is_elsewhere(par))
		r = profctl_remove(par, PROFCTL_PHASE, e);
	return r ? r : profctl_remove(par, PROFCTL_SAVED, e);
}

/* What a profile left of itself without what was before: a system that was set up in a folder. */
static int note_unsaved(const struct profctl_params *par, struct profctl_result *res, struct err *e)
{
	AUTO_FREE char *saved = NULL, *sysctl = NULL;
	int r = profctl_read(par, PROFCTL_SAVED, &saved, e);

	if (!r)
		r = profctl_read(par, PROFCTL_SYSCTL, &sysctl, e);
	if (!r && !saved && sysctl)
		report_add(&res->notes, "nothing-saved", "what was in force before is not known: the next boot brings the "
			   "system's own values, until then those of the profile stay");
	return r;
}

/* Under the lock. at_boot: update-grub is not run. */
static int reset_all(const struct profctl_params *par, bool at_boot, struct profctl_result *ret, struct err *e)
{
	__attribute__((cleanup(auto_profctl_files))) struct profctl_files files = { .count = 0 };
	struct profctl_result res = { .changed = false };
	bool elsewhere = profctl_is_elsewhere(par);
	struct profset before = { .mount_count = 0 };
	struct err why = ERR_INIT;
	int r = elsewhere ? 0 : vmknobs_check_writable(e);

	if (!r && !elsewhere)
		r = note_unsaved(par, &res, e);
	if (!r && !elsewhere)
		r = reset_settings(par, &res, &before, e);
	if (!r && !par->check_only) {
		r = remove_files(par, at_boot, &files, &res, &why);
		if (r) {
			r = undo(par, &files, elsewhere ? NULL : &before, r, &why);
			return err_set(e, r, "%s", why.text);
		}
	}
	if (!r && !elsewhere)
		r = profset_read(&res.now, e);
	res.knobs = res.now.knobs;
	return r ? r : deliver(&res, NULL, ret);
}

int profctl_reset(const struct profctl_params *par, struct profctl_result *ret, struct err *e)
{
	AUTO_FD int lock = -1;
	int r = profctl_lock(par, &lock, e);

	return r ? r : reset_all(par, false, ret, e);
}

/* ---- at boot ---- */

static int apply_none(const struct profctl_params *par, struct profctl_result *ret, struct err *e)
{
	struct profctl_result res = { .changed = false };
	AUTO_FREE char *saved = NULL;
	int r = profctl_read(par, PROFCTL_SAVED, &saved, e);

	if (!r && saved) /* a set or reset that was cut short */
		return reset_all(par, true, ret, e);
	if (!r)
		r = profctl_note_grub(par, &res.notes, e);
	if (!r)
		r = profset_read(&res.now, e);
	res.knobs = res.now.knobs;
	return r ? r : deliver(&res, NULL, ret);
}

int profctl_apply(const struct profctl_params *par, struct profctl_result *ret, struct err *e)
{
	struct profctl_result res = { .changed = false };
	struct job j = { .par = par, .result = &res };
	struct conf_choice choice;
	AUTO_FD int lock = -1;
	int r;

	if (profctl_is_elsewhere(par))
		return err_set(e, -EINVAL, "'%s': only the running system can be given its profile", par->root);
	r = profctl_lock(par, &lock, e);
	if (!r)
		r = profctl_choice_read(par, &choice, e);
	if (r)
		return r;
	if (!choice.profile[PROFILE_NORMAL][0])
		return apply_none(par, ret, e);
	r = profctl_conf_read(par, &res.conf, e);
	if (!r)
		r = profctl_find(&res.conf, choice.profile[PROFILE_NORMAL], PROFCTL_CHOICE, &j.profile, e);
	if (!r)
		r = put_here(&j, false, e);
	if (!r)
		r = profctl_note_grub(par, &res.notes, e);
	return r ? r : deliver(&res, j.profile->name, ret);
}
