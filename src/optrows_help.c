/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "optrows.h"

#define HELP_COLUMNS 79
#define HELP_INDENT 28
#define USUAL_EXIT_STATUS "Exit status: 0 done, 1 failed, 2 usage, 3 refused for safety, 4 interrupted."

/* Prints words from 'column' on, wrapped to lines that start at 'indent'. Ends the line. */
static void print_wrapped(FILE *f, const char *text, size_t column, size_t indent)
{
	while (*text) {
		size_t n = strcspn(text, " ");

		if (column > indent && column + 1 + n > HELP_COLUMNS) {
			(void)fputc('\n', f);
			column = 0;
		}
		if (column < indent) {
			(void)fprintf(f, "%*s", (int)(indent - column), "");
			column = indent;
		} else if (column > indent) {
			(void)fputc(' ', f);
			column++;
		}
		(void)fprintf(f, "%.*s", (int)n, text);
		column += n;
		text += n;
		text += strspn(text, " ");
	}
	(void)fputc('\n', f);
}

static void print_option(FILE *f, const struct optrows_option *row)
{
	char left[64], letter[8] = "    ";
	int n;

	if (row->letter)
		(void)snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	n = snprintf(left, sizeof(left), "  %s--%s%s%s", letter, row->name, row->argument ? " " : "",
		     row->argument ? row->argument : "");
	(void)fputs(left, f);
	print_wrapped(f, row->help, (size_t)n, HELP_INDENT);
}

static unsigned all_verbs(const struct optrows_program *p)
{
	unsigned all = 0;

	for (size_t i = 0; i < p->verb_count; i++)
		all |= p->verbs[i].verb;
	return all;
}

/* common: the options that every verb has, or the others. */
static void print_options(const struct optrows_program *p, unsigned verbs, bool common, FILE *f)
{
	unsigned all = all_verbs(p);

	for (size_t i = 0; i < p->option_count; i++) {
		const struct optrows_option *row = &p->options[i];

		if (row->help && (row->verbs & verbs) && (row->verbs == all) == common)
			print_option(f, row);
	}
}

static const char *exit_status_of(const struct optrows_verb *row)
{
	return row->exit_status ? row->exit_status : USUAL_EXIT_STATUS;
}

static void help_verb(const struct optrows_program *p, const struct optrows_verb *row, FILE *f)
{
	if (row->operands_max == OPTROWS_COMMAND)
		(void)fprintf(f, "Usage: %s %s [OPTION]... %s\n\n", p->name, row->name, row->operands);
	else
		(void)fprintf(f, "Usage: %s %s%s%s [OPTION]...\n\n", p->name, row->name, *row->operands ? " " : "",
			      row->operands);
	(void)fprintf(f, "%s: %s%s\n", row->name, row->help, strchr(row->help, '?') ? "" : ".");
	print_wrapped(f, row->more, 0, 0);
	(void)fputs("\nOptions:\n", f);
	print_options(p, row->verb, false, f);
	print_options(p, row->verb, true, f);
	(void)fputc('\n', f);
	print_wrapped(f, exit_status_of(row), 0, 0);
}

static void help_verbless(const struct optrows_program *p, FILE *f)
{
	const struct optrows_verb *row = &p->verbs[0];

	(void)fprintf(f, "Usage: %s%s%s [OPTION]...\n\n", p->name, *row->operands ? " " : "", row->operands);
	print_wrapped(f, p->about, 0, 0);
	(void)fputs("\nOptions:\n", f);
	print_options(p, row->verb, true, f);
	(void)fprintf(f, "\nAll of it: man %s.\n", p->name);
	print_wrapped(f, exit_status_of(row), 0, 0);
}

static void help_program(const struct optrows_program *p, FILE *f)
{
	(void)fprintf(f, "Usage: %s VERB [ARGUMENT]... [OPTION]...\n\n", p->name);
	print_wrapped(f, p->about, 0, 0);
	(void)fputs("\nVerbs:\n", f);
	for (size_t i = 0; i < p->verb_count; i++) {
		const struct optrows_verb *row = &p->verbs[i];
		int n = fprintf(f, "  %s %s", row->name, row->operands);

		print_wrapped(f, row->help, n > 0 ? (size_t)n : 0, HELP_INDENT);
	}
	(void)fputs("\nOptions of every verb:\n", f);
	print_options(p, all_verbs(p), true, f);
	(void)fprintf(f, "\nThe other options: %s VERB --help. All of it: man %s.\n" USUAL_EXIT_STATUS "\n", p->name,
		      p->name);
}

void optrows_help(const struct optrows_program *p, unsigned verb, FILE *f)
{
	const struct optrows_verb *row = optrows_verb_row(p, verb);

	if (optrows_is_verbless(p))
		help_verbless(p, f);
	else if (row)
		help_verb(p, row, f);
	else
		help_program(p, f);
}

static void list_option(const char *verb, const struct optrows_option *row, FILE *f)
{
	(void)fprintf(f, "%s --%s ", verb, row->name);
	if (row->letter)
		(void)fprintf(f, "-%c", row->letter);
	else
		(void)fputc('-', f);
	(void)fprintf(f, " %s\n", row->argument ? row->argument : "-");
}

void optrows_list_options(const struct optrows_program *p, FILE *f)
{
	for (size_t v = 0; v < p->verb_count; v++) {
		const struct optrows_verb *verb = &p->verbs[v];

		for (size_t i = 0; i < p->option_count; i++)
			if (p->options[i].help && (p->options[i].verbs & verb->verb))
				list_option(*verb->name ? verb->name : "-", &p->options[i], f);
	}
}

static void dump_row(const struct optrows_option *row, const void *options, FILE *f)
{
	const char *field = (const char *)options + row->offset;
	const struct optrows_growth *growth;
	const struct optrows_list *list;

	switch (row->kind) {
	case OPTROWS_FLAG:
		if (*(const bool *)(const void *)field)
			(void)fprintf(f, "%s yes\n", row->name);
		break;
	case OPTROWS_TEXT:
		if (*(const char *const *)(const void *)field)
			(void)fprintf(f, "%s %s\n", row->name, *(const char *const *)(const void *)field);
		break;
	case OPTROWS_LIST:
		list = (const struct optrows_list *)(const void *)field;
		for (size_t i = 0; i < list->count; i++)
			(void)fprintf(f, "%s %s\n", row->name, list->items[i]);
		break;
	case OPTROWS_SIZE:
	case OPTROWS_COUNT:
		if (*(const uint64_t *)(const void *)field)
			(void)fprintf(f, "%s %" PRIu64 "\n", row->name,
				      *(const uint64_t *)(const void *)field);
		break;
	case OPTROWS_GROWTH:
		growth = (const struct optrows_growth *)(const void *)field;
		if (growth->bytes)
			(void)fprintf(f, "%s %s%" PRIu64 "\n", row->name, growth->more ? "+" : "", growth->bytes);
		break;
	case OPTROWS_ACTION:
		break;
	}
}

void optrows_dump(const struct optrows_program *p, const void *options, FILE *f)
{
	const struct optrows_base *base = options;

	if (*base->verb_name)
		(void)fprintf(f, "verb %s\n", base->verb_name);
	for (size_t i = 0; i < base->operand_count; i++)
		(void)fprintf(f, "operand %s\n", base->operands[i]);
	for (size_t i = 0; base->command && base->command[i]; i++)
		(void)fprintf(f, "command %s\n", base->command[i]);
	for (size_t i = 0; i < p->option_count; i++)
		dump_row(&p->options[i], options, f);
}
