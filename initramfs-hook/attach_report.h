/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attach_report - what the boot program leaves behind for the running system: /run/wubi/boot.json, boot.log, and the rest. */
#ifndef WUBI_ATTACH_REPORT_H
#define WUBI_ATTACH_REPORT_H

#include "boot.h"
#include "err.h"
#include "jsonout.h"

/* {version, maps[{name, verdict, reasons[], device}], host, elapsed_ms, volumes[{device, text}]}. The caller's. */
struct jsonout *report_json(const struct boot_result *r);

/* boot.json and boot.log in run_dir, which is made when it is not there. */
int report_write(const char *run_dir, const struct boot_result *r, const char *log, struct err *e);

/*
 * Hibernation off: run_dir's neighbour systemd/sleep.conf.d/50-wubi.conf. A resumed session would go on with page cache and
 * device-mapper tables from before Windows ran.
 */
int report_forbid_hibernation(const char *run_dir, struct err *e);

/* Adds "ROOT=DEVICE" to initramfs-tools' /conf/param.conf. */
int report_root(const char *path, const char *device, struct err *e);

#endif
