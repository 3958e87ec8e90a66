/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crc_seal - the map text's last line, computed bit by bit: a second opinion on zlib's, and a way
 * past it for tests. */
#ifndef WUBI_TEST_CRC_SEAL_H
#define WUBI_TEST_CRC_SEAL_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CRC_SEAL_BYTES 15

static inline uint32_t crc_seal_crc(const char *text, size_t n)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		crc ^= (unsigned char)text[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
	}
	return ~crc;
}

/* The line for text[0..n); line has room for CRC_SEAL_BYTES and a NUL. */
static inline void crc_seal_line(const char *text, size_t n, char line[CRC_SEAL_BYTES + 1])
{
	(void)snprintf(line, CRC_SEAL_BYTES + 1, "crc32 %08" PRIx32 "\n", crc_seal_crc(text, n));
}

#endif
