/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "debpool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "debpool_private.h"
#include "num.h"

/* One that apt has chosen. */
struct chosen {
	char path[PATH_MAX];
	struct debpool_deb *deb;     /* of the pools; NULL: of somewhere else */
	char package[256], version[256];
	uint64_t bytes, installed_bytes;
	bool is_loaded;              /* it is where it is only after a download */
};

struct plan { /* zero-initialised is empty; plan_clear() */
	struct chosen *chosen;
	size_t count;
};

struct resolver {
	const struct debpool_params *par;
	struct debpool_apt apt;
	struct debpool_index index;
	struct debpool_lacks lacks;      /* of the last round */
	bool asked_network;
	char network_problem[100];
};

enum outcome { DONE, LACKING, AGAIN };

static void plan_clear(struct plan *p)
{
	free(p->chosen);
	*p = (struct plan){ .count = 0 };
}

static void auto_plan(struct plan *p)
{
	plan_clear(p);
}

static void auto_resolver(struct resolver *r)
{
	debpool_index_clear(&r->index);
}

void debpool_clear(struct debpool *p)
{
	free(p->files);
	free(p->settle);
	*p = (struct debpool){ .count = 0 };
}

static void tell(const struct resolver *r, const char *text)
{
	if (r->par->tell)
		r->par->tell(r->par->ctx, text);
}

/* A line "'URI' FILE BYTES ...": false if it is none. */
static bool parse_uri(char *line, char **ret_uri, char **ret_file, uint64_t *ret_bytes)
{
	char *end = line[0] == '\'' ? strstr(line + 1, "' ") : NULL;
	char *bytes;

	if (!end)
		return false;
	*end = '\0';
	*ret_uri = line + 1;
	*ret_file = end + 2;
	bytes = strchr(*ret_file, ' ');
	if (!bytes || strchr(*ret_file, '/') > *ret_file)
		return false;
	*bytes++ = '\0';
	bytes[strcspn(bytes, " ")] = '\0';
	return num_parse_u64(bytes, ret_bytes, NULL) == 0;
}

/* Where it is, or will be once it is loaded. */
static int locate(struct resolver *r, char *uri, const char *file, struct chosen *ret, struct err *e)
{
	char pool[PATH_MAX + 16];
	int n;

	(void)snprintf(pool, sizeof(pool), "%s/pool/", r->apt.work);
	if (strncmp(uri, "file:", 5) != 0) {
		ret->is_loaded = true;
		n = snprintf(ret->path, sizeof(ret->path), "%s/apt/cache/archives/%s", r->apt.work, file);
	} else {
		debpool_decode(uri);
		uri += strlen("file:");
		while (uri[0] == '/' && uri[1] == '/') /* "file:///" is allowed as well */
			uri++;
		if (!strncmp(uri, pool, strlen(pool)))
			ret->deb = debpool_index_find(&r->index, strrchr(uri, '/') + 1);
		n = snprintf(ret->path, sizeof(ret->path), "%s", ret->deb ? ret->deb->path : uri);
	}
	return n < (int)sizeof(ret->path) ? 0 : err_set(e, -ENAMETOOLONG, "package '%.300s': %s", file, strerror(ENAMETOOLONG));
}

/* p is the caller's, also after an error. */
static int parse_plan(struct resolver *r, char *output, struct plan *p, struct err *e)
{
	char *rest = NULL;

	for (char *line = strtok_r(output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct chosen c = { .path = "" }, *moved;
		char *uri, *file;
		int code;

		if (!parse_uri(line, &uri, &file, &c.bytes))
			continue;
		code = locate(r, uri, file, &c, e);
		if (code)
			return code;
		moved = reallocarray(p->chosen, p->count + 1, sizeof(*moved));
		if (!moved)
			return err_set(e, -ENOMEM, "packages: out of memory");
		p->chosen = moved;
		p->chosen[p->count++] = c;
	}
	return 0;
}

static bool has_loads(const struct plan *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->chosen[i].is_loaded)
			return true;
	return false;
}

