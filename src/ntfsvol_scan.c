/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking at many things: the allocation bitmap, the bad clusters, all files below a folder, a small file's content. */
#include "ntfsvol_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SCAN_BYTES (1024 * 1024)
#define WINDOW_BYTES 4096

/* Reads from $Bitmap; short is an error, because a cluster without a bit must not pass for a free one. */
static int read_bitmap(struct ntfsvol *v, uint64_t offset_bytes, void *buf, size_t n, struct err *e)
{
	s64 got;

	ntfsvol_log_start();
	errno = 0;
	got = ntfs_attr_pread(v->vol->lcnbmp_na, (s64)offset_bytes, (s64)n, buf);
	if (got == (s64)n)
		return 0;
	if (got >= 0)
		errno = EIO;
	return ntfsvol_fail(v, e, "read $Bitmap at byte %llu", (unsigned long long)offset_bytes);
}

int ntfsvol_scan(struct ntfsvol *v, struct freespace *f, const struct progress *p, struct err *e)
{
	uint64_t total = (v->info.total_clusters + 7) / 8, have = (uint64_t)v->vol->lcnbmp_na->data_size;
	AUTO_FREE uint8_t *buf = malloc(SCAN_BYTES);

	if (!buf)
		return err_set(e, -ENOMEM, "read $Bitmap: out of memory");
	if (have < total)
		return err_refuse(e, "corrupt", "$Bitmap has %llu bytes where %llu clusters need %llu: run chkdsk /f in "
				  "Windows, then retry", (unsigned long long)have,
				  (unsigned long long)v->info.total_clusters, (unsigned long long)total);
	for (uint64_t at = 0; at < total;) {
		size_t n = total - at < SCAN_BYTES ? (size_t)(total - at) : SCAN_BYTES;
		int code = read_bitmap(v, at, buf, n, e);

		if (!code)
			code = freespace_feed(f, buf, n, e);
		at += n;
		if (!code)
			code = progress_step(p, "read the free space", at, total, e);
		if (code)
			return code;
	}
	return 0;
}

static int compare_runs(const void *a, const void *b)
{
	const struct cluster_run *x = a, *y = b;

	return (x->lcn > y->lcn) - (x->lcn < y->lcn);
}

static int collect_bad(ntfs_attr *na, struct cluster_run **ret_runs, size_t *ret_count)
{
	struct cluster_run *runs = NULL;
	size_t count = 0, used = 0;

	for (const runlist_element *rl = na->rl; rl && rl->length; rl++)
		count += rl->lcn >= 0;
	if (count) {
		runs = calloc(count, sizeof(*runs));
		if (!runs)
			return -ENOMEM;
		for (const runlist_element *rl = na->rl; rl->length; rl++)
			if (rl->lcn >= 0)
				runs[used++] = (struct cluster_run){ (uint64_t)rl->lcn, (uint64_t)rl->length };
		qsort(runs, count, sizeof(*runs), compare_runs);
	}
	*ret_runs = runs;
	*ret_count = count;
	return 0;
}

int ntfsvol_bad_clusters(struct ntfsvol *v, struct cluster_run **ret_runs, size_t *ret_count, struct err *e)
{
	static ntfschar stream[] = { const_cpu_to_le16('$'), const_cpu_to_le16('B'), const_cpu_to_le16('a'),
				     const_cpu_to_le16('d') };
	ntfs_inode *ni = NULL;
	ntfs_attr *na;
	int code = ntfsvol_inode(v, FILE_BadClus, &ni, e);

	if (code)
		return code;
	na = ntfs_attr_open(ni, AT_DATA, stream, 4);
	if (!na || !NAttrNonResident(na) || ntfs_attr_map_whole_runlist(na))
		code = ntfsvol_fail(v, e, "read the run list of $BadClus");
	else if (collect_bad(na, ret_runs, ret_count))
		code = err_set(e, -ENOMEM, "read $BadClus: out of memory");
	if (na)
		ntfs_attr_close(na);
	(void)ntfs_inode_close(ni); /* read only: nothing to lose */
	return code;
}

