/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "boot_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "attach.h"
#include "dmlinear.h"
#include "dmnames.h"
#include "udevwatch.h"

void boot_say(const struct boot_params *par, enum boot_level level, const char *fmt, ...)
{
	char line[1024];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, args); /* a cut text is still a text */
	va_end(args);
	for (char *p = line; *p; p++)
		if (*p == '\n') /* of a file's name */
			*p = '?';
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

/* Why the image of loop= is not there: nothing is said to be missing that could not be looked at. */
static void give_up_loop(const struct boot_params *par, struct boot_result *r)
{
	struct boot_map *m = boot_add(par, r, "root", true);
	const struct err *why = &r->loop_problem;
	char what[VERDICT_REASON_TEXT];

	if (!m)
		return;
	if (why->code && !err_is_refusal(why) && why->code != -ENOENT) {
		m->code = why->code;
		boot_set_verdict(m, VERDICT_UNKNOWN, why->text,
				 "if it stays so, run chkdsk /f in Windows, and look at the disk's health");
		return;
	}
	(void)snprintf(what, sizeof(what), "no NTFS volume root=%.80s within %u s, which should hold %.100s", par->args->root,
		       par->timeout_s, par->args->loop);
	boot_set_verdict(m, why->code && err_is_refusal(why) ? VERDICT_FOREIGN : VERDICT_MISSING, why->code ? why->text : what,
			 "root=UUID= has to be the volume's serial number as blkid prints it, and loop= the image's path on it");
}

static void give_up_lost(const struct boot_params *par, struct boot_result *r)
{
	char what[VERDICT_REASON_TEXT];

	for (size_t i = 0; i < r->count; i++) {
		struct boot_map *m = &r->maps[i];

		if (!m->map || m->found || m->volume[0]) /* of one that was looked at there is a verdict */
			continue;
		(void)snprintf(what, sizeof(what), "no volume with PARTUUID %s or serial number %016" PRIx64 " within %u s",
			       m->map->host.partuuid[0] ? m->map->host.partuuid : "(none)", m->map->host.serial,
			       par->timeout_s);
		boot_set_verdict(m, VERDICT_MISSING, what,
				 "is the disk connected, and not formatted anew? for a slow one give wubi.timeout=SECONDS to the "
				 "kernel");
	}
	if (boot_wants_loop(par, r))
		give_up_loop(par, r);
}

static bool is_swap(const struct boot_map *m)
{
	return !strcmp(m->map->fs_type, "swap");
}

/* Everything is where the map says, so that a session that is resumed finds the devices it knew. */
static bool all_match(const struct boot_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->maps[i].verdict.verdict != VERDICT_MATCH)
			return false;
	return true;
}

/*
 * Could a hibernated session be resumed from it, whoever asks for that? By its header, or by the kernel's command line. The
 * kernel that comes back has the device-mapper tables of before.
 */
static bool holds_session(const struct bootargs *a, const struct boot_map *m)
{
	const char *wanted = dmnames_of_node(a->resume_device);

	if (m->suspended)
		return true;
	if (!a->resume)
		return false;
	if (is_swap(m) || a->resume_offset)
		return true;
	if (wanted)
		return !strcmp(wanted, m->name);
	return !strncmp(a->resume_device, "UUID=", 5) && m->map->fs_uuid[0] &&
	       !strcasecmp(a->resume_device + 5, m->map->fs_uuid);
}

static void refuse(struct boot_map *m, const char *reason, const char *what, const char *remedy)
{
	(void)snprintf(m->refusal, sizeof(m->refusal), "%s", reason);
	boot_set_verdict(m, m->verdict.verdict, what, remedy);
}

/* What the verdict allows a file system need not be enough for swap: nothing in it proves that it is whole. */
static bool may_attach(const struct boot_params *par, const struct boot_result *r, struct boot_map *m)
{
	if (m->refusal[0] || !attach_is_allowed(&m->verdict, boot_allows_unsettled(par, m)))
		return false;
	if (is_swap(m) && m->verdict.settled != VERDICT_MATCH)
		return false;
	if (holds_session(par->args, m) && !all_match(r)) {
		refuse(m, "resume", "a hibernated session may be in it, and not every image is where it was when Linux slept",
		       "boot with noresume on the kernel's command line, and 'mkswap' a swap that holds the session: the session "
		       "is lost, files are not");
		return false;
	}
	return true;
}

/* Do two maps lead to the same bytes? What cannot be compared here, device-mapper's own look finds. */
static bool overlap(const struct boot_map *a, const struct boot_map *b)
{
	bool same = false;

	if (!a->map || !b->map || a->refusal[0] || b->refusal[0] || strcmp(a->volume, b->volume) != 0)
		return false;
	(void)extent_list_overlaps(&a->extents, &b->extents, &same, NULL); /* out of memory: see above */
	return same;
}

static void refuse_overlap(const struct boot_map *first, struct boot_map *second)
{
	char what[VERDICT_REASON_TEXT];

	(void)snprintf(what, sizeof(what), "the maps '%s' and '%s' are of the same bytes of %.100s", first->name, second->name,
		       first->volume);
	refuse(second, "overlap", what, "remove the one that is not in use from /etc/wubi/maps, and rebuild the initramfs");
}

/* The one that root needs stays. Of two that it needs either will do, as with root=UUID=, where both are meant: "root" then. */
static bool stays(const struct boot_map *a, const struct boot_map *b)
{
	return a->needed != b->needed ? a->needed : strcmp(b->name, "root") != 0;
}

