/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "output.h"

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

static void add_serial(struct jsonout *parent, uint64_t serial)
{
	char text[17];

	(void)snprintf(text, sizeof(text), "%016" PRIx64, serial);
	jsonout_add_string(parent, "serial", text);
}

static void add_fs(struct jsonout *parent, const char *type, const char *uuid)
{
	struct jsonout *fs = jsonout_add_object(parent, "fs");

	jsonout_add_string(fs, "type", type);
	jsonout_add_string(fs, "uuid", or_null(uuid));
}

void output_extents_json(struct jsonout *parent, const struct extent_list *extents)
{
	struct jsonout *array = jsonout_add_array(parent, "extents");

	for (size_t i = 0; i < extents->count; i++) {
		const struct extent *x = &extents->items[i];
		struct jsonout *item = jsonout_add_object(array, NULL);

		jsonout_add_u64(item, "logical_sector", x->logical_bytes / MAP_SECTOR_BYTES);
		jsonout_add_u64(item, "physical_sector", x->physical_bytes / MAP_SECTOR_BYTES);
		jsonout_add_u64(item, "sectors", x->length_bytes / MAP_SECTOR_BYTES);
	}
}

void output_map_json(struct jsonout *parent, const struct map *m)
{
	struct jsonout *host, *mft;

	jsonout_add_u64(parent, "version", MAP_VERSION);
	jsonout_add_string(parent, "map_id", m->map_id);
	jsonout_add_u64(parent, "generation", m->generation);
	jsonout_add_string(parent, "image", m->image);
	jsonout_add_u64(parent, "size_bytes", m->size_bytes);
	jsonout_add_string(parent, "name", m->name);
	host = jsonout_add_object(parent, "host");
	add_serial(host, m->host.serial);
	jsonout_add_string(host, "partuuid", or_null(m->host.partuuid));
	jsonout_add_u64(host, "partition_sectors", m->host.partition_bytes / MAP_SECTOR_BYTES);
	jsonout_add_u64(host, "cluster_bytes", m->host.cluster_bytes);
	jsonout_add_u64(host, "sector_bytes", m->host.sector_bytes);
	mft = jsonout_add_object(parent, "mft");
	jsonout_add_u64(mft, "record", m->mft_record);
	jsonout_add_u64(mft, "sequence", m->mft_sequence);
	add_fs(parent, m->fs_type, m->fs_uuid);
	output_extents_json(parent, &m->extents);
}

static void add_geometry(struct jsonout *parent, const struct image_info *info)
{
	const struct freespace_summary *free_space = &info->free;
	uint64_t cluster_bytes = info->volume.cluster_bytes;
	uint64_t largest = free_space->top_count ? free_space->top[0].clusters : 0;

	jsonout_add_string(parent, "label", info->volume.label);
	add_serial(parent, info->volume.serial);
	jsonout_add_u64(parent, "cluster_bytes", cluster_bytes);
	jsonout_add_u64(parent, "sector_bytes", info->volume.sector_bytes);
	jsonout_add_u64(parent, "total_bytes", info->volume.total_bytes);
	jsonout_add_u64(parent, "free_bytes", free_space->free_clusters * cluster_bytes);
	jsonout_add_u64(parent, "largest_free_run_bytes", largest * cluster_bytes);
}

/* BitLocker: what lies behind the encryption is not known, and is not guessed. */
static void add_unknown_geometry(struct jsonout *parent)
{
	static const char *const keys[] = { "label", "serial", "cluster_bytes", "sector_bytes", "total_bytes",
					    "free_bytes", "largest_free_run_bytes" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		jsonout_add_string(parent, keys[i], NULL);
}

void output_info_json(struct jsonout *parent, const struct image_info *info)
{
	struct jsonout *state, *images;

	if (info->volume_known)
		add_geometry(parent, info);
	else
		add_unknown_geometry(parent);
	state = jsonout_add_object(parent, "state");
	jsonout_add_bool(state, "dirty", info->volume.state.dirty);
	jsonout_add_bool(state, "hibernated", info->volume.state.hibernated);
	jsonout_add_bool(state, "fast_startup", info->volume.state.fast_startup);
	jsonout_add_bool(state, "journal_clean", info->volume.state.journal_clean);
	jsonout_add_bool(state, "bitlocker", info->boot.kind == BOOTSECT_BITLOCKER);
	images = jsonout_add_array(parent, "images");
	for (size_t i = 0; i < info->image_count; i++) {
		struct jsonout *item = jsonout_add_object(images, NULL);

		jsonout_add_string(item, "path", info->images[i].path);
		jsonout_add_u64(item, "size_bytes", info->images[i].size_bytes);
		jsonout_add_u64(item, "extents", info->images[i].extents);
		add_fs(item, info->images[i].fs_type, info->images[i].fs_uuid);
	}
}
