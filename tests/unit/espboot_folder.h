/* SPDX-License-Identifier: GPL-2.0-or-later */
/* espboot_folder - a system and an EFI system partition in folders, the partition of a size that each test chooses. */
#ifndef WUBI_TEST_ESPBOOT_FOLDER_H
#define WUBI_TEST_ESPBOOT_FOLDER_H

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_all.h"

#include "auto.h"
#include "espboot_private.h"
#include "textfile.h"

#define PARTUUID "11223344-5566-7788-99aa-bbccddeeff00"
#define WINDOWS_PARTUUID "21223344-5566-7788-99aa-bbccddeeff00"
#define CLUSTER 4096u
#define ROOMY (UINT64_C(100) << 20)
#define V1 "6.1.0-9-amd64"
#define V2 "6.1.0-10-amd64" /* newer: the numbers count */
#define KERNEL_BYTES 20000u
#define INITRD_BYTES 1500000u

static char dir[] = "/dev/shm/wubi-test-espboot-XXXXXX"; /* in memory: each file is written with an fsync or two */
static char root_folder[64], esp_folder[64];
static uint64_t esp_bytes, used_bytes;
static bool is_vfat = true, has_table = true;

static struct {
	bool is_possible;
	int code;
	size_t bytes;
	unsigned calls;
} small;

static struct map map_root = {
	.map_id = "aaaaaaaa-0000-4000-8000-000000000001", .generation = 1, .name = "root", .image = "/ubuntu/disks/root.disk",
	.size_bytes = 1048576, .mft_record = 64, .mft_sequence = 2,
	.host = { .serial = 7, .partuuid = WINDOWS_PARTUUID, .partition_bytes = 1073741824, .cluster_bytes = 4096,
		  .sector_bytes = 512 },
	.fs_type = "ext4", .fs_uuid = "bbbbbbbb-0000-4000-8000-000000000001",
};
static const struct map *const maps[] = { &map_root };

static struct {
	const char *version; /* of the kernel whose initramfs is bad; "" all, NULL none */
	bool small_is_bad;
	int code;
	unsigned calls;
} check;

/* ---- in place of espboot_device.c, espboot_check.c and espboot_small.c ---- */

int espboot_check_initrd(const char *root, const char *image, const char *version, char ret_lack[ESPBOOT_LACK_MAX],
			 struct err *e)
{
	bool is_small = strstr(image, "small-initrd") != NULL;
	bool is_bad = is_small ? check.small_is_bad : check.version && (!check.version[0] || !strcmp(version, check.version));

	assert_string_equal(root, root_folder);
	assert_int_equal(access(image, R_OK), 0);
	check.calls++;
	if (check.code)
		return err_set(e, check.code, "it cannot be read");
	(void)snprintf(ret_lack, ESPBOOT_LACK_MAX, "%s", is_bad ? "it has no wubi-attach" : "");
	return 0;
}

bool espboot_device_is_vfat(const char *folder)
{
	return is_vfat && access(folder, F_OK) == 0;
}

static inline int add_used(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)path, (void)at;
	if (kind == FTW_F)
		used_bytes += ((uint64_t)st->st_size + CLUSTER - 1) / CLUSTER * CLUSTER;
	return 0;
}

int espboot_device_space(const char *esp, uint64_t *ret_free_bytes, uint64_t *ret_cluster_bytes, struct err *e)
{
	(void)e;
	used_bytes = 0;
	assert_int_equal(nftw(esp, add_used, 8, FTW_PHYS), 0);
	*ret_free_bytes = used_bytes < esp_bytes ? esp_bytes - used_bytes : 0;
	*ret_cluster_bytes = CLUSTER;
	return 0;
}

int espboot_device_facts(const char *esp, const char *device, struct espboot_facts *ret, struct err *e)
{
	(void)esp, (void)device;
	if (!has_table)
		return err_refuse(e, "no-partuuid", "no table");
	*ret = (struct espboot_facts){ .partuuid = PARTUUID, .partition = 1, .start_bytes = 1048576, .size_bytes = ROOMY,
				       .sector_bytes = 512 };
	return 0;
}

static inline void put_bytes(const char *path, size_t n, int seed)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (size_t i = 0; i < n; i++)
		(void)fputc((int)(i * 31 + i / 251) + seed, f);
	assert_int_equal(fclose(f), 0);
}

bool espboot_small_is_possible(const char *root)
{
	(void)root;
	return small.is_possible;
}

int espboot_small_make(const struct espboot_params *par, const char *version, const struct progress *progress,
		       struct espboot_small *ret, struct err *e)
{
	(void)par, (void)version, (void)progress;
	small.calls++;
	if (small.code)
		return err_set(e, small.code, "it could not be made");
	(void)snprintf(ret->file, sizeof(ret->file), "%s/small-initrd", dir);
	put_bytes(ret->file, small.bytes, 5);
	return 0;
}

void espboot_small_clear(struct espboot_small *s)
{
	if (s->file[0])
		(void)unlink(s->file);
}

/* ---- the fixture ---- */

static inline const char *at(const char *folder, const char *name)
{
	static char path[4][PATH_MAX];
	static int i;

	i = (i + 1) % 4;
	(void)snprintf(path[i], PATH_MAX, "%s/%s", folder, name);
	return path[i];
}

static inline void put_text(const char *folder, const char *name, const char *text)
{
	struct err e = ERR_INIT;

	if (textfile_write(at(folder, name), text, &e))
		fail_msg("%s", e.text);
}

