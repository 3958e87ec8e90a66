/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which volume holds a map's image, and what verdict that gives. Looks only. */
#include "boot_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "attach.h"
#include "image.h"
#include "verify.h"

/* One map on one volume. */
struct look {
	struct hostscan_device *device;
	struct verify_result result;
	struct map *successor; /* of the map, which is what the result is about; NULL: of the map itself */
	int code;       /* it could not be told */
	struct err why;
};

void boot_set_verdict(struct boot_map *m, enum verdict v, const char *what, const char *remedy)
{
	struct verdict_result *r = &m->verdict;

	*r = (struct verdict_result){ .verdict = v, .settled = v, .reason_count = 2 };
	(void)snprintf(r->reasons[0], VERDICT_REASON_TEXT, "%.255s", what);
	(void)snprintf(r->reasons[1], VERDICT_REASON_TEXT, "%.255s", remedy);
}

/* A copy that was put back has another MFT record: the map that 'wubi-disk map' left beside it is as good as ours. */
static void follow(struct look *l, const struct blkio *io, const struct map *m)
{
	struct verify_result next = { .volume = "" };
	AUTO(map) struct map *successor = NULL;
	struct err why = ERR_INIT;

	if (l->code || l->result.verdict.settled != VERDICT_REPLACED || image_successor(io, m, &successor, &why) || !successor ||
	    verify_volume(io, l->device->partuuid, successor, &next, &why))
		return;
	if (!verify_fits(&next)) {
		verify_result_clear(&next);
		return;
	}
	verify_result_clear(&l->result);
	l->result = next;
	l->successor = TAKE(successor);
}

static void look(struct hostscan_device *d, const struct map *m, struct look *ret)
{
	__attribute__((cleanup(auto_attach_volume))) struct attach_volume volume = { .io = NULL };
	const struct verdict_result *v = &ret->result.verdict;
	size_t used = strlen(d->text);

	*ret = (struct look){ .device = d };
	/* a member of a RAID set or a part of a dynamic disk may look whole, and must not be used alone: refused here */
	ret->code = attach_volume_open(d->path, &volume, &ret->why);
	if (!ret->code)
		ret->code = verify_volume(volume.io, d->partuuid, m, &ret->result, &ret->why);
	follow(ret, volume.io, m);
	(void)snprintf(d->text + used, sizeof(d->text) - used, "; %s: %s%s%s%s", m->name,
		       ret->successor ? "by the map beside the image: " : "", verdict_name(v->verdict),
		       ret->code || v->reason_count ? ": " : "",
		       ret->code ? ret->why.text : v->reason_count ? v->reasons[0] : "");
}

enum { TELLS_MISSING = 1, TELLS_ERROR, TELLS_VERDICT, TELLS_FIT };

/* How much a look says: a volume without the file least; then one that could not be read, which may well have it. */
static unsigned telling(const struct look *l)
{
	if (l->code)
		return TELLS_ERROR;
	if (l->result.verdict.verdict == VERDICT_MISSING)
		return TELLS_MISSING;
	return verify_fits(&l->result) ? TELLS_FIT : TELLS_VERDICT;
}

static bool has_serial(const struct look *l, const struct map *m)
{
	return l->device->boot.kind == BOOTSECT_NTFS && l->device->boot.serial == m->host.serial;
}

/* By both marks it is the very volume that the map was made on, whatever is on it now. */
static bool is_the_host(const struct look *l, const struct map *m)
{
	return m->host.partuuid[0] && !strcasecmp(l->device->partuuid, m->host.partuuid) &&
	       (has_serial(l, m) || l->device->boot.kind == BOOTSECT_BITLOCKER);
}