/* What apt-get says when it could not ask everybody it should. */
static void keep_network_problem(struct resolver *r, const char *output)
{
	const char *at = output ? strstr(output, "Failed to fetch") : NULL;

	if (!at && output)
		at = strstr(output, "E: ");
	if (at)
		(void)snprintf(r->network_problem, sizeof(r->network_problem), "%.*s", (int)strcspn(at, "\n"), at);
}

/* apt loads all of the plan or nothing, and of what is at hand it wants a checksum then, too. */
static int add_checksums(struct resolver *r, struct plan *p, struct err *e)
{
	AUTO_FREE char *output = NULL;
	uint64_t bytes;
	int code = 0;

	for (size_t i = 0; !code && i < p->count; i++)
		if (p->chosen[i].deb)
			code = checksum_file(p->chosen[i].path, CHECKSUM_SHA256, NULL, p->chosen[i].deb->sha256, &bytes, e);
	if (!code)
		code = debpool_index_write(&r->index, r->apt.work, e);
	return code ? code : debpool_apt_update(&r->apt, true, &output, e);
}

static int load(struct resolver *r, struct plan *p, struct err *e)
{
	static const char *const verb[] = { "-y", "--no-remove", "--download-only", "install", NULL };
	AUTO_FREE char *output = NULL;
	int code;

	tell(r, "loading packages by the network");
	code = add_checksums(r, p, e);
	if (code)
		return code;
	code = debpool_apt_run(&r->apt, verb, r->par->packages, &output, e);
	if (code != -EIO)
		return code;
	keep_network_problem(r, output);
	return err_set(e, -EIO, "packages could not be loaded: %s; make sure of the network, or put them into a folder, to be "
		       "named with --packages DIR", r->network_problem[0] ? r->network_problem : "apt-get failed");
}

/* A broken one of the pools is marked, and *ret is AGAIN: there may be another. */
static int look_into(struct resolver *r, struct chosen *c, enum outcome *ret, struct err *e)
{
	AUTO_FREE char *control = NULL;
	char size[32] = "";
	bool is_whole = false;
	uint64_t kib = 0;
	struct stat st;
	int code = debpool_deb_control(r->par, c->path, &control, e);

	if (!code && control && stat(c->path, &st) == 0 && (uint64_t)st.st_size == c->bytes)
		code = debpool_deb_check(r->par, c->path, &is_whole, e);
	if (code)
		return code;
	if (!is_whole && !c->deb)
		return err_set(e, -EIO, "package '%s' is broken or not there; put a sound one into a folder, to be named with "
			       "--packages DIR", c->path);
	if (!is_whole) {
		c->deb->is_broken = true;
		*ret = AGAIN;
		return 0;
	}
	(void)debpool_field(control, "Package", c->package, sizeof(c->package));
	(void)debpool_field(control, "Version", c->version, sizeof(c->version));
	if (debpool_field(control, "Installed-Size", size, sizeof(size)) && num_parse_u64(size, &kib, NULL) == 0)
		(void)num_mul(kib, NUM_KIB, &c->installed_bytes); /* an absurd one counts as none */
	return 0;
}

/* The next that is to be unpacked, of a line "Inst NAME[:ARCH] [OLD] (VERSION ...": put at its place behind 'done' others. */
static bool take_step(struct plan *p, size_t done, const char *line)
{
	const char *name = line + strlen("Inst "), *version = strchr(name, '(');
	size_t name_n = strcspn(name, " :"), version_n;

	if (!version)
		return false;
	version_n = strcspn(++version, " )");
	for (size_t i = done; i < p->count; i++) {
		struct chosen *c = &p->chosen[i], moved = *c;

		if (strlen(c->package) != name_n || strncmp(c->package, name, name_n) != 0 || strlen(c->version) != version_n ||
		    strncmp(c->version, version, version_n) != 0)
			continue;
		memmove(&p->chosen[done + 1], &p->chosen[done], (i - done) * sizeof(*c));
		p->chosen[done] = moved;
		return true;
	}
	return false;
}

