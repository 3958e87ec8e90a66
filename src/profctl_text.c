/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files for other programs: sysctl.d, and GRUB's configuration. */
#include "profctl_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"
#include "sysfs.h"

void profctl_boot_id(char ret[64])
{
	(void)sysfs_read_line("/proc/sys/kernel/random/boot_id", ret, 64); /* "" when it is not known */
}

/* One member of each pair: writing the other as 0 is refused by the kernel, or sets the first to 0. */
int profctl_sysctl_text(const struct profile_knobs *k, const char *name, char **ret, struct err *e)
{
	char *text = NULL;
	int n = asprintf(&text,
			 "# Written by 'wubi-profile set %s', and anew at each set and at boot: not for editing.\n"
			 "vm.%s = %" PRIu64 "\n"
			 "vm.%s = %" PRIu64 "\n"
			 "vm.dirty_expire_centisecs = %" PRIu64 "\n"
			 "vm.dirty_writeback_centisecs = %" PRIu64 "\n",
			 name, k->dirty_bytes ? "dirty_bytes" : "dirty_ratio", k->dirty_bytes ? k->dirty_bytes : k->dirty_ratio,
			 k->background_bytes ? "dirty_background_bytes" : "dirty_background_ratio",
			 k->background_bytes ? k->background_bytes : k->background_ratio, k->expire_cs, k->writeback_cs);

	if (n < 0)
		return err_set(e, -ENOMEM, "out of memory");
	*ret = text;
	return 0;
}

/* The options are words that mountopts_check() knows: nothing in them is special to a shell. */
int profctl_rootflags_text(const struct profile *p, char **ret, struct err *e)
{
	char remount[MOUNTOPTS_TEXT], first[MOUNTOPTS_TEXT];
	char *text = NULL;
	int r = mountopts_split(p->mount, remount, first, e);

	if (r)
		return r;
	if (first[0] && asprintf(&text,
				 "# Written by 'wubi-profile set %s': mount options of '/' that no remount takes.\n"
				 "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX rootflags=%s\"\n", p->name, first) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	*ret = text;
	return 0;
}
