/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ids.h"

#include <uuid.h>

_Static_assert(sizeof(uuid_t) == 16, "an id has 16 bytes");
_Static_assert(IDS_TEXT == UUID_STR_LEN, "36 characters and a NUL");

void ids_random(uint8_t ret[16])
{
	uuid_generate_random(ret);
}

void ids_to_text(const uint8_t id[16], char ret[IDS_TEXT])
{
	uuid_unparse_lower(id, ret);
}

bool ids_from_text(const char *text, uint8_t ret[16])
{
	uuid_t id;

	if (uuid_parse(text, id) != 0)
		return false;
	uuid_copy(ret, id); /* only now: written on success only */
	return true;
}
