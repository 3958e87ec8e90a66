/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto.h"
#include "conf_install.h"

#define HASH "$6$saltsalt$0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ./0123456789abcdefghijkl"

struct bad {
	const char *text;
	unsigned line;
	const char *words[3];
};

static const char good[] = "hostname = pc\n";

/* A refusal says where, what and what else; and the next file is read as if nothing had been. */
static void check_refused(const struct bad *b)
{
	static struct conf_install c;
	struct err e = ERR_INIT;
	char where[32];

	(void)snprintf(where, sizeof(where), "x.conf:%u: ", b->line);
	if (conf_install_parse(b->text, "x.conf", &c, &e) != -EINVAL)
		fail_msg("taken: %s", b->text);
	if (strncmp(e.text, where, strlen(where)) != 0)
		fail_msg("'%s' is not about line %u of: %s", e.text, b->line, b->text);
	assert_text_has(e.text, "allowed");
	for (size_t i = 0; i < COUNT_OF(b->words) && b->words[i]; i++)
		assert_text_has(e.text, b->words[i]);
	assert_int_equal(conf_install_parse(b->text, "x.conf", &c, NULL), -EINVAL);
	assert_int_equal(conf_install_parse(good, "y.conf", &c, &e), 0);
	assert_string_equal(c.hostname, "pc");
	assert_string_equal(c.user, "");
}

static void check_all_refused(const struct bad *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check_refused(&rows[i]);
}

static void test_bad_keys(void **state)
{
	static const struct bad bad[] = {
		{ "\nhostnames = pc\n", 2, { "'hostnames'", "volume, esp", "command" } },
		{ "Hostname = pc\n", 1, { "'Hostname'" } },
		{ "include(\"/etc/passwd\")\n", 1, { "'('" } },
		{ "password = \"x\"\n", 1, { "'password'", "password-hash" } },
		{ "user = ada\n# once\nuser = bob\n", 3, { "user: ", "twice", "line 1" } },
		{ "unmount = true\nunmount = true\n", 2, { "unmount: ", "twice" } },
		{ "iso = \"/a.iso\"\nsquashfs = \"/b\"\n", 2, { "squashfs: ", "iso" } },
		{ "squashfs = \"/b\"\n\niso = \"/a.iso\"\n", 3, { "iso: ", "squashfs" } },
	};

	(void)state;
	check_all_refused(bad, COUNT_OF(bad));
}

/* What libconfuse would take for something else. */
static void test_wrong_kinds(void **state)
{
	static const struct bad bad[] = {
		{ "hostname {\n}\n", 1, { "'{'" } },
		{ "user = { a, b }\n", 1, { "'{'" } },
		{ "}\n", 1, { "'}'" } },
		{ "hostname\nuser = ada\n", 2, { "hostname" } },
		{ "hostname = \"${HOME}\"\n", 1, { "'${'" } },
		{ "iso = /a.iso\n", 1, { "'/'", "quotes" } },
		{ "user = \"ada\n\"\n", 1, { "not closed" } },
		{ "command = \"a\\nb\"\n", 1, { "backslash" } },
		{ "hostname = pc /* \n", 1, { "does not end" } },
		{ "full-name = \"\x01\"\n", 1, { "control" } },
		{ "full-name = \"\xff\"\n", 1, { "UTF-8" } },
		{ "hostname = \n", 2, { "" } },
	};

	(void)state;
	check_all_refused(bad, COUNT_OF(bad));
}

static void test_values_in_a_file(void **state)
{
	static const struct bad bad[] = {
		{ "\n\nhostname = \"a b\"\n", 3, { "hostname: ", "'a b'", "host name" } },
		{ "size = 30gigs\n", 1, { "size: ", "'30gigs'", "30G" } },
		{ "size = 0\n", 1, { "size: ", "more than 0" } },
		{ "unmount = yes\n", 1, { "unmount: ", "'yes'", "true and false" } },
		{ "network = 1\n", 1, { "network: ", "'1'" } },
		{ "clock = UTC\n", 1, { "clock: ", "'UTC'", "local and utc" } },
		{ "default = debian\n", 1, { "default: ", "windows and linux" } },
		{ "iso = \"a.iso\"\n", 1, { "iso: ", "'a.iso'", "'/'" } },
		{ "packages = debs\n", 1, { "packages: ", "'debs'" } },
		{ "command = \"\"\n", 1, { "command: ", "empty" } },
		{ "profile-normal = Safe\n", 1, { "profile-normal: ", "'Safe'" } },
	};

	(void)state;
	check_all_refused(bad, COUNT_OF(bad));
}

