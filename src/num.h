/* SPDX-License-Identifier: GPL-2.0-or-later */
/* num - overflow-checked size arithmetic, and numbers from and to text. All sizes are uint64_t. */
#ifndef WUBI_NUM_H
#define WUBI_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define NUM_KIB UINT64_C(1024)
#define NUM_MIB (UINT64_C(1024) * NUM_KIB)
#define NUM_GIB (UINT64_C(1024) * NUM_MIB)
#define NUM_TIB (UINT64_C(1024) * NUM_GIB)

/* Each returns 0, or -EOVERFLOW with *ret untouched. align_up: align must be a power of two, else -EINVAL. */
int num_add(uint64_t a, uint64_t b, uint64_t *ret);
int num_mul(uint64_t a, uint64_t b, uint64_t *ret);
int num_align_up(uint64_t value, uint64_t align, uint64_t *ret);

bool num_is_power_of_two(uint64_t value);

/*
 * "30G" and "30GiB" are 30 * 1024^3, "30GB" is 30 * 1000^3, "4096" is bytes; K M G T P, upper or lower case unit letter.
 * Refuses (-EINVAL) empty text, a sign, white space, a fraction, trailing junk; -ERANGE for overflow.
 */
int num_parse_bytes(const char *text, uint64_t *ret_bytes, struct err *e);

/* Canonical unsigned decimal only: no sign, no space, no leading zero (but "0"). -EINVAL, -ERANGE. */
int num_parse_u64(const char *text, uint64_t *ret, struct err *e);

#define NUM_BYTES_TEXT 32
/* "30.0 GiB", "512 B": for people. buf holds at least NUM_BYTES_TEXT bytes. Returns buf. */
const char *num_format_bytes(uint64_t bytes, char buf[NUM_BYTES_TEXT]);

#endif
