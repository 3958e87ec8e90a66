/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reuse.h"

#include <errno.h>
#include <stdlib.h>

enum kind { KIND_FREE, KIND_OWN, KIND_TAKEN, KIND_COUNT };

/* Where something begins or ends inside one extent. */
struct edge {
	size_t extent;
	uint64_t at_bytes;
	enum kind kind;
	int step; /* 1, -1 */
};

struct place { /* an extent by where it lies */
	uint64_t start, end;
	size_t extent;
};

struct reuse {
	uint64_t own_record;
	struct place *places; /* sorted */
	struct reuse_sums *sums;
	size_t count;         /* of both */
	struct edge *edges;
	size_t edge_count, edge_capacity;
	struct reuse_owner *owners;
	size_t owner_count, owner_capacity;
};

static int by_start(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

int reuse_new(const struct extent_list *extents, uint64_t own_record, struct reuse **ret, struct err *e)
{
	AUTO(reuse) struct reuse *r = calloc(1, sizeof(*r));

	if (r) {
		r->own_record = own_record;
		r->places = calloc(extents->count + 1, sizeof(*r->places));
		r->sums = calloc(extents->count + 1, sizeof(*r->sums));
	}
	if (!r || !r->places || !r->sums)
		return err_set(e, -ENOMEM, "look at the old clusters: out of memory");
	for (size_t i = 0; i < extents->count; i++) {
		const struct extent *x = &extents->items[i];

		r->places[i] = (struct place){ x->physical_bytes, x->physical_bytes + x->length_bytes, i };
	}
	r->count = extents->count;
	qsort(r->places, r->count, sizeof(*r->places), by_start);
	*ret = TAKE(r);
	return 0;
}

/* One more item's room behind the used ones. */
static int grow(void **items, size_t used, size_t *capacity, size_t size, struct err *e)
{
	size_t more = *capacity ? 2 * *capacity : 256;
	void *bigger;

	if (used < *capacity)
		return 0;
	bigger = reallocarray(*items, more, size);
	if (!bigger)
		return err_set(e, -ENOMEM, "look at the old clusters: out of memory");
	*items = bigger;
	*capacity = more;
	return 0;
}

static int add_edge(struct reuse *r, const struct edge *x, struct err *e)
{
	void *items = r->edges;
	int code = grow(&items, r->edge_count, &r->edge_capacity, sizeof(*r->edges), e);

	r->edges = items;
	if (!code)
		r->edges[r->edge_count++] = *x;
	return code;
}

/* A file's runs mostly come one behind the other. */
static int add_owner(struct reuse *r, uint64_t record, uint64_t bytes, struct err *e)
{
	void *items = r->owners;
	int code;

	if (r->owner_count && r->owners[r->owner_count - 1].record == record) {
		r->owners[r->owner_count - 1].bytes += bytes;
		return 0;
	}
	code = grow(&items, r->owner_count, &r->owner_capacity, sizeof(*r->owners), e);
	r->owners = items;
	if (!code)
		r->owners[r->owner_count++] = (struct reuse_owner){ record, bytes };
	return code;
}

/* The first place that ends behind an offset; r->count: none does. */
static size_t first_behind(const struct reuse *r, uint64_t offset)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->places[middle].end > offset)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static int add(struct reuse *r, enum kind kind, uint64_t record, uint64_t physical_bytes, uint64_t length_bytes, struct err *e)
{
	uint64_t end = length_bytes > UINT64_MAX - physical_bytes ? UINT64_MAX : physical_bytes + length_bytes;
	int code = 0;

	for (size_t i = first_behind(r, physical_bytes); !code && i < r->count && r->places[i].start < end; i++) {
		const struct place *p = &r->places[i];
		uint64_t from = p->start > physical_bytes ? p->start : physical_bytes, to = p->end < end ? p->end : end;

		if (from >= to)
			continue;
		code = add_edge(r, &(struct edge){ p->extent, from, kind, 1 }, e);
		if (!code)
			code = add_edge(r, &(struct edge){ p->extent, to, kind, -1 }, e);
		if (!code && kind == KIND_TAKEN)
			code = add_owner(r, record, to - from, e);
	}
	return code;
}

