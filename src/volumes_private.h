/* SPDX-License-Identifier: GPL-2.0-or-later */
/* volumes_private - what the volumes_*.c files share. */
#ifndef WUBI_VOLUMES_PRIVATE_H
#define WUBI_VOLUMES_PRIVATE_H

#include "volumes.h"

/*
 * Fills the rest of a row whose disk and path are set. part: NULL for a disk without a table. What cannot be read is told in the
 * row; -ENOMEM.
 */
int volumes_look(struct volumes_row *row, const struct disks_partition *part, uint64_t needed_bytes, struct err *e);

/* snprintf("%s") that cuts no UTF-8 character in two. */
void volumes_copy(char *ret, size_t size, const char *text);

#endif
