/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define LINE_ROOM 4096 /* longer text is rare: whole tables */

static bool lost_text; /* for want of memory; output_flush() tells, as it does what the stream lost */

/* ASCII control characters, and U+0080 to U+009F in UTF-8, which terminals obey too. */
static void mask_controls(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p; p++) {
		if ((*p < 0x20 && *p != '\n') || *p == 0x7f) {
			*p = '?';
		} else if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f) {
			p[0] = '?';
			p[1] = '?';
		}
	}
}

void output_print(FILE *f, const char *fmt, ...)
{
	AUTO_FREE char *longer = NULL;
	char line[LINE_ROOM];
	char *text = line;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(line)) {
		va_start(ap, fmt);
		n = vasprintf(&longer, fmt, ap);
		va_end(ap);
		if (n < 0)
			longer = NULL; /* vasprintf leaves it undefined */
		text = longer;
	}
	if (n < 0) {
		lost_text = true;
		return;
	}
	mask_controls(text);
	(void)fputs(text, f); /* the stream remembers an error: output_finish() looks at it */
}

int output_check_open(struct err *e)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
		return 0;
	errno = EBADF;
	return err_errno(e, "write to standard output");
}

int output_flush(struct err *e)
{
	if (lost_text)
		return err_set(e, -ENOMEM, "write to standard output: out of memory");
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	if (errno == 0)
		errno = EIO;
	return err_errno(e, "write to standard output");
}

int output_finish(int status)
{
	struct err e = ERR_INIT;

	if (output_flush(&e) == 0)
		return status;
	output_print(stderr, "wubi-disk: %s\n", e.text);
	return status == OUTPUT_DONE ? OUTPUT_FAILED : status;
}

static int status_of(const struct err *e)
{
	if (e->code == -ECANCELED)
		return OUTPUT_INTERRUPTED;
	return err_is_refusal(e) ? OUTPUT_REFUSED : OUTPUT_FAILED;
}

static const char *reason_of(const struct err *e)
{
	const char *name;

	if (*e->reason)
		return e->reason;
	name = strerrorname_np(-e->code);
	return name ? name : "unknown";
}

static void add_finding(struct jsonout *array, const char *reason, const char *text)
{
	struct jsonout *item = jsonout_add_object(array, NULL);

	jsonout_add_string(item, "reason", reason);
	jsonout_add_string(item, "text", text);
}

static void fail_json(const struct err *e, const struct report *findings, int status)
{
	struct jsonout *root = jsonout_object();
	struct jsonout *array;

	jsonout_add_string(root, "status", status == OUTPUT_REFUSED ? "refused" :
			   status == OUTPUT_INTERRUPTED ? "interrupted" : "failed");
	jsonout_add_string(root, "reason", reason_of(e));
	jsonout_add_string(root, "message", e->text);
	array = jsonout_add_array(root, "findings");
	for (size_t i = 0; findings && i < findings->count; i++)
		add_finding(array, findings->items[i].reason, findings->items[i].text);
	if (!findings || findings->count == 0)
		add_finding(array, reason_of(e), e->text);
	(void)output_json(root); /* the failure that is being told decides the exit status */
}

static int fail(const struct options *o, const struct err *e, const struct report *findings, int status)
{
	const char *verb = options_verb_name(o->verb);

	if (findings && findings->count && status == OUTPUT_REFUSED)
		for (size_t i = 0; i < findings->count; i++)
			output_print(stderr, "wubi-disk: %s: %s\n", verb, findings->items[i].text);
	else
		output_print(stderr, "wubi-disk: %s: %s\n", verb, *e->text ? e->text : strerror(-e->code));
	if (o->json)
		fail_json(e, findings, status);
	return status;
}

int output_fail(const struct options *o, const struct err *e, const struct report *findings)
{
	return fail(o, e, findings, status_of(e));
}

int output_fail_request(const struct options *o, const struct err *e, const struct report *findings)
{
	bool is_usage = e->code == -EINVAL && !err_is_refusal(e);

	return fail(o, e, findings, is_usage ? OUTPUT_USAGE : status_of(e));
}

int output_json(struct jsonout *root)
{
	struct err e = ERR_INIT;
	int r = jsonout_print(root, stdout, &e);

	jsonout_free(root);
	if (!r)
		r = output_flush(&e);
	if (!r)
		return OUTPUT_DONE;
	output_print(stderr, "wubi-disk: %s\n", e.text);
	return OUTPUT_FAILED;
}

int output_picture(FILE *f, const struct picture *p, struct err *e)
{
	AUTO_FREE char *text = NULL;
	const char *no_color = getenv("NO_COLOR");
	bool colour = isatty(fileno(f)) && !(no_color && *no_color);
	int r = picture_render(p, colour, &text, e);

	if (!r)
		(void)fputs(text, f); /* not output_print(): its colours are control characters of ours */
	return r;
}
