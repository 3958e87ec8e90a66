/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "conf.h"

/* A sound profile in lines 1 to 7, and what can be put in its place. */
#define HEAD "profile \"mine\" {\nmount = \"async,commit=5\"\n"
#define TAIL "expire = \"5s\"\nwriteback = \"1s\"\nloss = \"11s\"\n}\n"
#define AMOUNTS "dirty = \"64MiB\"\nbackground = \"16MiB\"\n"
#define MINE HEAD AMOUNTS TAIL

static char dir[] = "/tmp/wubi-test-conf-XXXXXX";

static int enter_folder(void **state)
{
	(void)state;
	return mkdtemp(dir) ? setenv("WUBI_TEST", "64MiB", 1) : -1;
}

static int leave_folder(void **state)
{
	(void)state;
	return rmdir(dir);
}

struct bad {
	const char *text;
	unsigned line;
	const char *words[3];
};

/* A refusal says where, what and what else; what was there stays; and the next file is read as if nothing had been. */
static void check_refused(const struct bad *b)
{
	static struct conf c;
	struct err e = ERR_INIT;
	char where[32];

	c.count = 77;
	(void)snprintf(where, sizeof(where), "x.conf:%u: ", b->line);
	if (conf_parse(b->text, "x.conf", &c, &e) != -EINVAL)
		fail_msg("taken: %s", b->text);
	if (strncmp(e.text, where, strlen(where)) != 0)
		fail_msg("'%s' is not about line %u of: %s", e.text, b->line, b->text);
	assert_text_has(e.text, "allowed");
	for (size_t i = 0; i < COUNT_OF(b->words) && b->words[i]; i++)
		assert_text_has(e.text, b->words[i]);
	assert_int_equal(e.code, -EINVAL);
	assert_int_equal(c.count, 77);
	assert_int_equal(conf_parse(b->text, "x.conf", &c, NULL), -EINVAL);
	if (conf_parse(MINE, "y.conf", &c, &e))
		fail_msg("after '%s': %s", b->text, e.text);
}

static void check_all_refused(const struct bad *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check_refused(&rows[i]);
}

static void test_unknown_keys(void **state)
{
	static const struct bad bad[] = {
		{ HEAD "dirtyy = \"1\"\n" TAIL, 3, { "'dirtyy'", "background, expire", "writeback" } },
		{ HEAD "Dirty = \"64MiB\"\n" TAIL, 3, { "'Dirty'", "dirty" } },
		{ HEAD "dirty_bytes = 67108864\n" TAIL, 3, { "'dirty_bytes'" } },
		{ HEAD "profile = \"safe\"\n" TAIL, 3, { "'profile'", "dirty" } },
		{ "dirty = \"64MiB\"\n", 1, { "'dirty'", "profile \"NAME\"", "phase" } },
		{ "\n\nprofiles \"x\" { }\n", 3, { "'profiles'" } },
		{ "phase \"normal\" {\n name = \"safe\"\n}\n", 2, { "'name'", "profile = " } },
		{ "include(\"/etc/passwd\")\n", 1, { "'('" } },
		{ "include \"/etc/passwd\"\n", 1, { "'include'" } },
		{ "__unknown = \"1\"\n", 1, { "'__unknown'" } },
		{ "root = \"1\"\n", 1, { "'root'" } },
	};

	(void)state;
	check_all_refused(bad, COUNT_OF(bad));
}

static void test_missing_and_repeated_keys(void **state)
{
	static const struct bad bad[] = {
		{ "\nprofile \"mine\" {\n\n}\n", 2, { "dirty: ", "'mine'" } },
		{ "profile mine {" AMOUNTS "expire=5s\nwriteback=1s\n}", 1, { "loss: ", "'mine'" } },
		{ HEAD "dirty = \"64MiB\"\n" TAIL, 1, { "background: " } },
		{ HEAD AMOUNTS "\ndirty = \"65MiB\"\n" TAIL, 6, { "dirty: ", "twice", "line 3" } },
		{ HEAD "mount = \"sync\"\n" AMOUNTS TAIL, 3, { "mount: ", "twice", "line 2" } },
		{ MINE "\n" MINE, 10, { "'mine'" } },
		{ "phase \"normal\" { profile = safe }\nphase \"normal\" { profile = fast }\n", 2, { "'normal'" } },
		{ "phase \"normal\" {\nprofile = safe\nprofile = safe }\n", 3, { "profile: ", "twice" } },
		{ "phase normal {\n}\n", 1, { "profile: ", "'normal'" } },
	};

	(void)state;
	check_all_refused(bad, COUNT_OF(bad));
}

