/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "options_rows.h"

#define HELP_COLUMNS 79
#define HELP_INDENT 28

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

static void print_option(FILE *f, const struct option_row *row)
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

static void print_options(FILE *f, unsigned verbs, bool common)
{
	for (size_t i = 0; i < option_rows_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (row->help && (row->verbs & verbs) && (row->verbs == VERB_ALL) == common)
			print_option(f, row);
	}
}

static void help_verb(const struct verb_row *row, FILE *f)
{
	(void)fprintf(f, "Usage: wubi-disk %s%s%s [OPTION]...\n\n", row->name, *row->operands ? " " : "",
		      row->operands);
	(void)fprintf(f, "%s: %s%s\n", row->name, row->help, strchr(row->help, '?') ? "" : ".");
	print_wrapped(f, row->more, 0, 0);
	(void)fputs("\nOptions:\n", f);
	print_options(f, (unsigned)row->verb, false);
	print_options(f, (unsigned)row->verb, true);
	(void)fputs("\nExit status: 0 done, 1 failed, 2 usage, 3 refused for safety, 4 interrupted.\n", f);
}

static void help_program(FILE *f)
{
	(void)fputs("Usage: wubi-disk VERB [ARGUMENT]... [OPTION]...\n\n", f);
	print_wrapped(f, "Makes and keeps disk images for Linux on an NTFS volume that is not mounted, "
		      "and maps of where their bytes lie. VOLUME is a block device, or a plain file that "
		      "holds NTFS.", 0, 0);
	(void)fputs("\nVerbs:\n", f);
	for (size_t i = 0; i < verb_rows_count; i++) {
		const struct verb_row *row = &verb_rows[i];
		int n = fprintf(f, "  %s %s", row->name, row->operands);

		print_wrapped(f, row->help, n > 0 ? (size_t)n : 0, HELP_INDENT);
	}
	(void)fputs("\nOptions of every verb:\n", f);
	print_options(f, VERB_ALL, true);
	(void)fputs("\nThe other options: wubi-disk VERB --help. All of it: man wubi-disk.\n"
		    "Exit status: 0 done, 1 failed, 2 usage, 3 refused for safety, 4 interrupted.\n", f);
}

void options_help(enum verb v, FILE *f)
{
	const struct verb_row *row = options_verb_row(v);

	if (row)
		help_verb(row, f);
	else
		help_program(f);
}

static void list_option(FILE *f, const char *verb, const struct option_row *row)
{
	(void)fprintf(f, "%s --%s ", verb, row->name);
	if (row->letter)
		(void)fprintf(f, "-%c", row->letter);
	else
		(void)fputc('-', f);
	(void)fprintf(f, " %s\n", row->argument ? row->argument : "-");
}

void options_list_all(FILE *f)
{
	for (size_t v = 0; v < verb_rows_count; v++)
		for (size_t i = 0; i < option_rows_count; i++)
			if (option_rows[i].help && (option_rows[i].verbs & (unsigned)verb_rows[v].verb))
				list_option(f, verb_rows[v].name, &option_rows[i]);
}

static void dump_row(const struct options *o, const struct option_row *row, FILE *f)
{
	const char *field = (const char *)o + row->offset;
	const struct options_list *list;

	switch (row->kind) {
	case ROW_FLAG:
		if (*(const bool *)(const void *)field)
			(void)fprintf(f, "%s yes\n", row->name);
		break;
	case ROW_TEXT:
		if (*(const char *const *)(const void *)field)
			(void)fprintf(f, "%s %s\n", row->name, *(const char *const *)(const void *)field);
		break;
	case ROW_LIST:
		list = (const struct options_list *)(const void *)field;
		for (size_t i = 0; i < list->count; i++)
			(void)fprintf(f, "%s %s\n", row->name, list->items[i]);
		break;
	case ROW_SIZE:
	case ROW_COUNT:
		if (*(const uint64_t *)(const void *)field)
			(void)fprintf(f, "%s %" PRIu64 "\n", row->name,
				      *(const uint64_t *)(const void *)field);
		break;
	case ROW_ACTION:
		break;
	}
}

void options_dump(const struct options *o, FILE *f)
{
	(void)fprintf(f, "verb %s\n", options_verb_name(o->verb));
	for (size_t i = 0; i < o->operand_count; i++)
		(void)fprintf(f, "operand %s\n", o->operands[i]);
	for (size_t i = 0; i < option_rows_count; i++)
		dump_row(o, &option_rows[i], f);
}
