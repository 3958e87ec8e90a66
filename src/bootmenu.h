/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bootmenu - the text of the menu on the EFI system partition, /boot/grub/grub.cfg there. Pure.
 *
 * gcdx64.efi.signed, which lies as grubx64.efi beside shim in /EFI/wubi, reads it whatever else is on the partition. It makes the
 * image a GRUB device without an NTFS driver, 'loopback wroot (DISK,PART)START+LEN[,START+LEN...]' in 512-byte sectors from
 * the partition's start, and goes on with the system's own /boot/grub/grub.cfg in there, which update-grub makes. No disk is
 * named: the partition is found by its PARTUUID, and the file system behind the loopback by its UUID. Where that does not fit,
 * because Windows moved the file, copies of a kernel and its initramfs on this partition boot; without those, a text names the
 * one command that helps. The menu in the image, which a move may have left behind, has an entry of these copies, too.
 * 'rmmod tpm' comes first: GRUB 2.06's tpm module would read the whole image into memory.
 */
#ifndef WUBI_BOOTMENU_H
#define WUBI_BOOTMENU_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "extent.h"

#define BOOTMENU_FILE "boot/grub/grub.cfg"     /* on the EFI system partition */
#define BOOTMENU_FOLDER "EFI/wubi"             /* all else of ours there */
#define BOOTMENU_WINDOWS "EFI/Microsoft/Boot/bootmgfw.efi"
#define BOOTMENU_COPIES_MAX 4
#define BOOTMENU_VERSION_MAX 128

/* A kernel and its initramfs in EFI/wubi: vmlinuz-VERSION and initrd.img-VERSION. */
struct bootmenu_copy {
	char version[BOOTMENU_VERSION_MAX];
};

struct bootmenu {
	const char *title;                 /* "Debian GNU/Linux 12 (bookworm)" */
	const char *host_partuuid;         /* of the Windows partition, as in the map; not "" */
	const char *fs_uuid;               /* of the file system in the image */
	const struct extent_list *extents; /* of the image root */
	struct bootmenu_copy copies[BOOTMENU_COPIES_MAX]; /* newest first */
	size_t copy_count;
	const char *cmdline;               /* for the copies: "root=/dev/mapper/wubi-root ro quiet" */
};

/*
 * *ret_text: free(). -EINVAL: an extent is not whole 512-byte sectors, or a text has a character that could end a quoted word of
 * GRUB's (title, cmdline, version; control characters). -ENOMEM.
 */
int bootmenu_format(const struct bootmenu *m, char **ret_text, struct err *e);

/*
 * The same place for a system that has moved out, into a partition with this file system: found by its UUID, it goes on with the
 * menu in there. *ret_text: free(). -EINVAL, -ENOMEM as above.
 */
int bootmenu_format_partition(const char *title, const char *fs_uuid, char **ret_text, struct err *e);

/* Is it one of ours for a system in a partition? */
bool bootmenu_is_partition(const char *text);

/* Is it one of ours, of either kind (by its first line)? What is not ours is not replaced. */
bool bootmenu_is_ours(const char *text);

/*
 * Entries of the system's own menu: Windows, and the newest kernel copy on the EFI system partition, as the menu above tells of
 * them by exported variables. For /etc/grub.d. Static text.
 */
const char *bootmenu_system_entries(void);

#endif
