/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wubi-disk is tested in tests/cli/usage.bats; here: a program without verbs, and one with two verbs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"
#include "cmocka_all.h"
#include "optrows.h"

#define FIELD(f) offsetof(struct options, f)

struct options {
	struct optrows_base base;
	const char *maps;
	uint64_t seconds;
	struct optrows_list names;
	bool finished;
};

static int check_absolute(const char *value, struct err *e)
{
	return *value == '/' ? 0 : err_set(e, -EINVAL, "'%s' does not start with '/'", value);
}

static int finish(void *options, struct err *e)
{
	struct options *o = options;

	o->finished = true;
	return o->seconds == 13 ? err_set(e, -EINVAL, "13 brings bad luck") : 0;
}

static const struct optrows_option plain_rows[] = {
	{ "maps", 'm', "DIR", "where the maps are, in words that are many enough to need a second line of the help",
	  1, 0, 1, OPTROWS_TEXT, FIELD(maps), check_absolute },
	{ "timeout", 0, "S", "seconds", 1, 0, 0, OPTROWS_COUNT, FIELD(seconds), NULL },
	{ "name", 'n', "NAME", "names", 1, 1, 0, OPTROWS_LIST, FIELD(names), NULL },
	OPTROWS_DRY_RUN(1),
	OPTROWS_JSON(1),
	OPTROWS_QUIET(1, "no text"),
	OPTROWS_STANDARD(1),
};

static const struct optrows_verb plain_verb[] = { { 1, "", "[FILE]", 0, 1, "", "", NULL } };

static const struct optrows_program plain = {
	.name = "wubi-plain",
	.about = "Does things that take words to explain, so many of them that they do not fit into one line of eighty.",
	.options = plain_rows,
	.option_count = COUNT_OF(plain_rows),
	.verbs = plain_verb,
	.verb_count = COUNT_OF(plain_verb),
	.options_bytes = sizeof(struct options),
	.finish = finish,
};

static const struct optrows_option verb_options[] = {
	{ "timeout", 't', "S", "seconds", 2, 0, 0, OPTROWS_COUNT, FIELD(seconds), NULL },
	OPTROWS_STANDARD(3),
};

static const struct optrows_verb two_verbs[] = {
	{ 1, "ask", "", 0, 0, "a question", "More of it.", "Exit status: 0 yes, 1 no." },
	{ 2, "check", "IMAGE", 1, 1, "look at it", "More of it.", NULL },
};

static const struct optrows_program with_verbs = {
	.name = "wubi-verbs",
	.about = "About it.",
	.options = verb_options,
	.option_count = COUNT_OF(verb_options),
	.verbs = two_verbs,
	.verb_count = COUNT_OF(two_verbs),
	.options_bytes = sizeof(struct options),
};

static const struct optrows_option run_options[] = {
	{ "timeout", 't', "S", "seconds", 1, 0, 0, OPTROWS_COUNT, FIELD(seconds), NULL },
	OPTROWS_STANDARD(3),
};

static const struct optrows_verb run_verbs[] = {
	{ 1, "run", "-- COMMAND [ARG...]", 1, OPTROWS_COMMAND, "run it", "More of it.", NULL },
	{ 2, "look", "[FILE]", 0, 1, "look at it", "More of it.", NULL },
};

static const struct optrows_program with_command = {
	.name = "wubi-runs",
	.about = "About it.",
	.options = run_options,
	.option_count = COUNT_OF(run_options),
	.verbs = run_verbs,
	.verb_count = COUNT_OF(run_verbs),
	.options_bytes = sizeof(struct options),
};

static int parse(const struct optrows_program *p, struct options *ret, struct err *e, const char *line)
{
	static char text[256];
	static char *argv[16]; /* a command is borrowed from it */
	char *rest = text;
	int argc = 1;

	argv[0] = (char *)(uintptr_t)p->name;
	(void)snprintf(text, sizeof(text), "%s", line);
	while (argc < 15 && (argv[argc] = strtok_r(NULL, " ", &rest)))
		argc++;
	*e = (struct err)ERR_INIT;
	return optrows_parse(p, argc, argv, ret, e);
}

