/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "efiboot_private.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "auto.h"

#define ENTRY_NAME_CHARACTERS 8 /* Boot0003 */
#define NO_NUMBER 0xffff

static void close_folder(DIR *d)
{
	if (d)
		(void)closedir(d); /* it was only read */
}
DEFINE_AUTO(folder, DIR *, close_folder);

static uint16_t number_of(const struct efiboot_variable *v, size_t i)
{
	return (uint16_t)(v->data[2 * i] | v->data[2 * i + 1] << 8);
}

bool efiboot_secure_boot(void)
{
	struct efiboot_variable v;

	return efiboot_variable_read("SecureBoot", &v, NULL) == 0 && v.n >= 1 && v.data[0] == 1;
}

/* ---- reading ---- */

static bool is_entry_name(const char *name, uint16_t *ret)
{
	static const char digits[] = "0123456789ABCDEF";

	if (strncmp(name, "Boot", 4) != 0 || strspn(name + 4, digits) != 4 || name[ENTRY_NAME_CHARACTERS] != '-')
		return false;
	*ret = (uint16_t)strtoul(name + 4, NULL, 16);
	return true;
}

static int compare_entries(const void *a, const void *b)
{
	return ((const struct efiboot_entry *)a)->number - ((const struct efiboot_entry *)b)->number;
}

static int too_many(struct err *e)
{
	return err_set(e, -E2BIG, "the firmware has more than %d boot entries; remove some with 'efibootmgr -b NUMBER -B'",
		       EFIBOOT_MAX);
}

static int read_entries(struct efiboot_list *l, struct err *e)
{
	AUTO(folder) DIR *d = opendir(efiboot_folder());
	const struct dirent *item;

	if (!d)
		return err_errno(e, "the firmware's variables in '%s'", efiboot_folder());
	while (errno = 0, (item = readdir(d)) != NULL) {
		struct efiboot_entry *entry = &l->items[l->count];
		struct efiboot_variable v;
		char name[EFIBOOT_NAME_MAX];
		uint16_t number;

		if (!is_entry_name(item->d_name, &number))
			continue;
		if (l->count == EFIBOOT_MAX)
			return too_many(e);
		*entry = (struct efiboot_entry){ .number = number };
		efiboot_name(number, name);
		if (efiboot_variable_read(name, &v, NULL) == 0)
			(void)efiboot_option_parse(v.data, v.n, entry); /* else it has its number alone */
		l->count++;
	}
	if (errno)
		return err_errno(e, "the firmware's variables in '%s'", efiboot_folder());
	qsort(l->items, l->count, sizeof(l->items[0]), compare_entries);
	return 0;
}

static int read_order(struct efiboot_list *l, struct err *e)
{
	struct efiboot_variable v;
	int code = efiboot_variable_read("BootOrder", &v, e);

	if (code)
		return code == -ENOENT ? 0 : code;
	if (v.n / 2 > EFIBOOT_MAX)
		return too_many(e);
	l->order_count = v.n / 2;
	for (size_t i = 0; i < l->order_count; i++)
		l->order[i] = number_of(&v, i);
	return 0;
}

int efiboot_read(struct efiboot_list *ret, struct err *e)
{
	struct efiboot_variable v;
	int code;

	*ret = (struct efiboot_list){ .current = NO_NUMBER };
	if (!efiboot_is_there())
		return err_set(e, -ENOENT, "this machine was not started by UEFI firmware, or its variables are not mounted at "
			       "'%s'", efiboot_folder());
	code = read_entries(ret, e);
	if (!code)
		code = read_order(ret, e);
	if (code)
		return code;
	if (efiboot_variable_read("BootCurrent", &v, NULL) == 0 && v.n >= 2)
		ret->current = number_of(&v, 0);
	if (efiboot_variable_read("BootNext", &v, NULL) == 0 && v.n >= 2) {
		ret->has_next = true;
		ret->next = number_of(&v, 0);
	}
	return 0;
}

static bool starts(const struct efiboot_entry *x, const char *partuuid, const char *file)
{
	return x->file[0] && strcasecmp(x->partuuid, partuuid) == 0 && strcasecmp(x->file, file) == 0;
}

