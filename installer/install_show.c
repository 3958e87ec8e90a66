/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What wubi-install prints: the plan, and what was done. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "install_verbs.h"
#include "num.h"
#include "output.h"
#include "picture.h"
#include "progout.h"

#define ROW "%-14s "

static const char *const names[INSTALL_IMAGES] = { "root", "home", "swap" };

void install_show_notes(const struct report *notes)
{
	for (size_t i = 0; i < notes->count; i++)
		progout_print(stdout, ROW "%s\n", i ? "" : "mind", notes->items[i].text);
}

/* ---- the plan ---- */

static void show_where(const struct install_plan *p)
{
	char size[NUM_BYTES_TEXT], free_text[NUM_BYTES_TEXT], run[NUM_BYTES_TEXT];

	if (p->volume)
		progout_print(stdout, ROW "%s '%s', %s, %s free, %s in one piece\n", "Windows volume", p->volume->path,
			      p->volume->label, num_format_bytes(p->volume->size_bytes, size),
			      num_format_bytes(p->volume->free_bytes, free_text),
			      num_format_bytes(p->volume->largest_run_bytes, run));
	if (p->volume && p->volume->disk)
		progout_print(stdout, ROW "%s %s\n", "on disk", p->volume->disk->path, p->volume->disk->model);
	if (p->esp)
		progout_print(stdout, ROW "%s, %s free\n", "boot files to", p->esp->path,
			     num_format_bytes(p->esp_free_bytes, free_text));
}

static void show_what(const struct install_plan *p)
{
	char content[NUM_BYTES_TEXT], need[NUM_BYTES_TEXT], size[NUM_BYTES_TEXT];

	progout_print(stdout, ROW "%s\n", "system", p->source.title);
	progout_print(stdout, ROW "%s%s\n", "from", p->source.name,
		     p->source_is_checked ? ", checksums are right" : ", not checked");
	progout_print(stdout, ROW "%" PRIu64 " files, %s; an image of %s at least\n", "", p->totals.files,
		     num_format_bytes(p->totals.content_bytes, content), num_format_bytes(p->needed_bytes, need));
	progout_print(stdout, ROW "%zu, all at hand\n", "packages", p->debs.count);
	for (int i = 0; i < INSTALL_IMAGES; i++)
		if (p->sizes[i])
			progout_print(stdout, ROW "/ubuntu/disks/%s.disk, %s\n", "image", names[i],
				     num_format_bytes(p->sizes[i], size));
}

static const char *or_as_it_is(const char *text)
{
	return text[0] ? text : "as the system has it";
}

static void show_settings(const struct install_params *par, const struct install_plan *p)
{
	const struct conf_install *c = &par->conf;

	progout_print(stdout, ROW "%s; user: %s\n", "host name", or_as_it_is(c->hostname), c->user[0] ? c->user : "none");
	progout_print(stdout, ROW "%s; time zone: %s; keyboard: %s\n", "locale", or_as_it_is(c->locale),
		      or_as_it_is(c->time_zone), or_as_it_is(c->keyboard));
	progout_print(stdout, ROW "%s while it is copied, %s afterwards\n", "durability",
		      p->profiles[PROFILE_ISO_COPY], p->profiles[PROFILE_NORMAL]);
	progout_print(stdout, ROW "%s%s; the next start is Linux\n", "booting",
		      c->default_linux ? "the firmware will start Linux by itself, with Windows in its menu"
				       : "the firmware goes on starting Windows by itself",
		      p->secure_boot ? "; Secure Boot is on" : "");
}

static void show_short(const struct install_plan *p)
{
	if (p->state == INSTALL_NO_ENTRY)
		progout_print(stdout,
			      "'%s' holds a complete system that the firmware does not start: its maps, initramfs and boot "
			      "entry are made anew.\n",
			      p->volume->path);
	else if (p->state == INSTALL_INCOMPLETE)
		progout_print(stdout, "'%s' holds an interrupted installation: it is removed, and begun anew.\n",
			      p->volume->path);
}

void install_show_plan(const struct install_params *par, const struct install_plan *p)
{
	show_where(p);
	if (p->source.tree[0]) {
		show_what(p);
		show_settings(par, p);
	}
	show_short(p);
	install_show_notes(&p->notes);
	if (p->image_is_planned && p->image.free_known && !p->report.count) {
		progout_print(stdout, "\n");
		(void)output_picture(stdout, &p->image.picture, NULL); /* a picture that cannot be drawn stops nobody */
	}
	if (!p->report.count)
		progout_print(stdout, "\nNothing was written yet.\n");
}

/* ---- JSON ---- */

static void add_findings(struct jsonout *parent, const char *key, const struct report *r)
{
	struct jsonout *array = jsonout_add_array(parent, key), *item;

	for (size_t i = 0; i < r->count; i++) {
		item = jsonout_add_object(array, NULL);
		jsonout_add_string(item, "reason", r->items[i].reason);
		jsonout_add_string(item, "text", r->items[i].text);
	}
}

struct jsonout *install_show_plan_json(const struct install_params *par, const struct install_plan *p, const char *status)
{
	static const char *const states[] = {
		[INSTALL_NONE] = "none",
		[INSTALL_INCOMPLETE] = "incomplete",
		[INSTALL_NO_ENTRY] = "no-entry",
		[INSTALL_COMPLETE] = "complete",
		[INSTALL_FOREIGN] = "foreign",
	};
	struct jsonout *root = jsonout_object(), *sizes;

