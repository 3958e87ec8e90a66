/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list and show: what the configuration has. */
#include <errno.h>
#include <string.h>

#include "output.h"
#include "progout.h"
#include "verbs.h"
#include "vmknobs.h"

static void add_profile_json(struct jsonout *object, const struct profile *p)
{
	char text[PROFILE_AMOUNT_TEXT];

	jsonout_add_string(object, "name", p->name);
	jsonout_add_string(object, "about", p->about);
	jsonout_add_string(object, "mount", p->mount);
	jsonout_add_string(object, "dirty", profile_format_amount(&p->dirty, text));
	jsonout_add_string(object, "background", profile_format_amount(&p->background, text));
	jsonout_add_u64(object, "expire_ms", (uint64_t)p->expire_cs * 10);
	jsonout_add_u64(object, "writeback_ms", (uint64_t)p->writeback_cs * 10);
	jsonout_add_u64(object, "loss_ms", p->loss_ms);
}

static int list_json(const struct conf *c)
{
	struct jsonout *root = jsonout_object(), *phases, *array;

	phases = jsonout_add_object(root, "phase");
	for (int i = 0; i < PROFILE_PHASES; i++)
		jsonout_add_string(phases, profile_phase_name((enum profile_phase)i), c->phase[i]);
	array = jsonout_add_array(root, "profiles");
	for (size_t i = 0; i < c->count; i++)
		add_profile_json(jsonout_add_object(array, NULL), &c->profiles[i]);
	return progout_json(root);
}

/* The phases whose default a profile is: "  default for normal, iso-copy". */
static void print_phases(const struct conf *c, const char *name)
{
	const char *separator = "  default for ";

	for (int i = 0; i < PROFILE_PHASES; i++) {
		if (strcmp(c->phase[i], name) != 0)
			continue;
		progout_print(stdout, "%s%s", separator, profile_phase_name((enum profile_phase)i));
		separator = ", ";
	}
	progout_print(stdout, "\n");
}

static int list_text(const struct conf *c)
{
	char time[OUTPUT_TIME_TEXT];
	int width = 0;

	for (size_t i = 0; i < c->count; i++)
		if ((int)strlen(c->profiles[i].name) > width)
			width = (int)strlen(c->profiles[i].name);
	for (size_t i = 0; i < c->count; i++) {
		const struct profile *p = &c->profiles[i];

		progout_print(stdout, "%-*s  loss %s", width, p->name, output_conf_time(p->loss_ms, time));
		print_phases(c, p->name);
		if (*p->about)
			progout_print(stdout, "%*s  %s\n", width, "", p->about);
	}
	return PROGOUT_DONE;
}

int verb_list(const struct options *o)
{
	const struct profctl_params par = verb_params(o);
	struct err e = ERR_INIT;
	struct conf c;

	if (profctl_conf_read(&par, &c, &e))
		return progout_fail(&o->base, &e, NULL);
	return o->base.json ? list_json(&c) : list_text(&c);
}

/* A string of wubi.conf: libconfuse reads backslashes. */
static void print_quoted(const char *key, const char *text)
{
	progout_print(stdout, "    %-10s = \"", key);
	for (; *text; text++)
		progout_print(stdout, "%s%c", strchr("\"\\$", *text) ? "\\" : "", *text);
	progout_print(stdout, "\"\n");
}

static int show_text(const struct profile *p, const struct profile_knobs *k, const struct err *e)
{
	char amount[PROFILE_AMOUNT_TEXT], time[OUTPUT_TIME_TEXT];

	progout_print(stdout, "profile \"%s\" {\n", p->name);
	print_quoted("about", p->about);
	print_quoted("mount", p->mount);
	print_quoted("dirty", profile_format_amount(&p->dirty, amount));
	print_quoted("background", profile_format_amount(&p->background, amount));
	print_quoted("expire", output_conf_time((uint64_t)p->expire_cs * 10, time));
	print_quoted("writeback", output_conf_time((uint64_t)p->writeback_cs * 10, time));
	print_quoted("loss", output_conf_time(p->loss_ms, time));
	progout_print(stdout, "}\n");
	if (!k) {
		progout_print(stdout, "# on this machine: not known: %s\n", e->text);
		return PROGOUT_DONE;
	}
	progout_print(stdout, "# on this machine:\n");
	output_knobs("#   ", k);
	return PROGOUT_DONE;
}

static int show_json(const struct profile *p, const struct profile_knobs *k)
{
	struct jsonout *root = jsonout_object();

	add_profile_json(root, p);
	if (k)
		output_knobs_json(root, k);
	else
		jsonout_add_string(root, "knobs", NULL);
	return progout_json(root);
}

static int resolve_here(const struct profile *p, struct profile_knobs *ret, struct err *e)
{
	struct profile_machine m = { .page_bytes = 0 };
	int r = vmknobs_machine(&m, e);

	if (!r)
		r = profctl_speed_read("", &m.disk_bytes_per_s, e);
	return r ? r : profile_resolve(p, &m, ret, e);
}

int verb_show(const struct options *o)
{
	const struct profctl_params par = verb_params(o);
	const struct profile *p = NULL;
	struct err e = ERR_INIT;
	struct profile_knobs k;
	struct conf c;
	bool known;

	if (profctl_conf_read(&par, &c, &e) ||
	    profctl_find(&c, o->base.operands[0], o->conf ? o->conf : CONF_DEFAULT, &p, &e))
		return progout_fail(&o->base, &e, NULL);
	known = resolve_here(p, &k, &e) == 0;
	return o->base.json ? show_json(p, known ? &k : NULL) : show_text(p, known ? &k : NULL, &e);
}
