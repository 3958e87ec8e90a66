/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changing, in memory: all writes of libntfs-3g end in the stage until ntfsvol_commit(). */
#include "ntfsvol_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Bytes of an attribute to ranges of the device, run by run. */
static int add_unused_block(struct ntfsvol *v, ntfs_attr *allocation, uint64_t at_bytes, struct err *e)
{
	struct ntfsvol_ranges *r = &v->unused_index;
	uint64_t cluster = v->info.cluster_bytes;
	LCN lcn = ntfs_attr_vcn_to_lcn(allocation, (VCN)(at_bytes / cluster));

	if (lcn < 0)
		return 0; /* not mapped: then nothing is written there without a new allocation */
	if (r->count == r->capacity) {
		size_t capacity = r->capacity ? 2 * r->capacity : 16;
		void *bigger = realloc(r->items, capacity * sizeof(*r->items));

		if (!bigger)
			return err_set(e, -ENOMEM, "note unused index blocks: out of memory");
		r->items = bigger;
		r->capacity = capacity;
	}
	r->items[r->count++] = (struct ntfsvol_range){ (uint64_t)lcn * cluster + at_bytes % cluster,
						       v->vol->indx_record_size };
	return 0;
}

/*
 * Remembers which blocks of a folder's index nothing refers to now. When libntfs-3g splits a full block into such a one, the
 * commit may write it before all that refers to it; a block in use must come after.
 */
static int note_unused_blocks(struct ntfsvol *v, ntfs_inode *dir, struct err *e)
{
	ntfs_attr *allocation = ntfs_attr_open(dir, AT_INDEX_ALLOCATION, NTFS_INDEX_I30, 4);
	AUTO_FREE u8 *bits = NULL;
	s64 bytes = 0;
	int code = 0;

	if (!allocation)
		return 0; /* a small folder lives in its record */
	bits = ntfs_attr_readall(dir, AT_BITMAP, NTFS_INDEX_I30, 4, &bytes);
	if (!bits)
		code = ntfsvol_fail(v, e, "read the index bitmap of MFT record %llu",
				    (unsigned long long)dir->mft_no);
	/* blocks beyond the bitmap get clusters of their own; and a damaged size must not keep us here for hours */
	for (uint64_t i = 0; bits && !code && i / 8 < (uint64_t)bytes &&
	     i * v->vol->indx_record_size < (uint64_t)allocation->data_size; i++)
		if (!(bits[i / 8] >> (i % 8) & 1))
			code = add_unused_block(v, allocation, i * v->vol->indx_record_size, e);
	ntfs_attr_close(allocation);
	return code;
}

/*
 * After an I/O error the overlay is not what libntfs-3g believes it to be: writing an inode then fails half-way, and the
 * library leaks it. Nothing will be committed, so its changes can go.
 */
static int close_inode(struct ntfsvol *v, ntfs_inode *ni)
{
	if (ni && v->dev.first.code)
		ntfsvol_forget_changes(ni);
	return ntfs_inode_close(ni); /* NULL is fine */
}

/*
 * Closes a new or changed file and its folder; ntfs_inode_close() then writes the index entry. The folder first: with it open,
 * libntfs-3g fails with EBUSY and leaves the entry at size 0. Not by ntfs_inode_close_in_dir(): on an error it closes the
 * folder, too, or leaks the file, and does not tell which (2022.10.3).
 */
static int close_both(struct ntfsvol *v, ntfs_inode *ni, ntfs_inode *dir, int code, struct err *e)
{
	uint64_t record = ni->mft_no;
	int failed = close_inode(v, dir);

	failed |= close_inode(v, ni);
	if ((failed || v->dev.first.code) && !code)
		return ntfsvol_fail(v, e, "close MFT record %llu", (unsigned long long)record);
	return code;
}

static int close_dir(struct ntfsvol *v, ntfs_inode *dir, int code, struct err *e)
{
	bool failed = dir && close_inode(v, dir);

	if ((failed || v->dev.first.code) && !code)
		return ntfsvol_fail(v, e, "close a folder that was changed");
	return code;
}

/* A new entry, with its inode open in *ret_ni. The name has passed ntfsvol_lookup(): there is none like it. */
static int create_entry(struct ntfsvol *v, ntfs_inode *dir, const char *name, mode_t type, ntfs_inode **ret_ni,
			struct err *e)
{
	AUTO_FREE ntfschar *wide = NULL;
	int len, code = ntfsvol_name(name, strlen(name), &wide, &len, e);

