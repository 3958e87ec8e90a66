/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "health.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "bootsystem.h"
#include "freespace.h"
#include "initrdcheck.h"
#include "mapfile.h"
#include "ntfsvol.h"

void health_free(struct health *h)
{
	if (!h)
		return;
	maprefresh_plan_clear(&h->maps);
	espboot_plan_clear(&h->boot);
	free(h->esp_generations);
	free(h->volumes);
	free(h->kernels);
	free(h->pending);
	free(h);
}

/* ---- maps ---- */

static uint64_t generation_on_esp(const struct maprefresh_plan *p, const struct maprefresh_item *item)
{
	AUTO(map) struct map *copy = NULL;
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s%s", p->esp, strrchr(item->path, '/'));

	if (!p->esp[0] || n < 0 || n >= PATH_MAX || mapfile_read(path, &copy, NULL))
		return 0;
	return copy->generation;
}

static int look_at_maps(const struct health_params *par, struct health *h, struct err *e)
{
	const struct maprefresh_params mp = {
		.maps = par->maps,
		.state = MAPREFRESH_STATE_DEFAULT,
		.esp = h->esp[0] ? h->esp : par->esp,
		.boot = INITRAMFS_BOOT,
		.modules = INITRAMFS_MODULES,
	};
	int code = maprefresh_plan(&mp, &h->maps, e);

	if (code)
		return code;
	h->esp_generations = calloc(h->maps.count + 1, sizeof(*h->esp_generations));
	if (!h->esp_generations)
		return err_set(e, -ENOMEM, "out of memory for %zu maps", h->maps.count);
	for (size_t i = 0; i < h->maps.count; i++)
		h->esp_generations[i] = generation_on_esp(&h->maps, &h->maps.items[i]);
	return 0;
}

/* ---- how full the volumes are ---- */

/* The sum alone; clusters of $BadClus are marked in use. */
static int count_free(struct ntfsvol *v, struct freespace_summary *ret, struct err *e)
{
	const struct ntfsvol_info *info = ntfsvol_info(v);
	const struct freespace_params p = {
		.total_clusters = info->total_clusters, .cluster_bytes = info->cluster_bytes, .max_extents = 1
	};
	AUTO(freespace) struct freespace *f = NULL;
	int code = freespace_new(&p, &f, e);

	if (!code)
		code = ntfsvol_scan(v, f, NULL, e);
	return code ? code : freespace_finish(f, ret, e);
}

static int look_at_volume(struct health_volume *v, struct err *e)
{
	__attribute__((cleanup(auto_attach_volume))) struct attach_volume volume = { .io = NULL };
	AUTO(ntfsvol) struct ntfsvol *ntfs = NULL;
	struct freespace_summary sum;
	int code = attach_volume_open(v->path, &volume, e);

	if (!code)
		code = ntfsvol_open(volume.io, false, &ntfs, e);
	if (!code)
		code = count_free(ntfs, &sum, e);
	if (code)
		return err_wrap(e, code, "the free space of '%s'", v->path);
	v->free_bytes = sum.free_clusters * ntfsvol_info(ntfs)->cluster_bytes;
	v->total_bytes = ntfsvol_info(ntfs)->total_bytes;
	return 0;
}

static bool has_volume(const struct health *h, const char *path)
{
	for (size_t i = 0; i < h->volume_count; i++)
		if (strcmp(h->volumes[i].path, path) == 0)
			return true;
	return false;
}

/* One that could not be judged is not asked again, and it is told already. */
static int look_at_volumes(struct health *h, struct err *e)
{
	struct err why = ERR_INIT;

	h->volumes = calloc(h->maps.count + 1, sizeof(*h->volumes));
	if (!h->volumes)
		return err_set(e, -ENOMEM, "out of memory for %zu volumes", h->maps.count);
	for (size_t i = 0; i < h->maps.count; i++) {
		const struct maprefresh_item *item = &h->maps.items[i];
		struct health_volume *v = &h->volumes[h->volume_count];

		if (item->verdict == VERDICT_UNKNOWN || has_volume(h, item->volume))
			continue;
		(void)snprintf(v->path, sizeof(v->path), "%s", item->volume);
		h->volume_count++;
		err_clear(&why);
		if (look_at_volume(v, &why))
			report_add(&h->unknown, "volume", "%s", why.text);
	}
	return 0;
}

/* ---- kernels ---- */

/* A map that is damaged in the system, or new maps that no initramfs has yet, are told as such and not for each kernel. */
static void take_lack(const struct health *h, const struct report *findings, struct health_kernel *k)
{
	for (size_t i = 0; i < findings->count && !k->lack.reason[0]; i++) {
		const struct finding *f = &findings->items[i];

		if (strcmp(f->reason, "invalid-map") != 0 && !(h->maps.unfinished && strcmp(f->reason, "stale-map") == 0))
			k->lack = *f;
	}
}

