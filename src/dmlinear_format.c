/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table as text, and whether extents can be one: no device-mapper needed. */
#include "dmlinear_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int dmlinear_extents_check(const struct extent_list *l, struct err *e)
{
	/* No device reaches beyond INT64_MAX; the partition's own end is the kernel's check. */
	return extent_list_check(l, extent_list_bytes(l), INT64_MAX, DMLINEAR_SECTOR_BYTES, e);
}

int dmlinear_format(const struct extent_list *extents, const char *device, char **ret_text,
		    struct err *e)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = NULL;
	int r = dmlinear_extents_check(extents, e);

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
