/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose is a cluster? All run lists of the volume, in one pass over $MFT: opening each file would take a read each. */
#include "ntfsvol_private.h"

#include <errno.h>
#include <string.h>

#define READ_BYTES (1024 * 1024)
#define NONRESIDENT_BYTES 64 /* of an attribute's header, up to its mapping pairs */

struct all_runs {
	struct ntfsvol *v;
	ntfsvol_runs_fn *fn;
	void *ctx;
	uint64_t damaged;
};

/* The runs of one attribute, or of the part of it that this record holds. */
static int tell_runs(struct all_runs *all, uint64_t record, const ATTR_RECORD *a, bool *damaged, struct err *e)
{
	uint64_t cluster = all->v->info.cluster_bytes;
	runlist_element *rl;
	int code = 0;

	if (sle64_to_cpu(a->highest_vcn) < sle64_to_cpu(a->lowest_vcn))
		return 0; /* an attribute without clusters */
	ntfsvol_log_start();
	errno = 0;
	rl = ntfs_mapping_pairs_decompress(all->v->vol, a, NULL);
	if (!rl && errno == ENOMEM)
		return err_set(e, -ENOMEM, "read the run lists: out of memory");
	*damaged = *damaged || !rl;
	for (const runlist_element *x = rl; !code && x && x->length; x++) {
		if (x->lcn < 0)
			continue; /* a hole, or what another record holds */
		if (x->length < 0 || x->lcn > all->v->vol->nr_clusters || x->length > all->v->vol->nr_clusters - x->lcn)
			*damaged = true;
		else
			code = all->fn(all->ctx, record, (uint64_t)x->lcn * cluster, (uint64_t)x->length * cluster, e);
	}
	free(rl);
	return code;
}

/* The record passed its fixups; everything else in it is checked here. */
static int tell_record(struct all_runs *all, uint64_t number, const uint8_t *bytes, bool *damaged, struct err *e)
{
	const MFT_RECORD *m = (const MFT_RECORD *)bytes;
	uint32_t size = all->v->info.mft_record_bytes, used = le32_to_cpu(m->bytes_in_use), at = le16_to_cpu(m->attrs_offset);
	uint64_t base = MREF(le64_to_cpu(m->base_mft_record));
	int code = 0;

	if (used > size || at % 8 || at < 42)
		*damaged = true;
	while (!code && !*damaged) {
		const ATTR_RECORD *a = (const ATTR_RECORD *)(bytes + at);
		uint32_t n;

		*damaged = at > used || used - at < sizeof(a->type);
		if (*damaged || a->type == AT_END)
			break;
		n = used - at < 24 ? 0 : le32_to_cpu(a->length);
		*damaged = n < 24 || n % 8 || n > used - at || (a->non_resident && n < NONRESIDENT_BYTES);
		if (!*damaged && a->non_resident)
			code = tell_runs(all, base ? base : number, a, damaged, e);
		at += n;
	}
	return code;
}

static int tell_records(struct all_runs *all, uint64_t first, const uint8_t *bytes, uint64_t count, struct err *e)
{
	int code = 0;

	for (uint64_t i = 0; !code && i < count; i++) {
		const uint8_t *record = bytes + i * all->v->info.mft_record_bytes;
		const MFT_RECORD *m = (const MFT_RECORD *)record;
		bool damaged = false;

		if (ntfs_is_file_record(m->magic) && (m->flags & MFT_RECORD_IN_USE))
			code = tell_record(all, first + i, record, &damaged, e);
		else if (!ntfs_is_file_record(m->magic) && m->magic) /* zeros: it was never used */
			damaged = true;
		all->damaged += damaged;
	}
	return code;
}

int ntfsvol_all_runs(struct ntfsvol *v, ntfsvol_runs_fn *fn, void *ctx, const struct progress *p, uint64_t *ret_damaged,
		     struct err *e)
{
	struct all_runs all = { .v = v, .fn = fn, .ctx = ctx };
	uint32_t size = v->info.mft_record_bytes;
	uint64_t end = (uint64_t)v->vol->mft_na->initialized_size / size, step = READ_BYTES / size;
	AUTO_FREE uint8_t *buf = malloc(READ_BYTES);
	int code = 0;

	if (!buf)
		return err_set(e, -ENOMEM, "read $MFT: out of memory");
	if (end > v->info.total_bytes / size) /* holes in a hostile $MFT would keep us here for years */
		return err_set(e, -EIO, "$MFT claims to be larger than the volume: run chkdsk /f in Windows");
	for (uint64_t at = 0; !code && at < end;) {
		uint64_t n = end - at < step ? end - at : step;

		ntfsvol_log_start();
		errno = 0;
		if (ntfs_attr_mst_pread(v->vol->mft_na, (s64)(at * size), (s64)n, size, buf) != (s64)n) {
			if (!errno)
				errno = EIO;
			return ntfsvol_fail(v, e, "read $MFT at record %llu", (unsigned long long)at);
		}
		code = tell_records(&all, at, buf, n, e);
		at += n;
		if (!code)
			code = progress_step(p, "look for the clusters' owners", at * size, end * size, e);
	}
	if (!code)
		*ret_damaged = all.damaged;
	return code;
}
