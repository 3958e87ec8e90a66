/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "disks.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <parted/parted.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"

#define SYS_BLOCK "/sys/block"

static void ped_disk_free(PedDisk *d)
{
	if (d)
		ped_disk_destroy(d);
}
DEFINE_AUTO(ped_disk, PedDisk *, ped_disk_free);

static void dir_close(DIR *d)
{
	if (d)
		(void)closedir(d); /* it was only read */
}
DEFINE_AUTO(dir, DIR *, dir_close);

/* libparted's handler has no context of its own: the first complaint since it was cleared. */
static char complaint[sizeof(((struct disks_disk *)NULL)->problem)];

/* What a disk says about itself goes to terminals: no control characters, no white space around it. */
static void copy_text(char *ret, size_t size, const char *text)
{
	size_t n = 0;

	while (text && isspace((unsigned char)*text))
		text++;
	for (; text && text[n] && n + 1 < size; n++)
		ret[n] = iscntrl((unsigned char)text[n]) ? ' ' : text[n];
	while (n && (ret[n - 1] == ' ' || ret[n - 1] == '.'))
		n--;
	ret[n] = '\0';
}

/*
 * Never "fix", never "yes". "Ignore" goes on with the table as it is, but after a failed read (which alone offers "retry") it
 * would go on with bytes that nobody has read. "OK" acknowledges: the other copy of the table is used, in memory.
 */
static PedExceptionOption answer(PedException *ex)
{
	static const PedExceptionOption preferred[] = { PED_EXCEPTION_IGNORE, PED_EXCEPTION_OK, PED_EXCEPTION_NO,
							PED_EXCEPTION_CANCEL };

	if (!complaint[0] && ex->type != PED_EXCEPTION_INFORMATION)
		copy_text(complaint, sizeof(complaint), ex->message);
	if (ex->options & PED_EXCEPTION_RETRY)
		return (ex->options & PED_EXCEPTION_CANCEL) ? PED_EXCEPTION_CANCEL : PED_EXCEPTION_UNHANDLED;
	for (size_t i = 0; i < sizeof(preferred) / sizeof(preferred[0]); i++)
		if (ex->options & preferred[i])
			return preferred[i];
	return PED_EXCEPTION_UNHANDLED;
}

void disks_clear(struct disks *d)
{
	for (size_t i = 0; i < d->count; i++) {
		if (d->items[i].lock >= 0)
			(void)close(d->items[i].lock); /* it was never written */
		free(d->items[i].partitions);
	}
	free(d->items);
	*d = (struct disks){ .items = NULL };
}

static bool has_flag(const PedPartition *p, PedPartitionFlag flag)
{
	return ped_partition_is_flag_available(p, flag) && ped_partition_get_flag(p, flag);
}

static int add_partition(const PedPartition *p, struct disks_disk *disk, struct err *e)
{
	uint64_t sector = (uint64_t)p->disk->dev->sector_size;
	struct disks_partition x = { .number = p->num };
	AUTO_FREE char *path = ped_partition_get_path(p);
	struct disks_partition *wider;

	if (!path)
		return err_set(e, -ENOMEM, "disk '%s': out of memory", disk->path);
	if (snprintf(x.path, sizeof(x.path), "%s", path) >= (int)sizeof(x.path))
		return err_set(e, -ENAMETOOLONG, "disk '%s': the names of its partitions are too long", disk->path);
	x.start_bytes = (uint64_t)p->geom.start * sector;
	x.size_bytes = (uint64_t)p->geom.length * sector;
	if (ped_disk_type_check_feature(p->disk->type, PED_DISK_TYPE_PARTITION_NAME))
		copy_text(x.name, sizeof(x.name), ped_partition_get_name(p));
	x.is_esp = has_flag(p, PED_PARTITION_ESP);
	x.is_hidden = has_flag(p, PED_PARTITION_HIDDEN) || has_flag(p, PED_PARTITION_DIAG) ||
		      has_flag(p, PED_PARTITION_MSFT_RESERVED);
	wider = reallocarray(disk->partitions, disk->partition_count + 1, sizeof(*wider));
	if (!wider)
		return err_set(e, -ENOMEM, "disk '%s': out of memory", disk->path);
	disk->partitions = wider;
	wider[disk->partition_count++] = x;
	return 0;
}

/* dev is open. A table that cannot be read is no error of ours: the complaint tells. */
static int read_table(PedDevice *dev, struct disks_disk *disk, struct err *e)
{
	AUTO(ped_disk) PedDisk *table = ped_disk_new(dev);
	int code = 0;

	if (!table)
		return 0;
	(void)snprintf(disk->table, sizeof(disk->table), "%s", table->type->name);
	if (!strcmp(disk->table, "loop"))
		return 0;
	for (PedPartition *p = ped_disk_next_partition(table, NULL); !code && p; p = ped_disk_next_partition(table, p))
		if (ped_partition_is_active(p) && p->num > 0 && !(p->type & PED_PARTITION_EXTENDED))
			code = add_partition(p, disk, e);
	return code;
}

/* That it cannot be opened for writing is no complaint: is_readonly tells. */
static bool open_device(PedDevice *dev, struct disks_disk *disk)
{
	char before[sizeof(complaint)];

	memcpy(before, complaint, sizeof(before));
	if (!ped_device_open(dev))
		return false;
	if (dev->read_only)
		memcpy(complaint, before, sizeof(before));
	disk->is_readonly |= dev->read_only;
	return true;
}

