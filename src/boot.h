/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot - what the boot program does: the maps of the initramfs, the volumes that appear, a verdict for each map, and only when
 * all are decided the devices. Writes to no disk.
 *
 * A host is found by what is on it. Waiting ends by the clock. Two volumes that both hold an image are refused, so before it
 * decides it lets udev come to rest: a clone that is plugged in is there by then.
 */
#ifndef WUBI_BOOT_H
#define WUBI_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bootargs.h"
#include "err.h"
#include "extent.h"
#include "hostscan.h"
#include "map.h"
#include "verdict.h"

#define BOOT_MAPS_MAX 64
#define BOOT_TIMEOUT_S 30 /* wubi.timeout= changes it */
#define BOOT_DEVICE_MAX 64

enum boot_level {
	BOOT_INFO,  /* all is as it should be */
	BOOT_WAIT,  /* why nothing seems to happen */
	BOOT_WARN,  /* boot goes on, but the user should know */
	BOOT_ERROR, /* root is not to be had */
};

/* One line of text without a newline; volumes' names in it may hold anything. */
typedef void boot_say_fn(void *ctx, enum boot_level level, const char *line);

struct boot_params {
	const char *maps_dir;
	const struct bootargs *args;
	unsigned timeout_s;
	bool dry_run;      /* decide, but attach nothing */
	boot_say_fn *say;
	void *ctx;
};

struct boot_map {
	char name[32];
	struct map *map;               /* NULL: it could not be read, or derived */
	bool needed;                   /* root is on it */
	bool derived;                  /* from the MFT, for loop=: nothing that could be compared with it */
	bool found;                    /* a volume that has to be its host was seen: waiting would change nothing */
	bool retry;                    /* ... or could not be read, which may pass */
	bool suspended;                /* a swap that holds a hibernated session */
	struct verdict_result verdict; /* its reasons are for the user */
	struct extent_list extents;    /* the runs as they are now */
	char volume[272];              /* the host, "" unknown */
	char device[BOOT_DEVICE_MAX];  /* "/dev/mapper/wubi-root", "" not attached */
	int code;                      /* of a failure: a negative errno; 0 when the verdict tells all */
	char refusal[32];              /* why it is not attached although the verdict allows it: "busy", "resume", ...; "" none */
};

/* Zero-initialised is empty; release with boot_result_clear(). */
struct boot_result {
	struct boot_map maps[BOOT_MAPS_MAX];
	size_t count;
	struct hostscan seen;          /* all volumes, with what was made of them */
	char root_device[BOOT_DEVICE_MAX]; /* loop= decided the root: its device; else "" */
	struct err loop_problem;       /* why the image of loop= could not be taken from a volume that was seen */
	uint64_t elapsed_ms;
};

/*
 * Runs all of it. 0: what root needs is attached, or nothing was to be done; a refusal, or a failure, when not: the text
 * is of the first map that root needs. *ret is filled in any case.
 */
int boot_run(const struct boot_params *par, struct boot_result *ret, struct err *e);

/*
 * The device that will be root because loop= says so, "" when it does not. Looks at the maps only, at no device: for those who
 * have to know before a disk is there.
 */
int boot_root_of_loop(const struct boot_params *par, char ret_device[BOOT_DEVICE_MAX], struct err *e);

void boot_result_clear(struct boot_result *r);

/* The volume under root, else under the first image that is attached; "" none. */
const char *boot_host(const struct boot_result *r);

static inline void auto_boot_result(struct boot_result *r)
{
	boot_result_clear(r);
}

#endif
