/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking: paths, records, runs, bitmaps. Nothing here changes a byte. */
#include "ntfsvol_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SCAN_BYTES (1024 * 1024)
#define DEPTH_MAX 64 /* of folders, when a record's path is climbed: a loop in a hostile volume ends here */

int ntfsvol_inode(struct ntfsvol *v, uint64_t record, ntfs_inode **ret, struct err *e)
{
	ntfs_inode *ni;

	ntfsvol_log_start();
	errno = 0;
	ni = ntfs_inode_open(v->vol, record);
	if (!ni)
		return ntfsvol_fail(v, e, "open MFT record %llu", (unsigned long long)record);
	*ret = ni;
	return 0;
}

int ntfsvol_name(const char *name, size_t n, ntfschar **ret_name, int *ret_len, struct err *e)
{
	char utf8[NTFSVOL_PATH_MAX];
	ntfschar *wide = NULL;
	int len;

	if (n == 0 || n >= sizeof(utf8))
		return err_set(e, -ENAMETOOLONG, "a name of %zu bytes", n);
	memcpy(utf8, name, n);
	utf8[n] = '\0';
	len = ntfs_mbstoucs(utf8, &wide);
	if (len < 0)
		return err_errno(e, "name '%s'", utf8);
	if (len == 0 || len > 255) {
		free(wide);
		return err_set(e, -ENAMETOOLONG, "name '%s' has %d characters, NTFS takes 1 to 255", utf8, len);
	}
	*ret_name = wide;
	*ret_len = len;
	return 0;
}

