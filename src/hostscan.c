/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hostscan.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "auto.h"
#include "blockdev.h"
#include "dmnames.h"
#include "filedev.h"
#include "num.h"
#include "sysfs.h"

#define HOST_MIN_BYTES NUM_MIB /* no NTFS is smaller; floppy drives, which take seconds to say no, are not much larger */
#define HEAD_BYTES 2048        /* bootsect_parse() knows an ext file system by its superblock */

static void auto_dir(DIR **d)
{
	if (*d)
		(void)closedir(*d); /* it was only read */
}

void hostscan_clear(struct hostscan *s)
{
	free(s->items);
	*s = (struct hostscan){ .items = NULL };
}

static bool is_ours(dev_t device)
{
	char uuid[160];

	return sysfs_read_line(sysfs_path(device, "dm/uuid").text, uuid, sizeof(uuid)) && dmnames_uuid_is_ours(uuid);
}

/* Has a driver, other than we, made a device of this one? */
static bool has_holder(dev_t device)
{
	__attribute__((cleanup(auto_dir))) DIR *dir = opendir(sysfs_path(device, "holders").text);
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		char rest[300], uuid[160];

		if (d->d_name[0] == '.')
			continue;
		(void)snprintf(rest, sizeof(rest), "holders/%s/dm/uuid", d->d_name);
		if (!sysfs_read_line(sysfs_path(device, rest).text, uuid, sizeof(uuid)) || !dmnames_uuid_is_ours(uuid))
			return true;
	}
	return false;
}

static bool is_built_upon(dev_t device)
{
	dev_t disk = sysfs_whole(device);

	return has_holder(device) || (disk != device && has_holder(disk));
}

static void look_at_head(const struct blkio *io, struct hostscan_device *d)
{
	unsigned char head[HEAD_BYTES];
	struct err why = ERR_INIT;

	if (blkio_read(io, 0, head, sizeof(head), &why)) {
		(void)snprintf(d->text, sizeof(d->text), "cannot be read: %.130s", why.text);
		return;
	}
	if (bootsect_parse(head, sizeof(head), io->size_bytes, &d->boot, &why)) {
		d->boot = (struct bootsect){ .kind = BOOTSECT_OTHER };
		(void)snprintf(d->text, sizeof(d->text), "damaged NTFS: %.130s", why.text);
	} else if (d->boot.kind == BOOTSECT_NTFS) {
		(void)snprintf(d->text, sizeof(d->text), "NTFS, serial number %016" PRIx64, d->boot.serial);
	} else if (d->boot.kind == BOOTSECT_BITLOCKER) {
		(void)snprintf(d->text, sizeof(d->text), "encrypted by BitLocker");
	} else {
		(void)snprintf(d->text, sizeof(d->text), "no NTFS (%s)", d->boot.other);
	}
}

/* Asking for it takes two passes of libblkid; what is cached is of this very disk. */
static bool find_partuuid(const struct hostscan *last, struct hostscan_device *d)
{
	for (size_t i = 0; last && d->diskseq && i < last->count; i++) {
		const struct hostscan_device *l = &last->items[i];

		if (l->device != d->device || l->diskseq != d->diskseq || strcmp(l->path, d->path) != 0)
			continue;
		(void)snprintf(d->partuuid, sizeof(d->partuuid), "%s", l->partuuid);
		return true;
	}
	return false;
}

static void look(bool want_partuuid, const struct hostscan *last, struct hostscan_device *d)
{
	AUTO(blkio) struct blkio *io = NULL;
	struct blockdev_info info;
	struct err why = ERR_INIT;

	if (filedev_open(d->path, FILEDEV_READ, &io, &why)) {
		(void)snprintf(d->text, sizeof(d->text), "cannot be read: %.130s", why.text);
		return;
	}
	look_at_head(io, d);
	/* a table entry that cannot be told is none: the serial number is there as well */
	if (want_partuuid && sysfs_is_partition(d->device) && !find_partuuid(last, d) && !blockdev_probe(io, &info, NULL))
		(void)snprintf(d->partuuid, sizeof(d->partuuid), "%s", info.partuuid);
}

/* The node of a name in /sys/class/block, where '!' stands for '/'. False: nothing to look at. */
static bool find_node(const char *name, struct hostscan_device *d)
{
	char size[32];
	struct stat st;

	(void)snprintf(d->path, sizeof(d->path), "/dev/%s", name);
	for (char *p = d->path; *p; p++)
		if (*p == '!')
			*p = '/';
	if (stat(d->path, &st) || !S_ISBLK(st.st_mode))
		return false;
	d->device = st.st_rdev;
	if (!sysfs_read_line(sysfs_path(d->device, "size").text, size, sizeof(size)) ||
	    strtoull(size, NULL, 10) < HOST_MIN_BYTES / 512)
		return false;
	if (sysfs_read_line(sysfs_path(sysfs_whole(d->device), "diskseq").text, size, sizeof(size)))
		d->diskseq = strtoull(size, NULL, 10);
	return !is_ours(d->device) && !is_built_upon(d->device);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct hostscan_device *)a)->path, ((const struct hostscan_device *)b)->path);
}

static int add(struct hostscan *s, const struct hostscan_device *d, struct err *e)
{
	struct hostscan_device *wider = reallocarray(s->items, s->count + 1, sizeof(*wider));

	if (!wider)
		return err_set(e, -ENOMEM, "list the block devices: out of memory");
	s->items = wider;
	s->items[s->count++] = *d;
	return 0;
}

int hostscan_run(bool want_partuuid, const struct hostscan *last, struct hostscan *ret, struct err *e)
{
	__attribute__((cleanup(auto_hostscan))) struct hostscan s = { .items = NULL };
	__attribute__((cleanup(auto_dir))) DIR *dir = opendir("/sys/class/block");
	struct dirent *entry;
	int code = 0;

	if (!dir)
		return err_errno(e, "list the block devices: open '/sys/class/block'");
	while (!code && (entry = readdir(dir))) {
		struct hostscan_device d = { .path = "" };

		if (entry->d_name[0] == '.' || !find_node(entry->d_name, &d))
			continue;
		look(want_partuuid, last, &d);
		code = add(&s, &d, e);
	}
	if (code)
		return code;
	if (s.count)
		qsort(s.items, s.count, sizeof(*s.items), by_path);
	hostscan_clear(ret);
	*ret = s;
	s = (struct hostscan){ .items = NULL };
	return 0;
}

bool hostscan_is_candidate(const struct hostscan_device *d, const struct map *m)
{
	if (d->boot.kind == BOOTSECT_NTFS && d->boot.serial == m->host.serial)
		return true;
	return m->host.partuuid[0] && d->partuuid[0] && !strcasecmp(d->partuuid, m->host.partuuid);
}
