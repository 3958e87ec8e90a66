/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which partition, and what of it is the images'. */
#include "hostdev_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "attach.h"
#include "dmnames.h"
#include "hostscan.h"
#include "mapfolder.h"
#include "ntfsvol.h"
#include "sysfs.h"
#include "verify.h"

void hostdev_plan_clear(struct hostdev_plan *p)
{
	extent_list_clear(&p->hidden);
	extent_list_clear(&p->shown);
}

const struct dmlinear_active *hostdev_find(const struct dmlinear_active_list *active)
{
	for (size_t i = 0; i < active->count; i++)
		if (active->items[i].is_host)
			return &active->items[i];
	return NULL;
}

/* ---- which partition ---- */

static int refuse_several(const struct dmlinear_active_list *active, struct err *e)
{
	char text[400] = "";
	size_t used = 0;

	for (size_t i = 0; i < active->count && used < sizeof(text); i++)
		if (!active->items[i].is_host)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s'%s' on %u:%u", used ? ", " : "",
						 active->items[i].name, major(active->items[i].device),
						 minor(active->items[i].device));
	return err_refuse(e, "several-volumes", "images of several volumes are attached (%s), and none of them holds the running "
			  "system: say which one with --device", text);
}

int hostdev_choose(const struct dmlinear_active_list *active, dev_t wanted, dev_t root, dev_t *ret, struct err *e)
{
	const struct dmlinear_active *first = NULL, *by_wish = NULL, *by_root = NULL, *by_name = NULL, *choice;
	bool several = false;

	for (size_t i = 0; i < active->count; i++) {
		const struct dmlinear_active *a = &active->items[i];

		if (a->is_host)
			continue;
		several = several || (first && first->device != a->device);
		first = first ? first : a;
		by_wish = wanted && a->device == wanted ? a : by_wish;
		by_root = a->number == root ? a : by_root;
		by_name = strcmp(a->name, DMNAMES_PREFIX "root") == 0 ? a : by_name;
	}
	if (!first)
		return err_refuse(e, "no-image", "no image of wubi-tools is attached, so nothing keeps you from mounting the "
				  "Windows partition itself");
	if (wanted && !by_wish)
		return err_refuse(e, "not-this-volume", "no image on the device %u:%u is attached: name the partition that one "
				  "lies on, or mount this one as it is", major(wanted), minor(wanted));
	choice = by_wish ? by_wish : by_root ? by_root : by_name ? by_name : several ? NULL : first;
	if (!choice)
		return refuse_several(active, e);
	*ret = choice->device;
	return 0;
}

static int choose(const struct hostdev_params *par, const struct dmlinear_active_list *active, dev_t *ret, struct err *e)
{
	struct stat st;
	dev_t wanted = 0, root = 0;

	if (par->device) {
		if (stat(par->device, &st))
			return err_errno(e, "device '%s'", par->device);
		if (!S_ISBLK(st.st_mode))
			return err_refuse(e, "not-a-block-device", "'%s' is no block device: name the Windows partition, such as "
					  "/dev/sda2", par->device);
		wanted = st.st_rdev;
	}
	if (stat("/", &st) == 0)
		root = st.st_dev;
	return hostdev_choose(active, wanted, root, ret, e);
}

/* ---- what of it is the images' ---- */

static int hide(struct hostdev_plan *p, const struct extent_list *l, struct err *e)
{
	int code = 0;

	for (size_t i = 0; !code && i < l->count; i++)
		code = extent_list_push(&p->hidden, &l->items[i], e);
	return code;
}

static int hide_active(struct hostdev_plan *p, const struct dmlinear_active_list *active, struct err *e)
{
	int code = 0;

	for (size_t i = 0; !code && i < active->count; i++) {
		if (active->items[i].is_host || active->items[i].device != p->device)
			continue;
		p->image_count++;
		code = hide(p, &active->items[i].extents, e);
	}
	return code;
}

static bool is_of_volume(const struct map *m, const struct attach_volume *v, const struct ntfsvol_info *info)
{
	return m->host.serial == info->serial || (v->info.partuuid[0] && !strcasecmp(m->host.partuuid, v->info.partuuid));
}

