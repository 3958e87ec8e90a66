/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of the target's files. No I/O. */
#include "target_private.h"

#include <stdio.h>
#include <string.h>

#define FSTAB_HEAD "# The images are attached by wubi-attach in the initramfs; see wubi(7).\n"
#define KERNEL_MAGIC_AT 0x202   /* "HdrS"; Documentation/arch/x86/boot.rst */
#define KERNEL_VERSION_AT 0x20e /* where its text lies, less 0x200; 0: none */

/* The lines of a text, one after the other, without their ends. False: no more. */
static bool next_line(const char **at, const char **ret, size_t *ret_n)
{
	if (!*at || !**at)
		return false;
	*ret = *at;
	*ret_n = strcspn(*at, "\n");
	*at += *ret_n + ((*at)[*ret_n] == '\n');
	return true;
}

char *target_text_end(FILE *f, char **text)
{
	bool failed = ferror(f) != 0;

	if (fclose(f) == 0 && !failed)
		return *text;
	free(*text);
	return NULL;
}

static void put_fstab_line(FILE *f, const struct map *m)
{
	if (strcmp(m->fs_type, "swap") == 0)
		(void)fprintf(f, "/dev/mapper/wubi-%s none swap sw,nofail 0 0\n", m->name);
	else if (strcmp(m->name, "root") == 0)
		(void)fprintf(f, "/dev/mapper/wubi-root / ext4 defaults,errors=remount-ro 0 1\n");
	else if (strcmp(m->fs_type, "ext4") == 0)
		(void)fprintf(f, "/dev/mapper/wubi-%s /%s ext4 defaults,nofail 0 2\n", m->name, m->name);
}

/* Root is checked first; the others never hold up a boot. target_text_end() asks whether all was written. */
char *target_fstab_text(const struct target_settings *s)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	(void)fputs(FSTAB_HEAD, f);
	for (size_t i = 0; i < s->map_count; i++)
		put_fstab_line(f, s->maps[i]);
	if (s->esp_partuuid && s->esp_partuuid[0])
		(void)fprintf(f, "PARTUUID=%s /boot/efi vfat umask=0077,nofail 0 1\n", s->esp_partuuid);
	return target_text_end(f, &text);
}

/* The n-th field of a line of fstab, from 0. False: it has none, or is a comment. */
static bool fstab_field(const char *line, size_t n, unsigned number, const char **ret, size_t *ret_n)
{
	size_t at = strspn(line, " \t"), length;

	for (unsigned i = 0; at < n && line[at] != '#'; i++) {
		length = strcspn(line + at, " \t\n");
		if (i == number) {
			*ret = line + at;
			*ret_n = length;
			return true;
		}
		at += length;
		at += strspn(line + at, " \t");
	}
	return false;
}

static bool field_is(const char *line, size_t n, unsigned number, const char *prefix, const char *text)
{
	size_t found, length = strlen(prefix);
	const char *field;

	return fstab_field(line, n, number, &field, &found) && found == length + strlen(text) &&
	       memcmp(field, prefix, length) == 0 && memcmp(field + length, text, found - length) == 0;
}

/* A line of the user's own for the same file system, or for the same place, is as good. */
static bool names_map(const char *line, size_t n, const struct map *m)
{
	return field_is(line, n, 0, "/dev/mapper/wubi-", m->name) ||
	       (m->fs_uuid[0] && field_is(line, n, 0, "UUID=", m->fs_uuid)) ||
	       (strcmp(m->fs_type, "swap") != 0 && field_is(line, n, 1, "/", m->name));
}

bool target_fstab_has(const char *text, const struct map *m)
{
	const char *line;
	size_t n;

	while (next_line(&text, &line, &n))
		if (names_map(line, n, m))
			return true;
	return false;
}

char *target_fstab_text_with(const char *old, const struct map *m)
{
	char *text = NULL;
	size_t size, n = strlen(old);
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	(void)fprintf(f, "%s%s", old, n && old[n - 1] != '\n' ? "\n" : "");
	put_fstab_line(f, m);
	return target_text_end(f, &text);
}

char *target_fstab_moved_text(const char *old, const char *fs_uuid, char **ret_source)
{
	const char *at = old, *line, *source;
	char *text = NULL;
	size_t size, n, source_n;
	FILE *f = open_memstream(&text, &size);

	*ret_source = NULL;
	if (!f)
		return NULL;
	while (next_line(&at, &line, &n)) {
		bool is_root = field_is(line, n, 1, "/", "") && fstab_field(line, n, 0, &source, &source_n);

		if (!is_root) {
			(void)fprintf(f, "%.*s\n", (int)n, line);
			continue;
		}
		free(*ret_source); /* the last one counts, as for mount(8) */
		*ret_source = strndup(source, source_n);
		(void)fprintf(f, "UUID=%s%.*s\n", fs_uuid, (int)(n - (size_t)(source + source_n - line)), source + source_n);
	}
	if (!*ret_source)
		(void)fprintf(f, "UUID=%s / ext4 defaults,errors=remount-ro 0 1\n", fs_uuid);
	return target_text_end(f, &text);
}

static bool line_begins(const char *line, size_t n, const char *word)
{
	size_t length = strlen(word);

	return n > length && strncmp(line, word, length) == 0 && (line[length] == ' ' || line[length] == '\t');
}

