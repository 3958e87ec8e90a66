/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "debpool_private.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "num.h"
#include "textfile.h"

#define FOLDERS_OPEN 16
#define AR_MAGIC "!<arch>\n"
#define AR_HEADER 60

/* nftw() has no argument of its caller's. */
static _Thread_local struct walk {
	struct debpool_index *index;
	const struct debpool_params *par;
	const char *folder;
	struct err *e;
	int code;
} *now;

void debpool_index_clear(struct debpool_index *index)
{
	for (size_t i = 0; i < index->count; i++) {
		free(index->debs[i].path);
		free(index->debs[i].control);
	}
	free(index->debs);
	*index = (struct debpool_index){ .count = 0 };
}

static bool is_interrupted(const struct debpool_params *par)
{
	return par->interrupted && par->interrupted(par->ctx);
}

static int add_deb(struct debpool_index *index, const char *path, const struct stat *st)
{
	struct debpool_deb *deb;

	if (index->count == index->capacity) {
		size_t capacity = index->capacity ? index->capacity * 2 : 64;
		struct debpool_deb *moved = reallocarray(index->debs, capacity, sizeof(*moved));

		if (!moved)
			return -ENOMEM;
		index->debs = moved;
		index->capacity = capacity;
	}
	deb = &index->debs[index->count];
	*deb = (struct debpool_deb){ .path = strdup(path), .bytes = (uint64_t)st->st_size };
	if (!deb->path)
		return -ENOMEM;
	index->count++;
	return 0;
}

static int on_file(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	size_t n = strlen(path);

	(void)at;
	if (is_interrupted(now->par))
		now->code = err_set(now->e, -ECANCELED, "folder '%s': interrupted", now->folder);
	else if (kind != FTW_F || !S_ISREG(st->st_mode) || n < 4 || strcmp(path + n - 4, ".deb") != 0 || n >= PATH_MAX)
		return 0;
	else if (now->index->count == DEBPOOL_DEBS_MAX)
		now->code = err_set(now->e, -E2BIG, "folder '%s' has more than %d packages; name one with those that are needed",
				    now->folder, DEBPOOL_DEBS_MAX);
	else if (add_deb(now->index, path, st))
		now->code = err_set(now->e, -ENOMEM, "folder '%s': out of memory", now->folder);
	return now->code != 0; /* ends it */
}

static int walk_folder(const struct debpool_params *par, const char *folder, struct debpool_index *index, struct err *e)
{
	char whole[PATH_MAX];
	struct walk w = { .index = index, .par = par, .folder = folder, .e = e };
	int r;

	if (!realpath(folder, whole))
		return errno == ENOENT ? 0 : err_errno(e, "folder '%s'", folder);
	now = &w;
	r = nftw(whole, on_file, FOLDERS_OPEN, FTW_PHYS);
	now = NULL;
	return r < 0 ? err_errno(e, "folder '%s'", folder) : w.code;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(((const struct debpool_deb *)a)->path, ((const struct debpool_deb *)b)->path);
}

/* In the same order each time; a folder in another one gives each file once. */
static void sort(struct debpool_index *index)
{
	size_t kept = 0;

	if (index->count)
		qsort(index->debs, index->count, sizeof(*index->debs), compare_paths);
	for (size_t i = 0; i < index->count; i++) {
		if (kept && !strcmp(index->debs[kept - 1].path, index->debs[i].path))
			free(index->debs[i].path);
		else
			index->debs[kept++] = index->debs[i];
	}
	index->count = kept;
}

/*
 * Do the parts of the archive (ar(5)) add up to the file? dpkg-deb -f looks at the beginning alone, and a whole pool is too much
 * to be read.
 */
