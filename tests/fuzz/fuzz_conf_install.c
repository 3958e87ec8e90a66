/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_conf_install - whatever is in a wubi-install.conf(5): each value that is taken passes the check of options, what is
 * refused has its place in the file, and the next file is read as if this one had not been. The text is also the value of each
 * option.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "conf_install.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	(void)fprintf(stderr, "fuzz_conf_install: %s\n", what);
	abort();
}

static void check_text(const struct err *e)
{
	for (const char *p = e->text; *p; p++)
		require((unsigned char)*p >= ' ' && *p != 0x7f, "a control character in an error");
}

/* Kinds of errors that the header names, and "fuzz.conf:LINE: " in front of what is wrong in the text. */
static void check_error(int code, const struct err *e)
{
	require(code == e->code, "another code in the error");
	require(code == -EINVAL || code == -EFBIG, "an error that the header does not name");
	if (code == -EINVAL)
		require(strncmp(e->text, "fuzz.conf:", 10) == 0 && e->text[10] >= '1' && e->text[10] <= '9' &&
				strstr(e->text, "allowed"),
			"an error without its line, or without what is allowed");
	check_text(e);
}

static void check_value(const char *key, const char *value)
{
	require(!*value || conf_install_check(key, value, NULL) == 0, key);
}

static void check_values(const struct conf_install *c)
{
	check_value("volume", c->volume);
	check_value("esp", c->esp);
	check_value("iso", c->iso);
	check_value("squashfs", c->squashfs);
	check_value("packages", c->packages);
	check_value("hostname", c->hostname);
	check_value("user", c->user);
	check_value("full-name", c->full_name);
	check_value("password-hash", c->password_hash);
	check_value("locale", c->locale);
	check_value("time-zone", c->time_zone);
	check_value("keyboard", c->keyboard);
	check_value("profile-normal", c->profile_normal);
	check_value("profile-iso-copy", c->profile_iso_copy);
	check_value("command", c->command);
	require(!c->iso[0] || !c->squashfs[0], "an image and a squashfs");
	require(c->unmount_given || !c->unmount, "unmount, and not given");
	require(c->clock_given || !c->clock_utc, "a clock, and not given");
	require(c->default_given || !c->default_linux, "a default, and not given");
	require(c->network_given || !c->no_network, "a network, and not given");
}

static void try_options(const char *value)
{
	static const char *const keys[] = {
		"volume", "esp", "size", "swap", "home", "iso", "squashfs", "packages", "hostname", "user", "full-name",
		"password-hash", "locale", "time-zone", "keyboard", "profile-normal", "profile-iso-copy", "command", "unmount",
		"clock", "default", "network", "none",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct err e = ERR_INIT;
		int code = conf_install_check(keys[i], value, &e);

		require(code == 0 || (code == -EINVAL && e.code == code), "an error that the header does not name");
		check_text(&e);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO_FREE char *text = malloc(n + 1);
	static struct conf_install c;
	struct err e = ERR_INIT;
	int code;

	require(text != NULL, "out of memory");
	if (n)
		memcpy(text, data, n);
	text[n] = '\0';
	code = conf_install_parse(text, "fuzz.conf", &c, &e);
	if (code)
		check_error(code, &e);
	else
		check_values(&c);
	try_options(text);
	require(conf_install_parse("user = ada\n", "next", &c, NULL) == 0 && !strcmp(c.user, "ada") && !c.command[0],
		"the next file is not read as it is");
	return 0;
}