static inline void put_kernel(const char *version, int seed)
{
	char name[128];

	(void)snprintf(name, sizeof(name), "boot/vmlinuz-%s", version);
	put_bytes(at(root_folder, name), KERNEL_BYTES, seed);
	(void)snprintf(name, sizeof(name), "boot/initrd.img-%s", version);
	put_bytes(at(root_folder, name), INITRD_BYTES, seed + 1);
}

static inline int unlink_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st, (void)kind, (void)where;
	return remove(path);
}

static inline void remove_tree(const char *path)
{
	(void)nftw(path, unlink_one, 8, FTW_PHYS | FTW_DEPTH);
}

static inline int enter_folder(void **state)
{
	(void)state;
	if (!mkdtemp(dir)) {
		(void)snprintf(dir, sizeof(dir), "/tmp/wubi-test-espboot-XXXXXX");
		if (!mkdtemp(dir))
			return -1;
	}
	(void)snprintf(root_folder, sizeof(root_folder), "%s/root", dir);
	(void)snprintf(esp_folder, sizeof(esp_folder), "%s/esp", dir);
	return extent_list_append(&map_root.extents, 4194304, 1048576, NULL);
}

static inline int leave_folder(void **state)
{
	(void)state;
	extent_list_clear(&map_root.extents);
	remove_tree(dir);
	return access(dir, F_OK) == 0 ? -1 : 0;
}

/* A system with one kernel, an ESP with Windows on it, and no firmware. */
static inline int set_up(void **state)
{
	(void)state;
	remove_tree(root_folder);
	remove_tree(esp_folder);
	esp_bytes = ROOMY;
	is_vfat = has_table = true;
	memset(&small, 0, sizeof(small));
	memset(&check, 0, sizeof(check));
	assert_int_equal(setenv("EFIVARFS_PATH", "/nowhere/", 1), 0);
	put_text(esp_folder, "EFI/Microsoft/Boot/bootmgfw.efi", "windows");
	put_text(root_folder, "usr/lib/shim/shimx64.efi.signed", "shim");
	put_text(root_folder, "usr/lib/shim/mmx64.efi.signed", "mm");
	put_text(root_folder, "usr/lib/grub/x86_64-efi-signed/gcdx64.efi.signed", "grub");
	put_text(root_folder, "usr/lib/os-release", "NAME=x\nPRETTY_NAME=\"Bob's Linux 12\"\n");
	put_text(root_folder, "etc/hostname", "x\n");
	assert_int_equal(symlink("/usr/lib/os-release", at(root_folder, "etc/os-release")), 0);
	put_text(root_folder, "boot/grub/grub.cfg", "set x\nmenuentry 'a' {\n\tlinux\t/boot/vmlinuz-1 root=UUID=1234 ro  quiet "
		 "rootflags=sync $vt_handoff a=\"b\"\n}\nlinux /other root=x single\n");
	put_kernel(V1, 1);
	return 0;
}

static struct espboot_params params(void)
{
	return (struct espboot_params){ .root = root_folder, .esp = esp_folder, .maps = maps, .map_count = 1,
					.is_complete = true };
}

static inline void plan(const struct espboot_params *par, struct espboot_plan *ret)
{
	struct err e = ERR_INIT;

	if (espboot_plan(par, ret, &e))
		fail_msg("%s", e.text);
}

static inline bool has_work(const struct espboot_params *par)
{
	AUTO_FREE struct espboot_plan *p = malloc(sizeof(*p));
	bool r;

	plan(par, p);
	r = espboot_has_work(p);
	espboot_plan_clear(p);
	return r;
}

static inline int update_with(const struct espboot_params *par, const struct progress *progress, struct err *e)
{
	AUTO_FREE struct espboot_plan *p = malloc(sizeof(*p));
	int code;

	plan(par, p);
	code = espboot_update(par, p, progress, e);
	espboot_plan_clear(p);
	return code;
}

static inline void update(const struct espboot_params *par)
{
	struct err e = ERR_INIT;

	if (update_with(par, NULL, &e))
		fail_msg("%s", e.text);
	assert_false(has_work(par));
}

static inline void refused(const struct espboot_params *par, const char *reason)
{
	AUTO_FREE struct espboot_plan *p = malloc(sizeof(*p));
	struct err e = ERR_INIT;

	assert_int_equal(espboot_plan(par, p, &e), -EPERM);
	assert_string_equal(e.reason, reason);
}

static inline bool on_esp(const char *name)
{
	return access(at(esp_folder, name), F_OK) == 0;
}

static inline char *menu(void)
{
	char *text = NULL;

	assert_int_equal(textfile_read(at(esp_folder, BOOTMENU_FILE), &text, NULL), 0);
	return text;
}

static inline bool same(const char *name, const char *source)
{
	bool r;

	assert_int_equal(espboot_compare(at(esp_folder, name), source, NULL, &r, NULL), 0);
	return r;
}

/* Is the copy the one of the system? */
static inline bool has_copy(const char *version)
{
	char name[128], other[128];

	(void)snprintf(name, sizeof(name), "EFI/wubi/vmlinuz-%s", version);
	(void)snprintf(other, sizeof(other), "boot/vmlinuz-%s", version);
	if (!same(name, at(root_folder, other)))
		return false;
	(void)snprintf(name, sizeof(name), "EFI/wubi/initrd.img-%s", version);
	(void)snprintf(other, sizeof(other), "boot/initrd.img-%s", version);
	return same(name, at(root_folder, other));
}

#endif
