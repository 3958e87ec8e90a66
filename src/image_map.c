/* SPDX-License-Identifier: GPL-2.0-or-later */
/* map and show: the map of an image that exists, derived from the MFT. */
#include "image_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ids.h"

/* A file that no map can describe, by what it is. A hole must never become a line of a table. */
static int refuse_kind(const struct ntfsvol_file *f, const char *path, struct err *e)
{
	if (f->is_dir)
		return err_refuse(e, "not-a-file", "'%s' is a folder: name the image file", path);
	if (f->reparse)
		return err_refuse(e, "reparse-point", "'%s' is a reparse point (CompactOS, deduplication, a cloud file): its "
				  "bytes are not where its runs are; undo that in Windows", path);
	if (f->compressed)
		return err_refuse(e, "compressed", "'%s' is compressed: its clusters do not hold its bytes; clear 'compress "
				  "contents' for it in Windows", path);
	if (f->encrypted)
		return err_refuse(e, "encrypted", "'%s' is encrypted (EFS): decrypt it in Windows", path);
	if (f->sparse)
		return err_refuse(e, "sparse", "'%s' is sparse: writes to a hole would have no place; copy it to a new file in "
				  "Windows", path);
	if (f->resident || !f->data_bytes)
		return err_refuse(e, "resident", "'%s' has %llu bytes and no clusters of its own: it holds no image; restore it "
				  "or create a new one", path, (unsigned long long)f->data_bytes);
	return 0;
}

static int refuse_sizes(const struct ntfsvol_file *f, const char *path, struct err *e)
{
	if (f->extents_problem[0])
		return err_refuse(e, "corrupt", "'%s': %s: run chkdsk /f in Windows, then retry", path, f->extents_problem);
	if (f->initialized_bytes != f->data_bytes)
		return err_refuse(e, "initialized-size", "'%s': only %llu of %llu bytes are initialised: Windows reads zeros "
				  "behind that and may write them; copy it to a new file in Windows", path,
				  (unsigned long long)f->initialized_bytes, (unsigned long long)f->data_bytes);
	if (f->data_bytes != f->allocated_bytes || f->data_bytes % MAP_SECTOR_BYTES)
		return err_refuse(e, "size", "'%s' has %llu bytes in %llu bytes of clusters: an image fills its clusters; it is "
				  "cut or no image", path, (unsigned long long)f->data_bytes,
				  (unsigned long long)f->allocated_bytes);
	return 0;
}

/* The id goes on, and the generation with 'step' more, from a map of this image. NULL: a new id. */
static int continue_map(const struct map *previous, unsigned step, struct map *m, struct err *e)
{
	uint8_t id[16];

	if (previous) {
		memcpy(m->map_id, previous->map_id, sizeof(m->map_id));
		m->generation = previous->generation + step;
		return m->generation ? 0 : err_set(e, -EOVERFLOW, "the map's generation is at its end");
	}
	ids_random(id);
	ids_to_text(id, m->map_id);
	m->generation = 1;
	return 0;
}

/* Completes a derived map from what is known of the image: the given map, else the one beside it; and gives it its name. */
static int complete(struct session *s, const struct map *previous, const char *name, unsigned step, struct map *m,
		    struct err *e)
{
	__attribute__((cleanup(image_host_maps_clear))) struct image_host_maps beside = { .count = 0 };
	struct ntfsvol_ref ref = { m->mft_record, m->mft_sequence };
	struct image_ident id = { m->image, &ref, m->fs_uuid };
	char usual[32];
	int code = 0;

	if (previous && session_match_map(s, previous, &id) == MAP_MATCH_NONE)
		return err_set(e, -EINVAL, "the map given is not one of '%s' on this volume: leave it out, and the image gets a "
			       "map of its own", m->image);
	if (!previous)
		code = session_maps_beside(s, &id, &beside, e);
	if (code)
		return code;
	image_name_from_path(m->image, usual);
	if (!previous)
		previous = image_host_maps_best(&beside, name ? name : usual);
	(void)snprintf(m->name, sizeof(m->name), "%s", name ? name : previous ? previous->name : usual);
	if (previous && strcmp(previous->name, m->name) != 0)
		previous = NULL; /* another device-mapper name is another map */
	return continue_map(previous, step, m, e);
}

static int read_image(struct session *s, const char *path, struct ntfsvol_entry *entry, struct ntfsvol_file *file,
		      struct err *e)
{
	int code = ntfsvol_find(s->v, path, entry, e);

	if (!code)
		code = ntfsvol_read_file(s->v, entry->ref.record, file, e);
	if (!code && !file->in_use)
		code = err_refuse(e, "corrupt", "'%s': its folder leads to an MFT record that is not in use: run chkdsk /f "
				  "in Windows, then retry", path);
	if (!code && file->ref.sequence != entry->ref.sequence)
		code = err_refuse(e, "corrupt", "'%s': its folder leads to an MFT record that is another file's now: run "
				  "chkdsk /f in Windows, then retry", path);
	if (!code)
		code = refuse_kind(file, entry->path, e);
	if (!code)
		code = refuse_sizes(file, entry->path, e);
	return code;
}

