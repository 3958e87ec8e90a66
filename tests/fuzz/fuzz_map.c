/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_map - whatever map_parse() takes, map_format() writes back byte for byte.
 *
 * Each input is tried as it is and with its checksum made right, or the fuzzer would never get past
 * that. libFuzzer runs it in 'make fuzz', replay.c over the corpus in 'make check'.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/crc_seal.h"
#include "map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	(void)fprintf(stderr, "fuzz_map: %s\n", what);
	abort();
}

static void parse_and_format(const char *text, size_t n)
{
	AUTO(map) struct map *m = NULL;
	AUTO_FREE char *again = NULL;
	size_t again_n = 0;
	struct err e = ERR_INIT;
	int r = map_parse(text, n, &m, &e);

	if (r < 0) {
		require(!m, "a refused map was handed out");
		require(r == -EINVAL || r == -ENOMEM, "an error that the header does not name");
		require(e.code == r && (r == -ENOMEM || strncmp(e.text, "line ", 5) == 0), "an "
											   "error "
											   "without"
											   " its "
											   "line");
		return;
	}
	require(map_check(m, &e) == 0, "what was parsed does not pass the check");
	require(map_format(m, &again, &again_n, &e) == 0, "what was parsed cannot be written");
	require(again_n == n && memcmp(again, text, n) == 0, "what was parsed is written in "
							     "another way");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO_FREE char *sealed = malloc(n + CRC_SEAL_BYTES + 1);
	size_t body = n;

	require(sealed != NULL, "out of memory");
	if (n)
		memcpy(sealed, data, n);
	parse_and_format((const char *)data, n);
	if (n >= CRC_SEAL_BYTES && memcmp(sealed + n - CRC_SEAL_BYTES, "crc32 ", 6) == 0)
		body = n - CRC_SEAL_BYTES;
	crc_seal_line(sealed, body, sealed + body);
	parse_and_format(sealed, body + CRC_SEAL_BYTES);
	return 0;
}
