/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table as text, and whether extents can be one: no device-mapper needed. */
#include "dmlinear_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Gaps are fine here, but nothing else is: in order, aligned, inside the device, not empty. */
static int check_with_holes(const struct extent_list *l, uint64_t size_bytes, struct err *e)
{
	uint64_t at = 0;

	if (l->count == 0 || size_bytes % DMLINEAR_SECTOR_BYTES || size_bytes > INT64_MAX)
		return err_set(e, -EINVAL, "a device of %" PRIu64 " bytes with %zu extents cannot be", size_bytes, l->count);
	for (size_t i = 0; i < l->count; i++) {
		const struct extent *x = &l->items[i];

		if (x->length_bytes == 0 || (x->logical_bytes | x->physical_bytes | x->length_bytes) % DMLINEAR_SECTOR_BYTES)
			return err_set(e, -EINVAL, "extent %zu is empty or not aligned to sectors", i);
		if (x->logical_bytes < at || x->length_bytes > size_bytes || x->logical_bytes > size_bytes - x->length_bytes)
			return err_set(e, -EINVAL, "extent %zu overlaps the one before it or the end of the device", i);
		if (x->physical_bytes > INT64_MAX - x->length_bytes)
			return err_set(e, -EINVAL, "extent %zu ends beyond any partition", i);
		at = x->logical_bytes + x->length_bytes;
	}
	return 0;
}

bool dmlinear_row_next(const struct extent_list *l, uint64_t size_bytes, struct dmlinear_cursor *c, struct dmlinear_row *ret)
{
	const struct extent *x = c->next < l->count ? &l->items[c->next] : NULL;
	uint64_t end = x ? x->logical_bytes : size_bytes;

	if (!x && c->at_bytes >= size_bytes)
		return false;
	if (x && end == c->at_bytes) {
		end += x->length_bytes;
		c->next++;
	} else {
		x = NULL; /* up to the next extent, or to the end */
	}
	*ret = (struct dmlinear_row){
		.start_sectors = c->at_bytes / DMLINEAR_SECTOR_BYTES,
		.length_sectors = (end - c->at_bytes) / DMLINEAR_SECTOR_BYTES,
		.extent = x,
	};
	c->at_bytes = end;
	return true;
}

int dmlinear_extents_check(const struct extent_list *l, uint64_t size_bytes, struct err *e)
{
	if (size_bytes)
		return check_with_holes(l, size_bytes, e);
	/* No device reaches beyond INT64_MAX; the partition's own end is the kernel's check. */
	return extent_list_check(l, extent_list_bytes(l), INT64_MAX, DMLINEAR_SECTOR_BYTES, e);
}

int dmlinear_format(const struct extent_list *extents, const char *device, char **ret_text,
		    struct err *e)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = NULL;
	int r = dmlinear_extents_check(extents, 0, e);

	if (r < 0)
		return err_wrap(e, r, "device-mapper table");
	if (device[0] == '\0' || strpbrk(device, " \t\n\r\v\f"))
		return err_set(e, -EINVAL, "device-mapper table: '%s' is no device name", device);
	f = open_memstream(&text, &size);
	if (!f)
		return err_errno(e, "device-mapper table");
	for (size_t i = 0; i < extents->count; i++) {
		const struct extent *x = &extents->items[i];

		(void)fprintf(f, "%" PRIu64 " %" PRIu64 " linear %s %" PRIu64 "\n",
			      x->logical_bytes / DMLINEAR_SECTOR_BYTES,
			      x->length_bytes / DMLINEAR_SECTOR_BYTES, device,
			      x->physical_bytes / DMLINEAR_SECTOR_BYTES); /* ferror() tells */
	}
	r = ferror(f);
	if (fclose(f) != 0 || r != 0) {
		free(text);
		return err_set(e, -ENOMEM, "device-mapper table: no memory");
	}
	*ret_text = text;
	return 0;
}
