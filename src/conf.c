/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf.h"

#include <confuse.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "conf_private.h"
#include "textfile.h"

enum key { ABOUT, MOUNT, DIRTY, BACKGROUND, EXPIRE, WRITEBACK, LOSS, OF_PHASE, CHOSEN_NORMAL, CHOSEN_ISO_COPY, KEYS };

static const char *const key_names[KEYS] = {
	[ABOUT] = "about",         [MOUNT] = "mount",           [DIRTY] = "dirty",
	[BACKGROUND] = "background", [EXPIRE] = "expire",       [WRITEBACK] = "writeback",
	[LOSS] = "loss",           [OF_PHASE] = "profile",      [CHOSEN_NORMAL] = "normal",
	[CHOSEN_ISO_COPY] = "iso-copy",
};

/* What one file gives. */
struct parse {
	struct conf_reader reader;
	size_t section_at;                    /* sections that are complete */
	unsigned key_line[KEYS];              /* of the section that is read; 0: the key is not there */
	unsigned phase_line[PROFILE_PHASES];
	struct conf conf;
};

#define ALLOWED_IN_PHASE "allowed in a phase is profile = \"NAME\""

static const char *allowed_in(const char *section)
{
	if (!strcmp(section, "profile"))
		return "allowed in a profile are about, mount, dirty, background, expire, writeback, loss, as KEY = \"VALUE\"";
	if (!strcmp(section, "phase"))
		return ALLOWED_IN_PHASE;
	return "allowed are profile \"NAME\" { ... } and phase \"NAME\" { ... }, each name once";
}

static const char *allowed_in_choice(const char *section)
{
	(void)section; /* there are none */
	return "allowed are normal = NAME and iso-copy = NAME";
}

static unsigned section_line(const struct parse *p)
{
	return p->section_at < p->reader.scan.section_count ? p->reader.scan.section_line[p->section_at] : 0;
}

static void section_end(struct parse *p)
{
	memset(p->key_line, 0, sizeof(p->key_line));
	p->section_at++;
}

/* An error of a function that knows no lines: its text follows the key's. */
static int fail_key(struct parse *p, enum key key, const char *text)
{
	return conf_reader_fail(&p->reader, p->key_line[key], "%s: %s", key_names[key], text);
}

static int take_text(struct parse *p, cfg_t *sec, enum key key, char *ret, size_t size)
{
	const char *text = cfg_getstr(sec, key_names[key]);
	char problem[64];

	if (text && strlen(text) >= size) {
		(void)snprintf(problem, sizeof(problem), "is too long, allowed are %zu bytes", size - 1);
		return fail_key(p, key, problem);
	}
	(void)snprintf(ret, size, "%s", text ? text : "");
	return 0;
}

static int take_amount(struct parse *p, cfg_t *sec, enum key key, struct profile_amount *ret)
{
	struct err e = ERR_INIT;

	return profile_parse_amount(cfg_getstr(sec, key_names[key]), ret, &e) ? fail_key(p, key, e.text) : 0;
}

static int take_ms(struct parse *p, cfg_t *sec, enum key key, unsigned unit_ms, unsigned *ret)
{
	struct err e = ERR_INIT;
	unsigned ms;

	if (profile_parse_ms(cfg_getstr(sec, key_names[key]), &ms, &e))
		return fail_key(p, key, e.text);
	*ret = ms / unit_ms;
	return 0;
}

static int need_keys(struct parse *p, const char *name)
{
	for (int key = DIRTY; key <= LOSS; key++)
		if (!p->key_line[key])
			return conf_reader_fail(&p->reader, section_line(p),
						"%s: is missing in profile '%s', which takes dirty, background, expire, "
						"writeback and loss; allowed to be left out are about and mount",
						key_names[key], name);
	return 0;
}

/* profile_check() begins its text with the key that it is about. */
static int check_profile(struct parse *p, const struct profile *profile)
{
	struct err e = ERR_INIT;
	unsigned line = section_line(p);

	if (!profile_check(profile, (uint64_t)sysconf(_SC_PAGESIZE), &e))
		return 0;
	for (int key = 0; key < KEYS; key++) {
		size_t n = strlen(key_names[key]);

		if (!strncmp(e.text, key_names[key], n) && e.text[n] == ':' && p->key_line[key])
			line = p->key_line[key];
	}
	return conf_reader_fail(&p->reader, line, "%s", e.text);
}

