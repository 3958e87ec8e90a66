/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which partition wubi-host shows; what needs a kernel with device-mapper is in tests/vm/host.sh. */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "hostdev_private.h"

/* makedev() is a call, and these are constants: as numbers they only have to differ */
#define SDA2 0x802
#define SDB1 0x811
#define SDA1 0x801
#define SDC1 0x821
#define DM(n) (0xfd00 + (n))

/* root and home on one partition, another image on a second, and the host device itself, which never counts. */
static struct dmlinear_active devices[] = {
	{ .name = "wubi-host", .number = DM(0), .device = SDC1, .is_host = true },
	{ .name = "wubi-other", .number = DM(1), .device = SDB1 },
	{ .name = "wubi-home", .number = DM(2), .device = SDA2 },
	{ .name = "wubi-root", .number = DM(3), .device = SDA2 },
};

static void assert_choice(size_t first, size_t count, dev_t wanted, dev_t root, dev_t device)
{
	const struct dmlinear_active_list l = { devices + first, count };
	struct err e = ERR_INIT;
	dev_t ret = 0;

	assert_int_equal(hostdev_choose(&l, wanted, root, &ret, &e), 0);
	assert_int_equal(ret, device);
}

static void assert_refused(size_t first, size_t count, dev_t wanted, dev_t root, const char *reason)
{
	const struct dmlinear_active_list l = { devices + first, count };
	struct err e = ERR_INIT;
	dev_t ret = 1;

	assert_int_equal(hostdev_choose(&l, wanted, root, &ret, &e), -EPERM);
	assert_string_equal(e.reason, reason);
	assert_int_equal(ret, 1);
}

static void test_nothing_attached(void **state)
{
	(void)state;
	assert_refused(0, 0, 0, 0, "no-image");
	assert_refused(0, 1, 0, 0, "no-image");
	assert_refused(0, 1, SDC1, 0, "no-image");
}

static void test_one_volume_needs_no_choice(void **state)
{
	(void)state;
	assert_choice(0, 2, 0, SDA1, SDB1);
	assert_choice(2, 2, 0, SDA1, SDA2);
}

/* / is on one of them; or has no number of a device (btrfs), and then the name counts. */
static void test_several_volumes(void **state)
{
	(void)state;
	assert_choice(0, 3, 0, DM(1), SDB1);
	assert_choice(0, 3, 0, DM(2), SDA2);
	assert_choice(0, 4, 0, 30, SDA2);
	assert_choice(0, 4, 0, DM(1), SDB1);
	assert_refused(0, 3, 0, SDA1, "several-volumes");
}

static void test_a_named_device(void **state)
{
	(void)state;
	assert_choice(0, 4, SDB1, DM(3), SDB1);
	assert_choice(0, 3, SDA2, 0, SDA2);
	assert_refused(0, 4, SDA1, DM(3), "not-this-volume");
	assert_refused(0, 4, SDC1, DM(3), "not-this-volume");
}

static void test_host_is_found(void **state)
{
	const struct dmlinear_active_list with = { devices, 4 }, without = { devices + 1, 3 };

	(void)state;
	assert_ptr_equal(hostdev_find(&with), &devices[0]);
	assert_null(hostdev_find(&without));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_attached),
		cmocka_unit_test(test_one_volume_needs_no_choice),
		cmocka_unit_test(test_several_volumes),
		cmocka_unit_test(test_a_named_device),
		cmocka_unit_test(test_host_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
