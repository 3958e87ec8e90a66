/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "canary.h"

#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define UUID_TEXT 37

#define EXT4_SB_BYTES 1024
#define EXT4_SB_OFFSET 1024
#define EXT4_MAGIC 0xEF53
#define EXT4_COMPAT_SPARSE_SUPER2 0x200
#define EXT4_INCOMPAT_64BIT 0x80
#define EXT4_RO_SPARSE_SUPER 0x1
#define EXT4_RO_BIGALLOC 0x200
#define EXT4_BACKUPS_MAX 3

#define SWAP_HEADER_OFFSET 1024
#define SWAP_HEADER_BYTES 28 /* version, last page, bad pages, UUID */
#define SWAP_SIGNATURE_BYTES 10
#define SWAP_PAGE_MIN 4096
#define SWAP_PAGE_MAX 65536

enum ext4_backups { EXT4_BACKUPS_ALL, EXT4_BACKUPS_SPARSE, EXT4_BACKUPS_TWO };

struct ext4_layout {
	uint8_t uuid[16];
	uint32_t block_bytes;
	uint64_t blocks;
	uint64_t group_blocks;
	uint64_t first_block;
	uint64_t groups;
	enum ext4_backups backups;
	uint32_t two[2]; /* EXT4_BACKUPS_TWO: the groups; 0 is none */
};

struct swap_layout {
	uint8_t uuid[16];
	bool version_known;
	uint64_t bytes; /* by the header's count of pages */
};

static uint16_t le16_at(const uint8_t *p, size_t offset)
{
	uint16_t v;

	memcpy(&v, p + offset, sizeof(v));
	return le16toh(v);
}

static uint32_t le32_at(const uint8_t *p, size_t offset)
{
	uint32_t v;

	memcpy(&v, p + offset, sizeof(v));
	return le32toh(v);
}

static void uuid_to_text(const uint8_t id[16], char ret[UUID_TEXT])
{
	size_t at = 0;

	for (size_t i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			ret[at++] = '-';
		ret[at++] = "0123456789abcdef"[id[i] >> 4];
		ret[at++] = "0123456789abcdef"[id[i] & 15];
	}
	ret[at] = '\0';
}

/* The first complaint stays, and a result with a complaint is not ok. */
__attribute__((format(printf, 2, 3)))
static void complain(struct canary_result *r, const char *fmt, ...)
{
	va_list args;

	r->other_uuid = false;
	if (r->reason[0] != '\0')
		return;
	va_start(args, fmt);
	(void)vsnprintf(r->reason, sizeof(r->reason), fmt, args); /* a cut text is fine */
	va_end(args);
}

static void check_uuid(const char *place, const uint8_t id[16], const char *wanted,
		       struct canary_result *r)
{
	bool only = r->reason[0] == '\0' || r->other_uuid;
	char have[UUID_TEXT];

	uuid_to_text(id, have);
	if (strcasecmp(have, wanted) == 0)
		return;
	complain(r, "%s has UUID %s, not %s", place, have, wanted);
	r->other_uuid = only;
}

/* What arithmetic below relies on: nothing is zero, nothing lies beyond the image. */
static bool ext4_is_sane(const uint8_t *sb, const struct ext4_layout *l, uint64_t image_bytes,
			 struct canary_result *r)
{
	uint64_t most_group_blocks = UINT64_C(8) * l->block_bytes;

	if ((le32_at(sb, 0x64) & EXT4_RO_BIGALLOC) != 0)
		most_group_blocks = UINT32_MAX;
	if (l->first_block > 1 || l->blocks <= l->first_block)
		complain(r, "superblock has %llu blocks from block %llu on",
			 (unsigned long long)l->blocks, (unsigned long long)l->first_block);
	else if (l->blocks > image_bytes / l->block_bytes)
		complain(r, "superblock has %llu blocks of %u bytes, the image has %llu bytes",
			 (unsigned long long)l->blocks, (unsigned)l->block_bytes,
			 (unsigned long long)image_bytes);
	else if (l->group_blocks == 0 || l->group_blocks > most_group_blocks)
		complain(r, "superblock has %llu blocks in a group",
			 (unsigned long long)l->group_blocks);
	else
		return true;
	return false;
}

static bool ext4_parse(const uint8_t *sb, uint64_t image_bytes, struct ext4_layout *ret,
		       struct canary_result *r)
{
	uint32_t log_block = le32_at(sb, 0x18);
	struct ext4_layout l = { .backups = EXT4_BACKUPS_ALL };

