/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place: the file again, over exactly its old clusters. Not a byte of them is written. */
#include "image_rescue_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "verify.h"

#define REST "copy out what is left with --output"

static int refuse_clusters(const struct image_rescue *r, struct err *e)
{
	const struct reuse_sums *s = &r->sums;

	if (!r->known || r->damaged_records)
		return err_refuse(e, "unknown", "not all of the volume's file records can be read, so that a file may have "
				  "some of the old clusters: run chkdsk /f in Windows after the data is safe; " REST);
	if (s->kept_bytes == r->total_bytes)
		return err_refuse(e, "image-exists", "the image is still there, with all its clusters (%s): there is nothing "
				  "to make again; see 'wubi-disk verify'", verdict_name(r->verdict.verdict));
	if (s->taken_bytes)
		return err_refuse(e, "reused", "%llu of the %llu bytes belong to other files now, which would be damaged: " REST,
				  (unsigned long long)s->taken_bytes, (unsigned long long)r->total_bytes);
	if (s->free_bytes != r->total_bytes)
		return err_refuse(e, "unowned", "%llu of the %llu bytes are in use by $Bitmap: run chkdsk /f in Windows after "
				  "the data is safe; " REST, (unsigned long long)(r->total_bytes - s->free_bytes),
				  (unsigned long long)r->total_bytes);
	return 0;
}

static int refuse_content(const struct map *m, const struct image_rescue *r, struct err *e)
{
	if (!r->superblock.known)
		return err_refuse(e, "superblock", "nothing in an image of type '%s' proves that its old clusters still hold it: "
				  REST, m->fs_type);
	if (!r->superblock.ok)
		return err_refuse(e, "superblock", "the old clusters do not hold the map's file system any more: %s; " REST,
				  r->superblock.reason);
	return 0;
}

/* Its name is free, or the emptied file's very record has it: then that is filled again, and its MFT reference stays. */
static int check_name(struct session *s, const struct map *m, bool *ret_refill, struct err *e)
{
	__attribute__((cleanup(auto_ntfsvol_file))) struct ntfsvol_file file = { 0 };
	struct ntfsvol_entry entry;
	struct err why = ERR_INIT;
	int code = ntfsvol_find(s->v, m->image, &entry, &why);

	*ret_refill = false;
	if (code == -ENOENT)
		return 0;
	if (code && err_is_refusal(&why))
		return err_refuse(e, why.reason, "%s", why.text);
	if (code)
		return err_set(e, code, "%s", why.text);
	code = ntfsvol_read_file(s->v, entry.ref.record, &file, e);
	if (code)
		return code;
	*ret_refill = entry.ref.record == m->mft_record && entry.ref.sequence == m->mft_sequence && !file.is_dir &&
		      !file.data_bytes && !file.allocated_bytes && !file.extents_problem[0] && !file.compressed &&
		      !file.encrypted && !file.sparse && !file.reparse;
	if (*ret_refill)
		return 0;
	return err_refuse(e, "image-exists", "another file has the name '%s' (%llu bytes): rename it in Windows, or copy the old "
			  "image out with --output", entry.path, (unsigned long long)file.data_bytes);
}

/* The id stays: it is the same image. The generation goes on from whatever is the latest of its maps. */
static int next_map(struct session *s, const struct map *old, struct map **ret, struct err *e)
{
	__attribute__((cleanup(image_host_maps_clear))) struct image_host_maps beside = { .count = 0 };
	struct ntfsvol_ref ref = { old->mft_record, old->mft_sequence };
	struct image_ident id = { old->image, &ref, old->fs_uuid };
	AUTO(map) struct map *m = NULL;
	int code = map_copy(old, &m, e);

	if (!code)
		code = session_maps_beside(s, &id, &beside, e);
	if (code)
		return code;
	for (size_t i = 0; i < beside.count; i++) {
		const struct map *x = beside.items[i].map;

		if (!strcmp(x->map_id, m->map_id) && x->generation > m->generation)
			m->generation = x->generation;
	}
	if (!++m->generation)
		return err_set(e, -EOVERFLOW, "the map's generation is at its end");
	session_fill_host(s, &m->host);
	*ret = TAKE(m);
	return 0;
}

static int stage_file(struct session *s, struct map *m, bool refill, struct err *e)
{
	struct ntfsvol_ref ref = { m->mft_record, m->mft_sequence };
	int code = ntfsvol_reserve(s->v, &m->extents, e);

	if (!code && refill)
		code = ntfsvol_refill_image(s->v, m->image, &ref, &m->extents, e);
	else if (!code)
		code = ntfsvol_create_image(s->v, m->image, &m->extents, &ref, e);
	m->mft_record = ref.record;
	m->mft_sequence = ref.sequence;
	return code ? code : map_check(m, e);
}

static int commit(const struct image_rescue_params *par, struct session *s, struct map *m, bool refill,
		  const struct progress *p, struct err *e)
{
	struct err why = ERR_INIT;
	int code = stage_file(s, m, refill, e);

	if (!code && par->host_map)
		code = session_stage_host_map(s, m, e);
	if (!code)
		code = ntfsvol_io_error(s->v, e);
	if (!code)
		code = progress_step(p, "write the NTFS metadata", 0, 0, e);
	if (!code)
		code = ntfsvol_commit(&s->v, e);
	if (code)
		return code;
	session_close(s); /* the claim goes, so that the result is looked at as anyone would */
	code = image_check_result(par->volume, false, m, &why);
	return code ? err_set(e, code, "the file is on the volume again, but could not be proven to be right: %s; look with "
			      "'wubi-disk verify'", why.text) : 0;
}

static int check_all(const struct image_rescue_params *par, struct session *s, const struct image_rescue *r,
		     bool *ret_refill, struct err *e)
{
	const struct map *m = par->map;
	struct ntfsvol_ref ref = { m->mft_record, m->mft_sequence };
	struct image_ident id = { m->image, &ref, m->fs_uuid };
	int code = refuse_clusters(r, e);

	if (!code)
		code = refuse_content(m, r, e);
	if (!code)
		code = check_name(s, m, ret_refill, e);
	if (!code && par->host_map)
		code = session_check_host_map(s, &id, m->name, &s->report, e);
	if (!code)
		code = report_refuse(&s->report, e);
	return code ? code : ntfsvol_io_error(s->v, e);
}

int image_rescue_in_place(const struct image_rescue_params *par, const struct progress *p, struct image_rescue *ret,
			  struct map **ret_map, struct err *e)
{
	__attribute__((cleanup(auto_session))) struct session s = { 0 };
	AUTO(map) struct map *m = NULL;
	bool refill = false;
	int code;

	*ret = (struct image_rescue){ .reason = "" };
	code = session_open(par->volume, true, &s, e);
	if (code)
		return code;
	session_check_state(&s, SESSION_DIRTY_REFUSED);
	code = report_refuse(&s.report, e);
	if (!code)
		code = image_rescue_look(&s, par->map, p, ret, e);
	if (!code)
		code = check_all(par, &s, ret, &refill, e);
	if (!code)
		code = next_map(&s, par->map, &m, e);
	if (!code && !par->check_only)
		code = commit(par, &s, m, refill, p, e);
	if (code)
		return code;
	image_rescue_judge(ret);
	*ret_map = TAKE(m);
	return 0;
}
