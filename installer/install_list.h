/* SPDX-License-Identifier: GPL-2.0-or-later */
/* install_list - the disks and volumes of the machine, as a table for people and as JSON. */
#ifndef WUBI_INSTALL_LIST_H
#define WUBI_INSTALL_LIST_H

#include <stdio.h>

#include "jsonout.h"
#include "volumes.h"

/* Fits 100 columns as long as names do. What cannot be used says why below its row. */
void install_list_text(FILE *f, const struct volumes *v);

/* Adds "disks" to an object. What is not known is null. */
void install_list_json(struct jsonout *parent, const struct volumes *v);

#endif
