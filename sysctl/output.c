/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output.h"

#include <inttypes.h>
#include <stdio.h>

#include "progout.h"

const char *output_time(uint64_t ms, char buf[OUTPUT_TIME_TEXT])
{
	if (ms && ms < 1000)
		(void)snprintf(buf, OUTPUT_TIME_TEXT, "%" PRIu64 " ms", ms);
	else if (ms % 1000 == 0)
		(void)snprintf(buf, OUTPUT_TIME_TEXT, "%" PRIu64 " s", ms / 1000);
	else
		/* rounded up: it is a bound */
		(void)snprintf(buf, OUTPUT_TIME_TEXT, "%" PRIu64 ".%" PRIu64 " s", (ms + 99) / 1000, (ms + 99) % 1000 / 100);
	return buf;
}

const char *output_conf_time(uint64_t ms, char buf[OUTPUT_TIME_TEXT])
{
	if (ms % 1000 == 0)
		(void)snprintf(buf, OUTPUT_TIME_TEXT, "%" PRIu64 "s", ms / 1000);
	else
		(void)snprintf(buf, OUTPUT_TIME_TEXT, "%" PRIu64 "ms", ms);
	return buf;
}

static void add_bytes(struct output_knob *knob, const char *name, uint64_t bytes)
{
	knob->name = name;
	knob->value = bytes;
	(void)num_format_bytes(bytes, knob->meaning);
}

static void add_ratio(struct output_knob *knob, const char *name, uint64_t percent)
{
	knob->name = name;
	knob->value = percent;
	(void)snprintf(knob->meaning, sizeof(knob->meaning), "%" PRIu64 "%% of the available memory", percent);
}

static void add_interval(struct output_knob *knob, const char *name, uint64_t centisecs)
{
	knob->name = name;
	knob->value = centisecs;
	(void)output_time(centisecs * 10, knob->meaning);
}

size_t output_knobs_set(const struct profile_knobs *k, struct output_knob ret[OUTPUT_KNOBS])
{
	size_t n = 0;

	if (k->dirty_bytes)
		add_bytes(&ret[n++], "dirty_bytes", k->dirty_bytes);
	else
		add_ratio(&ret[n++], "dirty_ratio", k->dirty_ratio);
	if (k->background_bytes)
		add_bytes(&ret[n++], "dirty_background_bytes", k->background_bytes);
	else
		add_ratio(&ret[n++], "dirty_background_ratio", k->background_ratio);
	add_interval(&ret[n++], "dirty_expire_centisecs", k->expire_cs);
	add_interval(&ret[n++], "dirty_writeback_centisecs", k->writeback_cs);
	return n;
}

void output_knobs(const char *indent, const struct profile_knobs *k)
{
	struct output_knob knobs[OUTPUT_KNOBS];
	size_t n = output_knobs_set(k, knobs);

	for (size_t i = 0; i < n; i++)
		progout_print(stdout, "%svm.%-26s %10" PRIu64 "  %s\n", indent, knobs[i].name, knobs[i].value, knobs[i].meaning);
}

const char *output_window(const struct profile_window *w, char buf[OUTPUT_WINDOW_TEXT])
{
	char time[OUTPUT_TIME_TEXT], bytes[NUM_BYTES_TEXT];

	(void)snprintf(buf, OUTPUT_WINDOW_TEXT, "%s%s%s, %s of %s%s",
		       w->calls_are_durable ? "no write, truncate, setxattr or change in a directory that returned; " : "",
		       w->speed_is_known ? "at most " : "", output_time(w->ms, time), num_format_bytes(w->bytes, bytes),
		       w->calls_are_durable ? "stores through mmap, chmod, chown and times" : "what was not fsynced",
		       w->speed_is_known ? "" : ", and longer by what a slow disk adds: 'wubi-profile measure' finds out");
	return buf;
}

void output_notes(const struct report *notes)
{
	for (size_t i = 0; i < notes->count; i++)
		progout_print(stderr, "wubi-profile: note: %s\n", notes->items[i].text);
}

void output_knobs_json(struct jsonout *parent, const struct profile_knobs *k)
{
	struct jsonout *object = jsonout_add_object(parent, "knobs");

	jsonout_add_u64(object, "dirty_bytes", k->dirty_bytes);
	jsonout_add_u64(object, "dirty_ratio", k->dirty_ratio);
	jsonout_add_u64(object, "dirty_background_bytes", k->background_bytes);
	jsonout_add_u64(object, "dirty_background_ratio", k->background_ratio);
	jsonout_add_u64(object, "dirty_expire_centisecs", k->expire_cs);
	jsonout_add_u64(object, "dirty_writeback_centisecs", k->writeback_cs);
}

void output_mounts_json(struct jsonout *parent, const struct profset *s)
{
	struct jsonout *array = jsonout_add_array(parent, "mounts");

	for (size_t i = 0; i < s->mount_count; i++) {
		struct jsonout *item = jsonout_add_object(array, NULL);

		jsonout_add_string(item, "name", s->mounts[i].name);
		jsonout_add_string(item, "target", s->mounts[i].target);
		jsonout_add_string(item, "options", s->mounts[i].options);
	}
}

void output_window_json(struct jsonout *parent, const struct profile_window *w, const bool *kept)
{
	struct jsonout *object = jsonout_add_object(parent, "window");

	jsonout_add_bool(object, "calls_are_durable", w->calls_are_durable);
	jsonout_add_u64(object, "ms", w->ms);
	jsonout_add_u64(object, "bytes", w->bytes);
	jsonout_add_bool(object, "speed_is_known", w->speed_is_known);
	if (kept)
		jsonout_add_bool(object, "kept", *kept);
}

void output_notes_json(struct jsonout *parent, const struct report *notes)
{
	struct jsonout *array = jsonout_add_array(parent, "notes");

	for (size_t i = 0; i < notes->count; i++) {
		struct jsonout *item = jsonout_add_object(array, NULL);

		jsonout_add_string(item, "reason", notes->items[i].reason);
		jsonout_add_string(item, "text", notes->items[i].text);
	}
}
