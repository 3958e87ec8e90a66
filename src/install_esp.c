/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The EFI system partition: mended if it needs that, mounted, unmounted. */
#include "install_private.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mountfs.h"
#include "runprog.h"
#include "volumes.h"

static int mount_it(const struct volumes_row *esp, bool readonly, struct err *e)
{
	/* names as Windows writes them; nobody else has to see it */
	int code = mountfs_mount(esp->path, INSTALL_ESP, "vfat", readonly ? "umask=0077,ro" : "umask=0077", e);

	return code ? err_wrap(e, code, "the EFI system partition '%s'", esp->path) : 0;
}

/* Its first run says by its exit status that there was something to mend, its second that there still is. */
static int check_fat(const struct volumes_row *esp, struct err *e)
{
	char program[PATH_MAX];
	const char *const arguments[] = { program, "-a", esp->path, NULL };
	int code;

	if (!runprog_find("fsck.fat", RUNPROG_SYSTEM_PATH, program, sizeof(program)))
		return 0; /* Linux writes to it without one, too */
	code = runprog_run(arguments, NULL, NULL, NULL);
	if (code == -EIO)
		code = runprog_run(arguments, NULL, NULL, e);
	return code ? err_wrap(e, code,
			       "the EFI system partition '%s' is damaged, and fsck.fat does not mend it by itself: check it in "
			       "Windows", esp->path) : 0;
}

/*
 * FAT has no journal: a power cut may leave one of our files with a chain that ends in a free cluster, and as soon as that file
 * is deleted, vfat makes the file system read-only. So where there is something of ours, it is checked first, as an installed
 * Linux does at each start (fstab). What is wrong where nothing is ours is neither our doing nor ours to mend.
 */
static int mend(const struct volumes_row *esp, struct err *e)
{
	bool has_ours;
	int code = mount_it(esp, true, e);

	if (code)
		return code;
	has_ours = access(INSTALL_ESP "/EFI/wubi", F_OK) == 0;
	code = install_esp_unmount(e);
	return code || !has_ours ? code : check_fat(esp, e);
}

/*
 * A live desktop may have it mounted: the kernel then gives the same file system once more, but only with the same right to
 * write. Looking writes nothing in either case.
 */
int install_esp_mount(const struct volumes_row *esp, bool writable, struct err *e)
{
	struct mountfs_entry elsewhere = { .target = "" };
	struct stat st;
	int code = install_work_folder(INSTALL_ESP, e);

	if (!code && stat(esp->path, &st))
		code = err_errno(e, "'%s'", esp->path);
	if (!code)
		code = mountfs_find(st.st_rdev, &elsewhere, e);
	if (code)
		return code;
	if (elsewhere.target[0] && elsewhere.super_is_readonly)
		return err_refuse(e, "mounted",
				  "the EFI system partition '%s' is mounted read-only at '%s', so that nothing can be written to "
				  "it: unmount it", esp->path, elsewhere.target);
	if (writable && !elsewhere.target[0])
		code = mend(esp, e);
	return code ? code : mount_it(esp, !writable && !elsewhere.target[0], e);
}

int install_esp_unmount(struct err *e)
{
	return install_sync_and_unmount(INSTALL_ESP, e);
}
