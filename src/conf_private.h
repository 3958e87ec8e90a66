/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conf_private - what the files of conf share. */
#ifndef WUBI_CONF_PRIVATE_H
#define WUBI_CONF_PRIVATE_H

#include <confuse.h>
#include <stdbool.h>
#include <stddef.h>

#include "auto.h"
#include "conf.h"

/* A profile each, and a phase each. */
#define CONF_SECTIONS_MAX (CONF_PROFILES_MAX + PROFILE_PHASES)

struct conf_scan {
	const char *name;                         /* of the file, for messages */
	bool is_flat;                             /* keys alone: '{' is refused */
	unsigned section_line[CONF_SECTIONS_MAX]; /* of its '{', in their order */
	size_t section_count;
};

/*
 * A copy of the text that libconfuse can be given, with all bytes where they were: comments are spaces. name is set. Refused is
 * what libconfuse would take for something else in silence: "${", which it would fill in from the environment; texts in quotes
 * that do not end on their line, that are no value, or have other escapes than \" and \\; comments and sections that do not end;
 * sections in sections; characters that it would drop; bytes that are no UTF-8; more than CONF_TEXT_MAX bytes. *ret: free().
 * -EINVAL, -EFBIG, -ENOMEM.
 */
int conf_scan(struct conf_scan *s, const char *text, char **ret, struct err *e);

/* Bytes of the UTF-8 character at p that a terminal can show; 0: it is none, or a control character. */
size_t conf_scan_printable(const unsigned char *p);

static inline void cfg_close(cfg_t *cfg)
{
	if (cfg)
		(void)cfg_free(cfg); /* fails for NULL alone */
}
DEFINE_AUTO(cfg, cfg_t *, cfg_close);

/* Reading one text: what libconfuse's callbacks, which have no argument of their caller's, need to know. */
struct conf_reader {
	struct conf_scan scan;
	void *owner;                                /* for callbacks of the caller's */
	const char *const *keys;                    /* all that conf_reader_value() is for */
	size_t key_count;
	unsigned *key_line;                         /* of each key, the caller zeroes it; 0: the key is not there */
	const char *(*allowed)(const char *section); /* the end of an error, for libconfuse's own name of the section */
	struct err err;                             /* the first one */
};

/* Runs libconfuse over the text. cfg NULL: no memory. r->err and the result have what was wrong. */
int conf_reader_run(struct conf_reader *r, cfg_t *cfg, const char *name, const char *text);

/* For callbacks: the owner of the one that runs. */
void *conf_reader_owner(void);

/* Each value goes through it (CFG_STR_CB): keeps its line, refuses the second of one key. */
int conf_reader_value(cfg_t *cfg, cfg_opt_t *opt, const char *value, void *result);

/* -EINVAL "FILE:LINE: TEXT", if it is the first error: what follows is libconfuse's way out. Returns -1, for libconfuse. */
int __attribute__((format(printf, 3, 4))) conf_reader_fail(struct conf_reader *r, unsigned line, const char *fmt, ...);

#endif
