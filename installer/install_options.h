/* SPDX-License-Identifier: GPL-2.0-or-later */
/* install_options - the command line of wubi-install, and how it and the configuration become one. */
#ifndef WUBI_INSTALL_OPTIONS_H
#define WUBI_INSTALL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "conf_install.h"
#include "optrows.h"
#include "progress_tty.h"

/* All pointers are borrowed from argv, or static. */
struct install_options {
	struct optrows_base base;
	const char *config;
	const char *volume, *esp, *root;
	uint64_t size_bytes, swap_bytes, home_bytes; /* 0: not given */
	const char *iso, *squashfs, *packages;
	const char *hostname, *user, *full_name;
	const char *locale, *time_zone, *keyboard;
	const char *boot_default;
	const char *progress_text;
	enum progress_tty_mode progress;
	bool unmount, no_network, yes;
	bool list, remove, repair;
};

extern const struct optrows_program install_options_program;

/* The configuration file, if one is named, and the options over it. -EINVAL and errors of the file. */
int install_options_merge(const struct install_options *o, struct conf_install *ret, struct err *e);

#endif