static int allocate(size_t count, struct debpool *ret, struct err *e)
{
	ret->files = calloc(count ? count : 1, sizeof(*ret->files));
	ret->settle = calloc(count ? count : 1, sizeof(*ret->settle));
	return ret->files && ret->settle ? 0 : err_set(e, -ENOMEM, "packages: out of memory");
}

/* In apt's own order, and where it would configure before the next is unpacked. */
static int put_in_order(struct resolver *r, struct plan *p, struct debpool *ret, struct err *e)
{
	static const char *const verb[] = { "-y", "--no-remove", "-s", "install", NULL };
	AUTO_FREE char *output = NULL;
	char *rest = NULL;
	bool is_configured = false;
	int code = debpool_apt_run(&r->apt, verb, r->par->packages, &output, e);

	if (!code)
		code = allocate(p->count, ret, e);
	if (code)
		return code;
	for (char *line = strtok_r(output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (!strncmp(line, "Conf ", 5))
			is_configured = true;
		if (strncmp(line, "Inst ", 5) != 0)
			continue;
		if (!take_step(p, ret->count, line))
			return err_set(e, -EIO, "packages: apt-get has not the file for '%s'", line + 5);
		(void)snprintf(ret->files[ret->count], PATH_MAX, "%s", p->chosen[ret->count].path);
		ret->settle[ret->count] = is_configured;
		if (num_add(ret->installed_bytes, p->chosen[ret->count].installed_bytes, &ret->installed_bytes))
			ret->installed_bytes = UINT64_MAX;
		ret->count++;
		is_configured = false;
	}
	if (ret->count < p->count)
		return err_set(e, -EIO, "packages: apt-get's list and its order are not of the same packages");
	return 0;
}

/* What is in the plan becomes files that are there. */
static int carry_out(struct resolver *r, struct plan *p, struct debpool *ret, enum outcome *ret_outcome, struct err *e)
{
	int code = has_loads(p) ? load(r, p, e) : 0;

	for (size_t i = 0; !code && i < p->count; i++)
		code = look_into(r, &p->chosen[i], ret_outcome, e);
	return code || *ret_outcome != DONE ? code : put_in_order(r, p, ret, e);
}

/* Without a network this is quick, and when it fails there are older lists, or none; the next step says what is lacking. */
static int update(struct resolver *r, bool pools_alone, struct err *e)
{
	AUTO_FREE char *output = NULL;
	struct err problem = ERR_INIT;
	int code = debpool_apt_update(&r->apt, pools_alone, &output, &problem);

	if (!pools_alone)
		keep_network_problem(r, output);
	if (!code || code == -EIO)
		return 0;
	if (e)
		*e = problem;
	return code;
}

static int try_round(struct resolver *r, enum debpool_round round, struct debpool *ret, enum outcome *ret_outcome, struct err *e)
{
	char archives[PATH_MAX + 64];
	/* where nothing is, for what is there already is not in the list */
	const char *const verb[] = { "-y", "--no-remove", "-o", archives, "--print-uris", "install", NULL };
	AUTO(plan) struct plan plan = { .count = 0 };
	AUTO_FREE char *output = NULL;
	struct err problem = ERR_INIT;
	int code = debpool_index_write(&r->index, r->apt.work, e);

	if (!code)
		code = debpool_apt_configure(&r->apt, round, e);
	if (!code)
		code = update(r, round == DEBPOOL_NEWEST, e); /* the others have just been asked */
	if (code)
		return code;
	(void)snprintf(archives, sizeof(archives), "Dir::Cache::archives=%s/apt/plan/", r->apt.work);
	code = debpool_apt_run(&r->apt, verb, r->par->packages, &output, &problem);
	*ret_outcome = code == -EIO ? LACKING : DONE;
	if (code == -EIO)
		return debpool_explain(&r->apt, output, &r->lacks, e);
	if (code && e)
		*e = problem;
	if (!code)
		code = parse_plan(r, output, &plan, e);
	return code ? code : carry_out(r, &plan, ret, ret_outcome, e);
}

/* Is it a file of this package, by its name? Of a broken one, nothing else can be said. */
static bool is_of_package(const struct debpool_deb *deb, const char *package)
{
	const char *name = strrchr(deb->path, '/') + 1;
	size_t n = strcspn(package, ":");

	return n > 0 && !strncmp(name, package, n) && (name[n] == '_' || !strcmp(name + n, ".deb"));
}

static size_t add_text(char *text, size_t size, size_t used, const char *before, const char *more)
{
	if (used < size)
		used += (size_t)snprintf(text + used, size - used, "%s%s", before, more);
	return used < size ? used : size;
}

static void list_broken(const struct resolver *r, char *text, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < r->index.count; i++)
		for (size_t k = 0; r->index.debs[i].is_broken && k < r->lacks.count; k++)
			if (is_of_package(&r->index.debs[i], r->lacks.lacks[k].name)) {
				used = add_text(text, size, used, used ? "', '" : "; broken is '", r->index.debs[i].path);
				break;
			}
	if (used)
		(void)add_text(text, size, used, "'", ""); /* a cut text is still one */
}

