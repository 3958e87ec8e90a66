/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "image_rescue.h"
#include "num.h"
#include "output.h"

#define ROW "%-12s "
#define BAD_SHOWN 10

static const char *const fsck_names[] = {
	[IMAGE_RESCUE_FSCK_NOT_RUN] = "not-run",
	[IMAGE_RESCUE_FSCK_CLEAN] = "clean",
	[IMAGE_RESCUE_FSCK_ERRORS] = "errors",
	[IMAGE_RESCUE_FSCK_FAILED] = "failed",
};

static void print_sum(FILE *f, const char *title, uint64_t bytes, uint64_t all, const char *what)
{
	char text[NUM_BYTES_TEXT];

	progout_print(f, ROW "%-10s %16" PRIu64 " bytes  %10s  %5.1f%%  %s\n", "", title, bytes, num_format_bytes(bytes, text),
		      all ? 100.0 * (double)bytes / (double)all : 0.0, what);
}

static void print_sums(FILE *f, const struct image_rescue *r)
{
	const struct reuse_sums *s = &r->sums;
	char text[NUM_BYTES_TEXT];

	progout_print(f, ROW "%" PRIu64 " bytes (%s)%s\n", "old clusters", r->total_bytes,
		      num_format_bytes(r->total_bytes, text), r->known ? ", of these" : "");
	if (!r->known) {
		progout_print(f, ROW "what became of them is not known: %s\n", "", r->problem);
		return;
	}
	print_sum(f, "free", s->free_bytes, r->total_bytes, "nobody has written them");
	if (s->kept_bytes)
		print_sum(f, "kept", s->kept_bytes, r->total_bytes, "still the image's own");
	print_sum(f, "reused", s->taken_bytes, r->total_bytes, "belong to other files now");
	if (s->unowned_bytes)
		print_sum(f, "unowned", s->unowned_bytes, r->total_bytes, "in use by $Bitmap, and no file has them");
	if (r->damaged_records)
		progout_print(f, ROW "%" PRIu64 " records of $MFT are damaged: what they own is not known\n", "",
			      r->damaged_records);
}

static void print_extents(FILE *f, const struct map *m, const struct image_rescue *r)
{
	progout_print(f, "\n%6s %18s %18s %18s %18s\n", "extent", "physical", "length", "free", "reused");
	for (size_t i = 0; i < m->extents.count; i++)
		progout_print(f, "%6zu %18" PRIu64 " %18" PRIu64 " %18" PRIu64 " %18" PRIu64 "\n", i,
			      m->extents.items[i].physical_bytes, m->extents.items[i].length_bytes, r->extents[i].free_bytes,
			      r->extents[i].taken_bytes);
	progout_print(f, "\n");
}

static void print_owners(FILE *f, const struct image_rescue *r)
{
	char text[NUM_BYTES_TEXT];

	for (size_t i = 0; i < r->owner_count; i++) {
		const struct image_rescue_owner *o = &r->owners[i];

		progout_print(f, ROW "%10s  ", i ? "" : "reused by", num_format_bytes(o->bytes, text));
		if (o->path[0])
			progout_print(f, "%s\n", o->path);
		else
			progout_print(f, "MFT record %" PRIu64 ", which no folder leads to\n", o->record);
	}
	if (r->owners_in_all > r->owner_count)
		progout_print(f, ROW "and %zu files more\n", "", r->owners_in_all - r->owner_count);
}

static void print_content(FILE *f, const struct map *m, const struct image_rescue *r)
{
	const struct ext4fmt_health *h = &r->health;

	if (!r->superblock.known)
		progout_print(f, ROW "an image of type '%s' has nothing that could be checked\n", "content", m->fs_type);
	else if (r->superblock.ok)
		progout_print(f, ROW "%s %s, right at all %u places looked at\n", "superblocks", m->fs_type, m->fs_uuid,
			      r->superblock.checked);
	else
		progout_print(f, ROW "WRONG: %s\n", "superblocks", r->superblock.reason);
	if (!r->health_known)
		return;
	if (h->problems)
		progout_print(f, ROW "DAMAGED: %s%s\n", "file system", h->problem,
			      h->problems > 1 ? ", and more" : "");
	else
		progout_print(f, ROW "superblock, group descriptors and bitmaps are right, %" PRIu64 " of %" PRIu64
			      " inodes in use\n", "file system", h->used_inodes, h->inodes);
	if (h->journal)
		progout_print(f, ROW "it was not unmounted: its journal is replayed by e2fsck, or when it is mounted\n", "");
}

static void print_copy(FILE *f, const struct image_rescue *r, const char *output)
{
	char text[NUM_BYTES_TEXT];

	progout_print(f, ROW "%s\n", "copy", output);
	if (r->copy.bad_count)
		progout_print(f, ROW "%s in %zu ranges could not be read and are zeros in the copy:\n", "bad sectors",
			      num_format_bytes(r->copy.bad_bytes, text), r->copy.bad_count);
	for (size_t i = 0; i < r->copy.bad_count && i < BAD_SHOWN; i++)
		progout_print(f, ROW "%16" PRIu64 " bytes at byte %" PRIu64 " of the image\n", "", r->copy.bad[i].length_bytes,
			      r->copy.bad[i].offset_bytes);
	if (r->copy.bad_count > BAD_SHOWN)
		progout_print(f, ROW "and %zu ranges more\n", "", r->copy.bad_count - BAD_SHOWN);
	if (r->fsck_text[0])
		progout_print(f, ROW "%s: %s\n", "e2fsck -f -n", fsck_names[r->fsck], r->fsck_text);
	if (r->fsck == IMAGE_RESCUE_FSCK_ERRORS)
		progout_print(f, ROW "'e2fsck -f %s' mends the copy; keep another one before that\n", "", output);
}

