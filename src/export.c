/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "canary.h"
#include "filedev.h"
#include "ids.h"

struct run {
	struct export_job job;
	struct export_result *result;
	bool is_renamed, is_seeded;
	bool is_touched;         /* something was, or may be, written to the partition */
	bool is_wiped;
	bool has_head;
};

int export_check(const struct export_params *par, const struct progress *p, struct export_plan *ret, struct err *e)
{
	struct export_job j = { .par = par, .progress = p, .plan = ret };
	int code;

	*ret = (struct export_plan){ .image_bytes = 0 };
	code = export_open(&j, e);
	export_clear(&j);
	return code;
}

int export_check_empty(const struct export_params *par, const struct export_plan *plan, struct err *e)
{
	if (!plan->found[0] || par->overwrite)
		return 0;
	return err_refuse(e, "not-empty", "'%s' is not empty: %s, and all of it would be lost; name an empty partition, or let "
			  "--yes overwrite it", par->partition, plan->found);
}

static int check_again(const struct run *r, struct err *e)
{
	int code = report_refuse(&r->job.plan->report, e);

	return code ? code : export_check_empty(r->job.par, r->job.plan, e);
}

/* ---- the copy ---- */

static int copy(struct run *r, struct err *e)
{
	struct export_job *j = &r->job;
	int code;

	r->is_touched = true;
	code = export_wipe(j, e);
	r->is_wiped = !code;
	if (!code)
		code = export_copy(j, e);
	return code ? code : export_compare(j, e);
}

static int write_head(struct run *r, const uint8_t head[EXT4USED_HEAD_BYTES], struct err *e)
{
	uint8_t seen[EXT4USED_HEAD_BYTES];
	const struct blkio *target = r->job.target;
	int code;

	r->has_head = true;
	code = blkio_write(target, 0, head, EXT4USED_HEAD_BYTES, e);
	if (!code)
		code = blkio_flush(target, e);
	if (!code)
		code = filedev_drop_cache(target, e);
	if (!code)
		code = blkio_read(target, 0, seen, sizeof(seen), e);
	if (!code && memcmp(seen, head, sizeof(seen)) != 0)
		code = err_set(e, -EIO, "'%s' gives something else than was written to its begin", target->name);
	return code;
}

static int put_head(struct run *r, const struct ext4used *used, struct err *e)
{
	uint8_t uuid[16], head[EXT4USED_HEAD_BYTES];
	int code;

	ids_random(uuid);
	ids_to_text(uuid, r->result->fs_uuid);
	code = ext4used_head(used, uuid, EXPORT_LABEL_INCOMPLETE, head, &r->is_renamed, &r->is_seeded, e);
	return code ? code : write_head(r, head, e);
}

static void params_of(const struct run *r, struct export_finish *ret)
{
	*ret = (struct export_finish){
		.partition = r->job.par->partition,
		.progress = r->job.progress,
		.uuid = r->is_renamed ? NULL : r->result->fs_uuid,
		.is_seeded = r->is_seeded,
	};
}

/*
 * One that was not unmounted: in its journal may be a superblock, with the old UUID and checksums of that. So it gets its own
 * head first, the journal is replayed, and only then it can be given another.
 */
static int replay(struct run *r, struct err *e)
{
	AUTO(ext4used) struct ext4used *used = NULL;
	struct ext4used_info info;
	struct export_finish f;
	uint8_t head[EXT4USED_HEAD_BYTES];
	int code = blkio_read(r->job.image, 0, head, sizeof(head), e);

	if (!code)
		code = write_head(r, head, e);
	if (code)
		return code;
	blkio_free(TAKE(r->job.target));
	params_of(r, &f);
	code = export_replay(&f, e);
	if (!code)
		code = filedev_open(r->job.par->partition, FILEDEV_WRITE, &r->job.target, e);
	if (!code)
		code = ext4used_open(r->job.target, &used, &info, e);
	return code ? code : put_head(r, used, e);
}

static int begin(struct run *r, struct err *e)
{
	return r->job.info.is_whole ? replay(r, e) : put_head(r, r->job.used, e);
}

/* ---- what the copy becomes ---- */

/* The programs want it for themselves. */
static int finish(struct run *r, struct err *e)
{
	struct export_finish f;

	blkio_free(TAKE(r->job.target));
	params_of(r, &f);
	return export_finish(&f, e);
}

/* A name like "root" fits, the end of a long one is left out. */
static void make_label(struct run *r)
{
	(void)snprintf(r->result->label, sizeof(r->result->label), EXPORT_LABEL_PREFIX "%.*s",
		       EXT4FMT_LABEL_MAX - (int)(sizeof(EXPORT_LABEL_PREFIX) - 1), r->job.par->map->name);
}

/* Its label is the last thing to be written, and says that it is complete. */
static int complete(struct run *r, struct err *e)
{
	AUTO(blkio) struct blkio *target = NULL;
	char type[8], uuid[37];
	int code = filedev_open(r->job.par->partition, FILEDEV_WRITE, &target, e);

	make_label(r);
	if (!code)
		code = canary_identify(target, type, uuid, e);
	if (!code && (strcmp(type, "ext4") != 0 || strcmp(uuid, r->result->fs_uuid) != 0))
		code = err_set(e, -EIO, "'%s' holds '%s' with the UUID '%s', not what was made of it: does something else write "
			       "to it?", target->name, type, uuid);
	return code ? code : ext4fmt_set_label(target, r->result->label, e);
}

/* ---- the way back ---- */

/* Without its head it is no file system. */
static int take_head(struct run *r)
{
	AUTO(blkio) struct blkio *again = NULL;
	struct blkio *target = r->job.target;
	int code = target ? 0 : filedev_open(r->job.par->partition, FILEDEV_WRITE, &again, NULL);

	if (!target)
		target = again;
	if (!code)
		code = blkio_zero(target, 0, EXT4USED_HEAD_BYTES, NULL);
	return code ? code : blkio_flush(target, NULL);
}

static int undo(struct run *r, int code, struct err *e)
{
	const char *partition = r->job.par->partition;

	if (!r->is_touched)
		return err_wrap(e, code, "nothing was written");
	if (r->has_head && take_head(r))
		return err_wrap(e, code, "the image is as it was; '%s' holds a copy that is not complete (label '"
				EXPORT_LABEL_INCOMPLETE "'): run this again, or empty it (wipefs -a)", partition);
	if (!r->is_wiped)
		return err_wrap(e, code, "the image is as it was, and what was in '%s' may be damaged", partition);
	return err_wrap(e, code, "the image is as it was, and '%s' holds no file system now: run this again with --yes when that "
			"is mended", partition);
}

static int run_steps(struct run *r, struct err *e)
{
	static int (*const steps[])(struct run *r, struct err *e) = { copy, begin, finish, complete };
	int code = 0;

	for (size_t i = 0; !code && i < sizeof(steps) / sizeof(steps[0]); i++)
		code = steps[i](r, e);
	return code ? undo(r, code, e) : 0;
}

int export_run(const struct export_params *par, const struct progress *p, struct export_result *ret, struct err *e)
{
	struct run r = { .job = { .par = par, .progress = p, .plan = &ret->plan }, .result = ret };
	int code;

	*ret = (struct export_result){ .fs_uuid = "" };
	code = export_open(&r.job, e);
	if (!code)
		code = check_again(&r, e);
	if (!code)
		code = run_steps(&r, e);
	export_clear(&r.job);
	return code;
}