static void take(struct look *l, struct boot_map *m)
{
	m->code = l->code;
	m->verdict = l->result.verdict;
	m->suspended = l->result.suspended;
	(void)snprintf(m->volume, sizeof(m->volume), "%s", l->device->path);
	if (l->code) {
		(void)snprintf(m->refusal, sizeof(m->refusal), "%s", l->why.reason);
		boot_set_verdict(m, VERDICT_UNKNOWN, l->why.text,
				 "if it stays so, run chkdsk /f in Windows, and look at the disk's health");
		if (m->refusal[0])
			m->verdict.reason_count = 1; /* it says itself what to do */
		return;
	}
	if (l->successor) {
		map_free(m->map);
		m->map = TAKE(l->successor);
	}
	m->extents = l->result.extents;
	l->result.extents = (struct extent_list){ 0 };
}

/* Of two clones that differ in their serial numbers the one with the map's is meant: that is how a user keeps both. */
static struct look *find_clone(struct look *looks, size_t count, const struct look *best, const struct map *m)
{
	for (size_t i = 0; i < count; i++)
		if (&looks[i] != best && telling(&looks[i]) == TELLS_FIT && has_serial(&looks[i], m) == has_serial(best, m))
			return &looks[i];
	return NULL;
}

/* One fits; but another could be the same image's, and older or newer. */
static void warn_of_others(struct look *looks, size_t count, const struct look *best, struct boot_map *m)
{
	struct verdict_result *r = &m->verdict;

	for (size_t i = 0; i < count; i++) {
		struct look *l = &looks[i];

		if (l == best || r->reason_count == VERDICT_REASONS_MAX ||
		    (telling(l) != TELLS_ERROR && !(telling(l) == TELLS_VERDICT && is_the_host(l, m->map))))
			continue;
		(void)snprintf(r->reasons[r->reason_count++], VERDICT_REASON_TEXT, "%.90s may hold this image as well (%s): is "
			       "%.90s the one that you mean?", l->device->path,
			       verdict_name(l->result.verdict.verdict), m->volume);
	}
}

static void choose(struct look *looks, size_t count, struct boot_map *m)
{
	struct look *best = &looks[0];
	const struct look *clone = NULL;
	char what[2 * sizeof(best->device->path) + 64];

	for (size_t i = 1; i < count; i++) {
		unsigned more = telling(&looks[i]), most = telling(best);

		if (more > most || (more == most && has_serial(&looks[i], m->map) && !has_serial(best, m->map)))
			best = &looks[i];
	}
	m->found = telling(best) > TELLS_MISSING || is_the_host(best, m->map);
	m->retry = telling(best) == TELLS_ERROR;
	if (telling(best) == TELLS_FIT)
		clone = find_clone(looks, count, best, m->map);
	take(best, m);
	if (clone) {
		(void)snprintf(what, sizeof(what), "both %s and %s hold this image", best->device->path, clone->device->path);
		boot_set_verdict(m, VERDICT_AMBIGUOUS, what, "one is a clone of the other: unplug it, or give it a new serial "
				 "number (ntfslabel --new-serial)");
	} else if (telling(best) == TELLS_FIT) {
		warn_of_others(looks, count, best, m);
	}
}

static void forget(struct boot_map *m)
{
	extent_list_clear(&m->extents);
	m->found = m->retry = m->suspended = false;
	m->code = 0;
	m->volume[0] = m->refusal[0] = '\0';
}

static int decide_map(struct boot_result *r, struct boot_map *m, struct err *e)
{
	AUTO_FREE struct look *looks = calloc(r->seen.count + 1, sizeof(*looks));
	size_t count = 0;

	if (!looks)
		return err_set(e, -ENOMEM, "compare the volumes with the map '%s': out of memory", m->name);
	forget(m);
	for (size_t i = 0; i < r->seen.count; i++)
		if (hostscan_is_candidate(&r->seen.items[i], m->map))
			look(&r->seen.items[i], m->map, &looks[count++]);
	if (count)
		choose(looks, count, m);
	for (size_t i = 0; i < count; i++) {
		verify_result_clear(&looks[i].result);
		map_free(looks[i].successor);
	}
	return 0;
}

int boot_decide(struct boot_result *r, struct err *e)
{
	int code = 0;

	for (size_t i = 0; !code && i < r->count; i++)
		if (r->maps[i].map)
			code = decide_map(r, &r->maps[i], e);
	return code;
}
