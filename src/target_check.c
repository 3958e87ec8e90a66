/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a system on a medium will refuse, before it is copied. */
#include "target_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int take(int code, struct report *report, struct err *e)
{
	return code && report_take(report, e) ? 0 : code;
}

int target_check(const char *tree, const struct target_settings *s, struct report *report, struct err *e)
{
	AUTO_FREE struct target *t = calloc(1, sizeof(*t)); /* never entered */
	int code;

	if (!t)
		return err_set(e, -ENOMEM, "out of memory");
	(void)snprintf(t->root, sizeof(t->root), "%s", tree);
	code = take(target_locale_check(t, s, e), report, e);
	return code ? code : take(target_user_check(t, s, e), report, e);
}
