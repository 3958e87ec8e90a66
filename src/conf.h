/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf - /etc/wubi/wubi.conf and the choice in /etc/wubi/profile.conf. The only file that includes libconfuse, see wubi.conf(5).
 *
 *	profile "safe" {
 *		about      = "for whom"
 *		mount      = "sync"
 *		dirty      = "64MiB"      # or "20%", or "8s": so much as this disk writes in that time
 *		background = "16MiB"
 *		expire     = "5s"
 *		writeback  = "1s"
 *		loss       = "0s"
 *	}
 *	phase "normal"   { profile = "safe" }
 *	phase "iso-copy" { profile = "fast" }
 *
 * The profiles that come with the program are there without a file (the same text is built in); a profile of the same name in the
 * file replaces one whole, and no name may be there twice. Every key but about and mount has to be there, once.
 */
#ifndef WUBI_CONF_H
#define WUBI_CONF_H

#include "err.h"
#include "profile.h"

#define CONF_DEFAULT "/etc/wubi/wubi.conf"
#define CONF_PROFILES_MAX 32
#define CONF_TEXT_MAX (64 * 1024)

struct conf { /* no allocation */
	struct profile profiles[CONF_PROFILES_MAX];
	size_t count;
	char phase[PROFILE_PHASES][PROFILE_NAME_MAX]; /* the default profile of each */
};

/*
 * path: NULL or a file that is not there: what is built in. -EINVAL for what is in the file; the text begins with 'FILE:LINE: '
 * and says which key, what is wrong and what is allowed: unknown, missing and repeated keys, wrong units, what profile_check()
 * refuses with this machine's pages, a phase whose profile is not there, what could mean something else than it looks like
 * (conf_private.h). -EFBIG: more than CONF_TEXT_MAX bytes. -EISDIR and others for a file that cannot be read.
 */
int conf_read(const char *path, struct conf *ret, struct err *e);

/* The same from text; name stands for the file in messages. For the fuzzer, too. */
int conf_parse(const char *text, const char *name, struct conf *ret, struct err *e);

/* What is built in: sysctl/wubi.conf without its comments. */
const char *conf_builtin_text(void);

/* NULL: none of that name. */
const struct profile *conf_find(const struct conf *c, const char *name);

/* The choice: "normal = safe" a line. Whether there is such a profile is not asked: the file may outlive it. */
struct conf_choice {
	char profile[PROFILE_PHASES][PROFILE_NAME_MAX]; /* "": none was chosen */
};
int conf_choice_parse(const char *text, const char *name, struct conf_choice *ret, struct err *e);
/* ret_text: the file's content, with a line that says who writes it. free() it. -EINVAL: a name that is none. */
int conf_choice_format(const struct conf_choice *c, char **ret_text, struct err *e);

#endif
