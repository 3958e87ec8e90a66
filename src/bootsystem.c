/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bootsystem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "auto.h"
#include "dmnames.h"
#include "efiboot.h"
#include "sysfs.h"
#include "textfile.h"

#define ROOT_NAME "root"
#define WORK "/var/tmp" /* for an initramfs: too big for /run */

/* The device-mapper UUID of what '/' lies on; "" none. */
static int root_uuid(char ret[160], struct err *e)
{
	struct stat st;

	if (stat("/", &st))
		return err_errno(e, "look at '/'");
	(void)sysfs_read_line(sysfs_path(st.st_dev, "dm/uuid").text, ret, 160);
	return 0;
}

static void take_map(struct bootsystem *s, const struct mapfolder_item *item)
{
	if (!item->map) {
		if (!s->bad_map)
			s->bad_map = item->problem.text;
		return;
	}
	s->maps[s->map_count++] = item->map;
	if (!strcmp(item->map->name, ROOT_NAME))
		s->root = item->map;
}

static int read_maps(const char *folder, struct bootsystem *s, struct err *e)
{
	int code = mapfolder_read(folder, &s->folder, e);

	if (code)
		return code;
	s->maps = calloc(s->folder.count + 1, sizeof(const struct map *));
	if (!s->maps)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < s->folder.count; i++)
		take_map(s, &s->folder.items[i]);
	return 0;
}

/* A root.map that is there and cannot be read is a failure, not a machine without images. */
static int check_root(const char *folder, const struct bootsystem *s, struct err *e)
{
	char uuid[160], wanted[160];
	int code = root_uuid(uuid, e);

	if (code)
		return code;
	if (!dmnames_uuid_is_ours(uuid) || dmnames_uuid_is_host(uuid))
		return err_refuse(e, "not-in-image", "'/' of this system is not in an image on a Windows volume");
	if (!s->root && s->bad_map)
		return err_set(e, -EINVAL, "%s", s->bad_map);
	if (!s->root)
		return err_refuse(e, "no-map", "there is no map 'root' in '%s'", folder);
	(void)snprintf(wanted, sizeof(wanted), DMNAMES_UUID_PREFIX "%s-" ROOT_NAME, s->root->map_id);
	if (strcmp(uuid, wanted) != 0)
		return err_refuse(e, "other-map", "'/' is on the image '%s', and the map 'root' in '%s' is of another one, '%s': "
				  "boot by that map would start another system; put the right map there", uuid, folder, wanted);
	return 0;
}

static int look(const char *maps, const char *esp, struct bootsystem *s, struct err *e)
{
	int code = read_maps(maps, s, e);

	if (code)
		return code;
	if (!s->folder.count)
		return err_refuse(e, "no-map", "there is no map in '%s': this system is not in an image on a Windows volume",
				  maps);
	code = check_root(maps, s, e);
	if (code)
		return code;
	if (!esp) {
		code = espboot_find("", s->esp, e);
		return code != -ENOENT ? code :
		       err_refuse(e, "no-esp", "the EFI system partition is not mounted at /boot/efi, /efi or /boot: mount it, "
				  "then run 'wubi-boot update'");
	}
	if (snprintf(s->esp, sizeof(s->esp), "%s", esp) >= (int)sizeof(s->esp))
		return err_set(e, -ENAMETOOLONG, "'%.100s...': %s", esp, strerror(ENAMETOOLONG));
	return 0;
}

int bootsystem_look(const char *maps, const char *esp, struct bootsystem *ret, struct err *e)
{
	*ret = (struct bootsystem){ .maps = NULL };
	return look(maps, esp, ret, e);
}

void bootsystem_clear(struct bootsystem *s)
{
	free(s->maps);
	mapfolder_clear(&s->folder);
	*s = (struct bootsystem){ .maps = NULL };
}

bool bootsystem_is_none(const struct err *e)
{
	static const char *const reasons[] = { "no-map", "not-in-image", "no-esp" };

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (err_is_refusal(e) && !strcmp(e->reason, reasons[i]))
			return true;
	return false;
}

struct espboot_params bootsystem_params(const struct bootsystem *s)
{
	return (struct espboot_params){
		.root = "",
		.esp = s->esp,
		.maps = s->maps,
		.map_count = s->map_count,
		.firmware = efiboot_is_there(),
		.order = ESPBOOT_KEEP,
		.is_complete = true,
		.work = WORK,
	};
}

int bootsystem_pending_path(const char *state, char ret[PATH_MAX], struct err *e)
{
	int n = snprintf(ret, PATH_MAX, "%s/" BOOTSYSTEM_PENDING, state);

	return n > 0 && n < PATH_MAX ? 0 : err_set(e, -ENAMETOOLONG, "'%.300s': %s", state, strerror(ENAMETOOLONG));
}

char *bootsystem_pending(const char *state)
{
	char path[PATH_MAX], *text = NULL;

	if (bootsystem_pending_path(state, path, NULL) || textfile_read(path, &text, NULL))
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* Not the folder of the maps: wubi-map-refresh has that locked while it has an initramfs built, whose hook runs us. */
int bootsystem_lock(int *ret_fd, struct err *e)
{
	if (mkdir(BOOTSYSTEM_RUN, 0755) && errno != EEXIST)
		return err_errno(e, "make the folder '" BOOTSYSTEM_RUN "'");
	*ret_fd = open(BOOTSYSTEM_RUN "/boot.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*ret_fd < 0)
		return err_errno(e, "open '" BOOTSYSTEM_RUN "/boot.lock'");
	return flock(*ret_fd, LOCK_EX) ? err_errno(e, "lock '" BOOTSYSTEM_RUN "/boot.lock'") : 0;
}