void output_rescue_text(FILE *f, const struct map *m, const struct image_rescue *r, const char *output)
{
	const struct verdict_result *v = &r->verdict;

	progout_print(f, ROW "%s, map %s, generation %" PRIu64 "\n", "image", m->image, m->map_id, m->generation);
	progout_print(f, ROW "%s\n", "verdict", verdict_name(v->verdict));
	for (size_t i = 0; i < v->reason_count; i++)
		progout_print(f, ROW "%s\n", "", v->reasons[i]);
	print_sums(f, r);
	if (r->extents)
		print_extents(f, m, r);
	print_owners(f, r);
	print_content(f, m, r);
	if (r->copied)
		print_copy(f, r, output);
}

static void add_sums(struct jsonout *o, const struct reuse_sums *s)
{
	jsonout_add_u64(o, "free_bytes", s->free_bytes);
	jsonout_add_u64(o, "kept_bytes", s->kept_bytes);
	jsonout_add_u64(o, "reused_bytes", s->taken_bytes);
	jsonout_add_u64(o, "unowned_bytes", s->unowned_bytes);
}

/* What is not known is null, and no number. */
static void add_clusters(struct jsonout *root, const struct map *m, const struct image_rescue *r)
{
	static const char *const keys[] = { "free_bytes", "kept_bytes", "reused_bytes", "unowned_bytes", "extents", "reused_by",
					    "reused_by_files", "damaged_records" };
	struct jsonout *array;

	if (!r->known) {
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			jsonout_add_string(root, keys[i], NULL);
		return;
	}
	add_sums(root, &r->sums);
	array = jsonout_add_array(root, "extents");
	for (size_t i = 0; i < m->extents.count; i++) {
		struct jsonout *item = jsonout_add_object(array, NULL);

		jsonout_add_u64(item, "logical_sector", m->extents.items[i].logical_bytes / MAP_SECTOR_BYTES);
		jsonout_add_u64(item, "physical_sector", m->extents.items[i].physical_bytes / MAP_SECTOR_BYTES);
		jsonout_add_u64(item, "sectors", m->extents.items[i].length_bytes / MAP_SECTOR_BYTES);
		add_sums(item, &r->extents[i]);
	}
	array = jsonout_add_array(root, "reused_by");
	for (size_t i = 0; i < r->owner_count; i++) {
		struct jsonout *item = jsonout_add_object(array, NULL);

		jsonout_add_string(item, "path", r->owners[i].path[0] ? r->owners[i].path : NULL);
		jsonout_add_u64(item, "record", r->owners[i].record);
		jsonout_add_u64(item, "bytes", r->owners[i].bytes);
	}
	jsonout_add_u64(root, "reused_by_files", r->owners_in_all);
	jsonout_add_u64(root, "damaged_records", r->damaged_records);
}

static void add_content(struct jsonout *root, const struct image_rescue *r)
{
	struct jsonout *o = jsonout_add_object(root, "superblock");

	jsonout_add_string(o, "state", !r->superblock.known ? "unknown" : r->superblock.ok ? "right" : "wrong");
	jsonout_add_u64(o, "checked", r->superblock.checked);
	jsonout_add_string(o, "text", r->superblock.reason[0] ? r->superblock.reason : NULL);
	o = jsonout_add_object(root, "file_system");
	jsonout_add_string(o, "state", !r->health_known ? "unknown" : r->health.problems ? "damaged" : "right");
	jsonout_add_bool(o, "journal", r->health.journal);
	jsonout_add_u64(o, "inodes", r->health.inodes);
	jsonout_add_u64(o, "used_inodes", r->health.used_inodes);
	jsonout_add_string(o, "text", r->health.problem[0] ? r->health.problem : NULL);
}

static void add_copy(struct jsonout *root, const struct image_rescue *r, const char *output)
{
	struct jsonout *bad, *fsck;

	jsonout_add_string(root, "output", r->copied ? output : NULL);
	bad = jsonout_add_array(root, "bad");
	for (size_t i = 0; i < r->copy.bad_count; i++) {
		struct jsonout *item = jsonout_add_object(bad, NULL);

		jsonout_add_u64(item, "offset_bytes", r->copy.bad[i].offset_bytes);
		jsonout_add_u64(item, "length_bytes", r->copy.bad[i].length_bytes);
	}
	fsck = jsonout_add_object(root, "e2fsck");
	jsonout_add_string(fsck, "state", fsck_names[r->fsck]);
	jsonout_add_string(fsck, "text", r->fsck_text[0] ? r->fsck_text : NULL);
}

void output_rescue_json(struct jsonout *root, const struct map *m, const struct image_rescue *r, const char *output)
{
	struct jsonout *reasons;

	jsonout_add_string(root, "image", m->image);
	jsonout_add_string(root, "verdict", verdict_name(r->verdict.verdict));
	reasons = jsonout_add_array(root, "reasons");
	for (size_t i = 0; i < r->verdict.reason_count; i++)
		jsonout_add_string(reasons, NULL, r->verdict.reasons[i]);
	jsonout_add_u64(root, "total_bytes", r->total_bytes);
	jsonout_add_string(root, "problem", r->problem[0] ? r->problem : NULL);
	add_clusters(root, m, r);
	add_content(root, r);
	add_copy(root, r, output);
}
