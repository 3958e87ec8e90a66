/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * livesource_driver WORK [--root FOLDER | --iso FILE | --squashfs FILE] [find | check | mount]: NAME=VALUE lines of what was
 * found; with mount, COMMAND of the environment is run while it is mounted. Everything is unmounted then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "livesource.h"

static void print(const struct livesource *s)
{
	(void)printf("name=%s\nmedium=%s\nlayout=%s\npool=%s\nkernel=%s\n", s->name, s->medium, s->layout, s->pool, s->kernel);
	for (size_t i = 0; i < s->layer_count; i++)
		(void)printf("layer=%s\n", s->layers[i]);
	if (s->tree[0])
		(void)printf("tree=%s\ntitle=%s\nid=%s\nversion=%s\ncodename=%s\narchitecture=%s\n", s->tree, s->title, s->id,
			     s->version, s->codename, s->architecture);
	(void)fflush(stdout);
}

static int run(const struct livesource_params *par, const char *what, struct livesource *s, struct err *e)
{
	const char *command = getenv("COMMAND");
	bool is_checked = false;
	int code = livesource_find(par, s, e);

	if (!code && strcmp(what, "check") == 0) {
		code = livesource_check(s, NULL, &is_checked, e);
		(void)printf("checked=%d\n", is_checked);
	}
	if (!code && strcmp(what, "mount") == 0)
		code = livesource_mount(par, s, e);
	if (!code)
		print(s);
	if (!code && command && strcmp(what, "mount") == 0 && system(command)) /* NOLINT(cert-env33-c): a test's own */
		code = err_set(e, -1, "command failed");
	return code;
}

int main(int argc, char **argv)
{
	struct livesource_params par = { .work = argv[1], .root = "" };
	struct livesource *s = calloc(1, sizeof(*s));
	struct err e = ERR_INIT, why = ERR_INIT;
	const char *what = argc > 1 ? argv[argc - 1] : "";
	int code = s && argc > 2 ? 0 : err_set(&e, -1, "usage");

	for (int i = 2; i + 1 < argc; i++) {
		if (strcmp(argv[i], "--root") == 0)
			par.root = argv[i + 1];
		else if (strcmp(argv[i], "--iso") == 0)
			par.iso = argv[i + 1];
		else if (strcmp(argv[i], "--squashfs") == 0)
			par.squashfs = argv[i + 1];
	}
	if (!code)
		code = run(&par, what, s, &e);
	if (code)
		(void)fprintf(stderr, "%s: %s\n", e.reason[0] ? e.reason : "failed", e.text);
	if (s && livesource_close(s, &why)) {
		(void)fprintf(stderr, "close: %s\n", why.text);
		code = -1;
	}
	free(s);
	return code ? 1 : 0;
}
