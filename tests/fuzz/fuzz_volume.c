/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening and verifying a hostile volume: whatever its bytes, no crash, no hang, no write.
 *
 * The volume is made once, by mkntfs and our own create. The input is a list of patches to it, so that the fuzzer works
 * on structures and not on megabytes: REGION(1) OFFSET(2, little endian) LENGTH(1) BYTES.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filedev.h"
#include "image.h"
#include "ntfsvol.h"
#include "reuse.h"
#include "verify.h"

#define VOLUME_BYTES (4u * 1024 * 1024)
#define PATCHES_MAX 64
#define PATCH_MAX 32
#define REGIONS 6

struct patch {
	uint64_t offset;
	size_t n;
	const uint8_t *bytes;
};

static uint8_t base[VOLUME_BYTES];
static struct map *map;
static uint64_t region_at[REGIONS];
static struct patch patches[PATCHES_MAX];
static size_t patch_count;

static int read_at(void *ctx, uint64_t offset, void *buf, size_t n, struct err *e)
{
	(void)ctx, (void)e;
	memcpy(buf, base + offset, n);
	for (size_t i = 0; i < patch_count; i++)
		for (size_t k = 0; k < patches[i].n; k++) {
			uint64_t at = patches[i].offset + k;

			if (at >= offset && at - offset < n)
				((uint8_t *)buf)[at - offset] = patches[i].bytes[k];
		}
	return 0;
}

static int write_at(void *ctx, uint64_t offset, const void *buf, size_t n, struct err *e)
{
	(void)ctx, (void)offset, (void)buf, (void)n, (void)e;
	abort(); /* verify has written */
}

static const struct blkio_ops ops = { .read_at = read_at, .write_at = write_at };

static void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "fuzz_volume: %s: %s\n", what, why);
	exit(1);
}

/* Where the structures lie that a mutation should hit: boot sector, $MFT, its mirror, $LogFile, the image's record. */
static void find_regions(void)
{
	uint64_t cluster = map->host.cluster_bytes, mft, mirror;

	memcpy(&mft, base + 48, sizeof(mft));
	memcpy(&mirror, base + 56, sizeof(mirror));
	region_at[1] = mft * cluster;
	region_at[2] = mirror * cluster;
	region_at[3] = mft * cluster + map->mft_record * 1024;
	region_at[4] = mft * cluster + 5 * UINT64_C(1024);
	for (uint64_t at = 0; at + 4 < VOLUME_BYTES; at += 512)
		if (!memcmp(base + at, "INDX", 4))
			region_at[5] = at; /* the last index block: one of ours or the root's */
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char path[] = "/tmp/fuzz_volume.XXXXXX", command[128];
	struct image_params par = { .volume = path, .name = "swap", .size_bytes = 1024 * 1024, .max_extents = 4,
				    .fs = "swap", .host_map = true };
	struct err e = ERR_INIT;
	int fd = mkstemp(path);

	(void)argc, (void)argv;
	if (fd < 0 || ftruncate(fd, VOLUME_BYTES))
		die(path, "cannot be made");
	(void)snprintf(command, sizeof(command), "mkntfs -F -Q -q -c 512 -p 0 -H 0 -S 0 %s >/dev/null 2>&1", path);
	if (system(command))
		die("mkntfs", "failed");
	if (image_create(&par, NULL, NULL, NULL, &map, &e))
		die("create", e.text);
	if (pread(fd, base, sizeof(base), 0) != (ssize_t)sizeof(base))
		die(path, "cannot be read");
	(void)close(fd);
	(void)unlink(path);
	find_regions();
	return 0;
}

static void read_patches(const uint8_t *data, size_t n)
{
	patch_count = 0;
	while (n > 4 && patch_count < PATCHES_MAX) {
		struct patch *p = &patches[patch_count++];
		uint64_t at = region_at[data[0] % REGIONS] + (uint64_t)(data[1] | data[2] << 8);

		p->n = data[3] % PATCH_MAX + 1;
		if (p->n > n - 4)
			p->n = n - 4;
		p->offset = at % (VOLUME_BYTES - PATCH_MAX);
		p->bytes = data + 4;
		data += 4 + p->n;
		n -= 4 + p->n;
	}
}

struct visitor {
	struct ntfsvol *v;
	unsigned left; /* so that a hostile folder of a million entries ends */
};

static int visit(void *ctx, const struct ntfsvol_entry *entry, struct err *e)
{
	struct ntfsvol_file file = { 0 };
	struct visitor *visitor = ctx;

	(void)e;
	if (!ntfsvol_read_file(visitor->v, entry->ref.record, &file, NULL))
		ntfsvol_file_clear(&file);
	return --visitor->left ? 0 : 1;
}

static int take_run(void *ctx, uint64_t record, uint64_t physical_bytes, uint64_t length_bytes, struct err *e)
{
	return reuse_add_run(ctx, record, physical_bytes, length_bytes, e);
}

/* Whose is each cluster of the image? */
static void look_for_owners(struct ntfsvol *v)
{
	struct reuse *r = NULL;
	uint64_t damaged;

	if (!reuse_new(&map->extents, map->mft_record, &r, NULL) && !ntfsvol_all_runs(v, take_run, r, NULL, &damaged, NULL)) {
		struct reuse_sums s;

		reuse_finish(r);
		s = reuse_all(r);
		if (s.free_bytes + s.kept_bytes + s.taken_bytes + s.unowned_bytes != map->size_bytes)
			abort();
	}
	reuse_free(r);
}

static void look_around(const struct blkio *io)
{
	struct visitor visitor = { .left = 200 };
	struct freespace_params par = { .max_extents = 1 };
	struct freespace_summary summary;
	struct freespace *f = NULL;
	struct ntfsvol_entry entry;

	if (ntfsvol_open(io, true, &visitor.v, NULL))
		return;
	par.total_clusters = ntfsvol_info(visitor.v)->total_clusters;
	par.cluster_bytes = ntfsvol_info(visitor.v)->cluster_bytes;
	(void)ntfsvol_walk(visitor.v, "/", 3, visit, &visitor, NULL);
	(void)ntfsvol_find(visitor.v, "/ubuntu/disks/swap.disk", &entry, NULL);
	if (!freespace_new(&par, &f, NULL) && !ntfsvol_scan(visitor.v, f, NULL, NULL))
		(void)freespace_finish(f, &summary, NULL);
	freespace_free(f);
	look_for_owners(visitor.v);
	ntfsvol_free(visitor.v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct blkio io = { .ops = &ops, .size_bytes = VOLUME_BYTES, .sector_bytes = 512, .name = "hostile" };
	struct verify_result r = { 0 };

	read_patches(data, n);
	if (!verify_volume(&io, "", map, &r, NULL))
		verify_result_clear(&r);
	look_around(&io);
	return 0;
}