static int look_at_kernel(const struct health_params *par, const struct health *h, struct health_kernel *k, struct err *e)
{
	AUTO_FREE struct initrdcheck_result *r = calloc(1, sizeof(*r));
	char image[PATH_MAX];
	struct initrdcheck_params p = {
		.image = image,
		.kernel = k->version,
		.modules = INITRDCHECK_MODULES,
		.programs = INITRDCHECK_PROGRAMS,
		.system = INITRDNEED_SYSTEM,
	};
	struct err why = ERR_INIT;
	int code;

	p.system.maps = par->maps;
	(void)snprintf(image, sizeof(image), INITRAMFS_BOOT "/initrd.img-%s", k->version);
	code = r ? initrdcheck_run(&p, r, &why) : err_set(&why, -ENOMEM, "out of memory");
	if (code == -ENOMEM)
		return err_set(e, code, "%s", why.text);
	k->is_known = !code;
	if (code)
		(void)snprintf(k->lack.text, sizeof(k->lack.text), "%s", why.text);
	else
		take_lack(h, &r->findings, k);
	return 0;
}

static void find_rebuild(struct health *h)
{
	char tool[256];

	if (initramfs_tool(INITRAMFS_TOOLS, tool))
		(void)snprintf(h->rebuild, sizeof(h->rebuild), "%s", strcmp(strrchr(tool, '/'), "/dracut") == 0 ?
			       "dracut --force --kver " : "update-initramfs -u -k ");
}

static int look_at_kernels(const struct health_params *par, struct health *h, struct err *e)
{
	__attribute__((cleanup(initramfs_kernels_clear))) struct initramfs_kernels k = { NULL, 0 };
	struct err why = ERR_INIT;
	int code = initramfs_kernels(INITRAMFS_BOOT, INITRAMFS_MODULES, NULL, &k, &why);

	find_rebuild(h);
	if (code == -ENOMEM)
		return err_set(e, code, "%s", why.text);
	if (code) {
		report_add(&h->unknown, "initramfs", "%s", why.text);
		return 0;
	}
	h->kernels = calloc(k.count, sizeof(*h->kernels));
	if (!h->kernels)
		return err_set(e, -ENOMEM, "out of memory for %zu kernels", k.count);
	for (size_t i = 0; !code && i < k.count; i++) {
		memcpy(h->kernels[i].version, k.versions[i], sizeof(h->kernels[i].version));
		h->kernel_count++;
		code = look_at_kernel(par, h, &h->kernels[i], e);
	}
	return code;
}

/* ---- what starts it ---- */

static int look_at_boot(const struct bootsystem *s, struct health *h, struct err *e)
{
	const struct espboot_params par = bootsystem_params(s);
	struct err why = ERR_INIT;
	int code = espboot_plan(&par, &h->boot, &why);

	h->pending = bootsystem_pending(BOOTSYSTEM_STATE_DEFAULT);
	h->esp_known = !code;
	if (code == -ENOMEM)
		return err_set(e, code, "%s", why.text);
	if (code && !report_take(&h->findings, &why))
		report_add(&h->unknown, "esp", "%s", why.text);
	return 0;
}

/*
 * Without an EFI system partition, or with a map that cannot be read in root's place, there is less to look at: the one is a
 * finding, the other one of its map.
 */
static int look_at_system(const struct health_params *par, struct bootsystem *s, struct health *h, bool *ret_has_boot,
			  struct err *e)
{
	int code = bootsystem_look(par->maps, par->esp, s, e);

	*ret_has_boot = !code;
	if (code && (strcmp(e->reason, "no-esp") == 0 ? report_take(&h->findings, e) : code == -EINVAL && s->bad_map)) {
		err_clear(e);
		return 0;
	}
	(void)snprintf(h->esp, sizeof(h->esp), "%s", s->esp);
	return code;
}

static int look(const struct health_params *par, struct health *h, struct err *e)
{
	__attribute__((cleanup(auto_bootsystem))) struct bootsystem s = { .maps = NULL };
	bool has_boot;
	int code = look_at_system(par, &s, h, &has_boot, e);

	if (!code)
		code = look_at_maps(par, h, e);
	if (!code)
		code = look_at_volumes(h, e);
	if (!code)
		code = look_at_kernels(par, h, e);
	return code || !has_boot ? code : look_at_boot(&s, h, e);
}

int health_look(const struct health_params *par, struct health **ret, struct err *e)
{
	AUTO(health) struct health *h = calloc(1, sizeof(*h));
	struct err why = ERR_INIT;
	int code = h ? look(par, h, &why) : err_set(&why, -ENOMEM, "out of memory");

	if (code) {
		if (e)
			*e = why;
		return code;
	}
	health_judge(h);
	*ret = TAKE(h);
	return 0;
}