static bool is_whole(const struct debpool_deb *deb)
{
	AUTO_FD int fd = open(deb->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char header[AR_HEADER + 1] = "";
	uint64_t at = strlen(AR_MAGIC);
	unsigned parts = 0;

	if (fd < 0 || pread(fd, header, at, 0) != (ssize_t)at || memcmp(header, AR_MAGIC, at) != 0)
		return false;
	while (at < deb->bytes) {
		uint64_t bytes;

		if (pread(fd, header, AR_HEADER, (off_t)at) != AR_HEADER || memcmp(header + 58, "`\n", 2) != 0)
			return false;
		header[58] = '\0';
		header[48 + strcspn(header + 48, " ")] = '\0';
		if (num_parse_u64(header + 48, &bytes, NULL) || bytes > deb->bytes)
			return false;
		at += AR_HEADER + bytes + bytes % 2;
		parts++;
	}
	return parts >= 3 && (at == deb->bytes || at == deb->bytes + 1); /* the last part may lack its padding */
}

int debpool_index_read(const struct debpool_params *par, struct debpool_index *ret, struct err *e)
{
	AUTO(debpool_index) struct debpool_index index = { .count = 0 };
	int code = 0;

	for (const char *const *folder = par->folders; !code && *folder; folder++)
		code = walk_folder(par, *folder, &index, e);
	if (!code)
		sort(&index);
	for (size_t i = 0; !code && i < index.count; i++) {
		struct debpool_deb *deb = &index.debs[i];

		if (is_interrupted(par))
			return err_set(e, -ECANCELED, "'%s': interrupted", deb->path);
		if (is_whole(deb))
			code = debpool_deb_control(par, deb->path, &deb->control, e);
		deb->is_broken = !deb->control;
	}
	if (code)
		return code;
	*ret = index;
	index = (struct debpool_index){ .count = 0 };
	return 0;
}

/* Of the control file, all but what the index itself says of the file, and empty lines, which would end the package. */
static void write_package(FILE *f, size_t number, const struct debpool_deb *deb)
{
	for (const char *line = deb->control; *line;) {
		size_t n = strcspn(line, "\n");

		if (n > 0 && strncasecmp(line, "Filename:", 9) != 0 && strncasecmp(line, "Size:", 5) != 0 &&
		    strncasecmp(line, "SHA256:", 7) != 0)
			(void)fprintf(f, "%.*s\n", (int)n, line);
		line += n + (line[n] == '\n');
	}
	(void)fprintf(f, "Filename: ./%05zu.deb\nSize: %llu\n", number, (unsigned long long)deb->bytes);
	(void)fprintf(f, deb->sha256[0] ? "SHA256: %s\n\n" : "%s\n", deb->sha256);
}

/* So that it has a name to be preferred by. */
static int write_release(const char *work, const char *packages, struct err *e)
{
	char path[PATH_MAX + 32], sha256[CHECKSUM_TEXT], text[256];
	uint64_t bytes;
	int code = checksum_file(packages, CHECKSUM_SHA256, NULL, sha256, &bytes, e);

	if (code)
		return code;
	(void)snprintf(path, sizeof(path), "%s/pool/Release", work);
	(void)snprintf(text, sizeof(text), "Origin: " DEBPOOL_ORIGIN "\nSHA256:\n %s %llu Packages\n", sha256,
		       (unsigned long long)bytes);
	return textfile_write(path, text, e);
}

/* A link for each: where they are, there may be characters that apt cannot be told. */
int debpool_index_write(const struct debpool_index *index, const char *work, struct err *e)
{
	char path[PATH_MAX + 32];
	bool failed = false;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/pool/Packages", work);
	f = fopen(path, "we");
	if (!f)
		return err_errno(e, "'%s'", path);
	for (size_t i = 0; !failed && i < index->count; i++) {
		char link[PATH_MAX + 32];

		if (index->debs[i].is_broken)
			continue;
		write_package(f, i, &index->debs[i]);
		(void)snprintf(link, sizeof(link), "%s/pool/%05zu.deb", work, i);
		failed = (unlink(link) < 0 && errno != ENOENT) || symlink(index->debs[i].path, link) < 0;
	}
	failed |= ferror(f) != 0; /* errno is of what failed last, which is what filled the disk */
	if (fclose(f) != 0 || failed)
		return err_errno(e, "'%s'", path);
	return write_release(work, path, e);
}

struct debpool_deb *debpool_index_find(const struct debpool_index *index, const char *name)
{
	uint64_t number;
	char digits[8];

	if (strlen(name) != 9 || strcmp(name + 5, ".deb") != 0)
		return NULL;
	name += strspn(name, "0");
	(void)snprintf(digits, sizeof(digits), "%.*s", (int)strcspn(name, "."), name);
	if (num_parse_u64(digits[0] ? digits : "0", &number, NULL) || number >= index->count)
		return NULL;
	return &index->debs[number];
}