static bool is_in_order(const struct efiboot_list *l, uint16_t number)
{
	for (size_t i = 0; i < l->order_count; i++)
		if (l->order[i] == number)
			return true;
	return false;
}

/* Of several, the one in BootOrder. */
const struct efiboot_entry *efiboot_find(const struct efiboot_list *l, const char *partuuid, const char *file)
{
	const struct efiboot_entry *found = NULL;

	for (size_t i = 0; partuuid[0] && i < l->count; i++) {
		if (!starts(&l->items[i], partuuid, file))
			continue;
		if (is_in_order(l, l->items[i].number))
			return &l->items[i];
		found = found ? found : &l->items[i];
	}
	return found;
}

/* ---- what it shall be ---- */

struct change {
	struct efiboot_variable option;
	uint16_t number;
	bool option_is_right;
	uint16_t order[EFIBOOT_MAX + 1];
	size_t order_count;
	bool order_is_right;
	uint16_t surplus[EFIBOOT_MAX]; /* others of ours */
	size_t surplus_count;
};

static bool has_number(const uint16_t *list, size_t n, uint16_t number)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == number)
			return true;
	return false;
}

static bool is_entry(const struct efiboot_list *l, uint16_t number)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].number == number)
			return true;
	return false;
}

/* Not one that is named without being there, either: the new entry would be in somebody else's place. */
static uint16_t lowest_free(const struct efiboot_list *l)
{
	uint16_t number = 0;

	while (is_entry(l, number) || is_in_order(l, number) || (l->has_next && l->next == number))
		number++; /* both lists end long before the numbers do */
	return number;
}

/* Firmware without a BootOrder starts what it finds; with one that names only us, Windows would be gone. */
static void make_order(struct efiboot_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		struct efiboot_variable v;
		char name[EFIBOOT_NAME_MAX];

		efiboot_name(l->items[i].number, name);
		if (efiboot_variable_read(name, &v, NULL) == 0 && efiboot_option_is_bootable(v.data, v.n))
			l->order[l->order_count++] = l->items[i].number;
	}
}

static void plan_order(struct efiboot_list *l, enum efiboot_place place, struct change *c)
{
	bool has_it = is_in_order(l, c->number), was_empty = l->order_count == 0;

	if (was_empty)
		make_order(l);
	has_it = was_empty ? is_in_order(l, c->number) : has_it;
	if (place == EFIBOOT_FIRST)
		c->order[c->order_count++] = c->number;
	for (size_t i = 0; i < l->order_count; i++) {
		uint16_t x = l->order[i];

		if (has_number(c->order, c->order_count, x) || has_number(c->surplus, c->surplus_count, x))
			continue;
		if (x != c->number || place == EFIBOOT_KEEP)
			c->order[c->order_count++] = x;
	}
	if (place == EFIBOOT_LAST || (place == EFIBOOT_KEEP && !has_it))
		c->order[c->order_count++] = c->number;
	c->order_is_right = !was_empty && c->order_count == l->order_count &&
			    memcmp(c->order, l->order, c->order_count * sizeof(c->order[0])) == 0;
}

static int plan_change(const struct efiboot_params *p, struct change *c, struct err *e)
{
	AUTO_FREE struct efiboot_list *l = calloc(1, sizeof(*l));
	const struct efiboot_entry *old;
	struct efiboot_variable now;
	char name[EFIBOOT_NAME_MAX];
	int code = l ? efiboot_option_build(p, &c->option, e) : err_set(e, -ENOMEM, "out of memory");

	if (!code)
		code = efiboot_read(l, e);
	if (code)
		return code;
	old = efiboot_find(l, p->partuuid, p->file);
	c->number = old ? old->number : lowest_free(l);
	for (size_t i = 0; old && i < l->count; i++)
		if (&l->items[i] != old && starts(&l->items[i], p->partuuid, p->file))
			c->surplus[c->surplus_count++] = l->items[i].number;
	efiboot_name(c->number, name);
	c->option_is_right = old && efiboot_variable_read(name, &now, NULL) == 0 && efiboot_option_is_same(&now, &c->option);
	plan_order(l, p->place, c);
	return 0;
}

