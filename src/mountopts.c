/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mountopts.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "num.h"

#define ITEM_MAX 64             /* longer than any option that is known */
#define COMMIT_DEFAULT_S 5U     /* JBD2_DEFAULT_MAX_COMMIT_AGE */
#define COMMIT_MAX_S 300U       /* longer is a mistake: so much is lost */
#define ALLOWED                                                                                                  \
	"allowed are sync or async, commit=1 to commit=300, barrier, auto_da_alloc or noauto_da_alloc, "         \
	"delalloc or nodelalloc, lazytime or nolazytime, data=ordered, data=writeback or data=journal, "         \
	"journal_async_commit"

/* Options of one group exclude each other. Groups from DATA on: the first mount alone decides. */
enum group { SYNC, COMMIT, BARRIER, DA_ALLOC, DELALLOC, LAZYTIME, DATA, ASYNC_COMMIT, GROUPS };
#define FIRST_MOUNT_GROUP DATA

/*
 * fs/ext4/super.c. On a remount 'data=' is an error ("Cannot change data mode on remount"), and journal_async_commit is taken
 * without effect: the journal's feature is set when it is loaded. dirsync is not here: there is no option that takes it back.
 */
static const struct option {
	const char *text;
	const char *same_as;    /* another spelling of that one */
	enum group group;
	bool is_default;        /* what is in force when the kernel shows none of the group */
	bool breaks_fsync;
} table[] = {
	{ "async", NULL, SYNC, true, false },
	{ "sync", NULL, SYNC, false, false },
	{ "barrier", NULL, BARRIER, true, false },
	{ "barrier=1", "barrier", BARRIER, false, false },
	{ "nobarrier", NULL, BARRIER, false, true },
	{ "barrier=0", "nobarrier", BARRIER, false, true },
	{ "auto_da_alloc", NULL, DA_ALLOC, true, false },
	{ "noauto_da_alloc", NULL, DA_ALLOC, false, false },
	{ "delalloc", NULL, DELALLOC, true, false },
	{ "nodelalloc", NULL, DELALLOC, false, false },
	{ "nolazytime", NULL, LAZYTIME, true, false },
	{ "lazytime", NULL, LAZYTIME, false, false },
	{ "data=ordered", NULL, DATA, true, false },
	{ "data=writeback", NULL, DATA, false, false },
	{ "data=journal", NULL, DATA, false, false },
	{ "journal_async_commit", NULL, ASYNC_COMMIT, false, false },
};
static const struct option commit = { "commit=", NULL, COMMIT, false, false };

static const struct option *find_option(const char *item)
{
	if (!strncmp(item, commit.text, strlen(commit.text)))
		return &commit;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(item, table[i].text))
			return &table[i];
	return NULL;
}

/* What is between two commas; one that is too long is cut, and then no option that is known. False at the end. */
static bool next_item(const char **at, char ret[ITEM_MAX])
{
	size_t n = strcspn(*at, ",");

	if (!**at)
		return false;
	(void)snprintf(ret, ITEM_MAX, "%.*s", (int)(n < ITEM_MAX ? n : ITEM_MAX - 1), *at);
	*at += n;
	if (**at)
		(*at)++;
	return true;
}

/* Seconds of "commit=N"; 0 is the default, as the kernel takes it, and what is no number as well. */
static uint64_t commit_s(const char *item)
{
	uint64_t s;

	return num_parse_u64(item + strlen(commit.text), &s, NULL) == 0 && s > 0 ? s : COMMIT_DEFAULT_S;
}

/* One spelling of an option, so that two can be compared. */
static void spell(const struct option *o, const char *item, char ret[ITEM_MAX])
{
	if (o->group == COMMIT)
		(void)snprintf(ret, ITEM_MAX, "commit=%llu", (unsigned long long)commit_s(item));
	else
		(void)snprintf(ret, ITEM_MAX, "%s", o->same_as ? o->same_as : o->text);
}

