/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <string.h>

#include "winpath.h"

static void refused(void **state)
{
	static const char *const paths[] = {
		"", "x", "/", "//", "/a//b", "/a/", "/a/.", "/a/..", "/a.", "/a ", "/a./b", "/a:b", "/a\\b", "/a*", "/a?",
		"/a\"b", "/a<b", "/a>b", "/a|b", "/a\nb", "/\x7f", "/\xc2\x80", "/\xff", "/\xc0\xaf", "/\xed\xa0\x80",
		"/nul", "/NUL", "/nul.disk", "/ubuntu/con", "/aux.txt", "/prn", "/com1", "/LPT9.disk", "/ubuntu/Com5.x",
		"/hiberfil.sys", "/PAGEFILE.SYS", "/swapfile.sys", "/$Extend/x", "/$MFT",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(paths); i++)
		if (winpath_is_valid(paths[i]))
			fail_msg("'%s' is taken", paths[i]);
}

static void taken(void **state)
{
	static const char *const paths[] = {
		"/a", "/ubuntu/disks/root.disk", "/\xc3\xbc b/\xe6\x97\xa5.disk", "/\xf0\x9f\x92\xbe.disk", "/console", "/com0",
		"/com10", "/lpt", "/null", "/a.nul", "/ubuntu/hiberfil.sys", "/ubuntu/$x", "/.hidden",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(paths); i++)
		if (!winpath_is_valid(paths[i]))
			fail_msg("'%s' is refused", paths[i]);
}

static void a_component_has_255_units(void **state)
{
	char path[1100] = "/";

	(void)state;
	memset(path + 1, 'x', 255);
	assert_true(winpath_is_valid(path));
	path[256] = 'x';
	assert_false(winpath_is_valid(path));
	path[1] = '\0';
	for (unsigned i = 0; i < 127; i++)
		strcat(path, "\xf0\x9f\x92\xbe"); /* two UTF-16 units each */
	assert_true(winpath_is_valid(path));
	strcat(path, "\xf0\x9f\x92\xbe");
	assert_false(winpath_is_valid(path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
		cmocka_unit_test(taken),
		cmocka_unit_test(a_component_has_255_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
