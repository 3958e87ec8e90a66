/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a map shall become. No I/O. */
#include "maprefresh.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static void __attribute__((format(printf, 3, 4)))
say(struct maprefresh_item *item, enum maprefresh_action action, const char *fmt, ...)
{
	va_list args;

	item->action = action;
	va_start(args, fmt);
	(void)vsnprintf(item->text, sizeof(item->text), fmt, args); /* a cut text is still a text */
	va_end(args);
}

static void refuse(struct maprefresh_item *item, const char *reason, const char *text, const char *remedy)
{
	(void)snprintf(item->reason, sizeof(item->reason), "%s", reason);
	say(item, MAPREFRESH_REFUSE, "%s%s%s", text, remedy[0] ? "; " : "", remedy);
}

static void refuse_verdict(struct maprefresh_item *item, const struct verdict_result *r)
{
	char reason[ERR_REASON_MAX];

	(void)snprintf(reason, sizeof(reason), "verdict-%s", verdict_name(r->verdict));
	refuse(item, reason, r->reason_count ? r->reasons[0] : verdict_name(r->verdict),
	       r->reason_count > 1 ? r->reasons[r->reason_count - 1] : "");
}

/* A PARTUUID that is not known now is no change. */
static const char *host_change(const struct map_host *was, const struct map_host *now)
{
	if (was->serial != now->serial)
		return "the volume's serial number";
	if (now->partuuid[0] && strcasecmp(was->partuuid, now->partuuid) != 0)
		return "the partition's PARTUUID";
	return was->partition_bytes != now->partition_bytes ? "the partition's size" : NULL;
}

static int renew(const struct verify_result *seen, const struct map_host *host, struct map *m, struct err *e)
{
	int code = extent_list_copy(&seen->extents, &m->extents, e);

	if (code)
		return code;
	if (!++m->generation)
		return err_set(e, -EOVERFLOW, "map '%s': the generation is at its end", m->name);
	m->size_bytes = extent_list_bytes(&m->extents);
	m->host.serial = host->serial;
	m->host.partition_bytes = host->partition_bytes;
	if (host->partuuid[0])
		(void)snprintf(m->host.partuuid, sizeof(m->host.partuuid), "%s", host->partuuid);
	return 0;
}

static int decide_match(const struct verify_result *seen, const struct map_host *host, struct maprefresh_item *item,
			struct err *e)
{
	const char *change = host_change(&item->map->host, host);

	if (!change) {
		say(item, MAPREFRESH_KEEP, "the map is right");
		return 0;
	}
	say(item, MAPREFRESH_WRITE, "%s is not the map's any more", change);
	return renew(seen, host, item->map, e);
}

static int decide_moved(const struct verify_result *seen, const struct map_host *host, struct maprefresh_item *item,
			struct err *e)
{
	say(item, MAPREFRESH_WRITE, "the image was moved: it lies in %zu extent%s now", seen->extents.count,
	    seen->extents.count == 1 ? "" : "s");
	return renew(seen, host, item->map, e);
}

static int decide_grown(const struct verify_result *seen, const struct map_host *host, struct maprefresh_item *item,
			struct err *e)
{
	say(item, MAPREFRESH_WRITE, "the image has grown: it lies in %zu extent%s now", seen->extents.count,
	    seen->extents.count == 1 ? "" : "s");
	return renew(seen, host, item->map, e);
}

int maprefresh_decide(const struct verify_result *seen, const struct extent_list *active, const struct map_host *host,
		      struct maprefresh_item *item, struct err *e)
{
	const struct verdict_result *r = &seen->verdict;

	if (seen->extents.count && !extent_list_equal(&seen->extents, active)) {
		refuse(item, "changed", "the running system writes to other clusters than the volume gives to the image now",
		       "shut this system down at once, save nothing, and look at the volume with 'wubi-disk verify' from a live "
		       "system");
		return 0;
	}
	switch (r->verdict) {
	case VERDICT_MATCH:
		return decide_match(seen, host, item, e);
	case VERDICT_MOVED:
		if (r->attachable)
			return decide_moved(seen, host, item, e);
		break;
	case VERDICT_GROWN:
		return decide_grown(seen, host, item, e);
	case VERDICT_RENAMED:
	case VERDICT_ORPHANED:
		say(item, MAPREFRESH_KEEP, "%s", r->reason_count ? r->reasons[0] : verdict_name(r->verdict));
		return 0;
	case VERDICT_UNSETTLED:
		/* booted by wubi.unsettled=allow: nothing is written, and nothing needs to be */
		if (r->settled != VERDICT_MATCH || host_change(&item->map->host, host))
			break;
		say(item, MAPREFRESH_KEEP, "the map is right, but Windows has to settle the volume: %s", r->reasons[0]);
		return 0;
	default:
		break;
	}
	refuse_verdict(item, r);
	return 0;
}
