/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debpool_driver TREE WORK network|pools INTERRUPT FOLDER... -- PACKAGE...: the files one a line, "settle" lines between them,
 * then "installed BYTES". INTERRUPT: after so many questions whether to go on, 0 never. What is told goes to standard error.
 * Exit status 3 and "REASON: text" for a refusal.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debpool.h"

#define WORDS_MAX 64

struct state {
	long asked, limit;
};

static void tell(void *ctx, const char *text)
{
	(void)ctx;
	(void)fprintf(stderr, "tell: %s\n", text);
}

static bool interrupted(void *ctx)
{
	struct state *s = ctx;

	return s->limit && ++s->asked > s->limit;
}

static int fail(const struct err *e)
{
	(void)fprintf(stderr, "%s: %s\n", err_is_refusal(e) ? e->reason : "error", e->text);
	return err_is_refusal(e) ? 3 : e->code == -ECANCELED ? 4 : 1;
}

int main(int argc, char **argv)
{
	__attribute__((cleanup(auto_debpool))) struct debpool pool = { .count = 0 };
	const char *folders[WORDS_MAX] = { NULL }, *packages[WORDS_MAX] = { NULL };
	struct err e = ERR_INIT;
	struct state s = { .limit = argc > 4 ? atol(argv[4]) : 0 };
	size_t n = 0;
	int i = 5;

	if (argc < 6 || argc > WORDS_MAX)
		return 2;
	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		folders[n++] = argv[i];
	n = 0;
	for (i++; i < argc; i++)
		packages[n++] = argv[i];
	const struct debpool_params par = {
		.packages = packages, .folders = folders, .tree = argv[1], .architecture = "amd64", .work = argv[2],
		.network = !strcmp(argv[3], "network"), .tell = tell, .interrupted = interrupted, .ctx = &s,
	};

	if (debpool_resolve(&par, &pool, &e))
		return fail(&e);
	for (size_t k = 0; k < pool.count; k++)
		(void)printf("%s%s\n", pool.settle[k] ? "settle\n" : "", pool.files[k]);
	(void)printf("installed %llu\n", (unsigned long long)pool.installed_bytes);
	return 0;
}
