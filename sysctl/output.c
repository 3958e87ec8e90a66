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

static void add_knob(struct output_knob *ret, const struct profile_knobs *k, int knob)
{
	ret->name = profile_knob_name(knob);
	ret->value = profile_knob_get(k, knob);
	switch (knob) {
	case PROFILE_DIRTY_BYTES:
	case PROFILE_BACKGROUND_BYTES:
		(void)num_format_bytes(ret->value, ret->meaning);
		break;
	case PROFILE_DIRTY_RATIO:
	case PROFILE_BACKGROUND_RATIO:
		(void)snprintf(ret->meaning, sizeof(ret->meaning), "%" PRIu64 "%% of the available memory", ret->value);
		break;
	default:
		(void)output_time(ret->value * 10, ret->meaning);
	}
}

size_t output_knobs_set(const struct profile_knobs *k, struct output_knob ret[OUTPUT_KNOBS])
{
	size_t n = 0;

	add_knob(&ret[n++], k, k->dirty_bytes ? PROFILE_DIRTY_BYTES : PROFILE_DIRTY_RATIO);
	add_knob(&ret[n++], k, k->background_bytes ? PROFILE_BACKGROUND_BYTES : PROFILE_BACKGROUND_RATIO);
	add_knob(&ret[n++], k, PROFILE_EXPIRE);
	add_knob(&ret[n++], k, PROFILE_WRITEBACK);
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
	const char *what = "what was not fsynced", *durable = "";

	if (w->calls_are_durable) {
		what = "stores through mmap, fallocate, a truncate that makes a file longer, chmod, chown and times";
		durable = "no write, truncate that makes a file shorter, setxattr or change in a directory that returned; ";
	}

	if (!w->fsync_is_durable)
		(void)snprintf(buf, OUTPUT_WINDOW_TEXT,
			       "no bound, not even fsync is durable: 'nobarrier' is in force, and a power cut may take all that "
			       "the disk has in its own cache");
	else if (w->ms == UINT64_MAX)
		(void)snprintf(buf, OUTPUT_WINDOW_TEXT,
			       "%s%s of %s, however old: the kernel does not write by itself what is old "
			       "(vm.dirty_writeback_centisecs is 0)", durable, num_format_bytes(w->bytes, bytes), what);
	else
		(void)snprintf(buf, OUTPUT_WINDOW_TEXT, "%s%s%s, %s of %s%s", durable, w->speed_is_known ? "at most " : "",
			       output_time(w->ms, time), num_format_bytes(w->bytes, bytes), what, w->speed_is_known ? "" :
			       ", and longer by what a slow disk adds: 'wubi-profile measure' finds out");
	return buf;
}

void output_notes(const struct report *notes)
{
	for (size_t i = 0; i < notes->count; i++)
		progout_print(stderr, "wubi-profile: note: %s\n", notes->items[i].text);
}

void output_knobs_json(struct jsonout *parent, const struct profile_knobs *k)
{
	profset_knobs_to_json(k, parent);
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
	jsonout_add_bool(object, "fsync_is_durable", w->fsync_is_durable);
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