	jsonout_add_string(root, "status", status);
	jsonout_add_string(root, "volume", p->volume ? p->volume->path : NULL);
	jsonout_add_string(root, "esp", p->esp ? p->esp->path : NULL);
	jsonout_add_string(root, "found", states[p->state]);
	jsonout_add_string(root, "system", p->source.title);
	jsonout_add_string(root, "source", p->source.name);
	jsonout_add_bool(root, "source_checked", p->source_is_checked);
	jsonout_add_u64(root, "files", p->totals.files);
	jsonout_add_u64(root, "content_bytes", p->totals.content_bytes);
	jsonout_add_u64(root, "needed_bytes", p->needed_bytes);
	sizes = jsonout_add_object(root, "sizes");
	for (int i = 0; i < INSTALL_IMAGES; i++)
		if (p->sizes[i])
			jsonout_add_u64(sizes, names[i], p->sizes[i]);
	jsonout_add_u64(root, "packages", p->debs.count);
	jsonout_add_u64(root, "esp_free_bytes", p->esp_free_bytes);
	jsonout_add_bool(root, "kernel_copies_fit", p->copies_fit);
	jsonout_add_bool(root, "secure_boot", p->secure_boot);
	jsonout_add_string(root, "default", par->conf.default_linux ? "linux" : "windows");
	add_findings(root, "notes", &p->notes);
	return root;
}

/* ---- what was done ---- */

int install_show_done(const struct install_options *o, const struct install_params *par, const struct install_plan *p,
		      uint16_t number)
{
	if (o->base.json) {
		struct jsonout *root = install_show_plan_json(par, p, "done");

		jsonout_add_u64(root, "boot_entry", number);
		return progout_json(root);
	}
	if (o->base.quiet)
		return PROGOUT_DONE;
	progout_print(stdout, "\ninstalled: %s is complete, checked and on the disk; boot entry %04" PRIX16 ".\nRestart, and "
		      "take the live medium out. %s\n",
		      p->source.title[0] ? p->source.title : "the system", number,
		      par->conf.default_linux ? "Linux starts by itself; its menu has Windows." :
		      "Linux starts once; after that the firmware's boot menu has it as 'wubi'.");
	install_show_notes(&p->notes);
	return PROGOUT_DONE;
}

int install_show_removed(const struct install_options *o, const struct install_removed *r, bool done)
{
	const char *verb = done ? "removed" : "to be removed";
	char size[NUM_BYTES_TEXT];
	struct jsonout *root, *images;

	if (o->base.json) {
		root = jsonout_object();
		jsonout_add_string(root, "status", done ? "done" : "dry-run");
		images = jsonout_add_array(root, "images");
		for (int i = 0; i < INSTALL_IMAGES; i++)
			if (r->images[i][0])
				jsonout_add_string(images, NULL, r->images[i]);
		jsonout_add_u64(root, "freed_bytes", r->freed_bytes);
		jsonout_add_string(root, "esp", r->esp[0] ? r->esp : NULL);
		jsonout_add_u64(root, "esp_files", r->esp_files);
		jsonout_add_bool(root, "boot_entry", r->entry);
		return progout_json(root);
	}
	if (o->base.quiet)
		return PROGOUT_DONE;
	if (r->entry)
		progout_print(stdout, "%s: the firmware's boot entry\n", verb);
	if (r->esp[0])
		progout_print(stdout, "%s: %zu files on '%s'\n", verb, r->esp_files, r->esp);
	for (int i = 0; i < INSTALL_IMAGES; i++)
		if (r->images[i][0])
			progout_print(stdout, "%s: %s\n", verb, r->images[i]);
	progout_print(stdout, "%s%s\n", num_format_bytes(r->freed_bytes, size), done ? " freed" : " are freed by that");
	return PROGOUT_DONE;
}

int install_show_repaired(const struct install_options *o, const struct install_repaired *r)
{
	struct jsonout *root;

	if (o->base.json) {
		root = jsonout_object();
		jsonout_add_string(root, "status", o->base.dry_run ? "dry-run" : "done");
		for (int i = 0; i < INSTALL_IMAGES && !o->base.dry_run; i++)
			if (r->generations[i])
				jsonout_add_u64(root, names[i], r->generations[i]);
		jsonout_add_u64(root, "boot_entry", r->number);
		add_findings(root, "notes", &r->notes);
		return progout_json(root);
	}
	if (o->base.quiet)
		return PROGOUT_DONE;
	if (o->base.dry_run) {
		progout_print(stdout, "dry run: the %s, the initramfs, the boot files and the boot entry would be made anew\n",
			      o->root ? "system's fstab and maps" : "maps");
		return PROGOUT_DONE;
	}
	for (int i = 0; i < INSTALL_IMAGES; i++)
		if (r->generations[i])
			progout_print(stdout, ROW "%s, generation %" PRIu64 "\n", "map", names[i], r->generations[i]);
	progout_print(stdout, ROW "%04" PRIX16 "; the next start is Linux\n", "boot entry", r->number);
	install_show_notes(&r->notes);
	return PROGOUT_DONE;
}
