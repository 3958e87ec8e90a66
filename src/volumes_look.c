/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "volumes_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "filedev.h"
#include "mountfs.h"
#include "num.h"

#define FAT_SECTOR 512

/* What is known while a row is being filled. */
struct look {
	struct volumes_row *row;
	struct blockdev_info device;
	struct mountfs_entry mount;
	struct report found; /* what stands against an image there, the weightiest first */
};

static const char *state_word(const char *reason)
{
	static const char *const words[][2] = {
		{ "bitlocker", "BitLocker" },    { "fast-startup", "Fast Startup" }, { "journal", "unclean journal" },
		{ "ldm", "dynamic disk" },       { "raid", "RAID member" },          { "storage-spaces", "Storage Spaces" },
		{ "mft-mirror", "damaged" },     { "corrupt", "damaged" },           { "busy", "in use" },
		{ "no-space", "too small" },     { "stale-table", "other table" },   { "image-in-found", "image in found" },
		{ "not-ntfs", "no NTFS" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(reason, words[i][0]))
			return words[i][1];
	return reason;
}

static void set_state(struct volumes_row *row, const char *word)
{
	volumes_copy(row->state, sizeof(row->state), word);
}

/* No refusal, a failure: nothing can be said about it. */
static void set_unreadable(struct volumes_row *row, const char *word, const char *text)
{
	set_state(row, word);
	volumes_copy(row->text, sizeof(row->text), text);
}

/* The first finding in full, the others by name. */
static void set_refusal(struct look *l)
{
	struct volumes_row *row = l->row;
	char also[160] = "", text[sizeof(l->found.items[0].text) + sizeof(also) + 16];
	size_t n = 0;

	for (size_t i = 1; i < l->found.count && n < sizeof(also); i++) {
		const char *reason = l->found.items[i].reason;

		if (strcmp(reason, l->found.items[0].reason) != 0)
			n += (size_t)snprintf(also + n, sizeof(also) - n, "%s%s", n ? ", " : "", state_word(reason));
	}
	(void)snprintf(text, sizeof(text), "%s%s%s%s", l->found.items[0].text, *also ? " (also: " : "", also, *also ? ")" : "");
	volumes_copy(row->reason, sizeof(row->reason), l->found.items[0].reason);
	volumes_copy(row->text, sizeof(row->text), text);
	set_state(row, !strcmp(row->reason, "busy") && *row->mounted ? "mounted" : state_word(row->reason));
}

static void add(struct report *r, const struct finding *f)
{
	report_add(r, f->reason, "%s", f->text);
}

/* FAT's own words, in its first sector: libblkid's are not asked for by blockdev. */
static void look_fat(const struct blkio *io, struct volumes_row *row)
{
	unsigned char s[FAT_SECTOR];
	size_t at; /* of the signature 0x29, behind which are serial number and label; FAT32 has no 16-bit size of a FAT */

	if (io->size_bytes < sizeof(s) || blkio_read(io, 0, s, sizeof(s), NULL))
		return;
	at = s[22] || s[23] ? 38 : 66;
	if (s[at] != 0x29)
		return;
	(void)snprintf(row->esp_uuid, sizeof(row->esp_uuid), "%02X%02X-%02X%02X", s[at + 4], s[at + 3], s[at + 2], s[at + 1]);
	(void)snprintf(row->label, sizeof(row->label), "%.11s", (const char *)s + at + 5);
	for (size_t n = strlen(row->label); n && row->label[n - 1] == ' '; n--)
		row->label[n - 1] = '\0';
	for (char *p = row->label; *p; p++)
		if (*p < ' ' || *p > '~') /* of some code page */
			*p = '?';
	if (!strcmp(row->label, "NO NAME"))
		row->label[0] = '\0';
}

/* Is the node the partition that the table has? Not when the table was changed while one of its partitions was in use. */
static void check_place(const struct disks_partition *part, struct look *l)
{
	const char *path = l->row->path;

	if (!part || !l->device.is_block ||
	    (l->device.disk_offset_bytes == part->start_bytes && l->device.size_bytes == part->size_bytes))
		return;
	report_add(&l->found, "stale-table", "'%s' is not where the partition table of '%s' says: the table was changed, and the "
		   "kernel works with the old one, so that bytes of another partition could be written; restart, then retry",
		   path, l->row->disk->path);
}

static bool is_claimed(const char *path)
{
	int fd = open(path, O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC); /* on a block device it asks for a claim */

	if (fd >= 0)
		(void)close(fd); /* it was not even read */
	return fd < 0 && errno == EBUSY;
}

static void check_users(struct look *l)
{
	const char *path = l->row->path;
	struct report users = { .count = 0 };

	if (*l->row->mounted) {
		report_add(&l->found, "busy", "'%s' is mounted at '%s', and two that write to a volume damage it; close what is "
			   "open there and unmount it (--unmount does that), then retry", path, l->row->mounted);
		return;
	}
	/* what cannot be told is told when it is claimed: nothing is written without a claim */
	(void)blockdev_check_users(path, &users, NULL);
	for (size_t i = 0; i < users.count; i++)
		add(&l->found, &users.items[i]);
	if (!users.count && l->device.is_block && is_claimed(path))
		report_add(&l->found, "busy", "'%s' is in use, perhaps mounted in another mount namespace, and two that write to "
			   "a volume damage it; end what uses it (lsblk shows what it is), then retry", path);
}

/* Roughly, as create looks for the very clusters. */
static void check_space(uint64_t needed_bytes, uint32_t cluster_bytes, struct look *l)
{
	const struct volumes_row *row = l->row;
	char need[NUM_BYTES_TEXT], space[NUM_BYTES_TEXT], run[NUM_BYTES_TEXT];
	uint64_t unit = cluster_bytes > NUM_MIB ? cluster_bytes : NUM_MIB;

	if (num_align_up(needed_bytes, unit, &needed_bytes))
		needed_bytes = UINT64_MAX;
	num_format_bytes(needed_bytes, need);
	num_format_bytes(row->free_bytes, space);
	if (row->free_bytes < needed_bytes)
		report_add(&l->found, "no-space", "the image needs %s, and '%s' has %s free; choose a smaller size, or free "
			   "space in Windows", need, row->path, space);
	else if (row->largest_run_bytes < needed_bytes)
		report_add(&l->found, "fragmented", "the free space of '%s' is fragmented: the image needs %s in one run, the "
			   "largest has %s (%s are free in all); choose a smaller size, or defragment the volume in Windows",
			   row->path, need, num_format_bytes(row->largest_run_bytes, run), space);
}

static void take_info(const struct image_info *info, struct volumes_row *row)
{
	uint64_t cluster_bytes = info->volume.cluster_bytes;

	if (info->volume_known) {
		volumes_copy(row->label, sizeof(row->label), info->volume.label);
		(void)snprintf(row->serial, sizeof(row->serial), "%016" PRIx64, info->volume.serial);
		row->free_bytes = info->free.free_clusters * cluster_bytes;
		row->largest_run_bytes = info->free.top_count ? info->free.top[0].clusters * cluster_bytes : 0;
	}
	row->image_count = info->image_count;
	if (info->image_count)
		volumes_copy(row->image, sizeof(row->image), info->images[0].path);
}

/* What a driver that writes makes of a sound volume: unmounted, it is gone. */
static bool is_of_mount(const struct finding *f)
{
	return !strcmp(f->reason, "dirty") || !strcmp(f->reason, "journal");
}

static void check_overlap(const struct disks_partition *part, struct look *l)
{
	const struct disks_disk *disk = l->row->disk;

	for (size_t i = 0; part && i < disk->partition_count; i++) {
		const struct disks_partition *other = &disk->partitions[i];

		if (other == part || other->start_bytes >= part->start_bytes + part->size_bytes ||
		    part->start_bytes >= other->start_bytes + other->size_bytes)
			continue;
		report_add(&l->found, "overlap", "'%s' and '%s' overlap in the partition table, so that what is written to one "
			   "damages the other; have a partition tool mend the table, then retry", l->row->path, other->path);
		return;
	}
}

static void check_disk(const struct disks_partition *part, struct look *l)
{
	check_place(part, l);
	check_overlap(part, l);
	if (part && part->is_hidden)
		report_add(&l->found, "hidden", "Windows hides '%s' (a recovery partition mostly) and writes it anew with "
			   "updates, which an image there would not survive; use the volume of a drive letter", l->row->path);
	if (l->row->disk->is_readonly)
		report_add(&l->found, "read-only", "the disk of '%s' is read-only (its write protection switch, or the system's "
			   "settings): nothing can be put there; change that (blockdev --setrw), then retry", l->row->path);
}

static int look_ntfs(struct look *l, const struct disks_partition *part, uint64_t needed_bytes, struct err *e)
{
	struct volumes_row *row = l->row;
	struct err why = ERR_INIT;
	struct image_info info;
	int code = image_info(row->path, &info, NULL, &why);

	if (code == -ENOMEM)
		return err_set(e, code, "%s", why.text);
	if (code) {
		set_unreadable(row, "unreadable", why.text);
		return 0;
	}
	take_info(&info, row);
	for (size_t i = 0; i < info.report.count; i++)
		if (!is_of_mount(&info.report.items[i]))
			add(&l->found, &info.report.items[i]);
	check_disk(part, l);
	check_users(l);
	for (size_t i = 0; i < info.report.count; i++)
		if (is_of_mount(&info.report.items[i]) && (!*row->mounted || l->mount.super_is_readonly))
			add(&l->found, &info.report.items[i]);
	if (info.volume_known)
		check_space(needed_bytes, info.volume.cluster_bytes, l);
	row->is_usable = info.volume_known && l->found.count == 0;
	if (l->found.count)
		set_refusal(l);
	else
		set_state(row, "ok");
	return 0;
}

static void look_other(const struct blkio *io, const struct disks_partition *part, struct look *l)
{
	struct volumes_row *row = l->row;

	if (part && part->is_esp) {
		row->kind = VOLUMES_ESP;
		if (!strcmp(row->what, "vfat"))
			look_fat(io, row);
	}
	blockdev_check(&l->device, 0, &l->found);
	check_place(part, l);
	if (l->found.count)
		set_refusal(l);
	else
		set_state(row, row->kind == VOLUMES_ESP ? "ESP" : *row->mounted ? "mounted" : "-");
}

/*
 * libblkid wants to see more of BitLocker To Go than its boot sector, which looks like FAT, and nothing of an NTFS volume whose
 * first records are damaged: these are volumes of Windows all the same, of which a reason has to be told.
 */
static int look_at_head(const struct blkio *io, struct volumes_row *row, struct err *e)
{
	unsigned char head[BOOTSECT_BYTES];
	struct bootsect boot = { .kind = BOOTSECT_OTHER };
	bool damaged;
	int code;

	if (io->size_bytes < sizeof(head))
		return 0;
	code = blkio_read(io, 0, head, sizeof(head), e);
	if (code)
		return code;
	damaged = bootsect_parse(head, sizeof(head), io->size_bytes, &boot, NULL) != 0; /* it is of NTFS, then */
	if (boot.kind == BOOTSECT_BITLOCKER)
		volumes_copy(row->what, sizeof(row->what), "BitLocker");
	else if (!strcmp(row->what, "-") && (damaged || boot.kind == BOOTSECT_NTFS))
		volumes_copy(row->what, sizeof(row->what), "ntfs");
	return 0;
}

static void find_mount(struct look *l)
{
	struct stat st;

	if (l->device.is_block && !stat(l->row->path, &st) && !mountfs_find(st.st_rdev, &l->mount, NULL))
		volumes_copy(l->row->mounted, sizeof(l->row->mounted), l->mount.target);
}

int volumes_look(struct volumes_row *row, const struct disks_partition *part, uint64_t needed_bytes, struct err *e)
{
	struct look l = { .row = row };
	AUTO(blkio) struct blkio *io = NULL;
	struct err why = ERR_INIT;
	int code = filedev_open(row->path, FILEDEV_READ, &io, &why);

	volumes_copy(row->what, sizeof(row->what), "-");
	if (!code)
		code = blockdev_probe(io, &l.device, &why);
	volumes_copy(row->partuuid, sizeof(row->partuuid), l.device.partuuid);
	if (*l.device.fs_type)
		volumes_copy(row->what, sizeof(row->what), l.device.fs_type);
	if (!code)
		code = look_at_head(io, row, &why);
	if (code == -ENOMEM)
		return err_set(e, code, "%s", why.text);
	if (code) {
		set_unreadable(row, code == -ENOENT ? "no device" : "unreadable", why.text);
		return 0;
	}
	find_mount(&l);
	if (strcmp(row->what, "ntfs") != 0 && strcmp(row->what, "BitLocker") != 0) {
		look_other(io, part, &l);
		return 0;
	}
	row->kind = VOLUMES_NTFS;
	blkio_free(TAKE(io)); /* it is opened anew, and a plain file must not be open twice */
	return look_ntfs(&l, part, needed_bytes, e);
}
