/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wubi-attach - run once from the initramfs: from the maps in it to the devices that root, home and swap are on. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach_console.h"
#include "attach_report.h"
#include "boot.h"
#include "bootargs.h"
#include "progmain.h"
#include "progout.h"

#define CMDLINE_MAX 16384 /* COMMAND_LINE_SIZE is 2048 on x86, more elsewhere */

struct attach_options {
	struct optrows_base base;
	const char *maps;
	const char *cmdline;
	const char *run_dir;
	const char *root_conf;
	uint64_t timeout_s; /* 0: not given */
	bool console;
	bool print_root;
};

#define FIELD(f) offsetof(struct attach_options, f)

static int check_timeout(const char *value, struct err *e)
{
	char text[64];
	struct bootargs a;

	(void)snprintf(text, sizeof(text), "wubi.timeout=%.40s", value);
	bootargs_parse(text, &a);
	return a.problem_count ? err_set(e, -EINVAL, "'%s' is no number of seconds up to %d", value, BOOTARGS_TIMEOUT_MAX_S) : 0;
}

static const struct optrows_option rows[] = {
	{ "maps", 'm', "DIR", "the folder of the maps (default /etc/wubi/maps)", 1, 0, 0, OPTROWS_TEXT, FIELD(maps), NULL },
	{ "cmdline", 'c', "FILE", "the kernel's command line (default /proc/cmdline)", 1, 0, 0, OPTROWS_TEXT,
	  FIELD(cmdline), NULL },
	{ "run-dir", 0, "DIR", "where boot.json and boot.log go (default /run/wubi)", 1, 0, 0, OPTROWS_TEXT, FIELD(run_dir),
	  NULL },
	{ "timeout", 't', "SECONDS", "how long the disk may take to appear (default 30); wubi.timeout= goes before it", 1, 0,
	  0, OPTROWS_COUNT, FIELD(timeout_s), check_timeout },
	{ "console", 0, NULL, "tell it on /dev/console and in the kernel's log, not on standard error", 1, 0, 0,
	  OPTROWS_FLAG, FIELD(console), NULL },
	{ "root-conf", 0, "FILE", "add ROOT=DEVICE to it when loop= says what root is", 1, 0, 0, OPTROWS_TEXT,
	  FIELD(root_conf), NULL },
	{ "print-root", 0, NULL, "print the device that loop= makes root, nothing without loop=; attach nothing", 1, 0, 0,
	  OPTROWS_FLAG, FIELD(print_root), NULL },
	OPTROWS_DRY_RUN(1),
	OPTROWS_JSON(1),
	OPTROWS_QUIET(1, "errors only"),
	OPTROWS_STANDARD(1),
};

static const struct optrows_verb verbs[] = {
	{ 1, "", "", 0, 0, "", "", NULL },
};

/* Without it there are no parameters, and root is what the map named root leads to. */
static void read_cmdline(const char *path, char ret[CMDLINE_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got = 1;

	while (fd >= 0 && got > 0 && n < CMDLINE_MAX - 1) {
		got = read(fd, ret + n, CMDLINE_MAX - 1 - n);
		n += got > 0 ? (size_t)got : 0;
	}
	ret[n] = '\0';
	if (fd >= 0)
		(void)close(fd); /* it was only read */
}

static bool is_any_attached(const struct boot_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->maps[i].device[0])
			return true;
	return false;
}

/* What is left behind must not decide about the boot: a failure is told, that is all. */
static void leave_reports(const struct attach_options *o, const struct bootargs *a, const struct boot_result *r,
			  struct console *c)
{
	struct err e = ERR_INIT;
	int code = 0;

	if (is_any_attached(r) && !a->resume)
		code = report_forbid_hibernation(o->run_dir, &e);
	if (code)
		console_say(c, BOOT_WARN, e.text);
	if (report_write(o->run_dir, r, console_log(c), &e))
		console_say(c, BOOT_WARN, e.text);
}

static int tell(const struct attach_options *o, const struct boot_result *r, int code, const struct err *e)
{
	int status = code ? progout_status_of(e) : PROGOUT_DONE;

	if (o->base.json && progout_json(report_json(r)) != PROGOUT_DONE && status == PROGOUT_DONE)
		status = PROGOUT_FAILED;
	return status;
}

static int print_root(const struct boot_params *par, struct console *c)
{
	char device[BOOT_DEVICE_MAX];
	struct err e = ERR_INIT;

	if (boot_root_of_loop(par, device, &e)) {
		console_say(c, BOOT_ERROR, e.text);
		return PROGOUT_FAILED;
	}
	if (device[0])
		progout_print(stdout, "%s\n", device);
	return PROGOUT_DONE;
}

static int run_boot(const struct attach_options *o, const struct boot_params *par, struct console *c)
{
	__attribute__((cleanup(auto_boot_result))) struct boot_result r = { .count = 0 };
	struct err e = ERR_INIT, why = ERR_INIT;
	int code = boot_run(par, &r, &e);

	if (code && !c->errors) /* else the map that root needs has been told */
		console_say(c, BOOT_ERROR, e.text);
	if (!code && !o->base.dry_run && o->root_conf && r.root_device[0]) {
		code = report_root(o->root_conf, r.root_device, &why);
		if (code) {
			console_say(c, BOOT_ERROR, why.text);
			e = why;
		}
	}
	if (!o->base.dry_run)
		leave_reports(o, par->args, &r, c);
	return tell(o, &r, code, &e);
}

static int run(const void *options)
{
	const struct attach_options *o = options;
	char text[CMDLINE_MAX];
	struct bootargs a;
	struct console c;
	struct boot_params par = {
		.maps_dir = o->maps,
		.args = &a,
		.dry_run = o->base.dry_run,
		.say = console_say,
		.ctx = &c,
	};
	int status;

	console_open(o->console, o->base.quiet, &c);
	read_cmdline(o->cmdline, text);
	bootargs_parse(text, &a);
	for (size_t i = 0; i < a.problem_count; i++)
		console_say(&c, BOOT_WARN, a.problems[i]);
	par.timeout_s = a.timeout_given ? a.timeout_s : o->timeout_s ? (unsigned)o->timeout_s : BOOT_TIMEOUT_S;
	status = o->print_root ? print_root(&par, &c) : run_boot(o, &par, &c);
	console_close(&c);
	return status;
}

static int finish(void *options, struct err *e)
{
	struct attach_options *o = options;

	(void)e; /* nothing to refuse */
	o->maps = o->maps ? o->maps : "/etc/wubi/maps";
	o->cmdline = o->cmdline ? o->cmdline : "/proc/cmdline";
	o->run_dir = o->run_dir ? o->run_dir : "/run/wubi";
	return 0;
}

static const struct optrows_program program = {
	.name = "wubi-attach",
	.about = "Attaches the images that the maps name, as /dev/mapper/wubi-NAME: finds their volume by what is on it, "
		 "compares the maps with its MFT, and refuses what is not safe. Runs in the initramfs; running it again "
		 "changes nothing.",
	.options = rows,
	.option_count = sizeof(rows) / sizeof(rows[0]),
	.verbs = verbs,
	.verb_count = 1,
	.options_bytes = sizeof(struct attach_options),
	.finish = finish,
	.run = run,
};

int main(int argc, char **argv)
{
	struct attach_options o;

	return progmain(&program, argc, argv, &o);
}
