/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "espboot_private.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "blockdev.h"
#include "filedev.h"
#include "num.h"
#include "sysfs.h"

bool espboot_device_is_vfat(const char *folder)
{
	struct statfs fs;

	return statfs(folder, &fs) == 0 && fs.f_type == MSDOS_SUPER_MAGIC;
}

int espboot_device_space(const char *esp, uint64_t *ret_free_bytes, uint64_t *ret_cluster_bytes, struct err *e)
{
	struct statvfs fs;

	if (statvfs(esp, &fs) < 0)
		return err_errno(e, "EFI system partition '%s'", esp);
	*ret_cluster_bytes = fs.f_frsize;
	return num_mul(fs.f_bavail, fs.f_frsize, ret_free_bytes);
}

static int find_node(const char *esp, const char *device, dev_t *ret, char node[PATH_MAX], struct err *e)
{
	struct stat st;

	if (device) {
		if (stat(device, &st) < 0)
			return err_errno(e, "EFI system partition '%s'", device);
		if (!S_ISBLK(st.st_mode))
			return err_set(e, -ENOTBLK, "EFI system partition '%s': not a block device", device);
		*ret = st.st_rdev;
		(void)snprintf(node, PATH_MAX, "%s", device); /* stat() took it */
		return 0;
	}
	if (stat(esp, &st) < 0)
		return err_errno(e, "EFI system partition '%s'", esp);
	*ret = st.st_dev;
	if (sysfs_node(st.st_dev, node, PATH_MAX))
		return 0;
	return err_set(e, -ENODEV, "EFI system partition '%s': its device %u:%u is not "
		       "known", esp, major(st.st_dev), minor(st.st_dev));
}

int espboot_device_facts(const char *esp, const char *device, struct espboot_facts *ret, struct err *e)
{
	AUTO(blkio) struct blkio *io = NULL;
	struct blockdev_info info;
	char text[32];
	uint64_t number = 0;
	dev_t dev = 0;
	int code = find_node(esp, device, &dev, ret->device, e);

	if (!code)
		code = filedev_open(ret->device, FILEDEV_READ, &io, e);
	if (!code)
		code = blockdev_probe(io, &info, e);
	if (code)
		return code;
	(void)sysfs_read_line(sysfs_path(dev, "partition").text, text, sizeof(text)); /* "" if there is none */
	if (!info.partuuid[0] || num_parse_u64(text, &number, NULL) || !number || number > UINT32_MAX)
		return err_refuse(e, "no-partuuid", "EFI system partition '%s' is in no partition table with identifiers: the "
				  "firmware's boot entry would have nothing to name it by; use one on a disk with a GPT or MBR",
				  ret->device);
	(void)snprintf(ret->partuuid, sizeof(ret->partuuid), "%s", info.partuuid);
	ret->partition = (uint32_t)number;
	ret->start_bytes = info.disk_offset_bytes;
	ret->size_bytes = info.size_bytes;
	ret->sector_bytes = info.sector_bytes;
	return 0;
}