static void bad_lines_of_a_program_without_verbs(void **state)
{
	static const struct {
		const char *line, *text;
	} rows[] = {
		{ "", "'wubi-plain' needs --maps DIR" },
		{ "-m x", "option '--maps': 'x' does not start with '/'" },
		{ "-m /a -m /b", "option '--maps' is given twice" },
		{ "-m /a --timeout 0", "option '--timeout': it must not be 0" },
		{ "-m /a --timeout 4294967296", "option '--timeout': '4294967296' is too large" },
		{ "-m /a --timeout 13", "13 brings bad luck" },
		{ "-m /a b c", "unexpected argument 'c'" },
		{ "-m", "option '-m' needs an argument" },
		{ "--maps", "option '--maps' needs an argument" },
		{ "--json=x", "option '--json' takes no argument" },
		{ "--no", "unknown or ambiguous option '--no'" },
		{ "-x", "unknown option '-x'" },
		{ "-m /a -n 1 -n 2 -n 3 -n 4 -n 5 -n 6", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct options o;
		struct err e;
		int r = parse(&plain, &o, &e, rows[i].line);

		assert_int_equal(r, rows[i].text ? -EINVAL : 0);
		assert_string_equal(e.text, rows[i].text ? rows[i].text : "");
		assert_string_equal(o.base.verb_name, "");
	}
}

static void a_line_of_a_program_without_verbs(void **state)
{
	struct options o;
	struct err e;

	(void)state;
	memset(&o, 0xff, sizeof(o));
	assert_int_equal(parse(&plain, &o, &e, "file --maps /m -jq -n a --dry-run --name b"), 0);
	assert_int_equal(o.base.action, OPTROWS_RUN);
	assert_int_equal(o.base.verb, 1);
	assert_int_equal(o.base.operand_count, 1);
	assert_string_equal(o.base.operands[0], "file");
	assert_true(o.base.json && o.base.quiet && o.base.dry_run && o.finished);
	assert_string_equal(o.maps, "/m");
	assert_int_equal(o.seconds, 0);
	assert_int_equal(o.names.count, 2);
	assert_string_equal(o.names.items[1], "b");
	assert_int_equal(parse(&plain, &o, &e, "--help"), 0);
	assert_int_equal(o.base.action, OPTROWS_ACTION_HELP);
	assert_int_equal(parse(&plain, &o, &e, "--list-options --help"), 0);
	assert_int_equal(o.base.action, OPTROWS_ACTION_HELP);
}

static void verbs_come_first(void **state)
{
	struct options o;
	struct err e;

	(void)state;
	assert_int_equal(parse(&with_verbs, &o, &e, ""), -EINVAL);
	assert_string_equal(e.text, "no verb given");
	assert_int_equal(parse(&with_verbs, &o, &e, "frob"), -EINVAL);
	assert_string_equal(e.text, "unknown verb 'frob'");
	assert_int_equal(parse(&with_verbs, &o, &e, "-t 1"), -EINVAL);
	assert_string_equal(e.text, "option '--timeout' goes behind the verb");
	assert_int_equal(parse(&with_verbs, &o, &e, "ask -t 1"), -EINVAL);
	assert_string_equal(e.text, "option '--timeout' is not for 'ask'");
	assert_string_equal(o.base.verb_name, "ask");
	assert_int_equal(parse(&with_verbs, &o, &e, "check"), -EINVAL);
	assert_string_equal(e.text, "'check' needs IMAGE");
	assert_int_equal(parse(&with_verbs, &o, &e, "check -t 2 x"), 0);
	assert_int_equal(o.seconds, 2);
}

static void a_command_goes_behind_two_dashes(void **state)
{
	static const struct {
		const char *line, *text;
	} rows[] = {
		{ "run", "'run' needs -- COMMAND [ARG...]" },
		{ "run -t 1 --", "'run' needs -- COMMAND [ARG...]" },
		{ "run ls", "unexpected argument 'ls': a command goes behind '--'" },
		{ "run ls -t 1 -- cat", "unexpected argument 'ls': a command goes behind '--'" },
		{ "run -x -- ls", "unknown option '-x'" },
		{ "look -- a b", "unexpected argument 'b'" },
	};
	static const char *const words[] = { "ls", "-t", "2", "--", "--help" };
	char empty[] = "", run[] = "run", dashes[] = "--", name[] = "wubi-runs";
	char *argv[] = { name, run, dashes, empty, NULL };
	struct options o;
	struct err e;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(parse(&with_command, &o, &e, rows[i].line), -EINVAL);
		assert_string_equal(e.text, rows[i].text);
		assert_null(o.base.command);
	}
	e = (struct err)ERR_INIT;
	assert_int_equal(optrows_parse(&with_command, 4, argv, &o, &e), -EINVAL);
	assert_string_equal(e.text, "the command is empty");
	assert_int_equal(parse(&with_command, &o, &e, "run -t 1 -- ls -t 2 -- --help"), 0);
	assert_int_equal(o.seconds, 1);
	assert_int_equal(o.base.action, OPTROWS_RUN);
	assert_int_equal(o.base.operand_count, 0);
	for (size_t i = 0; i < COUNT_OF(words); i++)
		assert_string_equal(o.base.command[i], words[i]);
	assert_null(o.base.command[COUNT_OF(words)]);
	assert_int_equal(parse(&with_command, &o, &e, "run --help"), 0);
	assert_int_equal(o.base.action, OPTROWS_ACTION_HELP);
	assert_int_equal(parse(&with_command, &o, &e, "look -- -x"), 0);
	assert_string_equal(o.base.operands[0], "-x");
	assert_null(o.base.command);
}

