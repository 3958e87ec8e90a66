/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * apt-get with state of its own. APT_CONFIG is read before the parts and the main file, whose places it can hence take to where
 * nothing is: no setting of the live system counts, but its proxy.
 */
#include "debpool_private.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runprog.h"
#include "textfile.h"

#define WORDS_MAX 128
#define BOTH_OUTPUTS "exec \"$@\" 2>&1"
/* Above what is the same in all sources (500), below what would go back to an older version (1000). */
#define PREFER "Package: *\nPin: release o=" DEBPOOL_ORIGIN "\nPin-Priority: 990\n\n"

static int make_folders(const char *work, struct err *e)
{
	static const char *const folders[] = {
		"pool", "apt", "apt/none", "apt/sources.d", "apt/etc", "apt/log", "apt/state", "apt/state/lists",
		"apt/state/lists/partial", "apt/cache", "apt/cache/archives", "apt/cache/archives/partial", "apt/plan",
		"apt/plan/partial",
	};
	char path[PATH_MAX + 64];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", work, folders[i]);
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return err_errno(e, "folder '%s'", path);
	}
	return 0;
}

static int take_path(const char *path, const char *bad, char ret[PATH_MAX], struct err *e)
{
	if (!realpath(path, ret))
		return err_errno(e, "folder '%s'", path);
	for (const char *p = ret; *p; p++)
		if (strchr(bad, *p) || (unsigned char)*p < ' ')
			return err_set(e, -EINVAL, "folder '%s' has a character in its path that apt cannot be told", path);
	return 0;
}

int debpool_apt_open(const struct debpool_params *par, struct debpool_apt *ret, struct err *e)
{
	struct debpool_apt apt = { .par = par };
	/* that of the pool is in URIs, and versions of apt differ about when they decode them */
	int code = take_path(par->work, "\"\\%", apt.work, e);

	if (!code)
		code = take_path(par->tree, "\"\\", apt.tree, e);
	if (!code)
		code = make_folders(apt.work, e);
	if (code)
		return code;
	if (!runprog_find("apt-get", RUNPROG_SYSTEM_PATH, apt.program, sizeof(apt.program)))
		return err_set(e, -ENOENT, "'apt-get' is not there: install apt");
	if (snprintf(apt.conf, sizeof(apt.conf), "%s/apt/apt.conf", apt.work) >= (int)sizeof(apt.conf))
		return err_set(e, -ENAMETOOLONG, "folder '%.300s': %s", par->work, strerror(ENAMETOOLONG));
	*ret = apt;
	return 0;
}

/* The native one, and those of which the copied system has packages, too. */
static void write_architectures(FILE *f, const struct debpool_apt *apt)
{
	const char *native = apt->par->architecture;
	AUTO_FREE char *text = NULL;
	char path[PATH_MAX + 32], *rest = NULL;

	(void)fprintf(f, "APT::Architecture \"%s\";\nAPT::Architectures { \"%s\"; };\n", native, native);
	(void)snprintf(path, sizeof(path), "%s/var/lib/dpkg/arch", apt->tree);
	if (textfile_read(path, &text, NULL)) /* most have none */
		return;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (strcmp(line, native) != 0 && !strpbrk(line, "\"\\"))
			(void)fprintf(f, "APT::Architectures { \"%s\"; };\n", line);
}

/* How the live system reaches the mirrors is how we do. */
static int write_proxies(FILE *f, const struct debpool_apt *apt, struct err *e)
{
	char program[PATH_MAX];
	const char *const arguments[] = { program, "dump", NULL };
	const struct runprog_params p = { .arguments = arguments, .interrupted = apt->par->interrupted, .ctx = apt->par->ctx };
	AUTO_FREE char *text = NULL;
	char *rest = NULL;
	int code = 0;

	if (runprog_find("apt-config", RUNPROG_SYSTEM_PATH, program, sizeof(program)))
		code = runprog_do(&p, &text, e);
	if (code)
		return code;
	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
		if (!strncmp(line, "Acquire::http::Proxy", 20) || !strncmp(line, "Acquire::https::Proxy", 21))
			(void)fprintf(f, "%s\n", line);
	return 0;
}

