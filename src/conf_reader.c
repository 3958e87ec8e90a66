/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* libconfuse's callbacks have no argument of their caller's. */
static _Thread_local struct conf_reader *now;

void *conf_reader_owner(void)
{
	return now->owner;
}

int conf_reader_fail(struct conf_reader *r, unsigned line, const char *fmt, ...)
{
	char text[sizeof(r->err.text)];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args); /* a cut text is still one */
	va_end(args);
	if (!r->err.code)
		(void)err_set(&r->err, -EINVAL, "%s:%u: %s", r->scan.name, line, text);
	return -1;
}

static void __attribute__((format(printf, 2, 0))) error_hook(cfg_t *cfg, const char *fmt, va_list args)
{
	char text[256];

	(void)vsnprintf(text, sizeof(text), fmt, args); /* a cut text is still one */
	(void)conf_reader_fail(now, (unsigned)cfg->line, "%s, %s", text, now->allowed(cfg->name));
}

int conf_reader_value(cfg_t *cfg, cfg_opt_t *opt, const char *value, void *result)
{
	struct conf_reader *r = now;
	size_t key = 0;

	while (key + 1 < r->key_count && strcmp(opt->name, r->keys[key]) != 0)
		key++;
	if (r->key_line[key])
		return conf_reader_fail(r, (unsigned)cfg->line, "%s: is there twice, first in line %u; allowed is once",
					opt->name, r->key_line[key]);
	r->key_line[key] = (unsigned)cfg->line;
	*(const char **)result = value;
	return 0;
}

int conf_reader_run(struct conf_reader *r, cfg_t *cfg, const char *name, const char *text)
{
	AUTO_FREE char *safe = NULL;
	int code;

	r->scan.name = name;
	if (!cfg)
		return err_set(&r->err, -ENOMEM, "'%s': out of memory", name);
	code = conf_scan(&r->scan, text, &safe, &r->err);
	if (code)
		return code;
	(void)cfg_set_error_function(cfg, error_hook); /* returns the one before */
	now = r;
	code = cfg_parse_buf(cfg, safe);
	now = NULL;
	if (code && !r->err.code) /* the one failure that libconfuse says nothing about */
		(void)err_set(&r->err, -ENOMEM, "'%s': out of memory", name);
	return r->err.code;
}
