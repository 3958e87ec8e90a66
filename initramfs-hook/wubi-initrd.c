/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wubi-initrd - can this initramfs boot a system that is in an image on a Windows volume? */
#include <errno.h>
#include <string.h>

#include "initrdcheck.h"
#include "progmain.h"
#include "progout.h"

struct options {
	struct optrows_base base;
	const char *tree;
	const char *kernel;
	const char *maps;
	const char *fstab;
	bool if_needed;
};

enum { VERB_CHECK = 1, VERB_NEEDED = 2, VERB_ALL = 3 };

#define FIELD(f) offsetof(struct options, f)
#define NOT_NEEDED 1 /* 'needed' answers with its exit status; what it cannot tell is no 'no' */

static const struct optrows_option option_rows[] = {
	{ "kernel", 'k', "VERSION", "the kernel that it is for; without it, the one whose modules are in it", VERB_CHECK, 0, 0,
	  OPTROWS_TEXT, FIELD(kernel), NULL },
	{ "tree", 't', "DIR", "an initramfs that is being built, unpacked, instead of an image", VERB_CHECK, 0, 0, OPTROWS_TEXT,
	  FIELD(tree), NULL },
	{ "maps", 'm', "DIR", "the folder of the maps, instead of /etc/wubi/maps", VERB_ALL, 0, 0, OPTROWS_TEXT, FIELD(maps),
	 NULL },
	{ "fstab", 0, "FILE", "the table of file systems, instead of /etc/fstab", VERB_ALL, 0, 0, OPTROWS_TEXT,
	  FIELD(fstab), NULL },
	{ "if-needed", 0, NULL, "do nothing when this system does not need it", VERB_CHECK, 0, 0, OPTROWS_FLAG, FIELD(if_needed),
	 NULL },
	OPTROWS_JSON(VERB_ALL),
	OPTROWS_QUIET(VERB_ALL, "tell errors only"),
	OPTROWS_STANDARD(VERB_ALL),
};

static const struct optrows_verb verb_rows[] = {
	{ VERB_CHECK, "check", "[IMAGE]", 0, 1, "has an initramfs all that it takes to boot from an image?",
	  "Looks for wubi-attach with all libraries that it needs, the kernel's device-mapper, udev's rules for it, every map, "
	  "and what starts wubi-attach. Each lack is told with what to do about it.",
	  "Exit status: 0 all there, 1 could not tell, 2 usage, 3 something is missing." },
	{ VERB_NEEDED, "needed", "", 0, 0, "does this system's initramfs have to attach an image?",
	  "Yes when there is a map, when the root file system is in an image or /etc/fstab says so, or when the kernel's command "
	  "line has loop= of an old Wubi disk.",
	  "Exit status: 0 yes, 1 no, 2 usage, 3 could not tell." },
};

static struct initrdneed_system system_of(const struct options *o)
{
	struct initrdneed_system s = INITRDNEED_SYSTEM;

	if (o->maps)
		s.maps = o->maps;
	if (o->fstab)
		s.fstab = o->fstab;
	return s;
}

static int run_needed(const struct options *o)
{
	struct initrdneed_system s = system_of(o);
	struct initrdneed need;
	struct err e = ERR_INIT;

	if (initrdneed_look(&s, &need, &e)) {
		(void)progout_fail(&o->base, &e, NULL);
		return PROGOUT_REFUSED;
	}
	if (o->base.json) {
		struct jsonout *root = jsonout_object();

		jsonout_add_bool(root, "needed", need.needed);
		jsonout_add_string(root, "why", need.why);
		if (progout_json(root))
			return PROGOUT_REFUSED;
	} else if (!o->base.quiet) {
		progout_print(stdout, "%s: %s\n", need.needed ? "yes" : "no", need.why);
	}
	return need.needed ? PROGOUT_DONE : NOT_NEEDED;
}

static int print_result(const struct options *o, const char *what, const struct initrdcheck_result *result)
{
	if (o->base.json) {
		struct jsonout *root = jsonout_object();

		jsonout_add_string(root, "initramfs", what);
		jsonout_add_string(root, "kernel", *result->kernel ? result->kernel : NULL);
		jsonout_add_u64(root, "maps", result->maps);
		jsonout_add_u64(root, "libraries", result->libraries);
		(void)jsonout_add_array(root, "findings");
		return progout_json(root);
	}
	if (!o->base.quiet)
		progout_print(stdout, "%s: has all that it takes to boot from an image (kernel %s, maps: %zu)\n", what,
			      result->kernel,
			      result->maps);
	return PROGOUT_DONE;
}

static int print_not_needed(const struct options *o, const char *what, const struct initrdneed *need)
{
	if (o->base.json) {
		struct jsonout *root = jsonout_object();

		jsonout_add_string(root, "initramfs", what);
		jsonout_add_bool(root, "needed", false);
		return progout_json(root);
	}
	if (!o->base.quiet)
		progout_print(stdout, "%s: not needed here: %s\n", what, need->why);
	return PROGOUT_DONE;
}

static int run_check(const struct options *o)
{
	struct initrdcheck_params p = {
		.image = o->base.operand_count ? o->base.operands[0] : NULL,
		.tree = o->tree,
		.kernel = o->kernel,
		.modules = INITRDCHECK_MODULES,
		.programs = INITRDCHECK_PROGRAMS,
		.system = system_of(o),
	};
	struct initrdcheck_result result;
	struct initrdneed need;
	struct err e = ERR_INIT;
	const char *what = p.image ? p.image : p.tree;

	if (o->if_needed && initrdneed_look(&p.system, &need, &e))
		return progout_fail(&o->base, &e, NULL);
	if (o->if_needed && !need.needed)
		return print_not_needed(o, what, &need);
	if (initrdcheck_run(&p, &result, &e))
		return progout_fail_request(&o->base, &e, NULL);
	if (report_refuse(&result.findings, &e))
		return progout_fail(&o->base, &e, &result.findings);
	return print_result(o, what, &result);
}

static int finish(void *options, struct err *e)
{
	const struct options *o = options;

	if (o->base.action == OPTROWS_RUN && o->base.verb == VERB_CHECK && (o->base.operand_count == 1) == (o->tree != NULL))
		return err_set(e, -EINVAL, "check: name an image, or a folder with --tree");
	return 0;
}

static int run(const void *options)
{
	const struct options *o = options;

	return o->base.verb == VERB_CHECK ? run_check(o) : run_needed(o);
}

static const struct optrows_program program = {
	.name = "wubi-initrd",
	.about = "Says whether an initramfs can boot a system that is in an image on a Windows volume. Reads only.",
	.options = option_rows,
	.option_count = sizeof(option_rows) / sizeof(option_rows[0]),
	.verbs = verb_rows,
	.verb_count = sizeof(verb_rows) / sizeof(verb_rows[0]),
	.options_bytes = sizeof(struct options),
	.finish = finish,
	.run = run,
};

int main(int argc, char **argv)
{
	struct options o;

	return progmain(&program, argc, argv, &o);
}