static void test_wrong_units(void **state)
{
	static const struct bad bad[] = {
		{ HEAD "dirty = \"64 MiB\"\nbackground = \"16MiB\"\n" TAIL, 3, { "dirty: ", "'64 MiB'", "20%" } },
		{ HEAD "dirty = \"64MiB\"\nbackground = \"16mebi\"\n" TAIL, 4, { "background: ", "'16mebi'", "8s, 500ms" } },
		{ HEAD "dirty = \"\"\nbackground = \"16MiB\"\n" TAIL, 3, { "dirty: " } },
		{ HEAD "dirty = \"99999999999P\"\nbackground = \"16MiB\"\n" TAIL, 3, { "dirty: ", "too large" } },
		{ HEAD AMOUNTS "expire = \"5\"\nwriteback = \"1s\"\nloss = \"11s\"\n}\n", 5, { "expire: ", "'5'", "5s" } },
		{ HEAD AMOUNTS "expire = \"5s\"\nwriteback = \"1min\"\nloss = \"11s\"\n}\n", 6,
		  { "writeback: ", "'1min'", "500ms" } },
		{ HEAD AMOUNTS "expire = \"5s\"\nwriteback = \"1s\"\nloss = \"64MiB\"\n}\n", 7, { "loss: ", "'64MiB'" } },
		{ HEAD AMOUNTS "expire = \"5s\"\nwriteback = \"15ms\"\nloss = \"11s\"\n}\n", 6, { "writeback: ", "10ms" } },
	};

	(void)state;
	check_all_refused(bad, COUNT_OF(bad));
}

static void test_values_that_contradict_each_other(void **state)
{
	static const struct bad bad[] = {
		{ HEAD "dirty = \"64MiB\"\nbackground = \"64MiB\"\n" TAIL, 4, { "background: ", "not below" } },
		{ HEAD "background = \"65MiB\"\ndirty = \"64MiB\"\n" TAIL, 3, { "background: ", "not below" } },
		{ HEAD "dirty = \"20%\"\nbackground = \"20%\"\n" TAIL, 4, { "background: " } },
		{ HEAD "dirty = \"101%\"\nbackground = \"20%\"\n" TAIL, 3, { "dirty: ", "100%" } },
		{ HEAD "dirty = \"64MiB\"\nbackground = \"5\"\n" TAIL, 4, { "background: ", "two pages" } },
		{ HEAD AMOUNTS "expire = \"0s\"\nwriteback = \"1s\"\nloss = \"11s\"\n}\n", 5, { "expire: ", "3600s" } },
		{ HEAD AMOUNTS "expire = \"5s\"\nwriteback = \"3601s\"\nloss = \"11s\"\n}\n", 6, { "writeback: ", "3600s" } },
		{ HEAD AMOUNTS "expire = \"5s\"\nwriteback = \"1s\"\nloss = \"0s\"\n}\n", 7, { "loss: ", "'sync'" } },
		{ HEAD AMOUNTS "loss = \"10s\"\nexpire = \"5s\"\nwriteback = \"1s\"\n}\n", 5, { "loss: ", "11s" } },
		{ "profile x {\n" AMOUNTS TAIL "profile y {\nmount=\"nobarrier\"\n" AMOUNTS TAIL, 9,
		  { "mount: ", "'nobarrier'", "fsync" } },
		{ "profile x {\nmount=\"sync,async\"\n" AMOUNTS TAIL, 2, { "mount: ", "'async'" } },
	};

	(void)state;
	check_all_refused(bad, COUNT_OF(bad));
}

