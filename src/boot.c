/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "boot_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "attach.h"
#include "dmlinear.h"
#include "udevwatch.h"

#define POLL_MS 1000        /* between events: one could be lost */
#define SETTLE_MS 5000      /* how long udev may take to come to rest when all is found already */
#define NOTE_EVERY_MS 10000

void boot_say(const struct boot_params *par, enum boot_level level, const char *fmt, ...)
{
	char line[1024];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, args); /* a cut text is still a text */
	va_end(args);
	par->say(par->ctx, level, line);
}

void boot_result_clear(struct boot_result *r)
{
	for (size_t i = 0; i < r->count; i++) {
		map_free(r->maps[i].map);
		extent_list_clear(&r->maps[i].extents);
	}
	hostscan_clear(&r->seen);
	memset(r, 0, sizeof(*r));
}

const char *boot_host(const struct boot_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->maps[i].needed && r->maps[i].device[0])
			return r->maps[i].volume;
	for (size_t i = 0; i < r->count; i++)
		if (r->maps[i].device[0])
			return r->maps[i].volume;
	return "";
}

/* ---- waiting ---- */

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

static bool same_devices(const struct hostscan *a, const struct hostscan *b)
{
	bool same = a->count == b->count;

	for (size_t i = 0; same && i < a->count; i++)
		same = a->items[i].device == b->items[i].device && a->items[i].boot.serial == b->items[i].boot.serial &&
		       a->items[i].boot.kind == b->items[i].boot.kind &&
		       !strcmp(a->items[i].partuuid, b->items[i].partuuid);
	return same;
}

/* One look at what is plugged in. The maps are compared again only when something changed. */
static int look_around(const struct boot_params *par, struct boot_result *r, struct err *e)
{
	__attribute__((cleanup(auto_hostscan))) struct hostscan now = { .count = 0 };
	int code = hostscan_run(wants_partuuid(par, r), &now, e);

	if (code || (r->seen.count && same_devices(&now, &r->seen)))
		return code;
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
		boot_say(par, BOOT_WAIT, "waiting for the volume of '%s' (PARTUUID %s, serial number %016" PRIx64 "), %llu s left",
			 m->name, m->map->host.partuuid[0] ? m->map->host.partuuid : "none", m->map->host.serial, left_s);
	else if (boot_wants_loop(par, r))
		boot_say(par, BOOT_WAIT, "waiting for the volume root=%.80s with %.200s, %llu s left", par->args->root,
			 par->args->loop, left_s);
	else
		boot_say(par, BOOT_WAIT, "waiting for udev");
}

static int wait_for_hosts(const struct boot_params *par, struct boot_result *r, struct err *e)
{
	const uint64_t start = udevwatch_now_ms(), deadline = start + par->timeout_s * UINT64_C(1000);
	uint64_t note = start + NOTE_EVERY_MS / 10; /* the first soon: somebody sits in front of it */
	AUTO(udevwatch) struct udevwatch *w = NULL;
	int code = udevwatch_open(&w, e);

	while (!code) {
		uint64_t now, left;
		bool lost, busy;

		code = look_around(par, r, e);
		now = udevwatch_now_ms();
		lost = first_lost(r) || boot_wants_loop(par, r);
		busy = udevwatch_is_busy(w) && now < start + SETTLE_MS;
		if (code || now >= deadline || (!lost && !busy))
			break;
		left = deadline - now;
		if (now >= note) {
			say_waiting(par, r, left);
			note = now + NOTE_EVERY_MS;
		}
		(void)udevwatch_wait(w, left < POLL_MS ? (unsigned)left : POLL_MS);
	}
	return code;
}

/* ---- the end of waiting ---- */

