/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "volumes_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "auto.h"
#include "num.h"

#define LIST_MAX 400 /* of an error's text */

/* What is asked for: by one key, or by any. */
struct wanted {
	const char *value;
	bool path, partuuid, label, serial;
};

struct list {
	char text[LIST_MAX];
	size_t used;
};

static struct wanted parse(const char *spec)
{
	if (!strncasecmp(spec, "PARTUUID=", 9))
		return (struct wanted){ .value = spec + 9, .partuuid = true };
	if (!strncasecmp(spec, "LABEL=", 6))
		return (struct wanted){ .value = spec + 6, .label = true };
	if (!strncasecmp(spec, "SERIAL=", 7))
		return (struct wanted){ .value = spec + 7, .serial = true };
	if (!strncasecmp(spec, "UUID=", 5))
		return (struct wanted){ .value = spec + 5, .serial = true };
	return (struct wanted){ .value = spec, .path = true, .partuuid = true, .label = true, .serial = true };
}

/* A row that lacks it is not meant by an empty value. */
static bool is_same_id(const char *of_row, const char *value)
{
	return *of_row && !strcasecmp(of_row, value);
}

static bool is_wanted(const struct volumes_row *row, const struct wanted *w, const char *real_path)
{
	if (w->path && (!strcmp(row->path, w->value) || (real_path && !strcmp(row->path, real_path))))
		return true;
	if (w->partuuid && is_same_id(row->partuuid, w->value))
		return true;
	if (w->label && *row->label && !strcmp(row->label, w->value))
		return true;
	return w->serial && (is_same_id(row->serial, w->value) || is_same_id(row->esp_uuid, w->value));
}

static void list_row(struct list *l, const struct volumes_row *row)
{
	char size[NUM_BYTES_TEXT], one[DISKS_PATH_MAX + sizeof(row->label) + 64];
	int n = snprintf(one, sizeof(one), "%s%s (%s%s%s%s, %s)", l->used ? ", " : "", row->path, row->what,
			 *row->label ? " '" : "", row->label, *row->label ? "'" : "", num_format_bytes(row->size_bytes, size));

	if (n > 0 && l->used + (size_t)n < sizeof(l->text) - 8)
		l->used += (size_t)snprintf(l->text + l->used, sizeof(l->text) - l->used, "%s", one);
	else if (l->used && strcmp(l->text + l->used - 3, "...") != 0)
		l->used += (size_t)snprintf(l->text + l->used, sizeof(l->text) - l->used, ", ..."); /* room is left for it */
}

static const char *list_kind(const struct volumes *v, enum volumes_kind kind, struct list *l)
{
	for (size_t i = 0; i < v->count; i++)
		if (v->rows[i].kind == kind)
			list_row(l, &v->rows[i]);
	return l->used ? l->text : "none";
}

static const char *kind_name(enum volumes_kind kind)
{
	return kind == VOLUMES_ESP ? "EFI system partition" : kind == VOLUMES_NTFS ? "NTFS volume" : "partition";
}

static int refuse_none(const struct volumes *v, const char *spec, enum volumes_kind kind, const struct volumes_row *other,
		       struct err *e)
{
	const char *reason = kind == VOLUMES_ESP ? "no-esp" : "no-volume";
	struct list l = { .text = "" };
	const char *there = list_kind(v, kind, &l);

	if (other && *other->reason)
		return err_refuse(e, other->reason, "%s", other->text);
	if (other && *other->text)
		return err_set(e, -EIO, "%s", other->text);
	if (other)
		return err_refuse(e, reason, "'%s' is no %s (found: %s); name one of these: %s", other->path, kind_name(kind),
				  other->what, there);
	if (!*spec)
		return err_refuse(e, reason, "no %s is named, and none is taken by itself; name one of these: %s",
				  kind_name(kind), there);
	return err_refuse(e, reason, "no %s is '%.200s'; name one of these: %s", kind_name(kind), spec, there);
}

static int refuse_several(const char *spec, enum volumes_kind kind, const struct list *l, struct err *e)
{
	return err_refuse(e, kind == VOLUMES_ESP ? "several-esps" : "several-volumes",
			  "more than one %s is '%.100s', and the wrong one would be written; name one by its device: %s",
			  kind_name(kind), spec, l->text);
}

int volumes_choose(const struct volumes *v, const char *spec, enum volumes_kind kind, const struct volumes_row **ret,
		   struct err *e)
{
	const struct volumes_row *found = NULL, *other = NULL;
	struct wanted w = parse(spec ? spec : "");
	AUTO_FREE char *real_path = w.path ? realpath(w.value, NULL) : NULL;
	struct list l = { .text = "" };
	size_t count = 0;

	for (size_t i = 0; *w.value && i < v->count; i++) {
		const struct volumes_row *row = &v->rows[i];

		if (!is_wanted(row, &w, real_path))
			continue;
		if (row->kind != kind) {
			other = row;
			continue;
		}
		found = row;
		count++;
		list_row(&l, row);
	}
	if (count > 1)
		return refuse_several(spec, kind, &l, e);
	if (!found)
		return refuse_none(v, spec ? spec : "", kind, other, e);
	*ret = found;
	return 0;
}

/* A stick with a live system has an EFI system partition of its own, which goes with it. */
static bool is_live_medium(const struct volumes *v, const struct disks_disk *disk)
{
	for (size_t i = 0; i < v->count; i++)
		if (v->rows[i].disk == disk && !strcmp(v->rows[i].what, "iso9660"))
			return true;
	return false;
}

/* disk NULL: of all disks. Returns how many there are. */
static size_t find_esps(const struct volumes *v, const struct disks_disk *disk, const struct volumes_row **ret, struct list *l)
{
	size_t count = 0;

	for (size_t i = 0; i < v->count; i++) {
		const struct volumes_row *row = &v->rows[i];

		if (row->kind != VOLUMES_ESP || (disk ? row->disk != disk : is_live_medium(v, row->disk)))
			continue;
		*ret = row;
		count++;
		list_row(l, row);
	}
	return count;
}

int volumes_esp(const struct volumes *v, const struct volumes_row *volume, const char *spec, const struct volumes_row **ret,
		struct err *e)
{
	const struct volumes_row *found = NULL;
	struct list l = { .text = "" };
	const char *where = "the volume's disk has";
	size_t count;

	if (spec && *spec)
		return volumes_choose(v, spec, VOLUMES_ESP, ret, e);
	count = find_esps(v, volume->disk, &found, &l);
	if (!count) {
		where = "the volume's disk has no EFI system partition, the others have";
		count = find_esps(v, NULL, &found, &l);
	}
	if (!count)
		return err_refuse(e, "no-esp", "there is no EFI system partition for '%s', so that nothing could start Linux; "
				  "if Windows starts in BIOS mode, this cannot be used, else name the partition with --esp",
				  volume->path);
	if (count > 1)
		return err_refuse(e, "several-esps", "%s %zu EFI system partitions, and with the wrong one Linux would not "
				  "start; name the one of Windows with --esp: %s", where, count, l.text);
	*ret = found;
	return 0;
}
