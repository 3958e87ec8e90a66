/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * output - what wubi-disk prints: results on stdout (text, or one JSON value), and on stderr
 * 'wubi-disk: context: reason'.
 *
 * Names that come from a volume can hold anything; output_print() lets no control character through.
 */
#ifndef WUBI_OUTPUT_H
#define WUBI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "err.h"
#include "image.h"
#include "jsonout.h"
#include "map.h"
#include "options.h"
#include "picture.h"
#include "report.h"

/* Exit statuses: part of the interface, see wubi-disk(8). */
enum output_status {
	OUTPUT_DONE = 0,
	OUTPUT_FAILED = 1,
	OUTPUT_USAGE = 2,
	OUTPUT_REFUSED = 3,
	OUTPUT_INTERRUPTED = 4,
};

/*
 * printf to f; every control character but newline becomes '?'. What is lost, for want of memory too, output_flush() and
 * output_finish() tell.
 */
void output_print(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Flushes stdout. Returns status, or OUTPUT_FAILED, told on stderr, when not all that was printed arrived. */
int output_finish(int status);

/* Can standard output be written at all? -EBADF: it was closed. Before a verb changes anything that it would have to tell. */
int output_check_open(struct err *e);

/* Did all that was printed so far arrive? For results that must be out before something is written. */
int output_flush(struct err *e);

/*
 * Tells a failure, refusal or interruption on stderr, and with --json on stdout too. findings may be NULL.
 * Returns the exit status.
 */
int output_fail(const struct options *o, const struct err *e, const struct report *findings);

/*
 * The same after image_create(), image_preflight() and image_map(): their -EINVAL is a bad request, which is a usage
 * error. Not for other calls: theirs may be the kernel's word on an I/O.
 */
int output_fail_request(const struct options *o, const struct err *e, const struct report *findings);

/* Prints root on stdout and frees it. Returns OUTPUT_DONE, or OUTPUT_FAILED, told on stderr. */
int output_json(struct jsonout *root);

/* Adds the keys of 'show' to an object. */
void output_map_json(struct jsonout *parent, const struct map *m);
void output_extents_json(struct jsonout *parent, const struct extent_list *extents);
void output_info_json(struct jsonout *parent, const struct image_info *info);

/* Tables for people. */
void output_map_text(FILE *f, const struct map *m);
void output_extents_text(FILE *f, const struct extent_list *extents);
void output_info_text(FILE *f, const char *volume, const struct image_info *info);
void output_plan_text(FILE *f, const char *volume, const struct image_plan *plan);

/* The picture, in colour when f is a terminal and NO_COLOR is not set. -ENOMEM. */
int output_picture(FILE *f, const struct picture *p, struct err *e);

#endif