static void give_up_lost(const struct boot_params *par, struct boot_result *r)
{
	char what[VERDICT_REASON_TEXT];

	for (size_t i = 0; i < r->count; i++) {
		struct boot_map *m = &r->maps[i];

		if (!m->map || m->found)
			continue;
		(void)snprintf(what, sizeof(what), "no volume with PARTUUID %s or serial number %016" PRIx64 " within %u s",
			       m->map->host.partuuid[0] ? m->map->host.partuuid : "(none)", m->map->host.serial,
			       par->timeout_s);
		boot_set_verdict(m, VERDICT_MISSING, what,
				 "is the disk connected, and not formatted anew? for a slow one give wubi.timeout=SECONDS to the kernel");
	}
	if (boot_wants_loop(par, r)) {
		struct boot_map *m = boot_add(par, r, "root");

		if (!m)
			return;
		m->needed = true;
		(void)snprintf(what, sizeof(what), "no NTFS volume root=%.80s within %u s, which should hold %.100s",
			       par->args->root, par->timeout_s, par->args->loop);
		boot_set_verdict(m, VERDICT_MISSING, what,
				 "root=UUID= has to be the volume's serial number as blkid prints it; see wubi(7)");
	}
}

static bool is_swap(const struct boot_map *m)
{
	return !strcmp(m->map->fs_type, "swap");
}

/* Everything but swap is where the map says, so that a session that is resumed finds the devices it knew. */
static bool all_match(const struct boot_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->maps[i].verdict.verdict != VERDICT_MATCH)
			return false;
	return true;
}

/* What the verdict allows a file system need not be enough for swap: nothing in it proves that it is whole. */
static bool may_attach(const struct boot_params *par, const struct boot_result *r, struct boot_map *m)
{
	enum verdict settled = m->verdict.settled;

	if (!m->map || !attach_is_allowed(&m->verdict, par->args->allow_unsettled))
		return false;
	if (is_swap(m) && settled != VERDICT_MATCH)
		return false;
	if (is_swap(m) && par->args->resume && !all_match(r)) {
		boot_set_verdict(m, m->verdict.verdict, "resume= is given, and not every image is where it was when Linux slept",
				 "the session in it cannot be resumed; swap is off until the next boot without resume=");
		return false;
	}
	return true;
}

static int attach_one(const struct boot_params *par, struct boot_map *m, struct err *e)
{
	__attribute__((cleanup(auto_attach_volume))) struct attach_volume v = { .io = NULL };
	const struct attach_request req = { .map = m->map, .allow_unsettled = par->args->allow_unsettled };
	char name[ATTACH_NAME_MAX];
	int code = attach_volume_open(m->volume, &v, e);

	if (!code)
		code = attach_run(&v, &req, &m->extents, name, e);
	if (!code)
		(void)snprintf(m->device, sizeof(m->device), "/dev/mapper/%s", name);
	return code;
}

/* It is there from an earlier run, whatever the verdict would be by now. */
static bool is_active(struct boot_map *m)
{
	char name[ATTACH_NAME_MAX], uuid[ATTACH_UUID_MAX], active[128] = "";

	if (!m->map)
		return false;
	attach_names(m->map, name, uuid);
	if (dmlinear_find_uuid(uuid, active, NULL) || !active[0])
		return false;
	(void)snprintf(m->device, sizeof(m->device), "/dev/mapper/%.48s", active);
	return true;
}

static void say_reasons(const struct boot_params *par, enum boot_level level, const struct verdict_result *r)
{
	for (size_t i = 0; i < r->reason_count; i++)
		boot_say(par, level, "  %s", r->reasons[i]);
}

static void say_attached(const struct boot_params *par, const struct boot_map *m)
{
	/* a match has one reason; another one tells of a PARTUUID that has changed, or of a name that has a twin */
	bool plain = m->verdict.verdict == VERDICT_MATCH && m->verdict.reason_count <= 1;
	enum boot_level level = plain ? BOOT_INFO : BOOT_WARN;

	boot_say(par, level, "%s: %s, %s on %s (%zu extent%s)", m->name, verdict_name(m->verdict.verdict), m->device, m->volume,
		 m->extents.count, m->extents.count == 1 ? "" : "s");
	if (level == BOOT_WARN)
		say_reasons(par, level, &m->verdict);
}

