/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "image_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>


static int read_boot(struct session *s, struct err *e)
{
	unsigned char head[2048] = { 0 };
	size_t n = s->io->size_bytes < sizeof(head) ? (size_t)s->io->size_bytes : sizeof(head);
	struct err why = ERR_INIT;
	int code = n ? blkio_read(s->io, 0, head, n, e) : 0;

	if (code)
		return code;
	if (n >= BOOTSECT_BYTES && bootsect_parse(head, n, s->io->size_bytes, &s->boot, &why))
		memset(&s->boot, 0, sizeof(s->boot)); /* damaged: ntfsvol_open() says how */
	return 0;
}

/* A limit that strikes in the middle of the commit must be seen before it. */
static int check_size_limit(const struct blkio *io, struct err *e)
{
	struct rlimit limit;

	if (filedev_is_block(io) || getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    limit.rlim_cur >= io->size_bytes)
		return 0;
	return err_set(e, -EFBIG, "volume '%s' has %llu bytes, and files may be written up to %llu: raise the limit (ulimit -f)",
		       io->name, (unsigned long long)io->size_bytes, (unsigned long long)limit.rlim_cur);
}

static int open_device(const char *volume, bool writable, struct session *s, struct err *e)
{
	struct err why = ERR_INIT;
	int code;

	code = writable ? blockdev_check_users(volume, &s->report, e) : 0;
	if (code)
		return code;
	if (writable) {
		code = filedev_open(volume, FILEDEV_WRITE, &s->io, &why);
		s->claimed = !code;
		if (code && !err_is_refusal(&why))
			return err_set(e, code, "%s", why.text);
		if (code && !report_has(&s->report, why.reason))
			(void)report_take(&s->report, &why); /* it is a refusal: see above */
	}
	/* ntfs-3g's own lock is gone once it has mounted: look again under ours, that no mount slipped in between */
	if (s->claimed && !filedev_is_block(s->io) && !s->report.count)
		code = blockdev_check_users(volume, &s->report, e);
	if (s->claimed)
		return code ? code : check_size_limit(s->io, e);
	return filedev_open(volume, FILEDEV_READ, &s->io, e);
}

static int open_ntfs(struct session *s, bool damaged, struct err *e)
{
	struct err why = ERR_INIT;
	int code = ntfsvol_open(s->io, s->claimed, &s->v, &why);

	if (!code)
		return 0;
	if (damaged && !err_is_refusal(&why) && code != -ENOMEM) {
		report_add(&s->report, "unreadable", "%s", why.text);
		return 0;
	}
	if (!err_is_refusal(&why))
		return err_set(e, code, "%s", why.text);
	/* a whole disk is not NTFS for a reason that is in the report already */
	if (!(report_has(&s->report, "partitioned") && !strcmp(why.reason, "not-ntfs")))
		(void)report_take(&s->report, &why); /* it is a refusal: see above */
	return 0;
}

static int open_session(const char *volume, bool writable, bool damaged, struct session *ret, struct err *e)
{
	__attribute__((cleanup(auto_session))) struct session s = { 0 };
	int code = open_device(volume, writable, &s, e);

	if (!code)
		code = blockdev_probe(s.io, &s.device, e);
	if (!code)
		code = read_boot(&s, e);
	if (code)
		return code;
	blockdev_check(&s.device, s.boot.kind == BOOTSECT_NTFS ? s.boot.sector_bytes : 0, &s.report);
	code = open_ntfs(&s, damaged, e);
	if (code)
		return code;
	*ret = s;
	memset(&s, 0, sizeof(s));
	return 0;
}

int session_open(const char *volume, bool writable, struct session *ret, struct err *e)
{
	return open_session(volume, writable, false, ret, e);
}

int session_open_damaged(const char *volume, struct session *ret, struct err *e)
{
	return open_session(volume, false, true, ret, e);
}

void session_close(struct session *s)
{
	ntfsvol_free(s->v);
	blkio_free(s->io);
	s->v = NULL;
	s->io = NULL;
}

