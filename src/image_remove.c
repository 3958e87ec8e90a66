/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "dmlinear.h"

struct removal {
	struct session *s;
	struct ntfsvol_entry entry;
	struct ntfsvol_file file;
	struct image_host_maps maps; /* beside it */
};

int image_find_attached(const char *volume, char ret_name[128], struct err *e)
{
	struct stat st;
	struct err why = ERR_INIT;
	int code;

	ret_name[0] = '\0';
	if (stat(volume, &st) || !S_ISBLK(st.st_mode))
		return 0;
	code = dmlinear_find_on(st.st_rdev, ret_name, &why);
	if (code == -ENODEV)
		return 0; /* no device-mapper, so nothing is attached */
	return code ? err_set(e, code, "%s", why.text) : 0;
}

static int check_attached(const char *volume, struct report *r, struct err *e)
{
	char name[128];
	int code = image_find_attached(volume, name, e);

	if (!code && name[0])
		report_add(r, "attached", "an image of '%s' is in use as /dev/mapper/%s: unmount it and run 'wubi-disk "
			   "detach %s', then retry", volume, name, name);
	return code;
}

/*
 * Only what is an image of ours: a map beside it that names this very record, or an ext4 or swap in it. A typing error must
 * not remove a file of Windows.
 */
static int check_is_image(struct removal *x, struct err *e)
{
	char type[8] = "none", uuid[37] = "";
	struct image_ident id = { x->entry.path, &x->file.ref, uuid };
	bool named = false;
	int code = 0;

	if (x->file.extents.count)
		code = session_identify(x->s, &x->file.extents, type, uuid, e);
	if (!code)
		code = session_maps_beside(x->s, &id, &x->maps, e);
	for (size_t i = 0; i < x->maps.count; i++)
		named = named || x->maps.items[i].match == MAP_MATCH_RECORD;
	if (!code && !named && !strcmp(type, "none"))
		code = err_refuse(e, "not-an-image", "'%s' holds neither ext4 nor swap and has no map beside it: it is not an "
				  "image of ours; delete it in Windows if you mean it", x->entry.path);
	return code;
}

/* What would make "remove and free the clusters" mean something else. */
static int check_file(struct removal *x, struct err *e)
{
	const struct ntfsvol_file *f = &x->file;

	if (!f->in_use || f->ref.sequence != x->entry.ref.sequence)
		return err_refuse(e, "corrupt", "'%s': its folder leads to an MFT record that is not its own: run chkdsk /f in "
				  "Windows, then retry", x->entry.path);
	if (f->extents_problem[0] && !f->sparse)
		return err_refuse(e, "corrupt", "'%s' has %s: freeing its clusters could free another file's; run chkdsk /f in "
				  "Windows, then retry", x->entry.path, f->extents_problem);
	if (f->names > 1)
		return err_refuse(e, "hard-link", "'%s' has %u names (hard links): its clusters stay in use until the last is "
				  "gone; delete the others in Windows, then retry", x->entry.path, f->names);
	return 0;
}

static int find_image(struct removal *x, const char *path, const struct progress *p, struct err *e)
{
	struct err why = ERR_INIT;
	int code = session_check_found(x->s, &x->s->report, p, e);

	if (code)
		return code;
	code = report_refuse(&x->s->report, e);
	if (code)
		return code;
	code = ntfsvol_find(x->s->v, path, &x->entry, &why);
	if (code == -ENOENT)
		return err_set(e, code, "volume '%s' has no file '%s': see 'wubi-disk info'", x->s->io->name, path);
	if (code && err_is_refusal(&why))
		return err_refuse(e, why.reason, "%s", why.text);
	if (code)
		return err_set(e, code, "%s", why.text);
	if (x->entry.is_dir)
		return err_refuse(e, "not-a-file", "'%s' is a folder: name the image file", x->entry.path);
	code = ntfsvol_read_file(x->s->v, x->entry.ref.record, &x->file, e);
	if (!code)
		code = check_file(x, e);
	if (!code)
		code = check_is_image(x, e);
	return code ? code : ntfsvol_io_error(x->s->v, e);
}

/* Is anything but our README left in our folders? Then they stay as they are. */
static int note_rest(void *ctx, const struct ntfsvol_entry *entry, struct err *e)
{
	bool *rest = ctx;

	(void)e;
	if (strcasecmp(entry->path, IMAGE_README) != 0 && strcasecmp(entry->path, "/ubuntu/disks") != 0)
		*rest = true;
	return 0;
}

/* A README that the user wrote, or wrote on, is the user's. */
static int readme_is_ours(struct session *s, bool *ret, struct err *e)
{
	AUTO_FREE char *text = NULL;
	struct ntfsvol_entry entry;
	struct err why = ERR_INIT;
	size_t n = 0;
	int code = ntfsvol_find(s->v, IMAGE_README, &entry, &why);

	if (!code)
		code = ntfsvol_read_small(s->v, entry.ref.record, 64 * 1024, &text, &n, &why);
	if (code == -ENOMEM || ntfsvol_io_error(s->v, NULL))
		return err_set(e, code, "%s", why.text);
	*ret = code == -ENOENT || (!code && n == strlen(image_readme) && !memcmp(text, image_readme, n));
	return 0;
}

static int remove_if_there(struct session *s, const char *path, struct err *e)
{
	struct ntfsvol_entry there;
	struct err why = ERR_INIT;
	int code = ntfsvol_find(s->v, path, &there, &why);

	if (code == -ENOENT)
		return 0;
	return code ? err_set(e, code, "%s", why.text) : ntfsvol_remove(s->v, there.path, e);
}

static int remove_folders(struct session *s, struct err *e)
{
	static const char *const ours[] = { IMAGE_README, "/ubuntu/disks", "/ubuntu" };
	bool rest = false, readme = false;
	int code = ntfsvol_walk(s->v, "/ubuntu", 2, note_rest, &rest, e);

	if (!code)
		code = readme_is_ours(s, &readme, e);
	for (size_t i = 0; !code && !rest && readme && i < 3; i++)
		code = remove_if_there(s, ours[i], e);
	return code;
}

static int remove_all(struct removal *x, const struct progress *p, struct err *e)
{
	int code = ntfsvol_remove(x->s->v, x->entry.path, e);

	for (size_t i = 0; !code && i < x->maps.count; i++)
		code = ntfsvol_remove(x->s->v, x->maps.items[i].path, e);
	if (!code && !strncasecmp(x->entry.path, "/ubuntu/", 8))
		code = remove_folders(x->s, e);
	if (!code)
		code = progress_step(p, "write the NTFS metadata", 0, 0, e);
	return code ? code : ntfsvol_commit(&x->s->v, e);
}

int image_remove(const char *volume, const char *path, bool check_only, const struct progress *p, uint64_t *ret_bytes,
		 struct err *e)
{
	__attribute__((cleanup(auto_session))) struct session s = { 0 };
	struct removal x = { .s = &s };
	struct report attached = { .count = 0 };
	int code = check_attached(volume, &attached, e);

	if (!code)
		code = report_refuse(&attached, e);
	if (!code)
		code = session_open(volume, true, &s, e);
	if (code)
		return code;
	session_check_state(&s, SESSION_DIRTY_REFUSED);
	code = report_refuse(&s.report, e);
	if (!code)
		code = find_image(&x, path, p, e);
	if (!code && !check_only)
		code = remove_all(&x, p, e);
	if (!code)
		*ret_bytes = x.file.allocated_bytes;
	ntfsvol_file_clear(&x.file);
	image_host_maps_clear(&x.maps);
	return code;
}
