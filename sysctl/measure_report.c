/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What measure found: median and spread, which profile fits, as a table and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "output.h"
#include "progout.h"

#define FAST_ENOUGH_PERCENT 50 /* of the fastest, at each job */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct measure_figure figure_of(const uint64_t *runs, size_t count)
{
	uint64_t sorted[MEASURE_RUNS_MAX];
	struct measure_figure f;

	memcpy(sorted, runs, count * sizeof(sorted[0]));
	qsort(sorted, count, sizeof(sorted[0]), compare);
	f.min = sorted[0];
	f.max = sorted[count - 1];
	f.median = count % 2 ? sorted[count / 2] : sorted[count / 2 - 1] / 2 + sorted[count / 2] / 2;
	return f;
}

static uint64_t best(const struct measure *m, int job)
{
	uint64_t most = 1;

	for (size_t i = 0; i < m->count; i++)
		if (m->profiles[i].figures[job].median > most)
			most = m->profiles[i].figures[job].median;
	return most;
}

static unsigned percent(const struct measure *m, const struct measure_profile *p, int job)
{
	return (unsigned)((double)p->figures[job].median * 100 / (double)best(m, job));
}

/* Of its jobs the one at which it is slowest, beside the fastest profile. */
static unsigned weakest(const struct measure *m, const struct measure_profile *p)
{
	unsigned least = 100;

	for (int job = 0; job < MEASURE_JOBS; job++)
		if (percent(m, p, job) < least)
			least = percent(m, p, job);
	return least;
}

/* At files, small and large: what a copy is made of. 200 is the fastest at both. */
static unsigned at_files(const struct measure *m, const struct measure_profile *p)
{
	return percent(m, p, MEASURE_FILES) + percent(m, p, MEASURE_LARGE);
}

/*
 * Of the profiles that are fast enough the one that promises to lose least. For normal use that is half of the fastest at
 * each job, or as fast as there is; for a copy within a tenth of the fastest, which is more than two runs of the same
 * differ by.
 */
static const struct measure_profile *fit(const struct measure *m, enum profile_phase phase)
{
	unsigned (*speed)(const struct measure *, const struct measure_profile *) = phase == PROFILE_NORMAL ? weakest : at_files;
	const struct measure_profile *found = NULL;
	unsigned most = 0, enough;

	for (size_t i = 0; i < m->count; i++)
		if (speed(m, &m->profiles[i]) > most)
			most = speed(m, &m->profiles[i]);
	enough = phase == PROFILE_ISO_COPY ? most * 9 / 10 : most < FAST_ENOUGH_PERCENT ? most : FAST_ENOUGH_PERCENT;
	for (size_t i = 0; i < m->count; i++)
		if (speed(m, &m->profiles[i]) >= enough && (!found || m->profiles[i].promised_ms < found->promised_ms))
			found = &m->profiles[i];
	return found;
}

void measure_conclude(struct measure *m)
{
	for (size_t i = 0; i < m->count; i++)
		for (int job = 0; job < MEASURE_JOBS; job++)
			m->profiles[i].figures[job] = figure_of(m->profiles[i].runs[job], m->runs);
	m->disk_bytes_per_s = best(m, MEASURE_LARGE);
	for (int phase = 0; phase < PROFILE_PHASES; phase++)
		m->fits[phase] = fit(m, (enum profile_phase)phase);
	if (!m->in_image)
		report_add(&m->notes, "not-an-image", "'%s' is not in an image on a Windows volume: the profiles' mount options "
			   "were not in force, and the figures show the kernel's values alone", MEASURE_FOLDER);
}

#define VALUE_TEXT 16
/* Three digits are what such a figure is worth: "59.6", "1520", "29.4k". */
static const char *value_text(double value, char buf[VALUE_TEXT])
{
	const char *unit = "";

	if (value >= 10000) {
		value /= 1000;
		unit = "k";
	}
	(void)snprintf(buf, VALUE_TEXT, value < 100 ? "%.1f%s" : "%.0f%s", value, unit);
	return buf;
}

static double for_people(uint64_t figure, int job)
{
	return job == MEASURE_LARGE ? (double)figure / (double)NUM_MIB : (double)figure / 1000;
}