/*
 * Where the image is now. The map's own extents do not count: of a stale map they are Windows files' by now, and whoever reads
 * those would get zeros.
 */
static int hide_map(const struct hostdev_params *par, const struct attach_volume *v, const struct map *m,
		    struct hostdev_plan *p, struct err *e)
{
	__attribute__((cleanup(auto_verify_result))) struct verify_result r = { 0 };
	int code = verify_volume(v->io, v->info.partuuid, m, &r, e);

	if (code)
		return code;
	if (verify_fits(&r))
		return hide(p, &r.extents, e);
	if (par->read_write)
		return err_refuse(e, "lost-image", "the image of map '%s' is not safe on '%s' (%s): a driver that writes could "
				  "give its clusters to other files; mount without --read-write, or rescue the image first (see "
				  "'wubi-disk verify %s')", m->name, v->path, verdict_name(r.verdict.verdict), v->path);
	report_add(&p->notes, "map", "map '%s' does not fit '%s' (%s): nothing is hidden for it", m->name, v->path,
		   verdict_name(r.verdict.verdict));
	return 0;
}

/*
 * A map that fits no volume that is here may be of this one all the same, when Windows' tools gave it other numbers: nobody can
 * tell, and no driver takes the clusters of a file that is whole.
 */
static int note_homeless(const struct mapfolder *f, const struct attach_volume *v, const struct ntfsvol_info *info,
			 struct hostdev_plan *p, struct err *e)
{
	__attribute__((cleanup(auto_hostscan))) struct hostscan s = { .items = NULL };
	int code = hostscan_run(true, NULL, &s, e);

	for (size_t i = 0; !code && i < f->count; i++) {
		const struct map *m = f->items[i].map;
		bool fits = !m || is_of_volume(m, v, info);

		for (size_t k = 0; !fits && k < s.count; k++)
			fits = hostscan_is_candidate(&s.items[k], m);
		if (!fits)
			report_add(&p->notes, "map", "map '%s' fits no volume that is here: if its image is on '%s' after all, "
				   "nothing is hidden for it, and nobody has checked that it is safe from a driver that writes; "
				   "look at it first ('wubi-disk verify %s')", m->name, v->path, v->path);
	}
	return code;
}

static int hide_maps(const struct hostdev_params *par, const struct attach_volume *v, const struct ntfsvol_info *info,
		     struct hostdev_plan *p, struct err *e)
{
	__attribute__((cleanup(auto_mapfolder))) struct mapfolder f = { NULL, 0 };
	int code = mapfolder_read(par->maps, &f, e);
	bool others = false;

	for (size_t i = 0; !code && i < f.count; i++) {
		const struct mapfolder_item *item = &f.items[i];

		if (item->map && is_of_volume(item->map, v, info))
			code = hide_map(par, v, item->map, p, e);
		else if (!item->map && par->read_write)
			code = err_refuse(e, "invalid-map", "%s; without it nobody knows which clusters of '%s' are the image's: "
					  "mount without --read-write", item->problem.text, v->path);
		else if (!item->map)
			report_add(&p->notes, "map", "%s", item->problem.text);
		else
			others = true;
	}
	return !code && others && par->read_write ? note_homeless(&f, v, info, p, e) : code;
}

/* ---- is it safe to write? ---- */

static int refuse_unsettled(const struct ntfsvol_info *info, const char *volume, struct err *e)
{
	const struct ntfsvol_state *s = &info->state;

	if (s->hibernated)
		return err_refuse(e, "hibernated", "Windows is hibernated on '%s': it would overwrite what is written now with "
				  "its own view; mount without --read-write, or shut Windows down fully (shutdown /s /t 0)",
				  volume);
	if (s->fast_startup)
		return err_refuse(e, "fast-startup", "Windows was shut down with Fast Startup and keeps metadata of '%s' in its "
				  "cache: what is written now would damage it; mount without --read-write, or run 'powercfg /h "
				  "off' in Windows and shut it down", volume);
	if (!s->journal_clean)
		return err_refuse(e, "journal", "the journal ($LogFile) of '%s' is not clean: a driver that writes would drop or "
				  "replay changes; mount without --read-write, or start Windows and shut it down", volume);
	if (s->dirty)
		return err_refuse(e, "dirty", "'%s' is marked dirty, and its structures may lie about what is free: mount "
				  "without --read-write, or run chkdsk /f in Windows", volume);
	return 0;
}

