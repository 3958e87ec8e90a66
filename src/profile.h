/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile - durability profiles: how a file system is mounted and how long the kernel may keep what was written in memory; what
 * that means in the kernel's values on one machine; and what a power cut may cost. Data and arithmetic, no I/O.
 *
 * The kernel's side: Documentation/admin-guide/sysctl/vm.rst. Of each pair *_bytes and *_ratio one is non-zero; writing one
 * sets the other to zero; 0 is refused for *_bytes; *_bytes is at least two pages; a background limit that is not below the
 * limit is silently replaced by half of it.
 */
#ifndef WUBI_PROFILE_H
#define WUBI_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define PROFILE_NAME_MAX 32     /* [a-z][a-z0-9-]{0,30} */
#define PROFILE_OPTIONS_MAX 160
#define PROFILE_ABOUT_MAX 256
#define PROFILE_CENTISECS_MAX 360000U /* an hour: longer is a mistake */

/* The two uses of a system, each with a profile of its own. */
enum profile_phase { PROFILE_NORMAL, PROFILE_ISO_COPY, PROFILE_PHASES };
const char *profile_phase_name(enum profile_phase p);              /* "normal", "iso-copy" */
bool profile_phase_parse(const char *name, enum profile_phase *ret);

/* How much may be dirty: in bytes, in per cent of the memory, or in milliseconds of what this disk can write. */
enum profile_unit { PROFILE_BYTES, PROFILE_PERCENT, PROFILE_DISK_MS };
struct profile_amount {
	enum profile_unit unit;
	uint64_t value;
};

struct profile {
	char name[PROFILE_NAME_MAX];
	char about[PROFILE_ABOUT_MAX];      /* for whom it is */
	char mount[PROFILE_OPTIONS_MAX];    /* "sync,commit=5", see mountopts.h; 'barrier' is in every one, also in "" */
	struct profile_amount dirty;        /* who writes has to wait beyond this */
	struct profile_amount background;   /* the kernel begins to write at this */
	unsigned expire_cs;                 /* dirty for longer is written at the next look ... */
	unsigned writeback_cs;              /* ... which is this often; 1/100 s */
	unsigned loss_ms;                   /* what it promises: calls that returned earlier are on the disk; 0: every one */
};

/* The kernel's values. Of each pair one is zero. */
struct profile_knobs {
	uint64_t dirty_bytes, dirty_ratio;
	uint64_t background_bytes, background_ratio;
	uint64_t expire_cs, writeback_cs;
};

/* Each of them: its name below vm., and its value. The two of a pair are neighbours, the first one with an even number. */
enum profile_knob {
	PROFILE_DIRTY_BYTES, PROFILE_DIRTY_RATIO, PROFILE_BACKGROUND_BYTES, PROFILE_BACKGROUND_RATIO,
	PROFILE_EXPIRE, PROFILE_WRITEBACK, PROFILE_KNOBS
};
const char *profile_knob_name(int knob);
uint64_t profile_knob_get(const struct profile_knobs *k, int knob);
void profile_knob_put(struct profile_knobs *k, int knob, uint64_t value);

/* What has to be known of a machine. */
struct profile_machine {
	uint64_t page_bytes;
	uint64_t memory_bytes;          /* MemTotal */
	uint64_t disk_bytes_per_s;      /* 0: not measured */
};

bool profile_name_is_valid(const char *name);
#define PROFILE_NAME_ALLOWED "allowed are a-z, 0-9 and '-', a letter first, 31 at most"

/*
 * Is it one that can be meant? -EINVAL, the text begins with the key ("dirty: ", "name: "), then says what is wrong and what is
 * allowed: a bad name, mount options that mountopts_check() refuses, a per cent of 0 or above 100, a time of 0 or above an hour,
 * fewer than two pages, background not below dirty (when both have one unit), an interval of 0 or above PROFILE_CENTISECS_MAX,
 * and without 'sync' a loss of 0 or one shorter than expire + writeback + commit, plus dirty where that is a time.
 */
int profile_check(const struct profile *p, uint64_t page_bytes, struct err *e);

/*
 * The kernel's values of a profile on this machine, which profile_knobs_check() then accepts (-EINVAL if not). PROFILE_DISK_MS
 * needs disk_bytes_per_s (-ENODATA: "wubi-profile measure" has to run first), is held between 16 MiB and a fifth of the memory,
 * the background one at half of the limit at most, and rounded down to whole pages.
 */
int profile_resolve(const struct profile *p, const struct profile_machine *m, struct profile_knobs *ret, struct err *e);

/*
 * Would the kernel take them, and mean what they say? -EINVAL: a pair with two values or none, fewer than two pages, above 100
 * per cent, background >= limit. The kernel itself may have neither of a pair: it takes a ratio of 0.
 */
int profile_knobs_check(const struct profile_knobs *k, const struct profile_machine *m, struct err *e);
bool profile_knobs_equal(const struct profile_knobs *a, const struct profile_knobs *b);

/* What a power cut may cost, with these values in force. */
struct profile_window {
	/* A synchronous mount: write, truncate, setxattr and directory calls that returned are on the disk. */
	bool calls_are_durable;
	bool fsync_is_durable;   /* no 'nobarrier': if not, the disk's cache may take anything, and what follows is no bound */
	/*
	 * Else, and always for stores through mmap, chmod, times: expire + writeback + commit + limit / speed. UINT64_MAX: no
	 * bound, vm.dirty_writeback_centisecs is 0.
	 */
	uint64_t ms;
	uint64_t bytes;          /* at most so many, of all files: twice the limit, and what the disk takes between two commits */
	bool speed_is_known;     /* if not, what depends on it is left out, and nobody can tell */
};

/* mount_shown: the super block's options as mountinfo shows them. */
void profile_window(const struct profile_knobs *k, const struct profile_machine *m, const char *mount_shown,
		    struct profile_window *ret);

/* "8s", "64MiB", "20%": for configuration, messages, and back. -EINVAL with what is allowed; -ERANGE. */
int profile_parse_amount(const char *text, struct profile_amount *ret, struct err *e);
int profile_parse_ms(const char *text, unsigned *ret_ms, struct err *e); /* "5s", "500ms"; whole 1/100 s */
#define PROFILE_AMOUNT_TEXT 32
const char *profile_format_amount(const struct profile_amount *a, char buf[PROFILE_AMOUNT_TEXT]); /* returns buf */

#endif
