/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootsystem.h"
#include "health.h"
#include "mapfolder.h"
#include "num.h"
#include "output.h"
#include "textfile.h"
#include "verbs.h"

static int status_of(const struct health *h)
{
	return h->findings.count ? PROGOUT_REFUSED : h->unknown.count ? PROGOUT_FAILED : PROGOUT_DONE;
}

static const struct health_volume *volume_of(const struct health *h, const struct maprefresh_item *item)
{
	for (size_t i = 0; i < h->volume_count; i++)
		if (h->volumes[i].total_bytes && strcmp(h->volumes[i].path, item->volume) == 0)
			return &h->volumes[i];
	return NULL;
}

/* ---- JSON ---- */

static void add_maps(struct jsonout *root, const struct health *h)
{
	struct jsonout *array = jsonout_add_array(root, "maps");

	for (size_t i = 0; i < h->maps.count; i++) {
		const struct maprefresh_item *item = &h->maps.items[i];
		const struct health_volume *v = volume_of(h, item);
		struct jsonout *m = jsonout_add_object(array, NULL);

		jsonout_add_string(m, "path", item->path);
		jsonout_add_string(m, "name", item->name[0] ? item->name : NULL);
		jsonout_add_bool(m, "attached", item->active);
		jsonout_add_string(m, "verdict", item->map ? verdict_name(item->verdict) : verdict_name(VERDICT_INVALID));
		jsonout_add_u64(m, "generation", item->generation);
		jsonout_add_u64(m, "esp_generation", h->esp_generations[i]);
		jsonout_add_string(m, "volume", item->volume[0] ? item->volume : NULL);
		if (v) {
			jsonout_add_u64(m, "free_bytes", v->free_bytes);
			jsonout_add_u64(m, "total_bytes", v->total_bytes);
		}
	}
}

static void add_report(struct jsonout *root, const char *key, const struct report *r)
{
	struct jsonout *array = jsonout_add_array(root, key);

	for (size_t i = 0; i < r->count; i++) {
		struct jsonout *item = jsonout_add_object(array, NULL);

		jsonout_add_string(item, "reason", r->items[i].reason);
		jsonout_add_string(item, "text", r->items[i].text);
	}
}

static int print_json(const struct health *h)
{
	struct jsonout *root = jsonout_object(), *array;

	jsonout_add_string(root, "status", h->findings.count ? "off" : h->unknown.count ? "unknown" : "healthy");
	add_maps(root, h);
	array = jsonout_add_array(root, "kernels");
	for (size_t i = 0; i < h->kernel_count; i++) {
		struct jsonout *k = jsonout_add_object(array, NULL);

		jsonout_add_string(k, "version", h->kernels[i].version);
		jsonout_add_bool(k, "right", h->kernels[i].is_known && !h->kernels[i].lack.reason[0]);
	}
	jsonout_add_string(root, "esp", h->esp[0] ? h->esp : NULL);
	jsonout_add_string(root, "esp_kernel", h->esp_known && h->boot.kernel[0] ? h->boot.kernel : NULL);
	add_report(root, "notes", &h->boot.notes);
	add_report(root, "findings", &h->findings);
	add_report(root, "unknown", &h->unknown);
	return progout_json(root);
}

/* ---- text ---- */

static void print_map(const struct health *h, size_t i)
{
	char free_text[NUM_BYTES_TEXT], total[NUM_BYTES_TEXT];
	const struct maprefresh_item *item = &h->maps.items[i];
	const struct health_volume *v = volume_of(h, item);

	if (!item->map) {
		progout_print(stdout, "%s: invalid\n", item->path);
		return;
	}
	progout_print(stdout, "%s: %s, generation %" PRIu64, item->name, item->active ? verdict_name(item->verdict) : "not "
		      "attached", item->generation);
	if (h->esp_generations[i])
		progout_print(stdout, " (%" PRIu64 " on the EFI system partition)", h->esp_generations[i]);
	if (item->volume[0])
		progout_print(stdout, ", on %s", item->volume);
	if (v)
		progout_print(stdout, " with %s of %s free", num_format_bytes(v->free_bytes, free_text),
			      num_format_bytes(v->total_bytes, total));
	progout_print(stdout, "\n");
}