static void write_own(FILE *f, const struct debpool_apt *apt)
{
	const char *work = apt->work;

	(void)fprintf(f, "Dir \"/\";\nDir::State \"%s/apt/state\";\nDir::State::lists \"%s/apt/state/lists/\";\n", work, work);
	(void)fprintf(f, "Dir::State::status \"%s/var/lib/dpkg/status\";\n", apt->tree);
	(void)fprintf(f, "Dir::Cache \"%s/apt/cache\";\nDir::Cache::archives \"%s/apt/cache/archives/\";\n", work, work);
	(void)fprintf(f, "Dir::Etc \"%s/apt/etc\";\nDir::Etc::main \"/dev/null\";\n", work);
	(void)fprintf(f, "Dir::Etc::parts \"%s/apt/none\";\n", work);
	(void)fprintf(f, "Dir::Log \"%s/apt/log\";\n", work);
	(void)fprintf(f, "APT::Install-Recommends \"false\";\nAPT::Install-Suggests \"false\";\nAPT::Sandbox::User \"root\";\n"
			 "APT::Get::List-Cleanup \"false\";\nDebug::NoLocking \"true\";\nAcquire::Languages \"none\";\n"
			 "Acquire::Retries \"1\";\nAcquire::http::Timeout \"20\";\nAcquire::https::Timeout \"20\";\n"
			 "Acquire::ftp::Timeout \"20\";\n");
	write_architectures(f, apt);
}

static void write_places(FILE *f, const struct debpool_apt *apt, enum debpool_round round)
{
	const char *work = apt->work, *tree = apt->tree;

	if (round == DEBPOOL_POOLS) {
		(void)fprintf(f, "Dir::Etc::sourcelist \"/dev/null\";\nDir::Etc::preferences \"/dev/null\";\n"
				 "Dir::Etc::preferencesparts \"%s/apt/none\";\nDir::Etc::trustedparts \"%s/apt/none\";\n",
			      work, work);
	} else {
		(void)fprintf(f, "Dir::Etc::preferences \"%s/apt/preferences\";\n", work);
		(void)fprintf(f, "Dir::Etc::preferencesparts \"%s/etc/apt/preferences.d\";\n", tree);
		(void)fprintf(f, "Dir::Etc::sourcelist \"%s/etc/apt/sources.list\";\n", tree);
		(void)fprintf(f, "Dir::Etc::trusted \"%s/etc/apt/trusted.gpg\";\n", tree);
		(void)fprintf(f, "Dir::Etc::trustedparts \"%s/etc/apt/trusted.gpg.d\";\n", tree);
		(void)fprintf(f, "Dir::Etc::netrc \"%s/etc/apt/auth.conf\";\nDir::Etc::netrcparts \"%s/etc/apt/auth.conf.d\";\n",
			      tree, tree);
	}
	(void)fprintf(f, "Dir::Etc::sourceparts \"%s/apt/sources.d\";\n", work);
}

/* The user has named these folders, or booted from them: nobody has signed them, and they have no checksums. */
static int write_pool_source(const struct debpool_apt *apt, struct err *e)
{
	char path[PATH_MAX + 64], text[3 * PATH_MAX + 128];
	size_t n = (size_t)snprintf(text, sizeof(text), "deb [trusted=yes allow-insecure=yes allow-weak=yes] file:");

	for (const char *p = apt->work; *p; p++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      isalnum((unsigned char)*p) || strchr("/._-", *p) ? "%c" : "%%%02x", (unsigned char)*p);
	(void)snprintf(text + n, sizeof(text) - n, "/pool ./\n");
	(void)snprintf(path, sizeof(path), "%s/apt/sources.d/wubi-pool.list", apt->work);
	return textfile_write(path, text, e);
}

/* The copied system's further sources, by links beside our own. */
static int link_sources(const struct debpool_apt *apt, struct err *e)
{
	char from[PATH_MAX + 32], path[PATH_MAX + 512], to[PATH_MAX + 512];
	struct dirent *d;
	DIR *dir;
	int code = 0;

	(void)snprintf(from, sizeof(from), "%s/etc/apt/sources.list.d", apt->tree);
	dir = opendir(from);
	while (!code && dir && (d = readdir(dir)) != NULL) {
		if (d->d_name[0] == '.')
			continue;
		(void)snprintf(to, sizeof(to), "%s/%s", from, d->d_name);
		(void)snprintf(path, sizeof(path), "%s/apt/sources.d/%s", apt->work, d->d_name);
		if (symlink(to, path) < 0 && errno != EEXIST)
			code = err_errno(e, "'%s'", path);
	}
	if (dir)
		(void)closedir(dir); /* only read */
	return code;
}

/* apt takes one that is not newer by its seconds for the same. */
static void forget_pool(const struct debpool_apt *apt)
{
	static const char *const ends[] = { "_pool_._Packages", "_pool_._Release" };
	char path[PATH_MAX + 512];
	struct dirent *d;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "%s/apt/state/lists", apt->work);
	dir = opendir(path);
	while (dir && (d = readdir(dir)) != NULL) {
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
			const char *end = strstr(d->d_name, ends[i]);

			if (!end || strcmp(end, ends[i]) != 0)
				continue;
			(void)snprintf(path, sizeof(path), "%s/apt/state/lists/%s", apt->work, d->d_name);
			(void)unlink(path); /* apt then says so */
		}
	}
	if (dir)
		(void)closedir(dir); /* only read */
}

