/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * efiboot - the firmware's boot entries: Boot####, BootOrder, BootNext. The only file that includes libefivar and libefiboot.
 *
 * Formats: UEFI 2.10, 3.1 and 10.3 (load options, hard drive and file path nodes). The disk is not opened: what the hard drive
 * node says is handed in. Variables are read and written here, as efivarfs has them: libefivar 37 leaves the tail of a longer
 * value when it writes into a plain folder, which is what EFIVARFS_PATH names in tests.
 */
#ifndef WUBI_EFIBOOT_H
#define WUBI_EFIBOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define EFIBOOT_MAX 128

struct efiboot_entry {
	uint16_t number;       /* Boot0003: 3 */
	bool is_active;
	char label[128];       /* UTF-8 */
	char partuuid[37];     /* of its hard drive node, lower case; of an MBR "xxxxxxxx-nn"; "" none */
	char file[256];        /* "\\EFI\\wubi\\shimx64.efi"; "" none */
};

struct efiboot_list {
	struct efiboot_entry items[EFIBOOT_MAX]; /* by number */
	size_t count;
	uint16_t order[EFIBOOT_MAX];
	size_t order_count;
	bool has_next;
	uint16_t next;
	uint16_t current; /* what the machine was started by; 0xffff: not known */
};

/* Was this machine started by UEFI firmware, and can its variables be reached? */
bool efiboot_is_there(void);

/* Secure Boot in force? False also where it cannot be told. */
bool efiboot_secure_boot(void);

/*
 * An entry that cannot be understood is there with its number and label "" alone. -ENOENT: no UEFI. -E2BIG: more than
 * EFIBOOT_MAX.
 */
int efiboot_read(struct efiboot_list *ret, struct err *e);

/* The entry that starts 'file' on that partition; NULL: none. Case of the file does not matter. */
const struct efiboot_entry *efiboot_find(const struct efiboot_list *l, const char *partuuid, const char *file);

enum efiboot_place { /* in BootOrder */
	EFIBOOT_KEEP,  /* where it is; a new one, or one that is not in it, after all others */
	EFIBOOT_LAST,
	EFIBOOT_FIRST,
};

struct efiboot_params {
	const char *label;      /* "wubi" */
	const char *partuuid;   /* of the EFI system partition: a UUID, or MBR's "xxxxxxxx-nn" */
	uint32_t partition;     /* its number in the table */
	uint64_t start_bytes, size_bytes; /* on its disk */
	uint32_t sector_bytes;  /* the disk's: the entry counts in those */
	const char *file;       /* "\\EFI\\wubi\\shimx64.efi" */
	enum efiboot_place place;
};

/* Would efiboot_put() change anything? */
int efiboot_check(const struct efiboot_params *p, bool *ret_is_right, struct err *e);

/*
 * Makes the entry, or brings the one that starts the same file of the same partition up to date (its number stays); then
 * BootOrder. What else is in BootOrder stays in its order; it has no number twice. Without a BootOrder, one of all entries that
 * firmware would start by itself is made. Several of ours become one. Reads back. What is right is not written: an entry is
 * when it is one that firmware starts, with this label, partition (PARTUUID) and file, whatever else firmware made of it.
 * -ENOSPC: the firmware's memory for variables is full. -EINVAL: what is asked for cannot be an entry. -EIO: the firmware
 * keeps something else.
 */
int efiboot_put(const struct efiboot_params *p, uint16_t *ret_number, struct err *e);

/* Starts this entry once, at the next start. */
int efiboot_set_next(uint16_t number, struct err *e);

/* All entries that start this file of this partition, and their numbers in BootOrder and BootNext. None: nothing to do. */
int efiboot_remove(const char *partuuid, const char *file, bool *ret_removed, struct err *e);

#endif
