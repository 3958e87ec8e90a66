/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's copies where there is little room for them, or the run ends early. */
#include "espboot_folder.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* ---- too little room ---- */

static void test_no_room_for_copies(void **state)
{
	const struct espboot_params par = params();
	AUTO_FREE struct espboot_plan *p = malloc(sizeof(*p));
	AUTO_FREE char *text = NULL;

	(void)state;
	esp_bytes = INITRD_BYTES + (1u << 20); /* it would fit; what Windows needs would not be left */
	plan(&par, p);
	assert_false(p->copies_fit);
	assert_true(report_has(&p->notes, "no-copies"));
	espboot_plan_clear(p);
	update(&par);
	assert_false(on_esp("EFI/wubi/vmlinuz-" V1));
	text = menu();
	assert_text_has(text, "wubi-install --repair");
}

/* The old copies stay while the new ones do not fit beside them, and go when their kernel has gone. */
static void test_B07_old_copies_stay(void **state)
{
	const struct espboot_params par = params();
	AUTO_FREE struct espboot_plan *p = malloc(sizeof(*p));
	AUTO_FREE char *before = NULL, *after = NULL;

	(void)state;
	update(&par);
	before = menu();
	espboot_device_space(esp_folder, &esp_bytes, &(uint64_t){ 0 }, NULL);
	esp_bytes = used_bytes + (1u << 20); /* 1 MiB is free */
	put_kernel(V2, 3);
	plan(&par, p);
	assert_true(report_has(&p->notes, "old-copies"));
	assert_string_equal(p->kernel, V1);
	espboot_plan_clear(p);
	update(&par);
	assert_true(has_copy(V1));
	assert_false(on_esp("EFI/wubi/vmlinuz-" V2));
	after = menu();
	assert_string_equal(before, after);
	esp_bytes += ESPBOOT_RESERVE_BYTES;
	assert_int_equal(unlink(at(root_folder, "boot/vmlinuz-" V1)), 0);
	update(&par);
	assert_true(has_copy(V2));
	assert_false(on_esp("EFI/wubi/vmlinuz-" V1) || on_esp("EFI/wubi/initrd.img-" V1));
}

/* Windows has filled the rest since: what is right is not taken away. */
static void test_copies_stay_when_room_is_gone(void **state)
{
	const struct espboot_params par = params();

	(void)state;
	update(&par);
	esp_bytes = 0;
	assert_false(has_work(&par));
}