static void test_names_and_phases(void **state)
{
	static const struct bad bad[] = {
		{ "profile \"Mine\" {\n" AMOUNTS TAIL, 1, { "'Mine'", "a-z" } },
		{ "profile \"\" {\n" AMOUNTS TAIL, 1, { "''" } },
		{ "profile\n\"a b\"\n{\n" AMOUNTS TAIL, 3, { "'a b'" } },
		{ "profile \"mine=x|dirty\" {\n" AMOUNTS TAIL, 1, { "'mine=x|dirty'" } },
		{ "phase \"boot\" { profile = \"safe\" }\n", 1, { "'boot'", "iso-copy" } },
		{ "\nphase \"normal\" {\n profile = \"mine\"\n}\n", 3, { "profile: ", "'mine'", "'normal'" } },
		{ MINE "phase \"iso-copy\" { profile = \"Mine\" }\n", 9, { "profile: ", "'Mine'" } },
	};

	(void)state;
	check_all_refused(bad, COUNT_OF(bad));
}

static void test_no_file_of_this_kind(void **state)
{
	static const struct bad bad[] = {
		{ "profile \"mine\" {\n" AMOUNTS, 1, { "does not end" } },
		{ MINE "}\n", 9, { "'}'" } },
		{ "profile \"mine\" {\nprofile \"x\" {\n", 2, { "'{'" } },
		{ "{", 1, { NULL } },
		{ "profile { }", 1, { "title" } },
		{ "profile", 1, { "premature end" } },
		{ "profile \"mine\"\n", 2, { NULL } },
		{ "profile \"mine\" = \"x\"\n", 1, { "brace" } },
		{ HEAD "dirty \"64MiB\"\n" TAIL, 3, { "equal sign", "'dirty'" } },
		{ HEAD "dirty = = \"64MiB\"\n" TAIL, 3, { "'='" } },
		{ HEAD "dirty =\n}\n", 4, { "'}'" } },
		{ HEAD "dirty += \"64MiB\"\n" TAIL, 3, { "'+'" } },
		{ HEAD "dirty = 64MiB * 2\n" TAIL, 3, { "'*'" } },
		{ "profile x {\nmount = sync,commit=5\n" AMOUNTS TAIL, 2, { "','", "quotes" } },
		{ "profile x {\nmount = { \"sync\", \"commit=5\" }\n" AMOUNTS TAIL, 2, { "'{'" } },
		{ "[profile]\nname = x\n", 1, { "'['" } },
		{ "/", 1, { "'/'" } },
		{ "/* this\n goes on\n", 1, { "'*/'" } },
		{ MINE "/* here\n/* it ends once */ */", 10, { "'*'" } },
	};

	(void)state;
	check_all_refused(bad, COUNT_OF(bad));
}