/* What a function printed: its text, freed by the caller. */
static char *printed_help(const struct optrows_program *p, unsigned verb)
{
	char *out = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&out, &n);

	assert_non_null(f);
	optrows_help(p, verb, f);
	assert_int_equal(fclose(f), 0);
	return out;
}

static void help_fits_the_terminal(void **state)
{
	AUTO_FREE char *all = printed_help(&plain, 0);
	AUTO_FREE char *ask = printed_help(&with_verbs, 1);
	AUTO_FREE char *check = printed_help(&with_verbs, 2);
	AUTO_FREE char *verbs = printed_help(&with_verbs, 0);
	AUTO_FREE char *run = printed_help(&with_command, 1);

	(void)state;
	assert_int_equal(strncmp(all, "Usage: wubi-plain [FILE] [OPTION]...\n\nDoes ", 43), 0);
	assert_text_has(all, "\n  -m, --maps DIR");
	assert_text_has(all, "Exit status: 0 done");
	assert_null(strstr(all, "list-options"));
	for (const char *line = all; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		assert_true(strcspn(line, "\n") <= 80);
	assert_text_has(ask, "Usage: wubi-verbs ask [OPTION]...\n\nask: a question.\nMore of it.\n");
	assert_text_has(ask, "\nExit status: 0 yes, 1 no.\n");
	assert_null(strstr(ask, "--timeout"));
	assert_text_has(check, "Usage: wubi-verbs check IMAGE [OPTION]...\n");
	assert_text_has(check, "  -t, --timeout S");
	assert_text_has(run, "Usage: wubi-runs run [OPTION]... -- COMMAND [ARG...]\n");
	assert_text_has(verbs, "Usage: wubi-verbs VERB [ARGUMENT]... [OPTION]...\n");
}

static void rows_for_scripts(void **state)
{
	AUTO_FREE char *out = NULL;
	struct options o;
	struct err e;
	size_t n = 0;
	FILE *f = open_memstream(&out, &n);

	(void)state;
	assert_non_null(f);
	optrows_list_options(&plain, f);
	assert_int_equal(fputs("==\n", f), 1);
	optrows_list_options(&with_verbs, f);
	assert_int_equal(fputs("==\n", f), 1);
	assert_int_equal(parse(&plain, &o, &e, "--test-args -m /a x --timeout 5 -n b -j"), 0);
	assert_int_equal(o.base.action, OPTROWS_ACTION_TEST_ARGS);
	optrows_dump(&plain, &o, f);
	assert_int_equal(fputs("==\n", f), 1);
	assert_int_equal(parse(&with_command, &o, &e, "run --test-args -t 5 -- ls -l"), 0);
	optrows_dump(&with_command, &o, f);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(out, "- --maps -m DIR\n- --timeout - S\n- --name -n NAME\n- --dry-run - -\n- --json -j -\n"
				 "- --quiet -q -\n- --help -h -\n- --version -V -\n==\n"
				 "ask --help -h -\nask --version -V -\n"
				 "check --timeout -t S\ncheck --help -h -\ncheck --version -V -\n==\n"
				 "operand x\nmaps /a\ntimeout 5\nname b\njson yes\n==\n"
				 "verb run\ncommand ls\ncommand -l\ntimeout 5\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_lines_of_a_program_without_verbs),
		cmocka_unit_test(a_line_of_a_program_without_verbs),
		cmocka_unit_test(verbs_come_first),
		cmocka_unit_test(a_command_goes_behind_two_dashes),
		cmocka_unit_test(help_fits_the_terminal),
		cmocka_unit_test(rows_for_scripts),
	};

	return cmocka_run_group_tests_name("optrows", tests, NULL, NULL);
}
