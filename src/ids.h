/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ids - random UUIDs and their text. The only file that includes libuuid. */
#ifndef WUBI_IDS_H
#define WUBI_IDS_H

#include <stdbool.h>
#include <stdint.h>

#define IDS_TEXT 37

void ids_random(uint8_t ret[16]);
void ids_to_text(const uint8_t id[16], char ret[IDS_TEXT]); /* lower case */
bool ids_from_text(const char *text, uint8_t ret[16]);

#endif
