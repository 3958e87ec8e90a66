/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Load options. Read by our own parser: libefiboot 37's trusts the lengths that it finds, and firmware keeps anything. Made by
 * libefiboot.
 */
#include "efiboot_private.h"

#include <ctype.h>
#include <efivar/efiboot.h>
#include <efivar/efivar.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HEADER_BYTES 6 /* attributes, length of the device path */
#define NODE_BYTES 4
#define HIDDEN 0x8u
#define CATEGORY 0x1f00u

#define TYPE_MEDIA 4
#define MEDIA_HD 1
#define MEDIA_FILE 4
#define TYPE_END 0x7f
#define HD_BYTES 42

static uint16_t le16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t le32(const uint8_t *p)
{
	return le16(p) | (uint32_t)le16(p + 2) << 16;
}

/* UTF-16 of at most 'bytes' to UTF-8, behind what is in ret; up to a NUL. Returns the bytes used, with the NUL. */
static size_t append_utf16(const uint8_t *from, size_t bytes, char *ret, size_t size)
{
	size_t at = strlen(ret), i;

	for (i = 0; i + 2 <= bytes; i += 2) {
		unsigned c = le16(from + i);

		if (c == 0)
			return i + 2;
		if (c < 0x20 || c == 0x7f || (c >= 0xd800 && c < 0xe000))
			c = '?';
		if (at + 4 > size)
			continue;
		if (c < 0x80) {
			ret[at++] = (char)c;
		} else if (c < 0x800) {
			ret[at++] = (char)(0xc0 | c >> 6);
			ret[at++] = (char)(0x80 | (c & 0x3f));
		} else {
			ret[at++] = (char)(0xe0 | c >> 12);
			ret[at++] = (char)(0x80 | (c >> 6 & 0x3f));
			ret[at++] = (char)(0x80 | (c & 0x3f));
		}
		ret[at] = '\0';
	}
	return i;
}

static void parse_hd(const uint8_t *node, struct efiboot_entry *ret)
{
	const uint8_t *id = node + 24;
	uint8_t kind = node[41];

	if (kind == EFIDP_HD_SIGNATURE_GUID)
		(void)snprintf(ret->partuuid, sizeof(ret->partuuid), "%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x", le32(id),
			       le16(id + 4), le16(id + 6), id[8], id[9], id[10], id[11], id[12], id[13], id[14], id[15]);
	else if (kind == EFIDP_HD_SIGNATURE_MBR)
		(void)snprintf(ret->partuuid, sizeof(ret->partuuid), "%08x-%02x", le32(id), le32(node + 4));
}

/* Of the first path only: what follows an end of one instance is another way to another file. */
static bool parse_path(const uint8_t *at, size_t n, struct efiboot_entry *ret)
{
	while (n >= NODE_BYTES) {
		size_t length = le16(at + 2);

		if (at[0] == TYPE_END)
			return true;
		if (length < NODE_BYTES || length > n)
			return false;
		if (at[0] == TYPE_MEDIA && at[1] == MEDIA_HD && length >= HD_BYTES && !ret->partuuid[0])
			parse_hd(at, ret);
		if (at[0] == TYPE_MEDIA && at[1] == MEDIA_FILE)
			/* more of it may follow in another node */
			(void)append_utf16(at + NODE_BYTES, length - NODE_BYTES, ret->file, sizeof(ret->file));
		at += length;
		n -= length;
	}
	return false;
}

static bool parse(const uint8_t *data, size_t n, struct efiboot_entry *ret)
{
	size_t used, path;

	if (n < HEADER_BYTES + 2)
		return false;
	path = le16(data + 4);
	used = append_utf16(data + HEADER_BYTES, n - HEADER_BYTES, ret->label, sizeof(ret->label));
	if (used < 2 || le16(data + HEADER_BYTES + used - 2) != 0 || n - HEADER_BYTES - used < path)
		return false;
	ret->is_active = le32(data) & EFIBOOT_ACTIVE;
	return parse_path(data + HEADER_BYTES + used, path, ret);
}

bool efiboot_option_parse(const uint8_t *data, size_t n, struct efiboot_entry *ret)
{
	uint16_t number = ret->number;

	*ret = (struct efiboot_entry){ .number = number };
	if (parse(data, n, ret))
		return true;
	*ret = (struct efiboot_entry){ .number = number };
	return false;
}

