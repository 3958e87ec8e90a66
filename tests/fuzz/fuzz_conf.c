/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_conf - whatever is in a configuration: what is taken passes every check and has all that it refers to, what is refused has
 * its place in the file; a choice is written as it was read; and the next file is read as if this one had not been. libFuzzer
 * runs it in 'make fuzz', replay.c over the corpus in 'make check'.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "conf.h"
#include "mountopts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	(void)fprintf(stderr, "fuzz_conf: %s\n", what);
	abort();
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
	for (const char *p = e->text; *p; p++)
		require((unsigned char)*p >= ' ' && *p != 0x7f, "a control character in an error");
}

static void check_amount(const struct profile_amount *a)
{
	char text[PROFILE_AMOUNT_TEXT];
	struct profile_amount again;

	require(profile_parse_amount(profile_format_amount(a, text), &again, NULL) == 0, "an amount that cannot be read again");
	require(again.unit == a->unit && again.value == a->value, "an amount that is another when read again");
}

static void check_profile(const struct profile *p)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	struct profile_machine m = { page_bytes, UINT64_C(8) << 30, 100000000 };
	char remount[MOUNTOPTS_TEXT], first[MOUNTOPTS_TEXT];
	struct profile_window w;
	struct profile_knobs k;

	require(profile_check(p, page_bytes, NULL) == 0, "a profile that does not pass the check");
	require(mountopts_split(p->mount, remount, first, NULL) == 0, "mount options that cannot be split");
	check_amount(&p->dirty);
	check_amount(&p->background);
	if (profile_resolve(p, &m, &k, NULL) == 0) {
		require(profile_knobs_check(&k, &m, NULL) == 0, "values that the kernel would not take");
		profile_window(&k, &m, p->mount, &w);
		require(w.calls_are_durable || p->loss_ms > 0, "a promise that nothing is lost, without sync");
	}
}

static void try_conf(const char *text)
{
	static struct conf c;
	struct err e = ERR_INIT;
	int code = conf_parse(text, "fuzz.conf", &c, &e);

	if (code) {
		check_error(code, &e);
		return;
	}
	require(c.count >= 3 && c.count <= CONF_PROFILES_MAX, "profiles that cannot be");
	for (size_t i = 0; i < c.count; i++) {
		check_profile(&c.profiles[i]);
		require(conf_find(&c, c.profiles[i].name) == &c.profiles[i], "two profiles of one name");
	}
	for (int phase = 0; phase < PROFILE_PHASES; phase++)
		require(conf_find(&c, c.phase[phase]) != NULL, "a phase without its profile");
}

static void try_choice(const char *text)
{
	struct conf_choice choice, again;
	AUTO_FREE char *written = NULL;
	struct err e = ERR_INIT;
	int code = conf_choice_parse(text, "fuzz.conf", &choice, &e);

	if (code) {
		check_error(code, &e);
		return;
	}
	require(conf_choice_format(&choice, &written, NULL) == 0, "a choice that cannot be written");
	require(conf_choice_parse(written, "again", &again, NULL) == 0, "a choice that cannot be read again");
	for (int phase = 0; phase < PROFILE_PHASES; phase++)
		require(!strcmp(choice.profile[phase], again.profile[phase]), "a choice that is another when read again");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	AUTO_FREE char *text = malloc(n + 1);
	static struct conf c;

	require(text != NULL, "out of memory");
	if (n)
		memcpy(text, data, n);
	text[n] = '\0';
	try_conf(text);
	require(conf_read(NULL, &c, NULL) == 0 && c.count == 3, "what is built in cannot be read any more");
	try_choice(text);
	require(conf_read(NULL, &c, NULL) == 0 && c.count == 3, "what is built in cannot be read any more, after a choice");
	return 0;
}
