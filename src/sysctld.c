/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * As systemd-sysctl 252 does it, see tests/vm/knobs.sh: a line without a glob sets its key and takes it away from all glob
 * lines, wherever they stand; a later line of the same key replaces an earlier one and is applied at its own place, but one
 * that repeats the value leaves the earlier one where it is; '-key' without a value is no setting, and takes the key away from
 * the glob lines, too.
 */
#include "sysctld.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "textfile.h"

#define SUFFIX ".conf"
#define SYSCTL_CONF "/etc/sysctl.conf"
#define SYSCTL_CONF_LINK "99-sysctl.conf"
#define FILE_BYTES_MAX (1 << 20)
#define WHITE " \t\r\n"

static const char *const folders[] = {
	"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d",
};

struct file {
	const char *folder;
	char name[NAME_MAX + 1];
};

struct entry {
	bool is_setting; /* false: '-key' without a value */
	struct sysctld_setting s; /* .key: with slashes; may be a glob */
};

struct scan {
	const char *root;
	const char *const *keys; /* the caller's, with dots */
	size_t key_count;
	struct file *files; /* in the order of their names */
	size_t file_count;
	struct entry *entries; /* in the order in which they are applied */
	size_t entry_count;
	struct stat sysctl_conf; /* st_nlink 0: there is none, or it was read by another name */
};

static void scan_clear(struct scan *s)
{
	free(s->files);
	free(s->entries);
}

static int open_in(const char *root, const char *path, int flags)
{
	char whole[PATH_MAX];

	return textfile_resolve(root, path, whole) < 0 ? -1 : open(whole, flags | O_CLOEXEC);
}

static bool has_file(const struct scan *s, const char *name)
{
	for (size_t i = 0; i < s->file_count; i++)
		if (strcmp(s->files[i].name, name) == 0)
			return true;
	return false;
}

static bool is_conf_name(const char *name)
{
	size_t n = strlen(name);

	return name[0] != '.' && n > strlen(SUFFIX) && strcmp(name + n - strlen(SUFFIX), SUFFIX) == 0;
}

/* Whatever it is: also a link to /dev/null, or to nothing, hides files of that name in later folders. */
static int add_file(struct scan *s, const char *folder, const char *name, struct err *e)
{
	struct file *wider;

	if (!is_conf_name(name) || has_file(s, name))
		return 0;
	wider = reallocarray(s->files, s->file_count + 1, sizeof(*wider));
	if (!wider)
		return err_set(e, -ENOMEM, "folder '%s': out of memory", folder);
	s->files = wider;
	wider[s->file_count].folder = folder;
	(void)snprintf(wider[s->file_count].name, sizeof(wider->name), "%s", name);
	s->file_count++;
	return 0;
}

static int list_folder(struct scan *s, const char *folder, struct err *e)
{
	int fd = open_in(s->root, folder, O_RDONLY | O_DIRECTORY);
	const struct dirent *d;
	DIR *dir;
	int code = 0;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		code = err_errno(e, "folder '%s'", folder);
		auto_close(&fd);
		return code;
	}
	while (!code) {
		errno = 0;
		d = readdir(dir);
		if (!d)
			break;
		code = add_file(s, folder, d->d_name, e);
	}
	if (!code && errno)
		code = err_errno(e, "folder '%s'", folder);
	(void)closedir(dir); /* it was only read */
	return code;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

/* Takes white space away at both ends. */
static char *strip(char *text)
{
	size_t n;

	text += strspn(text, WHITE);
	n = strlen(text);
	while (n > 0 && strchr(WHITE, text[n - 1]))
		n--;
	text[n] = '\0';
	return text;
}

/*
 * "vm.dirty_bytes", "vm/dirty_bytes", "/vm//dirty_bytes": with slashes. If the first separator is a dot, dots and slashes trade
 * places; if it is a slash, they are what they are.
 */
static void normalize_key(char *key)
{
	bool swap = key[strcspn(key, "/.")] == '.';
	char *to = key;

	for (const char *p = key; *p; p++) {
		char c = *p;

		if (swap && (c == '.' || c == '/'))
			c = c == '.' ? '/' : '.';
		if (c == '/' && (to == key || to[-1] == '/'))
			continue;
		*to++ = c;
	}
	*to = '\0';
}

static bool is_glob(const char *key)
{
	return key[strcspn(key, "*?[")] != '\0';
}

/* The caller's key as a line has it. */
static const char *with_slashes(const char *key, char ret[64])
{
	(void)snprintf(ret, 64, "%s", key);
	normalize_key(ret);
	return ret;
}

static bool covers(const char *key, const char *wanted)
{
	char buf[64];

	with_slashes(wanted, buf);
	return is_glob(key) ? fnmatch(key, buf, FNM_PATHNAME | FNM_PERIOD) == 0 : strcmp(key, buf) == 0;
}

static bool is_wanted(const struct scan *s, const char *key)
{
	for (size_t i = 0; i < s->key_count; i++)
		if (covers(key, s->keys[i]))
			return true;
	return false;
}

static struct entry *find_entry(struct scan *s, const char *key)
{
	for (size_t i = 0; i < s->entry_count; i++)
		if (strcmp(s->entries[i].s.key, key) == 0)
			return &s->entries[i];
	return NULL;
}

