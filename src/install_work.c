/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The work folder with its lock, and what is mounted there. */
#include "install_private.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach.h"
#include "dmnames.h"
#include "filedev.h"
#include "ids.h"
#include "mountfs.h"
#include "swapfmt.h"

#define LOCK INSTALL_WORK ".lock"
#define DEVICE "/dev/mapper/" DMNAMES_PREFIX

const char *const install_image_names[INSTALL_IMAGES] = {
	[INSTALL_ROOT] = "root",
	[INSTALL_HOME] = "home",
	[INSTALL_SWAP] = "swap",
};

int install_begin(const struct install_host *h, const char *text, struct err *e)
{
	if (h->interrupted && h->interrupted(h->ctx))
		return err_set(e, -ECANCELED, "interrupted");
	if (h->tell)
		h->tell(h->ctx, text);
	return 0;
}

int install_work_folder(const char *path, struct err *e)
{
	char part[PATH_MAX];

	for (const char *slash = path; (slash = strchr(slash + 1, '/'));) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path); /* our own short paths */
		if (mkdir(part, 0755) && errno != EEXIST)
			return err_errno(e, "make folder '%s'", part);
	}
	return mkdir(path, 0755) && errno != EEXIST ? err_errno(e, "make folder '%s'", path) : 0;
}

/* Without the folder there was no run that did not end well. A device that somebody else has in use stays, and is told of
 * later. */
static int clear_leftovers(struct err *e)
{
	int code;

	if (access(INSTALL_WORK, F_OK))
		return 0;
	target_end_programs(INSTALL_TARGET);
	code = mountfs_unmount_below(INSTALL_WORK, e);
	if (code)
		return err_wrap(e, code, "what a run that was killed has left mounted: end what uses it, then retry");
	for (int i = INSTALL_IMAGES - 1; i >= 0; i--)
		(void)image_detach(install_image_names[i], NULL); /* most are not attached */
	return 0;
}

int install_work_open(int *ret_fd, struct err *e)
{
	AUTO_FD int fd = open(LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int code;

	if (fd < 0)
		return err_errno(e, "the lock '%s'", LOCK);
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK)
			return err_errno(e, "the lock '%s'", LOCK);
		return err_refuse(e, "running", "another wubi-install is at work: wait for it, or end it");
	}
	code = clear_leftovers(e);
	if (!code)
		code = install_work_folder(INSTALL_WORK, e);
	if (!code)
		*ret_fd = TAKE_FD(fd);
	return code;
}

static int remove_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	(void)remove(path); /* in memory, in a folder of ours: nobody misses it */
	return 0;
}