static void say_refused(const struct boot_params *par, const struct boot_map *m)
{
	enum boot_level level = m->needed ? BOOT_ERROR : BOOT_WARN;

	boot_say(par, level, "%s: not attached: %s%s%s", m->name, m->refusal[0] ? m->refusal : verdict_name(m->verdict.verdict),
		 m->volume[0] ? ", on " : "", m->volume);
	say_reasons(par, level, &m->verdict);
	if (m->verdict.verdict == VERDICT_UNSETTLED && m->needed && attach_is_allowed(&m->verdict, true))
		boot_say(par, level, "  the runs are the map's: wubi.unsettled=allow on the kernel's command line goes on, at your own "
			 "risk, see wubi(7)");
}

static void attach_map(const struct boot_params *par, struct boot_result *r, struct boot_map *m)
{
	struct err why = ERR_INIT;

	if (is_active(m)) {
		boot_say(par, BOOT_INFO, "%s: %s is active already", m->name, m->device);
		return;
	}
	if (!may_attach(par, r, m)) {
		say_refused(par, m);
		return;
	}
	if (par->dry_run) {
		boot_say(par, BOOT_INFO, "%s: %s, would be attached on %s", m->name, verdict_name(m->verdict.verdict), m->volume);
		return;
	}
	m->code = attach_one(par, m, &why);
	if (!m->code) {
		say_attached(par, m);
		return;
	}
	(void)snprintf(m->refusal, sizeof(m->refusal), "%s", why.reason[0] ? why.reason : "failed");
	boot_set_verdict(m, m->verdict.verdict, why.text, "see 'what you see' in wubi(7) and /run/wubi/boot.log");
	say_refused(par, m);
}

/* The verdicts are all known before the first device is made: what one map says may decide about another. */
static void attach_all(const struct boot_params *par, struct boot_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->maps[i].map && !is_swap(&r->maps[i]))
			attach_map(par, r, &r->maps[i]);
		else if (!r->maps[i].map)
			say_refused(par, &r->maps[i]);
	for (size_t i = 0; i < r->count; i++)
		if (r->maps[i].map && is_swap(&r->maps[i]))
			attach_map(par, r, &r->maps[i]);
}

static void say_seen(const struct boot_params *par, const struct boot_result *r)
{
	bool needs = false;

	for (size_t i = 0; i < r->count; i++)
		needs = needs || (r->maps[i].needed && r->maps[i].map && !r->maps[i].device[0] && !r->maps[i].found);
	for (size_t i = 0; i < r->seen.count; i++)
		boot_say(par, needs && !par->dry_run ? BOOT_ERROR : BOOT_INFO, "  %s: %s", r->seen.items[i].path,
			 r->seen.items[i].text);
}

static int status_of(const struct boot_params *par, const struct boot_result *r, struct err *e)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct boot_map *m = &r->maps[i];
		const char *why = m->verdict.reason_count ? m->verdict.reasons[0] : "";
		char reason[ERR_REASON_MAX];

		if (!m->needed || m->device[0] || (par->dry_run && attach_is_allowed(&m->verdict, par->args->allow_unsettled)))
			continue;
		if (m->verdict.verdict == VERDICT_UNKNOWN || (m->code && !strcmp(m->refusal, "failed")))
			return err_set(e, m->code ? m->code : -EIO, "%s: %s", m->name, why);
		(void)snprintf(reason, sizeof(reason), "%s%s", m->refusal[0] ? "" : "verdict-",
			       m->refusal[0] ? m->refusal : verdict_name(m->verdict.verdict));
		return err_refuse(e, reason, "%s: %s", m->name, why);
	}
	return 0;
}

int boot_run(const struct boot_params *par, struct boot_result *ret, struct err *e)
{
	const uint64_t start = udevwatch_now_ms();
	int code;

	memset(ret, 0, sizeof(*ret));
	if (par->args->off) {
		boot_say(par, BOOT_INFO, "off by the kernel's command line");
		return 0;
	}
	code = boot_load_maps(par, ret, e);
	if (!code && (ret->count || boot_wants_loop(par, ret)))
		code = wait_for_hosts(par, ret, e);
	if (!code) {
		give_up_lost(par, ret);
		attach_all(par, ret);
		say_seen(par, ret);
		code = status_of(par, ret, e);
	}
	ret->elapsed_ms = udevwatch_now_ms() - start;
	return code;
}