	if (le16_at(sb, 0x38) != EXT4_MAGIC || log_block > 6) {
		complain(r, "superblock is not ext4's");
		return false;
	}
	memcpy(l.uuid, sb + 0x68, sizeof(l.uuid));
	l.block_bytes = UINT32_C(1024) << log_block;
	l.blocks = le32_at(sb, 0x04);
	if ((le32_at(sb, 0x60) & EXT4_INCOMPAT_64BIT) != 0)
		l.blocks |= (uint64_t)le32_at(sb, 0x150) << 32;
	l.first_block = le32_at(sb, 0x14);
	l.group_blocks = le32_at(sb, 0x20);
	if ((le32_at(sb, 0x5C) & EXT4_COMPAT_SPARSE_SUPER2) != 0)
		l.backups = EXT4_BACKUPS_TWO;
	else if ((le32_at(sb, 0x64) & EXT4_RO_SPARSE_SUPER) != 0)
		l.backups = EXT4_BACKUPS_SPARSE;
	l.two[0] = le32_at(sb, 0x24C);
	l.two[1] = le32_at(sb, 0x250);
	if (!ext4_is_sane(sb, &l, image_bytes, r))
		return false;
	l.groups = (l.blocks - l.first_block - 1) / l.group_blocks + 1;
	*ret = l;
	return true;
}

/* Keeps the two largest that are not 0, the larger one first. */
static void keep_last_two(uint64_t last[2], uint64_t group)
{
	if (group > last[0]) {
		last[1] = last[0];
		last[0] = group;
	} else if (group > last[1] && group != last[0]) {
		last[1] = group;
	}
}

/* Powers of 3, 5 and 7. There are less than 2^54 groups (bytes over 1024), so nothing overflows. */
static void keep_sparse_groups(uint64_t groups, uint64_t last[2])
{
	for (uint64_t base = 3; base <= 7; base += 2) {
		for (uint64_t group = base; group < groups; group *= base)
			keep_last_two(last, group);
	}
}

/* Group 1 and the last two with a backup. One of EXT4_BACKUPS_TWO may not exist: seen later. */
static size_t ext4_backup_groups(const struct ext4_layout *l, uint64_t ret[EXT4_BACKUPS_MAX])
{
	uint64_t last[2] = { 0, 0 };
	size_t n = 0;

	if (l->backups == EXT4_BACKUPS_TWO) {
		keep_last_two(last, l->two[0]);
		keep_last_two(last, l->two[1]);
	} else if (l->backups == EXT4_BACKUPS_SPARSE) {
		keep_sparse_groups(l->groups, last);
	} else if (l->groups > 2) {
		keep_last_two(last, l->groups - 2);
		keep_last_two(last, l->groups - 1);
	}
	if (l->backups != EXT4_BACKUPS_TWO && l->groups > 1)
		ret[n++] = 1;
	for (int i = 1; i >= 0; i--) {
		if (last[i] != 0 && (n == 0 || ret[n - 1] != last[i]))
			ret[n++] = last[i];
	}
	return n;
}

static int ext4_check_backup(const struct blkio *image, const struct ext4_layout *l,
			     uint64_t group, const char *fs_uuid, struct canary_result *r,
			     struct err *e)
{
	uint8_t sb[EXT4_SB_BYTES];
	char place[64];
	uint64_t block;
	int rc;

	r->checked++;
	(void)snprintf(place, sizeof(place), "backup superblock of group %llu",
		       (unsigned long long)group);
	if (group >= l->groups) {
		complain(r, "%s is beyond the end", place);
		return 0;
	}
	block = l->first_block + group * l->group_blocks; /* below l->blocks */
	rc = blkio_read(image, block * l->block_bytes, sb, sizeof(sb), e);
	if (rc != 0)
		return err_wrap(e, rc, "%s", place);
	if (le16_at(sb, 0x38) != EXT4_MAGIC)
		complain(r, "%s is not ext4's", place);
	else
		check_uuid(place, sb + 0x68, fs_uuid, r);
	return 0;
}

/* Zeros, which are no superblock, for an image that is too short to hold one. */
static int ext4_read(const struct blkio *image, uint8_t ret_sb[EXT4_SB_BYTES], struct err *e)
{
	int rc;

	memset(ret_sb, 0, EXT4_SB_BYTES);
	if (image->size_bytes < EXT4_SB_OFFSET + EXT4_SB_BYTES)
		return 0;
	rc = blkio_read(image, EXT4_SB_OFFSET, ret_sb, EXT4_SB_BYTES, e);
	return rc == 0 ? 0 : err_wrap(e, rc, "superblock");
}

static int ext4_check(const struct blkio *image, const char *fs_uuid, struct canary_result *r,
		      struct err *e)
{
	uint64_t groups[EXT4_BACKUPS_MAX];
	uint8_t sb[EXT4_SB_BYTES];
	struct ext4_layout l;
	size_t n;
	int rc = ext4_read(image, sb, e);

	if (rc != 0)
		return rc;
	r->checked++;
	if (!ext4_parse(sb, image->size_bytes, &l, r))
		return 0;
	r->fs_bytes = l.blocks * l.block_bytes; /* within the image: ext4_is_sane() */
	check_uuid("superblock", l.uuid, fs_uuid, r);
	n = ext4_backup_groups(&l, groups);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = ext4_check_backup(image, &l, groups[i], fs_uuid, r, e);
	return rc;
}