bool efiboot_option_is_bootable(const uint8_t *data, size_t n)
{
	return n >= HEADER_BYTES && (le32(data) & (EFIBOOT_ACTIVE | HIDDEN | CATEGORY)) == EFIBOOT_ACTIVE;
}

bool efiboot_option_is_same(const struct efiboot_variable *a, const struct efiboot_variable *b)
{
	struct efiboot_entry x = { 0 }, y = { 0 };

	return efiboot_option_parse(a->data, a->n, &x) && efiboot_option_parse(b->data, b->n, &y) &&
	       efiboot_option_is_bootable(a->data, a->n) == efiboot_option_is_bootable(b->data, b->n) &&
	       strcmp(x.label, y.label) == 0 && strcasecmp(x.partuuid, y.partuuid) == 0 && strcasecmp(x.file, y.file) == 0;
}

/* ---- made ---- */

static bool parse_partuuid(const char *text, uint8_t signature[16], uint8_t *format, uint8_t *kind)
{
	efi_guid_t guid;
	unsigned disk, partition;
	char rest;

	memset(signature, 0, 16);
	if (strlen(text) == 36 && efi_str_to_guid(text, &guid) == 0) {
		memcpy(signature, &guid, sizeof(guid));
		*format = EFIDP_HD_FORMAT_GPT;
		*kind = EFIDP_HD_SIGNATURE_GUID;
		return true;
	}
	if (strlen(text) != 11 || sscanf(text, "%8x-%2x%c", &disk, &partition, &rest) != 2)
		return false;
	for (int i = 0; i < 4; i++)
		signature[i] = (uint8_t)(disk >> 8 * i);
	*format = EFIDP_HD_FORMAT_PCAT;
	*kind = EFIDP_HD_SIGNATURE_MBR;
	return true;
}

static bool is_plain(const char *text, size_t max)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++)
		if (!isprint((unsigned char)text[i]))
			return false;
	return n > 0 && n < max;
}

static int check(const struct efiboot_params *p, struct err *e)
{
	if (!is_plain(p->label, sizeof(((struct efiboot_entry *)NULL)->label)) ||
	    !is_plain(p->file, sizeof(((struct efiboot_entry *)NULL)->file)) || p->file[0] != '\\')
		return err_set(e, -EINVAL, "boot entry '%s' for '%s': that cannot be one", p->label, p->file);
	if (!p->partition || !p->sector_bytes || !p->size_bytes || p->start_bytes % p->sector_bytes ||
	    p->size_bytes % p->sector_bytes)
		return err_set(e, -EINVAL, "boot entry '%s': the place of partition '%s' is not whole sectors", p->label,
			       p->partuuid);
	return 0;
}

static ssize_t build_path(const struct efiboot_params *p, uint8_t *path, size_t size)
{
	uint8_t signature[16], format = 0, kind = 0;
	char file[256];
	ssize_t n, used;

	if (!parse_partuuid(p->partuuid, signature, &format, &kind))
		return -1;
	(void)snprintf(file, sizeof(file), "%s", p->file); /* it takes no const */
	used = efidp_make_hd(path, (ssize_t)size, p->partition, p->start_bytes / p->sector_bytes, p->size_bytes / p->sector_bytes,
			     signature, format, kind);
	if (used < 0)
		return -1;
	n = efidp_make_file(path + used, (ssize_t)size - used, file);
	if (n < 0)
		return -1;
	used += n;
	n = efidp_make_end_entire(path + used, (ssize_t)size - used);
	return n < 0 ? -1 : used + n;
}

int efiboot_option_build(const struct efiboot_params *p, struct efiboot_variable *ret, struct err *e)
{
	uint8_t path[1024] __attribute__((aligned(8))) = { 0 };
	unsigned char label[128];
	ssize_t n;
	int code = check(p, e);

	if (code)
		return code;
	n = build_path(p, path, sizeof(path));
	if (n > 0) {
		(void)snprintf((char *)label, sizeof(label), "%s", p->label);
		n = efi_loadopt_create(ret->data, sizeof(ret->data), EFIBOOT_ACTIVE, (efidp)(void *)path, n, label, NULL, 0);
	}
	efi_error_clear(); /* libefivar's own list of errors only grows */
	if (n <= 0)
		return err_set(e, -EINVAL, "boot entry '%s' for '%s' of partition '%s': that cannot be one", p->label, p->file,
			       p->partuuid);
	ret->n = (size_t)n;
	return 0;
}
