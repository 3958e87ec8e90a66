/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked on the terminal. Questions and answers are on standard error and input; standard output is for results. */
#include <crypt.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "install_list.h"
#include "install_verbs.h"
#include "num.h"
#include "progout.h"
#include "signals.h"

#define ANSWER_MAX 256
#define SPACING (NUM_GIB) /* suggestions are whole GiB */

static int give_up(struct err *e)
{
	return err_set(e, -ECANCELED, "interrupted before anything was written");
}

/* poll() returns on a signal, which fgets() under SA_RESTART would not. */
static int read_answer(char *buf, size_t n, struct err *e)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	(void)fflush(stderr); /* it is not buffered */
	while (poll(&in, 1, -1) < 0) {
		if (errno != EINTR)
			return err_errno(e, "read the answer");
		if (signals_pending())
			return give_up(e);
	}
	if (signals_pending() || !fgets(buf, (int)n, stdin))
		return give_up(e);
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

int install_ask_yes(const char *what, struct err *e)
{
	char answer[ANSWER_MAX];
	int code;

	progout_print(stderr, "Type 'yes' to %s: ", what);
	code = read_answer(answer, sizeof(answer), e);
	if (code)
		return code;
	return strcmp(answer, "yes") != 0 ? err_set(e, -ECANCELED, "not confirmed: nothing was written") : 0;
}

/* ---- the volume ---- */

static size_t print_choices(const struct volumes *v, const struct volumes_row **choices, size_t max)
{
	char size[NUM_BYTES_TEXT], run[NUM_BYTES_TEXT];
	size_t n = 0;

	for (size_t i = 0; i < v->count && n < max; i++) {
		const struct volumes_row *row = &v->rows[i];

		/* what is on one that a desktop has mounted cannot be seen before it is unmounted */
		if (row->kind != VOLUMES_NTFS || (!row->is_usable && !row->mounted[0]))
			continue;
		choices[n++] = row;
		progout_print(stderr, "%3zu  %s  '%s', %s, on %s: ", n, row->path, row->label,
			      num_format_bytes(row->size_bytes, size), row->disk ? row->disk->model : "a disk");
		if (row->mounted[0])
			progout_print(stderr, "mounted at '%s', will be unmounted\n", row->mounted);
		else
			progout_print(stderr, "%s free in one piece\n", num_format_bytes(row->largest_run_bytes, run));
	}
	return n;
}

int install_ask_volume(struct conf_install *c, struct err *e)
{
	__attribute__((cleanup(auto_volumes))) struct volumes v = { .count = 0 };
	const struct volumes_row *choices[32];
	char answer[ANSWER_MAX];
	uint64_t at = 0;
	size_t n;
	int code = volumes_scan(NULL, 0, &v, e);

	if (code)
		return code;
	install_list_text(stderr, &v);
	progout_print(stderr, "\n");
	n = print_choices(&v, choices, sizeof(choices) / sizeof(choices[0]));
	if (!n)
		return err_refuse(e, "no-volume", "none of the volumes can be used: the list above says why");
	progout_print(stderr, "\nWhere shall Linux go? Number (1 to %zu): ", n);
	code = read_answer(answer, sizeof(answer), e);
	if (!code && (num_parse_u64(answer, &at, NULL) || at < 1 || at > n))
		code = err_set(e, -ECANCELED, "'%s' is none of the numbers: nothing was written", answer);
	if (code)
		return code;
	(void)snprintf(c->volume, sizeof(c->volume), "%s", choices[at - 1]->path);
	c->unmount = c->unmount || choices[at - 1]->mounted[0];
	return 0;
}

/* ---- the size ---- */

/* Twice what is needed and at least 20 GiB, if half of the largest piece has room for it. */
static uint64_t suggest(const struct install_plan *p)
{
	uint64_t wanted = 2 * p->needed_bytes, most = p->volume ? p->volume->largest_run_bytes / 2 : 0;

	if (wanted < 20 * NUM_GIB)
		wanted = 20 * NUM_GIB;
	if (wanted > most)
		wanted = most;
	wanted = wanted / SPACING * SPACING;
	return wanted < p->needed_bytes ? p->needed_bytes : wanted;
}

int install_ask_size(const struct install_plan *p, struct conf_install *c, struct err *e)
{
	char need[NUM_BYTES_TEXT], most[NUM_BYTES_TEXT], text[NUM_BYTES_TEXT], answer[ANSWER_MAX];
	uint64_t bytes = suggest(p);
	int code;

	progout_print(stderr, "%s needs at least %s; %s are free in one piece.\nHow large shall its disk be? [%s] ",
		      p->source.title, num_format_bytes(p->needed_bytes, need),
		      num_format_bytes(p->volume ? p->volume->largest_run_bytes : 0, most), num_format_bytes(bytes, text));
	code = read_answer(answer, sizeof(answer), e);
	if (!code && answer[0])
		code = num_parse_bytes(answer, &bytes, e);
	if (!code)
		c->size_bytes = bytes;
	return code;
}

/* ---- the user ---- */

static int read_hidden(const char *question, char *buf, size_t n, struct err *e)
{
	struct termios old, hidden;
	int code;

	progout_print(stderr, "%s", question);
	if (tcgetattr(STDIN_FILENO, &old))
		return err_errno(e, "the terminal");
	hidden = old;
	hidden.c_lflag &= ~(tcflag_t)ECHO;
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden))
		return err_errno(e, "the terminal");
	code = read_answer(buf, n, e);
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &old); /* the shell sets it again, too */
	progout_print(stderr, "\n");
	return code;
}

static int hash_password(const char *password, char *ret, size_t size, struct err *e)
{
	struct crypt_data *data = calloc(1, sizeof(*data)); /* 32 KiB */
	const char *setting = data ? crypt_gensalt_rn("$y$", 0, NULL, 0, data->setting, (int)sizeof(data->setting)) : NULL;
	const char *hash = setting ? crypt_r(password, setting, data) : NULL;
	int code = 0;

	if (!hash || hash[0] == '*' || strlen(hash) >= size)
		code = err_set(e, -EIO, "the password could not be made into a hash");
	else
		(void)snprintf(ret, size, "%s", hash);
	free(data);
	return code;
}

static int ask_password(struct conf_install *c, struct err *e)
{
	char one[ANSWER_MAX] = "", two[ANSWER_MAX] = "";
	int code = read_hidden("Password: ", one, sizeof(one), e);

	if (!code)
		code = read_hidden("Once more: ", two, sizeof(two), e);
	if (!code && (strcmp(one, two) != 0 || !one[0]))
		code = err_set(e, -ECANCELED, one[0] ? "the two are not the same: nothing was written" :
			       "an empty password lets everybody in: nothing was written");
	if (!code)
		code = hash_password(one, c->password_hash, sizeof(c->password_hash), e);
	explicit_bzero(one, sizeof(one));
	explicit_bzero(two, sizeof(two));
	return code;
}

int install_ask_user(struct conf_install *c, struct err *e)
{
	char answer[ANSWER_MAX];
	int code = 0;

	if (!c->user[0] && !c->command[0]) {
		progout_print(stderr, "Name of the user (a to z, 0 to 9): ");
		code = read_answer(answer, sizeof(answer), e);
		if (!code)
			code = conf_install_check("user", answer, e);
		if (!code)
			(void)snprintf(c->user, sizeof(c->user), "%.32s", answer);
	}
	if (!code && c->user[0] && !c->password_hash[0])
		code = ask_password(c, e);
	return code;
}
