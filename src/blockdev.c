/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "blockdev.h"

#include <blkid/blkid.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "filedev.h"
#include "sysfs.h"

#define BLOCKDEV_SECTOR UINT64_C(512) /* of sysfs and libblkid, whatever the device's sector is */

DEFINE_AUTO(blkid_probe, blkid_probe, blkid_free_probe);

static void blockdev_closedir(DIR *d)
{
	if (d != NULL)
		(void)closedir(d); /* it was only read */
}
DEFINE_AUTO(dir, DIR *, blockdev_closedir);

static void blockdev_fclose(FILE *f)
{
	if (f != NULL)
		(void)fclose(f); /* it was only read */
}
DEFINE_AUTO(file, FILE *, blockdev_fclose);

/* Copies what a device says about itself; it goes to terminals, so control characters do not pass. */
static void blockdev_copy(char *ret, size_t size, const char *text)
{
	size_t i = 0;

	for (; text != NULL && text[i] != '\0' && i + 1 < size; i++)
		ret[i] = iscntrl((unsigned char)text[i]) ? '?' : text[i];
	ret[i] = '\0';
}

/* ---- probe ---- */

static int blockdev_blkid_error(const char *name, const char *what, struct err *e)
{
	int saved = errno; /* libblkid says -1; errno is the read's that failed, if one did */

	return err_set(e, saved > 0 ? -saved : -EIO, "'%s': %s: %s", name, what,
		       saved > 0 ? strerror(saved) : "libblkid failed");
}

static int blockdev_new_probe(const char *name, int fd, blkid_probe *ret, struct err *e)
{
	AUTO(blkid_probe) blkid_probe pr = blkid_new_probe();

	if (pr == NULL)
		return err_set(e, -ENOMEM, "'%s': out of memory", name);
	errno = 0;
	if (blkid_probe_set_device(pr, fd, 0, 0) != 0)
		return blockdev_blkid_error(name, "look for signatures", e);
	if (blkid_probe_enable_superblocks(pr, 0) != 0 || blkid_probe_enable_partitions(pr, 0) != 0)
		return blockdev_blkid_error(name, "look for signatures", e);
	*ret = TAKE(pr);
	return 0;
}

static void blockdev_value(blkid_probe pr, const char *key, char *ret, size_t size)
{
	const char *value = NULL;

	if (blkid_probe_lookup_value(pr, key, &value, NULL) == 0)
		blockdev_copy(ret, size, value);
}

/*
 * All signatures, not the first: a RAID member of metadata 1.0 is readable as NTFS. fs_type is NULL where only RAID is
 * of interest. NTFS wins over what a former file system left behind.
 */
static int blockdev_signatures(blkid_probe pr, const char *name, char fs_type[32], char raid_type[32], struct err *e)
{
	int rc;

	errno = 0;
	if (blkid_probe_enable_superblocks(pr, 1) != 0 ||
	    blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE) != 0)
		return blockdev_blkid_error(name, "look for signatures", e);
	while (errno = 0, (rc = blkid_do_probe(pr)) == 0) {
		char type[32] = "", usage[16] = "";

		blockdev_value(pr, "TYPE", type, sizeof(type));
		blockdev_value(pr, "USAGE", usage, sizeof(usage));
		if (type[0] == '\0' || usage[0] == '\0') /* no memory for them */
			return err_set(e, -ENOMEM, "'%s': look for signatures: out of memory", name);
		if (strcmp(usage, "raid") == 0) {
			if (raid_type[0] == '\0')
				blockdev_copy(raid_type, 32, type);
		} else if (fs_type != NULL && (fs_type[0] == '\0' || strcmp(type, "ntfs") == 0)) {
			blockdev_copy(fs_type, 32, type);
		}
	}
	if (rc < 0)
		return blockdev_blkid_error(name, "look for signatures", e);
	(void)blkid_probe_enable_superblocks(pr, 0); /* cannot fail: it was enabled */
	return 0;
}

static uint32_t blockdev_le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/*
 * Entries of an MBR table in a sector that is also an NTFS boot sector. libblkid and the kernel disagree about these:
 * libblkid does not look further, the kernel makes the partitions. Boot code is no table: strict on every field.
 */