static int read_device(PedDevice *dev, struct disks_disk *disk, struct err *e)
{
	int code;

	copy_text(disk->model, sizeof(disk->model), dev->model);
	disk->size_bytes = (uint64_t)dev->length * (uint64_t)dev->sector_size;
	disk->sector_bytes = (uint32_t)dev->sector_size;
	if (!open_device(dev, disk))
		return 0;
	code = read_table(dev, disk, e);
	(void)ped_device_close(dev); /* nothing was written */
	return code;
}

static void take_lock(struct disks_disk *disk)
{
	int is_readonly = 0;

	disk->lock = open(disk->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (disk->lock < 0)
		return;
	/* who has it exclusively keeps udev away as well */
	(void)flock(disk->lock, LOCK_SH | LOCK_NB);
	disk->is_readonly = !ioctl(disk->lock, BLKROGET, &is_readonly) && is_readonly;
}

/* disk->path is set. 0 with a problem, too; the errors are out of memory and a name that is too long. */
static int look(struct disks_disk *disk, struct err *e)
{
	PedDevice *dev;
	struct stat st;
	int code = 0;

	if (stat(disk->path, &st)) {
		(void)snprintf(disk->problem, sizeof(disk->problem), "%s", strerror(errno));
		return 0;
	}
	if (!S_ISBLK(st.st_mode) && !S_ISREG(st.st_mode)) {
		(void)snprintf(disk->problem, sizeof(disk->problem), "neither a disk nor an image of one");
		return 0;
	}
	if (S_ISBLK(st.st_mode))
		take_lock(disk);
	complaint[0] = '\0';
	dev = ped_device_get(disk->path);
	if (dev) {
		code = read_device(dev, disk, e);
		ped_device_destroy(dev);
	}
	if (!dev && !complaint[0])
		copy_text(complaint, sizeof(complaint), "it cannot be opened");
	(void)snprintf(disk->problem, sizeof(disk->problem), "%s", complaint);
	return code;
}

static int add_disk(struct disks *d, const char *name, struct err *e)
{
	AUTO_FREE char *path = realpath(name, NULL);
	struct disks_disk *disk, *wider;

	if (!path && errno == ENOMEM)
		return err_set(e, -ENOMEM, "list the disks: out of memory");
	if (strlen(path ? path : name) >= DISKS_PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "disk '%s': its name is too long", name);
	for (size_t i = 0; i < d->count; i++)
		if (!strcmp(d->items[i].path, path ? path : name))
			return 0;
	wider = reallocarray(d->items, d->count + 1, sizeof(*wider));
	if (!wider)
		return err_set(e, -ENOMEM, "list the disks: out of memory");
	d->items = wider;
	disk = &wider[d->count++];
	*disk = (struct disks_disk){ .lock = -1 };
	(void)snprintf(disk->path, sizeof(disk->path), "%s", path ? path : name); /* fits */
	return look(disk, e);
}

/* By their drivers' names; an eMMC's boot partitions are disks of the kernel's, too. */
static bool is_no_disk(const char *name)
{
	static const char *const drivers[] = { "loop", "ram", "zram", "sr", "fd", "dm-", "mtdblock" };

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (!strncmp(name, drivers[i], strlen(drivers[i])))
			return true;
	return name[0] == '.' || (!strncmp(name, "mmcblk", 6) && (strstr(name, "boot") || strstr(name, "rpmb")));
}

/* A card reader without a card has no size, and asking it takes time. */
static bool has_medium(const char *name)
{
	char path[sizeof(SYS_BLOCK) + NAME_MAX + 8], text[32] = "";
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s/size", SYS_BLOCK, name); /* fits */
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	(void)fclose(f); /* it was only read */
	return strtoull(text, NULL, 10) > 0;
}

static int add_all(struct disks *d, struct err *e)
{
	AUTO(dir) DIR *dir = opendir(SYS_BLOCK);
	const struct dirent *entry;
	int code = 0;

	if (!dir)
		return err_errno(e, "list the disks: open '%s'", SYS_BLOCK);
	while (!code && (entry = readdir(dir))) {
		char path[NAME_MAX + 8];
		struct stat st;

		if (is_no_disk(entry->d_name) || !has_medium(entry->d_name))
			continue;
		(void)snprintf(path, sizeof(path), "/dev/%s", entry->d_name); /* fits */
		for (char *p = path; *p; p++)
			if (*p == '!') /* sysfs' letter for a slash */
				*p = '/';
		if (!stat(path, &st) && S_ISBLK(st.st_mode))
			code = add_disk(d, path, e);
	}
	return code;
}

static int by_path(const void *a, const void *b)
{
	return strverscmp(((const struct disks_disk *)a)->path, ((const struct disks_disk *)b)->path);
}

int disks_read(const char *const *paths, struct disks *ret, struct err *e)
{
	__attribute__((cleanup(auto_disks))) struct disks d = { .items = NULL };
	PedExceptionHandler *before = ped_exception_get_handler();
	int code = 0;

	ped_exception_set_handler(answer);
	if (!paths)
		code = add_all(&d, e);
	for (size_t i = 0; !code && paths && paths[i]; i++)
		code = add_disk(&d, paths[i], e);
	ped_device_free_all();
	ped_exception_set_handler(before);
	if (code)
		return code;
	if (d.count)
		qsort(d.items, d.count, sizeof(*d.items), by_path);
	disks_clear(ret);
	*ret = d;
	d = (struct disks){ .items = NULL };
	return 0;
}