void ntfsvol_split(const char *path, char parent[NTFSVOL_PATH_MAX], char name[NTFSVOL_PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;

	(void)snprintf(name, NTFSVOL_PATH_MAX, "%s", slash ? slash + 1 : path);
	if (n == 0)
		n = 1;
	(void)snprintf(parent, NTFSVOL_PATH_MAX, "%.*s", (int)n, n == 1 ? "/" : path);
}

struct match {
	const ntfs_volume *vol;
	const ntfschar *want;
	int want_len;
	unsigned found;
	MFT_REF ref;
	unsigned type;
	char name[NTFSVOL_PATH_MAX];
	char twin[NTFSVOL_PATH_MAX];
};

static int utf8_name(const void *name, int len, char ret[NTFSVOL_PATH_MAX])
{
	ntfschar aligned[256];
	char *text = NULL;
	int n;

	if (len < 0 || len > 255)
		return -1;
	memcpy(aligned, name, (size_t)len * sizeof(*aligned)); /* a name in a packed structure */
	n = ntfs_ucstombs(aligned, len, &text, 0);

	if (n < 0)
		return -1;
	n = snprintf(ret, NTFSVOL_PATH_MAX, "%s", text);
	free(text);
	return n < NTFSVOL_PATH_MAX ? 0 : -1;
}

static int match_entry(void *ctx, const ntfschar *name, const int len, const int name_type, const s64 pos,
		       const MFT_REF ref, const unsigned type)
{
	struct match *m = ctx;

	(void)pos;
	if (name_type == FILE_NAME_DOS)
		return 0; /* the 8.3 twin of a long name is the same entry */
	if (!ntfs_names_are_equal(name, (size_t)len, m->want, (size_t)m->want_len, IGNORE_CASE, m->vol->upcase,
				  m->vol->upcase_len) ||
	    (m->found && ref == m->ref))
		return 0; /* an index block that was being split when the power went has one entry twice: no twin */
	m->found++;
	if (m->found > 1) {
		if (utf8_name(name, len, m->twin))
			m->twin[0] = '\0';
		return 0;
	}
	m->ref = ref;
	m->type = type;
	return utf8_name(name, len, m->name);
}

int ntfsvol_lookup(struct ntfsvol *v, ntfs_inode *dir, const char *name, struct ntfsvol_entry *ret, struct err *e)
{
	AUTO_FREE ntfschar *wide = NULL;
	struct match m = { .vol = v->vol };
	s64 pos = 0;
	int code = ntfsvol_name(name, strlen(name), &wide, &m.want_len, e);

	if (code)
		return code;
	m.want = wide;
	ntfsvol_log_start();
	errno = 0;
	if (ntfs_readdir(dir, &pos, &m, match_entry))
		return ntfsvol_fail(v, e, "read the folder that should hold '%s'", name);
	if (!m.found)
		return err_set(e, -ENOENT, "no entry '%s'", name);
	if (m.found > 1)
		return err_refuse(e, "twins", "'%s' and '%s' stand side by side; Windows takes them for one name: "
				  "rename one of them, then retry", m.name, m.twin);
	ret->ref.record = MREF(m.ref);
	ret->ref.sequence = MSEQNO(m.ref);
	ret->is_dir = m.type == NTFS_DT_DIR || m.type == NTFS_DT_REPARSE;
	(void)snprintf(ret->path, sizeof(ret->path), "%s", m.name);
	return 0;
}

/* Steps into a folder on the way. Closes *dir and puts the next one there. */
static int enter_folder(struct ntfsvol *v, ntfs_inode **dir, const struct ntfsvol_entry *entry, const char *path,
			struct err *e)
{
	ntfs_inode *next = NULL;
	bool is_reparse, is_dir;
	int code = ntfsvol_inode(v, entry->ref.record, &next, e);

	if (code)
		return err_wrap(e, code, "folder '%s'", path);
	if (le16_to_cpu(next->mrec->sequence_number) != entry->ref.sequence) {
		(void)ntfs_inode_close(next); /* read only: nothing to lose */
		return err_refuse(e, "corrupt", "the entry of '%s' leads to a record that is another file's now: run chkdsk "
				  "/f in Windows, then retry", path);
	}
	is_reparse = (next->flags & FILE_ATTR_REPARSE_POINT) != const_cpu_to_le32(0);
	is_dir = (next->mrec->flags & MFT_RECORD_IS_DIRECTORY) != const_cpu_to_le16(0);
	if (is_reparse || !is_dir) {
		(void)ntfs_inode_close(next); /* read only: nothing to lose */
		if (is_reparse)
			return err_refuse(e, "reparse-point", "'%s' is a reparse point (a junction, a mounted volume or "
					  "a cloud folder): the file would not lie on this volume; name another path",
					  path);
		return err_refuse(e, "not-a-folder", "'%s' is a file, not a folder: name another path", path);
	}
	(void)ntfs_inode_close(*dir); /* read only: nothing to lose */
	*dir = next;
	return 0;
}

static int find_from(struct ntfsvol *v, ntfs_inode **dir, const char *path, struct ntfsvol_entry *ret, struct err *e)
{
	char so_far[NTFSVOL_PATH_MAX] = "";
	char part[NTFSVOL_PATH_MAX];
	size_t used = 0;
	int code;

	for (const char *p = path; *p;) {
		size_t n;

		p += strspn(p, "/");
		n = strcspn(p, "/");
		if (!n)
			break;
		if (used) {
			code = enter_folder(v, dir, ret, so_far, e);
			if (code)
				return code;
		}
		(void)snprintf(part, sizeof(part), "%.*s", (int)n, p);
		code = ntfsvol_lookup(v, *dir, part, ret, e);
		if (code)
			return err_wrap(e, code, "folder '%s'", used ? so_far : "/");
		n = strlen(ret->path);
		if (used + 1 + n >= sizeof(so_far))
			return err_set(e, -ENAMETOOLONG, "path '%s'", path);
		used += (size_t)snprintf(so_far + used, sizeof(so_far) - used, "/%s", ret->path);
		p += strcspn(p, "/");
	}
	(void)snprintf(ret->path, sizeof(ret->path), "%s", used ? so_far : "/");
	return 0;
}

int ntfsvol_find(struct ntfsvol *v, const char *path, struct ntfsvol_entry *ret, struct err *e)
{
	struct ntfsvol_entry entry = { .ref = { FILE_root, 0 }, .is_dir = true, .path = "/" };
	ntfs_inode *dir = NULL;
	int code;

	if (strlen(path) >= NTFSVOL_PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "path '%.40s...'", path);
	code = ntfsvol_inode(v, FILE_root, &dir, e);
	if (code)
		return code;
	entry.ref.sequence = le16_to_cpu(dir->mrec->sequence_number);
	code = find_from(v, &dir, path, &entry, e);
	(void)ntfs_inode_close(dir); /* read only: nothing to lose */
	if (!code)
		*ret = entry;
	return code;
}

/* Sets *ret_fn's index entry facts: does the parent's index lead to ni? Fills the sizes from the entry. */
static bool entry_leads_here(ntfs_inode *parent, FILE_NAME_ATTR *fn, const ntfs_inode *ni, struct ntfsvol_file *ret)
{
	ntfs_index_context *ictx = ntfs_index_ctx_get(parent, NTFS_INDEX_I30, 4);
	bool leads = false;

	if (!ictx)
		return false;
	if (!ntfs_index_lookup(fn, (int)sizeof(FILE_NAME_ATTR), ictx)) {
		MFT_REF ref = le64_to_cpu(ictx->entry->indexed_file);
		const FILE_NAME_ATTR *in_index = ictx->data;

		leads = MREF(ref) == ni->mft_no && MSEQNO(ref) == le16_to_cpu(ni->mrec->sequence_number);
		if (leads && ret) {
			ret->index_data_bytes = (uint64_t)sle64_to_cpu(in_index->data_size);
			ret->index_allocated_bytes = (uint64_t)sle64_to_cpu(in_index->allocated_size);
		}
	}
	ntfs_index_ctx_put(ictx);
	return leads;
}

/*
 * One step up: the first name of ni whose parent has an index entry for it. Returns the parent, open, and the name; NULL
 * when no folder leads to ni.
 */
static ntfs_inode *step_up(struct ntfsvol *v, ntfs_inode *ni, char name[NTFSVOL_PATH_MAX], struct ntfsvol_file *ret)
{
	ntfs_attr_search_ctx *ctx = ntfs_attr_get_search_ctx(ni, NULL);
	ntfs_inode *found = NULL;

	while (ctx && !found && !ntfs_attr_lookup(AT_FILE_NAME, AT_UNNAMED, 0, CASE_SENSITIVE, 0, NULL, 0, ctx)) {
		FILE_NAME_ATTR *fn = (FILE_NAME_ATTR *)((u8 *)ctx->attr + le16_to_cpu(ctx->attr->value_offset));
		MFT_REF up = le64_to_cpu(fn->parent_directory);
		ntfs_inode *parent;

		if (fn->file_name_type == FILE_NAME_DOS || MREF(up) == ni->mft_no)
			continue;
		parent = ntfs_inode_open(v->vol, MREF(up));
		if (!parent)
			continue;
		if (le16_to_cpu(parent->mrec->sequence_number) == MSEQNO(up) &&
		    (parent->mrec->flags & MFT_RECORD_IS_DIRECTORY) && entry_leads_here(parent, fn, ni, ret) &&
		    !utf8_name(fn->file_name, fn->file_name_length, name))
			found = parent;
		else
			(void)ntfs_inode_close(parent); /* read only: nothing to lose */
	}
	if (ctx)
		ntfs_attr_put_search_ctx(ctx);
	return found;
}

/* Climbs from ni to the root; every step must be confirmed by an index entry. */
static void read_path(struct ntfsvol *v, ntfs_inode *ni, struct ntfsvol_file *ret)
{
	char path[NTFSVOL_PATH_MAX] = "", longer[NTFSVOL_PATH_MAX], name[NTFSVOL_PATH_MAX];
	ntfs_inode *at = ni;

	for (unsigned depth = 0; depth < DEPTH_MAX && at && at->mft_no != FILE_root; depth++) {
		ntfs_inode *up = step_up(v, at, name, at == ni ? ret : NULL);
		int n = snprintf(longer, sizeof(longer), "/%s%s", name, path);

		if (at != ni)
			(void)ntfs_inode_close(at); /* read only: nothing to lose */
		at = up;
		if (!up)
			return;
		if (n >= (int)sizeof(longer))
			break;
		memcpy(path, longer, (size_t)n + 1);
	}
	ret->indexed = at && at->mft_no == FILE_root;
	if (ret->indexed)
		memcpy(ret->path, path, sizeof(path));
	if (at && at != ni)
		(void)ntfs_inode_close(at); /* read only: nothing to lose */
}

static int append_run(struct ntfsvol *v, const runlist_element *rl, struct ntfsvol_file *ret, struct err *e)
{
	uint64_t cluster = v->info.cluster_bytes;

	if (rl->lcn < 0) {
		ret->sparse = ret->sparse || rl->lcn == LCN_HOLE;
		(void)snprintf(ret->extents_problem, sizeof(ret->extents_problem), "%s at cluster %lld of the file",
			       rl->lcn == LCN_HOLE ? "a hole" : "an unmapped run", (long long)rl->vcn);
		return 0;
	}
	if (rl->length < 0 || rl->lcn > v->vol->nr_clusters || rl->length > v->vol->nr_clusters - rl->lcn) {
		(void)snprintf(ret->extents_problem, sizeof(ret->extents_problem),
			       "a run beyond the end of the volume at cluster %lld of the file", (long long)rl->vcn);
		return 0;
	}
	return extent_list_append(&ret->extents, (uint64_t)rl->lcn * cluster, (uint64_t)rl->length * cluster, e);
}

/* Runs that cannot all be true: not the file's size, over each other, over NTFS's own files. */
static int check_runs(struct ntfsvol *v, uint64_t record, struct ntfsvol_file *ret, struct err *e)
{
	struct err why = ERR_INIT;
	bool over = false;
	int code = 0;

	if (ret->allocated_bytes)
		code = extent_list_check(&ret->extents, ret->allocated_bytes, v->info.total_bytes, NTFS_BLOCK_SIZE, &why);
	if (!code && record >= FILE_first_user)
		code = extent_list_overlaps(&ret->extents, &v->system, &over, &why);
	if (code == -ENOMEM)
		return err_set(e, code, "%s", why.text);
	if (code || over)
		(void)snprintf(ret->extents_problem, sizeof(ret->extents_problem), "%.120s",
			       code ? why.text : "a run over NTFS's own files");
	return 0;
}

static int read_runs(struct ntfsvol *v, ntfs_attr *na, struct ntfsvol_file *ret, struct err *e)
{
	int code = 0;

	ntfsvol_log_start();
	errno = 0;
	if (ntfs_attr_map_whole_runlist(na)) {
		if (v->dev.first.code || errno == ENOMEM)
			return ntfsvol_fail(v, e, "read the run list");
		(void)snprintf(ret->extents_problem, sizeof(ret->extents_problem), "a damaged run list (%.80s)",
			       ntfsvol_log_text());
		return 0;
	}
	for (const runlist_element *rl = na->rl; !code && rl && rl->length && !ret->extents_problem[0]; rl++)
		code = append_run(v, rl, ret, e);
	if (!code && !ret->extents_problem[0])
		code = check_runs(v, na->ni->mft_no, ret, e);
	if (code || ret->extents_problem[0])
		extent_list_clear(&ret->extents);
	return code;
}

static int read_data(struct ntfsvol *v, ntfs_inode *ni, struct ntfsvol_file *ret, struct err *e)
{
	ntfs_attr *na;
	int code = 0;

	ntfsvol_log_start();
	errno = 0;
	na = ntfs_attr_open(ni, AT_DATA, AT_UNNAMED, 0);
	if (!na) {
		if (v->dev.first.code || errno == ENOMEM)
			return ntfsvol_fail(v, e, "open the data of MFT record %llu", (unsigned long long)ni->mft_no);
		(void)snprintf(ret->extents_problem, sizeof(ret->extents_problem), "no readable data (%.80s)",
			       ntfsvol_log_text());
		return 0;
	}
	ret->data_bytes = (uint64_t)na->data_size;
	ret->initialized_bytes = (uint64_t)na->initialized_size;
	ret->allocated_bytes = (uint64_t)na->allocated_size;
	ret->resident = !NAttrNonResident(na);
	ret->compressed = (na->data_flags & ATTR_COMPRESSION_MASK) != const_cpu_to_le16(0);
	ret->sparse = (na->data_flags & ATTR_IS_SPARSE) != const_cpu_to_le16(0);
	ret->encrypted = (na->data_flags & ATTR_IS_ENCRYPTED) != const_cpu_to_le16(0);
	if (!ret->resident)
		code = read_runs(v, na, ret, e);
	ntfs_attr_close(na);
	return code;
}

static unsigned count_names(ntfs_inode *ni)
{
	ntfs_attr_search_ctx *ctx = ntfs_attr_get_search_ctx(ni, NULL);
	unsigned names = 0;

	while (ctx && !ntfs_attr_lookup(AT_FILE_NAME, AT_UNNAMED, 0, CASE_SENSITIVE, 0, NULL, 0, ctx)) {
		const FILE_NAME_ATTR *fn =
			(FILE_NAME_ATTR *)((u8 *)ctx->attr + le16_to_cpu(ctx->attr->value_offset));

		names += fn->file_name_type != FILE_NAME_DOS;
	}
	if (ctx)
		ntfs_attr_put_search_ctx(ctx);
	return names;
}

static int read_inode(struct ntfsvol *v, ntfs_inode *ni, struct ntfsvol_file *ret, struct err *e)
{
	int code = 0;

	ret->in_use = true;
	ret->ref.sequence = le16_to_cpu(ni->mrec->sequence_number);
	ret->is_dir = (ni->mrec->flags & MFT_RECORD_IS_DIRECTORY) != const_cpu_to_le16(0);
	ret->attribute_list = NInoAttrList(ni);
	ret->names = count_names(ni);
	if (!ret->is_dir)
		code = read_data(v, ni, ret, e);
	ret->compressed = ret->compressed || (ni->flags & FILE_ATTR_COMPRESSED);
	ret->encrypted = ret->encrypted || (ni->flags & FILE_ATTR_ENCRYPTED);
	ret->sparse = ret->sparse || (ni->flags & FILE_ATTR_SPARSE_FILE);
	ret->reparse = (ni->flags & FILE_ATTR_REPARSE_POINT) != const_cpu_to_le32(0);
	ret->hidden = (ni->flags & FILE_ATTR_HIDDEN) != const_cpu_to_le32(0);
	ret->system = (ni->flags & FILE_ATTR_SYSTEM) != const_cpu_to_le32(0);
	ret->readonly = (ni->flags & FILE_ATTR_READONLY) != const_cpu_to_le32(0);
	if (!code)
		read_path(v, ni, ret);
	return code;
}

int ntfsvol_read_file(struct ntfsvol *v, uint64_t record, struct ntfsvol_file *ret, struct err *e)
{
	struct ntfsvol_file file = { .ref = { record, 0 } };
	ntfs_inode *ni;
	int code;

	if (record >= (uint64_t)v->vol->mft_na->data_size >> v->vol->mft_record_size_bits) {
		*ret = file; /* $MFT never shrinks, but a volume can be made anew: no such record, so not in use */
		return 0;
	}
	ntfsvol_log_start();
	errno = 0;
	ni = ntfs_inode_open(v->vol, record);
	if (!ni && errno == ENOENT && !v->dev.first.code) {
		*ret = file;
		return 0;
	}
	if (!ni)
		return ntfsvol_fail(v, e, "open MFT record %llu", (unsigned long long)record);
	code = read_inode(v, ni, &file, e);
	(void)ntfs_inode_close(ni); /* read only: nothing to lose */
	if (code) {
		ntfsvol_file_clear(&file);
		return code;
	}
	*ret = file;
	return 0;
}

void ntfsvol_file_clear(struct ntfsvol_file *f)
{
	extent_list_clear(&f->extents);
}