/* A file of 64 KiB at most, and no value longer than its field. */
static void test_long(void **state)
{
	AUTO_FREE char *text = calloc(1, 70000);
	static struct conf_install c;
	struct err e = ERR_INIT;

	(void)state;
	assert_non_null(text);
	(void)snprintf(text, 70000, "command = \"%01023d\"\n", 7);
	assert_int_equal(conf_install_parse(text, "x.conf", &c, &e), 0);
	assert_int_equal(strlen(c.command), 1023);
	(void)snprintf(text, 70000, "command = \"%01024d\"\n", 7);
	assert_int_equal(conf_install_parse(text, "x.conf", &c, &e), -EINVAL);
	assert_text_has(e.text, "x.conf:1: command: ");
	assert_text_has(e.text, "1023");
	memset(text, '#', 69999);
	assert_int_equal(conf_install_parse(text, "x.conf", &c, &e), -EFBIG);
}

struct row {
	const char *key, *value;
};

static void test_values_refused(void **state)
{
	static const struct row bad[] = {
		{ "hostname", "" }, { "hostname", "-a" }, { "hostname", "a-" }, { "hostname", "a..b" }, { "hostname", ".a" },
		{ "hostname", "a." }, { "hostname", "a_b" }, { "hostname", "127.0.0.1" }, { "hostname", "7" },
		{ "hostname", "a.-b" },
		{ "hostname", "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcd" }, { "hostname", "b\xc3\xbc" },
		{ "user", "root" }, { "user", "www-data" }, { "user", "sudo" }, { "user", "Ada" }, { "user", "1a" },
		{ "user", "-a" },
		{ "user", "a.b" }, { "user", "a b" }, { "user", "a:b" }, { "user", "abcdefghijabcdefghijabcdefghijabc" },
		{ "user", "" },
		{ "full-name", "a:b" }, { "full-name", "a,b" }, { "full-name", "a\nb" }, { "full-name", "a\xc2\x80" },
		{ "locale", "de_DE" }, { "locale", "de_DE.utf8" }, { "locale", "de_DE.ISO-8859-1" }, { "locale", "POSIX" },
		{ "locale", "../x.UTF-8" }, { "locale", "de_DE.UTF-8@" }, { "locale", "de_DE.UTF-8 x" },
		{ "locale", "d_DE.UTF-8" },
		{ "time-zone", "/etc/passwd" }, { "time-zone", "../x" }, { "time-zone", "a/../b" }, { "time-zone", "Europe/" },
		{ "time-zone", "a//b" }, { "time-zone", "Europe/Ber lin" }, { "keyboard", ":x" }, { "keyboard", "de:" },
		{ "keyboard", "de nodeadkeys" }, { "keyboard", "de:a:b" }, { "keyboard", "de\"" }, { "keyboard", "DE" },
		{ "size", "0" }, { "size", "-1" }, { "size", "30 G" }, { "size", "99999999999P" }, { "swap", "2X" },
		{ "home", "" },
		{ "volume", "" }, { "esp", "a\tb" }, { "profile-iso-copy", "0x" }, { "command", "a\nb" }, { "unmount", "True" },
		{ "network", "" }, { "iso", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = ERR_INIT;

		if (conf_install_check(bad[i].key, bad[i].value, &e) != -EINVAL)
			fail_msg("taken: %s = '%s'", bad[i].key, bad[i].value);
		assert_text_has(e.text, "allowed");
		assert_null(strchr(e.text, '\n'));
		assert_int_equal(conf_install_check(bad[i].key, bad[i].value, NULL), -EINVAL);
	}
}

/* Who gives a password in place of its hash does not find it in a log. */
static void test_password_is_not_shown(void **state)
{
	static const char *const bad[] = {
		"", "secret", "$secret$secret", "$6$secret", "$6$secret$short", "$9$secret$0123456789012345678901", "**",
		"!secret",
		HASH ":0", HASH " ", "x" HASH, "$6$secret*$0123456789012345678901",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err e = ERR_INIT;

		if (conf_install_check("password-hash", bad[i], &e) != -EINVAL)
			fail_msg("taken: '%s'", bad[i]);
		assert_text_has(e.text, "crypt(5)");
		assert_null(strstr(e.text, "secret"));
	}
}

static void test_values_taken(void **state)
{
	static const struct row fine[] = {
		{ "hostname", "ada-pc" }, { "hostname", "a" }, { "hostname", "3com" }, { "hostname", "pc.example.org" },
		{ "hostname", "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc" }, { "user", "ada" },
		{ "user", "_x-1" },
		{ "user", "abcdefghijabcdefghijabcdefghijab" }, { "full-name", "Ada L\xc3\xb6velace" },
		{ "full-name", "\"A\" (x)" },
		{ "password-hash", "*" }, { "password-hash", "!" }, { "password-hash", HASH },
		{ "password-hash", "$y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7" },
		{ "password-hash", "$2b$05$bvIG6Nmid91Mu9RcmmWZfO5HJIMCT8riNW0hEp8f6/FuA2/mHZFpe" },
		{ "password-hash", "$5$rounds=5000$saltsalt$0123456789abcdefghijklmnopqrstuvwxyzABCDEFG" },
		{ "locale", "de_DE.UTF-8" }, { "locale", "C.UTF-8" }, { "locale", "ca_ES.UTF-8@valencia" },
		{ "locale", "fil_PH.UTF-8" },
		{ "time-zone", "Europe/Berlin" }, { "time-zone", "Etc/GMT+1" }, { "time-zone", "America/Port-au-Prince" },
		{ "time-zone", "America/North_Dakota/Beulah" }, { "keyboard", "de" }, { "keyboard", "de:nodeadkeys" },
		{ "keyboard", "us:altgr-intl" }, { "keyboard", "fr:oss_latin9" }, { "keyboard", "de:T3" }, { "size", "30G" },
		{ "size", "30GB" }, { "swap", "0" }, { "home", "4096" }, { "volume", "PARTUUID=1234" },
		{ "volume", "Windows 10" },
		{ "esp", "/dev/sda1" }, { "iso", "a.iso" }, { "profile-normal", "my-own" }, { "command", "echo '$x' > /y; true" },
		{ "unmount", "true" }, { "network", "false" }, { "clock", "utc" }, { "default", "linux" }, { "packages", "." },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(fine); i++) {
		struct err e = ERR_INIT;

		if (conf_install_check(fine[i].key, fine[i].value, &e))
			fail_msg("%s = '%s': %s", fine[i].key, fine[i].value, e.text);
	}
	assert_int_equal(conf_install_check("colour", "red", NULL), -EINVAL);
}

static void test_every_key(void **state)
{
	static const char text[] =
		"volume = \"PARTUUID=11\"\nesp = \"/dev/sda1\"\nunmount = true\nsize = \"30G\"\nswap = 2GB\nhome = 10M\n"
		"iso = \"/a b.iso\"\npackages = '/debs'\nnetwork = false\nhostname = ada-pc\nuser = ada\n"
		"full-name = \"Ada \\\"A\\\" L\"\n"
		"password-hash = \"" HASH "\"\nlocale = de_DE.UTF-8\n"
		"time-zone = \"Europe/Berlin\"\nkeyboard = \"de:nodeadkeys\"\n"
		"clock = utc\nprofile-normal = balanced\nprofile-iso-copy = fast\ndefault = linux\n"
		"command = \"apt-get -y purge 'foo*'\"\n";
	static struct conf_install c;
	struct err e = ERR_INIT;

	(void)state;
	if (conf_install_parse(text, "x.conf", &c, &e))
		fail_msg("%s", e.text);
	assert_string_equal(c.volume, "PARTUUID=11");
	assert_string_equal(c.esp, "/dev/sda1");
	assert_true(c.unmount && c.unmount_given && c.clock_utc && c.clock_given && c.default_linux && c.default_given);
	assert_true(c.no_network && c.network_given);
	assert_int_equal(c.size_bytes, UINT64_C(30) << 30);
	assert_int_equal(c.swap_bytes, 2000000000);
	assert_int_equal(c.home_bytes, 10 << 20);
	assert_string_equal(c.iso, "/a b.iso");
	assert_string_equal(c.squashfs, "");
	assert_string_equal(c.packages, "/debs");
	assert_string_equal(c.hostname, "ada-pc");
	assert_string_equal(c.user, "ada");
	assert_string_equal(c.full_name, "Ada \"A\" L");
	assert_string_equal(c.password_hash, HASH);
	assert_string_equal(c.locale, "de_DE.UTF-8");
	assert_string_equal(c.time_zone, "Europe/Berlin");
	assert_string_equal(c.keyboard, "de:nodeadkeys");
	assert_string_equal(c.profile_normal, "balanced");
	assert_string_equal(c.profile_iso_copy, "fast");
	assert_string_equal(c.command, "apt-get -y purge 'foo*'");
}

/* Given, and not given, are two things. */
static void test_flags(void **state)
{
	static struct conf_install c;

	(void)state;
	assert_int_equal(conf_install_parse("\xef\xbb\xbf# nothing\r\n", "x.conf", &c, NULL), 0);
	assert_false(c.unmount_given || c.clock_given || c.default_given || c.network_given);
	assert_false(c.unmount || c.clock_utc || c.default_linux || c.no_network);
	assert_int_equal(c.size_bytes, 0);
	assert_int_equal(conf_install_parse("unmount=false\nclock=local\ndefault=windows\nnetwork=true\n", "x.conf",
	&c, NULL), 0);
	assert_true(c.unmount_given && c.clock_given && c.default_given && c.network_given);
	assert_false(c.unmount || c.clock_utc || c.default_linux || c.no_network);
}

static void test_files(void **state)
{
	char path[] = "/tmp/wubi-test-conf_install-XXXXXX";
	AUTO_FD int fd = mkstemp(path);
	static struct conf_install c;
	struct err e = ERR_INIT;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "user = ada\nuser = eve\n", 22), 22);
	assert_int_equal(conf_install_read(path, &c, &e), -EINVAL);
	assert_text_has(e.text, path);
	assert_text_has(e.text, ":2: user: ");
	assert_int_equal(ftruncate(fd, 11), 0);
	assert_int_equal(conf_install_read(path, &c, &e), 0);
	assert_string_equal(c.user, "ada");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(conf_install_read(path, &c, &e), -ENOENT);
	assert_text_has(e.text, path);
	assert_int_equal(conf_install_read("/tmp", &c, &e), -EISDIR);
}

