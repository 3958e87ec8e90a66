/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cpio.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "auto.h"

#define HEADER_BYTES 110
#define END_MARK "TRAILER!!!"

struct header {
	char magic[6];
	char fields[13][8]; /* hexadecimal: see enum field */
};

_Static_assert(sizeof(struct header) == HEADER_BYTES, "the header has no padding");

enum field {
	INODE, MODE, UID, GID, LINKS, MTIME, SIZE, DEVICE_MAJOR, DEVICE_MINOR, NODE_MAJOR, NODE_MINOR, NAME_SIZE, CHECKSUM,
};

/* Takes exactly n bytes; buf NULL: skips them. */
static int take(struct cpio_source *s, void *buf, uint64_t n, struct err *e)
{
	char scrap[16384] = { 0 };
	unsigned char *to = buf;

	while (n > 0) {
		void *at = to ? (void *)to : scrap;
		size_t part = to || n < sizeof(scrap) ? (size_t)n : sizeof(scrap);
		int r;

		if (s->has_ahead) {
			*(unsigned char *)at = s->ahead;
			s->has_ahead = false;
			part = 1;
		} else {
			r = s->read(s->ctx, at, part, &part, e);
			if (r)
				return r;
			if (part == 0)
				return err_set(e, -EINVAL, "ends at byte %" PRIu64 ", in the middle of a file", s->position);
		}
		s->position += part;
		n -= part;
		if (to)
			to += part;
	}
	return 0;
}

static int take_padding(struct cpio_source *s, struct err *e)
{
	return take(s, NULL, -s->position & 3, e);
}

int cpio_next_byte(struct cpio_source *s, int *ret, struct err *e)
{
	size_t n;
	int r;

	for (;;) {
		if (!s->has_ahead) {
			r = s->read(s->ctx, &s->ahead, 1, &n, e);
			if (r)
				return r;
			*ret = -1;
			if (n == 0)
				return 0;
			s->has_ahead = true;
		}
		*ret = s->ahead;
		if (s->ahead != 0)
			return 0;
		s->has_ahead = false;
		s->position++;
	}
}

static int parse_field(const struct header *h, enum field field, uint32_t *ret)
{
	uint32_t value = 0;

	for (size_t i = 0; i < sizeof(h->fields[field]); i++) {
		char c = h->fields[field][i];
		static const char digits[] = "0123456789abcdef";
		const char *digit = strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);

		if (c == '\0' || !digit)
			return -EINVAL;
		value = value << 4 | (uint32_t)(digit - digits);
	}
	*ret = value;
	return 0;
}

static int take_header(struct cpio_source *s, struct cpio_entry *entry, uint32_t *ret_name_bytes, struct err *e)
{
	uint64_t at = s->position;
	uint32_t size, mode;
	struct header h;
	int r = take(s, &h, sizeof(h), e);

	if (r)
		return r;
	if (memcmp(h.magic, "070707", 6) == 0)
		return err_set(e, -EINVAL, "byte %" PRIu64 ": an archive in the old format of cpio, which the kernel does not "
			       "unpack", at);
	if (memcmp(h.magic, "070701", 6) != 0 && memcmp(h.magic, "070702", 6) != 0)
		return err_set(e, -EINVAL, "byte %" PRIu64 ": no header of a file", at);
	if (parse_field(&h, INODE, &entry->inode) || parse_field(&h, MODE, &mode) || parse_field(&h, LINKS, &entry->links) ||
	    parse_field(&h, SIZE, &size) || parse_field(&h, DEVICE_MAJOR, &entry->device_major) ||
	    parse_field(&h, DEVICE_MINOR, &entry->device_minor) || parse_field(&h, NAME_SIZE, ret_name_bytes))
		return err_set(e, -EINVAL, "byte %" PRIu64 ": a damaged header", at);
	if (*ret_name_bytes < 2 || *ret_name_bytes > PATH_MAX)
		return err_set(e, -EINVAL, "byte %" PRIu64 ": a name of %" PRIu32 " bytes", at, *ret_name_bytes);
	entry->mode = mode;
	entry->size_bytes = size;
	return 0;
}

static int take_target(struct cpio_source *s, struct cpio_entry *entry, char target[PATH_MAX], struct err *e)
{
	int r;

	if (entry->size_bytes == 0 || entry->size_bytes >= PATH_MAX)
		return err_set(e, -EINVAL, "'%.200s': a link to a path of %" PRIu64 " bytes", entry->path, entry->size_bytes);
	r = take(s, target, entry->size_bytes, e);
	target[entry->size_bytes] = '\0';
	entry->target = target;
	return r;
}

static bool is_wanted(const struct cpio_visitor *v, const struct cpio_entry *entry)
{
	return S_ISREG(entry->mode) && entry->size_bytes > 0 && entry->size_bytes <= CPIO_WANTED_MAX && v->wants(v->ctx, entry);
}

/* The content and the visit. */
static int take_body(struct cpio_source *s, const struct cpio_visitor *v, struct cpio_entry *entry, struct err *e)
{
	AUTO_FREE char *target = NULL;
	AUTO_FREE void *data = NULL;
	int r;

	if (S_ISLNK(entry->mode)) {
		target = malloc(PATH_MAX);
		if (!target)
			return err_set(e, -ENOMEM, "out of memory");
		r = take_target(s, entry, target, e);
	} else if (is_wanted(v, entry)) {
		data = malloc((size_t)entry->size_bytes);
		if (!data)
			return err_set(e, -ENOMEM, "out of memory");
		r = take(s, data, entry->size_bytes, e);
	} else {
		r = take(s, NULL, entry->size_bytes, e);
	}
	if (!r)
		r = take_padding(s, e);
	return r ? r : v->visit(v->ctx, entry, data, e);
}

int cpio_read(struct cpio_source *s, const struct cpio_visitor *v, struct err *e)
{
	char name[PATH_MAX];

	for (;;) {
		struct cpio_entry entry = { .path = name };
		uint32_t name_bytes;
		int r = take_header(s, &entry, &name_bytes, e);

		if (!r)
			r = take(s, name, name_bytes, e);
		if (!r)
			r = take_padding(s, e);
		if (r)
			return r;
		if (name[name_bytes - 1] != '\0' || strlen(name) != name_bytes - 1)
			return err_set(e, -EINVAL, "byte %" PRIu64 ": a damaged name", s->position);
		if (strcmp(name, END_MARK) == 0)
			break;
		r = take_body(s, v, &entry, e);
		if (r)
			return r;
	}
	if (v->end)
		v->end(v->ctx);
	return 0;
}