/* What libconfuse would do something with that nobody sees. */
static void test_texts_mean_what_they_look_like(void **state)
{
	static const struct bad bad[] = {
		{ HEAD "dirty = \"${WUBI_TEST}\"\nbackground = \"16MiB\"\n" TAIL, 3, { "'${'" } },
		{ HEAD "dirty = \"${NO_SUCH:-64MiB}\"\nbackground = \"16MiB\"\n" TAIL, 3, { "'${'" } },
		{ HEAD "dirty = ${WUBI_TEST}\nbackground = \"16MiB\"\n" TAIL, 3, { "'$'" } },
		{ HEAD "dirty = '${WUBI_TEST}'\nbackground = \"16MiB\"\n" TAIL, 3, { "'${'" } },
		{ HEAD "dirty = \"64MiB\\0junk\"\n" TAIL, 3, { "backslash" } },
		{ HEAD "dirty = \"64\\115iB\"\n" TAIL, 3, { "backslash" } },
		{ HEAD "dirty = \"64\\x4diB\"\n" TAIL, 3, { "backslash" } },
		{ HEAD "about = \"\\e[2J\"\n" AMOUNTS TAIL, 3, { "backslash" } },
		{ HEAD "about = \"\\999\"\n" AMOUNTS TAIL, 3, { "backslash" } },
		{ HEAD "about = \"two \\\nlines\"\n" AMOUNTS TAIL, 3, { "backslash" } },
		{ HEAD "about = \"two\nlines\"\n" AMOUNTS TAIL, 3, { "not closed" } },
		{ HEAD "about = 'two\nlines'\n" AMOUNTS TAIL, 3, { "not closed" } },
		{ HEAD "about = \"open\r\n" AMOUNTS TAIL, 3, { "not closed" } },
		{ HEAD "about = \"open", 3, { "not closed" } },
		{ HEAD "about = 'open", 3, { "not closed" } },
		{ HEAD "about = \"open\\", 3, { "backslash" } },
		{ HEAD "about = 'open\\", 3, { "backslash" } },
		{ HEAD "about = \"\033[2J\"\n" AMOUNTS TAIL, 3, { "control character" } },
		{ HEAD "about = \"a\tb\"\n" AMOUNTS TAIL, 3, { "control character" } },
		{ HEAD "about = \"\x7f\"\n" AMOUNTS TAIL, 3, { "control character" } },
		{ HEAD "about = \"\xc2\x9b" "2J\"\n" AMOUNTS TAIL, 3, { "control character" } },
		{ HEAD "about = \"\xe4\"\n" AMOUNTS TAIL, 3, { "UTF-8" } },
		{ HEAD "about = \"\xc0\xaf\"\n" AMOUNTS TAIL, 3, { "UTF-8" } },
		{ HEAD "about = \"\xe0\x80\xaf\"\n" AMOUNTS TAIL, 3, { "UTF-8" } },
		{ HEAD "about = \"\xed\xa0\x80\"\n" AMOUNTS TAIL, 3, { "UTF-8" } },
		{ HEAD "about = \"\xf4\x90\x80\x80\"\n" AMOUNTS TAIL, 3, { "UTF-8" } },
		{ HEAD "about = \"\xf0\x9f\x98\"\n" AMOUNTS TAIL, 3, { "UTF-8" } },
		{ "\n\x01\n", 2, { "0x01" } },
		{ "\n\r\r\n", 2, { "0x0d" } },
		{ "\xff\xfe", 1, { "0xff" } },
		{ "\n\xc3\xa4 = 1", 2, { "\xc3\xa4" } },
		{ MINE "\"profile=mine|loss\" = \"0s\"\n", 9, { "place of a key" } },
		{ HEAD AMOUNTS "loss = 11s \"profile=mine|loss\" = \"0s\"\n", 5, { "place of a key" } },
		{ HEAD AMOUNTS "'dirty' = \"64MiB\"\n", 5, { "place of a key" } },
		{ "profile|dirty = \"64MiB\"\n", 1, { "'|'" } },
	};

	(void)state;
	check_all_refused(bad, COUNT_OF(bad));
}

static void test_limits(void **state)
{
	static struct conf c;
	AUTO_FREE char *text = malloc(CONF_TEXT_MAX + 2);
	struct err e = ERR_INIT;
	size_t n;

	(void)state;
	assert_non_null(text);
	memset(text, '\n', CONF_TEXT_MAX + 1);
	text[CONF_TEXT_MAX + 1] = '\0';
	assert_int_equal(conf_parse(text, "x.conf", &c, &e), -EFBIG);
	assert_text_has(e.text, "'x.conf'");
	text[CONF_TEXT_MAX] = '\0';
	assert_int_equal(conf_parse(text, "x.conf", &c, NULL), 0);
	n = (size_t)snprintf(text, CONF_TEXT_MAX, HEAD "about = \"%0256d\"\n" AMOUNTS TAIL, 0);
	assert_true(n < CONF_TEXT_MAX);
	check_refused(&(struct bad){ text, 3, { "about: ", "255" } });
	for (n = 0; n < CONF_TEXT_MAX; n++)
		text[n] = '{';
	check_refused(&(struct bad){ text, 1, { "'{'" } });
	n = 0;
	for (int i = 0; i <= CONF_PROFILES_MAX - 3; i++) /* three are built in */
		n += (size_t)snprintf(text + n, CONF_TEXT_MAX - n, "profile p%d {\n" AMOUNTS TAIL, i);
	check_refused(&(struct bad){ text, (CONF_PROFILES_MAX - 3) * 7 + 1, { "too many", "32" } });
	n = 0;
	for (int i = 0; i < 60; i++)
		n += (size_t)snprintf(text + n, CONF_TEXT_MAX - n, "profile p%d {\n" AMOUNTS TAIL, i);
	check_refused(&(struct bad){ text, 34 * 7 + 1, { "sections" } });
}

