/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "swapfmt.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "num.h"

#define PAGE_BYTES 4096

/* Old signatures would make blkid call the area ambiguous (md at the end, btrfs at 64 KiB). */
#define WIPE_BYTES NUM_MIB

/* The first page. The kernel takes either byte order; ours is the same on every machine. */
struct swap_page {
	uint8_t boot_code[1024];
	uint32_t version;
	uint32_t last_page;
	uint32_t bad_pages;
	uint8_t uuid[16];
	char label[16];
	uint32_t reserved[117];
	uint8_t unused[PAGE_BYTES - 1024 - 512 - 10];
	char signature[10]; /* without a NUL */
} __attribute__((packed));

_Static_assert(sizeof(struct swap_page) == PAGE_BYTES, "the header is one page");

static int check_params(const struct blkio *io, const struct swapfmt_params *params, struct err *e)
{
	char have[NUM_BYTES_TEXT];
	char want[NUM_BYTES_TEXT];

	if (params->label != NULL && strlen(params->label) > SWAPFMT_LABEL_MAX)
		return err_set(e, -EINVAL, "label '%s' is longer than %d bytes", params->label,
			       SWAPFMT_LABEL_MAX);
	if (io->size_bytes < SWAPFMT_MIN_BYTES)
		return err_set(e, -EINVAL, "'%s' has %s, swap needs at least %s", io->name,
			       num_format_bytes(io->size_bytes, have),
			       num_format_bytes(SWAPFMT_MIN_BYTES, want));
	return 0;
}

static int wipe(const struct blkio *io, struct err *e)
{
	uint64_t n = io->size_bytes < WIPE_BYTES ? io->size_bytes : WIPE_BYTES;
	int rc = blkio_zero(io, 0, n, e);

	return rc != 0 ? rc : blkio_zero(io, io->size_bytes - n, n, e);
}

/* The header counts pages with 32 bits; what is beyond is not used, as with mkswap. */
static uint32_t last_page_of(const struct blkio *io)
{
	uint64_t last = io->size_bytes / PAGE_BYTES - 1;

	return htole32(last < UINT32_MAX ? (uint32_t)last : UINT32_MAX);
}

int swapfmt_write(const struct blkio *io, const struct swapfmt_params *params, struct err *e)
{
	struct swap_page page = { .version = htole32(1) };
	int rc = check_params(io, params, e);

	if (rc != 0)
		return rc;
	page.last_page = last_page_of(io);
	memcpy(page.uuid, params->uuid, sizeof(page.uuid));
	if (params->label != NULL)
		memcpy(page.label, params->label, strlen(params->label));
	memcpy(page.signature, "SWAPSPACE2", sizeof(page.signature));
	rc = wipe(io, e);
	if (rc == 0)
		rc = blkio_write(io, 0, &page, sizeof(page), e);
	if (rc == 0)
		rc = blkio_flush(io, e);
	return rc == 0 ? 0 : err_wrap(e, rc, "format '%s' as swap", io->name);
}

int swapfmt_grow(const struct blkio *io, struct err *e)
{
	struct swap_page page;
	int rc = blkio_read(io, 0, &page, sizeof(page), e);

	if (rc != 0)
		return rc;
	if (memcmp(page.signature, "SWAPSPACE2", sizeof(page.signature)) != 0 || page.version != htole32(1))
		return err_set(e, -ENODATA, "'%s' holds no swap of version 1 with pages of %d bytes", io->name, PAGE_BYTES);
	page.last_page = last_page_of(io);
	rc = blkio_write(io, 0, &page, sizeof(page), e);
	return rc != 0 ? rc : blkio_flush(io, e);
}

int swapfmt_get_label(const struct blkio *io, char *ret, struct err *e)
{
	struct swap_page page;
	int rc = blkio_read(io, 0, &page, sizeof(page), e);

	if (rc != 0)
		return rc;
	if (memcmp(page.signature, "SWAPSPACE2", sizeof(page.signature)) != 0)
		return err_set(e, -ENODATA, "'%s' holds no swap", io->name);
	memcpy(ret, page.label, SWAPFMT_LABEL_MAX);
	ret[SWAPFMT_LABEL_MAX] = '\0';
	return 0;
}
