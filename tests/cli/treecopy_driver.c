/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * treecopy_driver - the modules of the copy from a command line.
 *
 *   measure SOURCE [--exclude PATH]...
 *   copy SOURCE TARGET [--exclude PATH]... [--threads N] [--verify] [--between COMMAND] [--progress] [--cancel-at BYTES]
 *   medium FOLDER FILE...
 *   iso FILE
 *
 * --between: run by sh after the copy and before the check. Exit status: 0, 1 failed, 2 usage, 3 refused, 4 cancelled.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/mediumsum.h"
#include "../../src/treecopy.h"

#define EXCLUDES_MAX 32

struct options {
	const char *exclude[EXCLUDES_MAX + 1];
	size_t exclude_count;
	unsigned threads;
	bool is_verified, has_progress;
	const char *between;
	unsigned long long cancel_at;
};

static int finish(int code, const struct err *e)
{
	if (!code)
		return 0;
	fprintf(stderr, "%s%s%s\n", e->reason, e->reason[0] ? ": " : "", e->text);
	if (err_is_refusal(e))
		return 3;
	return code == -ECANCELED ? 4 : 1;
}

static int step(void *ctx, const char *phase, uint64_t done_bytes, uint64_t total_bytes)
{
	struct options *o = ctx;

	if (o->has_progress) {
		printf("progress %s %llu %llu\n", phase[0] == 'c' && phase[1] == 'o' && phase[2] == 'p' ? "copy" : "other",
		       (unsigned long long)done_bytes, (unsigned long long)total_bytes);
		(void)fflush(stdout);
	}
	return o->cancel_at && done_bytes >= o->cancel_at;
}

static void show(const char *what, const struct treecopy_totals *t)
{
	printf("%s files=%llu folders=%llu content=%llu disk=%llu\n", what, (unsigned long long)t->files,
	       (unsigned long long)t->folders, (unsigned long long)t->content_bytes, (unsigned long long)t->disk_bytes);
	(void)fflush(stdout);
}

static int copy(const char *source, const char *target, struct options *o)
{
	AUTO(treecopy_record) struct treecopy_record *record = NULL;
	struct progress p = { step, o };
	struct treecopy_totals totals;
	struct err e = ERR_INIT;
	int code = treecopy_measure(source, o->exclude, NULL, &totals, &e);
	struct treecopy_params par = { source, target, o->threads, o->exclude, totals.content_bytes };

	if (!code)
		code = treecopy_run(&par, &p, &record, &totals, &e);
	if (!code)
		show("copied", &totals);
	if (!code && o->between && system(o->between) != 0)
		return 2;
	if (!code && o->is_verified)
		code = treecopy_verify(record, target, o->threads, &p, &e);
	return finish(code, &e);
}

static int measure(const char *source, const struct options *o)
{
	struct treecopy_totals totals;
	struct err e = ERR_INIT;
	int code = treecopy_measure(source, o->exclude, NULL, &totals, &e);

	if (!code)
		show("measured", &totals);
	return finish(code, &e);
}

static int medium(const char *folder, char **files, int count)
{
	struct err e = ERR_INIT;
	size_t checked = 0;
	int code = mediumsum_check(folder, (const char *const *)files, (size_t)count, NULL, &checked, &e);

	if (!code)
		printf("checked=%zu\n", checked);
	return finish(code, &e);
}

static int iso(const char *path)
{
	struct err e = ERR_INIT;
	bool is_listed = false;
	int code = mediumsum_check_iso(path, NULL, &is_listed, &e);

	if (!code)
		printf("listed=%d\n", is_listed);
	return finish(code, &e);
}

static bool parse(int argc, char **argv, struct options *o)
{
	static const struct option rows[] = {
		{ "exclude", required_argument, NULL, 'x' }, { "threads", required_argument, NULL, 't' },
		{ "verify", no_argument, NULL, 'v' },	     { "between", required_argument, NULL, 'b' },
		{ "progress", no_argument, NULL, 'p' },	     { "cancel-at", required_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", rows, NULL)) != -1) {
		if (c == 'x' && o->exclude_count < EXCLUDES_MAX)
			o->exclude[o->exclude_count++] = optarg;
		else if (c == 't')
			o->threads = (unsigned)strtoul(optarg, NULL, 10);
		else if (c == 'b')
			o->between = optarg;
		else if (c == 'c')
			o->cancel_at = strtoull(optarg, NULL, 10);
		else if (c == 'v')
			o->is_verified = true;
		else if (c == 'p')
			o->has_progress = true;
		else
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct options o = { .threads = 0 };
	bool is_right = parse(argc, argv, &o);
	int n = argc - optind;
	char **words = argv + optind;

	if (is_right && n == 3 && strcmp(words[0], "copy") == 0)
		return copy(words[1], words[2], &o);
	if (is_right && n == 2 && strcmp(words[0], "measure") == 0)
		return measure(words[1], &o);
	if (is_right && n >= 2 && strcmp(words[0], "medium") == 0)
		return medium(words[1], words + 2, n - 2);
	if (is_right && n == 2 && strcmp(words[0], "iso") == 0)
		return iso(words[1]);
	fprintf(stderr, "usage: treecopy_driver copy|measure|medium|iso ...\n");
	return 2;
}
