/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "progout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define LINE_ROOM 4096 /* longer text is rare: whole tables */

static const char *program = ""; /* progout_init() sets it, once */
static bool lost_text;            /* for want of memory; progout_flush() tells, as it does what the stream lost */

/*
 * What is opened next gets the lowest free number: were that 1 or 2, the volume would take what is printed. So that a
 * closed standard output stays an error, it cannot be written; what goes to a closed standard error is lost.
 */
static int fill_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int null_fd = fd;

		if (fcntl(fd, F_GETFD) < 0)
			null_fd = open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
		if (null_fd != fd)
			return -1;
	}
	return 0;
}

int progout_init(const char *name)
{
	program = name;
	return fill_standard_fds();
}

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

void progout_print(FILE *f, const char *fmt, ...)
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
	(void)fputs(text, f); /* the stream remembers an error: progout_finish() looks at it */
}

int progout_check_open(struct err *e)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
		return 0;
	errno = EBADF;
	return err_errno(e, "write to standard output");
}

int progout_flush(struct err *e)
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

int progout_finish(int status)
{
	struct err e = ERR_INIT;

	if (progout_flush(&e) == 0)
		return status;
	progout_print(stderr, "%s: %s\n", program, e.text);
	return status == PROGOUT_DONE ? PROGOUT_FAILED : status;
}

int progout_status_of(const struct err *e)
{
	if (e->code == -ECANCELED)
		return PROGOUT_INTERRUPTED;
	return err_is_refusal(e) ? PROGOUT_REFUSED : PROGOUT_FAILED;
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

	jsonout_add_string(root, "status", status == PROGOUT_REFUSED ? "refused" :
			   status == PROGOUT_INTERRUPTED ? "interrupted" : "failed");
	jsonout_add_string(root, "reason", reason_of(e));
	jsonout_add_string(root, "message", e->text);
	array = jsonout_add_array(root, "findings");
	for (size_t i = 0; findings && i < findings->count; i++)
		add_finding(array, findings->items[i].reason, findings->items[i].text);
	if (!findings || findings->count == 0)
		add_finding(array, reason_of(e), e->text);
	(void)progout_json(root); /* the failure that is being told decides the exit status */
}

static void fail_text(const char *verb, const char *text)
{
	progout_print(stderr, "%s: %s%s%s\n", program, verb, *verb ? ": " : "", text);
}

static int fail(const struct optrows_base *o, const struct err *e, const struct report *findings, int status)
{
	if (findings && findings->count && status == PROGOUT_REFUSED)
		for (size_t i = 0; i < findings->count; i++)
			fail_text(o->verb_name, findings->items[i].text);
	else
		fail_text(o->verb_name, *e->text ? e->text : strerror(-e->code));
	if (o->json)
		fail_json(e, findings, status);
	return status;
}

int progout_fail(const struct optrows_base *o, const struct err *e, const struct report *findings)
{
	return fail(o, e, findings, progout_status_of(e));
}

int progout_fail_request(const struct optrows_base *o, const struct err *e, const struct report *findings)
{
	bool is_usage = e->code == -EINVAL && !err_is_refusal(e);

	return fail(o, e, findings, is_usage ? PROGOUT_USAGE : progout_status_of(e));
}

int progout_json(struct jsonout *root)
{
	struct err e = ERR_INIT;
	int r = jsonout_print(root, stdout, &e);

	jsonout_free(root);
	if (!r)
		r = progout_flush(&e);
	if (!r)
		return PROGOUT_DONE;
	progout_print(stderr, "%s: %s\n", program, e.text);
	return PROGOUT_FAILED;
}