	if (code)
		return code;
	v->changed = true;
	ntfsvol_log_start();
	errno = 0;
	*ret_ni = ntfs_create(dir, const_cpu_to_le32(0), wide, (u8)len, type);
	if (!*ret_ni)
		return ntfsvol_fail(v, e, "create '%s'", name);
	(*ret_ni)->flags &= ~(le32)FILE_ATTR_COMPRESSED; /* a compressed parent hands it down */
	NInoFileNameSetDirty(*ret_ni);
	ntfs_inode_mark_dirty(*ret_ni);
	return 0;
}

/* Opens folder 'path', made with its parents where missing. *ret_dir is the caller's to close. */
static int open_folder(struct ntfsvol *v, const char *path, bool make, ntfs_inode **ret_dir, struct err *e)
{
	char parent[NTFSVOL_PATH_MAX], name[NTFSVOL_PATH_MAX];
	struct ntfsvol_entry entry;
	struct err own = ERR_INIT;
	ntfs_inode *up = NULL, *ni = NULL;
	int code = ntfsvol_find(v, path, &entry, &own);

	if (!code) {
		if (!entry.is_dir)
			return err_refuse(e, "not-a-folder", "'%s' is a file, not a folder: name another path", path);
		code = ntfsvol_inode(v, entry.ref.record, &ni, e);
		if (code)
			return code;
		code = note_unused_blocks(v, ni, e);
		if (code)
			return close_dir(v, ni, code, e);
		*ret_dir = ni;
		return 0;
	}
	if (code != -ENOENT || !make) {
		if (e)
			*e = own;
		return code;
	}
	ntfsvol_split(path, parent, name);
	code = open_folder(v, parent, true, &up, e);
	if (code)
		return code;
	code = create_entry(v, up, name, S_IFDIR, &ni, e);
	if (code)
		return close_dir(v, up, code, e);
	code = close_both(v, ni, up, 0, e);
	return code ? code : open_folder(v, path, false, ret_dir, e);
}

int ntfsvol_reserve(struct ntfsvol *v, const struct extent_list *extents, struct err *e)
{
	uint64_t cluster = v->info.cluster_bytes;

	v->changed = true;
	ntfsvol_log_start();
	errno = 0;
	for (size_t i = 0; i < extents->count; i++)
		if (ntfs_bitmap_set_run(v->vol->lcnbmp_na, (s64)(extents->items[i].physical_bytes / cluster),
					(s64)(extents->items[i].length_bytes / cluster)))
			return ntfsvol_fail(v, e, "reserve extent %zu in $Bitmap", i);
	return 0;
}

static runlist_element *make_runlist(const struct extent_list *extents, uint64_t cluster)
{
	runlist_element *rl = calloc(extents->count + 1, sizeof(*rl));
	VCN vcn = 0;

	for (size_t i = 0; rl && i < extents->count; i++) {
		rl[i].vcn = vcn;
		rl[i].lcn = (LCN)(extents->items[i].physical_bytes / cluster);
		rl[i].length = (s64)(extents->items[i].length_bytes / cluster);
		vcn += rl[i].length;
	}
	if (rl) {
		rl[extents->count].vcn = vcn;
		rl[extents->count].lcn = LCN_ENOENT;
	}
	return rl;
}

/*
 * libntfs-3g leaves the initialised size at 0 for clusters that it did not write itself; Windows and ntfs-3g would then read
 * zeros, and a Windows write would zero what Linux wrote. It is set in the attribute record.
 */
static int set_sizes(struct ntfsvol *v, ntfs_inode *ni, uint64_t bytes, struct err *e)
{
	ntfs_attr_search_ctx *ctx = ntfs_attr_get_search_ctx(ni, NULL);
	int code = 0;

	if (!ctx || ntfs_attr_lookup(AT_DATA, AT_UNNAMED, 0, CASE_SENSITIVE, 0, NULL, 0, ctx)) {
		code = ntfsvol_fail(v, e, "set the sizes of MFT record %llu", (unsigned long long)ni->mft_no);
	} else {
		ctx->attr->data_size = ntfsvol_sle64(bytes);
		ctx->attr->initialized_size = ntfsvol_sle64(bytes);
		ctx->attr->flags = const_cpu_to_le16(0);
		ntfs_inode_mark_dirty(ctx->ntfs_ino); /* the record that holds it: with an attribute list, another */
	}
	if (ctx)
		ntfs_attr_put_search_ctx(ctx);
	return code;
}