int efiboot_check(const struct efiboot_params *p, bool *ret_is_right, struct err *e)
{
	AUTO_FREE struct change *c = calloc(1, sizeof(*c));
	int code = c ? plan_change(p, c, e) : err_set(e, -ENOMEM, "out of memory");

	if (!code)
		*ret_is_right = c->option_is_right && c->order_is_right && !c->surplus_count;
	return code;
}

/* ---- writing ---- */

static int write_number(const char *name, uint16_t number, struct err *e)
{
	const uint8_t data[2] = { (uint8_t)number, (uint8_t)(number >> 8) };

	return efiboot_variable_write(name, data, sizeof(data), e);
}

static int write_order(const uint16_t *order, size_t n, struct err *e)
{
	uint8_t data[2 * (EFIBOOT_MAX + 1)];

	if (n == 0)
		return efiboot_variable_remove("BootOrder", e);
	for (size_t i = 0; i < n; i++) {
		data[2 * i] = (uint8_t)order[i];
		data[2 * i + 1] = (uint8_t)(order[i] >> 8);
	}
	return efiboot_variable_write("BootOrder", data, 2 * n, e);
}

static int remove_entry(uint16_t number, struct err *e)
{
	char name[EFIBOOT_NAME_MAX];

	efiboot_name(number, name);
	return efiboot_variable_remove(name, e);
}

/* Firmware may have its own way of saying the same. */
static int write_option(const char *name, const struct efiboot_variable *option, struct err *e)
{
	struct efiboot_variable now;
	int code = efiboot_variable_put(name, option->data, option->n, &now, e);

	return code || efiboot_option_is_same(&now, option) ? code : efiboot_variable_kept(name, e);
}

/* The entry before the order that names it; what the order does not name any more, last. */
int efiboot_put(const struct efiboot_params *p, uint16_t *ret_number, struct err *e)
{
	AUTO_FREE struct change *c = calloc(1, sizeof(*c));
	char name[EFIBOOT_NAME_MAX];
	int code = c ? plan_change(p, c, e) : err_set(e, -ENOMEM, "out of memory");

	if (code)
		return code;
	efiboot_name(c->number, name);
	if (!c->option_is_right)
		code = write_option(name, &c->option, e);
	if (!code && !c->order_is_right)
		code = write_order(c->order, c->order_count, e);
	for (size_t i = 0; !code && i < c->surplus_count; i++)
		code = remove_entry(c->surplus[i], e);
	if (!code)
		*ret_number = c->number;
	return code;
}

int efiboot_set_next(uint16_t number, struct err *e)
{
	struct efiboot_variable v;
	char name[EFIBOOT_NAME_MAX];
	int code;

	efiboot_name(number, name);
	code = efiboot_variable_read(name, &v, e);
	if (!code && efiboot_variable_read("BootNext", &v, NULL) == 0 && v.n == 2 && number_of(&v, 0) == number)
		return 0;
	return code ? code : write_number("BootNext", number, e);
}

/* The order and BootNext first: they are not to name what is gone. */
static int forget(const struct efiboot_list *l, const uint16_t *ours, size_t n, struct err *e)
{
	uint16_t order[EFIBOOT_MAX];
	size_t kept = 0;
	int code = 0;

	for (size_t i = 0; i < l->order_count; i++)
		if (!has_number(ours, n, l->order[i]))
			order[kept++] = l->order[i];
	if (l->has_next && has_number(ours, n, l->next))
		code = efiboot_variable_remove("BootNext", e);
	if (!code && kept != l->order_count)
		code = write_order(order, kept, e);
	for (size_t i = 0; !code && i < n; i++)
		code = remove_entry(ours[i], e);
	return code;
}

int efiboot_remove(const char *partuuid, const char *file, bool *ret_removed, struct err *e)
{
	AUTO_FREE struct efiboot_list *l = calloc(1, sizeof(*l));
	uint16_t ours[EFIBOOT_MAX];
	size_t n = 0;
	int code = l ? efiboot_read(l, e) : err_set(e, -ENOMEM, "out of memory");

	if (code)
		return code;
	for (size_t i = 0; partuuid[0] && i < l->count; i++)
		if (starts(&l->items[i], partuuid, file))
			ours[n++] = l->items[i].number;
	if (n)
		code = forget(l, ours, n, e);
	if (!code)
		*ret_removed = n > 0;
	return code;
}
