/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mediumsum.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "checksum.h"
#include "num.h"

#define BAD "bad-medium"
#define REMEDY "the medium or the download is bad: download it again, or write it to another medium"
#define HEX "0123456789abcdefABCDEF"
#define ISO_SECTOR 2048
#define ISO_DESCRIPTORS 16 /* the first sector with one */
#define ISO_DESCRIPTORS_MAX 64

struct list { /* one of the lists of a medium, or beside a download */
	const char *name;
	enum checksum_kind kind;
	bool is_of_one; /* file */
};

static void file_close(FILE *f)
{
	if (f)
		(void)fclose(f); /* was only read */
}
DEFINE_AUTO(file, FILE *, file_close);

struct job { /* a file that a list may name */
	const char *name;
	char path[PATH_MAX];
	char sum[CHECKSUM_TEXT];
	enum checksum_kind kind;
	bool is_found;
	uint64_t bytes;
};

static size_t digits_of(enum checksum_kind kind)
{
	return kind == CHECKSUM_MD5 ? 32 : 64;
}

/*
 * A line "HEX  ./path" or "HEX *path"; *ret_name points into it. Others, comments and lines of other kinds of sums, are not ours.
 * What begins with a backslash has a name with escapes, which no medium has.
 */
static bool parse_line(char *line, enum checksum_kind kind, char ret_sum[CHECKSUM_TEXT], const char **ret_name)
{
	size_t n = digits_of(kind);

	line[strcspn(line, "\r\n")] = '\0';
	if (strspn(line, HEX) != n || line[n] != ' ' || (line[n + 1] != ' ' && line[n + 1] != '*'))
		return false;
	memcpy(ret_sum, line, n);
	ret_sum[n] = '\0';
	*ret_name = line + n + 2;
	while (strncmp(*ret_name, "./", 2) == 0)
		*ret_name += 2;
	return **ret_name != '\0';
}

/* FILE.sha256 may have the sum alone, which is then of the only job. */
static bool parse_bare(char *line, enum checksum_kind kind, char ret_sum[CHECKSUM_TEXT])
{
	size_t n = digits_of(kind);

	if (strspn(line, HEX) != n || line[n + strspn(line + n, " \t\r\n")])
		return false;
	memcpy(ret_sum, line, n);
	ret_sum[n] = '\0';
	return true;
}

static void use_line(char *line, const struct list *l, struct job *jobs, size_t count)
{
	char sum[CHECKSUM_TEXT];
	const char *name = NULL;
	bool is_bare = l->is_of_one && parse_bare(line, l->kind, sum);

	if (!is_bare && !parse_line(line, l->kind, sum, &name))
		return;
	for (size_t i = 0; i < count; i++) {
		if (jobs[i].is_found || (!is_bare && strcmp(jobs[i].name, name) != 0))
			continue;
		memcpy(jobs[i].sum, sum, sizeof(sum));
		jobs[i].kind = l->kind;
		jobs[i].is_found = true;
	}
}

/* What no earlier list has named. That there is no list is no error. A line at a time: those of DVDs are long. */
static int read_list(const char *folder, const struct list *l, struct job *jobs, size_t count, struct err *e)
{
	AUTO(file) FILE *f = NULL;
	AUTO_FREE char *line = NULL;
	char path[PATH_MAX];
	struct stat st;
	size_t room = 0;

	if (snprintf(path, sizeof(path), "%s/%s", folder, l->name) >= (int)sizeof(path))
		return err_set(e, -ENAMETOOLONG, "'%.300s': %s", folder, strerror(ENAMETOOLONG));
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return 0;
	f = fopen(path, "re");
	if (!f && errno == ENOENT)
		return 0;
	while (f && getline(&line, &room, f) >= 0)
		use_line(line, l, jobs, count);
	if (f && feof(f))
		return 0;
	if (errno == EIO)
		return err_refuse(e, BAD, "'%s': %s: " REMEDY, path, strerror(EIO));
	return err_errno(e, "'%s': read", path);
}

static int note_size(struct job *job, struct err *e)
{
	struct stat st;

	if (stat(job->path, &st) < 0) {
		int problem = errno;

		if (problem == ENOENT || problem == ENOTDIR || problem == EIO)
			return err_refuse(e, BAD, "'%s' is in the medium's list of checksums but cannot be read (%s): " REMEDY,
					  job->path, strerror(problem));
		errno = problem;
		return err_errno(e, "'%s'", job->path);
	}
	job->bytes = (uint64_t)st.st_size;
	return 0;
}

static int check_one(const struct job *job, const struct checksum_progress *p, struct err *e)
{
	char sum[CHECKSUM_TEXT];
	struct err why = ERR_INIT;
	uint64_t bytes;
	int code = checksum_file(job->path, job->kind, p, sum, &bytes, &why);

	if (code == -EIO)
		return err_refuse(e, BAD, "%s: " REMEDY, why.text);
	if (code)
		return err_set(e, code, "%s", why.text);
	if (strcasecmp(sum, job->sum) != 0)
		return err_refuse(e, BAD, "'%s': its %s is %s and not %s: " REMEDY, job->path,
				  job->kind == CHECKSUM_MD5 ? "MD5" : "SHA-256", sum, job->sum);
	return 0;
}

static int check_all(const struct job *jobs, size_t count, const struct progress *progress, struct err *e)
{
	struct checksum_progress p = { .progress = progress, .phase = "checking the medium" };
	int code = 0;

	for (size_t i = 0; i < count; i++)
		p.total_bytes += jobs[i].is_found ? jobs[i].bytes : 0;
	for (size_t i = 0; i < count && !code; i++) {
		if (!jobs[i].is_found)
			continue;
		code = check_one(&jobs[i], &p, e);
		p.done_bytes += jobs[i].bytes;
	}
	return code;
}

