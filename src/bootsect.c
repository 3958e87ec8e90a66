/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bootsect.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "num.h"

#define CLUSTER_MAX_BYTES (2u * 1024 * 1024)
#define RECORD_MIN_BYTES 512u
#define RECORD_MAX_BYTES (64u * 1024)

struct signature {
	size_t offset;
	size_t n;
	const char *bytes;
	const char *name;
};

static bool has_bytes(const uint8_t *b, size_t n, size_t offset, const char *bytes, size_t count)
{
	return n >= offset + count && memcmp(b + offset, bytes, count) == 0;
}

static uint16_t get_u16(const uint8_t *b, size_t offset)
{
	uint16_t value;

	memcpy(&value, b + offset, sizeof(value));
	return le16toh(value);
}

static uint32_t get_u32(const uint8_t *b, size_t offset)
{
	uint32_t value;

	memcpy(&value, b + offset, sizeof(value));
	return le32toh(value);
}

static uint64_t get_u64(const uint8_t *b, size_t offset)
{
	uint64_t value;

	memcpy(&value, b + offset, sizeof(value));
	return le64toh(value);
}

static bool is_bitlocker(const uint8_t *b, size_t n)
{
	/* 4967d63b-2e29-4ad8-8399-f6a339e3d001, the first three groups little-endian. */
	static const char guid[] = "\x3b\xd6\x67\x49\x29\x2e\xd8\x4a\x83\x99\xf6\xa3\x39\xe3\xd0"
				   "\x01";

	return has_bytes(b, n, 3, "-FVE-FS-", 8) ||
	       (has_bytes(b, n, 3, "MSWIN4.1", 8) && has_bytes(b, n, 424, guid, 16));
}

