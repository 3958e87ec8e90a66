/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is off, from what was seen. No I/O. */
#include "health.h"

#include <stdio.h>
#include <string.h>

#include "num.h"

/* One of so many parts of the volume, but not more than is enough for chkdsk or an update of Windows. */
#define FREE_PART 50
#define FREE_MAX_BYTES (2 * NUM_GIB)

uint64_t health_free_needed(uint64_t total_bytes)
{
	uint64_t part = total_bytes / FREE_PART;

	return part < FREE_MAX_BYTES ? part : FREE_MAX_BYTES;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- maps ---- */

/* These are Windows' to mend; the system runs all the same. */
static void tell_verdict(struct report *r, const struct maprefresh_item *item)
{
	const char *remedy = "/usr/share/doc/wubi-tools/recovery.md says what to do";
	char reason[ERR_REASON_MAX];

	if (item->verdict == VERDICT_UNSETTLED)
		remedy = "start Windows and shut it down with 'shutdown /s /t 0'";
	else if (item->verdict == VERDICT_RENAMED)
		remedy = "move it back in Windows, do not install again";
	else if (item->verdict == VERDICT_ORPHANED)
		remedy = "run 'chkdsk /f' in Windows, keep the map";
	(void)snprintf(reason, sizeof(reason), "verdict-%s", verdict_name(item->verdict));
	report_add(r, reason, "map '%s': %s; %s", item->name, item->text, remedy);
}

static void tell_invalid(struct health *h, size_t i)
{
	const struct maprefresh_item *item = &h->maps.items[i];

	if (h->esp_generations[i])
		report_add(&h->findings, item->reason, "%s; run 'cp %s/%s %s', which puts back the copy that is on the EFI "
			   "system partition", item->text, h->maps.esp, file_name(item->path), item->path);
	else
		report_add(&h->findings, item->reason, "%s; run 'wubi-install --repair' from a live system, which makes a new "
			   "one", item->text);
}

static void judge_kept(struct health *h, size_t i)
{
	const struct maprefresh_item *item = &h->maps.items[i];

	if (!item->active)
		report_add(&h->findings, "not-attached", "map '%s': its image is not attached, and what is in it cannot be seen; "
			   "'cat /run/wubi/boot.log' has the reason and what to do", item->name);
	else if (item->verdict != VERDICT_MATCH)
		tell_verdict(&h->findings, item);
	if (item->esp_stale && h->esp_generations[i])
		report_add(&h->findings, "esp-map", "map '%s': its copy on the EFI system partition is of generation %llu, the "
			   "map of %llu; run 'wubi-boot update'", item->name, (unsigned long long)h->esp_generations[i],
			   (unsigned long long)item->generation);
	else if (item->esp_stale)
		report_add(&h->findings, "esp-map", "map '%s': it has no good copy on the EFI system partition, which a rescue "
			   "would go by; run 'wubi-boot update'", item->name);
}

static void judge_map(struct health *h, size_t i)
{
	const struct maprefresh_item *item = &h->maps.items[i];

	switch (item->action) {
	case MAPREFRESH_KEEP:
		judge_kept(h, i);
		break;
	case MAPREFRESH_WRITE:
		report_add(&h->findings, "map-due", "map '%s': %s; run 'wubi-map-refresh'", item->name, item->text);
		break;
	case MAPREFRESH_REFUSE:
		if (!item->map)
			tell_invalid(h, i);
		else
			report_add(&h->findings, item->reason, "map '%s': %s; /usr/share/doc/wubi-tools/recovery.md says what "
				   "to do", item->name, item->text);
		break;
	case MAPREFRESH_FAIL:
		report_add(&h->unknown, "map", "map '%s': %s", item->name, item->text);
		break;
	}
}

static void judge_maps(struct health *h)
{
	bool is_due = false;

	for (size_t i = 0; i < h->maps.count; i++) {
		judge_map(h, i);
		is_due = is_due || h->maps.items[i].action == MAPREFRESH_WRITE;
	}
	if (h->maps.unfinished && !is_due)
		report_add(&h->findings, "map-unfinished", "new maps were written, and the initramfs could not be built with "
			   "them: boot follows the image with the old ones; run 'wubi-map-refresh', which tells why");
}

/* ---- volumes, kernels ---- */

static void judge_volumes(struct health *h)
{
	char free_text[NUM_BYTES_TEXT], total[NUM_BYTES_TEXT];

	for (size_t i = 0; i < h->volume_count; i++) {
		const struct health_volume *v = &h->volumes[i];

		if (!v->total_bytes || v->free_bytes >= health_free_needed(v->total_bytes))
			continue;
		report_add(&h->findings, "host-full", "the Windows volume '%s' is full: %s of %s are free. Linux has its space "
			   "and goes on, but Windows may fail to update or to mend its volume; run 'cleanmgr' in Windows",
			   v->path, num_format_bytes(v->free_bytes, free_text), num_format_bytes(v->total_bytes, total));
	}
}

static void judge_kernels(struct health *h)
{
	for (size_t i = 0; i < h->kernel_count; i++) {
		const struct health_kernel *k = &h->kernels[i];

		if (!k->is_known)
			report_add(&h->unknown, "initramfs", "the initramfs of kernel %s: %s", k->version, k->lack.text);
		else if (k->lack.reason[0])
			report_add(&h->findings, "initramfs", "the initramfs of kernel %s: %.500s; run '%s%s'", k->version,
				   k->lack.text, h->rebuild, k->version);
	}
}

/* ---- what starts it ---- */

/* Is it the copy of a map that was told as such? */
static bool is_told(const struct health *h, const char *name)
{
	for (size_t i = 0; i < h->maps.count; i++)
		if (h->maps.items[i].esp_stale && strcmp(file_name(name), file_name(h->maps.items[i].path)) == 0)
			return true;
	return false;
}

static size_t count_wrong(const struct health *h, const struct espboot_file **ret_first)
{
	size_t count = 0;

	for (size_t i = 0; i < h->boot.file_count; i++) {
		const struct espboot_file *f = &h->boot.files[i];

		if (f->is_right || is_told(h, f->name))
			continue;
		if (!count++)
			*ret_first = f;
	}
	return count;
}

static void judge_boot(struct health *h)
{
	const struct espboot_file *first = NULL;
	size_t count = count_wrong(h, &first);
	char more[64] = "";

	if (count > 1)
		(void)snprintf(more, sizeof(more), ", and %zu more there are not right", count - 1);
	if (count)
		report_add(&h->findings, "esp-due", "'%s/%s', which starting Linux needs, %s%s; run 'wubi-boot update'", h->esp,
			   first->name, first->old_bytes ? "is old or damaged" : "is missing", more);
	else if (!h->boot.entry_is_right)
		report_add(&h->findings, "esp-due", "the firmware's boot entry is missing or not as it should be: the "
			   "firmware's menu may not offer Linux; run 'wubi-boot update'");
	else if (h->boot.has_surplus)
		report_add(&h->findings, "esp-due", "old kernel copies take room on the EFI system partition; run "
			   "'wubi-boot update'");
	else if (h->pending)
		report_add(&h->findings, "boot-pending", "what starts this system could not be brought up to date once: "
			   "%.500s; run 'wubi-boot update'", h->pending);
}

void health_judge(struct health *h)
{
	judge_maps(h);
	judge_volumes(h);
	judge_kernels(h);
	if (h->esp_known)
		judge_boot(h);
}
