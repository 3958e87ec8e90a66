/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "winpath.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define COMPONENT_UNITS_MAX 255

/*
 * The next character of valid UTF-8, *text moved behind it; 0 at the end; UINT32_MAX for what is no UTF-8.
 */
static uint32_t next_character(const char **text)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 }; /* an overlong form is a second spelling: refused */
	const unsigned char *p = (const unsigned char *)*text;
	unsigned more;
	uint32_t c = *p;

	if (c < 0x80) {
		*text += c != 0;
		return c;
	}
	if (c < 0xc2 || c > 0xf4)
		return UINT32_MAX;
	more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
	c &= 0x3fu >> more;
	for (unsigned i = 1; i <= more; i++) {
		if ((p[i] & 0xc0) != 0x80) /* the NUL at the end stops here too */
			return UINT32_MAX;
		c = c << 6 | (p[i] & 0x3fu);
	}
	if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return UINT32_MAX;
	*text += more + 1;
	return c;
}

static bool is_device_name(const char *name, size_t n)
{
	static const char *const devices[] = { "con", "prn", "aux", "nul" };
	size_t base = 0;

	while (base < n && name[base] != '.')
		base++;
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		if (base == 3 && !strncasecmp(name, devices[i], 3))
			return true;
	return base == 4 && (!strncasecmp(name, "com", 3) || !strncasecmp(name, "lpt", 3)) && name[3] >= '1' &&
	       name[3] <= '9';
}

static bool is_system_name(const char *name, size_t n)
{
	static const char *const files[] = { "hiberfil.sys", "pagefile.sys", "swapfile.sys" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (n == strlen(files[i]) && !strncasecmp(name, files[i], n))
			return true;
	return n > 0 && name[0] == '$';
}

static bool component_is_valid(const char *name, size_t n, bool first)
{
	const char *p = name;
	size_t units = 0;
	uint32_t c = 0;

	while (p < name + n) {
		c = next_character(&p);
		if (c == UINT32_MAX || c < 0x20 || (c >= 0x7f && c < 0xa0) ||
		    (c < 0x80 && strchr("\\:*?\"<>|", (int)c)))
			return false;
		units += c > 0xffff ? 2 : 1;
	}
	if (units == 0 || units > COMPONENT_UNITS_MAX || c == '.' || c == ' ')
		return false;
	return !is_device_name(name, n) && !(first && is_system_name(name, n));
}

bool winpath_is_valid(const char *path)
{
	const char *p = path;

	if (*p != '/')
		return false;
	while (*p == '/') {
		size_t n = strcspn(++p, "/");

		if (!component_is_valid(p, n, p == path + 1))
			return false;
		p += n;
	}
	return true;
}