static unsigned blockdev_mbr_entries(const uint8_t sector[512], uint64_t device_sectors)
{
	unsigned count = 0;

	if (sector[510] != 0x55 || sector[511] != 0xaa)
		return 0;
	for (unsigned i = 0; i < 4; i++) {
		const uint8_t *entry = sector + 446 + i * 16;
		uint64_t start = blockdev_le32(entry + 8);
		uint64_t length = blockdev_le32(entry + 12);

		if ((entry[0] & 0x7f) != 0)
			return 0;
		if (entry[4] == 0 && length == 0)
			continue;
		if (entry[4] == 0 || start == 0 || length == 0 || start + length > device_sectors)
			return 0;
		count++;
	}
	return count;
}

static unsigned blockdev_kernel_partitions(dev_t dev)
{
	AUTO(dir) DIR *d = opendir(sysfs_path(dev, "").text);
	const struct dirent *entry;
	unsigned count = 0;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		char rest[NAME_MAX + 16];

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(rest, sizeof(rest), "%s/partition", entry->d_name); /* fits */
		if (access(sysfs_path(dev, rest).text, F_OK) == 0)
			count++;
	}
	return count;
}

/* The table's partitions, owned by the probe; NULL if there is no table. */
static int blockdev_partitions(blkid_probe pr, const char *name, blkid_partlist *ret, struct err *e)
{
	int rc;

	errno = 0;
	if (blkid_probe_enable_partitions(pr, 1) != 0 || (rc = blkid_do_fullprobe(pr)) < 0)
		return blockdev_blkid_error(name, "look for partitions", e);
	*ret = NULL;
	if (rc != 0)
		return 0;
	/* NULL is its word for both nothing and failure, but something was found just now */
	*ret = blkid_probe_get_partitions(pr);
	return *ret != NULL ? 0 : blockdev_blkid_error(name, "look for partitions", e);
}

/* A partition table inside the volume. Only what Windows disks have: other types are heuristics on NTFS's boot code. */
static int blockdev_table(blkid_probe pr, const struct blkio *io, dev_t dev, struct blockdev_info *info, struct err *e)
{
	const char *type = NULL;
	blkid_partlist list = NULL;
	uint8_t sector[512] = { 0 };
	int entries = 0;
	int rc = blockdev_partitions(pr, io->name, &list, e);

	if (rc != 0)
		return rc;
	if (list != NULL && blkid_partlist_get_table(list) != NULL) {
		type = blkid_parttable_get_type(blkid_partlist_get_table(list));
		entries = blkid_partlist_numof_partitions(list);
	}
	if (type != NULL && (strcmp(type, "gpt") == 0 || (strcmp(type, "dos") == 0 && entries > 0))) {
		blockdev_copy(info->table_type, sizeof(info->table_type), type);
		info->table_entries = entries > 0 ? (unsigned)entries : 0;
		return 0;
	}
	if (io->size_bytes >= sizeof(sector)) {
		rc = blkio_read(io, 0, sector, sizeof(sector), e);
		if (rc != 0)
			return rc;
	}
	info->table_entries = blockdev_mbr_entries(sector, io->size_bytes / io->sector_bytes);
	if (info->table_entries == 0 && info->is_block)
		info->table_entries = blockdev_kernel_partitions(dev);
	if (info->table_entries > 0)
		blockdev_copy(info->table_type, sizeof(info->table_type), "dos");
	return 0;
}

static int blockdev_entry(blkid_probe pr, const char *name, struct blockdev_info *info, struct err *e)
{
	errno = 0;
	if (blkid_probe_enable_partitions(pr, 1) != 0 ||
	    blkid_probe_set_partitions_flags(pr, BLKID_PARTS_ENTRY_DETAILS) != 0 || blkid_do_fullprobe(pr) < 0)
		return blockdev_blkid_error(name, "look for the partition's table entry", e);
	blockdev_value(pr, "PART_ENTRY_UUID", info->partuuid, sizeof(info->partuuid));
	blockdev_value(pr, "PART_ENTRY_TYPE", info->part_type, sizeof(info->part_type));
	blockdev_value(pr, "PART_ENTRY_NAME", info->part_label, sizeof(info->part_label));
	if (info->part_type[0] == '\0' && blkid_probe_has_value(pr, "PART_ENTRY_NUMBER")) /* no memory for it */
		return err_set(e, -ENOMEM, "'%s': look for the partition's table entry: out of memory", name);
	return 0;
}

