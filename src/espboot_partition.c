/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The menu of a system that has moved out: nothing moves a partition, so that one menu will do. */
#include "espboot_private.h"

#include <errno.h>
#include <string.h>

static int add_menu(const struct espboot_params *par, struct espboot_plan *p, struct err *e)
{
	char title[256];
	char *text;
	int code = espboot_source_title(par->root, title, e);

	if (!code)
		code = bootmenu_format_partition(title, par->partition_uuid, &p->menu, e);
	if (code || !par->is_complete)
		return code;
	text = strdup(p->menu);
	return text ? espboot_plan_add(par->esp, p, BOOTMENU_FILE, NULL, text, e) : err_set(e, -ENOMEM, "out of memory");
}

int espboot_partition_add(const struct espboot_params *par, struct espboot_plan *p, struct err *e)
{
	uint64_t cluster_bytes = 0;
	int code = espboot_device_space(par->esp, &p->free_bytes, &cluster_bytes, e);

	if (!code)
		code = add_menu(par, p, e);
	if (code)
		return code;
	return espboot_plan_fits(p, cluster_bytes, 0, &p->needed_bytes) ? 0 : espboot_plan_full(par, p, e);
}