static void test_what_is_built_in(void **state)
{
	static struct conf c;
	struct err e = ERR_INIT;
	const struct profile *p;

	(void)state;
	if (conf_read(NULL, &c, &e))
		fail_msg("%s", e.text);
	assert_int_equal(c.count, 3);
	assert_string_equal(c.phase[PROFILE_NORMAL], "safe");
	assert_string_equal(c.phase[PROFILE_ISO_COPY], "fast");
	p = conf_find(&c, "safe");
	assert_string_equal(p->mount, "sync");
	assert_true(p->loss_ms == 0 && p->expire_cs == 500 && p->writeback_cs == 100);
	assert_true(p->dirty.unit == PROFILE_BYTES && p->dirty.value == 64u << 20);
	p = conf_find(&c, "fast");
	assert_string_equal(p->mount, "async,commit=5");
	assert_true(p->dirty.unit == PROFILE_DISK_MS && p->dirty.value == 4000 && p->background.value == 1000);
	assert_true(p->loss_ms == 45000 && p->expire_cs == 1500 && p->writeback_cs == 500);
	p = conf_find(&c, "balanced");
	assert_string_equal(p->mount, "async,commit=1");
	assert_true(p->loss_ms == 10000);
	assert_null(conf_find(&c, "kernel"));
	assert_null(conf_find(&c, ""));
	for (size_t i = 0; i < c.count; i++) {
		assert_true(c.profiles[i].about[0]);
		assert_int_equal(profile_check(&c.profiles[i], 4096, NULL), 0);
		assert_int_equal(profile_check(&c.profiles[i], 65536, NULL), 0);
		assert_null(strstr(c.profiles[i].mount, "noauto_da_alloc")); /* E05 */
	}
}

/* The file that is shipped says the same as what is built in. */
static void test_shipped_file(void **state)
{
	static struct conf shipped, builtin;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(access("sysctl/wubi.conf", R_OK), 0);
	memset(&shipped, 0, sizeof(shipped));
	memset(&builtin, 0, sizeof(builtin));
	if (conf_read("sysctl/wubi.conf", &shipped, &e) || conf_read(NULL, &builtin, &e))
		fail_msg("%s", e.text);
	assert_int_equal(shipped.count, builtin.count);
	assert_memory_equal(shipped.phase, builtin.phase, sizeof(shipped.phase));
	for (size_t i = 0; i < shipped.count; i++) {
		const struct profile *a = &shipped.profiles[i], *b = &builtin.profiles[i];

		assert_string_equal(a->name, b->name);
		assert_string_equal(a->about, b->about);
		assert_string_equal(a->mount, b->mount);
		assert_true(a->dirty.unit == b->dirty.unit && a->dirty.value == b->dirty.value);
		assert_true(a->background.unit == b->background.unit && a->background.value == b->background.value);
		assert_true(a->expire_cs == b->expire_cs && a->writeback_cs == b->writeback_cs && a->loss_ms == b->loss_ms);
	}
}

/* Not only equal in effect: nothing stands in the one that is not in the other. */
static void test_shipped_text(void **state)
{
	FILE *f = fopen("sysctl/wubi.conf", "r");
	const char *builtin = conf_builtin_text();
	char line[256];

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		size_t n = strlen(line);

		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (strncmp(builtin, line, n) != 0)
			fail_msg("'%s' is not what is built in", line);
		builtin += n;
	}
	assert_int_equal(fclose(f), 0);
	assert_string_equal(builtin, "");
}

static void test_a_profile_of_ones_own(void **state)
{
	static struct conf c;
	struct err e = ERR_INIT;
	const struct profile *p;

	(void)state;
	if (conf_parse("phase \"normal\" { profile = \"mine\" } # it comes below\n" MINE, "x.conf", &c, &e))
		fail_msg("%s", e.text);
	assert_int_equal(c.count, 4);
	assert_string_equal(c.phase[PROFILE_NORMAL], "mine");
	assert_string_equal(c.phase[PROFILE_ISO_COPY], "fast");
	p = conf_find(&c, "mine");
	assert_non_null(p);
	assert_string_equal(p->about, "");
	assert_string_equal(p->mount, "async,commit=5");
	assert_true(p->background.unit == PROFILE_BYTES && p->background.value == 16u << 20);
	assert_int_equal(p->loss_ms, 11000);
}