static int refuse(const struct resolver *r, struct err *e)
{
	/* with the text around them no more than an error can hold: the end says what to do */
	char lacks[260] = "", folders[120] = "", broken[120] = "";
	size_t used = 0, at = 0;

	for (size_t i = 0; i < r->lacks.count; i++)
		used = add_text(lacks, sizeof(lacks), used, used ? ", " : "", r->lacks.lacks[i].text);
	for (const char *const *folder = r->par->folders; *folder; folder++)
		at = add_text(folders, sizeof(folders), at, at ? ", " : "", *folder);
	list_broken(r, broken, sizeof(broken));
	return err_refuse(e, "packages", "packages for the new system are lacking: %s%s; looked in %s%s%s%s%s; put them into a "
			  "folder and name it with --packages DIR", lacks, broken, folders[0] ? folders : "no folder",
			  r->asked_network ? " and the copied system's sources" : ", and not in the network",
			  r->network_problem[0] && r->asked_network ? " (" : "", r->asked_network ? r->network_problem : "",
			  r->network_problem[0] && r->asked_network ? ")" : "");
}

static int resolve(struct resolver *r, struct debpool *ret, struct err *e)
{
	enum outcome outcome = LACKING;
	int code = 0;

	for (enum debpool_round round = DEBPOOL_POOLS; !code && outcome != DONE && round < DEBPOOL_ROUNDS;) {
		if (round == DEBPOOL_PREFER_POOLS)
			tell(r, "asking the mirrors of the copied system for packages");
		r->asked_network = round != DEBPOOL_POOLS;
		code = try_round(r, round, ret, &outcome, e);
		if (outcome != AGAIN)
			round++;
		if (outcome == LACKING && !r->par->network)
			break;
	}
	return code || outcome == DONE ? code : refuse(r, e);
}

int debpool_resolve(const struct debpool_params *par, struct debpool *ret, struct err *e)
{
	AUTO(resolver) struct resolver r = { .par = par };
	AUTO(debpool) struct debpool found = { .count = 0 };
	int code = debpool_apt_open(par, &r.apt, e);

	if (code)
		return code;
	tell(&r, "looking through the packages at hand");
	code = debpool_index_read(par, &r.index, e);
	if (!code)
		code = resolve(&r, &found, e);
	if (code)
		return code;
	*ret = found;
	found = (struct debpool){ .count = 0 };
	return 0;
}