/* A swap area that holds a hibernated system has another signature and the same header. */
static bool is_swap_signature(const uint8_t *p)
{
	return memcmp(p, "SWAPSPACE2", SWAP_SIGNATURE_BYTES) == 0 ||
	       memcmp(p, "S1SUSPEND", SWAP_SIGNATURE_BYTES) == 0; /* with its NUL */
}

/* The signature ends the first page, of whatever size. *ret_page_bytes: 0 if there is none. */
static int swap_find(const struct blkio *image, uint32_t *ret_page_bytes, bool *ret_suspended, struct err *e)
{
	uint8_t signature[SWAP_SIGNATURE_BYTES];

	*ret_page_bytes = 0;
	*ret_suspended = false;
	for (uint32_t page = SWAP_PAGE_MIN; page <= SWAP_PAGE_MAX; page *= 2) {
		int rc;

		if (page > image->size_bytes)
			break;
		rc = blkio_read(image, page - sizeof(signature), signature, sizeof(signature), e);
		if (rc != 0)
			return err_wrap(e, rc, "swap signature");
		if (is_swap_signature(signature)) {
			*ret_page_bytes = page;
			*ret_suspended = signature[1] == '1';
			break;
		}
	}
	return 0;
}

/* Only after swap_find(): the image has a whole page. */
static int swap_read(const struct blkio *image, uint32_t page_bytes, struct swap_layout *ret,
		     struct err *e)
{
	uint8_t header[SWAP_HEADER_BYTES];
	uint32_t last_page;
	int rc = blkio_read(image, SWAP_HEADER_OFFSET, header, sizeof(header), e);

	if (rc != 0)
		return err_wrap(e, rc, "swap header");
	memcpy(ret->uuid, header + 12, sizeof(ret->uuid));
	last_page = le32_at(header, 4);
	ret->version_known = le32_at(header, 0) == 1;
	if (le32_at(header, 0) == UINT32_C(1) << 24) { /* made by a big-endian machine */
		last_page = __builtin_bswap32(last_page);
		ret->version_known = true;
	}
	ret->bytes = ((uint64_t)last_page + 1) * page_bytes;
	return 0;
}

static int swap_check(const struct blkio *image, const char *fs_uuid, struct canary_result *r,
		      struct err *e)
{
	struct swap_layout l = { .version_known = false };
	uint32_t page_bytes = 0;
	int rc = swap_find(image, &page_bytes, &r->suspended, e);

	if (rc != 0)
		return rc;
	r->checked++;
	if (page_bytes == 0) {
		complain(r, "swap header has no signature");
		return 0;
	}
	rc = swap_read(image, page_bytes, &l, e);
	if (rc != 0)
		return rc;
	r->fs_bytes = l.bytes;
	if (!l.version_known)
		complain(r, "swap header has an unknown version");
	check_uuid("swap header", l.uuid, fs_uuid, r);
	if (l.bytes > image->size_bytes)
		complain(r, "swap header has %llu bytes, the image has %llu",
			 (unsigned long long)l.bytes, (unsigned long long)image->size_bytes);
	return 0;
}

int canary_check(const struct blkio *image, const char *fs_type, const char *fs_uuid,
		 struct canary_result *ret, struct err *e)
{
	struct canary_result r = { .known = true };
	int rc = 0;

	if (strcmp(fs_type, "ext4") == 0)
		rc = ext4_check(image, fs_uuid, &r, e);
	else if (strcmp(fs_type, "swap") == 0)
		rc = swap_check(image, fs_uuid, &r, e);
	else
		r.known = false;
	if (rc != 0)
		return rc;
	r.ok = r.known && r.reason[0] == '\0';
	*ret = r;
	return 0;
}

static int identify(const struct blkio *image, const char **ret_type, char ret_uuid[UUID_TEXT],
		    struct err *e)
{
	struct canary_result unused = { .known = true };
	uint8_t sb[EXT4_SB_BYTES];
	struct ext4_layout ext4;
	struct swap_layout swap = { .version_known = false };
	uint32_t page_bytes = 0;
	int rc = ext4_read(image, sb, e);

	if (rc == 0 && ext4_parse(sb, image->size_bytes, &ext4, &unused)) {
		*ret_type = "ext4";
		uuid_to_text(ext4.uuid, ret_uuid);
		return 0;
	}
	if (rc == 0)
		rc = swap_find(image, &page_bytes, &unused.suspended, e);
	if (rc != 0 || page_bytes == 0)
		return rc;
	rc = swap_read(image, page_bytes, &swap, e);
	if (rc == 0 && swap.version_known && swap.bytes <= image->size_bytes) {
		*ret_type = "swap";
		uuid_to_text(swap.uuid, ret_uuid);
	}
	return rc;
}

int canary_identify(const struct blkio *image, char ret_type[8], char ret_uuid[37], struct err *e)
{
	const char *type = "none";
	char uuid[UUID_TEXT] = "";
	int rc = identify(image, &type, uuid, e);

	if (rc != 0)
		return rc;
	memcpy(ret_type, type, strlen(type) + 1);
	memcpy(ret_uuid, uuid, sizeof(uuid));
	return 0;
}
