/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A system that was copied out of its image into a partition: what says that root is in an image goes. */
#include "target_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FSTAB "/etc/fstab"
#define ROOT_MAP TARGET_MAPS "/root.map"
#define ROOT_DEVICE "/dev/mapper/wubi-root"

/* GRUB finds root itself. os-prober is no more needed than before: 35_wubi, which reads the variable, has Windows' entry. */
#define GRUB_TEXT \
	"# wubi-install --repair --root: root is in a partition of its own\n" \
	"export WUBI_MOVED_OUT=true\n" \
	"GRUB_DISABLE_OS_PROBER=true\n"

int target_moved_look(const char *tree, const char *fs_uuid, bool *ret_is_ours, struct err *e)
{
	AUTO_FREE struct target *t = calloc(1, sizeof(*t)); /* never entered */
	AUTO_FREE char *old = NULL, *text = NULL, *source = NULL;
	int code;

	if (!t)
		return err_set(e, -ENOMEM, "out of memory");
	(void)snprintf(t->root, sizeof(t->root), "%s", tree);
	*ret_is_ours = false;
	code = target_read(t, FSTAB, &old, e);
	if (code || !old)
		return code;
	text = target_fstab_moved_text(old, fs_uuid, &source);
	if (!text)
		return err_set(e, -ENOMEM, "'" FSTAB "': out of memory");
	*ret_is_ours = target_has(t, ROOT_MAP) ||
		       (source && (strcmp(source, ROOT_DEVICE) == 0 ||
				   (strncmp(source, "UUID=", 5) == 0 && strcmp(source + 5, fs_uuid) == 0 &&
				    target_has(t, TARGET_GRUB))));
	return 0;
}

/* The map goes last: a cut before that leaves a system that is known for one that is to be moved out. */
int target_move_out(struct target *t, const char *fs_uuid, struct err *e)
{
	AUTO_FREE char *old = NULL, *text = NULL, *source = NULL;
	int code = target_read(t, FSTAB, &old, e);

	if (code)
		return code;
	text = target_fstab_moved_text(old ? old : "", fs_uuid, &source);
	code = target_write(t, FSTAB, text, e);
	if (!code)
		code = target_write(t, TARGET_GRUB, GRUB_TEXT, e);
	return code ? code : target_remove(t, ROOT_MAP, e);
}