static int keep_profile(struct parse *p, const struct profile *profile)
{
	struct conf *c = &p->conf;
	size_t at = 0;

	while (at < c->count && strcmp(c->profiles[at].name, profile->name) != 0)
		at++;
	if (at == CONF_PROFILES_MAX)
		return conf_reader_fail(&p->reader, section_line(p), "profile '%s' is one too many, allowed are %d",
					profile->name, CONF_PROFILES_MAX);
	c->profiles[at] = *profile;
	if (at == c->count)
		c->count++;
	return 0;
}

/* The section that was just read. */
static cfg_t *last_section(cfg_opt_t *opt)
{
	return cfg_opt_getnsec(opt, cfg_opt_size(opt) - 1);
}

static int on_profile(cfg_t *cfg, cfg_opt_t *opt)
{
	cfg_t *sec = last_section(opt);
	const char *name = cfg_title(sec);
	struct profile f = { .name = "" };
	struct parse *p = conf_reader_owner();

	(void)cfg;
	if (!profile_name_is_valid(name))
		return conf_reader_fail(&p->reader, section_line(p), "profile: '%s' is no name of one, " PROFILE_NAME_ALLOWED,
					name);
	(void)snprintf(f.name, sizeof(f.name), "%s", name);
	if (need_keys(p, name) || take_text(p, sec, ABOUT, f.about, sizeof(f.about)) ||
	    take_text(p, sec, MOUNT, f.mount, sizeof(f.mount)) || take_amount(p, sec, DIRTY, &f.dirty) ||
	    take_amount(p, sec, BACKGROUND, &f.background) || take_ms(p, sec, EXPIRE, 10, &f.expire_cs) ||
	    take_ms(p, sec, WRITEBACK, 10, &f.writeback_cs) || take_ms(p, sec, LOSS, 1, &f.loss_ms))
		return -1;
	if (check_profile(p, &f) || keep_profile(p, &f))
		return -1;
	section_end(p);
	return 0;
}

/* Whether there is such a profile is asked at the end: it may come later. */
static int take_profile_name(struct parse *p, enum key key, const char *name, char ret[PROFILE_NAME_MAX])
{
	if (!profile_name_is_valid(name))
		return conf_reader_fail(&p->reader, p->key_line[key], "%s: '%s' is no name of a profile, " PROFILE_NAME_ALLOWED,
					key_names[key], name);
	(void)snprintf(ret, PROFILE_NAME_MAX, "%s", name);
	return 0;
}

static int on_phase(cfg_t *cfg, cfg_opt_t *opt)
{
	cfg_t *sec = last_section(opt);
	enum profile_phase phase;
	struct parse *p = conf_reader_owner();

	(void)cfg;
	if (!profile_phase_parse(cfg_title(sec), &phase))
		return conf_reader_fail(&p->reader, section_line(p), "phase: '%s' is none, allowed are normal and iso-copy",
					cfg_title(sec));
	if (!p->key_line[OF_PHASE])
		return conf_reader_fail(&p->reader, section_line(p), "profile: is missing in phase '%s', %s", cfg_title(sec),
					ALLOWED_IN_PHASE);
	if (take_profile_name(p, OF_PHASE, cfg_getstr(sec, key_names[OF_PHASE]), p->conf.phase[phase]))
		return -1;
	p->phase_line[phase] = p->key_line[OF_PHASE];
	section_end(p);
	return 0;
}

