/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mediumsum - is a live medium what its makers put on it? By its own lists: sha256sum.txt and md5sum.txt at its top, lines
 * "HEX  ./path" as sha256sum(1) and md5sum(1) write them.
 */
#ifndef WUBI_MEDIUMSUM_H
#define WUBI_MEDIUMSUM_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "progress.h"

/*
 * Checks the files of the medium below 'folder' that are in 'wanted' (paths relative to it, "live/filesystem.squashfs"); a list
 * with SHA-256 is preferred to one with MD5. Refusals: "bad-medium" (a file differs, is shorter or unreadable: names it, and says
 * to download or write the medium again); a read error (EIO) is "bad-medium", too. *ret_checked: how many of the wanted are in a
 * list: 0 when the medium has no list (the caller tells the user).
 */
int mediumsum_check(const char *folder, const char *const *wanted, size_t count, const struct progress *p, size_t *ret_checked,
		    struct err *e);

/*
 * An ISO file by the list beside it: FILE.sha256, FILE.md5, SHA256SUMS, MD5SUMS in its folder, that name it. Also: is it as long
 * as its own volume descriptor says (ISO 9660, 8.4.8)? A shorter one is "bad-medium". *ret_listed: a list names it.
 */
int mediumsum_check_iso(const char *iso, const struct progress *p, bool *ret_listed, struct err *e);

#endif