void session_check_state(struct session *s, enum session_dirty dirty)
{
	const struct ntfsvol_state *state;

	if (!s->v)
		return;
	state = &ntfsvol_info(s->v)->state;
	if (state->hibernated)
		report_add(&s->report, "hibernated", "Windows is hibernated on '%s': it would overwrite what is changed now "
			   "with its own view; start Windows and shut it down fully (shutdown /s /t 0), or run "
			   "'powercfg /h off' there", s->io->name);
	if (state->fast_startup)
		report_add(&s->report, "fast-startup", "Windows was shut down with Fast Startup and keeps metadata of '%s' in "
			   "its cache: changes would be lost or damage the volume; in Windows hold Shift while choosing "
			   "'Shut down', or run 'powercfg /h off'", s->io->name);
	else if (!state->journal_clean)
		report_add(&s->report, "journal", "the journal ($LogFile) of '%s' is not clean (power cut, unplugged): what "
			   "is on the disk is not the whole truth; start Windows with this volume and shut it down",
			   s->io->name);
	if (state->dirty && dirty != SESSION_DIRTY_FORCED)
		report_add(&s->report, "dirty", "'%s' is marked dirty: chkdsk is due and may move or cut files; run chkdsk /f "
			   "in Windows%s", s->io->name,
			   dirty == SESSION_DIRTY_CAN_BE_FORCED ? ", or go on with --force-state dirty" : "");
}

struct found_scan {
	struct session *s;
	session_found_fn *fn;
	void *ctx;
	const struct progress *progress;
	char folders[64][NTFSVOL_PATH_MAX];
	size_t count;
};

static int note_found_folder(void *ctx, const struct ntfsvol_entry *entry, struct err *e)
{
	struct found_scan *scan = ctx;
	const char *name = entry->path + 1;

	(void)e;
	if (entry->is_dir && strlen(name) == 9 && !strncasecmp(name, "found.", 6) &&
	    strspn(name + 6, "0123456789") == 3 && scan->count < 64)
		(void)snprintf(scan->folders[scan->count++], NTFSVOL_PATH_MAX, "%s", entry->path);
	return 0;
}

int session_identify(struct session *s, const struct extent_list *extents, char ret_type[8], char ret_uuid[37],
		     struct err *e)
{
	AUTO(blkio) struct blkio *image = NULL;
	struct err why = ERR_INIT;
	int code = mapdev_new(s->io, extents, &image, &why);

	(void)snprintf(ret_type, 8, "none");
	ret_uuid[0] = '\0';
	if (code == -ENOMEM)
		return err_set(e, code, "%s", why.text);
	return code ? 0 : canary_identify(image, ret_type, ret_uuid, e);
}

static int look_at_found(void *ctx, const struct ntfsvol_entry *entry, struct err *e)
{
	__attribute__((cleanup(auto_ntfsvol_file))) struct ntfsvol_file file = { 0 };
	AUTO(map) struct map *m = NULL;
	struct found_scan *scan = ctx;
	struct image_found image = { .extents = 0 };
	struct err why = ERR_INIT;
	int code = progress_step(scan->progress, "look into found.NNN", 0, 0, e);

	if (code || entry->is_dir)
		return code;
	code = ntfsvol_read_file(scan->s->v, entry->ref.record, &file, &why);
	if (code == -ENOMEM)
		return err_set(e, code, "%s", why.text);
	if (code)
		return 0; /* a damaged file in found.NNN is not our image */
	(void)snprintf(image.path, sizeof(image.path), "%s", entry->path);
	(void)snprintf(image.fs_type, sizeof(image.fs_type), "none");
	image.size_bytes = file.data_bytes;
	image.extents = file.extents.count;
	if (file.extents.count)
		code = session_identify(scan->s, &file.extents, image.fs_type, image.fs_uuid, e);
	if (!code && file.data_bytes <= IMAGE_HOST_MAP_MAX)
		code = session_read_map(scan->s, entry->ref.record, &m, e);
	if (m)
		(void)snprintf(image.fs_type, sizeof(image.fs_type), "map"); /* its image without a file system is near */
	return code || !strcmp(image.fs_type, "none") ? code : scan->fn(scan->ctx, &image, e);
}

