/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output - what several verbs of wubi-profile print: values, mounts, loss windows and notes, as text and as JSON. */
#ifndef WUBI_PROFILE_OUTPUT_H
#define WUBI_PROFILE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "jsonout.h"
#include "num.h"
#include "profset.h"
#include "report.h"

#define OUTPUT_TIME_TEXT 32
/* "0 s", "250 ms", "6.2 s": for people. Returns buf. */
const char *output_time(uint64_t ms, char buf[OUTPUT_TIME_TEXT]);
/* "5s", "250ms": as wubi.conf has it. Returns buf. */
const char *output_conf_time(uint64_t ms, char buf[OUTPUT_TIME_TEXT]);

/* One of the kernel's values, as far as it is set: of each pair one is. */
struct output_knob {
	const char *name; /* without "vm." */
	uint64_t value;
	char meaning[NUM_BYTES_TEXT]; /* "64.0 MiB", "10% of the memory", "5 s" */
};
#define OUTPUT_KNOBS 6
size_t output_knobs_set(const struct profile_knobs *k, struct output_knob ret[OUTPUT_KNOBS]);

/* A line each: indent, name, value and meaning in columns. */
void output_knobs(const char *indent, const struct profile_knobs *k);

/* "at most 6.2 s, 64.0 MiB of ...": what a power cut may cost. Returns buf. */
#define OUTPUT_WINDOW_TEXT 400
const char *output_window(const struct profile_window *w, char buf[OUTPUT_WINDOW_TEXT]);

/* On stderr. */
void output_notes(const struct report *notes);

void output_knobs_json(struct jsonout *parent, const struct profile_knobs *k);
void output_mounts_json(struct jsonout *parent, const struct profset *s);
/* kept: NULL, or does it keep what its profile promises? */
void output_window_json(struct jsonout *parent, const struct profile_window *w, const bool *kept);
void output_notes_json(struct jsonout *parent, const struct report *notes);

#endif
