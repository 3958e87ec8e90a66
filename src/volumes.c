/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "volumes_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void volumes_clear(struct volumes *v)
{
	disks_clear(&v->disks);
	free(v->rows);
	*v = (struct volumes){ .rows = NULL };
}

void volumes_copy(char *ret, size_t size, const char *text)
{
	size_t n = strnlen(text, size);

	if (n == size) {
		n = size - 1;
		while (n && ((unsigned char)text[n] & 0xc0) == 0x80) /* in the middle of a character */
			n--;
	}
	memcpy(ret, text, n);
	ret[n] = '\0';
}

static int add_row(struct volumes *v, const struct disks_disk *disk, const struct disks_partition *part, uint64_t needed_bytes,
		   struct err *e)
{
	struct volumes_row *row = &v->rows[v->count++];

	row->disk = disk;
	row->size_bytes = part ? part->size_bytes : disk->size_bytes;
	volumes_copy(row->path, sizeof(row->path), part ? part->path : disk->path);
	return volumes_look(row, part, needed_bytes, e);
}

/* A disk with a table and no partitions has no row; one without a table can be a volume as a whole. */
static int add_disk(struct volumes *v, const struct disks_disk *disk, uint64_t needed_bytes, struct err *e)
{
	bool has_table = *disk->table && strcmp(disk->table, "loop") != 0;
	int code = 0;

	if (!has_table)
		return add_row(v, disk, NULL, needed_bytes, e);
	for (size_t i = 0; !code && i < disk->partition_count; i++)
		code = add_row(v, disk, &disk->partitions[i], needed_bytes, e);
	return code;
}

int volumes_scan(const char *const *paths, uint64_t needed_bytes, struct volumes *ret, struct err *e)
{
	__attribute__((cleanup(auto_volumes))) struct volumes v = { .rows = NULL };
	size_t most = 0;
	int code = disks_read(paths, &v.disks, e);

	if (code)
		return code;
	for (size_t i = 0; i < v.disks.count; i++)
		most += v.disks.items[i].partition_count + 1;
	v.rows = calloc(most ? most : 1, sizeof(*v.rows));
	if (!v.rows)
		return err_set(e, -ENOMEM, "list the volumes: out of memory");
	for (size_t i = 0; !code && i < v.disks.count; i++)
		code = add_disk(&v, &v.disks.items[i], needed_bytes, e);
	if (code)
		return code;
	volumes_clear(ret);
	*ret = v;
	v = (struct volumes){ .rows = NULL };
	return 0;
}
