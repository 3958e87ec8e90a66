/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which volume holds a map's image, and what verdict that gives. Looks only. */
#include "boot_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filedev.h"
#include "verify.h"

/* One map on one volume. */
struct look {
	struct hostscan_device *device;
	struct verify_result result;
	int code;        /* it could not be told */
	char why[VERDICT_REASON_TEXT];
};

void boot_set_verdict(struct boot_map *m, enum verdict v, const char *what, const char *remedy)
{
	struct verdict_result *r = &m->verdict;

	*r = (struct verdict_result){ .verdict = v, .settled = v, .reason_count = 2 };
	(void)snprintf(r->reasons[0], VERDICT_REASON_TEXT, "%.255s", what);
	(void)snprintf(r->reasons[1], VERDICT_REASON_TEXT, "%.255s", remedy);
}

static void look(struct hostscan_device *d, const struct map *m, struct look *ret)
{
	AUTO(blkio) struct blkio *io = NULL;
	struct err why = ERR_INIT;
	size_t used = strlen(d->text);

	*ret = (struct look){ .device = d };
	ret->code = filedev_open(d->path, FILEDEV_READ, &io, &why);
	if (!ret->code)
		ret->code = verify_volume(io, d->partuuid, m, &ret->result, &why);
	if (ret->code)
		(void)snprintf(ret->why, sizeof(ret->why), "%.255s", why.text);
	(void)snprintf(d->text + used, sizeof(d->text) - used, "; %s: %s%s%s", m->name,
		       verdict_name(ret->result.verdict.verdict), ret->code || ret->result.verdict.reason_count ? ": " : "",
		       ret->code ? ret->why : ret->result.verdict.reason_count ? ret->result.verdict.reasons[0] : "");
}

/* Of those that do not fit, the one that says most: a file that is not right before a volume without it, an error last. */
static unsigned telling(const struct look *l)
{
	if (l->code)
		return 0;
	if (l->result.verdict.verdict == VERDICT_MISSING)
		return 1;
	return verify_fits(&l->result) ? 3 : 2;
}

static void take(struct look *l, struct boot_map *m)
{
	m->code = l->code;
	m->verdict = l->result.verdict;
	(void)snprintf(m->volume, sizeof(m->volume), "%s", l->device->path);
	if (l->code) {
		boot_set_verdict(m, VERDICT_UNKNOWN, l->why,
				 "if it stays so, run chkdsk /f in Windows, and look at the disk's health");
		return;
	}
	m->extents = l->result.extents;
	l->result.extents = (struct extent_list){ 0 };
}

static void choose(struct look *looks, size_t count, struct boot_map *m)
{
	struct look *best = &looks[0], *other = NULL;
	char what[2 * sizeof(best->device->path) + 64];

	for (size_t i = 1; i < count; i++) {
		if (telling(&looks[i]) == 3 && telling(best) == 3)
			other = &looks[i];
		else if (telling(&looks[i]) > telling(best))
			best = &looks[i];
	}
	take(best, m);
	if (!other)
		return;
	(void)snprintf(what, sizeof(what), "both %s and %s hold this image", best->device->path, other->device->path);
	boot_set_verdict(m, VERDICT_AMBIGUOUS, what,
			 "one is a clone of the other: unplug it, or give it a new serial number (ntfslabel --new-serial)");
}

static int decide_map(struct boot_result *r, struct boot_map *m, struct err *e)
{
	AUTO_FREE struct look *looks = calloc(r->seen.count + 1, sizeof(*looks));
	size_t count = 0;

	if (!looks)
		return err_set(e, -ENOMEM, "compare the volumes with the map '%s': out of memory", m->name);
	extent_list_clear(&m->extents);
	for (size_t i = 0; i < r->seen.count; i++)
		if (hostscan_is_candidate(&r->seen.items[i], m->map))
			look(&r->seen.items[i], m->map, &looks[count++]);
	m->found = count > 0;
	if (count)
		choose(looks, count, m);
	for (size_t i = 0; i < count; i++)
		verify_result_clear(&looks[i].result);
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
