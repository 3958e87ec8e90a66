/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extent.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "num.h"

/* Saturates: lists that nobody has checked yet come here too. */
static uint64_t physical_end(const struct extent *x)
{
	uint64_t end;

	return num_add(x->physical_bytes, x->length_bytes, &end) < 0 ? UINT64_MAX : end;
}

/* False: no memory, and the list is as it was. */
static bool reserve_one(struct extent_list *l)
{
	size_t capacity = l->capacity ? l->capacity * 2 : 16;
	struct extent *items;

	if (l->items && l->count < l->capacity)
		return true;
	items = reallocarray(l->items, capacity, sizeof(*items));
	if (!items)
		return false;
	l->items = items;
	l->capacity = capacity;
	return true;
}

int extent_list_append(struct extent_list *l, uint64_t physical_bytes, uint64_t length_bytes,
		       struct err *e)
{
	struct extent x = { 0, physical_bytes, length_bytes };
	struct extent *last = l->count ? &l->items[l->count - 1] : NULL;
	uint64_t end;

	if (length_bytes == 0)
		return 0;
	if (last && num_add(last->logical_bytes, last->length_bytes, &x.logical_bytes) < 0)
		return err_set(e, -EOVERFLOW, "the extents are longer than 2^64 bytes");
	if (num_add(physical_bytes, length_bytes, &end) < 0 ||
	    num_add(x.logical_bytes, length_bytes, &end) < 0)
		return err_set(e, -EOVERFLOW,
			       "extent at %" PRIu64 " of %" PRIu64 " bytes ends beyond 2^64 bytes",
			       physical_bytes, length_bytes);
	if (last && physical_end(last) == physical_bytes) {
		last->length_bytes += length_bytes;
		return 0;
	}
	return extent_list_push(l, &x, e);
}

int extent_list_push(struct extent_list *l, const struct extent *x, struct err *e)
{
	struct extent copy = *x; /* x may lie in the list, which may move */

	if (!reserve_one(l))
		return err_set(e, -ENOMEM, "out of memory for %zu extents and more", l->count);
	l->items[l->count++] = copy;
	return 0;
}

int extent_list_copy(const struct extent_list *l, struct extent_list *ret, struct err *e)
{
	struct extent_list copy = { NULL, l->count, l->count };

	if (l->count) {
		copy.items = reallocarray(NULL, l->count, sizeof(*copy.items));
		if (!copy.items)
			return err_set(e, -ENOMEM, "out of memory for %zu extents", l->count);
		memcpy(copy.items, l->items, l->count * sizeof(*copy.items));
	}
	extent_list_clear(ret);
	*ret = copy;
	return 0;
}

void extent_list_clear(struct extent_list *l)
{
	free(l->items);
	*l = (struct extent_list){ NULL, 0, 0 };
}

static int compare_physical(const void *a, const void *b)
{
	const struct extent *x = *(const struct extent *const *)a;
	const struct extent *y = *(const struct extent *const *)b;

	if (x->physical_bytes != y->physical_bytes)
		return x->physical_bytes < y->physical_bytes ? -1 : 1;
	return (x > y) - (x < y); /* both lie in one array: the order of the file */
}

/* Pointers to the extents that are not empty, by physical place. *ret is the caller's, free(). */
static int sort_by_place(const struct extent_list *l, const struct extent ***ret, size_t *ret_n,
			 struct err *e)
{
	const struct extent **sorted = reallocarray(NULL, l->count ? l->count : 1, sizeof(*sorted));
	size_t n = 0;

	if (!sorted)
		return err_set(e, -ENOMEM, "out of memory for %zu extents", l->count);
	for (size_t i = 0; i < l->count; i++) {
		if (l->items[i].length_bytes)
			sorted[n++] = &l->items[i];
	}
	qsort(sorted, n, sizeof(*sorted), compare_physical);
	*ret = sorted;
	*ret_n = n;
	return 0;
}

static int check_disjoint(const struct extent_list *l, struct err *e)
{
	AUTO_FREE const struct extent **sorted = NULL;
	size_t n = 0;
	int r = sort_by_place(l, &sorted, &n, e);

	if (r < 0)
		return r;
	for (size_t i = 1; i < n; i++) {
		if (physical_end(sorted[i - 1]) > sorted[i]->physical_bytes)
			return err_set(e, -EINVAL,
				       "extents %zu and %zu overlap at byte %" PRIu64 " of the "
										      "partition",
				       (size_t)(sorted[i - 1] - l->items),
				       (size_t)(sorted[i] - l->items), sorted[i]->physical_bytes);
	}
	return 0;
}

