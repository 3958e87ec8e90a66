/* SPDX-License-Identifier: GPL-2.0-or-later */
/* salvage_private - the open output, which salvage.c makes and salvage_copy.c fills. */
#ifndef WUBI_SALVAGE_PRIVATE_H
#define WUBI_SALVAGE_PRIVATE_H

#include "salvage.h"

struct salvage {
	char *path;     /* as given */
	char *temp;     /* what is filled; NULL: a device, or published */
	int fd;
	bool is_block;
	uint64_t bytes;
};

#endif
