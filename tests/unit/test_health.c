/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is off, from what was seen; looking itself is in tests/vm/health.sh. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health.h"
#include "num.h"

struct fixture {
	struct health h;
	struct maprefresh_item items[2];
	uint64_t generations[2];
	struct health_volume volume;
	struct health_kernel kernel;
	struct map map;
};

/* root, right in every way; health_judge() finds nothing. */
static int set_up(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	struct maprefresh_item *root;

	assert_non_null(x);
	root = &x->items[0];
	*root = (struct maprefresh_item){ .action = MAPREFRESH_KEEP, .active = true, .verdict = VERDICT_MATCH, .generation = 2,
					  .map = &x->map, .text = "what was seen" };
	(void)snprintf(root->path, sizeof(root->path), "/etc/wubi/maps/root.map");
	(void)snprintf(root->name, sizeof(root->name), "root");
	x->items[1] = *root;
	x->generations[0] = x->generations[1] = 2;
	x->volume = (struct health_volume){ .path = "/dev/sda3", .free_bytes = 50 * NUM_GIB, .total_bytes = 200 * NUM_GIB };
	x->kernel = (struct health_kernel){ .version = "6.1", .is_known = true };
	x->h.maps.items = x->items;
	x->h.maps.count = 1;
	(void)snprintf(x->h.maps.esp, sizeof(x->h.maps.esp), "/boot/efi/EFI/wubi");
	x->h.esp_generations = x->generations;
	x->h.volumes = &x->volume;
	x->h.volume_count = 1;
	x->h.kernels = &x->kernel;
	x->h.kernel_count = 1;
	(void)snprintf(x->h.rebuild, sizeof(x->h.rebuild), "update-initramfs -u -k ");
	(void)snprintf(x->h.esp, sizeof(x->h.esp), "/boot/efi");
	x->h.esp_known = true;
	x->h.boot.entry_is_right = true;
	x->h.boot.file_count = 2;
	x->h.boot.files[0] = (struct espboot_file){ .name = "EFI/wubi/root.map", .is_right = true, .old_bytes = 1 };
	x->h.boot.files[1] = (struct espboot_file){ .name = "EFI/wubi/shimx64.efi", .is_right = true };
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void judge(struct fixture *x)
{
	x->h.findings.count = x->h.unknown.count = 0;
	health_judge(&x->h);
}

/* Exactly one finding, of this reason, whose text has the words of the remedy. */
static void expect(struct fixture *x, const char *reason, const char *remedy)
{
	judge(x);
	assert_int_equal(x->h.unknown.count, 0);
	assert_int_equal(x->h.findings.count, 1);
	assert_string_equal(x->h.findings.items[0].reason, reason);
	assert_text_has(x->h.findings.items[0].text, remedy);
}

static void test_healthy(void **state)
{
	struct fixture *x = *state;

	judge(x);
	assert_int_equal(x->h.findings.count + x->h.unknown.count, 0);
	x->h.esp_known = false; /* why is a finding of the one who looked */
	x->h.boot.entry_is_right = false;
	judge(x);
	assert_int_equal(x->h.findings.count + x->h.unknown.count, 0);
}

static void test_what_windows_has_to_mend(void **state)
{
	struct fixture *x = *state;

	x->items[0].verdict = VERDICT_RENAMED;
	expect(x, "verdict-renamed", "do not install again");
	assert_text_has(x->h.findings.items[0].text, "what was seen");
	x->items[0].verdict = VERDICT_ORPHANED;
	expect(x, "verdict-orphaned", "chkdsk /f");
	x->items[0].verdict = VERDICT_UNSETTLED;
	expect(x, "verdict-unsettled", "shutdown /s /t 0");
}

static void test_maps(void **state)
{
	struct fixture *x = *state;

	x->items[0].action = MAPREFRESH_WRITE;
	expect(x, "map-due", "wubi-map-refresh");
	x->h.maps.unfinished = true; /* the same command: told once */
	expect(x, "map-due", "wubi-map-refresh");
	x->items[0].action = MAPREFRESH_KEEP;
	expect(x, "map-unfinished", "wubi-map-refresh");
	x->h.maps.unfinished = false;
	x->items[0].active = false;
	expect(x, "not-attached", "boot.log");
	x->items[0].active = true;
	x->items[0].action = MAPREFRESH_REFUSE;
	(void)snprintf(x->items[0].reason, sizeof(x->items[0].reason), "changed");
	expect(x, "changed", "what was seen");
	x->items[0].action = MAPREFRESH_FAIL;
	judge(x);
	assert_int_equal(x->h.findings.count, 0);
	assert_int_equal(x->h.unknown.count, 1);
	assert_text_has(x->h.unknown.items[0].text, "what was seen");
}

static void test_a_damaged_map(void **state)
{
	struct fixture *x = *state;

	x->items[0].action = MAPREFRESH_REFUSE;
	x->items[0].map = NULL;
	(void)snprintf(x->items[0].reason, sizeof(x->items[0].reason), "invalid-map");
	expect(x, "invalid-map", "cp /boot/efi/EFI/wubi/root.map /etc/wubi/maps/root.map");
	x->generations[0] = 0;
	expect(x, "invalid-map", "wubi-install --repair");
}

/* Both who compare maps and who compare files see it. */
static void test_a_copy_on_the_esp(void **state)
{
	struct fixture *x = *state;

	x->items[0].esp_stale = true;
	x->h.boot.files[0].is_right = false;
	x->generations[0] = 1;
	expect(x, "esp-map", "generation 1");
	assert_text_has(x->h.findings.items[0].text, "wubi-boot update");
	x->generations[0] = 0;
	expect(x, "esp-map", "no good copy");
	x->h.maps.count = 2;
	x->items[1].esp_stale = false;
	(void)snprintf(x->items[1].path, sizeof(x->items[1].path), "/etc/wubi/maps/home.map");
	expect(x, "esp-map", "'root'");
	x->h.boot.files[1].is_right = false;
	judge(x);
	assert_int_equal(x->h.findings.count, 2);
	assert_string_equal(x->h.findings.items[1].reason, "esp-due");
	assert_text_has(x->h.findings.items[1].text, "shimx64.efi");
}

static void test_the_rest_of_the_esp(void **state)
{
	struct fixture *x = *state;

	x->h.boot.has_surplus = true;
	expect(x, "esp-due", "wubi-boot update");
	x->h.boot.entry_is_right = false;
	expect(x, "esp-due", "firmware");
	x->h.boot.files[0].is_right = x->h.boot.files[1].is_right = false;
	x->h.pending = (char[]){ "no room" };
	expect(x, "esp-due", "and 1 more");
	x->h.boot.files[0].is_right = true;
	expect(x, "esp-due", "shimx64.efi', which starting Linux needs, is missing");
	x->h.boot.files[1].is_right = x->h.boot.entry_is_right = true;
	x->h.boot.has_surplus = false;
	expect(x, "boot-pending", "no room");
}

static void test_kernels(void **state)
{
	struct fixture *x = *state;

	(void)snprintf(x->kernel.lack.reason, sizeof(x->kernel.lack.reason), "no-program");
	(void)snprintf(x->kernel.lack.text, sizeof(x->kernel.lack.text), "no wubi-attach");
	expect(x, "initramfs", "update-initramfs -u -k 6.1");
	assert_text_has(x->h.findings.items[0].text, "no wubi-attach");
	x->kernel.is_known = false;
	judge(x);
	assert_int_equal(x->h.findings.count, 0);
	assert_int_equal(x->h.unknown.count, 1);
}

static void test_free_space(void **state)
{
	struct fixture *x = *state;

	assert_true(health_free_needed(10 * NUM_TIB) == 2 * NUM_GIB);
	assert_true(health_free_needed(50 * NUM_GIB) == NUM_GIB);
	x->volume.free_bytes = 2 * NUM_GIB;
	judge(x);
	assert_int_equal(x->h.findings.count, 0);
	x->volume.free_bytes--;
	expect(x, "host-full", "/dev/sda3");
	assert_text_has(x->h.findings.items[0].text, "cleanmgr");
	x->volume.total_bytes = 0; /* not known: whoever looked has told it */
	judge(x);
	assert_int_equal(x->h.findings.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_healthy, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_windows_has_to_mend, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_maps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_damaged_map, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_copy_on_the_esp, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_rest_of_the_esp, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kernels, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_free_space, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