static void test_a_profile_is_replaced_whole(void **state)
{
	static struct conf c;
	const struct profile *p;

	(void)state;
	assert_int_equal(conf_parse("profile fast {\n" AMOUNTS TAIL, "x.conf", &c, NULL), 0);
	assert_int_equal(c.count, 3);
	p = conf_find(&c, "fast");
	assert_string_equal(p->about, "");
	assert_string_equal(p->mount, "");
	assert_true(p->dirty.unit == PROFILE_BYTES);
	assert_int_equal(p->loss_ms, 11000);
}

/* All ways to write it; a file from an editor of Windows; and lines are counted right behind comments of all kinds. */
static void test_ways_to_write(void **state)
{
	static const char *const same[] = {
		MINE,
		"\xef\xbb\xbf"
		"profile 'mine'{mount='async,commit=5' dirty=64MiB background=16MiB expire=5s writeback=1s loss=11s}",
		"profile mine\r\n{\r\n\tmount = \"async,commit=5\"\r\n"
		"dirty=64M\r\nbackground=16777216\r\n" TAIL,
		"# ${HOME} \"\n// it's\n/* } \" ' ${x}\n # */profile/**/mine /*\n*/{# }\nmount\n=\n\"async,commit=5\"" AMOUNTS
			TAIL "#",
		"\n/***/\n//\n#\033[2J \xff\n" HEAD AMOUNTS TAIL,
	};
	static struct conf c;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(same); i++) {
		struct err e = ERR_INIT;

		if (conf_parse(same[i], "x.conf", &c, &e))
			fail_msg("%zu: %s", i, e.text);
		assert_int_equal(c.count, 4);
		assert_string_equal(c.profiles[3].name, "mine");
		assert_string_equal(c.profiles[3].mount, "async,commit=5");
		assert_true(c.profiles[3].dirty.value == 64u << 20 && c.profiles[3].background.value == 16u << 20);
	}
	check_refused(&(struct bad){ "# one\n// two\n/* three\n four */\n# five\nsix = 1\n", 6, { "'six'" } });
	check_refused(&(struct bad){ "# 1\n" HEAD "# 4\ndirty = 64MiB # 5\nbackground = 65MiB\n" TAIL, 6, { "background: " } });
}

static void test_quotes_and_letters(void **state)
{
	static struct conf c;

	(void)state;
	assert_int_equal(conf_parse(HEAD "about = \"f\xc3\xbcr \\\"alle\\\" \\\\ # $ { }\"\n" AMOUNTS TAIL, "x.conf", &c, NULL),
			 0);
	assert_string_equal(c.profiles[3].about, "f\xc3\xbcr \"alle\" \\ # $ { }");
	assert_int_equal(conf_parse(HEAD "about = 'it\\'s \"so\" \xf0\x9f\x98\x80'\n" AMOUNTS TAIL, "x.conf", &c, NULL), 0);
	assert_string_equal(c.profiles[3].about, "it's \"so\" \xf0\x9f\x98\x80");
	assert_int_equal(conf_parse(HEAD "about = \"\"\n" AMOUNTS TAIL, "x.conf", &c, NULL), 0);
	assert_string_equal(c.profiles[3].about, "");
}

static void put_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void test_files(void **state)
{
	static struct conf c;
	struct err e = ERR_INIT;
	char path[sizeof(dir) + 16];

	(void)state;
	assert_int_equal(conf_read(dir, &c, &e), -EISDIR);
	assert_text_has(e.text, dir);
	(void)snprintf(path, sizeof(path), "%s/wubi.conf", dir);
	assert_int_equal(conf_read(path, &c, NULL), 0);
	assert_int_equal(c.count, 3);
	put_text(path, "\nno\n");
	assert_int_equal(conf_read(path, &c, &e), -EINVAL);
	assert_int_equal(strncmp(e.text, path, strlen(path)), 0);
	assert_int_equal(strncmp(e.text + strlen(path), ":2: ", 4), 0);
	put_text(path, MINE);
	assert_int_equal(conf_read(path, &c, NULL), 0);
	assert_int_equal(c.count, 4);
	put_text(path, "");
	assert_int_equal(conf_read(path, &c, NULL), 0);
	assert_int_equal(c.count, 3);
	assert_int_equal(unlink(path), 0);
}