/* Also with every line of it that is commented out. */
static void test_example(void **state)
{
	static struct conf_install c;
	char all[16384] = "", line[1024];
	struct err e = ERR_INIT;
	FILE *f = fopen("installer/wubi-install.conf", "r");
	unsigned keys = 0;

	(void)state;
	if (!f) /* not run in the tree */
		skip();
	while (fgets(line, sizeof(line), f)) {
		const char *text = line[0] == '#' && line[1] != ' ' && strchr(line, '=') ? line + 1 : line;
		size_t used = strlen(all);

		keys += text != line;
		if (strncmp(text, "squashfs", 8) != 0) /* excludes iso */
			(void)snprintf(all + used, sizeof(all) - used, "%s", text);
	}
	assert_int_equal(fclose(f), 0);
	assert_int_equal(keys, 22);
	if (conf_install_read("installer/wubi-install.conf", &c, &e) || conf_install_parse(all, "all", &c, &e))
		fail_msg("%s", e.text);
	assert_true(c.command[0] && c.volume[0] && c.clock_given && c.network_given);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_keys),
		cmocka_unit_test(test_wrong_kinds),
		cmocka_unit_test(test_values_in_a_file),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_values_refused),
		cmocka_unit_test(test_password_is_not_shown),
		cmocka_unit_test(test_values_taken),
		cmocka_unit_test(test_every_key),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_example),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