/* The disk is full in the middle, whatever was counted before: old files are whole, no half of a new one stays. */
static void test_B07_full_in_the_middle(void **state)
{
	const struct rlimit limit = { INITRD_BYTES / 2, RLIM_INFINITY }, all = { RLIM_INFINITY, RLIM_INFINITY };
	const struct espboot_params par = params();
	AUTO_FREE char *before = NULL, *after = NULL;
	struct err e = ERR_INIT;
	int code;

	(void)state;
	update(&par);
	before = menu();
	put_kernel(V2, 3);
	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	code = update_with(&par, NULL, &e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	assert_int_equal(code, -EFBIG);
	assert_true(has_copy(V1));
	assert_false(on_esp("EFI/wubi/initrd.img-" V2) || on_esp("EFI/wubi/wubi.tmp"));
	after = menu();
	assert_string_equal(before, after);
	update(&par);
	assert_true(has_copy(V2));
}

/* ---- a smaller initramfs ---- */

static void test_small_fits(void **state)
{
	struct espboot_params par = params();
	AUTO_FREE struct espboot_plan *p = malloc(sizeof(*p));

	(void)state;
	esp_bytes = ESPBOOT_RESERVE_BYTES + (1u << 20);
	small.is_possible = true;
	small.bytes = 400000;
	par.work = dir;
	plan(&par, p);
	assert_true(p->small_initramfs && p->copies_fit);
	espboot_plan_clear(p);
	update(&par);
	assert_int_equal(small.calls, 1);
	put_bytes(at(dir, "expected"), small.bytes, 5);
	assert_true(same("EFI/wubi/initrd.img-" V1, at(dir, "expected")));
	assert_true(same("EFI/wubi/vmlinuz-" V1, at(root_folder, "boot/vmlinuz-" V1)));
	par.work = NULL; /* what is there is right also for who cannot make one */
	assert_false(has_work(&par));
	par.work = dir;
	put_kernel(V1, 7); /* an initramfs that is built anew makes a new small one */
	update(&par);
	assert_int_equal(small.calls, 2);
	esp_bytes = ROOMY;
	update(&par);
	assert_true(has_copy(V1));
	assert_false(on_esp(ESPBOOT_SMALL));
}

/* It is not tried again and again. */
static void no_small(int code, size_t bytes)
{
	struct espboot_params par = params();
	AUTO_FREE char *text = NULL;

	esp_bytes = ESPBOOT_RESERVE_BYTES + (1u << 20);
	small.is_possible = true;
	small.bytes = bytes;
	small.code = code;
	par.work = dir;
	update(&par);
	update(&par);
	assert_int_equal(small.calls, 1);
	assert_false(on_esp("EFI/wubi/vmlinuz-" V1) || on_esp("EFI/wubi/initrd.img-" V1));
	text = menu();
	assert_text_has(text, "wubi-install --repair");
}

static void test_small_is_too_large(void **state)
{
	(void)state;
	no_small(0, INITRD_BYTES);
}

static void test_small_fails(void **state)
{
	(void)state;
	no_small(-EIO, 0);
}

static void test_small_is_bad(void **state)
{
	(void)state;
	check.small_is_bad = true;
	no_small(0, 400000);
}

/* The record is of the kernel that was chosen, which is not the newest. */
static void test_small_of_the_next_kernel(void **state)
{
	(void)state;
	put_kernel(V2, 3);
	check.version = V2;
	no_small(0, INITRD_BYTES);
}

/* ---- cuts ---- */

struct cut {
	int left;
};

static int cut_off(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
	struct cut *c = ctx;

	(void)phase, (void)done, (void)total;
	if (c->left-- == 0)
		_exit(9);
	return 0;
}

static void assert_menu_has_all(void)
{
	AUTO_FREE char *text = menu();
	bool names_v1 = strstr(text, V1) != NULL;

	assert_true(bootmenu_is_ours(text));
	assert_true(has_copy(names_v1 ? V1 : V2));
}

static void new_loaders(const char *text)
{
	put_text(root_folder, "usr/lib/shim/shimx64.efi.signed", text);
	put_text(root_folder, "usr/lib/shim/mmx64.efi.signed", text);
	put_text(root_folder, "usr/lib/grub/x86_64-efi-signed/gcdx64.efi.signed", text);
}

/* A new shim refuses an old GRUB, or MokManager, once one of its generation is revoked. */
static void assert_loaders_start(void)
{
	if (same("EFI/wubi/shimx64.efi", at(root_folder, "usr/lib/shim/shimx64.efi.signed"))) {
		assert_true(same("EFI/wubi/grubx64.efi", at(root_folder, "usr/lib/grub/x86_64-efi-signed/gcdx64.efi.signed")));
		assert_true(same("EFI/wubi/mmx64.efi", at(root_folder, "usr/lib/shim/mmx64.efi.signed")));
	}
}

/* Killed at each point: the menu has all that it names, and the next run ends the work. */
static void test_cut_anywhere(void **state)
{
	const struct espboot_params par = params();
	int status = 1, cuts = 0;

	for (int k = 0; status; k++) {
		struct cut cut = { .left = k };
		const struct progress progress = { .step = cut_off, .ctx = &cut };
		pid_t child;

		(void)set_up(state);
		update(&par);
		put_kernel(V2, 3);
		new_loaders("of the next generation");
		child = fork();
		assert_true(child >= 0);
		if (child == 0)
			_exit(update_with(&par, &progress, NULL) ? 1 : 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(status == 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 9));
		assert_menu_has_all();
		assert_loaders_start();
		update(&par);
		assert_true(has_copy(V2));
		assert_false(on_esp("EFI/wubi/vmlinuz-" V1) || on_esp("EFI/wubi/wubi.tmp"));
		cuts++;
	}
	assert_true(cuts > 5);
}

static int stop(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
	(void)ctx, (void)phase, (void)total;
	return done > KERNEL_BYTES;
}

static void test_interrupted(void **state)
{
	const struct espboot_params par = params();
	const struct progress progress = { .step = stop, .ctx = NULL };

	(void)state;
	assert_int_equal(update_with(&par, &progress, NULL), -ECANCELED);
	assert_false(on_esp("EFI/wubi/wubi.tmp") || on_esp(BOOTMENU_FILE));
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_room_for_copies),
		TEST(test_B07_old_copies_stay),
		TEST(test_copies_stay_when_room_is_gone),
		TEST(test_B07_full_in_the_middle),
		TEST(test_small_fits),
		TEST(test_small_is_too_large),
		TEST(test_small_fails),
		TEST(test_small_is_bad),
		TEST(test_small_of_the_next_kernel),
		TEST(test_cut_anywhere),
		TEST(test_interrupted),
	};

	return cmocka_run_group_tests_name("espboot_room", tests, enter_folder, leave_folder);
}
