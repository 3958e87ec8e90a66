/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "mountopts.h"
#include "num.h"

#define PAGES_MIN 2                             /* mm/page-writeback.c, dirty_bytes_min */
#define DISK_BYTES_MIN (UINT64_C(16) * NUM_MIB) /* less makes a disk wait between two pieces of work */
#define DISK_MEMORY_PART 5                      /* and not more than a fifth of the memory, however fast the disk */
#define AMOUNT_ALLOWED                                                                                              \
	"allowed are bytes (64MiB, 64MB, 67108864), per cent of the memory (20%%), or the time that this disk needs to write " \
	"it (8s, 500ms)"
#define TIME_ALLOWED "allowed are whole seconds (5s) and milliseconds (500ms), in steps of 10ms"

static const char *const phase_names[PROFILE_PHASES] = { [PROFILE_NORMAL] = "normal", [PROFILE_ISO_COPY] = "iso-copy" };

const char *profile_phase_name(enum profile_phase p)
{
	return phase_names[p];
}

bool profile_phase_parse(const char *name, enum profile_phase *ret)
{
	for (int i = 0; i < PROFILE_PHASES; i++) {
		if (!strcmp(name, phase_names[i])) {
			*ret = (enum profile_phase)i;
			return true;
		}
	}
	return false;
}

