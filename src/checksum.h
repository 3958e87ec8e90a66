/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checksum - MD5 and SHA-256 of files. The only file that includes libmd. MD5 is for the lists on live media; it is no proof
 * against malice.
 */
#ifndef WUBI_CHECKSUM_H
#define WUBI_CHECKSUM_H

#include <stdint.h>

#include "err.h"
#include "progress.h"

enum checksum_kind { CHECKSUM_MD5, CHECKSUM_SHA256 };
#define CHECKSUM_TEXT 65 /* hexadecimal, lower case, and NUL */

/*
 * Reads the file to its end. phase, done_bytes, total_bytes: for progress over several files; done_bytes is what came before.
 * Errors of open and read; -ECANCELED. *ret_bytes: its length.
 */
struct checksum_progress {
	const struct progress *progress; /* NULL: none */
	const char *phase;
	uint64_t done_bytes, total_bytes;
};
int checksum_file(const char *path, enum checksum_kind kind, const struct checksum_progress *p, char ret[CHECKSUM_TEXT],
		  uint64_t *ret_bytes, struct err *e);

#endif
