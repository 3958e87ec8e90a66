/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sysfs.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct sysfs_path sysfs_path(dev_t dev, const char *rest)
{
	struct sysfs_path p;

	/* cut short it names nothing that exists */
	(void)snprintf(p.text, sizeof(p.text), "%s/dev/block/%u:%u/%s", SYSFS_ROOT, major(dev), minor(dev), rest);
	return p;
}

bool sysfs_read_line(const char *path, char *ret, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n, lead;

	ret[0] = '\0';
	if (f == NULL)
		return false;
	if (fgets(ret, (int)size, f) == NULL)
		ret[0] = '\0';
	(void)fclose(f); /* it was only read */
	n = strlen(ret);
	while (n > 0 && isspace((unsigned char)ret[n - 1]))
		ret[--n] = '\0';
	lead = strspn(ret, " \t");
	memmove(ret, ret + lead, n - lead + 1);
	return ret[0] != '\0';
}

bool sysfs_node(dev_t dev, char *ret, size_t size)
{
	FILE *f = fopen(sysfs_path(dev, "uevent").text, "re");
	char line[PATH_MAX], name[PATH_MAX] = "";

	ret[0] = '\0';
	if (f == NULL)
		return false;
	/* a slash is a slash here; in the names of sysfs's folders it is a '!' */
	while (name[0] == '\0' && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "DEVNAME=%4000[^\n]", name) != 1)
			name[0] = '\0';
	(void)fclose(f); /* it was only read */
	if (name[0] == '\0' || (size_t)snprintf(ret, size, "/dev/%s", name) >= size)
		ret[0] = '\0';
	return ret[0] != '\0';
}

bool sysfs_is_partition(dev_t dev)
{
	return access(sysfs_path(dev, "partition").text, F_OK) == 0;
}

dev_t sysfs_whole(dev_t dev)
{
	unsigned disk_major, disk_minor;
	char text[32];

	if (!sysfs_is_partition(dev))
		return dev;
	/* dev/block/8:2 is a link to the partition's folder, which lies in the disk's */
	if (!sysfs_read_line(sysfs_path(dev, "../dev").text, text, sizeof(text)) ||
	    sscanf(text, "%u:%u", &disk_major, &disk_minor) != 2)
		return dev;
	return makedev(disk_major, disk_minor);
}

bool sysfs_is_related(dev_t a, dev_t b)
{
	return a == b || sysfs_whole(a) == b || sysfs_whole(b) == a;
}
