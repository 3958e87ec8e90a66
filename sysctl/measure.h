/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measure - what each profile costs on this disk. measure.c has the order of things, fio.c runs fio, measure_report.c says
 * what came of it.
 */
#ifndef WUBI_PROFILE_MEASURE_H
#define WUBI_PROFILE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "num.h"
#include "options.h"
#include "profctl.h"
#include "report.h"

#define MEASURE_FOLDER "/var/lib/wubi/measure" /* there while it runs; what a killed one left, the next removes */
#define MEASURE_RUNS_MAX 99
#define MEASURE_RUNS_DEFAULT 3
#define MEASURE_SIZE_MIN NUM_MIB
#define MEASURE_SIZE_MAX (64 * NUM_GIB)
#define MEASURE_SIZE_DEFAULT (128 * NUM_MIB)
#define MEASURE_SMALL_FILES 500

enum measure_job {
	MEASURE_FSYNC, /* 4 KiB writes at random places, each followed by fsync: writes a second, times 1000 */
	MEASURE_FILES, /* small files created and written: files a second, times 1000 */
	MEASURE_LARGE, /* one large file, fsynced at its end: bytes a second */
	MEASURE_JOBS
};

struct measure_figure {
	uint64_t median, min, max;
};

struct measure_profile {
	char name[PROFILE_NAME_MAX];
	uint64_t runs[MEASURE_JOBS][MEASURE_RUNS_MAX];
	struct measure_figure figures[MEASURE_JOBS];
	struct profile_window window;  /* of what was in force meanwhile */
	unsigned promised_ms;
};

struct measure {
	struct measure_profile profiles[CONF_PROFILES_MAX];
	size_t count;
	size_t runs;
	uint64_t size_bytes;
	bool in_image;                 /* the files were in an image of ours, where the mount options are the profile's */
	uint64_t disk_bytes_per_s;
	const struct measure_profile *fits[PROFILE_PHASES];
	struct report notes;
};

/* Where fio is. A refusal "no-fio" with what to install. */
int fio_find(char ret[PATH_MAX], struct err *e);

/*
 * One run of a job in a folder, which is empty before and holds fio's files afterwards. *ret as enum measure_job says.
 * tick() is called several times a second; -ECANCELED after a signal (signals.h).
 */
struct fio {
	const char *program, *folder;
	uint64_t size_bytes;
	void (*tick)(void *ctx);
	void *ctx;
};
int fio_run(const struct fio *f, enum measure_job job, uint64_t *ret, struct err *e);

/* Median and spread of all runs, the disk's speed, and which profile fits which phase. */
void measure_conclude(struct measure *m);
int measure_print(const struct options *o, const struct measure *m);

#endif
