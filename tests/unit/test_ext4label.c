/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The label says whether an installation is complete: it is read without the library, and set by it. */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "ext4fmt.h"
#include "memdev.h"
#include "num.h"

#define INCOMPAT_AT (1024 + 0x60)
#define NEEDS_RECOVERY 0x04

static struct blkio *formatted(const char *label)
{
	const struct ext4fmt_params params = { .uuid = { 7 }, .label = label };
	struct blkio *io = NULL;

	assert_int_equal(memdev_new(NULL, 32 * NUM_MIB, true, &io, NULL), 0);
	assert_int_equal(ext4fmt_write(io, &params, NULL, NULL), 0);
	return io;
}

static void no_ext4_has_no_label(void **state)
{
	char label[EXT4FMT_LABEL_MAX + 1] = "untouched";
	struct blkio *io = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(memdev_new(NULL, NUM_MIB, true, &io, NULL), 0);
	assert_int_equal(ext4fmt_get_label(io, label, &e), -ENODATA);
	assert_string_equal(label, "untouched");
	assert_int_not_equal(ext4fmt_set_label(io, "x", &e), 0);
	blkio_free(io);
}

static void what_is_set_is_read(void **state)
{
	static const char *const labels[] = { "a", "1234567890123456", "" };
	char label[EXT4FMT_LABEL_MAX + 1];
	struct blkio *io = formatted("wubi-incomplete");

	(void)state;
	assert_int_equal(ext4fmt_get_label(io, label, NULL), 0);
	assert_string_equal(label, "wubi-incomplete");
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		assert_int_equal(ext4fmt_set_label(io, labels[i], NULL), 0);
		assert_int_equal(ext4fmt_get_label(io, label, NULL), 0);
		assert_string_equal(label, labels[i]);
	}
	blkio_free(io);
}

static void too_long_changes_nothing(void **state)
{
	char label[EXT4FMT_LABEL_MAX + 1];
	struct blkio *io = formatted("old");
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(ext4fmt_set_label(io, "12345678901234567", &e), -EINVAL);
	assert_int_equal(ext4fmt_get_label(io, label, NULL), 0);
	assert_string_equal(label, "old");
	blkio_free(io);
}

/* A label that says "complete" while the journal holds what is not in place yet would be a lie to whoever replays none. */
static void an_unclean_one_is_refused(void **state)
{
	char label[EXT4FMT_LABEL_MAX + 1];
	struct blkio *io = formatted("old");
	struct err e = ERR_INIT;
	uint8_t flags;

	(void)state;
	assert_int_equal(blkio_read(io, INCOMPAT_AT, &flags, 1, NULL), 0);
	flags |= NEEDS_RECOVERY;
	assert_int_equal(blkio_write(io, INCOMPAT_AT, &flags, 1, NULL), 0);
	assert_int_not_equal(ext4fmt_set_label(io, "new", &e), 0);
	assert_int_equal(ext4fmt_get_label(io, label, NULL), 0);
	assert_string_equal(label, "old");
	blkio_free(io);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_ext4_has_no_label),
		cmocka_unit_test(what_is_set_is_read),
		cmocka_unit_test(too_long_changes_nothing),
		cmocka_unit_test(an_unclean_one_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