static uint64_t clear_bits(const uint8_t *bits, uint64_t first, uint64_t count)
{
	uint64_t clear = 0;

	while (count && (first % 64 || count < 64)) {
		clear += !(bits[first / 8] >> (first % 8) & 1);
		first++;
		count--;
	}
	for (; count >= 64; first += 64, count -= 64) {
		uint64_t word;

		memcpy(&word, bits + first / 8, sizeof(word)); /* the order of bits does not matter for their number */
		clear += 64 - (uint64_t)__builtin_popcountll(word);
	}
	for (; count; first++, count--)
		clear += !(bits[first / 8] >> (first % 8) & 1);
	return clear;
}

/* A piece of $Bitmap: the extents of a file in many of them mostly have their bits close together. */
struct bitmap_window {
	uint8_t bytes[WINDOW_BYTES];
	uint64_t first_byte;
	size_t n; /* 0: nothing was read yet */
};

/* Makes the byte lie in the window. */
static int move_window(struct ntfsvol *v, uint64_t byte, struct bitmap_window *w, struct err *e)
{
	uint64_t end = (uint64_t)v->vol->lcnbmp_na->data_size, first = byte / WINDOW_BYTES * WINDOW_BYTES;
	size_t n = WINDOW_BYTES;
	int code;

	if (w->n && byte >= w->first_byte && byte - w->first_byte < w->n)
		return 0;
	if (end < first + n) /* a $Bitmap that is too short fails where a bit is missing, and not before */
		n = (size_t)((byte < end ? end : byte + 1) - first);
	w->n = 0;
	code = read_bitmap(v, first, w->bytes, n, e);
	if (code)
		return code;
	w->first_byte = first;
	w->n = n;
	return 0;
}

static int count_run(struct ntfsvol *v, uint64_t lcn, uint64_t clusters, struct bitmap_window *w, uint64_t *clear,
		     struct err *e)
{
	while (clusters) {
		int code = move_window(v, lcn / 8, w, e);
		uint64_t skip, take;

		if (code)
			return code;
		skip = lcn - w->first_byte * 8;
		take = w->n * UINT64_C(8) - skip < clusters ? w->n * UINT64_C(8) - skip : clusters;
		*clear += clear_bits(w->bytes, skip, take);
		lcn += take;
		clusters -= take;
	}
	return 0;
}

int ntfsvol_count_free(struct ntfsvol *v, const struct extent_list *extents, uint64_t *ret_clusters, struct err *e)
{
	uint64_t cluster = v->info.cluster_bytes, clear = 0;
	struct bitmap_window window = { .n = 0 };

	for (size_t i = 0; i < extents->count; i++) {
		const struct extent *x = &extents->items[i];
		int code;

		if (x->physical_bytes > v->info.total_bytes ||
		    x->length_bytes > v->info.total_bytes - x->physical_bytes)
			return err_set(e, -EINVAL, "extent %zu reaches beyond the end of the volume", i);
		code = count_run(v, x->physical_bytes / cluster, (x->length_bytes + cluster - 1) / cluster, &window, &clear, e);
		if (code)
			return code;
	}
	*ret_clusters = clear;
	return 0;
}

struct listing {
	struct ntfsvol_entry *items;
	size_t count, capacity;
	const char *folder;
	bool no_memory;
};