static void print_figure(const struct measure_figure *f, int job)
{
	char median[VALUE_TEXT], min[VALUE_TEXT], max[VALUE_TEXT], text[64];

	(void)snprintf(text, sizeof(text), "%s (%s-%s)", value_text(for_people(f->median, job), median),
		       value_text(for_people(f->min, job), min), value_text(for_people(f->max, job), max));
	progout_print(stdout, "  %-21s", text);
}

static void print_profile(const struct measure *m, const struct measure_profile *p, int width)
{
	char time[OUTPUT_TIME_TEXT], bytes[NUM_BYTES_TEXT];

	progout_print(stdout, "%-*s", width, p->name);
	for (int job = 0; job < MEASURE_JOBS; job++)
		print_figure(&p->figures[job], job);
	if (!m->in_image)
		progout_print(stdout, "  -\n"); /* of another file system we know nothing */
	else if (p->window.calls_are_durable)
		progout_print(stdout, "  nothing\n");
	else
		progout_print(stdout, "  %s, %s\n", output_time(p->window.ms, time), num_format_bytes(p->window.bytes, bytes));
}

static int print_text(const struct measure *m)
{
	char speed[NUM_BYTES_TEXT];
	int width = 7;

	for (size_t i = 0; i < m->count; i++)
		if ((int)strlen(m->profiles[i].name) > width)
			width = (int)strlen(m->profiles[i].name);
	progout_print(stdout, "%-*s  %-21s  %-21s  %-21s  %s\n", width, "", "4 KiB writes, each", "small files, made",
		      "a large file,", "a power cut");
	progout_print(stdout, "%-*s  %-21s  %-21s  %-21s  %s\n", width, "profile", "synced, a second", "and written, a second",
		      "synced, MiB a second", "costs at most");
	for (size_t i = 0; i < m->count; i++)
		print_profile(m, &m->profiles[i], width);
	progout_print(stdout, "\nmedian (smallest-largest) of %zu\n", m->runs);
	progout_print(stdout, "this disk writes %s a second\n", num_format_bytes(m->disk_bytes_per_s, speed));
	progout_print(stdout, "fits normal use: %s, of those at least half as fast as the fastest at each job the one that loses "
		      "least\n", m->fits[PROFILE_NORMAL]->name);
	progout_print(stdout, "fits an ISO copy: %s, of those within a tenth of the fastest at files the one that loses least\n",
		       m->fits[PROFILE_ISO_COPY]->name);
	return PROGOUT_DONE;
}

static void add_figure(struct jsonout *parent, const char *key, const struct measure_figure *f, uint64_t divisor)
{
	struct jsonout *object = jsonout_add_object(parent, key);

	jsonout_add_u64(object, "median", (f->median + divisor / 2) / divisor);
	jsonout_add_u64(object, "min", (f->min + divisor / 2) / divisor);
	jsonout_add_u64(object, "max", (f->max + divisor / 2) / divisor);
}

static int print_json(const struct measure *m)
{
	struct jsonout *root = jsonout_object(), *array, *fits;

	jsonout_add_string(root, "status", "done");
	jsonout_add_u64(root, "runs", m->runs);
	jsonout_add_u64(root, "size_bytes", m->size_bytes);
	jsonout_add_bool(root, "in_image", m->in_image);
	jsonout_add_u64(root, "disk_bytes_per_s", m->disk_bytes_per_s);
	array = jsonout_add_array(root, "profiles");
	for (size_t i = 0; i < m->count; i++) {
		const struct measure_profile *p = &m->profiles[i];
		struct jsonout *item = jsonout_add_object(array, NULL);

		jsonout_add_string(item, "name", p->name);
		add_figure(item, "fsynced_writes_per_s", &p->figures[MEASURE_FSYNC], 1000);
		add_figure(item, "small_files_per_s", &p->figures[MEASURE_FILES], 1000);
		add_figure(item, "large_bytes_per_s", &p->figures[MEASURE_LARGE], 1);
		output_window_json(item, &p->window, NULL);
	}
	fits = jsonout_add_object(root, "fits");
	for (int phase = 0; phase < PROFILE_PHASES; phase++)
		jsonout_add_string(fits, profile_phase_name((enum profile_phase)phase), m->fits[phase]->name);
	output_notes_json(root, &m->notes);
	return progout_json(root);
}

int measure_print(const struct options *o, const struct measure *m)
{
	output_notes(&m->notes);
	return o->base.json ? print_json(m) : print_text(m);
}