static int set_extents(struct ntfsvol *v, ntfs_inode *ni, const struct extent_list *extents, struct err *e)
{
	uint64_t bytes = extent_list_bytes(extents);
	ntfs_attr *na;
	int code = 0;

	ntfsvol_log_start();
	errno = 0;
	na = ntfs_attr_open(ni, AT_DATA, AT_UNNAMED, 0);
	if (!na || (!NAttrNonResident(na) && ntfs_attr_force_non_resident(na))) {
		code = ntfsvol_fail(v, e, "make the data non-resident");
	} else {
		free(na->rl);
		na->rl = make_runlist(extents, v->info.cluster_bytes);
		na->allocated_size = na->data_size = na->initialized_size = (s64)bytes;
		NAttrSetFullyMapped(na);
		ni->data_size = ni->allocated_size = (s64)bytes;
		if (!na->rl)
			code = err_set(e, -ENOMEM, "build the run list: out of memory");
		else if (ntfs_attr_update_mapping_pairs(na, 0))
			code = ntfsvol_fail(v, e, "write the run list of %zu extents", extents->count);
	}
	if (na)
		ntfs_attr_close(na);
	if (!code)
		code = set_sizes(v, ni, bytes, e);
	NInoFileNameSetDirty(ni);
	ntfs_inode_mark_dirty(ni);
	return code;
}

/* A new, empty file at a path, open, with its folder. A file that is there is removed first, or an error. */
static int create_file(struct ntfsvol *v, const char *path, bool replace, ntfs_inode **ret_dir, ntfs_inode **ret_ni,
		       struct err *e)
{
	char parent[NTFSVOL_PATH_MAX], name[NTFSVOL_PATH_MAX];
	struct ntfsvol_entry there;
	ntfs_inode *dir = NULL;
	struct err why = ERR_INIT;
	int code = ntfsvol_find(v, path, &there, &why);

	if (!code && (!replace || there.is_dir))
		return err_set(e, -EEXIST, "'%s' is there already", there.path);
	if (code && code != -ENOENT)
		return err_set(e, code, "%s", why.text);
	if (!code)
		code = ntfsvol_remove(v, there.path, e);
	else
		code = 0;
	ntfsvol_split(path, parent, name);
	if (!code)
		code = open_folder(v, parent, true, &dir, e);
	if (code)
		return code;
	code = create_entry(v, dir, name, S_IFREG, ret_ni, e);
	if (code)
		return close_dir(v, dir, code, e);
	*ret_dir = dir;
	return 0;
}

/* cleaners, indexers and people's eyes pass by what is hidden, of the system and read-only */
static void set_flags(ntfs_inode *ni)
{
	ni->flags |= FILE_ATTR_HIDDEN | FILE_ATTR_SYSTEM | FILE_ATTR_READONLY | FILE_ATTR_NOT_CONTENT_INDEXED;
}

int ntfsvol_create_image(struct ntfsvol *v, const char *path, const struct extent_list *extents,
			 struct ntfsvol_ref *ret, struct err *e)
{
	ntfs_inode *dir = NULL, *ni = NULL;
	struct ntfsvol_ref ref;
	int code = create_file(v, path, false, &dir, &ni, e);

	if (code)
		return code;
	set_flags(ni);
	code = set_extents(v, ni, extents, e);
	ref = (struct ntfsvol_ref){ ni->mft_no, le16_to_cpu(ni->mrec->sequence_number) };
	code = close_both(v, ni, dir, code, e);
	if (!code)
		*ret = ref;
	return code;
}

/*
 * One record, so that its new runs and sizes are on the disk together or not at all: with an attribute list they would be spread
 * over several, of which a power cut may leave some old.
 */
static int check_one_record(struct ntfsvol *v, uint64_t record, const char *what, struct err *e)
{
	__attribute__((cleanup(auto_ntfsvol_file))) struct ntfsvol_file file = { 0 };
	int code = ntfsvol_read_file(v, record, &file, e);

	if (!code && file.attribute_list)
		code = err_refuse(e, "attribute-list", "several MFT records cannot be changed at once, a power cut would leave "
				  "half of it: the file's run list %s", what);
	return code;
}

int ntfsvol_set_image_extents(struct ntfsvol *v, const struct ntfsvol_ref *ref, const struct extent_list *extents,
			      struct err *e)
{
	ntfs_inode *ni = NULL;
	int code = check_one_record(v, ref->record, "is spread over several MFT records: copy the file to a new one in Windows, "
				    "then run wubi-disk map", e);

	if (!code)
		code = ntfsvol_inode(v, ref->record, &ni, e);
	if (code)
		return code;
	if (le16_to_cpu(ni->mrec->sequence_number) != ref->sequence) {
		(void)ntfs_inode_close(ni); /* unchanged: nothing to lose */
		return err_set(e, -EIO, "MFT record %llu is another file's now", (unsigned long long)ref->record);
	}
	v->changed = true;
	code = set_extents(v, ni, extents, e);
	code = close_both(v, ni, NULL, code, e);
	return code ? code : check_one_record(v, ref->record, "would not fit its MFT record: allow fewer extents, "
					       "or move it to one with --relocate", e);
}

