/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct info_scan {
	struct session *s;
	struct image_info *info;
};

static bool ends_with_disk(const char *path)
{
	size_t n = strlen(path);

	return n > 5 && !strcasecmp(path + n - 5, ".disk");
}

static int note_image(void *ctx, const struct ntfsvol_entry *entry, struct err *e)
{
	__attribute__((cleanup(auto_ntfsvol_file))) struct ntfsvol_file file = { 0 };
	struct info_scan *scan = ctx;
	struct image_info *info = scan->info;
	struct image_found *x = &info->images[info->image_count];
	struct err why = ERR_INIT;
	int code = 0;

	if (entry->is_dir || !ends_with_disk(entry->path) || info->image_count == IMAGE_FOUND_MAX)
		return 0;
	/* an image whose record is damaged is one to show, too; what the medium failed to give is seen at the end */
	if (ntfsvol_read_file(scan->s->v, entry->ref.record, &file, &why) == -ENOMEM)
		return err_set(e, -ENOMEM, "%s", why.text);
	(void)snprintf(x->path, sizeof(x->path), "%s", entry->path);
	(void)snprintf(x->fs_type, sizeof(x->fs_type), "none");
	x->size_bytes = file.data_bytes;
	x->extents = file.extents.count;
	if (file.extents.count)
		code = session_identify(scan->s, &file.extents, x->fs_type, x->fs_uuid, e);
	info->image_count++;
	return code;
}

static int add_found(void *ctx, const struct image_found *image, struct err *e)
{
	struct image_info *info = ctx;

	(void)e;
	if (info->image_count < IMAGE_FOUND_MAX && strcmp(image->fs_type, "map") != 0)
		info->images[info->image_count++] = *image;
	return 0;
}

static int gather(struct session *s, struct image_info *ret, const struct progress *p, struct err *e)
{
	struct info_scan scan = { .s = s, .info = ret };
	struct freespace_params fp = { .max_extents = 1 };
	AUTO(freespace) struct freespace *f = NULL;
	int code;

	ret->volume = *ntfsvol_info(s->v);
	ret->volume_known = true;
	code = session_scan(s, &fp, &ret->picture, p, &f, &ret->free, e);
	if (!code)
		code = ntfsvol_walk(s->v, "/ubuntu", 3, note_image, &scan, e);
	if (!code)
		code = session_walk_found(s, add_found, ret, p, e);
	if (!code)
		code = session_check_found(s, &ret->report, p, e);
	return code ? code : ntfsvol_io_error(s->v, e);
}

int image_info(const char *volume, struct image_info *ret, const struct progress *p, struct err *e)
{
	__attribute__((cleanup(auto_session))) struct session s = { 0 };
	int code;

	memset(ret, 0, sizeof(*ret));
	code = session_open(volume, false, &s, e);
	if (code)
		return code;
	session_check_state(&s, SESSION_DIRTY_REFUSED);
	ret->device = s.device;
	ret->boot = s.boot;
	ret->report = s.report;
	return s.v ? gather(&s, ret, p, e) : 0;
}