int reuse_add_free(struct reuse *r, uint64_t physical_bytes, uint64_t length_bytes, struct err *e)
{
	return add(r, KIND_FREE, REUSE_NO_RECORD, physical_bytes, length_bytes, e);
}

int reuse_add_run(struct reuse *r, uint64_t record, uint64_t physical_bytes, uint64_t length_bytes, struct err *e)
{
	return add(r, record == r->own_record ? KIND_OWN : KIND_TAKEN, record, physical_bytes, length_bytes, e);
}

static int by_place(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->extent != y->extent)
		return (x->extent > y->extent) - (x->extent < y->extent);
	return (x->at_bytes > y->at_bytes) - (x->at_bytes < y->at_bytes);
}

static int by_record(const void *a, const void *b)
{
	const struct reuse_owner *x = a, *y = b;

	return (x->record > y->record) - (x->record < y->record);
}

static int by_bytes(const void *a, const void *b)
{
	const struct reuse_owner *x = a, *y = b;

	return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes) : by_record(a, b);
}

static void count(struct reuse_sums *s, const int depth[KIND_COUNT], uint64_t bytes)
{
	if (depth[KIND_TAKEN] > 0)
		s->taken_bytes += bytes;
	else if (depth[KIND_FREE] > 0)
		s->free_bytes += bytes;
	else if (depth[KIND_OWN] > 0)
		s->kept_bytes += bytes;
	else
		s->unowned_bytes += bytes;
}

static void merge_owners(struct reuse *r)
{
	size_t kept = 0;

	if (r->owner_count)
		qsort(r->owners, r->owner_count, sizeof(*r->owners), by_record);
	for (size_t i = 0; i < r->owner_count; i++) {
		if (kept && r->owners[kept - 1].record == r->owners[i].record)
			r->owners[kept - 1].bytes += r->owners[i].bytes;
		else
			r->owners[kept++] = r->owners[i];
	}
	r->owner_count = kept;
	if (kept)
		qsort(r->owners, kept, sizeof(*r->owners), by_bytes);
}

/* The first edge of an extent, or of the next one that has any. */
static size_t first_edge(const struct reuse *r, size_t extent)
{
	size_t low = 0, high = r->edge_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->edges[middle].extent < extent)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void sweep(struct reuse *r, const struct place *p)
{
	int depth[KIND_COUNT] = { 0 };
	uint64_t at = p->start;

	for (size_t i = first_edge(r, p->extent); i < r->edge_count && r->edges[i].extent == p->extent; i++) {
		count(&r->sums[p->extent], depth, r->edges[i].at_bytes - at);
		depth[r->edges[i].kind] += r->edges[i].step;
		at = r->edges[i].at_bytes;
	}
	count(&r->sums[p->extent], depth, p->end - at);
}

void reuse_finish(struct reuse *r)
{
	if (r->edge_count)
		qsort(r->edges, r->edge_count, sizeof(*r->edges), by_place);
	for (size_t i = 0; i < r->count; i++)
		sweep(r, &r->places[i]);
	merge_owners(r);
}

struct reuse_sums reuse_of_extent(const struct reuse *r, size_t i)
{
	return r->sums[i];
}

struct reuse_sums reuse_all(const struct reuse *r)
{
	struct reuse_sums all = { 0 };

	for (size_t i = 0; i < r->count; i++) {
		all.free_bytes += r->sums[i].free_bytes;
		all.kept_bytes += r->sums[i].kept_bytes;
		all.taken_bytes += r->sums[i].taken_bytes;
		all.unowned_bytes += r->sums[i].unowned_bytes;
	}
	return all;
}

const struct reuse_owner *reuse_owners(const struct reuse *r, size_t *ret_count)
{
	*ret_count = r->owner_count;
	return r->owners;
}

void reuse_free(struct reuse *r)
{
	if (!r)
		return;
	free(r->places);
	free(r->sums);
	free(r->edges);
	free(r->owners);
	free(r);
}