static int list_entry(void *ctx, const ntfschar *name, const int len, const int name_type, const s64 pos,
		      const MFT_REF ref, const unsigned type)
{
	struct listing *l = ctx;
	struct ntfsvol_entry *entry;
	char *text = NULL;
	int n;

	(void)pos;
	if (name_type == FILE_NAME_DOS || MREF(ref) < FILE_first_user)
		return 0; /* the 8.3 twin of a name, and the system files */
	if (l->count == l->capacity) {
		size_t capacity = l->capacity ? 2 * l->capacity : 64;
		void *bigger = realloc(l->items, capacity * sizeof(*l->items));

		l->no_memory = !bigger;
		if (!bigger)
			return -1;
		l->items = bigger;
		l->capacity = capacity;
	}
	if (ntfs_ucstombs(name, len, &text, 0) < 0)
		return 0; /* a name that is no UTF-16: not one of ours */
	entry = &l->items[l->count];
	n = snprintf(entry->path, sizeof(entry->path), "%s%s%s", l->folder, l->folder[1] ? "/" : "", text);
	entry->ref.record = MREF(ref);
	entry->ref.sequence = MSEQNO(ref);
	entry->is_dir = type == NTFS_DT_DIR;
	if (n < (int)sizeof(entry->path) && strcmp(text, ".") && strcmp(text, ".."))
		l->count++;
	free(text);
	return 0;
}

static int list_folder(struct ntfsvol *v, const struct ntfsvol_entry *folder, struct listing *l, struct err *e)
{
	ntfs_inode *dir = NULL;
	s64 pos = 0;
	int code = ntfsvol_inode(v, folder->ref.record, &dir, e);

	if (code)
		return code;
	l->folder = folder->path;
	ntfsvol_log_start();
	errno = 0;
	if (ntfs_readdir(dir, &pos, l, list_entry))
		code = l->no_memory ? err_set(e, -ENOMEM, "list '%s': out of memory", folder->path)
				    : ntfsvol_fail(v, e, "list '%s'", folder->path);
	(void)ntfs_inode_close(dir); /* read only: nothing to lose */
	return code;
}

static int walk_folder(struct ntfsvol *v, const struct ntfsvol_entry *folder, unsigned depth, ntfsvol_walk_fn *fn,
		       void *ctx, struct err *e)
{
	struct listing l = { 0 };
	int code = list_folder(v, folder, &l, e);

	for (size_t i = 0; !code && i < l.count; i++) {
		code = fn(ctx, &l.items[i], e);
		if (!code && l.items[i].is_dir && depth > 1)
			code = walk_folder(v, &l.items[i], depth - 1, fn, ctx, e);
	}
	free(l.items);
	return code;
}

int ntfsvol_walk(struct ntfsvol *v, const char *folder, unsigned depth, ntfsvol_walk_fn *fn, void *ctx, struct err *e)
{
	struct ntfsvol_entry entry;
	struct err own = ERR_INIT;
	int code = ntfsvol_find(v, folder, &entry, &own);

	if (code == -ENOENT || (!code && !entry.is_dir))
		return 0;
	if (code) {
		if (e)
			*e = own;
		return code;
	}
	return walk_folder(v, &entry, depth, fn, ctx, e);
}

int ntfsvol_read_small(struct ntfsvol *v, uint64_t record, size_t max_bytes, char **ret, size_t *ret_n, struct err *e)
{
	AUTO_FREE char *text = NULL;
	ntfs_inode *ni = NULL;
	ntfs_attr *na;
	s64 size, got = -1;
	int code = ntfsvol_inode(v, record, &ni, e);

	if (code)
		return code;
	na = ntfs_attr_open(ni, AT_DATA, AT_UNNAMED, 0);
	size = na ? na->data_size : 0;
	if (na && size >= 0 && (uint64_t)size <= max_bytes) {
		text = calloc(1, (size_t)size + 1);
		got = text ? ntfs_attr_pread(na, 0, size, text) : -1;
	}
	if (na && (uint64_t)size > max_bytes)
		code = err_set(e, -EFBIG, "MFT record %llu has %lld bytes, more than %zu", (unsigned long long)record,
			       (long long)size, max_bytes);
	else if (!na || got != size)
		code = ntfsvol_fail(v, e, "read MFT record %llu", (unsigned long long)record);
	if (na)
		ntfs_attr_close(na);
	(void)ntfs_inode_close(ni); /* read only: nothing to lose */
	if (code)
		return code;
	*ret = TAKE(text);
	*ret_n = (size_t)size;
	return 0;
}