int ntfsvol_release(struct ntfsvol *v, const struct extent_list *extents, struct err *e)
{
	uint64_t cluster = v->info.cluster_bytes;

	v->changed = v->freed_something = true;
	ntfsvol_log_start();
	errno = 0;
	for (size_t i = 0; i < extents->count; i++)
		if (ntfs_bitmap_clear_run(v->vol->lcnbmp_na, (s64)(extents->items[i].physical_bytes / cluster),
					  (s64)(extents->items[i].length_bytes / cluster)))
			return ntfsvol_fail(v, e, "free extent %zu in $Bitmap", i);
	return 0;
}

int ntfsvol_refill_image(struct ntfsvol *v, const char *path, const struct ntfsvol_ref *ref, const struct extent_list *extents,
			 struct err *e)
{
	char parent[NTFSVOL_PATH_MAX], name[NTFSVOL_PATH_MAX];
	__attribute__((cleanup(auto_ntfsvol_file))) struct ntfsvol_file file = { 0 };
	struct ntfsvol_entry there;
	ntfs_inode *dir = NULL, *ni = NULL;
	int code = ntfsvol_find(v, path, &there, e);

	if (!code)
		code = ntfsvol_read_file(v, there.ref.record, &file, e);
	if (code)
		return code;
	if (there.ref.record != ref->record || there.ref.sequence != ref->sequence || file.ref.sequence != ref->sequence ||
	    file.is_dir || file.allocated_bytes || file.data_bytes || file.extents_problem[0])
		return err_set(e, -ESTALE, "'%s' is not the file that was emptied", there.path);
	ntfsvol_split(there.path, parent, name);
	code = open_folder(v, parent, false, &dir, e);
	if (code)
		return code;
	code = ntfsvol_inode(v, ref->record, &ni, e);
	if (code)
		return close_dir(v, dir, code, e);
	v->changed = true;
	set_flags(ni);
	code = set_extents(v, ni, extents, e);
	return close_both(v, ni, dir, code, e);
}

int ntfsvol_put_small(struct ntfsvol *v, const char *path, const void *bytes, size_t n, bool hidden, struct err *e)
{
	ntfs_inode *dir = NULL, *ni = NULL;
	ntfs_attr *na;
	int code = create_file(v, path, true, &dir, &ni, e);

	if (code)
		return code;
	if (hidden)
		ni->flags |= FILE_ATTR_HIDDEN | FILE_ATTR_SYSTEM;
	na = ntfs_attr_open(ni, AT_DATA, AT_UNNAMED, 0);
	if (!na || ntfs_attr_pwrite(na, 0, (s64)n, bytes) != (s64)n)
		code = ntfsvol_fail(v, e, "write '%s'", path);
	if (na)
		ntfs_attr_close(na);
	return close_both(v, ni, dir, code, e);
}

int ntfsvol_remove(struct ntfsvol *v, const char *path, struct err *e)
{
	char parent[NTFSVOL_PATH_MAX], name[NTFSVOL_PATH_MAX];
	AUTO_FREE ntfschar *wide = NULL;
	struct ntfsvol_entry entry;
	ntfs_inode *dir = NULL, *ni = NULL;
	int len, code = ntfsvol_find(v, path, &entry, e);

	if (code)
		return code;
	ntfsvol_split(entry.path, parent, name);
	code = ntfsvol_name(name, strlen(name), &wide, &len, e);
	if (!code)
		code = open_folder(v, parent, false, &dir, e);
	if (code)
		return code;
	code = ntfsvol_inode(v, entry.ref.record, &ni, e);
	if (code)
		return close_dir(v, dir, code, e);
	if (le16_to_cpu(ni->mrec->sequence_number) != entry.ref.sequence) {
		code = err_set(e, -EIO, "'%s': its entry leads to a record that is another file's now", entry.path);
		(void)ntfs_inode_close(ni); /* unchanged: nothing to lose */
		return close_dir(v, dir, code, e);
	}
	if (entry.is_dir && ntfs_check_empty_dir(ni)) {
		code = err_set(e, -ENOTEMPTY, "folder '%s' is not empty", entry.path);
		(void)ntfs_inode_close(ni); /* unchanged: nothing to lose */
		return close_dir(v, dir, code, e);
	}
	v->changed = v->freed_something = true;
	ntfsvol_log_start();
	errno = 0;
	if (ntfs_delete(v->vol, NULL, ni, dir, wide, (u8)len) /* closes both, whatever happens */ || v->dev.first.code)
		return ntfsvol_fail(v, e, "remove '%s'", entry.path);
	return 0;
}
