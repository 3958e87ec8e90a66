/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wubi-install - from a live system to Linux in one file beside Windows. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "install_list.h"
#include "install_verbs.h"
#include "progmain.h"
#include "progout.h"
#include "signals.h"

struct face {
	const struct install_options *o;
	struct progress_tty progress;
};

static void tell(void *ctx, const char *text)
{
	struct face *f = ctx;

	progress_tty_end(&f->progress);
	if (!f->o->base.quiet)
		progout_print(stderr, "* %s\n", text);
}

static bool interrupted(void *ctx)
{
	(void)ctx;
	return signals_pending();
}

static void host_of(struct face *f, const struct install_options *o, struct install_host *ret)
{
	f->o = o;
	progress_tty_init(&f->progress, o->progress, o->base.quiet);
	*ret = (struct install_host){ .progress = &f->progress.progress, .tell = tell, .interrupted = interrupted, .ctx = f };
}

static int fail(const struct install_options *o, const struct err *e, const struct report *findings)
{
	return progout_fail(&o->base, e, findings);
}

static bool asks(const struct install_options *o)
{
	return !o->yes && isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* ---- list ---- */

static int list(const struct install_options *o)
{
	__attribute__((cleanup(auto_volumes))) struct volumes v = { .count = 0 };
	const char *disks[OPTROWS_OPERANDS_MAX + 1] = { NULL };
	struct err e = ERR_INIT;
	struct jsonout *root;

	for (size_t i = 0; i < o->base.operand_count; i++)
		disks[i] = o->base.operands[i];
	if (volumes_scan(o->base.operand_count ? disks : NULL, o->size_bytes, &v, &e))
		return fail(o, &e, NULL);
	if (!o->base.json) {
		install_list_text(stdout, &v);
		return PROGOUT_DONE;
	}
	root = jsonout_object();
	install_list_json(root, &v);
	return progout_json(root);
}

/* ---- remove and repair ---- */

static int confirm(const struct install_options *o, const char *what, struct err *e)
{
	if (o->yes || o->base.dry_run)
		return 0;
	if (!asks(o))
		return err_set(e, -EINVAL, "there is no terminal to ask on: --yes does it without asking");
	return install_ask_yes(what, e);
}

static int remove_system(const struct install_options *o, struct install_params *par)
{
	struct install_removed found, done;
	struct install_host h;
	struct err e = ERR_INIT;
	struct face f;
	int code;

	host_of(&f, o, &h);
	par->check_only = true; /* first a look, which unmounts nothing */
	code = install_remove(par, &h, &found, &e);
	progress_tty_end(&f.progress);
	if (code == -EPERM && par->conf.unmount && !o->base.dry_run && !strcmp(e.reason, "mounted"))
		code = 0; /* it is unmounted when it is wanted */
	else if (!code && !o->base.json)
		(void)install_show_removed(o, &found, false);
	if (code)
		return fail(o, &e, NULL);
	if (o->base.dry_run)
		return o->base.json ? install_show_removed(o, &found, false) : PROGOUT_DONE;
	code = confirm(o, "remove it with all its files", &e);
	if (code)
		return progout_fail_request(&o->base, &e, NULL);
	par->check_only = false;
	code = install_remove(par, &h, &done, &e);
	progress_tty_end(&f.progress);
	return code ? fail(o, &e, NULL) : install_show_removed(o, &done, true);
}

static int repair_system(const struct install_options *o, struct install_params *par)
{
	struct install_repaired done;
	struct install_host h;
	struct err e = ERR_INIT;
	struct face f;
	int code;

	host_of(&f, o, &h);
	par->check_only = o->base.dry_run;
	code = install_repair(par, &h, &done, &e);
	progress_tty_end(&f.progress);
	return code ? fail(o, &e, NULL) : install_show_repaired(o, &done);
}

/* ---- install ---- */

static int run_plan(const struct install_options *o, const struct install_params *par, struct install_plan *p,
		    const struct install_host *h, struct face *f)
{
	struct err e = ERR_INIT;
	uint16_t number = 0;
	int code;

	if (!o->base.json && !o->base.quiet)
		install_show_plan(par, p);
	if (p->report.count) {
		(void)report_refuse(&p->report, &e);
		return fail(o, &e, &p->report);
	}
	if (o->base.dry_run)
		return o->base.json ? progout_json(install_show_plan_json(par, p, "dry-run")) : PROGOUT_DONE;
	code = progout_flush(&e);
	if (!code)
		code = confirm(o, "install", &e);
	if (code)
		return progout_fail_request(&o->base, &e, NULL);
	code = install_run(par, p, h, &number, &e);
	progress_tty_end(&f->progress);
	return code ? fail(o, &e, NULL) : install_show_done(o, par, p, number);
}

/* What the configuration does not say, once it is known that it is needed. */
static int ask_rest(const struct install_options *o, struct install_params *par, const struct install_plan *p, struct err *e)
{
	int code = 0;

	if (!asks(o) || !install_plan_copies(p) || p->report.count)
		return 0;
	if (!par->conf.size_bytes)
		code = install_ask_size(p, &par->conf, e);
	return code ? code : install_ask_user(&par->conf, e);
}

static int install_system(const struct install_options *o, struct install_params *par)
{
	AUTO(install_plan) struct install_plan *p = NULL;
	struct err e = ERR_INIT;
	struct install_host h;
	struct face f;
	int code = asks(o) && !par->conf.volume[0] ? install_ask_volume(&par->conf, &e) : 0;

	host_of(&f, o, &h);
	par->check_only = o->base.dry_run;
	if (!code)
		code = install_plan_make(par, &h, &p, &e);
	progress_tty_end(&f.progress);
	if (!code)
		code = ask_rest(o, par, p, &e);
	if (!code)
		code = install_plan_settle(par, p, &h, &e);
	progress_tty_end(&f.progress);
	return code ? fail(o, &e, NULL) : run_plan(o, par, p, &h, &f);
}

int install_verbs_run(const struct install_options *o)
{
	struct install_params par = { .disks = NULL };
	struct err e = ERR_INIT;

	signals_install(!o->list);
	if (o->list)
		return list(o);
	if (install_options_merge(o, &par.conf, &e))
		return progout_fail_request(&o->base, &e, NULL);
	if (geteuid() != 0) {
		(void)err_set(&e, -EACCES, "only root can do this: sudo wubi-install");
		return fail(o, &e, NULL);
	}
	par.is_existing = o->remove || o->repair;
	par.root = o->root;
	if (o->remove)
		return remove_system(o, &par);
	return o->repair ? repair_system(o, &par) : install_system(o, &par);
}

int main(int argc, char **argv)
{
	struct install_options o;

	return progmain(&install_options_program, argc, argv, &o);
}
