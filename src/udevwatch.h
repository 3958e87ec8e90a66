/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * udevwatch - waits for block devices to appear. The only file that includes libudev.
 *
 * It listens to the kernel's own events, so that it works where no udevd runs; the kernel's devtmpfs has made the node by then.
 */
#ifndef WUBI_UDEVWATCH_H
#define WUBI_UDEVWATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "auto.h"
#include "err.h"

struct udevwatch;

/* *ret is the caller's: udevwatch_free(). Open it before the first look at the devices, so that none slips through. */
int udevwatch_open(struct udevwatch **ret, struct err *e);

/* Waits for an event of a block device, at most timeout_ms. Events that came together are one. True: look again. */
bool udevwatch_wait(struct udevwatch *w, unsigned timeout_ms);

/* Has udevd events in work? False also when no udevd runs. */
bool udevwatch_is_busy(const struct udevwatch *w);

void udevwatch_free(struct udevwatch *w); /* NULL is fine */
DEFINE_AUTO(udevwatch, struct udevwatch *, udevwatch_free);

/* CLOCK_BOOTTIME in ms: wall-clock time, whatever a loop counts. */
uint64_t udevwatch_now_ms(void);

#endif