static void print_text(const struct health *h)
{
	for (size_t i = 0; i < h->maps.count; i++)
		print_map(h, i);
	for (size_t i = 0; i < h->kernel_count; i++)
		progout_print(stdout, "kernel %s: its initramfs %s\n", h->kernels[i].version, !h->kernels[i].is_known ? "could "
			      "not be looked at" : h->kernels[i].lack.reason[0] ? "lacks something" : "has all that it takes");
	if (h->esp_known && h->boot.kernel[0])
		progout_print(stdout, "%s: boot loader, menu and copies of kernel %s\n", h->esp, h->boot.kernel);
	else if (h->esp_known)
		progout_print(stdout, "%s: boot loader and menu, no copy of a kernel\n", h->esp);
	for (size_t i = 0; i < h->boot.notes.count; i++)
		progout_print(stdout, "  note: %s\n", h->boot.notes.items[i].text);
	for (size_t i = 0; i < h->findings.count; i++)
		progout_print(stdout, "off (%s): %s\n", h->findings.items[i].reason, h->findings.items[i].text);
	if (!h->findings.count && !h->unknown.count)
		progout_print(stdout, "healthy\n");
}

/* Terminals of a desktop inherit the variable, too: it names the stream that is the journal's. */
static bool goes_to_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char text[64];
	struct stat st;

	if (!stream || fstat(STDERR_FILENO, &st))
		return false;
	(void)snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return strcmp(stream, text) == 0;
}

/* The journal takes the priority from the line: 4 is a warning. */
static void print_errors(const struct report *r)
{
	const char *priority = goes_to_journal() ? "<4>" : "";

	for (size_t i = 0; i < r->count; i++)
		progout_print(stderr, "%swubi-disk: status: %s\n", priority, r->items[i].text);
}

/* ---- the record ---- */

/* h NULL: problem says why nothing could be told. */
static void put_record(FILE *f, const struct health *h, const struct err *problem)
{
	(void)fputs("wubi: something is off with the disk image that this system runs from; 'sudo wubi-disk status' shows all "
		    "of it:\n", f);
	if (!h)
		(void)fprintf(f, "wubi: %s\n", problem->text);
	for (size_t i = 0; h && i < h->findings.count; i++)
		(void)fprintf(f, "wubi: %s\n", h->findings.items[i].text);
	for (size_t i = 0; h && i < h->unknown.count; i++)
		(void)fprintf(f, "wubi: could not be told: %s\n", h->unknown.items[i].text);
}

static char *record_text(const struct health *h, const struct err *problem)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool failed;

	if (!f)
		return NULL;
	put_record(f, h, problem);
	failed = ferror(f) != 0;
	if (fclose(f) == 0 && !failed)
		return text;
	free(text);
	return NULL;
}

/* It goes to people's terminals: names from the volume have no control character there. */
static int record(const struct health *h, const struct err *problem, struct err *e)
{
	AUTO_FREE char *text = NULL;

	if (h ? status_of(h) == PROGOUT_DONE : bootsystem_is_none(problem))
		return textfile_remove(STATUS_RECORD, e);
	text = record_text(h, problem);
	if (!text)
		return err_set(e, -ENOMEM, "out of memory for '" STATUS_RECORD "'");
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' && *p != '\n')
			*p = '?';
	return textfile_write(STATUS_RECORD, text, e);
}

int verb_status(const struct options *o)
{
	const struct health_params par = { .maps = o->folder ? o->folder : MAPFOLDER_DEFAULT, .esp = o->esp };
	AUTO(health) struct health *h = NULL;
	struct err e = ERR_INIT, why = ERR_INIT;
	int status, printed = PROGOUT_DONE;

	(void)health_look(&par, &h, &e); /* h stays NULL on failure */
	if (o->record && record(h, &e, &why))
		return progout_fail(&o->base, &why, NULL);
	if (!h)
		return progout_fail(&o->base, &e, NULL);
	status = status_of(h);
	if (o->base.json)
		printed = print_json(h);
	else if (!o->base.quiet)
		print_text(h);
	else
		print_errors(&h->findings);
	print_errors(&h->unknown);
	return status ? status : printed;
}