static int look_inside(const struct hostdev_params *par, const struct attach_volume *v, struct hostdev_plan *p, struct err *e)
{
	AUTO(ntfsvol) struct ntfsvol *vol = NULL;
	const struct ntfsvol_info *info;
	struct err why = ERR_INIT;
	int code = ntfsvol_open(v->io, false, &vol, e);

	if (code)
		return code;
	info = ntfsvol_info(vol);
	(void)snprintf(p->uuid, sizeof(p->uuid), DMNAMES_HOST_UUID_PREFIX "%016llx", (unsigned long long)info->serial);
	code = refuse_unsettled(info, v->path, &why);
	p->settled = !code;
	if (code && par->read_write)
		return err_refuse(e, why.reason, "%s", why.text);
	code = hide_maps(par, v, info, p, e);
	return code ? code : ntfsvol_io_error(vol, e);
}

/*
 * A driver that writes may take every cluster that the MFT gives to nobody. So what is attached has to be what the maps' images
 * have by the MFT; those are all that is hidden so far.
 */
static int refuse_unproven(const struct hostdev_plan *p, const struct dmlinear_active_list *active, struct err *e)
{
	__attribute__((cleanup(auto_extent_list))) struct extent_list others = { NULL, 0, 0 };
	int code = extent_list_complement(&p->hidden, p->size_bytes, &others, e);
	bool overlaps = false;

	for (size_t i = 0; !code && i < active->count; i++) {
		const struct dmlinear_active *a = &active->items[i];

		if (a->is_host || a->device != p->device)
			continue;
		code = extent_list_overlaps(&others, &a->extents, &overlaps, e);
		if (!code && overlaps)
			return err_refuse(e, "lost-image", "no map proves that the clusters of /dev/mapper/%s are its image's, "
					  "so a driver that writes could give them to other files: mount without --read-write, "
					  "or write the map first ('wubi-disk map %s --no-host-map --output " MAPFOLDER_DEFAULT
					  "/NAME.map')", a->name, p->path);
	}
	return code;
}

static int complete(struct hostdev_plan *p, struct err *e)
{
	int code = extent_list_complement(&p->hidden, p->size_bytes, &p->shown, e);

	p->hidden_bytes = p->size_bytes - extent_list_bytes(&p->shown);
	return code;
}

static int make_plan(const struct hostdev_params *par, const struct dmlinear_active_list *active, struct hostdev_plan *p,
		     struct err *e)
{
	__attribute__((cleanup(auto_attach_volume))) struct attach_volume v = { .io = NULL };
	int code = choose(par, active, &p->device, e);

	if (code)
		return code;
	if (!sysfs_node(p->device, p->path, sizeof(p->path)))
		return err_set(e, -ENODEV, "the partition %u:%u, which the images lie on, is not in /sys", major(p->device),
			       minor(p->device));
	code = attach_volume_open(p->path, &v, e);
	if (code)
		return code;
	p->size_bytes = v.io->size_bytes;
	code = look_inside(par, &v, p, e);
	if (!code && par->read_write)
		code = refuse_unproven(p, active, e);
	if (!code)
		code = hide_active(p, active, e);
	return code ? code : complete(p, e);
}

int hostdev_plan(const struct hostdev_params *par, struct hostdev_plan *ret, struct err *e)
{
	__attribute__((cleanup(auto_dmlinear_active))) struct dmlinear_active_list active = { NULL, 0 };
	__attribute__((cleanup(auto_hostdev_plan))) struct hostdev_plan p = { .device = 0 };
	int code = dmlinear_active(&active, e);

	if (!code)
		code = make_plan(par, &active, &p, e);
	if (code)
		return code;
	*ret = p;
	p.hidden = p.shown = (struct extent_list){ NULL, 0, 0 };
	return 0;
}
