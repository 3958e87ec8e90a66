/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "livesource_private.h"

static void assert_names(const struct livesource_names *list, const char *const *wanted, size_t count)
{
	assert_int_equal(list->count, count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(list->names[i], wanted[i]);
}

static void test_bad_module_lists(void **state)
{
	static const struct {
		const char *text;
		int code;
	} rows[] = {
		{ "", -EINVAL }, { " \n\t\n", -EINVAL }, { "../etc/passwd", -EINVAL }, { "a/b.squashfs", -EINVAL },
		{ "/a.squashfs", -EINVAL }, { ".hidden", -EINVAL }, { "1 2 3 4 5 6 7 8 9", -E2BIG },
	};
	struct livesource_names list;
	struct err e;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		err_clear(&e);
		assert_int_equal(livesource_module_names(rows[i].text, &list, &e), rows[i].code);
		assert_true(e.text[0] != '\0');
	}
}

static void test_a_long_name(void **state)
{
	char text[LIVESOURCE_NAME_MAX + 1];
	struct livesource_names list;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[LIVESOURCE_NAME_MAX] = '\0';
	assert_int_equal(livesource_module_names(text, &list, NULL), -EINVAL);
	text[LIVESOURCE_NAME_MAX - 1] = '\0';
	assert_int_equal(livesource_module_names(text, &list, NULL), 0);
	assert_string_equal(list.names[0], text);
}

static void test_module_lists(void **state)
{
	static const char *const wanted[] = { "base.squashfs", "over.squashfs", "top.squashfs" };
	struct livesource_names list;

	(void)state;
	assert_int_equal(livesource_module_names("base.squashfs\nover.squashfs  top.squashfs", &list, NULL), 0);
	assert_names(&list, wanted, 3);
	assert_int_equal(livesource_module_names("\r\nbase.squashfs\r\n", &list, NULL), 0);
	assert_names(&list, wanted, 1);
}

static void test_chains(void **state)
{
	static const char *const wanted[] = { "minimal.squashfs", "minimal.standard.squashfs", "minimal.standard.more.squashfs" };
	static const char *const bad[] = { "", "x", ".squashfs", "a.iso", "a/b.squashfs", "..squashfs", "../a.squashfs",
					   "a.b.c.d.e.f.g.h.i.squashfs" };
	struct livesource_names list;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_true(livesource_chain(bad[i], &list, NULL) < 0);
	assert_int_equal(livesource_chain("minimal.standard.more.squashfs", &list, NULL), 0);
	assert_names(&list, wanted, 3);
	assert_int_equal(livesource_chain("minimal.squashfs", &list, NULL), 0);
	assert_names(&list, wanted, 1);
}

static void assert_default(const char *text, const char *wanted, bool is_layered)
{
	char path[LIVESOURCE_NAME_MAX];
	bool layered = !is_layered;
	struct err e = ERR_INIT;

	if (livesource_default_path(text, path, &layered, &e))
		fail_msg("%s: %s", e.text, text);
	assert_string_equal(path, wanted);
	assert_int_equal(layered, is_layered);
}

static void test_sources(void **state)
{
	(void)state;
	assert_default("- path: a.squashfs", "a.squashfs", true);
	assert_default("- path: a.squashfs\n- default: true\n  path: b.squashfs\n", "b.squashfs", true);
	assert_default("- path: a.squashfs\n  default: true\n- path: b.squashfs\n  default: true\n", "a.squashfs", true);
	assert_default("- default: false\n  path: a.squashfs\n- path: b.squashfs\n", "a.squashfs", true);
	assert_default("-   id: x\n    path: 'a.squashfs' # why\n    type: fsimage\n", "a.squashfs", false);
	assert_default("# x\n- id: x\n  variations:\n    y:\n      path: z.squashfs\n  path: a.squashfs\r\n", "a.squashfs", true);
	assert_default("version: 1\n- name:\n    path: z\n  path: a.squashfs\n  type: fsimage-layered\n", "a.squashfs", true);
}

static void test_sources_without_a_path(void **state)
{
	static const char *const texts[] = { "", "path: a.squashfs\n", "- id: a\n", "- path:\n", "-\n", "- ", "- pathology: y\n",
					     "\n\n- x:\n    path: y\n" };
	char path[LIVESOURCE_NAME_MAX];
	bool layered;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		assert_int_equal(livesource_default_path(texts[i], path, &layered, &e), -EINVAL);
}

static void test_extras(void **state)
{
	static const char *const extras[] = { "minimal.live.squashfs", "minimal.en.squashfs", "minimal.standard.pt_BR.squashfs",
					      "minimal.zh-hans.squashfs", "minimal.no-languages.squashfs",
					      "minimal.enhanced-secureboot.squashfs" };
	static const char *const parts[] = { "minimal.squashfs", "minimal.standard.squashfs", "filesystem.squashfs",
					     "ubuntu-server-minimal.ubuntu-server.squashfs" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(extras); i++)
		assert_true(livesource_is_extra(extras[i]));
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		assert_false(livesource_is_extra(parts[i]));
}

static void test_os_release(void **state)
{
	static const char text[] = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\nVERSION_ID='12'\nMY_ID=no\n"
				   "NAME=a\033[31m\n";
	char value[64], small[5];

	(void)state;
	livesource_os_value(text, "PRETTY_NAME", value, sizeof(value));
	assert_string_equal(value, "Debian GNU/Linux 12 (bookworm)");
	livesource_os_value(text, "ID", value, sizeof(value));
	assert_string_equal(value, "debian");
	livesource_os_value(text, "VERSION_ID", value, sizeof(value));
	assert_string_equal(value, "12");
	livesource_os_value(text, "VERSION_CODENAME", value, sizeof(value));
	assert_string_equal(value, "");
	livesource_os_value(text, "NAME", value, sizeof(value)); /* nothing that a terminal would obey */
	assert_string_equal(value, "a[31m");
	livesource_os_value(text, "ID", small, sizeof(small));
	assert_string_equal(small, "debi");
}

static void test_closing_nothing(void **state)
{
	static struct livesource s;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(livesource_close(&s, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_module_lists),
		cmocka_unit_test(test_a_long_name),
		cmocka_unit_test(test_module_lists),
		cmocka_unit_test(test_chains),
		cmocka_unit_test(test_sources_without_a_path),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_extras),
		cmocka_unit_test(test_os_release),
		cmocka_unit_test(test_closing_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
