/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>

#include "ext4fmt.h"
#include "num.h"
#include "options_rows.h"
#include "swapfmt.h"

#define ROWS_MAX 32
#define ROW_VALUE_BASE 1000 /* getopt_long's val of row i: above every option letter */

struct getopt_tables {
	struct option longs[ROWS_MAX + 1];
	char shorts[2 * ROWS_MAX + 3];
};

static void build_tables(struct getopt_tables *t)
{
	size_t n = 0;

	memset(t, 0, sizeof(*t));
	t->shorts[n++] = ':'; /* tells a missing argument from an unknown option */
	for (size_t i = 0; i < option_rows_count; i++) {
		const struct option_row *row = &option_rows[i];

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

static size_t row_of(int value)
{
	if (value >= ROW_VALUE_BASE)
		return (size_t)(value - ROW_VALUE_BASE);
	for (size_t i = 0; i < option_rows_count; i++)
		if (option_rows[i].letter == value)
			return i;
	return option_rows_count;
}

static int store_number(const struct option_row *row, const char *value, uint64_t *field, struct err *e)
{
	uint64_t number;
	int r;

	r = row->kind == ROW_SIZE ? num_parse_bytes(value, &number, e) : num_parse_u64(value, &number, e);
	if (r)
		return r;
	if (number == 0)
		return err_set(e, -EINVAL, "it must not be 0");
	if (row->kind == ROW_COUNT && number > UINT_MAX)
		return err_set(e, -EINVAL, "'%s' is too large", value);
	*field = number;
	return 0;
}

static int store_value(const struct option_row *row, const char *value, struct options *o, struct err *e)
{
	char *field = (char *)o + row->offset;
	struct options_list *list;
	int r = row->check ? row->check(value, e) : 0;

	if (r)
		return r;
	switch (row->kind) {
	case ROW_FLAG:
		*(bool *)(void *)field = true;
		return 0;
	case ROW_TEXT:
		*(const char **)(void *)field = value;
		return 0;
	case ROW_LIST:
		list = (struct options_list *)(void *)field;
		if (list->count == OPTIONS_LIST_MAX)
			return err_set(e, -EINVAL, "it is given more than %d times", OPTIONS_LIST_MAX);
		list->items[list->count++] = value;
		return 0;
	case ROW_SIZE:
	case ROW_COUNT:
		return store_number(row, value, (uint64_t *)(void *)field, e);
	case ROW_ACTION:
		if (o->action != OPTIONS_HELP)
			o->action = (enum options_action)row->offset;
		return 0;
	}
	return err_set(e, -EINVAL, "it has no kind");
}

static int take_option(size_t index, struct options *o, uint32_t *seen, struct err *e)
{
	const struct option_row *row = &option_rows[index];
	uint32_t bit = UINT32_C(1) << index;
	int r;

	if (o->verb != VERB_NONE && !(row->verbs & (unsigned)o->verb))
		return err_set(e, -EINVAL, "option '--%s' is not for '%s'", row->name,
			       options_verb_name(o->verb));
	if (o->verb == VERB_NONE && row->kind != ROW_ACTION)
		return err_set(e, -EINVAL, "option '--%s' goes behind the verb", row->name);
	if ((*seen & bit) && o->verb != VERB_NONE && !(row->repeat & (unsigned)o->verb))
		return err_set(e, -EINVAL, "option '--%s' is given twice", row->name);
	*seen |= bit;
	r = store_value(row, optarg, o, e);
	return r ? err_wrap(e, r, "option '--%s'", row->name) : 0;
}

/* getopt_long() has stepped past a bad long option, but not always past a bad letter in a cluster. */
static int name_bad_option(int c, char **argv, struct err *e)
{
	if (optopt > 0 && optopt < ROW_VALUE_BASE)
		return err_set(e, -EINVAL, c == ':' ? "option '-%c' needs an argument" :
			       "unknown option '-%c'", optopt);
	if (c == ':')
		return err_set(e, -EINVAL, "option '%s' needs an argument", argv[optind - 1]);
	if (optopt >= ROW_VALUE_BASE)
		return err_set(e, -EINVAL, "option '--%s' takes no argument",
			       option_rows[row_of(optopt)].name);
	return err_set(e, -EINVAL, "unknown or ambiguous option '%s'", argv[optind - 1]);
}

static int parse_verb(const char *word, struct options *o, struct err *e)
{
	for (size_t i = 0; i < verb_rows_count; i++) {
		if (strcmp(word, verb_rows[i].name) != 0)
			continue;
		o->verb = verb_rows[i].verb;
		return 0;
	}
	return err_set(e, -EINVAL, "unknown verb '%s'", word);
}

static int parse_options(int argc, char **argv, struct options *o, uint32_t *ret_seen, struct err *e)
{
	struct getopt_tables tables;
	int c, r;

	build_tables(&tables);
	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, tables.shorts, tables.longs, NULL)) != -1) {
		if (c == '?' || c == ':')
			return name_bad_option(c, argv, e);
		r = take_option(row_of(c), o, ret_seen, e);
		if (r)
			return r;
	}
	return 0;
}

