/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conf_private - what the files of conf share. */
#ifndef WUBI_CONF_PRIVATE_H
#define WUBI_CONF_PRIVATE_H

#include "conf.h"

/* A profile each, and a phase each. */
#define CONF_SECTIONS_MAX (CONF_PROFILES_MAX + PROFILE_PHASES)

struct conf_scan {
	const char *name;                         /* of the file, for messages */
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

#endif
