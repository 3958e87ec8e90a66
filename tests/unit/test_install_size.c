/* SPDX-License-Identifier: GPL-2.0-or-later */
/* B09: the size that is asked for holds the system, the file system's own needs, and room to live. */
#include "cmocka_all.h"

#include "install.h"
#include "num.h"

static void more_content_never_needs_less(void **state)
{
	uint64_t last = 0;

	(void)state;
	for (uint64_t content = 0; content < 200 * NUM_GIB; content += 777 * NUM_MIB) {
		uint64_t need = install_size_needed(content, 100000, 1);

		assert_true(need >= last);
		assert_true(need > content);
		last = need;
	}
}

static void B09_what_is_left_takes_an_update(void **state)
{
	static const uint64_t contents[] = { 0, 500 * NUM_MIB, 4 * NUM_GIB, 8 * NUM_GIB, 40 * NUM_GIB };

	(void)state;
	for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
		uint64_t need = install_size_needed(contents[i], 200000, 1);
		uint64_t journal = need >= 128 * NUM_GIB ? NUM_GIB : need >= 64 * NUM_GIB ? 512 * NUM_MIB :
				   need >= 32 * NUM_GIB ? 256 * NUM_MIB : 128 * NUM_MIB;

		/* inode tables, root's 5 per cent and at most that journal taken off */
		assert_true(need - need / 64 - need / 20 - journal > contents[i] + 600 * NUM_MIB);
		/* and it does not ask for the moon */
		assert_true(need < contents[i] + contents[i] / 4 + 4 * NUM_GIB);
	}
}

static void many_small_files_need_inodes(void **state)
{
	(void)state;
	assert_true(install_size_needed(NUM_GIB, 1000000, 1) / 16384 >= 1000000);
}

static void each_kernel_needs_its_initramfs(void **state)
{
	(void)state;
	assert_true(install_size_needed(NUM_GIB, 1000, 3) >= install_size_needed(NUM_GIB, 1000, 1) + 256 * NUM_MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_content_never_needs_less),
		cmocka_unit_test(B09_what_is_left_takes_an_update),
		cmocka_unit_test(many_small_files_need_inodes),
		cmocka_unit_test(each_kernel_needs_its_initramfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
