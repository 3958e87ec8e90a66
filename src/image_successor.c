/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An image that was put back as another file: the map beside it, which was made for that, leads a system to it. */
#include "image_private.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

static bool is_successor(const struct map *old, const struct map *m)
{
	return !strcmp(m->map_id, old->map_id) && !strcmp(m->name, old->name) && !strcasecmp(m->image, old->image) &&
	       m->fs_uuid[0] && !strcmp(m->fs_uuid, old->fs_uuid) && m->host.serial == old->host.serial &&
	       (m->mft_record != old->mft_record || m->mft_sequence != old->mft_sequence);
}

static int read_beside(struct ntfsvol *v, const struct map *m, struct map **ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct ntfsvol_entry entry;
	char path[NTFSVOL_PATH_MAX];
	struct err why = ERR_INIT;
	size_t n = 0;
	int code = image_map_path(m->image, m->name, path, &why);

	if (!code)
		code = ntfsvol_find(v, path, &entry, &why);
	if (!code && !entry.is_dir)
		code = ntfsvol_read_small(v, entry.ref.record, IMAGE_HOST_MAP_MAX, &text, &n, &why);
	if (!code && text)
		code = map_parse(text, n, ret, &why);
	if (code == -ENOMEM)
		return err_set(e, code, "%s", why.text);
	return ntfsvol_io_error(v, e); /* else there is none, or it is no map */
}

int image_successor(const struct blkio *io, const struct map *m, struct map **ret, struct err *e)
{
	AUTO(ntfsvol) struct ntfsvol *v = NULL;
	AUTO(map) struct map *beside = NULL;
	int code = ntfsvol_open(io, false, &v, e);

	if (!code)
		code = read_beside(v, m, &beside, e);
	if (code)
		return code;
	*ret = beside && is_successor(m, beside) ? TAKE(beside) : NULL;
	return 0;
}