int mediumsum_check(const char *folder, const char *const *wanted, size_t count, const struct progress *p, size_t *ret_checked,
		    struct err *e)
{
	static const struct list lists[] = { { "sha256sum.txt", CHECKSUM_SHA256, false }, { "md5sum.txt", CHECKSUM_MD5, false } };
	AUTO_FREE struct job *jobs = calloc(count ? count : 1, sizeof(*jobs));
	size_t found = 0;
	int code = 0;

	if (!jobs)
		return err_set(e, -ENOMEM, "'%s': out of memory", folder);
	for (size_t i = 0; i < count; i++) {
		jobs[i].name = wanted[i];
		if (snprintf(jobs[i].path, sizeof(jobs[i].path), "%s/%s", folder, wanted[i]) >= (int)sizeof(jobs[i].path))
			return err_set(e, -ENAMETOOLONG, "'%.300s': %s", wanted[i], strerror(ENAMETOOLONG));
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && !code; i++)
		code = read_list(folder, &lists[i], jobs, count, e);
	for (size_t i = 0; i < count && !code; i++)
		if (jobs[i].is_found) {
			code = note_size(&jobs[i], e);
			found++;
		}
	if (!code)
		code = check_all(jobs, count, p, e);
	if (!code)
		*ret_checked = found;
	return code;
}

static int read_sector(int fd, uint64_t number, unsigned char sector[ISO_SECTOR])
{
	size_t n = 0;

	while (n < ISO_SECTOR) {
		ssize_t got = pread(fd, sector + n, ISO_SECTOR - n, (off_t)(number * ISO_SECTOR + n));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -ENODATA;
		n += (size_t)got;
	}
	return 0;
}

static uint32_t little(const unsigned char *at, size_t n)
{
	uint32_t value = 0;

	while (n-- > 0)
		value = value << 8 | at[n];
	return value;
}

/* ISO 9660, 8.4: type 1 is the primary one, type 255 ends them. Volume space size and block size are in both byte orders. */
static int volume_bytes(int fd, const char *iso, uint64_t *ret, struct err *e)
{
	unsigned char sector[ISO_SECTOR];

	for (uint64_t i = ISO_DESCRIPTORS; i < ISO_DESCRIPTORS_MAX; i++) {
		int code = read_sector(fd, i, sector);

		if (code)
			return err_refuse(e, BAD, "'%s': it ends or cannot be read where its length should be: %s: " REMEDY,
					  iso, strerror(-code));
		if (memcmp(sector + 1, "CD001", 5) != 0)
			return err_refuse(e, BAD, "'%s' has no volume descriptor: it is no ISO image, or a bad download",
					  iso);
		if (sector[0] == 255)
			break;
		if (sector[0] == 1) {
			*ret = (uint64_t)little(sector + 80, 4) * little(sector + 128, 2);
			return 0;
		}
	}
	return err_refuse(e, BAD, "'%s' has no primary volume descriptor: it is no ISO image, or a bad download", iso);
}

static int check_length(const char *iso, uint64_t *ret_bytes, struct err *e)
{
	char wanted_text[NUM_BYTES_TEXT], text[NUM_BYTES_TEXT];
	AUTO_FD int fd = open(iso, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint64_t wanted = 0;
	off_t bytes;
	struct stat st;
	int code;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "'%s'", iso);
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return err_set(e, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL, "'%s' is neither a regular file nor a block device",
			       iso);
	bytes = lseek(fd, 0, SEEK_END); /* of a device, too */
	if (bytes < 0)
		return err_errno(e, "'%s': length", iso);
	code = volume_bytes(fd, iso, &wanted, e);
	if (code)
		return code;
	if ((uint64_t)bytes < wanted)
		return err_refuse(e, BAD, "'%s' has %s of the %s that it should have: the download was cut short: repeat it",
				  iso, num_format_bytes((uint64_t)bytes, text), num_format_bytes(wanted, wanted_text));
	*ret_bytes = (uint64_t)bytes;
	return 0;
}

static int find_iso(const char *folder, const char *name, struct job *job, struct err *e)
{
	char sha256[NAME_MAX + 16], md5[NAME_MAX + 16];
	const struct list lists[] = {
		{ sha256, CHECKSUM_SHA256, true },
		{ "SHA256SUMS", CHECKSUM_SHA256, false },
		{ md5, CHECKSUM_MD5, true },
		{ "MD5SUMS", CHECKSUM_MD5, false },
	};
	int code = 0;

	job->name = name;
	(void)snprintf(sha256, sizeof(sha256), "%s.sha256", name); /* the file is there, so its name fits */
	(void)snprintf(md5, sizeof(md5), "%s.md5", name);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && !code; i++)
		code = read_list(folder, &lists[i], job, 1, e);
	return code;
}

int mediumsum_check_iso(const char *iso, const struct progress *p, bool *ret_listed, struct err *e)
{
	const char *slash = strrchr(iso, '/');
	char folder[PATH_MAX] = ".";
	struct job job = { .name = NULL };
	int code = check_length(iso, &job.bytes, e);

	if (code)
		return code;
	if (slash)
		(void)snprintf(folder, sizeof(folder), "%.*s", slash == iso ? 1 : (int)(slash - iso), iso);
	(void)snprintf(job.path, sizeof(job.path), "%s", iso); /* it could be opened, so it fits */
	code = find_iso(folder, slash ? slash + 1 : iso, &job, e);
	if (!code)
		code = check_all(&job, 1, p, e);
	if (!code)
		*ret_listed = job.is_found;
	return code;
}
