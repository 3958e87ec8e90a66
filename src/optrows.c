/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "optrows.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>

#include "num.h"

#define ROW_VALUE_BASE 1000 /* getopt_long's val of row i: above every option letter */

_Static_assert(OPTROWS_MAX <= 32, "parsing keeps what it has seen in the bits of a uint32_t");

struct getopt_tables {
	struct option longs[OPTROWS_MAX + 1];
	char shorts[2 * OPTROWS_MAX + 4];
};

/* One run of the parser. */
struct parse {
	const struct optrows_program *program;
	struct optrows_base *base; /* the head of the program's struct */
	uint32_t seen;             /* a bit for each row */
};

const struct optrows_verb *optrows_verb_row(const struct optrows_program *p, unsigned verb)
{
	for (size_t i = 0; i < p->verb_count; i++)
		if (p->verbs[i].verb == verb)
			return &p->verbs[i];
	return NULL;
}

bool optrows_is_verbless(const struct optrows_program *p)
{
	return p->verb_count == 1 && !*p->verbs[0].name;
}

/* What lacks something, or is given too much: the verb, or the program that has none. */
static const char *subject(const struct parse *s)
{
	return optrows_is_verbless(s->program) ? s->program->name : s->base->verb_name;
}

static bool takes_command(const struct parse *s)
{
	const struct optrows_verb *row = optrows_verb_row(s->program, s->base->verb);

	return row && row->operands_max == OPTROWS_COMMAND;
}

static void build_tables(const struct parse *s, struct getopt_tables *t)
{
	const struct optrows_program *p = s->program;
	size_t n = 0;

	memset(t, 0, sizeof(*t));
	if (takes_command(s))
		t->shorts[n++] = '+'; /* stops at '--' or an operand, and puts nothing in order */
	t->shorts[n++] = ':'; /* tells a missing argument from an unknown option */
	for (size_t i = 0; i < p->option_count; i++) {
		const struct optrows_option *row = &p->options[i];

		t->longs[i].name = row->name;
		t->longs[i].has_arg = row->argument ? required_argument : no_argument;
		t->longs[i].val = ROW_VALUE_BASE + (int)i;
		if (!row->letter)
			continue;
		t->shorts[n++] = row->letter;
		if (row->argument)
			t->shorts[n++] = ':';
	}
}

static size_t row_of(const struct optrows_program *p, int value)
{
	size_t i = 0;

	if (value >= ROW_VALUE_BASE)
		return (size_t)(value - ROW_VALUE_BASE);
	while (i < p->option_count && p->options[i].letter != value)
		i++;
	return i;
}

static int store_number(const struct optrows_option *row, const char *value, uint64_t *field, struct err *e)
{
	uint64_t number;
	int r;

	r = row->kind != OPTROWS_COUNT ? num_parse_bytes(value, &number, e) : num_parse_u64(value, &number, e);
	if (r)
		return r;
	if (number == 0)
		return err_set(e, -EINVAL, "it must not be 0");
	if (row->kind == OPTROWS_COUNT && number > UINT_MAX)
		return err_set(e, -EINVAL, "'%s' is too large", value);
	*field = number;
	return 0;
}

static int store_growth(const struct optrows_option *row, const char *value, struct optrows_growth *field, struct err *e)
{
	field->more = *value == '+';
	return store_number(row, value + field->more, &field->bytes, e);
}

static int store_value(const struct optrows_option *row, const char *value, struct optrows_base *base, struct err *e)
{
	char *field = (char *)base + row->offset;
	struct optrows_list *list;
	int r = row->check ? row->check(value, e) : 0;

	if (r)
		return r;
	switch (row->kind) {
	case OPTROWS_FLAG:
		*(bool *)(void *)field = true;
		return 0;
	case OPTROWS_TEXT:
		*(const char **)(void *)field = value;
		return 0;
	case OPTROWS_LIST:
		list = (struct optrows_list *)(void *)field;
		if (list->count == OPTROWS_LIST_MAX)
			return err_set(e, -EINVAL, "it is given more than %d times", OPTROWS_LIST_MAX);
		list->items[list->count++] = value;
		return 0;
	case OPTROWS_SIZE:
	case OPTROWS_COUNT:
		return store_number(row, value, (uint64_t *)(void *)field, e);
	case OPTROWS_GROWTH:
		return store_growth(row, value, (struct optrows_growth *)(void *)field, e);
	case OPTROWS_ACTION:
		if (base->action != OPTROWS_ACTION_HELP)
			base->action = (enum optrows_action)row->offset;
		return 0;
	}
	return err_set(e, -EINVAL, "it has no kind");
}

static int take_option(struct parse *s, size_t index, struct err *e)
{
	const struct optrows_option *row = &s->program->options[index];
	uint32_t bit = UINT32_C(1) << index;
	unsigned verb = s->base->verb;
	int r;

	if (verb && !(row->verbs & verb))
		return err_set(e, -EINVAL, "option '--%s' is not for '%s'", row->name, subject(s));
	if (!verb && row->kind != OPTROWS_ACTION)
		return err_set(e, -EINVAL, "option '--%s' goes behind the verb", row->name);
	if ((s->seen & bit) && verb && !(row->repeat & verb))
		return err_set(e, -EINVAL, "option '--%s' is given twice", row->name);
	s->seen |= bit;
	r = store_value(row, optarg, s->base, e);
	return r ? err_wrap(e, r, "option '--%s'", row->name) : 0;
}