/* What is in force of a group by what is shown, where the last one counts. "": nothing of it, as for journal_async_commit. */
static void in_force(enum group group, const char *shown, char ret[ITEM_MAX])
{
	char item[ITEM_MAX];

	ret[0] = '\0';
	if (group == COMMIT)
		(void)snprintf(ret, ITEM_MAX, "commit=%u", COMMIT_DEFAULT_S);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].group == group && table[i].is_default)
			(void)snprintf(ret, ITEM_MAX, "%s", table[i].text);
	while (next_item(&shown, item)) {
		const struct option *o = find_option(item);

		if (o && o->group == group)
			spell(o, item, ret);
	}
}

static int append(char list[MOUNTOPTS_TEXT], const char *item, struct err *e)
{
	size_t used = strlen(list);
	int n = snprintf(list + used, MOUNTOPTS_TEXT - used, "%s%s", used ? "," : "", item);

	return n >= 0 && (size_t)n < MOUNTOPTS_TEXT - used ? 0 : err_set(e, -EINVAL, "mount options are too long");
}

static int check_item(const char *item, const struct option *o, struct err *e)
{
	uint64_t s;

	if (!*item)
		return err_set(e, -EINVAL, "there is a comma too many, " ALLOWED);
	if (!o)
		return err_set(e, -EINVAL, "'%s' is no option that a profile can have, " ALLOWED, item);
	if (o->breaks_fsync)
		return err_set(e, -EINVAL,
			       "'%s' is not allowed, a power cut would take what fsync has said is on the disk; " ALLOWED, item);
	if (o->group == COMMIT && (num_parse_u64(item + strlen(commit.text), &s, NULL) || s < 1 || s > COMMIT_MAX_S))
		return err_set(e, -EINVAL, "'%s' has a bad value, allowed is commit=1 to commit=%u, in seconds", item,
			       COMMIT_MAX_S);
	return 0;
}

/* With these a mount fails, and at boot that is no root file system. */
static int check_together(const char *options, struct err *e)
{
	char data[ITEM_MAX], async_commit[ITEM_MAX], item[ITEM_MAX];

	in_force(DATA, options, data);
	in_force(ASYNC_COMMIT, options, async_commit);
	if (async_commit[0] && !strcmp(data, "data=ordered"))
		return err_set(e, -EINVAL,
			       "'journal_async_commit' cannot be mounted with data=ordered, which is the default; allowed is "
			       "it with data=writeback or data=journal");
	while (next_item(&options, item))
		if (!strcmp(item, "delalloc") && !strcmp(data, "data=journal"))
			return err_set(e, -EINVAL, "'delalloc' cannot be mounted with data=journal; allowed is one of the two");
	return 0;
}

/* vm.dirtytime_expire_seconds: no 'loss' of seconds is kept with it. */
static int check_lazytime(const char *options, struct err *e)
{
	char times[ITEM_MAX];

	in_force(LAZYTIME, options, times);
	if (strcmp(times, "lazytime") != 0 || mountopts_is_sync(options))
		return 0;
	return err_set(e, -EINVAL,
		       "'lazytime' keeps a file's times in memory for up to a day, however short the profile's times are; "
		       "allowed is nolazytime, or lazytime with sync, which does not promise them without fsync");
}

int mountopts_check(const char *options, struct err *e)
{
	char item[ITEM_MAX], seen[GROUPS][ITEM_MAX] = { "" };
	const char *at = options;
	size_t n = strlen(options);
	int code;

	if (n >= MOUNTOPTS_TEXT)
		return err_set(e, -EINVAL, "more than %d characters of mount options, " ALLOWED, MOUNTOPTS_TEXT - 1);
	if (n > 0 && options[n - 1] == ',')
		return check_item("", NULL, e);
	while (next_item(&at, item)) {
		const struct option *o = find_option(item);

		code = check_item(item, o, e);
		if (code)
			return code;
		if (seen[o->group][0])
			return err_set(e, -EINVAL, "'%s' and '%s' are about the same, allowed is one of the two", seen[o->group],
				       item);
		(void)snprintf(seen[o->group], ITEM_MAX, "%s", item);
	}
	code = check_together(options, e);
	return code ? code : check_lazytime(options, e);
}

