/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sysctld - which file sets a kernel value at boot: sysctl.d(5) as systemd-sysctl reads it. Folders /etc, /run, /usr/local/lib,
 * /usr/lib, /lib sysctl.d; of two files with one name that of the earlier folder counts; in the order of the names; the last line
 * counts. /etc/sysctl.conf is what Debian links as 99-sysctl.conf; where it is not linked (procps' own order), it comes last.
 * Reads only.
 */
#ifndef WUBI_SYSCTLD_H
#define WUBI_SYSCTLD_H

#include <limits.h>
#include <stddef.h>

#include "err.h"

struct sysctld_setting {
	char key[64];          /* "vm.dirty_bytes" */
	char value[64];        /* of a longer one the beginning */
	char path[PATH_MAX];   /* without the root prefix */
	unsigned line;
};

/*
 * root: "" or the folder of another system. keys: the members of one pair, or a single one; glob lines (vm.dirty_*), "-key",
 * "vm/dirty_bytes", comments and white space are understood. *ret is the line that sets one of them last; ret->path is "" if
 * none does. -EACCES and others: a file that cannot be read may be the one.
 */
int sysctld_winner(const char *root, const char *const *keys, size_t key_count, struct sysctld_setting *ret, struct err *e);

#endif
