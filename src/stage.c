/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STAGE_PAGE 4096u
#define STAGE_SECTOR 512u
#define STAGE_PAGE_SECTORS (STAGE_PAGE / STAGE_SECTOR)
#define STAGE_SLOTS_MIN 256u

struct stage_page {
	uint64_t index;  /* offset / STAGE_PAGE */
	uint64_t seq[STAGE_PAGE_SECTORS]; /* of the last write to each sector */
	uint8_t present; /* one bit a sector: bytes[] holds it */
	uint8_t dirty;   /* one bit a sector: staged and not written out; a subset of present */
	uint8_t bytes[STAGE_PAGE];
};

struct stage {
	const struct blkio *base;
	struct stage_page **slots; /* open addressing, linear probing, NULL is free; pages are never taken out */
	size_t slot_count;         /* a power of two */
	size_t page_count;
	uint64_t seq;
	uint64_t dirty_sectors;
	bool through;
};

/* The part of a transfer that lies in one page. */
struct stage_part {
	uint64_t index;
	size_t start; /* in the page */
	size_t n;
};

static struct stage_part stage_part_at(uint64_t offset_bytes, uint64_t n)
{
	struct stage_part p = { .index = offset_bytes / STAGE_PAGE, .start = (size_t)(offset_bytes % STAGE_PAGE) };

	p.n = STAGE_PAGE - p.start;
	if (p.n > n)
		p.n = (size_t)n;
	return p;
}

/* Bits of the sectors from start to start + n that are covered from their first byte to their last. */
static uint8_t stage_mask_whole(size_t start, size_t n)
{
	size_t first = (start + STAGE_SECTOR - 1) / STAGE_SECTOR;
	size_t end = (start + n) / STAGE_SECTOR;
	unsigned mask = 0;

	for (size_t i = first; i < end; i++)
		mask |= 1u << i;
	return (uint8_t)mask;
}

static uint8_t stage_mask_touched(size_t start, size_t n)
{
	unsigned mask = 0;

	for (size_t i = start / STAGE_SECTOR; i * STAGE_SECTOR < start + n; i++)
		mask |= 1u << i;
	return (uint8_t)mask;
}

static bool stage_mask_has(uint8_t mask, size_t sector)
{
	return (((unsigned)mask >> sector) & 1u) != 0;
}

