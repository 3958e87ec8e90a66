/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is copied from the system below root, whatever absolute links are in it. */
#include "espboot_private.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "textfile.h"

#define ROOT_ARGUMENT "root=/dev/mapper/wubi-root"
#define PATHS_MAX 2

/*
 * By the names that Debian and Ubuntu give them; Ubuntu's 'latest' is the target of an alternative. In the order of writing: a
 * new shim may refuse an old GRUB (SBAT), and an old shim takes a new one.
 */
static const struct {
	const char *name;
	const char *paths[PATHS_MAX];
	const char *package;
} loaders[ESPBOOT_LOADERS] = {
	{ "grubx64.efi", { "/usr/lib/grub/x86_64-efi-signed/gcdx64.efi.signed" }, "grub-efi-amd64-signed" },
	{ "mmx64.efi", { "/usr/lib/shim/mmx64.efi.signed", "/usr/lib/shim/mmx64.efi" }, "shim-signed" },
	{ "shimx64.efi", { "/usr/lib/shim/shimx64.efi.signed", "/usr/lib/shim/shimx64.efi.signed.latest" }, "shim-signed" },
};

static void close_folder(DIR *d)
{
	if (d)
		(void)closedir(d); /* it was only read */
}
DEFINE_AUTO(folder, DIR *, close_folder);

static bool find_file(const char *root, const char *path, char ret[PATH_MAX])
{
	struct stat st;

	return textfile_resolve(root, path, ret) == 0 && stat(ret, &st) == 0 && S_ISREG(st.st_mode);
}

int espboot_source_loader(const char *root, size_t i, const char **ret_name, char ret[PATH_MAX], struct err *e)
{
	*ret_name = loaders[i].name;
	for (size_t k = 0; k < PATHS_MAX && loaders[i].paths[k]; k++)
		if (find_file(root, loaders[i].paths[k], ret))
			return 0;
	return err_refuse(e, "no-loader", "'%s%s' is missing: without it nothing starts under Secure Boot; install the "
			  "package '%s' (all that is needed is in shim-signed and "
			  "grub-efi-amd64-signed)", root, loaders[i].paths[0],
			  loaders[i].package);
}

static bool is_version(const char *text)
{
	size_t n = strlen(text);

	return n > 0 && n < BOOTMENU_VERSION_MAX && isalnum((unsigned char)text[0]) &&
	       !text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.+~_-")];
}

static bool boot_file(const char *root, const char *what, const char *version, char ret[PATH_MAX])
{
	char path[BOOTMENU_VERSION_MAX + 32];

	(void)snprintf(path, sizeof(path), "/boot/%s-%s", what, version);
	return find_file(root, path, ret);
}

bool espboot_source_has_kernel(const char *root, const char *version)
{
	char path[PATH_MAX];

	return is_version(version) && boot_file(root, "vmlinuz", version, path);
}