int session_walk_found(struct session *s, session_found_fn *fn, void *ctx, const struct progress *p, struct err *e)
{
	struct found_scan scan = { .s = s, .fn = fn, .ctx = ctx, .progress = p };
	int code = ntfsvol_walk(s->v, "/", 1, note_found_folder, &scan, e);

	for (size_t i = 0; !code && i < scan.count; i++)
		code = ntfsvol_walk(s->v, scan.folders[i], 3, look_at_found, &scan, e);
	return code;
}

static int report_found(void *ctx, const struct image_found *image, struct err *e)
{
	(void)e;
	if (!strcmp(image->fs_type, "map"))
		report_add(ctx, "image-in-found", "'%s' is the map of an image that chkdsk put into that folder: its image is "
			   "near; move both back to /ubuntu/disks in Windows, do not make a new one or remove it", image->path);
	else
		report_add(ctx, "image-in-found", "'%s' holds an image (%s, UUID %s) that chkdsk put there: its data is whole; "
			   "move it back to /ubuntu/disks in Windows, do not make a new one or remove it", image->path,
			   image->fs_type, image->fs_uuid);
	return 0;
}

int session_check_found(struct session *s, struct report *r, const struct progress *p, struct err *e)
{
	return session_walk_found(s, report_found, r, p, e);
}

void image_default_path(const char *name, char ret[NTFSVOL_PATH_MAX])
{
	(void)snprintf(ret, NTFSVOL_PATH_MAX, "/ubuntu/disks/%s.disk", name);
}

int image_map_path(const char *image, const char *name, char ret[NTFSVOL_PATH_MAX], struct err *e)
{
	const char *slash = strrchr(image, '/');
	int n = snprintf(ret, NTFSVOL_PATH_MAX, "%.*s/%s.map", slash ? (int)(slash - image) : 0, image, name);

	if (n >= NTFSVOL_PATH_MAX)
		return err_set(e, -EINVAL, "image '%s': the path of its map would be too long", image);
	return 0;
}

void image_name_from_path(const char *image, char ret[32])
{
	const char *slash = strrchr(image, '/'), *base = slash ? slash + 1 : image;
	size_t n = strcspn(base, ".");

	ret[0] = '\0';
	if (n > 0 && n < 32)
		(void)snprintf(ret, 32, "%.*s", (int)n, base);
	for (char *p = ret; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	if (!map_name_is_valid(ret))
		ret[0] = '\0';
}

void session_fill_host(const struct session *s, struct map_host *ret)
{
	const struct ntfsvol_info *info = ntfsvol_info(s->v);

	ret->serial = info->serial;
	(void)snprintf(ret->partuuid, sizeof(ret->partuuid), "%s", s->device.partuuid);
	ret->partition_bytes = s->io->size_bytes / MAP_SECTOR_BYTES * MAP_SECTOR_BYTES;
	ret->cluster_bytes = info->cluster_bytes;
	ret->sector_bytes = info->sector_bytes;
}

void image_feed_picture(void *ctx, uint64_t lcn, uint64_t clusters)
{
	struct picture_feed *feed = ctx;

	picture_add_free(feed->picture, lcn * feed->cluster_bytes, clusters * feed->cluster_bytes);
}

int session_scan(struct session *s, struct freespace_params *params, struct picture *picture,
		 const struct progress *p, struct freespace **ret, struct freespace_summary *ret_summary,
		 struct err *e)
{
	const struct ntfsvol_info *info = ntfsvol_info(s->v);
	struct picture_feed feed = { picture, info->cluster_bytes };
	AUTO(freespace) struct freespace *f = NULL;
	AUTO_FREE struct cluster_run *bad = NULL;
	int code = ntfsvol_bad_clusters(s->v, &bad, &params->avoid_count, e);

	if (code)
		return code;
	params->avoid = bad;
	params->total_clusters = info->total_clusters;
	params->cluster_bytes = info->cluster_bytes;
	params->disk_offset_bytes = s->device.disk_offset_bytes;
	params->zone = info->mft_zone;
	code = freespace_new(params, &f, e);
	if (code)
		return code;
	picture_init(picture, info->total_bytes);
	freespace_set_seen(f, image_feed_picture, &feed);
	code = ntfsvol_scan(s->v, f, p, e);
	if (!code)
		code = freespace_finish(f, ret_summary, e);
	params->avoid = NULL; /* all is fed: the list was needed for that */
	if (!code)
		*ret = TAKE(f);
	return code;
}
