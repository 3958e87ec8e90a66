/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The EFI system partition: mended if it needs that, mounted, unmounted. */
#include "install_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "mountfs.h"
#include "runprog.h"
#include "volumes.h"

static int mount_it(const struct volumes_row *esp, bool readonly, struct err *e)
{
	/* names as Windows writes them; nobody else has to see it */
	int code = mountfs_mount(esp->path, INSTALL_ESP, "vfat", readonly ? "umask=0077,ro" : "umask=0077", e);

	return code ? err_wrap(e, code, "the EFI system partition '%s'", esp->path) : 0;
}

/* ---- what a power cut has left ---- */

struct salvaged { /* fsck.fat makes FSCK0000.REC and so on of clusters that belong to no file */
	bool exists[10000];
};

static void close_folder(DIR *d)
{
	if (d)
		(void)closedir(d); /* it was only read */
}
DEFINE_AUTO(folder, DIR *, close_folder);

/* remove_others: those that are not in s; else s is filled. */
static int look_for_salvaged(struct salvaged *s, bool remove_others, struct err *e)
{
	AUTO(folder) DIR *d = opendir(INSTALL_ESP);
	const struct dirent *item;

	if (!d)
		return err_errno(e, "'" INSTALL_ESP "'");
	while (errno = 0, (item = readdir(d)) != NULL) {
		unsigned number;
		int length = 0;

		if (sscanf(item->d_name, "FSCK%4u.REC%n", &number, &length) != 1 || length != 12 || item->d_name[12])
			continue;
		if (!remove_others)
			s->exists[number] = true;
		else if (!s->exists[number] && unlinkat(dirfd(d), item->d_name, 0))
			return err_errno(e, "remove '" INSTALL_ESP "/%s'", item->d_name);
	}
	return errno ? err_errno(e, "read '" INSTALL_ESP "'") : 0;
}

/* Its first run says by its exit status that there was something to mend, its second that there still is. */
static int check_fat(const struct volumes_row *esp, bool *ret_mended, struct err *e)
{
	char program[PATH_MAX];
	const char *const arguments[] = { program, "-a", esp->path, NULL };
	int code;

	if (!runprog_find("fsck.fat", RUNPROG_SYSTEM_PATH, program, sizeof(program)))
		return 0; /* Linux writes to it without one, too */
	code = runprog_run(arguments, NULL, NULL, NULL);
	*ret_mended = code == -EIO;
	if (*ret_mended)
		code = runprog_run(arguments, NULL, NULL, e);
	return code ? err_wrap(e, code,
			       "the EFI system partition '%s' is damaged, and fsck.fat does not mend it by itself: check it in "
			       "Windows", esp->path) : 0;
}

/* Only files of ours were written when the power went: what fsck.fat salvages is of them, and there is no room for it. */
static int remove_salvaged(const struct volumes_row *esp, struct salvaged *before, struct err *e)
{
	int code = mount_it(esp, false, e), last;

	if (code)
		return code;
	code = look_for_salvaged(before, true, e);
	last = install_esp_unmount(code ? NULL : e);
	return code ? code : last;
}

/*
 * FAT has no journal: a power cut may leave one of our files with a chain that ends in a free cluster, and as soon as that file
 * is deleted, vfat makes the file system read-only. So where there is something of ours, it is checked first, as an installed
 * Linux does at each start (fstab). What is wrong where nothing is ours is neither our doing nor ours to mend.
 */
static int mend(const struct volumes_row *esp, struct err *e)
{
	struct salvaged before = { .exists = { false } };
	bool has_ours, is_mended = false;
	int code = mount_it(esp, true, e), last;

	if (code)
		return code;
	has_ours = access(INSTALL_ESP "/EFI/wubi", F_OK) == 0;
	code = look_for_salvaged(&before, false, e);
	last = install_esp_unmount(code ? NULL : e);
	if (!code)
		code = last;
	if (!code && has_ours)
		code = check_fat(esp, &is_mended, e);
	return code || !is_mended ? code : remove_salvaged(esp, &before, e);
}

/* ---- mounting ---- */

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
