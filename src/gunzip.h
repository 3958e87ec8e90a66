/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gunzip - decompresses one gzip member (RFC 1952) from a stream, and checks its CRC-32 and length. libarchive's gzip looks at
 * neither of the two, and the kernel takes an initramfs whose CRC or length is wrong for broken. With map, the only file that
 * includes zlib.
 */
#ifndef WUBI_GUNZIP_H
#define WUBI_GUNZIP_H

#include <stddef.h>
#include <stdint.h>

#include "auto.h"
#include "err.h"

struct gunzip;

/* Compressed bytes: up to n, at least one but at the end: then *ret_n is 0. */
typedef int gunzip_read_fn(void *ctx, void *buf, size_t n, size_t *ret_n, struct err *e);

/* From the member's first byte on; ctx is borrowed. *ret is the caller's: gunzip_free(). -ENOMEM. */
int gunzip_new(gunzip_read_fn *read, void *ctx, struct gunzip **ret, struct err *e);

/*
 * Up to n bytes of content, at least one but at the end of the member: then *ret_n is 0, and its CRC and length were right.
 * -EINVAL: it is damaged, or cut off; -ENOMEM; what the read function returns.
 */
int gunzip_read(struct gunzip *g, void *buf, size_t n, size_t *ret_n, struct err *e);

/* Compressed bytes that were used: at the end, the length of the member. What is read ahead does not count. */
uint64_t gunzip_used_bytes(const struct gunzip *g);

void gunzip_free(struct gunzip *g); /* NULL is fine */
DEFINE_AUTO(gunzip, struct gunzip *, gunzip_free);

#endif