static int check_one(const struct extent_list *l, size_t i, uint64_t device_bytes,
		     uint32_t align_bytes, struct err *e)
{
	const struct extent *x = &l->items[i];
	const struct extent *before = i ? x - 1 : NULL;
	uint64_t expected = before ? before->logical_bytes + before->length_bytes : 0;
	uint64_t end;

	if (x->length_bytes == 0)
		return err_set(e, -EINVAL, "extent %zu is empty", i);
	if ((x->logical_bytes | x->physical_bytes | x->length_bytes) & (align_bytes - 1))
		return err_set(e, -EINVAL, "extent %zu is not aligned to %" PRIu32 " bytes", i,
			       align_bytes);
	if (x->logical_bytes != expected)
		return err_set(e, -EINVAL,
			       "extent %zu starts at byte %" PRIu64 " of the file instead of "
								    "%" PRIu64 " (%s)",
			       i, x->logical_bytes, expected,
			       x->logical_bytes > expected ? "a hole" : "an overlap");
	if (num_add(x->physical_bytes, x->length_bytes, &end) < 0 || end > device_bytes)
		return err_set(e, -EINVAL,
			       "extent %zu ends beyond the partition's %" PRIu64 " bytes", i,
			       device_bytes);
	if (num_add(x->logical_bytes, x->length_bytes, &end) < 0)
		return err_set(e, -EINVAL, "extent %zu ends beyond 2^64 bytes of the file", i);
	if (before && physical_end(before) == x->physical_bytes)
		return err_set(e, -EINVAL, "extents %zu and %zu touch but are not merged", i - 1,
			       i);
	return 0;
}

int extent_list_check(const struct extent_list *l, uint64_t file_bytes, uint64_t device_bytes,
		      uint32_t align_bytes, struct err *e)
{
	int r;

	if (!num_is_power_of_two(align_bytes))
		return err_set(e, -EINVAL, "alignment %" PRIu32 " is no power of two", align_bytes);
	if (l->count == 0)
		return err_set(e, -EINVAL, "there is no extent");
	for (size_t i = 0; i < l->count; i++) {
		r = check_one(l, i, device_bytes, align_bytes, e);
		if (r < 0)
			return r;
	}
	if (extent_list_bytes(l) != file_bytes)
		return err_set(e, -EINVAL,
			       "extents 0 to %zu add up to %" PRIu64 " bytes instead of %" PRIu64,
			       l->count - 1, extent_list_bytes(l), file_bytes);
	return check_disjoint(l, e);
}

bool extent_list_equal(const struct extent_list *a, const struct extent_list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct extent *x = &a->items[i];
		const struct extent *y = &b->items[i];

		if (x->logical_bytes != y->logical_bytes ||
		    x->physical_bytes != y->physical_bytes || x->length_bytes != y->length_bytes)
			return false;
	}
	return true;
}

bool extent_list_begins_with(const struct extent_list *l, const struct extent_list *start)
{
	if (l->count < start->count)
		return false;
	for (size_t i = 0; i < start->count; i++) {
		const struct extent *x = &l->items[i];
		const struct extent *y = &start->items[i];
		bool last = i + 1 == start->count;

		if (x->logical_bytes != y->logical_bytes || x->physical_bytes != y->physical_bytes ||
		    (last ? x->length_bytes < y->length_bytes : x->length_bytes != y->length_bytes))
			return false;
	}
	return true;
}

uint64_t extent_list_bytes(const struct extent_list *l)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->count; i++) {
		if (num_add(sum, l->items[i].length_bytes, &sum) < 0)
			return UINT64_MAX;
	}
	return sum;
}

bool extent_list_find(const struct extent_list *l, uint64_t logical_bytes, struct extent *ret)
{
	size_t low = 0;
	size_t high = l->count; /* the answer, if there is one, is in [low, high) */
	const struct extent *x;
	uint64_t skip;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (l->items[middle].logical_bytes <= logical_bytes)
			low = middle;
		else
			high = middle;
	}
	if (l->count == 0 || logical_bytes < l->items[low].logical_bytes)
		return false;
	x = &l->items[low];
	skip = logical_bytes - x->logical_bytes;
	if (skip >= x->length_bytes)
		return false;
	*ret = (struct extent){ logical_bytes, x->physical_bytes + skip, x->length_bytes - skip };
	return true;
}

int extent_list_overlaps(const struct extent_list *a, const struct extent_list *b, bool *ret,
			 struct err *e)
{
	AUTO_FREE const struct extent **x = NULL;
	AUTO_FREE const struct extent **y = NULL;
	size_t nx = 0;
	size_t ny = 0;
	size_t i = 0;
	size_t j = 0;
	int r = sort_by_place(a, &x, &nx, e);

	if (r == 0)
		r = sort_by_place(b, &y, &ny, e);
	if (r < 0)
		return r;
	while (i < nx && j < ny) {
		if (physical_end(x[i]) <= y[j]->physical_bytes)
			i++;
		else if (physical_end(y[j]) <= x[i]->physical_bytes)
			j++;
		else
			break;
	}
	*ret = i < nx && j < ny;
	return 0;
}

int extent_list_complement(const struct extent_list *l, uint64_t size_bytes, struct extent_list *ret,
			   struct err *e)
{
	__attribute__((cleanup(auto_extent_list))) struct extent_list rest = { NULL, 0, 0 };
	AUTO_FREE const struct extent **sorted = NULL;
	uint64_t at = 0;
	size_t n = 0;
	int r = sort_by_place(l, &sorted, &n, e);

	for (size_t i = 0; r == 0 && i <= n; i++) {
		uint64_t start = i < n ? sorted[i]->physical_bytes : size_bytes;
		uint64_t end = i < n ? physical_end(sorted[i]) : size_bytes;

		if (start > size_bytes)
			start = size_bytes;
		if (start > at) {
			const struct extent gap = { at, at, start - at };

			r = extent_list_push(&rest, &gap, e);
		}
		if (end > at)
			at = end;
	}
	if (r < 0)
		return r;
	extent_list_clear(ret);
	*ret = rest;
	rest = (struct extent_list){ NULL, 0, 0 };
	return 0;
}
