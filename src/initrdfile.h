/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * initrdfile - an initramfs image as the kernel takes it: archives behind each other, some plain, some compressed, with zeros
 * between (Documentation/driver-api/early-userspace/buffer-format.rst). The only file that includes libarchive, which
 * decompresses all but gzip (gunzip.h); nothing is unpacked to a disk.
 */
#ifndef WUBI_INITRDFILE_H
#define WUBI_INITRDFILE_H

#include "cpio.h"
#include "err.h"

#define INITRDFILE_BYTES_MAX (UINT64_C(8) << 30) /* what all compressed parts together may become */

/*
 * Visits all files of all archives in order. Refuses ("damaged-image") what the kernel could not unpack, or not to its end, and
 * what decompresses to more than INITRDFILE_BYTES_MAX. Failures: I/O errors, -ENOMEM, what the visitor returns, and -ENOTSUP for
 * what the kernel can unpack and we cannot (lzop).
 */
int initrdfile_read(const char *path, const struct cpio_visitor *visitor, struct err *e);

#endif
