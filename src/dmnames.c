/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dmnames.h"

#include <stddef.h>
#include <string.h>

/* What follows the prefix; NULL: it does not begin so. */
static const char *after(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

bool dmnames_uuid_is_ours(const char *uuid)
{
	return after(uuid, DMNAMES_UUID_PREFIX) != NULL;
}

bool dmnames_uuid_is_host(const char *uuid)
{
	return after(uuid, DMNAMES_HOST_UUID_PREFIX) != NULL;
}

const char *dmnames_of_node(const char *path)
{
	return after(path, DMNAMES_FOLDER DMNAMES_PREFIX);
}

const char *dmnames_of_operand(const char *given)
{
	const char *rest = after(given, DMNAMES_FOLDER);
	const char *name = rest ? rest : given;

	rest = after(name, DMNAMES_PREFIX);
	return rest ? rest : name;
}