static void put_own_host(FILE *f, const char *hostname)
{
	size_t n = strcspn(hostname, ".");

	if (hostname[n])
		(void)fprintf(f, "127.0.1.1\t%s %.*s\n", hostname, (int)n, hostname);
	else
		(void)fprintf(f, "127.0.1.1\t%s\n", hostname);
}

char *target_hosts_text(const char *old, const char *hostname)
{
	static const char fresh[] = "127.0.0.1\tlocalhost\n::1\t\tlocalhost ip6-localhost ip6-loopback\n";
	const char *at = old && old[0] ? old : fresh, *line;
	char *text = NULL;
	size_t size, n;
	bool is_put = strstr(at, "127.0.0.1") == NULL;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (is_put)
		put_own_host(f, hostname);
	while (next_line(&at, &line, &n)) {
		if (line_begins(line, n, "127.0.1.1"))
			continue;
		(void)fprintf(f, "%.*s\n", (int)n, line);
		if (!is_put && line_begins(line, n, "127.0.0.1")) {
			put_own_host(f, hostname);
			is_put = true;
		}
	}
	if (!is_put)
		put_own_host(f, hostname);
	return target_text_end(f, &text);
}

/* hwclock(8): drift, last adjustment, then what the clock has. */
char *target_adjtime_text(const char *old, bool utc)
{
	const char *at = old, *first = "0.0 0 0.0", *second = "0";
	size_t n = strlen(first), n2 = strlen(second);
	char *text;

	if (next_line(&at, &first, &n))
		(void)next_line(&at, &second, &n2);
	if (asprintf(&text, "%.*s\n%.*s\n%s\n", (int)n, first, (int)n2, second, utc ? "UTC" : "LOCAL") < 0)
		return NULL;
	return text;
}

char *target_variable_text(const char *old, const char *name, const char *value)
{
	const char *at = old, *line;
	char *text = NULL;
	size_t size, n, length = strlen(name);
	bool is_put = false;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	while (next_line(&at, &line, &n)) {
		bool is_it = n > length && strncmp(line, name, length) == 0 && line[length] == '=';

		if (!is_it)
			(void)fprintf(f, "%.*s\n", (int)n, line);
		else if (!is_put)
			(void)fprintf(f, "%s=\"%s\"\n", name, value);
		is_put = is_put || is_it;
	}
	if (!is_put)
		(void)fprintf(f, "%s=\"%s\"\n", name, value);
	return target_text_end(f, &text);
}

char *target_text_without(const char *old, const char *word, bool *ret_changed, bool *ret_left)
{
	const char *at = old, *line;
	char *text = NULL;
	size_t size, n;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	*ret_changed = *ret_left = false;
	while (next_line(&at, &line, &n)) {
		size_t blank = strspn(line, " \t");

		if (line[blank] != '#' && memmem(line, n, word, strlen(word))) {
			*ret_changed = true;
			continue;
		}
		*ret_left = *ret_left || (blank < n && line[blank] != '#');
		(void)fprintf(f, "%.*s\n", (int)n, line);
	}
	return target_text_end(f, &text);
}

/* "de_DE.UTF-8 UTF-8", also behind "# ". */
static bool names_locale(const char *line, size_t n, const char *locale, size_t *ret_skip)
{
	*ret_skip = 0;
	while (*ret_skip < n && (line[*ret_skip] == '#' || line[*ret_skip] == ' '))
		(*ret_skip)++;
	return line_begins(line + *ret_skip, n - *ret_skip, locale);
}

static void put_supported(FILE *f, const char *supported, const char *locale, bool *ret_known)
{
	const char *at = supported, *line;
	size_t n, skip;

	while (!*ret_known && next_line(&at, &line, &n)) {
		*ret_known = names_locale(line, n, locale, &skip);
		if (*ret_known)
			(void)fprintf(f, "%.*s\n", (int)(n - skip), line + skip);
	}
}

char *target_localegen_text(const char *old, const char *supported, const char *locale, bool *ret_known)
{
	const char *at = old, *line;
	char *text = NULL;
	size_t size, n, skip;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	*ret_known = false;
	while (next_line(&at, &line, &n)) {
		bool is_it = names_locale(line, n, locale, &skip);

		(void)fprintf(f, "%.*s\n", (int)(is_it ? n - skip : n), is_it ? line + skip : line);
		*ret_known = *ret_known || is_it;
	}
	put_supported(f, supported, locale, ret_known);
	return target_text_end(f, &text);
}

bool target_kernel_version(const unsigned char *head, size_t n, char *ret, size_t size)
{
	size_t at, length = 0;

	if (n < KERNEL_VERSION_AT + 2 || memcmp(head + KERNEL_MAGIC_AT, "HdrS", 4) != 0)
		return false;
	at = (size_t)(head[KERNEL_VERSION_AT] | head[KERNEL_VERSION_AT + 1] << 8);
	if (!at || at + 0x200 >= n)
		return false;
	at += 0x200;
	while (at + length < n && head[at + length] > ' ' && head[at + length] < 0x7f && head[at + length] != '/')
		length++;
	if (!length || length >= size || at + length >= n)
		return false;
	memcpy(ret, head + at, length);
	ret[length] = '\0';
	return true;
}