/*
 * The kernel's LDM parser makes partitions of a dynamic disk's volumes: no table entry starts where they do, but the
 * one they lie in tells what they are.
 */
static int blockdev_containing(blkid_probe pr, const char *disk_path, struct blockdev_info *info, struct err *e)
{
	blkid_partlist list = NULL;
	uint64_t at = info->disk_offset_bytes / BLOCKDEV_SECTOR;
	int rc = blockdev_partitions(pr, disk_path, &list, e);
	int n;

	if (rc != 0)
		return rc;
	n = list != NULL ? blkid_partlist_numof_partitions(list) : 0;
	for (int i = 0; i < n; i++) {
		blkid_partition part = blkid_partlist_get_partition(list, i);
		uint64_t start = (uint64_t)blkid_partition_get_start(part);
		const char *text = blkid_partition_get_type_string(part);

		if (blkid_partition_is_extended(part) || at < start ||
		    at - start >= (uint64_t)blkid_partition_get_size(part))
			continue;
		if (text != NULL)
			blockdev_copy(info->part_type, sizeof(info->part_type), text);
		else
			(void)snprintf(info->part_type, sizeof(info->part_type), "0x%x",
				       (unsigned)blkid_partition_get_type(part)); /* fits */
	}
	return 0;
}

/* What the disk around a partition says: a RAID set of whole disks has its signature there. */
static int blockdev_disk(const char *name, dev_t dev, struct blockdev_info *info, struct err *e)
{
	AUTO(blkid_probe) blkid_probe pr = NULL;
	AUTO_FREE char *disk_path = NULL;
	AUTO_FD int fd = -1;
	dev_t disk = dev;
	int rc;

	errno = 0;
	if (blkid_devno_to_wholedisk(dev, NULL, 0, &disk) != 0)
		return blockdev_blkid_error(name, "find its disk", e);
	if (disk == dev)
		return 0;
	disk_path = blkid_devno_to_devname(disk);
	if (disk_path == NULL)
		return err_set(e, -ENOENT, "'%s': no device node for its disk (%u:%u)", name, major(disk),
			       minor(disk));
	fd = open(disk_path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "'%s': open its disk '%s'", name, disk_path);
	rc = blockdev_new_probe(disk_path, fd, &pr, e);
	if (rc != 0 || pr == NULL)
		return rc;
	rc = blockdev_signatures(pr, disk_path, NULL, info->raid_type, e);
	if (rc == 0 && info->part_type[0] == '\0' && sysfs_is_partition(dev))
		rc = blockdev_containing(pr, disk_path, info, e);
	return rc;
}

static void blockdev_attributes(dev_t dev, struct blockdev_info *info)
{
	static const char *const models[] = { "device/model", "device/name" };
	static const char *const serials[] = { "device/serial", "serial" };
	dev_t disk = sysfs_whole(dev);
	char text[256];

	if (sysfs_read_line(sysfs_path(dev, "start").text, text, sizeof(text)))
		info->disk_offset_bytes = strtoull(text, NULL, 10) * BLOCKDEV_SECTOR; /* the kernel's own number */
	for (size_t i = 0; i < 2 && info->model[0] == '\0'; i++)
		if (sysfs_read_line(sysfs_path(disk, models[i]).text, text, sizeof(text)) &&
		    strcmp(text, "(null)") != 0) /* user-mode Linux' ubd says so of its name */
			blockdev_copy(info->model, sizeof(info->model), text);
	for (size_t i = 0; i < 2 && info->disk_serial[0] == '\0'; i++)
		if (sysfs_read_line(sysfs_path(disk, serials[i]).text, text, sizeof(text)))
			blockdev_copy(info->disk_serial, sizeof(info->disk_serial), text);
	if (info->disk_serial[0] == '\0') { /* SCSI and SATA: the vital product data page, 4 bytes of header */
		AUTO(file) FILE *f = fopen(sysfs_path(disk, "device/vpd_pg80").text, "re");
		size_t n = f != NULL ? fread(text, 1, sizeof(text) - 1, f) : 0;

		text[n] = '\0';
		if (n > 4)
			blockdev_copy(info->disk_serial, sizeof(info->disk_serial),
				      text + 4 + strspn(text + 4, " "));
	}
}