/* Nothing else may write where one of them does. */
static void refuse_overlaps(struct boot_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		for (size_t k = i + 1; k < r->count; k++) {
			struct boot_map *a = &r->maps[i], *b = &r->maps[k];
			bool first = stays(a, b);

			if (!overlap(a, b))
				continue;
			refuse_overlap(first ? a : b, first ? b : a);
			(first ? b : a)->needed = false;
		}
}

static int attach_one(const struct boot_params *par, struct boot_map *m, struct err *e)
{
	__attribute__((cleanup(auto_attach_volume))) struct attach_volume v = { .io = NULL };
	const struct attach_request req = { .map = m->map, .allow_unsettled = boot_allows_unsettled(par, m) };
	char name[ATTACH_NAME_MAX];
	int code = attach_volume_open(m->volume, &v, e);

	if (!code)
		code = attach_run(&v, &req, &m->extents, name, e);
	if (!code)
		(void)snprintf(m->device, sizeof(m->device), DMNAMES_FOLDER "%s", name);
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
	(void)snprintf(m->device, sizeof(m->device), DMNAMES_FOLDER "%.48s", active);
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

/* A map that nobody can read might be root's: then root is what waits for it in vain. */
static bool is_grave(const struct boot_result *r, const struct boot_map *m)
{
	bool known = false;

	for (size_t i = 0; i < r->count; i++)
		known = known || r->maps[i].needed;
	return m->needed || (!m->map && !known);
}

static void say_refused(const struct boot_params *par, const struct boot_result *r, const struct boot_map *m)
{
	enum boot_level level = is_grave(r, m) ? BOOT_ERROR : BOOT_WARN;
	bool lost = m->verdict.verdict == VERDICT_MISSING && !m->volume[0]; /* then nothing can be said of its clusters */
	const char *risk = m->refusal[0] || lost ? "" : verdict_risk(m->verdict.verdict);

	boot_say(par, level, "%s: not attached: %s%s%s", m->name, m->refusal[0] ? m->refusal : verdict_name(m->verdict.verdict),
		 m->volume[0] ? ", on " : "", m->volume);
	if (risk[0])
		boot_say(par, level, "  risk: %s", risk);
	say_reasons(par, level, &m->verdict);
	if (m->verdict.verdict == VERDICT_UNSETTLED && m->needed && !m->derived && attach_is_allowed(&m->verdict, true))
		boot_say(par, level, "  the runs are the map's: wubi.unsettled=allow on the kernel's command line goes on, at "
			 "your own risk, see wubi(7)");
}

/* What can be done about a refusal by device-mapper, there and then. */
static const char *remedy_of(const char *reason)
{
	static const struct {
		const char *reason, *remedy;
	} remedies[] = {
		{ "busy", "'dmsetup ls --tree' and 'cat /proc/mounts' say what holds it; end that, then run wubi-attach again" },
		{ "exists", "'dmsetup info' shows it; 'dmsetup remove' what is not of this map, then run wubi-attach again" },
		{ "read-only", "a switch on the disk or card, or a failing disk? nothing can be written to it" },
		{ "changed", "start again; if it stays so, look at the disk's health" },
	};

	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
		if (!strcmp(reason, remedies[i].reason))
			return remedies[i].remedy;
	return "look at 'dmesg', then run wubi-attach again";
}

static void attach_map(const struct boot_params *par, struct boot_result *r, struct boot_map *m)
{
	struct err why = ERR_INIT;

	if (is_active(m)) {
		boot_say(par, BOOT_INFO, "%s: %s is active already", m->name, m->device);
		return;
	}
	if (!m->map || !may_attach(par, r, m)) {
		say_refused(par, r, m);
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
	refuse(m, why.reason[0] ? why.reason : "failed", why.text, remedy_of(why.reason));
	say_refused(par, r, m);
}

/*
 * The verdicts are all known before the first device is made: what one map says may decide about another. Root first, so that
 * no other map's device is in its way; swap last.
 */
static void attach_all(const struct boot_params *par, struct boot_result *r)
{
	refuse_overlaps(r);
	for (unsigned pass = 0; pass < 3; pass++)
		for (size_t i = 0; i < r->count; i++) {
			struct boot_map *m = &r->maps[i];

			if (pass == (m->needed ? 0 : !m->map || !is_swap(m) ? 1 : 2))
				attach_map(par, r, m);
		}
}

/* Everybody who looks for a disk that is not found wants to know what is there. */
static void say_seen(const struct boot_params *par, const struct boot_result *r)
{
	bool lost = false;

	for (size_t i = 0; i < r->count; i++)
		lost = lost || (r->maps[i].needed && r->maps[i].verdict.verdict == VERDICT_MISSING);
	for (size_t i = 0; i < r->seen.count; i++)
		boot_say(par, lost ? BOOT_WARN : BOOT_INFO, "%s: %s", r->seen.items[i].path, r->seen.items[i].text);
}

static int status_of(const struct boot_params *par, struct boot_result *r, struct err *e)
{
	for (size_t i = 0; i < r->count; i++) {
		struct boot_map *m = &r->maps[i];
		const char *why = m->verdict.reason_count ? m->verdict.reasons[0] : "";
		char reason[ERR_REASON_MAX];

		if (!m->needed || m->device[0] || (par->dry_run && may_attach(par, r, m)))
			continue;
		if ((m->verdict.verdict == VERDICT_UNKNOWN && !m->refusal[0]) || !strcmp(m->refusal, "failed"))
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
		code = boot_wait(par, ret, e);
	if (!code) {
		give_up_lost(par, ret);
		say_seen(par, ret);
		attach_all(par, ret);
		code = status_of(par, ret, e);
	}
	ret->elapsed_ms = udevwatch_now_ms() - start;
	return code;
}
