/* SPDX-License-Identifier: GPL-2.0-or-later */
/* May it be done? The image by its map, the partition by what is on it and who uses it. */
#include "export_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "attach.h"
#include "filedev.h"
#include "mapdev.h"
#include "num.h"
#include "sysfs.h"

#define ENDS_BYTES NUM_MIB

/* ---- the image ---- */

static int check_users(const char *path, struct err *e)
{
	struct report users = { .count = 0 };
	int code = blockdev_check_users(path, &users, e);

	return code ? code : report_refuse(&users, e);
}

/* The claim keeps everybody else from writing to it meanwhile; we do not either. */
static int claim_source(struct export_job *j, struct err *e)
{
	const char *volume = j->par->volume;
	int code = check_users(volume, e);

	if (!code)
		code = filedev_open(volume, FILEDEV_WRITE, &j->source, e);
	if (code)
		return code;
	j->source->writable = false;
	/* ntfs-3g's own lock is gone once it has mounted: look again under ours, that no mount slipped in between */
	return filedev_is_block(j->source) ? 0 : check_users(volume, e);
}

static int check_map(struct export_job *j, struct err *e)
{
	const struct attach_request req = { .map = j->par->map, .readonly = true };
	struct attach_volume v = { .io = j->source }; /* borrowed: never closed here */
	struct report report = { .count = 0 };
	int code = blockdev_probe(j->source, &v.info, e);

	if (code)
		return code;
	(void)snprintf(v.path, sizeof(v.path), "%s", j->par->volume);
	blockdev_check(&v.info, 0, &report);
	code = report_refuse(&report, e);
	if (code)
		return err_wrap(e, code, "volume '%s'", j->par->volume);
	code = attach_check(&v, &req, &j->extents, e);
	return code ? code : mapdev_new(j->source, &j->extents, &j->image, e);
}

static int open_image(struct export_job *j, struct err *e)
{
	const struct map *m = j->par->map;
	int code = claim_source(j, e);

	if (!code)
		code = check_map(j, e);
	if (code)
		return code;
	if (strcmp(m->fs_type, "ext4") != 0)
		return err_refuse(e, "not-ext4", "the image '%s' holds no ext4 (its map says '%s'), and nothing else can be made "
				  "the size of a partition", m->image, m->fs_type);
	code = ext4used_open(j->image, &j->used, &j->info, e);
	if (code)
		return code;
	(void)snprintf(j->plan->image, sizeof(j->plan->image), "%s", m->image);
	j->plan->image_bytes = j->image->size_bytes;
	j->plan->fs_bytes = j->info.fs_bytes;
	j->plan->used_bytes = j->info.used_bytes;
	j->plan->is_whole = j->info.is_whole;
	return 0;
}

/* ---- the partition ---- */

/* The volume itself, or the disk that it is on. */
static int check_same(const struct export_job *j, struct err *e)
{
	const char *volume = j->par->volume, *partition = j->par->partition;
	struct stat a, b;
	bool is_same;

	if (stat(volume, &a) < 0)
		return err_errno(e, "'%s'", volume);
	if (stat(partition, &b) < 0)
		return err_errno(e, "'%s'", partition);
	is_same = S_ISBLK(a.st_mode) && S_ISBLK(b.st_mode) ? sysfs_is_related(a.st_rdev, b.st_rdev)
							   : a.st_dev == b.st_dev && a.st_ino == b.st_ino;
	if (is_same)
		report_add(&j->plan->report, "same-volume", "'%s' is the Windows volume that the image is on, or its disk: all "
			   "of Windows would be overwritten; name another partition", partition);
	return 0;
}

/* Of a kind that firmware or Windows keeps for itself: never overwritten, whatever is on it. */
static void check_kind(const struct blockdev_info *info, struct report *r)
{
	static const struct {
		const char *type, *what;
	} kinds[] = {
		{ "C12A7328-F81F-11D2-BA4B-00A0C93EC93B", "the EFI system partition, which starts this machine" },
		{ "0xef", "the EFI system partition, which starts this machine" },
		{ "E3C9E316-0B5C-4DB8-817D-F92DF00215AE", "a reserved partition of Windows" },
		{ "DE94BBA4-06D1-4D40-A16A-BFD50179D6AC", "a recovery partition of Windows" },
		{ "0x27", "a recovery partition of Windows" },
		{ "21686148-6449-6E6F-744E-656564454649", "a partition for GRUB itself (BIOS boot)" },
		{ "0x5", "an extended partition, which holds others" },
		{ "0xf", "an extended partition, which holds others" },
		{ "0x85", "an extended partition, which holds others" },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcasecmp(info->part_type, kinds[i].type) == 0)
			report_add(r, "reserved", "it is %s; name another partition", kinds[i].what);
}