static cfg_t *conf_grammar(void)
{
	cfg_opt_t profile[] = {
		CFG_STR_CB(key_names[ABOUT], 0, CFGF_NODEFAULT, conf_reader_value),
		CFG_STR_CB(key_names[MOUNT], 0, CFGF_NODEFAULT, conf_reader_value),
		CFG_STR_CB(key_names[DIRTY], 0, CFGF_NODEFAULT, conf_reader_value),
		CFG_STR_CB(key_names[BACKGROUND], 0, CFGF_NODEFAULT, conf_reader_value),
		CFG_STR_CB(key_names[EXPIRE], 0, CFGF_NODEFAULT, conf_reader_value),
		CFG_STR_CB(key_names[WRITEBACK], 0, CFGF_NODEFAULT, conf_reader_value),
		CFG_STR_CB(key_names[LOSS], 0, CFGF_NODEFAULT, conf_reader_value),
		CFG_END(),
	};
	cfg_opt_t phase[] = { CFG_STR_CB(key_names[OF_PHASE], 0, CFGF_NODEFAULT, conf_reader_value), CFG_END() };
	cfg_opt_t file[] = {
		CFG_SEC("profile", profile, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
		CFG_SEC("phase", phase, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
		CFG_END(),
	};
	cfg_t *cfg = cfg_init(file, CFGF_NONE);

	if (cfg) {
		(void)cfg_set_validate_func(cfg, "profile", on_profile); /* returns the one before */
		(void)cfg_set_validate_func(cfg, "phase", on_phase);
	}
	return cfg;
}

static cfg_t *choice_grammar(void)
{
	cfg_opt_t file[] = {
		CFG_STR_CB(key_names[CHOSEN_NORMAL], 0, CFGF_NODEFAULT, conf_reader_value),
		CFG_STR_CB(key_names[CHOSEN_ISO_COPY], 0, CFGF_NODEFAULT, conf_reader_value),
		CFG_END(),
	};

	return cfg_init(file, CFGF_NONE);
}

static void parse_conf(struct parse *p, const char *name, const char *text)
{
	AUTO(cfg) cfg_t *cfg = conf_grammar();

	p->section_at = 0;
	if (conf_reader_run(&p->reader, cfg, name, text))
		return;
	for (int phase = 0; phase < PROFILE_PHASES; phase++)
		if (!conf_find(&p->conf, p->conf.phase[phase]))
			(void)conf_reader_fail(&p->reader, p->phase_line[phase],
					       "profile: phase '%s' has '%s', which there is not; allowed are the "
					       "profiles of this file, safe, balanced and fast",
					       profile_phase_name((enum profile_phase)phase), p->conf.phase[phase]);
}

int conf_parse(const char *text, const char *name, struct conf *ret, struct err *e)
{
	struct parse p = { .conf = { .count = 0 } };

	p.reader = (struct conf_reader){
		.owner = &p, .keys = key_names, .key_count = KEYS, .key_line = p.key_line, .allowed = allowed_in
	};
	parse_conf(&p, "built in", conf_builtin_text());
	if (text && !p.reader.err.code)
		parse_conf(&p, name, text);
	if (!p.reader.err.code)
		*ret = p.conf;
	else if (e)
		*e = p.reader.err;
	return p.reader.err.code;
}

int conf_read(const char *path, struct conf *ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct err problem = ERR_INIT;
	int code = path ? textfile_read(path, &text, &problem) : -ENOENT;

	if (code && code != -ENOENT) {
		if (e)
			*e = problem;
		return code;
	}
	return conf_parse(code ? NULL : text, path, ret, e);
}

const struct profile *conf_find(const struct conf *c, const char *name)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->profiles[i].name, name))
			return &c->profiles[i];
	return NULL;
}

static void take_choice(struct parse *p, cfg_t *cfg, enum key key, char ret[PROFILE_NAME_MAX])
{
	const char *name = cfg_getstr(cfg, key_names[key]);

	if (name)
		(void)take_profile_name(p, key, name, ret); /* p->reader.err has it */
}

int conf_choice_parse(const char *text, const char *name, struct conf_choice *ret, struct err *e)
{
	struct parse p = { .conf = { .count = 0 } };
	struct conf_choice choice = { .profile = { "" } };
	AUTO(cfg) cfg_t *cfg = choice_grammar();

	p.reader = (struct conf_reader){
		.owner = &p, .keys = key_names, .key_count = KEYS, .key_line = p.key_line, .allowed = allowed_in_choice
	};
	if (!conf_reader_run(&p.reader, cfg, name, text)) {
		take_choice(&p, cfg, CHOSEN_NORMAL, choice.profile[PROFILE_NORMAL]);
		take_choice(&p, cfg, CHOSEN_ISO_COPY, choice.profile[PROFILE_ISO_COPY]);
	}
	if (!p.reader.err.code)
		*ret = choice;
	else if (e)
		*e = p.reader.err;
	return p.reader.err.code;
}

int conf_choice_format(const struct conf_choice *c, char **ret_text, struct err *e)
{
	const char *head = "# Written by 'wubi-profile set': the profiles that were chosen, see wubi.conf(5).\n";
	char lines[PROFILE_PHASES][PROFILE_NAME_MAX + 16] = { "" };

	for (int phase = 0; phase < PROFILE_PHASES; phase++) {
		const char *name = c->profile[phase];

		if (!*name)
			continue;
		if (!profile_name_is_valid(name))
			return err_set(e, -EINVAL, "'%s' is no name of a profile, " PROFILE_NAME_ALLOWED, name);
		(void)snprintf(lines[phase], sizeof(lines[phase]), "%s = %s\n", profile_phase_name((enum profile_phase)phase),
			       name);
	}
	if (asprintf(ret_text, "%s%s%s", head, lines[PROFILE_NORMAL], lines[PROFILE_ISO_COPY]) < 0) {
		*ret_text = NULL;
		return err_set(e, -ENOMEM, "the choice of profiles: out of memory");
	}
	return 0;
}