/* value NULL: '-key'. */
static int add_entry(struct scan *s, const char *key, const char *value, const char *path, unsigned line, struct err *e)
{
	struct entry *old = find_entry(s, key), *wider;
	struct entry new = { .is_setting = value != NULL, .s.line = line };

	(void)snprintf(new.s.key, sizeof(new.s.key), "%s", key); /* longer ones were left out */
	(void)snprintf(new.s.value, sizeof(new.s.value), "%s", value ? value : ""); /* only to be shown */
	(void)snprintf(new.s.path, sizeof(new.s.path), "%s", path);
	if (old && old->is_setting == new.is_setting && strcmp(old->s.value, new.s.value) == 0)
		return 0;
	if (old) {
		memmove(old, old + 1, (size_t)(s->entries + s->entry_count - (old + 1)) * sizeof(*old));
		s->entries[s->entry_count - 1] = new;
		return 0;
	}
	wider = reallocarray(s->entries, s->entry_count + 1, sizeof(*wider));
	if (!wider)
		return err_set(e, -ENOMEM, "'%s': out of memory", path);
	s->entries = wider;
	wider[s->entry_count++] = new;
	return 0;
}

static int parse_line(struct scan *s, char *text, const char *path, unsigned line, struct err *e)
{
	char *key = strip(text), *value = strchr(key, '=');

	if (!*key || *key == '#' || *key == ';')
		return 0;
	if (!value && *key != '-')
		return 0; /* systemd-sysctl says so and goes on */
	if (value) {
		*value++ = '\0';
		value = strip(value);
	}
	key = strip(*key == '-' ? key + 1 : key);
	normalize_key(key);
	if (strlen(key) >= sizeof(((struct sysctld_setting *)NULL)->key) || !is_wanted(s, key))
		return 0;
	return add_entry(s, key, value, path, line, e);
}

static int parse_lines(struct scan *s, FILE *f, const char *path, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t capacity = 0;
	unsigned line = 0;
	int code = 0;

	errno = 0;
	while (!code && getline(&text, &capacity, f) >= 0)
		code = parse_line(s, text, path, ++line, e);
	return !code && !feof(f) ? err_errno(e, "'%s': read", path) : code;
}

static int parse_file(struct scan *s, const char *path, struct err *e)
{
	/* O_NONBLOCK: the open of a FIFO would wait for a writer */
	AUTO_FD int fd = open_in(s->root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	FILE *f;
	int code;

	if (fd < 0 && (errno == ENOENT || errno == ELOOP))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "'%s'", path);
	if (!S_ISREG(st.st_mode))
		return 0;
	if (st.st_size > FILE_BYTES_MAX)
		return err_set(e, -EFBIG, "'%s' is larger than %d bytes, which is no file of settings", path, FILE_BYTES_MAX);
	if (st.st_dev == s->sysctl_conf.st_dev && st.st_ino == s->sysctl_conf.st_ino)
		s->sysctl_conf.st_nlink = 0;
	f = fdopen(fd, "r");
	if (!f)
		return err_errno(e, "'%s'", path);
	(void)TAKE_FD(fd); /* it is f's */
	code = parse_lines(s, f, path, e);
	(void)fclose(f); /* it was only read */
	return code;
}

static int parse_files(struct scan *s, struct err *e)
{
	AUTO_FD int fd = open_in(s->root, SYSCTL_CONF, O_PATH);
	int code = 0;

	if (fd < 0 || fstat(fd, &s->sysctl_conf) < 0)
		s->sysctl_conf = (struct stat){ 0 };
	if (has_file(s, SYSCTL_CONF_LINK)) /* whatever it names: it stands for that file */
		s->sysctl_conf.st_nlink = 0;
	for (size_t i = 0; !code && i < s->file_count; i++) {
		char path[PATH_MAX];

		(void)snprintf(path, sizeof(path), "%s/%s", s->files[i].folder, s->files[i].name);
		code = parse_file(s, path, e);
	}
	return !code && s->sysctl_conf.st_nlink ? parse_file(s, SYSCTL_CONF, e) : code;
}

/* A line that the kernel refuses sets nothing, and this one is in many guides, before or behind a line with per cent. */
static bool is_refused(const char *key, const char *value)
{
	size_t n = strlen(key), suffix = strlen("_bytes");

	return strcmp(value, "0") == 0 && strncmp(key, "vm/dirty_", 9) == 0 && strcmp(key + n - suffix, "_bytes") == 0;
}

/* Of a glob the last key by its name counts: in that order they are set. */
static void apply_entry(struct scan *s, const struct entry *entry, struct sysctld_setting *ret)
{
	const char *last = NULL;

	for (size_t i = 0; i < s->key_count; i++) {
		char key[64];

		if (!covers(entry->s.key, s->keys[i]) || is_refused(with_slashes(s->keys[i], key), entry->s.value))
			continue;
		if (is_glob(entry->s.key) && find_entry(s, key))
			continue;
		if (!last || strcmp(s->keys[i], last) > 0)
			last = s->keys[i];
	}
	if (!last || !entry->is_setting)
		return;
	*ret = entry->s;
	(void)snprintf(ret->key, sizeof(ret->key), "%s", last); /* it fitted with slashes */
}

int sysctld_winner(const char *root, const char *const *keys, size_t key_count, struct sysctld_setting *ret, struct err *e)
{
	__attribute__((cleanup(scan_clear))) struct scan s = { .root = root, .keys = keys, .key_count = key_count };
	struct sysctld_setting found = { .line = 0 };
	int code = 0;

	for (size_t i = 0; i < key_count; i++)
		if (strlen(keys[i]) >= sizeof(found.key))
			return err_set(e, -EINVAL, "the kernel has no value '%s'", keys[i]);
	for (size_t i = 0; !code && i < sizeof(folders) / sizeof(folders[0]); i++)
		code = list_folder(&s, folders[i], e);
	if (!code && s.file_count)
		qsort(s.files, s.file_count, sizeof(*s.files), compare_names);
	if (!code)
		code = parse_files(&s, e);
	if (code)
		return code;
	for (size_t i = 0; i < s.entry_count; i++)
		apply_entry(&s, &s.entries[i], &found);
	*ret = found;
	return 0;
}