/* apt's files go. Of mount points only empty ones: what a mount still covers stays. */
void install_work_close(int fd)
{
	static const char *const folders[] = { INSTALL_TARGET, INSTALL_ESP, INSTALL_SOURCE, INSTALL_WORK };

	(void)nftw(INSTALL_APT, remove_file, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	(void)nftw(INSTALL_SPARE, remove_file, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		(void)rmdir(folders[i]); /* see above */
	if (fd >= 0)
		(void)close(fd); /* the lock goes with it; it was never written */
}

/* ---- the images ---- */

int install_sync_and_unmount(const char *folder, struct err *e)
{
	AUTO_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is_mounted = false;
	int code = mountfs_is_target(folder, &is_mounted, NULL);

	if (code || !is_mounted)
		return code == -ENOENT ? 0 : code;
	if (fd < 0)
		return err_errno(e, "'%s'", folder);
	if (syncfs(fd))
		code = err_errno(e, "write what is left to '%s'", folder);
	(void)close(TAKE_FD(fd)); /* it would keep the mount busy; it was never written */
	return mountfs_unmount(folder, code ? NULL : e) && !code ? (e ? e->code : -EBUSY) : code;
}

static int attach_one(const struct volumes_row *volume, struct install_mounts *m, enum install_image i, struct err *e)
{
	char name[128];
	int code = image_attach(volume->path, m->maps[i], false, name, e);

	m->is_attached[i] = !code;
	return code;
}

static int mount_one(const char *name, const char *folder, bool readonly, struct err *e)
{
	char device[128];
	int code = install_work_folder(folder, e);

	(void)snprintf(device, sizeof(device), DEVICE "%s", name);
	if (code)
		return code;
	/* noload: a read-only look at a clean file system writes nothing, not even a journal's superblock */
	return mountfs_mount(device, folder, "ext4", readonly ? "ro,noload" : "errors=remount-ro", e);
}

int install_attach(const struct volumes_row *volume, struct install_mounts *m, struct err *e)
{
	int code = 0;

	for (int i = 0; !code && i < INSTALL_IMAGES; i++)
		if (m->maps[i] && !m->is_attached[i])
			code = attach_one(volume, m, (enum install_image)i, e);
	return code;
}

int install_mount(const struct volumes_row *volume, struct install_mounts *m, bool readonly, struct err *e)
{
	int code = install_attach(volume, m, e);

	if (!code)
		code = mount_one("root", INSTALL_TARGET, readonly, e);
	m->root_mounted = !code;
	if (!code && m->maps[INSTALL_HOME] && !readonly) {
		code = mount_one("home", INSTALL_HOME_FOLDER, false, e);
		m->home_mounted = !code;
	}
	return code;
}

/* The first failure is kept. */
static int also(int first, int code, struct err *why, struct err *e)
{
	if (!code || first)
		return first;
	return err_set(e, code, "%s", why->text);
}

static int unmount_all(struct install_mounts *m, struct err *e)
{
	struct err why = ERR_INIT;
	int code = 0, r;

	if (m->home_mounted) {
		r = install_sync_and_unmount(INSTALL_HOME_FOLDER, &why);
		m->home_mounted = r != 0;
		code = also(code, r, &why, e);
	}
	if (m->root_mounted && !m->home_mounted) {
		r = install_sync_and_unmount(INSTALL_TARGET, &why);
		m->root_mounted = r != 0;
		code = also(code, r, &why, e);
	}
	return code;
}

int install_unmount(struct install_mounts *m, struct err *e)
{
	struct err why = ERR_INIT;
	int code = unmount_all(m, e), r;

	for (int i = INSTALL_IMAGES - 1; i >= 0; i--) {
		if (!m->is_attached[i] || m->root_mounted)
			continue;
		err_clear(&why);
		r = image_detach(install_image_names[i], &why);
		m->is_attached[i] = r != 0;
		code = also(code, r, &why, e);
	}
	return code;
}

void install_mounts_clear(struct install_mounts *m)
{
	(void)install_unmount(m, NULL); /* on the way out of a failure, which is told */
	for (int i = 0; i < INSTALL_IMAGES; i++)
		map_free(m->maps[i]);
	*m = (struct install_mounts){ .root_mounted = false };
}

int install_set_label(const struct install_mounts *m, enum install_image i, struct err *e)
{
	AUTO(blkio) struct blkio *io = NULL;
	struct swapfmt_params swap = { .label = NULL };
	char device[128], label[SWAPFMT_LABEL_MAX + 1];
	int code;

	(void)snprintf(device, sizeof(device), DEVICE "%s", install_image_names[i]);
	(void)snprintf(label, sizeof(label), INSTALL_LABEL_PREFIX "%s", install_image_names[i]);
	code = filedev_open(device, FILEDEV_WRITE, &io, e);
	if (code || strcmp(m->maps[i]->fs_type, "swap") != 0)
		return code ? code : ext4fmt_set_label(io, label, e);
	swap.label = label;
	if (!ids_from_text(m->maps[i]->fs_uuid, swap.uuid))
		return err_set(e, -EINVAL, "'%s' is no UUID", m->maps[i]->fs_uuid);
	return swapfmt_write(io, &swap, e); /* nobody has swapped to it yet */
}

/* ---- booting ---- */

void install_esp_params(const struct volumes_row *esp, const struct install_mounts *m, const struct map **maps,
			struct espboot_params *ret)
{
	size_t count = 0;

	for (int i = 0; i < INSTALL_IMAGES; i++)
		if (m->maps[i])
			maps[count++] = m->maps[i];
	*ret = (struct espboot_params){
		.root = INSTALL_TARGET,
		.esp = INSTALL_ESP,
		.esp_device = esp->path,
		.maps = maps,
		.map_count = count,
	};
}

int install_entry_of(const struct volumes_row *esp, bool *ret_exists, uint16_t *ret_number, struct err *e)
{
	AUTO_FREE struct efiboot_list *list = NULL;
	const struct efiboot_entry *entry;
	int code;

	*ret_exists = false;
	if (!efiboot_is_there())
		return 0;
	list = calloc(1, sizeof(*list));
	code = list ? efiboot_read(list, e) : err_set(e, -ENOMEM, "out of memory");
	if (code)
		return code;
	entry = efiboot_find(list, esp->partuuid, ESPBOOT_LOADER);
	*ret_exists = entry != NULL;
	if (entry && ret_number)
		*ret_number = entry->number;
	return 0;
}

static int find_number(const struct volumes_row *esp, uint16_t *ret, struct err *e)
{
	bool exists;
	int code = install_entry_of(esp, &exists, ret, e);

	if (!code && !exists)
		return err_set(e, -EIO,
			       "the firmware's boot entry was made, and is not there: does the firmware keep its settings?");
	return code;
}

int install_esp_fill(const struct install_host *h, const struct volumes_row *esp, const struct install_mounts *m, struct err *e)
{
	AUTO_FREE struct espboot_plan *plan = calloc(1, sizeof(*plan));
	const struct map *maps[INSTALL_IMAGES];
	struct espboot_params par;
	int code = plan ? install_work_folder(INSTALL_SPARE, e) : err_set(e, -ENOMEM, "out of memory");

	if (code)
		return code;
	install_esp_params(esp, m, maps, &par);
	par.work = INSTALL_SPARE;
	code = espboot_plan(&par, plan, e);
	if (code)
		return code;
	code = espboot_update(&par, plan, h->progress, e);
	espboot_plan_clear(plan);
	return code;
}

static int make_entry(const struct espboot_params *par, struct report *notes, struct err *e)
{
	AUTO_FREE struct espboot_plan *plan = calloc(1, sizeof(*plan));
	int code = plan ? espboot_plan(par, plan, e) : err_set(e, -ENOMEM, "out of memory");

	if (code)
		return code;
	*notes = plan->notes;
	code = espboot_update(par, plan, NULL, e);
	espboot_plan_clear(plan);
	return code;
}

int install_make_entry(const struct volumes_row *esp, const struct espboot_params *par, struct report *notes,
		       uint16_t *ret_number, struct err *e)
{
	int code = make_entry(par, notes, e);

	return code ? code : find_number(esp, ret_number, e);
}

int install_boot_entry(const struct volumes_row *volume, const struct volumes_row *esp, struct install_mounts *m,
		       const struct espboot_params *how, struct report *notes, uint16_t *ret_number, struct err *e)
{
	const struct map *maps[INSTALL_IMAGES];
	struct espboot_params par;
	struct err why = ERR_INIT;
	int code = install_mount(volume, m, true, e), r;

	install_esp_params(esp, m, maps, &par);
	par.order = how->order;
	par.start_next = how->start_next;
	par.firmware = true;
	par.is_complete = true;
	if (!code)
		code = install_make_entry(esp, &par, notes, ret_number, e);
	r = unmount_all(m, &why);
	return also(code, r, &why, e);
}