static const char *other_name(const uint8_t *b, size_t n)
{
	/* ext before FAT: mkfs.ext4 leaves the first 1024 bytes as they were on some layouts. */
	static const struct signature known[] = {
		{ 3, 8, "EXFAT   ", "exFAT" },	  { 3, 8, "ReFS\0\0\0\0", "ReFS" },
		{ 1080, 2, "\x53\xef", "ext" },	  { 82, 5, "FAT32", "FAT" },
		{ 54, 5, "FAT12", "FAT" },	  { 54, 5, "FAT16", "FAT" },
		{ 0, 6, "LUKS\xba\xbe", "LUKS" }, { 0, 4, "XFSB", "XFS" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (has_bytes(b, n, known[i].offset, known[i].bytes, known[i].n))
			return known[i].name;
	}
	if (b[0] == 0 && memcmp(b, b + 1, n - 1) == 0)
		return "empty";
	return "unknown";
}

static int parse_geometry(const uint8_t *b, struct bootsect *s, struct err *e)
{
	uint32_t sector = get_u16(b, 0x0b);
	unsigned code = b[0x0d];
	uint64_t cluster;

	if (sector < 256 || sector > 4096 || !num_is_power_of_two(sector))
		return err_set(e, -EINVAL,
			       "NTFS boot sector: %" PRIu32 " bytes per sector are impossible",
			       sector);
	/* Above 128: a negative power of two, for clusters over 64 KiB (Windows 10 1709). */
	if (code > 0x80 && code < 0x100 - 12)
		return err_set(e, -EINVAL,
			       "NTFS boot sector: sectors per cluster 0x%02x are impossible", code);
	cluster = code > 0x80 ? (uint64_t)sector << (0x100 - code) : (uint64_t)sector * code;
	if (!num_is_power_of_two(cluster) || cluster > CLUSTER_MAX_BYTES)
		return err_set(e, -EINVAL,
			       "NTFS boot sector: sectors per cluster 0x%02x are impossible", code);
	/* FAT's fields: if one is not 0, libntfs-3g takes it for no NTFS boot sector. */
	if (get_u16(b, 0x0e) || b[0x10] || get_u16(b, 0x11) || get_u16(b, 0x13) ||
	    get_u16(b, 0x16) || get_u32(b, 0x20))
		return err_set(e, -EINVAL,
			       "NTFS boot sector: a field of FAT that must be 0 is not (0x0e to "
			       "0x23)");
	s->sector_bytes = sector;
	s->cluster_bytes = (uint32_t)cluster;
	return 0;
}

static int parse_extent(const uint8_t *b, uint64_t device_bytes, struct bootsect *s, struct err *e)
{
	uint64_t clusters;

	s->total_sectors = get_u64(b, 0x28);
	if (num_mul(s->total_sectors, s->sector_bytes, &s->total_bytes) < 0)
		return err_set(e, -EINVAL,
			       "NTFS boot sector: %" PRIu64 " total sectors are impossible",
			       s->total_sectors);
	if (s->total_bytes > device_bytes)
		return err_set(e, -EINVAL,
			       "NTFS boot sector: the volume's %" PRIu64 " total sectors (%" PRIu64
			       " bytes) do not fit the device of %" PRIu64 " bytes",
			       s->total_sectors, s->total_bytes, device_bytes);
	clusters = s->total_bytes / s->cluster_bytes;
	if (clusters == 0)
		return err_set(e, -EINVAL,
			       "NTFS boot sector: %" PRIu64 " total sectors are no cluster",
			       s->total_sectors);
	s->mft_lcn = get_u64(b, 0x30);
	if (s->mft_lcn >= clusters)
		return err_set(e, -EINVAL,
			       "NTFS boot sector: $MFT at cluster %" PRIu64 " lies outside the "
									    "volume",
			       s->mft_lcn);
	s->mftmirr_lcn = get_u64(b, 0x38);
	if (s->mftmirr_lcn >= clusters)
		return err_set(e, -EINVAL,
			       "NTFS boot sector: $MFTMirr at cluster %" PRIu64 " lies outside the "
										"volume",
			       s->mftmirr_lcn);
	return 0;
}

/* Clusters, or, negative, the power of two of the bytes. */
static int parse_record(uint8_t code, uint32_t cluster_bytes, const char *what, uint32_t *ret,
			struct err *e)
{
	uint64_t bytes = 0;

	if (code < 0x80)
		bytes = (uint64_t)code * cluster_bytes;
	else if (code > 0x100 - 32)
		bytes = UINT64_C(1) << (0x100 - code);
	if (bytes < RECORD_MIN_BYTES || bytes > RECORD_MAX_BYTES || !num_is_power_of_two(bytes))
		return err_set(e, -EINVAL,
			       "NTFS boot sector: clusters per %s 0x%02x are impossible", what,
			       code);
	*ret = (uint32_t)bytes;
	return 0;
}

static int parse_ntfs(const uint8_t *b, uint64_t device_bytes, struct bootsect *s, struct err *e)
{
	int r = parse_geometry(b, s, e);

	if (r == 0)
		r = parse_extent(b, device_bytes, s, e);
	if (r == 0)
		r = parse_record(b[0x40], s->cluster_bytes, "MFT record", &s->mft_record_bytes, e);
	if (r == 0)
		r = parse_record(b[0x44], s->cluster_bytes, "index block", &s->index_block_bytes,
				 e);
	s->serial = get_u64(b, 0x48);
	return r;
}

int bootsect_parse(const void *bytes, size_t n, uint64_t device_bytes, struct bootsect *ret,
		   struct err *e)
{
	const uint8_t *b = bytes;
	struct bootsect s = { .kind = BOOTSECT_OTHER };
	int r;

	if (n < BOOTSECT_BYTES)
		return err_set(e, -EINVAL, "boot sector: %zu bytes are too few", n);
	if (is_bitlocker(b, n)) {
		s.kind = BOOTSECT_BITLOCKER;
	} else if (has_bytes(b, n, 3, "NTFS    ", 8)) {
		s.kind = BOOTSECT_NTFS;
		r = parse_ntfs(b, device_bytes, &s, e);
		if (r < 0)
			return r;
	} else {
		(void)snprintf(s.other, sizeof(s.other), "%s",
			       other_name(b, n)); /* all names are short */
	}
	*ret = s;
	return 0;
}