static int take_operands(int argc, char **argv, struct options *o, struct err *e)
{
	const struct verb_row *row = options_verb_row(o->verb);

	for (int i = optind; i < argc; i++) {
		if (o->operand_count == row->operands_max)
			return err_set(e, -EINVAL, "unexpected argument '%s'", argv[i]);
		if (!*argv[i])
			return err_set(e, -EINVAL, "an argument is empty");
		o->operands[o->operand_count++] = argv[i];
	}
	if (o->operand_count < row->operands_min)
		return err_set(e, -EINVAL, "'%s' needs %s", row->name, row->operands);
	return 0;
}

static int check_required(const struct options *o, uint32_t seen, struct err *e)
{
	for (size_t i = 0; i < option_rows_count; i++)
		if ((option_rows[i].required & (unsigned)o->verb) && !(seen & (UINT32_C(1) << i)))
			return err_set(e, -EINVAL, "'%s' needs --%s %s", options_verb_name(o->verb),
				       option_rows[i].name, option_rows[i].argument);
	if (o->verb == VERB_SHOW && o->maps.count == 0 && o->operand_count == 0)
		return err_set(e, -EINVAL, "'show' needs --map FILE or VOLUME");
	if (o->verb == VERB_SHOW && o->operand_count == 0 && (o->image || o->name))
		return err_set(e, -EINVAL, "option '--%s' needs VOLUME", o->image ? "image" : "name");
	if (o->verb == VERB_SHOW && o->maps.count && (o->image || o->name))
		return err_set(e, -EINVAL, "option '--%s' and --map name an image twice",
			       o->image ? "image" : "name");
	if (o->verb == VERB_REMOVE && !o->image && !o->name)
		return err_set(e, -EINVAL, "'remove' needs --image PATH or --name NAME");
	return 0;
}

static int check_label(const struct options *o, struct err *e)
{
	bool swap = o->fs && !strcmp(o->fs, "swap");
	size_t max = swap ? SWAPFMT_LABEL_MAX : EXT4FMT_LABEL_MAX;

	if (!o->label)
		return 0;
	if (o->fs && !strcmp(o->fs, "none"))
		return err_set(e, -EINVAL, "option '--label' needs a file system, but --fs is 'none'");
	if (strlen(o->label) > max)
		return err_set(e, -EINVAL, "option '--label': '%s' is longer than the %zu bytes that %s "
			       "allows", o->label, max, swap ? "swap" : "ext4");
	return 0;
}

static enum options_progress progress_mode(const char *text)
{
	if (!text || !strcmp(text, "auto"))
		return OPTIONS_PROGRESS_AUTO;
	if (!strcmp(text, "plain"))
		return OPTIONS_PROGRESS_PLAIN;
	return !strcmp(text, "json") ? OPTIONS_PROGRESS_JSON : OPTIONS_PROGRESS_NONE;
}

int options_parse(int argc, char **argv, struct options *ret, struct err *e)
{
	uint32_t seen = 0;
	int r;

	memset(ret, 0, sizeof(*ret));
	if (argc < 2)
		return err_set(e, -EINVAL, "no verb given");
	if (argv[1][0] != '-') {
		r = parse_verb(argv[1], ret, e);
		if (r)
			return r;
		argc--;
		argv++;
	}
	r = parse_options(argc, argv, ret, &seen, e);
	if (r || ret->action == OPTIONS_HELP || ret->action == OPTIONS_VERSION || ret->action == OPTIONS_LIST)
		return r;
	if (ret->verb == VERB_NONE)
		return err_set(e, -EINVAL, "the verb comes first, then its options");
	r = take_operands(argc, argv, ret, e);
	if (!r)
		r = check_required(ret, seen, e);
	if (!r)
		r = check_label(ret, e);
	ret->progress = progress_mode(ret->progress_text);
	return r;
}