static int take_record(struct espboot_kernel *k, struct err *e)
{
	struct stat st;

	if (stat(k->initrd, &st) < 0)
		return err_errno(e, "'%s'", k->initrd);
	(void)snprintf(k->record, sizeof(k->record), "%s %lld %lld.%09ld", k->version, (long long)st.st_size,
		       (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	return 0;
}

static bool find_kernel(const char *root, const char *version, struct espboot_kernel *ret)
{
	if (!boot_file(root, "vmlinuz", version, ret->vmlinuz) || !boot_file(root, "initrd.img", version, ret->initrd))
		return false;
	(void)snprintf(ret->version, sizeof(ret->version), "%s", version);
	return true;
}

int espboot_source_version(const char *root, const char *version, struct espboot_kernel *ret, struct err *e)
{
	*ret = (struct espboot_kernel){ .version = "" };
	return is_version(version) && find_kernel(root, version, ret) ? take_record(ret, e) : 0;
}

int espboot_source_kernel(const char *root, const char *below, struct espboot_kernel *ret, struct err *e)
{
	AUTO(folder) DIR *d = NULL;
	const struct dirent *item;
	char boot[PATH_MAX];

	*ret = (struct espboot_kernel){ .version = "" };
	if (textfile_resolve(root, "/boot", boot) < 0)
		return err_errno(e, "'%s/boot'", root);
	d = opendir(boot);
	if (!d)
		return errno == ENOENT ? 0 : err_errno(e, "'%s'", boot);
	while (errno = 0, (item = readdir(d)) != NULL) {
		const char *version = item->d_name + strlen("vmlinuz-");
		struct espboot_kernel k = { .version = "" };

		if (strncmp(item->d_name, "vmlinuz-", strlen("vmlinuz-")) != 0 || !is_version(version) ||
		    (ret->version[0] && strverscmp(version, ret->version) <= 0) || (below[0] && strverscmp(version, below) >= 0))
			continue;
		if (find_kernel(root, version, &k))
			*ret = k;
	}
	if (errno)
		return err_errno(e, "'%s'", boot);
	return ret->version[0] ? take_record(ret, e) : 0;
}

/* *ret NULL: there is no such file, or none that could be one of settings. */
static int read_text(const char *root, const char *path, char **ret, struct err *e)
{
	char at[PATH_MAX];
	int code;

	*ret = NULL;
	if (!find_file(root, path, at))
		return 0;
	code = textfile_read(at, ret, e);
	return code == -ENOENT || code == -EFBIG || code == -EINVAL ? 0 : code;
}

/* ---- the name of the system ---- */

/* NAME="Debian GNU/Linux 12": a shell's assignment without expansions. What ends a word of GRUB's is left out. */
static void take_value(const char *from, char *ret, size_t size)
{
	char end = '\n';
	size_t n = 0;

	if (*from == '"' || *from == '\'')
		end = *from++;
	for (; *from && *from != '\n' && *from != end && n + 1 < size; from++)
		if (!iscntrl((unsigned char)*from) && !strchr("'\\", *from))
			ret[n++] = *from;
	ret[n] = '\0';
}

int espboot_source_title(const char *root, char ret[256], struct err *e)
{
	static const char key[] = "PRETTY_NAME=";
	AUTO_FREE char *text = NULL;
	int code = read_text(root, "/etc/os-release", &text, e);

	(void)snprintf(ret, 256, "Linux");
	if (code || !text)
		return code;
	for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		char value[256] = "";

		if (strncmp(line, key, sizeof(key) - 1) == 0)
			take_value(line + sizeof(key) - 1, value, sizeof(value));
		if (value[0])
			(void)snprintf(ret, 256, "%s", value);
	}
	return 0;
}

/* ---- its kernel's command line ---- */

/* Words of a linux line: ours is the root; variables of GRUB's, and what needs quoting, cannot be taken along. */
static bool is_taken(const char *word, size_t n)
{
	if (n >= 5 && memcmp(word, "root=", 5) == 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strchr("$'\"\\;{}|&<>", word[i]) || iscntrl((unsigned char)word[i]))
			return false;
	return true;
}

static size_t next_word(const char **at)
{
	*at += strspn(*at, " \t");
	return strcspn(*at, " \t\n");
}

/* line: behind "linux". False: it is none. */
static bool take_words(const char *line, FILE *f)
{
	bool has_mode = false;
	size_t n = next_word(&line);

	if (!n)
		return false;
	line += n; /* the kernel's path */
	(void)fputs(ROOT_ARGUMENT, f);
	while ((n = next_word(&line)) > 0) {
		if (is_taken(line, n))
			(void)fprintf(f, " %.*s", (int)n, line);
		has_mode = has_mode || (n == 2 && (memcmp(line, "ro", 2) == 0 || memcmp(line, "rw", 2) == 0));
		line += n;
	}
	if (!has_mode)
		(void)fputs(" ro", f);
	return true;
}

/* The first one is what the system starts by default. */
static bool find_linux(const char *text, FILE *f)
{
	for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		const char *at = line;
		size_t n = next_word(&at);
		bool is_linux = (n == 5 && memcmp(at, "linux", 5) == 0) || (n == 8 && memcmp(at, "linuxefi", 8) == 0);

		if (is_linux && take_words(at + n, f))
			return true;
	}
	return false;
}

int espboot_source_cmdline(const char *root, char **ret, struct err *e)
{
	AUTO_FREE char *text = NULL, *words = NULL;
	size_t n = 0;
	FILE *f;
	int code = read_text(root, "/boot/grub/grub.cfg", &text, e);

	if (code)
		return code;
	f = open_memstream(&words, &n);
	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	if (!text || !find_linux(text, f))
		(void)fputs(ROOT_ARGUMENT " ro", f);
	code = ferror(f);
	if (fclose(f) || code)
		return err_set(e, -ENOMEM, "out of memory");
	*ret = TAKE(words);
	return 0;
}