static void check_size(const struct export_job *j, struct report *r)
{
	char have[NUM_BYTES_TEXT], want[NUM_BYTES_TEXT];
	uint64_t size = j->target->size_bytes;

	if (size < j->info.fs_bytes)
		report_add(r, "too-small", "'%s' has %s (%llu bytes), and the file system in the image has %s (%llu bytes); "
			   "name a larger partition", j->par->partition, num_format_bytes(size, have), (unsigned long long)size,
			   num_format_bytes(j->info.fs_bytes, want), (unsigned long long)j->info.fs_bytes);
	if (j->info.block_bytes < j->target->sector_bytes)
		report_add(r, "sector-size", "'%s' has sectors of %u bytes, and the file system has blocks of %u bytes, which "
			   "Linux does not mount there; use another disk", j->par->partition, j->target->sector_bytes,
			   j->info.block_bytes);
}

static int is_zero(const struct blkio *io, uint64_t offset_bytes, size_t n, bool *ret, struct err *e)
{
	AUTO_FREE uint8_t *data = malloc(n);
	int code = data ? blkio_read(io, offset_bytes, data, n, e) : err_set(e, -ENOMEM, "'%s': out of memory", io->name);

	if (!code)
		*ret = n == 0 || (data[0] == 0 && memcmp(data, data + 1, n - 1) == 0);
	return code;
}

static int check_empty(const struct export_job *j, const struct blockdev_info *info, struct err *e)
{
	const struct blkio *io = j->target;
	size_t n = io->size_bytes < ENDS_BYTES ? (size_t)io->size_bytes : ENDS_BYTES;
	bool is_clear[2] = { true, true };
	int code = 0;

	if (info->fs_type[0]) {
		(void)snprintf(j->plan->found, sizeof(j->plan->found), "it holds '%s'", info->fs_type);
		return 0;
	}
	if (n)
		code = is_zero(io, 0, n, &is_clear[0], e);
	if (!code && n)
		code = is_zero(io, io->size_bytes - n, n, &is_clear[1], e);
	if (!code && !(is_clear[0] && is_clear[1]))
		(void)snprintf(j->plan->found, sizeof(j->plan->found),
			       "no file system is known there, but its %s MiB is not zero", is_clear[0] ? "last" : "first");
	return code;
}

static int look_at_target(struct export_job *j, struct err *e)
{
	struct report *r = &j->plan->report;
	struct blockdev_info info;
	int code = blockdev_probe(j->target, &info, e);

	if (code)
		return code;
	j->plan->partition_bytes = j->target->size_bytes;
	blockdev_check(&info, 0, r);
	check_kind(&info, r);
	check_size(j, r);
	return check_empty(j, &info, e);
}

static int open_target(struct export_job *j, struct err *e)
{
	struct report *r = &j->plan->report;
	struct err why = ERR_INIT;
	int code = check_same(j, e);

	if (code || r->count) /* our own claim would make it busy */
		return code;
	code = blockdev_check_users(j->par->partition, r, e);
	if (code || r->count)
		return code;
	code = filedev_open(j->par->partition, FILEDEV_WRITE, &j->target, &why);
	if (code && report_take(r, &why))
		return 0;
	return code ? err_set(e, code, "%s", why.text) : look_at_target(j, e);
}

/* ---- both ---- */

int export_open(struct export_job *j, struct err *e)
{
	int code = export_find_programs(e);

	if (!code)
		code = progress_step(j->progress, "look", 0, 0, e);
	if (!code)
		code = open_image(j, e);
	return code ? code : open_target(j, e);
}

void export_clear(struct export_job *j)
{
	ext4used_free(TAKE(j->used));
	blkio_free(TAKE(j->image)); /* before what it lies on */
	blkio_free(TAKE(j->source));
	blkio_free(TAKE(j->target));
	extent_list_clear(&j->extents);
}