static int derive(struct session *s, const char *path, struct map **ret, struct err *e)
{
	__attribute__((cleanup(auto_ntfsvol_file))) struct ntfsvol_file file = { 0 };
	AUTO(map) struct map *m = calloc(1, sizeof(*m));
	struct ntfsvol_entry entry;
	int code;

	if (!m)
		return err_set(e, -ENOMEM, "build the map: out of memory");
	code = read_image(s, path, &entry, &file, e);
	if (code)
		return code;
	(void)snprintf(m->image, sizeof(m->image), "%s", entry.path);
	m->size_bytes = file.data_bytes;
	m->mft_record = file.ref.record;
	m->mft_sequence = file.ref.sequence;
	m->extents = file.extents;
	file.extents = (struct extent_list){ 0 };
	session_fill_host(s, &m->host);
	code = session_identify(s, &m->extents, m->fs_type, m->fs_uuid, e);
	if (!code)
		*ret = TAKE(m);
	return code;
}

static int put_host_map(struct session *s, const struct map *m, const struct progress *p, struct err *e)
{
	int code = session_stage_host_map(s, m, e);

	if (!code)
		code = progress_step(p, "write the NTFS metadata", 0, 0, e);
	return code ? code : ntfsvol_commit(&s->v, e);
}

static int derive_checked(const struct image_map_params *par, struct session *s, struct map **ret, struct err *e)
{
	AUTO(map) struct map *m = NULL;
	int code = derive(s, par->path ? par->path : "/ubuntu/disks/root.disk", &m, e);

	if (!code)
		code = complete(s, par->previous, par->name, 1, m, e);
	if (!code && !m->name[0])
		code = err_set(e, -EINVAL, "'%s' gives no usable map name: give one with --name", m->image);
	if (!code && par->host_map) {
		struct ntfsvol_ref ref = { m->mft_record, m->mft_sequence };
		struct image_ident id = { m->image, &ref, m->fs_uuid };

		code = session_check_host_map(s, &id, m->name, &s->report, e);
	}
	if (!code)
		code = report_refuse(&s->report, e);
	if (!code)
		code = map_check(m, e);
	if (!code)
		code = ntfsvol_io_error(s->v, e);
	if (!code)
		*ret = TAKE(m);
	return code;
}

/* The copies lie ready before the volume is changed, and take their places behind it. */
static int write_copies(const struct image_map_params *par, struct session *s, const struct map *m,
			const struct progress *p, struct err *e)
{
	__attribute__((cleanup(image_maps_drop))) struct image_maps maps = { .count = 0 };
	struct err why = ERR_INIT;
	int code = image_maps_stage(m, par->maps, par->map_count, &maps, e);

	if (!code && par->host_map)
		code = put_host_map(s, m, p, e);
	if (code)
		return code;
	code = image_maps_publish(&maps, &why);
	return code ? err_set(e, code, "%s%s", why.text, par->host_map ? "; the copy beside the image is written" : "") : 0;
}

int image_map(const struct image_map_params *par, const struct progress *p, struct map **ret_map, struct err *e)
{
	__attribute__((cleanup(auto_session))) struct session s = { 0 };
	AUTO(map) struct map *m = NULL;
	int code;

	if (par->name && !map_name_is_valid(par->name))
		return err_set(e, -EINVAL, "name '%s': use a to z, 0 to 9 and '-', a letter first, at most 31", par->name);
	code = session_open(par->volume, par->host_map, &s, e);
	if (!code && !par->host_map)
		code = blockdev_check_drivers(par->volume, &s.report, e); /* a driver's cache would be missing in the map */
	if (!code)
		code = image_check_map_files(par->maps, par->map_count, par->volume, &s.report, e);
	if (code)
		return code;
	session_check_state(&s, par->force_dirty ? SESSION_DIRTY_FORCED : SESSION_DIRTY_CAN_BE_FORCED);
	code = report_refuse(&s.report, e);
	if (!code)
		code = derive_checked(par, &s, &m, e);
	if (!code && !par->check_only)
		code = write_copies(par, &s, m, p, e);
	if (!code)
		*ret_map = TAKE(m);
	return code;
}

int image_derive(const char *volume, const char *path, struct map **ret_map, struct picture *ret_picture, struct err *e)
{
	__attribute__((cleanup(auto_session))) struct session s = { 0 };
	struct freespace_params fp = { .max_extents = 1 };
	AUTO(freespace) struct freespace *f = NULL;
	struct freespace_summary summary;
	AUTO(map) struct map *m = NULL;
	int code = session_open(volume, false, &s, e);

	if (!code)
		code = report_refuse(&s.report, e);
	if (!code)
		code = derive(&s, path, &m, e);
	if (!code)
		code = complete(&s, NULL, NULL, 0, m, e);
	if (!code && !m->name[0])
		(void)snprintf(m->name, sizeof(m->name), "image");
	if (!code && ret_picture)
		code = session_scan(&s, &fp, ret_picture, NULL, &f, &summary, e);
	if (!code)
		code = ntfsvol_io_error(s.v, e);
	if (code)
		return code;
	if (ret_picture)
		picture_add_image(ret_picture, &m->extents);
	*ret_map = TAKE(m);
	return 0;
}
