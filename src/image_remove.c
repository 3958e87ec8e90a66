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
	char map_path[NTFSVOL_PATH_MAX]; /* "" when there is none beside it */
};

/* dm's claim makes the open fail, but a user wants to read 'attached', not 'busy'. */
static int check_attached(const char *volume, struct report *r, struct err *e)
{
	char name[128] = "";
	struct stat st;
	struct err why = ERR_INIT;
	int code;

	if (stat(volume, &st) || !S_ISBLK(st.st_mode))
		return 0;
	code = dmlinear_find_on(st.st_rdev, name, &why);
	if (code == -ENODEV)
		return 0; /* no device-mapper, so nothing is attached */
	if (code)
		return err_set(e, code, "%s", why.text);
	if (name[0])
		report_add(r, "attached", "an image of '%s' is in use as /dev/mapper/%s: unmount it and run 'wubi-disk "
			   "detach %s', then retry", volume, name, name);
	return 0;
}

/*
 * Only what is an image of ours: a map beside it that names this very record, or an ext4 or swap in it. A typing error must
 * not remove a file of Windows.
 */
static int check_is_image(struct removal *x, struct err *e)
{
	AUTO(map) struct map *beside = NULL;
	AUTO_FREE char *text = NULL;
	char name[32], type[8] = "none", uuid[37];
	size_t n = 0;
	int code = 0;

	image_name_from_path(x->entry.path, name);
	image_map_path(x->entry.path, name, x->map_path);
	if (!name[0] || ntfsvol_read_small(x->s->v, x->map_path, MAP_TEXT_MAX, &text, &n, NULL))
		x->map_path[0] = '\0';
	else if (!map_parse(text, n, &beside, NULL) && beside->mft_record == x->file.ref.record &&
		 beside->mft_sequence == x->file.ref.sequence)
		return 0;
	else
		x->map_path[0] = '\0'; /* not this image's map: leave it */
	if (x->file.extents.count)
		code = session_identify(x->s, &x->file.extents, type, uuid, e);
	if (!code && !strcmp(type, "none"))
		code = err_refuse(e, "not-an-image", "'%s' holds neither ext4 nor swap and has no map beside it: it is not an "
				  "image of ours; delete it in Windows if you mean it", x->entry.path);
	return code;
}

static int find_image(struct removal *x, const char *path, struct err *e)
{
	struct err why = ERR_INIT;
	int code = session_check_found(x->s, &x->s->report, e);

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
	if (!code && x->file.extents_problem[0] && !x->file.sparse)
		code = err_refuse(e, "corrupt", "'%s' has %s: freeing its clusters could free another file's; run chkdsk /f in "
				  "Windows, then retry", x->entry.path, x->file.extents_problem);
	return code ? code : check_is_image(x, e);
}

/* Is anything but the README left in our folders? Then they stay as they are. */
static int note_rest(void *ctx, const struct ntfsvol_entry *entry, struct err *e)
{
	bool *rest = ctx;

	(void)e;
	if (strcasecmp(entry->path, IMAGE_README) != 0 && strcasecmp(entry->path, "/ubuntu/disks") != 0)
		*rest = true;
	return 0;
}

static int remove_folders(struct session *s, struct err *e)
{
	static const char *const ours[] = { IMAGE_README, "/ubuntu/disks", "/ubuntu" };
	bool rest = false;
	int code = ntfsvol_walk(s->v, "/ubuntu", 2, note_rest, &rest, e);

	for (size_t i = 0; !code && !rest && i < 3; i++) {
		struct ntfsvol_entry there;

		if (!ntfsvol_find(s->v, ours[i], &there, NULL))
			code = ntfsvol_remove(s->v, ours[i], e);
	}
	return code;
}

static int remove_all(struct removal *x, struct err *e)
{
	int code = ntfsvol_remove(x->s->v, x->entry.path, e);

	if (!code && x->map_path[0])
		code = ntfsvol_remove(x->s->v, x->map_path, e);
	if (!code && !strncasecmp(x->entry.path, "/ubuntu/", 8))
		code = remove_folders(x->s, e);
	return code ? code : ntfsvol_commit(&x->s->v, e);
}

int image_remove(const char *volume, const char *path, bool check_only, uint64_t *ret_bytes, struct err *e)
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
	session_check_state(&s, false);
	code = report_refuse(&s.report, e);
	if (!code)
		code = find_image(&x, path, e);
	if (!code && !check_only)
		code = remove_all(&x, e);
	if (!code)
		*ret_bytes = x.file.allocated_bytes;
	ntfsvol_file_clear(&x.file);
	return code;
}