bool profile_name_is_valid(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n < PROFILE_NAME_MAX && name[0] >= 'a' && name[0] <= 'z' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

/* The number in front of a unit. -EINVAL: none, or not as one writes it; -ERANGE. */
static int leading_number(const char *text, const char **ret_unit, uint64_t *ret)
{
	size_t n = strspn(text, "0123456789");
	char digits[24];

	if (n >= sizeof(digits))
		return text[0] == '0' ? -EINVAL : -ERANGE;
	memcpy(digits, text, n);
	digits[n] = '\0';
	*ret_unit = text + n;
	return num_parse_u64(digits, ret, NULL);
}

/* -EINVAL: no time. */
static int parse_time(const char *text, uint64_t *ret_ms)
{
	const char *unit;
	uint64_t value = 0;
	int code = leading_number(text, &unit, &value);

	if (code)
		return code;
	if (!strcmp(unit, "s"))
		return num_mul(value, 1000, ret_ms) ? -ERANGE : 0;
	*ret_ms = value;
	return strcmp(unit, "ms") != 0 ? -EINVAL : 0;
}

int profile_parse_amount(const char *text, struct profile_amount *ret, struct err *e)
{
	struct profile_amount a = { PROFILE_BYTES, 0 };
	const char *unit = "";
	int code = leading_number(text, &unit, &a.value);
	size_t n = strlen(text);

	if (n > 0 && text[n - 1] == 's') {
		a.unit = PROFILE_DISK_MS;
		code = parse_time(text, &a.value);
	} else if (n > 0 && text[n - 1] == '%') {
		a.unit = PROFILE_PERCENT;
		if (!code && strcmp(unit, "%") != 0)
			code = -EINVAL;
	} else {
		code = num_parse_bytes(text, &a.value, NULL);
	}
	if (code == -ERANGE)
		return err_set(e, code, "'%.40s' is too large, " AMOUNT_ALLOWED, text);
	if (code)
		return err_set(e, code, "'%.40s' is not understood, " AMOUNT_ALLOWED, text);
	*ret = a;
	return 0;
}

int profile_parse_ms(const char *text, unsigned *ret_ms, struct err *e)
{
	uint64_t ms;
	int code = parse_time(text, &ms);

	if (!code && ms > UINT_MAX)
		code = -ERANGE;
	if (code == -ERANGE)
		return err_set(e, code, "'%.40s' is too large, " TIME_ALLOWED, text);
	if (code || ms % 10 != 0)
		return err_set(e, -EINVAL, "'%.40s' is not understood, " TIME_ALLOWED, text);
	*ret_ms = (unsigned)ms;
	return 0;
}

const char *profile_format_amount(const struct profile_amount *a, char buf[PROFILE_AMOUNT_TEXT])
{
	static const char *const units[] = { "", "KiB", "MiB", "GiB", "TiB", "PiB" };
	uint64_t value = a->value;
	size_t unit = 0;

	if (a->unit == PROFILE_PERCENT) {
		(void)snprintf(buf, PROFILE_AMOUNT_TEXT, "%" PRIu64 "%%", value);
	} else if (a->unit == PROFILE_DISK_MS) {
		bool whole = value % 1000 == 0;

		(void)snprintf(buf, PROFILE_AMOUNT_TEXT, "%" PRIu64 "%s", whole ? value / 1000 : value, whole ? "s" : "ms");
	} else {
		for (; value > 0 && value % 1024 == 0 && unit + 1 < sizeof(units) / sizeof(units[0]); value /= 1024)
			unit++;
		(void)snprintf(buf, PROFILE_AMOUNT_TEXT, "%" PRIu64 "%s", value, units[unit]);
	}
	return buf;
}

static const char *format_ms(uint64_t ms, char buf[PROFILE_AMOUNT_TEXT])
{
	return profile_format_amount(&(struct profile_amount){ PROFILE_DISK_MS, ms }, buf);
}

static int check_amount(const char *key, const struct profile_amount *a, uint64_t page_bytes, struct err *e)
{
	char text[PROFILE_AMOUNT_TEXT];

	profile_format_amount(a, text);
	if (a->unit == PROFILE_PERCENT && (a->value < 1 || a->value > 100))
		return err_set(e, -EINVAL, "%s: '%s' is no share of the memory, allowed is 1%% to 100%%", key, text);
	if (a->unit == PROFILE_BYTES && a->value < PAGES_MIN * page_bytes)
		return err_set(e, -EINVAL, "%s: '%s' is less than two pages of memory, allowed is %" PRIu64 " bytes or more", key,
			       text, PAGES_MIN * page_bytes);
	if (a->unit == PROFILE_DISK_MS && (a->value < 1 || a->value > PROFILE_CENTISECS_MAX * UINT64_C(10)))
		return err_set(e, -EINVAL, "%s: '%s' is no time to write in, allowed is 1ms to 3600s", key, text);
	return 0;
}

static int check_interval(const char *key, unsigned cs, struct err *e)
{
	char text[PROFILE_AMOUNT_TEXT];

	if (cs >= 1 && cs <= PROFILE_CENTISECS_MAX)
		return 0;
	return err_set(e, -EINVAL, "%s: '%s' is no interval, allowed is 10ms to 3600s", key, format_ms(cs * UINT64_C(10), text));
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return num_add(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return num_mul(a, b, &product) ? UINT64_MAX : product;
}

/*
 * From the moment at which a write was given to the disk to its being durable, in units of which a full limit takes 'queue'. The
 * commit of the journal that makes it durable can have to wait for the one before, and each commit for two queues: for the
 * journal's blocks, and behind them for its own data. Measured: tests/power.
 */
static uint64_t until_flush(uint64_t queue, uint64_t commit)
{
	uint64_t before = times(queue, 2);

	return add_up(before > commit ? before : commit, before);
}

static int check_loss(const struct profile *p, struct err *e)
{
	char loss[PROFILE_AMOUNT_TEXT], least[PROFILE_AMOUNT_TEXT];
	uint64_t queue_ms = p->dirty.unit == PROFILE_DISK_MS ? p->dirty.value : 0;
	uint64_t least_ms = ((uint64_t)p->expire_cs + p->writeback_cs) * 10 + queue_ms +
			    until_flush(queue_ms, mountopts_commit_ms(p->mount));

	if (mountopts_is_sync(p->mount))
		return 0;
	format_ms(least_ms, least);
	if (p->loss_ms == 0)
		return err_set(e, -EINVAL, "loss: '0s' takes 'sync' among the mount options; without it, allowed is %s or more",
			       least);
	if (p->loss_ms < least_ms)
		return err_set(e, -EINVAL, "loss: '%s' is less than expire, writeback, commit%s take, allowed is %s or more",
			       format_ms(p->loss_ms, loss), p->dirty.unit == PROFILE_DISK_MS ? " and dirty" : "", least);
	return 0;
}

int profile_check(const struct profile *p, uint64_t page_bytes, struct err *e)
{
	char dirty[PROFILE_AMOUNT_TEXT], background[PROFILE_AMOUNT_TEXT];
	int code;

	if (!profile_name_is_valid(p->name))
		return err_set(e, -EINVAL, "name: '%s' is no name of a profile, " PROFILE_NAME_ALLOWED, p->name);
	code = mountopts_check(p->mount, e);
	if (code)
		return err_wrap(e, code, "mount");
	code = check_amount("dirty", &p->dirty, page_bytes, e);
	if (!code)
		code = check_amount("background", &p->background, page_bytes, e);
	if (!code && p->background.unit == p->dirty.unit && p->background.value >= p->dirty.value)
		return err_set(e, -EINVAL,
			       "background: '%s' is not below dirty '%s', and the kernel would take half of that instead; "
			       "allowed is less than '%s'",
			       profile_format_amount(&p->background, background), profile_format_amount(&p->dirty, dirty), dirty);
	if (!code)
		code = check_interval("expire", p->expire_cs, e);
	if (!code)
		code = check_interval("writeback", p->writeback_cs, e);
	return code ? code : check_loss(p, e);
}

static uint64_t percent_of(uint64_t bytes, uint64_t percent)
{
	return bytes / 100 * percent + bytes % 100 * percent / 100;
}

/* What the disk writes in a time, in whole pages, within bounds. */
static uint64_t disk_bytes(uint64_t ms, const struct profile_machine *m)
{
	uint64_t most = m->memory_bytes / DISK_MEMORY_PART, bytes;

	bytes = num_mul(m->disk_bytes_per_s, ms, &bytes) ? UINT64_MAX : bytes / 1000;
	if (bytes < DISK_BYTES_MIN)
		bytes = DISK_BYTES_MIN;
	if (bytes > most)
		bytes = most;
	return bytes - bytes % m->page_bytes;
}

/* A pair's two values. half_bytes: not above that, where the disk's speed decides. */
static int resolve_amount(const struct profile_amount *a, const struct profile_machine *m, uint64_t half_bytes, uint64_t ret[2],
			  struct err *e)
{
	char text[PROFILE_AMOUNT_TEXT];
	uint64_t bytes = a->value;

	if (a->unit == PROFILE_DISK_MS && m->disk_bytes_per_s == 0)
		return err_set(e, -ENODATA,
			       "'%s' of what this disk writes: its speed is not known, run 'wubi-profile measure' first",
			       profile_format_amount(a, text));
	if (a->unit == PROFILE_DISK_MS) {
		bytes = disk_bytes(a->value, m);
		if (bytes > half_bytes)
			bytes = half_bytes - half_bytes % m->page_bytes;
	}
	ret[0] = a->unit == PROFILE_PERCENT ? 0 : bytes;
	ret[1] = a->unit == PROFILE_PERCENT ? a->value : 0;
	return 0;
}

/* A limit in bytes; the kernel takes per cent of less than all of the memory, so this is the most that it can be. */
static uint64_t limit_bytes(uint64_t bytes, uint64_t ratio, const struct profile_machine *m)
{
	return bytes ? bytes : percent_of(m->memory_bytes, ratio);
}

int profile_resolve(const struct profile *p, const struct profile_machine *m, struct profile_knobs *ret, struct err *e)
{
	struct profile_knobs k = { .expire_cs = p->expire_cs, .writeback_cs = p->writeback_cs };
	uint64_t dirty[2], background[2];
	int code = resolve_amount(&p->dirty, m, UINT64_MAX, dirty, e);

	if (code)
		return err_wrap(e, code, "profile '%s': dirty", p->name);
	code = resolve_amount(&p->background, m, limit_bytes(dirty[0], dirty[1], m) / 2, background, e);
	if (code)
		return err_wrap(e, code, "profile '%s': background", p->name);
	k.dirty_bytes = dirty[0];
	k.dirty_ratio = dirty[1];
	k.background_bytes = background[0];
	k.background_ratio = background[1];
	code = profile_knobs_check(&k, m, e);
	if (code)
		return err_wrap(e, code, "profile '%s'", p->name);
	*ret = k;
	return 0;
}

static int check_pair(const char *name, uint64_t bytes, uint64_t ratio, const struct profile_machine *m, struct err *e)
{
	if (!bytes == !ratio)
		return err_set(e, -EINVAL,
			       "vm.%s_bytes %" PRIu64 " and vm.%s_ratio %" PRIu64 ": allowed is one of them, and the other 0",
			       name, bytes, name, ratio);
	if (bytes && bytes < PAGES_MIN * m->page_bytes)
		return err_set(e, -EINVAL,
			       "vm.%s_bytes %" PRIu64 " is less than two pages of memory, allowed is %" PRIu64 " or more", name,
			       bytes, PAGES_MIN * m->page_bytes);
	if (ratio > 100)
		return err_set(e, -EINVAL, "vm.%s_ratio %" PRIu64 " is above 100", name, ratio);
	return 0;
}

int profile_knobs_check(const struct profile_knobs *k, const struct profile_machine *m, struct err *e)
{
	uint64_t limit = limit_bytes(k->dirty_bytes, k->dirty_ratio, m);
	uint64_t background = limit_bytes(k->background_bytes, k->background_ratio, m);
	int code = check_pair("dirty", k->dirty_bytes, k->dirty_ratio, m, e);

	if (!code)
		code = check_pair("dirty_background", k->background_bytes, k->background_ratio, m, e);
	if (code)
		return code;
	if (k->dirty_ratio && k->background_ratio ? k->background_ratio >= k->dirty_ratio : background >= limit)
		return err_set(e, -EINVAL, "the background limit of %" PRIu64 " bytes is not below the limit of %" PRIu64
			       " bytes on this machine, and the kernel would take half of that instead", background, limit);
	return 0;
}

bool profile_knobs_equal(const struct profile_knobs *a, const struct profile_knobs *b)
{
	return a->dirty_bytes == b->dirty_bytes && a->dirty_ratio == b->dirty_ratio &&
	       a->background_bytes == b->background_bytes && a->background_ratio == b->background_ratio &&
	       a->expire_cs == b->expire_cs && a->writeback_cs == b->writeback_cs;
}

static const struct {
	const char *name;
	size_t offset; /* of the uint64_t in struct profile_knobs */
} knob_table[PROFILE_KNOBS] = {
	[PROFILE_DIRTY_BYTES] = { "dirty_bytes", offsetof(struct profile_knobs, dirty_bytes) },
	[PROFILE_DIRTY_RATIO] = { "dirty_ratio", offsetof(struct profile_knobs, dirty_ratio) },
	[PROFILE_BACKGROUND_BYTES] = { "dirty_background_bytes", offsetof(struct profile_knobs, background_bytes) },
	[PROFILE_BACKGROUND_RATIO] = { "dirty_background_ratio", offsetof(struct profile_knobs, background_ratio) },
	[PROFILE_EXPIRE] = { "dirty_expire_centisecs", offsetof(struct profile_knobs, expire_cs) },
	[PROFILE_WRITEBACK] = { "dirty_writeback_centisecs", offsetof(struct profile_knobs, writeback_cs) },
};

const char *profile_knob_name(int knob)
{
	return knob_table[knob].name;
}

uint64_t profile_knob_get(const struct profile_knobs *k, int knob)
{
	uint64_t value;

	memcpy(&value, (const char *)k + knob_table[knob].offset, sizeof(value));
	return value;
}

void profile_knob_put(struct profile_knobs *k, int knob, uint64_t value)
{
	memcpy((char *)k + knob_table[knob].offset, &value, sizeof(value));
}

void profile_window(const struct profile_knobs *k, const struct profile_machine *m, const char *mount_shown,
		    struct profile_window *ret)
{
	uint64_t limit = limit_bytes(k->dirty_bytes, k->dirty_ratio, m), speed = m->disk_bytes_per_s, queue_ms = 0;
	uint64_t commit_ms = mountopts_commit_ms(mount_shown), ms = times(add_up(k->expire_cs, k->writeback_cs), 10);

	if (speed > 0)
		queue_ms = add_up(times(limit / speed, 1000), times(limit % speed, 1000) / speed + (limit % speed != 0));
	ms = add_up(ms, add_up(queue_ms, until_flush(queue_ms, commit_ms)));
	if (k->writeback_cs == 0)
		ms = UINT64_MAX; /* the flusher never wakes up by itself: nothing is written because it is old */
	ret->fsync_is_durable = mountopts_has_barriers(mount_shown);
	ret->calls_are_durable = mountopts_is_sync(mount_shown) && ret->fsync_is_durable;
	ret->ms = ms;
	/* what the disk takes until its flush lies in its own cache */
	ret->bytes = add_up(limit, until_flush(limit, times(speed / 1000, commit_ms)));
	ret->speed_is_known = speed > 0;
}
