/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Until every map's host is there, or the time is over. */
#include "boot_private.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "udevwatch.h"

#define POLL_MS 1000        /* between events: one could be lost, and an error could have passed */
#define SETTLE_MS 5000      /* how long udev may take to come to rest after the last device came */
#define LATE_AFTER_MS 1000  /* a device that comes later than this may have a second one behind it: a hub, a dock ... */
#define LATE_QUIET_MS 2000  /* ... which this long is waited for */
#define RETRY_MS 10000      /* a volume that cannot be read is tried again this long */
#define NOTE_FIRST_MS 1000  /* soon: somebody sits in front of it */
#define NOTE_EVERY_MS 10000

static bool wants_partuuid(const struct boot_params *par, const struct boot_result *r)
{
	bool wanted = !strncmp(par->args->root, "PARTUUID=", 9);

	for (size_t i = 0; i < r->count; i++)
		wanted = wanted || (r->maps[i].map && r->maps[i].map->host.partuuid[0]);
	return wanted;
}

/* The first map whose host has not been seen. */
static const struct boot_map *first_lost(const struct boot_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->maps[i].map && !r->maps[i].found)
			return &r->maps[i];
	return NULL;
}

static bool wants_retry(const struct boot_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->maps[i].retry)
			return true;
	return false;
}

static bool same_devices(const struct hostscan *a, const struct hostscan *b)
{
	bool same = a->count == b->count;

	for (size_t i = 0; same && i < a->count; i++)
		same = a->items[i].device == b->items[i].device && a->items[i].boot.serial == b->items[i].boot.serial &&
		       a->items[i].boot.kind == b->items[i].boot.kind && !strcmp(a->items[i].partuuid, b->items[i].partuuid);
	return same;
}

/* One look at what is plugged in. The maps are compared again only when something changed, or could not be read. */
static int look_around(const struct boot_params *par, struct boot_result *r, bool *ret_changed, struct err *e)
{
	__attribute__((cleanup(auto_hostscan))) struct hostscan now = { .count = 0 };
	int code = hostscan_run(wants_partuuid(par, r), &r->seen, &now, e);

	if (code)
		return code;
	*ret_changed = !same_devices(&now, &r->seen);
	if (!*ret_changed && !wants_retry(r) && !r->loop_problem.code)
		return 0;
	hostscan_clear(&r->seen);
	r->seen = now;
	now = (struct hostscan){ .count = 0 };
	if (boot_wants_loop(par, r))
		code = boot_derive_map(par, r, e);
	return code ? code : boot_decide(r, e);
}

static void say_waiting(const struct boot_params *par, const struct boot_result *r, uint64_t left_ms)
{
	const struct boot_map *m = first_lost(r);
	unsigned long long left_s = (left_ms + 999) / 1000;

	if (m)
		boot_say(par, BOOT_WAIT, "waiting for the volume of '%s' (PARTUUID %s, serial number %016" PRIx64
			 "), %llu s left", m->name, m->map->host.partuuid[0] ? m->map->host.partuuid : "none",
			 m->map->host.serial, left_s);
	else if (boot_wants_loop(par, r))
		boot_say(par, BOOT_WAIT, "waiting for the volume root=%.80s with %.200s, %llu s left", par->args->root,
			 par->args->loop, left_s);
	else
		boot_say(par, BOOT_WAIT, wants_retry(r) ? "trying again to read a volume" : "waiting for udev");
}

struct clock {
	uint64_t start, deadline, last_change, note; /* ms, see udevwatch_now_ms() */
};

/* Is there a reason to wait on? */
static bool goes_on(const struct boot_params *par, const struct boot_result *r, const struct udevwatch *w, const struct clock *c,
		    uint64_t now)
{
	if (now >= c->deadline)
		return false;
	if (first_lost(r) || boot_wants_loop(par, r) || (wants_retry(r) && now < c->start + RETRY_MS))
		return true;
	if (c->last_change > c->start + LATE_AFTER_MS && now < c->last_change + LATE_QUIET_MS)
		return true;
	return w && udevwatch_is_busy(w) && now < c->last_change + SETTLE_MS;
}

static void pause_ms(struct udevwatch *w, unsigned ms)
{
	const struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

	if (w)
		(void)udevwatch_wait(w, ms);
	else
		(void)nanosleep(&t, NULL); /* cut short is fine */
}

int boot_wait(const struct boot_params *par, struct boot_result *r, struct err *e)
{
	AUTO(udevwatch) struct udevwatch *w = NULL;
	struct clock c = { .start = udevwatch_now_ms() };
	struct err why = ERR_INIT;
	bool changed;
	int code;

	c.deadline = c.start + par->timeout_s * UINT64_C(1000);
	c.note = c.start + NOTE_FIRST_MS;
	if (udevwatch_open(&w, &why)) /* without events it takes a second longer */
		boot_say(par, BOOT_INFO, "%s: looking once a second", why.text);
	while (!(code = look_around(par, r, &changed, e))) {
		uint64_t now = udevwatch_now_ms(), left;

		if (changed)
			c.last_change = now;
		if (!goes_on(par, r, w, &c, now))
			break;
		left = c.deadline - now;
		if (now >= c.note) {
			say_waiting(par, r, left);
			c.note = now + NOTE_EVERY_MS;
		}
		pause_ms(w, left < POLL_MS ? (unsigned)left : POLL_MS);
	}
	return code;
}