/* What the copied system prefers, and before it, unless only the newest will do, the pools. */
static int write_preferences(const struct debpool_apt *apt, enum debpool_round round, struct err *e)
{
	AUTO_FREE char *theirs = NULL;
	AUTO_FREE char *text = NULL;
	char path[PATH_MAX + 32];

	(void)snprintf(path, sizeof(path), "%s/etc/apt/preferences", apt->tree);
	(void)textfile_read(path, &theirs, NULL); /* most have none */
	if (asprintf(&text, "%s%s", round == DEBPOOL_PREFER_POOLS ? PREFER : "", theirs ? theirs : "") < 0) {
		text = NULL;
		return err_set(e, -ENOMEM, "'%s': out of memory", path);
	}
	(void)snprintf(path, sizeof(path), "%s/apt/preferences", apt->work);
	return textfile_write(path, text, e);
}

int debpool_apt_configure(const struct debpool_apt *apt, enum debpool_round round, struct err *e)
{
	FILE *f = fopen(apt->conf, "we");
	bool failed;
	int code = 0;

	if (!f)
		return err_errno(e, "'%s'", apt->conf);
	forget_pool(apt);
	write_own(f, apt);
	write_places(f, apt, round);
	if (round != DEBPOOL_POOLS)
		code = write_proxies(f, apt, e);
	failed = ferror(f) != 0;
	if ((fclose(f) != 0 || failed) && !code)
		return err_errno(e, "'%s'", apt->conf);
	if (!code)
		code = write_pool_source(apt, e);
	if (!code && round != DEBPOOL_POOLS)
		code = link_sources(apt, e);
	return code || round == DEBPOOL_POOLS ? code : write_preferences(apt, round, e);
}

int debpool_apt_run(const struct debpool_apt *apt, const char *const *verb, const char *const *packages, char **ret,
		    struct err *e)
{
	const char *words[WORDS_MAX] = { "/bin/sh", "-c", BOTH_OUTPUTS, "sh", apt->program, "-q" };
	AUTO_FREE char *conf = NULL;
	const char *variables[] = { NULL, "LC_ALL=C", "LANGUAGE=C", "DEBIAN_FRONTEND=noninteractive", NULL };
	const struct runprog_params p = {
		.arguments = words, .variables = variables, .interrupted = apt->par->interrupted, .ctx = apt->par->ctx
	};
	struct err problem = ERR_INIT;
	size_t n = 6;
	int code;

	*ret = NULL;
	while (*verb && n < WORDS_MAX - 1)
		words[n++] = *verb++;
	while (packages && *packages && n < WORDS_MAX - 1)
		words[n++] = *packages++;
	if (*verb || (packages && *packages))
		return err_set(e, -E2BIG, "more than %d packages are too many to be named at once", WORDS_MAX - 16);
	if (asprintf(&conf, "APT_CONFIG=%s", apt->conf) < 0) {
		conf = NULL;
		return err_set(e, -ENOMEM, "'%s': out of memory", apt->conf);
	}
	variables[0] = conf;
	code = runprog_do(&p, ret, &problem);
	if (code && code != -EIO && e)
		*e = problem;
	else if (code) /* not of the shell that it was started by */
		(void)err_set(e, code, "'%s' failed", apt->program);
	return code;
}

int debpool_apt_update(const struct debpool_apt *apt, bool pools_alone, char **ret, struct err *e)
{
	static const char *const all[] = { "update", NULL };
	char list[PATH_MAX + 64], parts[PATH_MAX + 64];
	const char *const pools[] = { "-o", list, "-o", parts, "update", NULL };

	if (!pools_alone)
		return debpool_apt_run(apt, all, NULL, ret, e);
	forget_pool(apt);
	(void)snprintf(list, sizeof(list), "Dir::Etc::sourcelist=%s/apt/sources.d/wubi-pool.list", apt->work);
	(void)snprintf(parts, sizeof(parts), "Dir::Etc::sourceparts=%s/apt/none", apt->work);
	return debpool_apt_run(apt, pools, NULL, ret, e);
}

void debpool_decode(char *uri)
{
	char *to = uri;

	for (const char *from = uri; *from; from++) {
		unsigned value;
		char digits[3] = "";

		if (*from == '%' && isxdigit((unsigned char)from[1]) && isxdigit((unsigned char)from[2])) {
			memcpy(digits, from + 1, 2);
			value = (unsigned)strtoul(digits, NULL, 16);
			*to++ = (char)value;
			from += 2;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}
