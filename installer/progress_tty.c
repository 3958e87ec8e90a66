/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "progress_tty.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "jsonout.h"
#include "num.h"
#include "signals.h"

#define REDRAW_MS 200 /* five a second */
#define PLAIN_MS 4000 /* a line each five seconds, with room for one slow step */

struct sample {
	const char *phase;
	uint64_t done, total;
	uint64_t rate;   /* bytes a second in this phase, 0 unknown */
	uint64_t left_s; /* valid with a rate */
};

static int64_t now_ms(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts))
		return 0;
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void measure(const struct progress_tty *t, int64_t now, struct sample *s)
{
	double elapsed_s = (double)(now - t->phase_start_ms) / 1000.0;

	s->rate = 0;
	s->left_s = 0;
	if (elapsed_s < 0.2 || s->done == 0)
		return;
	s->rate = (uint64_t)((double)s->done / elapsed_s);
	if (s->rate && s->total > s->done)
		s->left_s = (s->total - s->done) / s->rate;
}

/* "writing   1.2 GiB / 2.0 GiB  60%  120.0 MiB/s  0:07 left", cut to a line of a terminal. */
static void describe(const struct sample *s, char *buf, size_t n)
{
	char done[NUM_BYTES_TEXT], total[NUM_BYTES_TEXT], rate[NUM_BYTES_TEXT], tail[64] = "";

	if (s->total == 0) {
		(void)snprintf(buf, n, "%s", s->phase);
		return;
	}
	if (s->rate)
		(void)snprintf(tail, sizeof(tail), "  %s/s  %" PRIu64 ":%02" PRIu64 " left",
			       num_format_bytes(s->rate, rate), s->left_s / 60, s->left_s % 60);
	(void)snprintf(buf, n, "%-20s %s / %s  %3.0f%%%s", s->phase, num_format_bytes(s->done, done),
		       num_format_bytes(s->total, total), 100.0 * (double)s->done / (double)s->total, tail);
}

static void show_json(const struct sample *s)
{
	AUTO(jsonout) struct jsonout *line = jsonout_object();

	jsonout_add_string(line, "phase", s->phase);
	jsonout_add_u64(line, "done_bytes", s->done);
	jsonout_add_u64(line, "total_bytes", s->total);
	jsonout_add_u64(line, "bytes_per_second", s->rate);
	jsonout_add_u64(line, "seconds_left", s->left_s);
	(void)jsonout_print(line, stderr, NULL); /* work goes on when it cannot be shown */
	(void)fflush(stderr);
}

static void show(struct progress_tty *t, const struct sample *s)
{
	char text[192];

	if (t->mode == PROGRESS_TTY_JSON) {
		show_json(s);
		return;
	}
	describe(s, text, sizeof(text));
	if (t->mode == PROGRESS_TTY_PLAIN) {
		(void)fprintf(stderr, "%s\n", text);
		return;
	}
	(void)fprintf(stderr, "\r\033[K%.79s", text); /* a wrapped line cannot be redrawn */
	(void)fflush(stderr);
	t->drawn = true;
}

/* A phase's first and last step are shown, and between them one in so many milliseconds. */
static bool is_due(struct progress_tty *t, const struct sample *s, int64_t now)
{
	int64_t interval = t->mode == PROGRESS_TTY_PLAIN ? PLAIN_MS : REDRAW_MS;

	if (strncmp(t->phase, s->phase, sizeof(t->phase) - 1) != 0) {
		(void)snprintf(t->phase, sizeof(t->phase), "%s", s->phase);
		t->phase_start_ms = now;
		t->complete = s->total != 0 && s->done == s->total;
		return true;
	}
	if (s->total != 0 && s->done == s->total && !t->complete) {
		t->complete = true;
		return true;
	}
	return now - t->shown_ms >= interval;
}

static int step(void *ctx, const char *phase, uint64_t done_bytes, uint64_t total_bytes)
{
	struct progress_tty *t = ctx;
	struct sample s = { .phase = phase ? phase : "", .done = done_bytes, .total = total_bytes };
	int64_t now = now_ms();

	if (signals_pending())
		return 1;
	if (t->mode == PROGRESS_TTY_NONE || !is_due(t, &s, now))
		return 0;
	measure(t, now, &s);
	show(t, &s);
	t->shown_ms = now;
	return 0;
}

int progress_tty_parse(const char *text, enum progress_tty_mode *ret, struct err *e)
{
	static const char *const words[] = {
		[PROGRESS_TTY_AUTO] = "auto",
		[PROGRESS_TTY_PLAIN] = "plain",
		[PROGRESS_TTY_JSON] = "json",
		[PROGRESS_TTY_NONE] = "none",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (text && strcmp(text, words[i]) != 0)
			continue;
		*ret = (enum progress_tty_mode)i;
		return 0;
	}
	return err_set(e, -EINVAL, "'%s' is not one of auto, plain, json, none", text);
}

void progress_tty_init(struct progress_tty *t, enum progress_tty_mode mode, bool quiet)
{
	memset(t, 0, sizeof(*t));
	t->progress.step = step;
	t->progress.ctx = t;
	t->mode = mode;
	if (t->mode == PROGRESS_TTY_AUTO && (quiet || !isatty(STDERR_FILENO)))
		t->mode = PROGRESS_TTY_NONE;
}

void progress_tty_end(struct progress_tty *t)
{
	if (!t->drawn)
		return;
	(void)fputs("\r\033[K", stderr);
	(void)fflush(stderr);
	t->drawn = false;
}
