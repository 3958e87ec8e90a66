/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "num.h"
#include "output.h"

#define ROW "%-12s "

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

void output_extents_text(FILE *f, const struct extent_list *extents)
{
	char text[NUM_BYTES_TEXT];

	progout_print(f, "%6s %18s %18s %18s\n", "extent", "logical", "physical", "length");
	for (size_t i = 0; i < extents->count; i++) {
		const struct extent *x = &extents->items[i];

		progout_print(f, "%6zu %18" PRIu64 " %18" PRIu64 " %18" PRIu64 "  %s\n", i, x->logical_bytes,
			     x->physical_bytes, x->length_bytes, num_format_bytes(x->length_bytes, text));
	}
}

void output_map_text(FILE *f, const struct map *m)
{
	char size[NUM_BYTES_TEXT], partition[NUM_BYTES_TEXT];

	progout_print(f, ROW "%s\n", "image", m->image);
	progout_print(f, ROW "%s\n", "name", m->name);
	progout_print(f, ROW "%s, generation %" PRIu64 "\n", "map", m->map_id, m->generation);
	progout_print(f, ROW "%s (%" PRIu64 " bytes) in %zu extent%s\n", "size",
		     num_format_bytes(m->size_bytes, size), m->size_bytes, m->extents.count,
		     plural(m->extents.count));
	progout_print(f, ROW "%s%s%s\n", "file system", m->fs_type, *m->fs_uuid ? " " : "", m->fs_uuid);
	progout_print(f, ROW "record %" PRIu64 ", sequence %u\n", "MFT", m->mft_record, m->mft_sequence);
	progout_print(f, ROW "serial %016" PRIx64 ", PARTUUID %s\n", "host", m->host.serial,
		     *m->host.partuuid ? m->host.partuuid : "none");
	progout_print(f, ROW "%s, clusters of %" PRIu32 " and sectors of %" PRIu32 " bytes\n\n", "",
		     num_format_bytes(m->host.partition_bytes, partition), m->host.cluster_bytes,
		     m->host.sector_bytes);
	output_extents_text(f, &m->extents);
}

static void print_state(FILE *f, const struct ntfsvol_state *s)
{
	bool clean = !s->dirty && !s->hibernated && !s->fast_startup && s->journal_clean;

	progout_print(f, ROW "%s%s%s%s%s\n", "state", clean ? "clean" : "NOT CLEAN:", s->dirty ? " dirty" : "",
		     s->hibernated ? " hibernated" : "", s->fast_startup ? " fast-startup" : "",
		     s->journal_clean ? "" : " unclean-journal");
}

static void print_volume(FILE *f, const char *name, const struct blockdev_info *device,
			 const struct ntfsvol_info *volume)
{
	char size[NUM_BYTES_TEXT];

	progout_print(f, ROW "%s (%s)\n", "volume", name, device->is_block ? "block device" : "plain file");
	if (*device->model || *device->disk_serial)
		progout_print(f, ROW "%s %s\n", "disk", device->model, device->disk_serial);
	if (*device->partuuid)
		progout_print(f, ROW "PARTUUID %s, byte %" PRIu64 " of the disk\n", "partition",
			     device->partuuid, device->disk_offset_bytes);
	progout_print(f, ROW "%s\n", "label", *volume->label ? volume->label : "(none)");
	progout_print(f, ROW "%016" PRIx64 "\n", "serial", volume->serial);
	progout_print(f, ROW "%s, clusters of %" PRIu32 " and sectors of %" PRIu32 " bytes\n", "size",
		     num_format_bytes(volume->total_bytes, size), volume->cluster_bytes,
		     volume->sector_bytes);
	print_state(f, &volume->state);
}

static void print_free(FILE *f, const struct freespace_summary *s, uint64_t cluster_bytes)
{
	char text[NUM_BYTES_TEXT];

	progout_print(f, ROW "%s in %" PRIu64 " run%s\n", "free",
		     num_format_bytes(s->free_clusters * cluster_bytes, text), s->free_runs,
		     plural(s->free_runs));
	for (size_t i = 0; i < s->top_count && i < 3; i++)
		progout_print(f, ROW "%s at byte %" PRIu64 "\n", i ? "" : "largest runs",
			     num_format_bytes(s->top[i].clusters * cluster_bytes, text),
			     s->top[i].lcn * cluster_bytes);
}

static void print_images(FILE *f, const struct image_info *info)
{
	char size[NUM_BYTES_TEXT];

	if (info->image_count == 0)
		progout_print(f, ROW "none\n", "images");
	for (size_t i = 0; i < info->image_count; i++) {
		const struct image_found *image = &info->images[i];

		progout_print(f, ROW "%s\n", i ? "" : "images", image->path);
		progout_print(f, ROW "  %s in %" PRIu64 " extent%s, %s %s\n", "",
			     num_format_bytes(image->size_bytes, size), image->extents,
			     plural(image->extents), image->fs_type, image->fs_uuid);
	}
}

void output_info_text(FILE *f, const char *volume, const struct image_info *info)
{
	if (info->volume_known) {
		print_volume(f, volume, &info->device, &info->volume);
		print_free(f, &info->free, info->volume.cluster_bytes);
		print_images(f, info);
	} else {
		progout_print(f, ROW "%s (%s)\n", "volume", volume,
			     info->device.is_block ? "block device" : "plain file");
	}
	for (size_t i = 0; i < info->report.count; i++)
		progout_print(f, ROW "%s\n", i ? "" : "refused", info->report.items[i].text);
}

void output_plan_text(FILE *f, const char *volume, const struct image_plan *plan)
{
	char size[NUM_BYTES_TEXT];

	if (plan->volume_known)
		print_volume(f, volume, &plan->device, &plan->volume);
	if (plan->volume_known && plan->free_known)
		print_free(f, &plan->free, plan->volume.cluster_bytes);
	if (plan->extents.count == 0)
		return;
	progout_print(f, ROW "%s, %s in %zu extent%s\n\n", "image", plan->path,
		     num_format_bytes(plan->size_bytes, size), plan->extents.count,
		     plural(plan->extents.count));
	output_extents_text(f, &plan->extents);
}

int output_picture(FILE *f, const struct picture *p, struct err *e)
{
	AUTO_FREE char *text = NULL;
	const char *no_color = getenv("NO_COLOR");
	bool colour = isatty(fileno(f)) && !(no_color && *no_color);
	int r = picture_render(p, colour, &text, e);

	if (!r)
		(void)fputs(text, f); /* not progout_print(): its colours are control characters of ours */
	return r;
}