/* getopt_long() has stepped past a bad long option, but not always past a bad letter in a cluster. */
static int name_bad_option(const struct optrows_program *p, int c, char **argv, struct err *e)
{
	if (optopt > 0 && optopt < ROW_VALUE_BASE)
		return err_set(e, -EINVAL, c == ':' ? "option '-%c' needs an argument" :
			       "unknown option '-%c'", optopt);
	if (c == ':')
		return err_set(e, -EINVAL, "option '%s' needs an argument", argv[optind - 1]);
	if (optopt >= ROW_VALUE_BASE)
		return err_set(e, -EINVAL, "option '--%s' takes no argument", p->options[row_of(p, optopt)].name);
	return err_set(e, -EINVAL, "unknown or ambiguous option '%s'", argv[optind - 1]);
}

static void set_verb(struct parse *s, const struct optrows_verb *row)
{
	s->base->verb = row->verb;
	s->base->verb_name = row->name;
}

static int parse_verb(struct parse *s, const char *word, struct err *e)
{
	const struct optrows_program *p = s->program;

	for (size_t i = 0; i < p->verb_count; i++) {
		if (strcmp(word, p->verbs[i].name) != 0)
			continue;
		set_verb(s, &p->verbs[i]);
		return 0;
	}
	return err_set(e, -EINVAL, "unknown verb '%s'", word);
}

static int parse_options(struct parse *s, int argc, char **argv, struct err *e)
{
	struct getopt_tables tables;
	int c, r;

	build_tables(s, &tables);
	opterr = 0;
	optind = 0; /* glibc: from the start, and look at the first letters again */
	while ((c = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
		if (c == '?' || c == ':')
			return name_bad_option(s->program, c, argv, e);
		r = take_option(s, row_of(s->program, c), e);
		if (r)
			return r;
	}
	return 0;
}

/* What stands behind '--'. */
static int take_command(struct parse *s, int argc, char **argv, struct err *e)
{
	if (optind < argc && strcmp(argv[optind - 1], "--") != 0)
		return err_set(e, -EINVAL, "unexpected argument '%s': a command goes behind '--'", argv[optind]);
	if (optind == argc)
		return err_set(e, -EINVAL, "'%s' needs %s", subject(s), optrows_verb_row(s->program, s->base->verb)->operands);
	if (!*argv[optind])
		return err_set(e, -EINVAL, "the command is empty");
	s->base->command = &argv[optind];
	return 0;
}

static int take_operands(struct parse *s, int argc, char **argv, struct err *e)
{
	const struct optrows_verb *row = optrows_verb_row(s->program, s->base->verb);
	struct optrows_base *base = s->base;

	if (takes_command(s))
		return take_command(s, argc, argv, e);
	for (int i = optind; i < argc; i++) {
		if (base->operand_count == row->operands_max)
			return err_set(e, -EINVAL, "unexpected argument '%s'", argv[i]);
		if (!*argv[i])
			return err_set(e, -EINVAL, "an argument is empty");
		base->operands[base->operand_count++] = argv[i];
	}
	if (base->operand_count < row->operands_min)
		return err_set(e, -EINVAL, "'%s' needs %s", subject(s), row->operands);
	return 0;
}

static int check_required(const struct parse *s, struct err *e)
{
	const struct optrows_program *p = s->program;

	for (size_t i = 0; i < p->option_count; i++)
		if ((p->options[i].required & s->base->verb) && !(s->seen & (UINT32_C(1) << i)))
			return err_set(e, -EINVAL, "'%s' needs --%s %s", subject(s), p->options[i].name,
				       p->options[i].argument);
	return 0;
}

int optrows_parse(const struct optrows_program *p, int argc, char **argv, void *ret, struct err *e)
{
	struct parse s = { .program = p, .base = ret };
	int r;

	memset(ret, 0, p->options_bytes);
	s.base->verb_name = "";
	if (optrows_is_verbless(p)) {
		set_verb(&s, &p->verbs[0]);
	} else if (argc < 2) {
		return err_set(e, -EINVAL, "no verb given");
	} else if (argv[1][0] != '-') {
		r = parse_verb(&s, argv[1], e);
		if (r)
			return r;
		argc--;
		argv++;
	}
	r = parse_options(&s, argc, argv, e);
	if (r || (s.base->action != OPTROWS_RUN && s.base->action != OPTROWS_ACTION_TEST_ARGS))
		return r;
	if (!s.base->verb)
		return err_set(e, -EINVAL, "the verb comes first, then its options");
	r = take_operands(&s, argc, argv, e);
	if (!r)
		r = check_required(&s, e);
	if (!r && p->finish)
		r = p->finish(ret, e);
	return r;
}