static size_t stage_slot(const struct stage *s, uint64_t index)
{
	/* Fibonacci hashing: neighbours in a bitmap or in the MFT spread instead of forming one long cluster */
	size_t i = (size_t)((index * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (s->slot_count - 1);

	while (s->slots[i] != NULL && s->slots[i]->index != index)
		i = (i + 1) & (s->slot_count - 1);
	return i;
}

static struct stage_page *stage_find(const struct stage *s, uint64_t index)
{
	return s->slots[stage_slot(s, index)];
}

static int stage_grow(struct stage *s, struct err *e)
{
	struct stage_page **old = s->slots;
	size_t old_count = s->slot_count;
	struct stage_page **slots = calloc(old_count * 2, sizeof(*slots));

	if (slots == NULL)
		return err_set(e, -ENOMEM, "stage over '%s': out of memory", s->base->name);
	s->slots = slots;
	s->slot_count = old_count * 2;
	for (size_t i = 0; i < old_count; i++)
		if (old[i] != NULL)
			s->slots[stage_slot(s, old[i]->index)] = old[i];
	free(old);
	return 0;
}

static int stage_get(struct stage *s, uint64_t index, struct stage_page **ret, struct err *e)
{
	struct stage_page *page = stage_find(s, index);
	int rc;

	if (page == NULL) {
		if ((s->page_count + 1) * 2 > s->slot_count) {
			rc = stage_grow(s, e);
			if (rc != 0)
				return rc;
		}
		page = calloc(1, sizeof(*page));
		if (page == NULL)
			return err_set(e, -ENOMEM, "stage over '%s': out of memory", s->base->name);
		page->index = index;
		s->slots[stage_slot(s, index)] = page;
		s->page_count++;
	}
	*ret = page;
	return 0;
}

/* How many bytes from here are alike, and whether they are staged. Stretches that are not run across pages. */
static size_t stage_stretch(const struct stage *s, uint64_t offset_bytes, size_t n, const uint8_t **ret_bytes)
{
	size_t length = 0;

	*ret_bytes = NULL;
	while (length < n) {
		struct stage_part part = stage_part_at(offset_bytes + length, n - length);
		const struct stage_page *page = stage_find(s, part.index);
		size_t left = STAGE_SECTOR - part.start % STAGE_SECTOR;
		bool present = page != NULL && stage_mask_has(page->present, part.start / STAGE_SECTOR);

		if (page == NULL)
			left = part.n;
		if (left > part.n)
			left = part.n;
		if (length > 0 && present != (*ret_bytes != NULL))
			break;
		if (present && length > 0 && part.start == 0)
			break; /* staged bytes are contiguous within one page only */
		if (present && length == 0)
			*ret_bytes = page->bytes + part.start;
		length += left;
	}
	return length;
}

static int stage_read_at(void *ctx, uint64_t offset_bytes, void *buf, size_t n, struct err *e)
{
	const struct stage *s = ctx;
	uint8_t *p = buf;
	int rc = 0;

	while (n > 0 && rc == 0) {
		const uint8_t *bytes;
		size_t length = stage_stretch(s, offset_bytes, n, &bytes);

		if (bytes != NULL)
			memcpy(p, bytes, length);
		else
			rc = blkio_read(s->base, offset_bytes, p, length, e);
		offset_bytes += length;
		p += length;
		n -= length;
	}
	return rc;
}

/* Reads from base what a write covers in part only and the page does not hold yet. */
static int stage_fill(struct stage *s, struct stage_page *page, uint8_t need, struct err *e)
{
	for (unsigned i = 0; i < STAGE_PAGE_SECTORS; i++) {
		uint64_t at = page->index * STAGE_PAGE + i * STAGE_SECTOR;
		uint64_t left = s->base->size_bytes - at;
		int rc;

		if (!stage_mask_has(need, i))
			continue;
		rc = blkio_read(s->base, at, page->bytes + i * STAGE_SECTOR,
				left < STAGE_SECTOR ? (size_t)left : STAGE_SECTOR, e);
		if (rc != 0)
			return rc;
		page->present |= (uint8_t)(1u << i);
	}
	return 0;
}

static void stage_copy(struct stage_page *page, const struct stage_part *part, const uint8_t *bytes)
{
	if (bytes != NULL)
		memcpy(page->bytes + part->start, bytes, part->n);
	else
		memset(page->bytes + part->start, 0, part->n);
}

static void stage_number(const struct stage *s, struct stage_page *page, uint8_t sectors)
{
	for (unsigned i = 0; i < STAGE_PAGE_SECTORS; i++)
		if (stage_mask_has(sectors, i))
			page->seq[i] = s->seq;
}

static int stage_put(struct stage *s, const struct stage_part *part, const uint8_t *bytes, struct err *e)
{
	uint8_t touched = stage_mask_touched(part->start, part->n);
	uint8_t whole = stage_mask_whole(part->start, part->n);
	struct stage_page *page = NULL;
	int rc = stage_get(s, part->index, &page, e);

	if (rc != 0)
		return rc;
	rc = stage_fill(s, page, touched & (uint8_t)~(whole | page->present), e);
	if (rc != 0)
		return rc;
	stage_copy(page, part, bytes);
	s->dirty_sectors += (uint64_t)__builtin_popcount((unsigned)(touched & ~page->dirty));
	page->present |= touched;
	page->dirty |= touched;
	stage_number(s, page, touched);
	return 0;
}

static void stage_clean(struct stage *s, struct stage_page *page, uint8_t mask)
{
	s->dirty_sectors -= (uint64_t)__builtin_popcount((unsigned)(page->dirty & mask));
	page->dirty &= (uint8_t)~mask;
}

/*
 * Base has the bytes already: bring the copy up to date. A sector that is dirty and was covered in part stays dirty, or
 * the rest of it would never get to base.
 */
static void stage_follow(struct stage *s, const struct stage_part *part, const uint8_t *bytes)
{
	uint8_t whole = stage_mask_whole(part->start, part->n);
	struct stage_page *page = stage_find(s, part->index);

	if (page == NULL)
		return;
	/* sectors that the page does not hold get bytes too; they count for nothing while their bit is clear */
	stage_copy(page, part, bytes);
	page->present |= whole;
	stage_number(s, page, whole);
	stage_clean(s, page, whole);
}

static int stage_apply(struct stage *s, uint64_t offset_bytes, const uint8_t *bytes, uint64_t n, struct err *e)
{
	int rc = 0;

	s->seq++;
	while (n > 0 && rc == 0) {
		struct stage_part part = stage_part_at(offset_bytes, n);

		if (s->through)
			stage_follow(s, &part, bytes);
		else
			rc = stage_put(s, &part, bytes, e);
		offset_bytes += part.n;
		n -= part.n;
		if (bytes != NULL)
			bytes += part.n;
	}
	return rc;
}

static int stage_write_at(void *ctx, uint64_t offset_bytes, const void *buf, size_t n, struct err *e)
{
	struct stage *s = ctx;

	if (s->through) {
		int rc = blkio_write(s->base, offset_bytes, buf, n, e);

		if (rc != 0)
			return rc;
	}
	return stage_apply(s, offset_bytes, buf, n, e);
}

static int stage_zero_at(void *ctx, uint64_t offset_bytes, uint64_t n, struct err *e)
{
	struct stage *s = ctx;

	if (s->through) {
		int rc = blkio_zero(s->base, offset_bytes, n, e);

		if (rc != 0)
			return rc;
	}
	return stage_apply(s, offset_bytes, NULL, n, e);
}

static int stage_flush(void *ctx, struct err *e)
{
	const struct stage *s = ctx;

	return s->through ? blkio_flush(s->base, e) : 0;
}

static void stage_release(void *ctx)
{
	struct stage *s = ctx;

	for (size_t i = 0; i < s->slot_count; i++)
		free(s->slots[i]);
	free(s->slots);
	free(s);
}

static const struct blkio_ops stage_ops = {
	.read_at = stage_read_at,
	.write_at = stage_write_at,
	.zero_at = stage_zero_at,
	.flush = stage_flush,
	.release = stage_release,
};

int stage_new(const struct blkio *base, struct blkio **ret, struct err *e)
{
	struct stage *s = calloc(1, sizeof(*s));
	struct blkio *io = calloc(1, sizeof(*io));
	struct stage_page **slots = calloc(STAGE_SLOTS_MIN, sizeof(struct stage_page *));

	if (s == NULL || io == NULL || slots == NULL) {
		free(s);
		free(io);
		free(slots);
		return err_set(e, -ENOMEM, "stage over '%s': out of memory", base->name);
	}
	s->base = base;
	s->slots = slots;
	s->slot_count = STAGE_SLOTS_MIN;
	*io = *base;
	io->ops = &stage_ops;
	io->ctx = s;
	io->writable = true;
	*ret = io;
	return 0;
}

static int stage_run_compare(const void *a, const void *b)
{
	const struct stage_run *x = a;
	const struct stage_run *y = b;

	return (x->offset_bytes > y->offset_bytes) - (x->offset_bytes < y->offset_bytes);
}

/* Appends the runs of one page to runs, or only counts them if runs is NULL. */
static size_t stage_page_runs(const struct stage *s, const struct stage_page *page, struct stage_run *runs)
{
	size_t count = 0;
	unsigned i = 0;

	while (i < STAGE_PAGE_SECTORS) {
		unsigned first = i;
		uint64_t at = page->index * STAGE_PAGE + first * STAGE_SECTOR;

		while (i < STAGE_PAGE_SECTORS && stage_mask_has(page->dirty, i))
			i++;
		if (i == first) {
			i++;
			continue;
		}
		if (runs != NULL) {
			uint64_t left = s->base->size_bytes - at;
			size_t n = (i - first) * STAGE_SECTOR;

			runs[count] = (struct stage_run){
				.offset_bytes = at,
				.n = left < n ? (size_t)left : n,
				.bytes = page->bytes + first * STAGE_SECTOR,
			};
		}
		count++;
	}
	return count;
}

int stage_runs(const struct blkio *stage, struct stage_run **ret_runs, size_t *ret_count, struct err *e)
{
	const struct stage *s = stage->ctx;
	struct stage_run *runs;
	size_t count = 0;

	for (size_t i = 0; i < s->slot_count; i++)
		if (s->slots[i] != NULL)
			count += stage_page_runs(s, s->slots[i], NULL);
	runs = calloc(count == 0 ? 1 : count, sizeof(*runs));
	if (runs == NULL)
		return err_set(e, -ENOMEM, "stage over '%s': out of memory", s->base->name);
	count = 0;
	for (size_t i = 0; i < s->slot_count; i++)
		if (s->slots[i] != NULL)
			count += stage_page_runs(s, s->slots[i], runs + count);
	qsort(runs, count, sizeof(*runs), stage_run_compare);
	*ret_runs = runs;
	*ret_count = count;
	return 0;
}

uint64_t stage_seq(const struct blkio *stage, uint64_t offset_bytes, uint64_t n)
{
	const struct stage *s = stage->ctx;
	uint64_t last = 0;

	for (uint64_t done = 0; done < n;) {
		struct stage_part part = stage_part_at(offset_bytes + done, n - done);
		const struct stage_page *page = stage_find(s, part.index);

		for (size_t i = part.start / STAGE_SECTOR; page != NULL && i * STAGE_SECTOR < part.start + part.n; i++)
			if (page->seq[i] > last)
				last = page->seq[i];
		done += part.n;
	}
	return last;
}

int stage_write_out(const struct blkio *stage, uint64_t offset_bytes, size_t n, struct err *e)
{
	struct stage *s = stage->ctx;
	AUTO_FREE uint8_t *buf = malloc(n == 0 ? 1 : n);
	int rc;

	if (buf == NULL)
		return err_set(e, -ENOMEM, "stage over '%s': out of memory", s->base->name);
	rc = blkio_read(stage, offset_bytes, buf, n, e);
	if (rc == 0)
		rc = blkio_write(s->base, offset_bytes, buf, n, e);
	for (size_t done = 0; rc == 0 && done < n;) {
		struct stage_part part = stage_part_at(offset_bytes + done, n - done);
		struct stage_page *page = stage_find(s, part.index);

		if (page != NULL)
			stage_clean(s, page, stage_mask_whole(part.start, part.n));
		done += part.n;
	}
	return rc;
}

void stage_set_through(const struct blkio *stage, bool through)
{
	struct stage *s = stage->ctx;

	s->through = through;
}

uint64_t stage_bytes(const struct blkio *stage)
{
	const struct stage *s = stage->ctx;

	return s->dirty_sectors * STAGE_SECTOR;
}