unsigned mountopts_commit_ms(const char *shown)
{
	char item[ITEM_MAX];
	uint64_t s;

	in_force(COMMIT, shown, item);
	s = commit_s(item);
	return s > UINT_MAX / 1000 ? UINT_MAX : (unsigned)s * 1000;
}

bool mountopts_is_sync(const char *shown)
{
	char item[ITEM_MAX];

	in_force(SYNC, shown, item);
	return !strcmp(item, "sync");
}

bool mountopts_has_barriers(const char *shown)
{
	char item[ITEM_MAX];

	in_force(BARRIER, shown, item);
	return !strcmp(item, "barrier");
}

int mountopts_split(const char *options, char ret_remount[MOUNTOPTS_TEXT], char ret_first[MOUNTOPTS_TEXT], struct err *e)
{
	char item[ITEM_MAX], remount[MOUNTOPTS_TEXT] = "", first[MOUNTOPTS_TEXT] = "";
	int code = mountopts_check(options, e);

	while (!code && next_item(&options, item))
		code = append(find_option(item)->group >= FIRST_MOUNT_GROUP ? first : remount, item, e);
	if (code)
		return code;
	memcpy(ret_remount, remount, sizeof(remount));
	memcpy(ret_first, first, sizeof(first));
	return 0;
}

int mountopts_wanted(const char *options, char ret[MOUNTOPTS_TEXT], struct err *e)
{
	char remount[MOUNTOPTS_TEXT], first[MOUNTOPTS_TEXT];
	int code = mountopts_split(options, remount, first, e);

	if (!code && !mountopts_is_about(remount, "barrier"))
		code = append(remount, "barrier", e);
	if (!code)
		memcpy(ret, remount, sizeof(remount));
	return code;
}

bool mountopts_is_about(const char *list, const char *option)
{
	const struct option *o = find_option(option), *other;
	char item[ITEM_MAX];

	while (o && next_item(&list, item)) {
		other = find_option(item);
		if (other && other->group == o->group)
			return true;
	}
	return false;
}

bool mountopts_contradict(const char *a, const char *b)
{
	char item[ITEM_MAX], one[ITEM_MAX], other[ITEM_MAX];

	while (next_item(&a, item)) {
		const struct option *o = find_option(item);

		if (!o || !mountopts_is_about(b, item))
			continue;
		spell(o, item, one);
		in_force(o->group, b, other);
		if (strcmp(one, other) != 0)
			return true;
	}
	return false;
}

int mountopts_missing(const char *wanted, const char *shown, char ret[MOUNTOPTS_TEXT], struct err *e)
{
	char item[ITEM_MAX], want[ITEM_MAX], have[ITEM_MAX], missing[MOUNTOPTS_TEXT] = "";
	int code = mountopts_check(wanted, e);

	while (!code && next_item(&wanted, item)) {
		const struct option *o = find_option(item);

		spell(o, item, want);
		in_force(o->group, shown, have);
		if (strcmp(want, have) != 0)
			code = append(missing, item, e);
	}
	if (!code)
		memcpy(ret, missing, sizeof(missing));
	return code;
}

int mountopts_back(const char *now, const char *saved, char ret[MOUNTOPTS_TEXT], struct err *e)
{
	char was[ITEM_MAX], is[ITEM_MAX], back[MOUNTOPTS_TEXT] = "";
	int code = 0;

	for (int group = 0; !code && group < FIRST_MOUNT_GROUP; group++) {
		in_force((enum group)group, saved, was);
		in_force((enum group)group, now, is);
		if (strcmp(was, is) != 0)
			code = append(back, was, e);
	}
	if (!code)
		memcpy(ret, back, sizeof(back));
	return code;
}