static void test_bad_choices(void **state)
{
	static const struct bad bad[] = {
		{ "normal = \"Safe\"\n", 1, { "normal: ", "'Safe'" } },
		{ "# one\niso-copy = \"\"\n", 2, { "iso-copy: " } },
		{ "normal = safe\nnormal = fast\n", 2, { "normal: ", "twice" } },
		{ "safe\n", 1, { "'safe'", "normal = NAME" } },
		{ "profile = safe\n", 1, { "'profile'", "iso-copy = NAME" } },
		{ "normal safe\n", 1, { "equal sign" } },
		{ "normal =\n", 2, { NULL } },
		{ "normal { }\n", 1, { NULL } },
		{ "normal = ${WUBI_TEST}\n", 1, { "'$'" } },
		{ "normal = \"${WUBI_TEST}\"\n", 1, { "'${'" } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct conf_choice c = { { "untouched", "untouched" } };
		struct err e = ERR_INIT;
		char where[32];

		(void)snprintf(where, sizeof(where), "p.conf:%u: ", bad[i].line);
		if (conf_choice_parse(bad[i].text, "p.conf", &c, &e) != -EINVAL)
			fail_msg("taken: %s", bad[i].text);
		if (strncmp(e.text, where, strlen(where)) != 0)
			fail_msg("'%s' is not about line %u of: %s", e.text, bad[i].line, bad[i].text);
		for (size_t k = 0; k < COUNT_OF(bad[i].words) && bad[i].words[k]; k++)
			assert_text_has(e.text, bad[i].words[k]);
		assert_string_equal(c.profile[PROFILE_NORMAL], "untouched");
	}
}

static void test_choices(void **state)
{
	static const struct conf_choice rows[] = {
		{ { "", "" } }, { { "safe", "" } }, { { "", "fast" } }, { { "my-own-2", "a234567890123456789012345678901" } },
	};
	struct conf_choice bad = { { "safe", "no name" } }, again;
	char *text = NULL;

	(void)state;
	assert_int_equal(conf_choice_format(&bad, &text, NULL), -EINVAL);
	assert_null(text);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_FREE char *mine = NULL;

		assert_int_equal(conf_choice_format(&rows[i], &mine, NULL), 0);
		assert_int_equal(mine[0], '#');
		assert_text_has(mine, "wubi-profile set");
		assert_int_equal(conf_choice_parse(mine, "p.conf", &again, NULL), 0);
		for (int p = 0; p < PROFILE_PHASES; p++)
			assert_string_equal(again.profile[p], rows[i].profile[p]);
	}
	assert_int_equal(conf_choice_parse("", "p.conf", &again, NULL), 0);
	assert_string_equal(again.profile[PROFILE_NORMAL], "");
	assert_int_equal(conf_choice_parse("normal = \"safe\"\niso-copy = fast", "p.conf", &again, NULL), 0);
	assert_string_equal(again.profile[PROFILE_NORMAL], "safe");
	assert_string_equal(again.profile[PROFILE_ISO_COPY], "fast");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_keys),
		cmocka_unit_test(test_missing_and_repeated_keys),
		cmocka_unit_test(test_wrong_units),
		cmocka_unit_test(test_values_that_contradict_each_other),
		cmocka_unit_test(test_names_and_phases),
		cmocka_unit_test(test_no_file_of_this_kind),
		cmocka_unit_test(test_texts_mean_what_they_look_like),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_what_is_built_in),
		cmocka_unit_test(test_shipped_file),
		cmocka_unit_test(test_shipped_text),
		cmocka_unit_test(test_a_profile_of_ones_own),
		cmocka_unit_test(test_a_profile_is_replaced_whole),
		cmocka_unit_test(test_ways_to_write),
		cmocka_unit_test(test_quotes_and_letters),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_bad_choices),
		cmocka_unit_test(test_choices),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
