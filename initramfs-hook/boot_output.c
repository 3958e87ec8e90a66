/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "boot_output.h"

#include "progout.h"

static int print_json(const struct boot_outcome *o)
{
	struct jsonout *root = jsonout_object(), *array, *item;
	const struct espboot_plan *p = o->plan;

	jsonout_add_string(root, "status", o->status);
	jsonout_add_string(root, "esp", o->esp);
	array = jsonout_add_array(root, "files");
	for (size_t i = 0; i < p->file_count; i++) {
		item = jsonout_add_object(array, NULL);
		jsonout_add_string(item, "name", p->files[i].name);
		jsonout_add_string(item, "source", p->files[i].source[0] ? p->files[i].source : NULL);
		jsonout_add_u64(item, "size_bytes", p->files[i].bytes);
		jsonout_add_bool(item, "right", p->files[i].is_right);
	}
	jsonout_add_string(root, "kernel", p->kernel[0] ? p->kernel : NULL);
	jsonout_add_bool(root, "small_initramfs", p->small_initramfs);
	jsonout_add_u64(root, "free_bytes", p->free_bytes);
	jsonout_add_u64(root, "needed_bytes", p->needed_bytes);
	jsonout_add_bool(root, "entry_right", p->entry_is_right);
	jsonout_add_string(root, "pending", o->pending);
	array = jsonout_add_array(root, "notes");
	for (size_t i = 0; i < p->notes.count; i++) {
		item = jsonout_add_object(array, NULL);
		jsonout_add_string(item, "reason", p->notes.items[i].reason);
		jsonout_add_string(item, "text", p->notes.items[i].text);
	}
	return progout_json(root);
}

/* What is right already is told by status alone. */
static void print_text(const struct boot_outcome *o)
{
	const bool all = o->base->verb_name[0] == 's';
	const struct espboot_plan *p = o->plan;

	for (size_t i = 0; i < p->file_count; i++)
		if (all || !p->files[i].is_right)
			progout_print(stdout, "%s/%s: %s\n", o->esp, p->files[i].name, !p->files[i].is_right ? "write" : "right");
	if (all || !p->entry_is_right)
		progout_print(stdout, "firmware's entry: %s\n", p->entry_is_right ? "right" : "write");
	if (o->pending)
		progout_print(stdout, "an earlier run did not succeed: %s\n", o->pending);
	if (o->base->dry_run)
		progout_print(stdout, "dry run: nothing was done\n");
}

int boot_output(const struct boot_outcome *o)
{
	if (o->base->json)
		return print_json(o);
	if (o->base->quiet)
		return PROGOUT_DONE;
	for (size_t i = 0; i < o->plan->notes.count; i++)
		progout_print(stderr, "wubi-boot: note: %s\n", o->plan->notes.items[i].text);
	print_text(o);
	return PROGOUT_DONE;
}