static int blockdev_probe_all(const struct blkio *io, int fd, dev_t dev, struct blockdev_info *info, struct err *e)
{
	AUTO(blkid_probe) blkid_probe pr = NULL;
	int rc = blockdev_new_probe(io->name, fd, &pr, e);

	if (rc != 0 || pr == NULL)
		return rc;
	rc = blockdev_signatures(pr, io->name, info->fs_type, info->raid_type, e);
	if (rc == 0)
		rc = blockdev_table(pr, io, dev, info, e);
	if (rc != 0 || !info->is_block)
		return rc;
	blockdev_attributes(dev, info);
	rc = blockdev_entry(pr, io->name, info, e);
	return rc != 0 ? rc : blockdev_disk(io->name, dev, info, e);
}

int blockdev_probe(const struct blkio *io, struct blockdev_info *ret, struct err *e)
{
	struct blockdev_info info = { .size_bytes = io->size_bytes, .sector_bytes = io->sector_bytes };
	int fd = filedev_fd(io);
	struct stat st = { 0 };
	int flags, rc;

	if (fd < 0)
		return err_set(e, -EINVAL, "'%s': neither a file nor a block device", io->name);
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fstat(fd, &st) != 0)
		return err_errno(e, "'%s'", io->name);
	info.is_block = S_ISBLK(st.st_mode);
	/* libblkid 2.38 reads into unaligned memory, so O_DIRECT is off for as long as it works, without old cache */
	if (info.is_block)
		(void)filedev_drop_cache(io, NULL); /* best effort: signatures are outside all that is attached */
	if ((flags & O_DIRECT) != 0 && fcntl(fd, F_SETFL, flags & ~O_DIRECT) != 0)
		return err_errno(e, "'%s': switch to buffered reads", io->name);
	rc = blockdev_probe_all(io, fd, st.st_rdev, &info, e);
	if ((flags & O_DIRECT) != 0 && fcntl(fd, F_SETFL, flags) != 0 && rc == 0)
		rc = err_errno(e, "'%s': switch back to direct reads", io->name);
	if (rc != 0)
		return rc;
	*ret = info;
	return 0;
}

/* ---- findings of the probe ---- */

static bool blockdev_is_ldm(const char *part_type)
{
	return strcasecmp(part_type, "0x42") == 0 ||
	       strcasecmp(part_type, "AF9B60A0-1431-4F62-BC68-3311714A69AD") == 0 ||
	       strcasecmp(part_type, "5808C8AA-7E8F-42E0-85D2-E1E90434CFB3") == 0;
}

void blockdev_check(const struct blockdev_info *info, uint32_t ntfs_sector_bytes, struct report *r)
{
	if (info->table_type[0] != '\0')
		report_add(r, "partitioned",
			   "this is a whole disk with a partition table (%s, %u partitions), and writing to it would "
			   "overwrite the partitions; name one of its partitions instead (lsblk lists them)",
			   info->table_type, info->table_entries);
	if (blockdev_is_ldm(info->part_type))
		report_add(r, "ldm",
			   "the partition (type %s) belongs to a Windows dynamic disk, whose volumes may span disks, so "
			   "writing to it could damage several; use a volume on a basic disk",
			   info->part_type);
	if (strcasecmp(info->part_type, "E75CAF8F-F680-4CEE-AFA3-B001E56EFC2D") == 0)
		report_add(r, "storage-spaces",
			   "the partition belongs to a Windows storage pool (Storage Spaces), and writing to it would "
			   "damage the pool; use a volume on a disk outside the pool");
	if (info->raid_type[0] != '\0')
		report_add(r, "raid",
			   "the volume or its disk is a member of a RAID or volume set (%s), and writing to one member "
			   "alone would damage the set; use the assembled device, or a disk outside the set",
			   info->raid_type);
	if (info->is_block && ntfs_sector_bytes != 0 && ntfs_sector_bytes != info->sector_bytes)
		report_add(r, "sector-size",
			   "the NTFS volume has sectors of %" PRIu32 " bytes and the device has sectors of %" PRIu32
			   ", so Windows cannot use it there and what is written could be unreadable; connect the disk "
			   "as it was when the volume was formatted (another USB adapter changes this), then retry",
			   ntfs_sector_bytes, info->sector_bytes);
}
