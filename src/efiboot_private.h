/* SPDX-License-Identifier: GPL-2.0-or-later */
/* efiboot - what its files share. */
#ifndef WUBI_EFIBOOT_PRIVATE_H
#define WUBI_EFIBOOT_PRIVATE_H

#include "efiboot.h"

#define EFIBOOT_VARIABLE_MAX 8192
#define EFIBOOT_NAME_MAX 32

struct efiboot_variable {
	uint8_t data[EFIBOOT_VARIABLE_MAX];
	size_t n;
};

/* ---- efiboot_variable.c ---- */

/* The folder with the variables as files, with a '/' at its end. */
const char *efiboot_folder(void);

/* -ENOENT: there is none. -E2BIG: longer than any that is of use here. */
int efiboot_variable_read(const char *name, struct efiboot_variable *ret, struct err *e);

/* And reads back: some firmware says yes, and keeps what it had. That is -EIO. */
int efiboot_variable_write(const char *name, const uint8_t *data, size_t n, struct err *e);

/* Leaves the comparison to the caller: what is there now, and the error for when that is wrong. */
int efiboot_variable_put(const char *name, const uint8_t *data, size_t n, struct efiboot_variable *ret_now, struct err *e);
int efiboot_variable_kept(const char *name, struct err *e);

/* One that is not there is no error. */
int efiboot_variable_remove(const char *name, struct err *e);

/* "Boot0003" */
void efiboot_name(uint16_t number, char ret[EFIBOOT_NAME_MAX]);

/* ---- efiboot_option.c ---- */

#define EFIBOOT_ACTIVE 1u /* LOAD_OPTION_ACTIVE */

/* label, partuuid, file and is_active of a load option; false: it is none, and they are "" */
bool efiboot_option_parse(const uint8_t *data, size_t n, struct efiboot_entry *ret);

/* Would firmware start it by itself: active, not hidden, and no application? */
bool efiboot_option_is_bootable(const uint8_t *data, size_t n);

/*
 * Do both start the same, with the same label? Firmware that takes an entry may put the disk's whole path in front of the
 * partition, or data of its own behind, and would have them again each time that they are taken away.
 */
bool efiboot_option_is_same(const struct efiboot_variable *a, const struct efiboot_variable *b);

int efiboot_option_build(const struct efiboot_params *p, struct efiboot_variable *ret, struct err *e);

#endif
