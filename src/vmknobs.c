/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmknobs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "auto.h"
#include "num.h"

static int open_error(const char *path, struct err *e)
{
	int code = -errno;

	if (code == -EACCES || code == -EPERM)
		return err_set(e, code, "'%s' may not be written: run this as root, and not in a container", path);
	if (code == -EROFS)
		return err_set(e, code, "'%s' is read-only, as it is in a container: run this on the system itself", path);
	return err_errno(e, "'%s'", path);
}

static int open_knob(int knob, int flags, int *ret_fd, struct err *e)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", VMKNOBS_FOLDER, profile_knob_name(knob));

	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(e, -ENAMETOOLONG, "'%s': %s", profile_knob_name(knob), strerror(ENAMETOOLONG));
	*ret_fd = open(path, flags | O_CLOEXEC);
	return *ret_fd < 0 ? open_error(path, e) : 0;
}

static int read_knob(int knob, uint64_t *ret, struct err *e)
{
	AUTO_FD int fd = -1;
	uint64_t never;
	char text[64];
	ssize_t n;
	int code = open_knob(knob, O_RDONLY, &fd, e);

	if (code)
		return code;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return err_errno(e, "read vm.%s", profile_knob_name(knob));
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (knob == PROFILE_WRITEBACK && text[0] == '-' && num_parse_u64(text + 1, &never, NULL) == 0) {
		*ret = 0; /* 'sysctl -w vm.dirty_writeback_centisecs=-1': as 0, never; other knobs the kernel refuses it for */
		return 0;
	}
	code = num_parse_u64(text, ret, e);
	return code ? err_wrap(e, code, "vm.%s", profile_knob_name(knob)) : 0;
}

static int write_knob(int knob, uint64_t value, struct err *e)
{
	AUTO_FD int fd = -1;
	char text[32];
	int n = snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
	int code = open_knob(knob, O_WRONLY | O_TRUNC, &fd, e);
	ssize_t put;

	if (code)
		return code;
	put = write(fd, text, (size_t)n);
	if (put < 0)
		return err_errno(e, "set vm.%s to %" PRIu64, profile_knob_name(knob), value);
	if (put != n)
		return err_set(e, -EIO, "set vm.%s to %" PRIu64 ": only a part of it was written", profile_knob_name(knob),
			       value);
	return 0;
}

int vmknobs_read(struct profile_knobs *ret, struct err *e)
{
	struct profile_knobs k;

	for (int knob = 0; knob < PROFILE_KNOBS; knob++) {
		uint64_t value = 0;
		int code = read_knob(knob, &value, e);

		if (code)
			return code;
		profile_knob_put(&k, knob, value);
	}
	*ret = k;
	return 0;
}

int vmknobs_check_writable(struct err *e)
{
	for (int knob = 0; knob < PROFILE_KNOBS; knob++) {
		AUTO_FD int fd = -1;
		int code = open_knob(knob, O_WRONLY, &fd, e);

		if (code)
			return code;
	}
	return 0;
}

/* The limit or the background limit: in bytes, or if these are 0 in per cent. */
struct pair {
	int knob; /* PROFILE_DIRTY_BYTES or PROFILE_BACKGROUND_BYTES; that of the per cent is the next one */
	uint64_t bytes, ratio;
};

static struct pair limit_of(const struct profile_knobs *k)
{
	return (struct pair){ PROFILE_DIRTY_BYTES, k->dirty_bytes, k->dirty_ratio };
}

static struct pair background_of(const struct profile_knobs *k)
{
	return (struct pair){ PROFILE_BACKGROUND_BYTES, k->background_bytes, k->background_ratio };
}

static bool is_same(struct pair a, struct pair b)
{
	return a.bytes == b.bytes && a.ratio == b.ratio;
}

/* Whatever the memory is that per cent mean at this moment: of two units, nobody knows. */
static bool is_below(struct pair a, struct pair b)
{
	if (a.bytes && b.bytes)
		return a.bytes < b.bytes;
	return !a.bytes && !b.bytes && a.ratio < b.ratio;
}

/*
 * The non-zero member; the kernel makes the other one zero. Both can be zero, by 'echo 0 > dirty_background_ratio'. For the limit
 * the kernel takes a per cent that it has already for no change, and leaves the bytes (mm/page-writeback.c,
 * dirty_ratio_handler()): hence the 1 on the way to 0.
 */
static int write_pair(struct pair now, struct pair to, struct err *e)
{
	int code = 0;

	if (to.bytes)
		return write_knob(to.knob, to.bytes, e);
	if (to.knob == PROFILE_DIRTY_BYTES && to.ratio == 0 && now.ratio == 0)
		code = write_knob(to.knob + 1, 1, e);
	return code ? code : write_knob(to.knob + 1, to.ratio, e);
}

/*
 * The kernel replaces a background limit that is not below the limit by half of it, silently. So before the limit goes below
 * what the background limit is now, that one moves: to its new value if that is below the limit of now, else, as with pairs
 * of two units, to one page, which is below everything and only makes the kernel write early for a moment.
 */
static int write_pairs(const struct profile_knobs *k, const struct profile_knobs *now, struct err *e)
{
	struct pair limit = limit_of(now), background = background_of(now);
	const struct pair new_limit = limit_of(k), new_background = background_of(k);
	const struct pair one_page = { PROFILE_BACKGROUND_BYTES, (uint64_t)sysconf(_SC_PAGESIZE), 0 };
	int code = 0;

	if (!is_same(limit, new_limit)) {
		if (!is_same(background, new_background) && !is_below(background, new_limit)) {
			const struct pair *first = is_below(new_background, limit) ? &new_background : &one_page;

			code = write_pair(background, *first, e);
			background = *first;
		}
		if (!code)
			code = write_pair(limit, new_limit, e);
	}
	if (!code && !is_same(background, new_background))
		code = write_pair(background, new_background, e);
	return code;
}

static int read_back(const struct profile_knobs *k, struct err *e)
{
	struct profile_knobs now = { 0 };
	int code = vmknobs_read(&now, e);

	for (int knob = 0; !code && knob < PROFILE_KNOBS; knob++)
		if (profile_knob_get(&now, knob) != profile_knob_get(k, knob))
			code = err_set(e, -EIO, "vm.%s is %" PRIu64 " and not %" PRIu64 " as it was set: another program sets "
				       "it, too; stop that, then retry",
				       profile_knob_name(knob), profile_knob_get(&now, knob), profile_knob_get(k, knob));
	return code;
}

int vmknobs_write(const struct profile_knobs *k, struct err *e)
{
	struct profile_knobs now = { 0 };
	int code;

	if ((k->dirty_bytes && k->dirty_ratio) || (k->background_bytes && k->background_ratio))
		return err_set(e, -EINVAL, "vm.dirty_*: bytes and per cent for one limit exclude each other");
	code = vmknobs_read(&now, e);
	if (!code)
		code = write_pairs(k, &now, e);
	for (int knob = PROFILE_EXPIRE; !code && knob <= PROFILE_WRITEBACK; knob++)
		if (profile_knob_get(&now, knob) != profile_knob_get(k, knob))
			code = write_knob(knob, profile_knob_get(k, knob), e);
	return code ? code : read_back(k, e);
}

int vmknobs_machine(struct profile_machine *m, struct err *e)
{
	long page = sysconf(_SC_PAGESIZE);
	struct sysinfo info;

	if (page <= 0 || sysinfo(&info) < 0)
		return err_errno(e, "size of the memory");
	m->page_bytes = (uint64_t)page;
	m->memory_bytes = (uint64_t)info.totalram * info.mem_unit;
	return 0;
}
