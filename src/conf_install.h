/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf_install - what an installation shall be: from wubi-install.conf(5), for unattended ones, and from options, which win.
 * libconfuse through conf's own look at the text (conf_private.h).
 *
 *	volume = "PARTUUID=..."      esp = "/dev/sda1"            unmount = true
 *	size = "30G"                 swap = "2G"                  home = "10G"
 *	iso = "/path.iso"            squashfs = "/path"           packages = "/folder"
 *	hostname = "ada-pc"          user = "ada"                 full-name = "Ada"
 *	password-hash = "$y$..."     locale = "de_DE.UTF-8"       time-zone = "Europe/Berlin"
 *	keyboard = "de"              clock = "local"              # or utc
 *	profile-normal = "safe"      profile-iso-copy = "fast"    default = "windows"  # or linux
 *	command = "apt-get -y purge foo"                          network = false
 *
 * Every key once at most; an unknown key, a wrong kind or an unusable value is refused with file and line.
 */
#ifndef WUBI_CONF_INSTALL_H
#define WUBI_CONF_INSTALL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "profile.h"

struct conf_install { /* "", 0: not given */
	char volume[256], esp[256];
	uint64_t size_bytes, swap_bytes, home_bytes;
	char iso[PATH_MAX], squashfs[PATH_MAX], packages[PATH_MAX];
	char hostname[64], user[33], full_name[128], password_hash[256];
	char locale[64], time_zone[64], keyboard[64];
	char profile_normal[PROFILE_NAME_MAX], profile_iso_copy[PROFILE_NAME_MAX];
	char command[1024];
	bool unmount, clock_utc, default_linux;
	bool no_network;
	bool network_given, clock_given, default_given, unmount_given; /* is in the file */
};

/*
 * *ret is overwritten, by an error with what is to be ignored. -EINVAL with "FILE:LINE: key: problem, allowed is ..."; errors of
 * the file.
 */
int conf_install_read(const char *path, struct conf_install *ret, struct err *e);

/* The same from text; name stands for the file in messages. For the fuzzer, too. -EFBIG: more than CONF_TEXT_MAX bytes. */
int conf_install_parse(const char *text, const char *name, struct conf_install *ret, struct err *e);

/*
 * The same rules for the values of options: key as in the file; but iso, squashfs and packages may be relative, which a file's
 * may not. -EINVAL: "'x' is no host name, allowed are ...". The value of password-hash is in no message.
 */
int conf_install_check(const char *key, const char *value, struct err *e);

#endif
