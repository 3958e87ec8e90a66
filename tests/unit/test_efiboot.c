/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The firmware's variables as files in a folder: what is in them before and after. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_all.h"

/* Firmware that makes something of its own of what it is given, as far as it is an entry. */
static void (*firmware)(int fd, const uint8_t *data, size_t n);

static ssize_t fake_write(int fd, const void *data, size_t n)
{
	if (!firmware || n < 64) /* an order */
		return write(fd, data, n);
	firmware(fd, data, n);
	return (ssize_t)n;
}

static int fake_ftruncate(int fd, off_t n)
{
	return firmware ? 0 : ftruncate(fd, n);
}

#define write(fd, data, n) fake_write(fd, data, n)
#define ftruncate(fd, n) fake_ftruncate(fd, n)

#include "../../src/efiboot.c"
#include "../../src/efiboot_option.c"
#include "../../src/efiboot_variable.c"

#undef write
#undef ftruncate

#define GUID "-8be4df61-93ca-11d2-aa0d-00e098032b8c"
#define ESP "11223344-5566-7788-99aa-bbccddeeff00"
#define OTHER_ESP "21223344-5566-7788-99aa-bbccddeeff00"
#define FILE_NAME "\\EFI\\wubi\\shimx64.efi"
#define WINDOWS "\\EFI\\Microsoft\\Boot\\bootmgfw.efi"

static char dir[] = "/tmp/wubi-test-efiboot-XXXXXX";

static const struct efiboot_params ours = {
	.label = "wubi", .partuuid = ESP, .partition = 1, .start_bytes = 1048576, .size_bytes = 104857600, .sector_bytes = 512,
	.file = FILE_NAME,
};

static int enter_folder(void **state)
{
	(void)state;
	if (!mkdtemp(dir) || chdir(dir) < 0)
		return -1;
	return setenv("EFIVARFS_PATH", dir, 1);
}

static int leave_folder(void **state)
{
	(void)state;
	return chdir("/") == 0 && rmdir(dir) == 0 ? 0 : -1;
}

static int clear_folder(void **state)
{
	DIR *d = opendir(".");
	const struct dirent *item;

	(void)state;
	assert_non_null(d);
	while ((item = readdir(d)) != NULL)
		if (item->d_name[0] != '.')
			assert_int_equal(unlink(item->d_name), 0);
	closedir(d);
	return 0;
}

static void put_variable(const char *name, const void *data, size_t n)
{
	static const uint8_t attributes[4] = { 7 };
	char path[64];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s" GUID, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(attributes, 1, 4, f), 4);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static bool has_variable(const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s" GUID, name);
	return access(path, F_OK) == 0;
}

static void put_entry(const char *name, const char *label, const char *partuuid, const char *file)
{
	struct efiboot_params p = ours;
	struct efiboot_variable v;

	p.label = label;
	p.partuuid = partuuid;
	p.file = file;
	assert_int_equal(efiboot_option_build(&p, &v, NULL), 0);
	put_variable(name, v.data, v.n);
}

static void put_order(const char *text)
{
	uint8_t data[64];
	size_t n = 0;

	for (; *text; text++) {
		data[n++] = (uint8_t)(*text - '0');
		data[n++] = 0;
	}
	put_variable("BootOrder", data, n);
}

static void assert_order(const char *text)
{
	struct efiboot_list l;

	assert_int_equal(efiboot_read(&l, NULL), 0);
	assert_int_equal(l.order_count, strlen(text));
	for (size_t i = 0; i < l.order_count; i++)
		assert_int_equal(l.order[i], text[i] - '0');
}

/* Windows 0, another system 2, one that nobody understands 3. */
static int set_up(void **state)
{
	(void)state;
	put_entry("Boot0000", "Windows Boot Manager", ESP, WINDOWS);
	put_entry("Boot0002", "other", OTHER_ESP, FILE_NAME);
	put_variable("Boot0003", "\1\0\0\0\xff", 5);
	put_variable("Boot000G", "no", 2);
	put_order("2003");
	return 0;
}

static uint16_t put(enum efiboot_place place)
{
	struct efiboot_params p = ours;
	struct err e = ERR_INIT;
	uint16_t number = 0xffff;
	bool is_right = false;

	p.place = place;
	if (efiboot_put(&p, &number, &e))
		fail_msg("%s", e.text);
	assert_int_equal(efiboot_check(&p, &is_right, &e), 0);
	assert_true(is_right);
	return number;
}

static void test_no_firmware(void **state)
{
	struct efiboot_list l;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(setenv("EFIVARFS_PATH", "/nowhere/", 1), 0);
	assert_false(efiboot_is_there());
	assert_false(efiboot_secure_boot());
	assert_int_equal(efiboot_read(&l, &e), -ENOENT);
	assert_text_has(e.text, "UEFI");
	assert_int_equal(setenv("EFIVARFS_PATH", dir, 1), 0);
	assert_true(efiboot_is_there());
}

static void test_bad_requests(void **state)
{
	static const char *const partuuids[] = { "", "1234", "11223344-5566-7788-99aa-bbccddeeff0", "1122334z-01" };
	struct efiboot_params p = ours;
	uint16_t number;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(partuuids); i++) {
		p.partuuid = partuuids[i];
		assert_int_equal(efiboot_put(&p, &number, NULL), -EINVAL);
	}
	p = ours;
	p.start_bytes += 256;
	assert_int_equal(efiboot_put(&p, &number, NULL), -EINVAL);
	p = ours;
	p.label = "";
	assert_int_equal(efiboot_put(&p, &number, NULL), -EINVAL);
	p = ours;
	p.file = "EFI/wubi";
	assert_int_equal(efiboot_put(&p, &number, NULL), -EINVAL);
	assert_order("2003");
	assert_false(has_variable("Boot0001"));
}

static void test_garbage_is_no_option(void **state)
{
	struct efiboot_variable v;
	struct efiboot_entry x = { 0 };

	(void)state;
	assert_int_equal(efiboot_option_build(&ours, &v, NULL), 0);
	assert_true(efiboot_option_parse(v.data, v.n, &x));
	for (size_t n = 0; n < v.n; n++) {
		uint8_t *cut = malloc(n + 1); /* for ASan and valgrind */

		memcpy(cut, v.data, n);
		assert_false(efiboot_option_parse(cut, n, &x));
		assert_string_equal(x.label, "");
		assert_string_equal(x.file, "");
		free(cut);
	}
	v.data[18] = 3; /* the first node's length: shorter than its header */
	assert_false(efiboot_option_parse(v.data, v.n, &x));
}

static void test_read(void **state)
{
	struct efiboot_list l;

	(void)state;
	put_variable("BootCurrent", "\2\0", 2);
	put_variable("SecureBoot", "\1", 1);
	assert_int_equal(efiboot_read(&l, NULL), 0);
	assert_int_equal(l.count, 3);
	assert_int_equal(l.current, 2);
	assert_false(l.has_next);
	assert_string_equal(l.items[0].label, "Windows Boot Manager");
	assert_string_equal(l.items[0].partuuid, ESP);
	assert_string_equal(l.items[0].file, WINDOWS);
	assert_true(l.items[0].is_active);
	assert_int_equal(l.items[2].number, 3);
	assert_string_equal(l.items[2].label, "");
	assert_ptr_equal(efiboot_find(&l, OTHER_ESP, "\\efi\\WUBI\\SHIMX64.EFI"), &l.items[1]);
	assert_null(efiboot_find(&l, ESP, FILE_NAME));
	assert_null(efiboot_find(&l, "", ""));
	assert_true(efiboot_secure_boot());
}

/* UEFI 2.10, 3.1.3, 10.3.5.1 and 10.3.5.4, byte for byte. */
static void test_the_bytes_of_an_entry(void **state)
{
	static const uint8_t start[] = {
		1, 0, 0, 0, 94, 0, 'w', 0, 'u', 0, 'b', 0, 'i', 0, 0, 0,
		4, 1, 42, 0, 1, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 32, 3, 0, 0, 0, 0, 0,
		0x44, 0x33, 0x22, 0x11, 0x66, 0x55, 0x88, 0x77, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0, 2, 2,
		4, 4, 48, 0, '\\', 0, 'E', 0,
	};
	static const uint8_t end[] = { 'f', 0, 'i', 0, 0, 0, 0x7f, 0xff, 4, 0 };
	struct efiboot_params p = ours;
	struct efiboot_entry x = { 0 };
	struct efiboot_variable v;

	(void)state;
	assert_int_equal(efiboot_option_build(&ours, &v, NULL), 0);
	assert_int_equal(v.n, 16 + 94);
	assert_memory_equal(v.data, start, sizeof(start));
	assert_memory_equal(v.data + v.n - sizeof(end), end, sizeof(end));
	p.partuuid = "1234abcd-0a"; /* of an MBR, and a disk of 4096-byte sectors */
	p.partition = 10;
	p.sector_bytes = 4096;
	assert_int_equal(efiboot_option_build(&p, &v, NULL), 0);
	assert_int_equal(v.data[24], 0);
	assert_int_equal(v.data[25], 1);
	assert_true(efiboot_option_parse(v.data, v.n, &x));
	assert_string_equal(x.partuuid, "1234abcd-0a");
}

static void test_a_new_entry_comes_last(void **state)
{
	struct efiboot_list l;

	(void)state;
	assert_int_equal(put(EFIBOOT_KEEP), 1);
	assert_order("2031"); /* the number that was there twice is there once */
	assert_int_equal(efiboot_read(&l, NULL), 0);
	assert_int_equal(l.count, 4);
	assert_string_equal(l.items[1].label, "wubi");
	assert_string_equal(l.items[1].file, FILE_NAME);
	assert_string_equal(l.items[2].label, "other");
}

static void test_places(void **state)
{
	(void)state;
	assert_int_equal(put(EFIBOOT_FIRST), 1);
	assert_order("1203");
	assert_int_equal(put(EFIBOOT_KEEP), 1);
	assert_order("1203");
	assert_int_equal(put(EFIBOOT_LAST), 1);
	assert_order("2031");
	put_order("2103");
	assert_int_equal(put(EFIBOOT_KEEP), 1);
	assert_order("2103");
	put_order("203");
	assert_int_equal(put(EFIBOOT_KEEP), 1);
	assert_order("2031");
}

/* The firmware's memory bears only so many writes. */
static void test_right_is_not_written(void **state)
{
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct stat st;

	(void)state;
	assert_int_equal(put(EFIBOOT_FIRST), 1);
	assert_int_equal(utimensat(AT_FDCWD, "Boot0001" GUID, old, 0) | utimensat(AT_FDCWD, "BootOrder" GUID, old, 0), 0);
	assert_int_equal(put(EFIBOOT_FIRST), 1);
	assert_int_equal(stat("Boot0001" GUID, &st), 0);
	assert_int_equal(st.st_mtim.tv_sec, 1);
	assert_int_equal(stat("BootOrder" GUID, &st), 0);
	assert_int_equal(st.st_mtim.tv_sec, 1);
	assert_order("1203");
}

/* BootOrder and BootNext may name what is not there: in that place it would start instead of Windows. */
static void test_a_number_that_is_named_is_not_free(void **state)
{
	(void)state;
	put_order("120");
	put_variable("BootNext", "\4\0", 2);
	assert_int_equal(put(EFIBOOT_KEEP), 5);
	assert_order("1205");
}

/* ---- firmware with a will of its own ---- */

#define LABEL_END (4 + 6 + 10) /* attributes of the variable, head of the option, "wubi" */
#define TAIL "firmware's own"

/* A node of PCI before that of the partition, the file's name in capitals, and data behind. */
static void expand(int fd, const uint8_t *data, size_t n)
{
	static const uint8_t pci[] = { 1, 1, 6, 0, 2, 0x1f };
	uint8_t head[LABEL_END], rest[512];

	assert_true(n > LABEL_END + 46 && n - LABEL_END <= sizeof(rest));
	memcpy(head, data, sizeof(head));
	memcpy(rest, data + LABEL_END, n - LABEL_END);
	head[8] = (uint8_t)(head[8] + sizeof(pci)); /* length of the path */
	rest[42 + 4 + 2] = 'e'; /* of \EFI */
	assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(write(fd, pci, sizeof(pci)), sizeof(pci));
	assert_int_equal(write(fd, rest, n - LABEL_END), n - LABEL_END);
	assert_int_equal(write(fd, TAIL, sizeof(TAIL)), sizeof(TAIL));
}

static void keep_nothing(int fd, const uint8_t *data, size_t n)
{
	uint8_t other[512];

	assert_true(n <= sizeof(other));
	memcpy(other, data, n);
	other[4] = 0; /* not active */
	assert_int_equal(write(fd, other, n), n);
}

/* Neither an error, nor a reason to write it again at each start. */
static void test_firmware_that_says_it_in_its_own_way(void **state)
{
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct stat st;

	(void)state;
	firmware = expand;
	assert_int_equal(put(EFIBOOT_KEEP), 1);
	assert_int_equal(utimensat(AT_FDCWD, "Boot0001" GUID, old, 0), 0);
	assert_int_equal(put(EFIBOOT_KEEP), 1);
	firmware = NULL;
	assert_int_equal(stat("Boot0001" GUID, &st), 0);
	assert_int_equal(st.st_mtim.tv_sec, 1);
	assert_int_equal(st.st_size, LABEL_END + 94 + 6 + sizeof(TAIL));
}

static void test_firmware_that_keeps_something_else(void **state)
{
	struct err e = ERR_INIT;
	uint16_t number;
	int code;

	(void)state;
	firmware = keep_nothing;
	code = efiboot_put(&ours, &number, &e);
	firmware = NULL;
	assert_int_equal(code, -EIO);
	assert_text_has(e.text, "Boot0001");
	assert_order("2003");
}

/* Not what starts something else, or does not start. */
static void test_what_makes_an_entry_another_one(void **state)
{
	struct efiboot_variable a, b;
	struct efiboot_params p[4] = { ours, ours, ours, ours };

	(void)state;
	p[0].label = "Wubi";
	p[1].partuuid = OTHER_ESP;
	p[2].file = WINDOWS;
	p[3].partuuid = "1234abcd-01";
	assert_int_equal(efiboot_option_build(&ours, &a, NULL), 0);
	assert_true(efiboot_option_is_same(&a, &a));
	for (size_t i = 0; i < COUNT_OF(p); i++) {
		assert_int_equal(efiboot_option_build(&p[i], &b, NULL), 0);
		assert_false(efiboot_option_is_same(&a, &b));
	}
	b = a;
	b.data[0] = 0x9; /* hidden */
	assert_false(efiboot_option_is_same(&b, &a));
	b = a;
	b.n -= 4; /* cut */
	assert_false(efiboot_option_is_same(&b, &a));
}

/* Another label, and a partition that was made larger: the number stays. */
static void test_an_old_entry_is_brought_up_to_date(void **state)
{
	struct efiboot_params p = ours;
	uint16_t number;
	bool is_right = true;
	struct efiboot_list l;

	(void)state;
	put_entry("Boot0005", "a much longer label than now", ESP, "\\EFI\\WUBI\\SHIMX64.EFI");
	put_order("520");
	p.size_bytes *= 2;
	assert_int_equal(efiboot_check(&p, &is_right, NULL), 0);
	assert_false(is_right);
	assert_int_equal(efiboot_put(&p, &number, NULL), 0);
	assert_int_equal(number, 5);
	assert_order("520");
	assert_int_equal(efiboot_read(&l, NULL), 0);
	assert_string_equal(l.items[3].label, "wubi");
	assert_int_equal(l.count, 4);
}

static void test_several_become_one(void **state)
{
	(void)state;
	put_entry("Boot0001", "wubi", ESP, FILE_NAME);
	put_entry("Boot0004", "wubi", ESP, FILE_NAME);
	put_entry("Boot0005", "wubi", ESP, FILE_NAME);
	put_order("52430");
	assert_int_equal(put(EFIBOOT_KEEP), 4); /* the first by number of those in the order */
	assert_order("2430");
	assert_false(has_variable("Boot0001") || has_variable("Boot0005"));
	assert_true(has_variable("Boot0004") && has_variable("Boot0002"));
}

/* Windows stays reachable where the firmware had no order. */
static void test_without_an_order(void **state)
{
	(void)state;
	assert_int_equal(unlink("BootOrder" GUID), 0);
	put_variable("Boot0006", "\1\1\0\0\4\0\0\0\x7f\xff\4\0", 12); /* an application */
	assert_int_equal(put(EFIBOOT_FIRST), 1);
	assert_order("102"); /* nor the one that cannot be understood and is no more than 5 bytes */
}

static void test_next(void **state)
{
	struct efiboot_list l;

	(void)state;
	assert_int_equal(efiboot_set_next(9, NULL), -ENOENT);
	assert_false(has_variable("BootNext"));
	assert_int_equal(efiboot_set_next(2, NULL), 0);
	assert_int_equal(efiboot_set_next(0, NULL), 0);
	assert_int_equal(efiboot_set_next(0, NULL), 0);
	assert_int_equal(efiboot_read(&l, NULL), 0);
	assert_true(l.has_next);
	assert_int_equal(l.next, 0);
}

static void test_remove(void **state)
{
	bool removed = true;

	(void)state;
	assert_int_equal(efiboot_remove(ESP, FILE_NAME, &removed, NULL), 0);
	assert_false(removed);
	assert_order("2003"); /* what is not ours to set right */
	assert_int_equal(put(EFIBOOT_FIRST), 1);
	put_entry("Boot0007", "wubi", ESP, FILE_NAME);
	assert_int_equal(efiboot_set_next(7, NULL), 0);
	assert_int_equal(efiboot_remove(ESP, FILE_NAME, &removed, NULL), 0);
	assert_true(removed);
	assert_order("203");
	assert_false(has_variable("Boot0001") || has_variable("Boot0007") || has_variable("BootNext"));
	assert_true(has_variable("Boot0000") && has_variable("Boot0002") && has_variable("Boot0003"));
	assert_int_equal(efiboot_set_next(2, NULL), 0);
	assert_int_equal(efiboot_remove(OTHER_ESP, FILE_NAME, &removed, NULL), 0);
	assert_false(has_variable("BootNext"));
	assert_int_equal(efiboot_set_next(0, NULL), 0);
	assert_int_equal(efiboot_remove(ESP, FILE_NAME, &removed, NULL), 0);
	assert_true(has_variable("BootNext")); /* somebody else's */
}

/* As firmware without room: nothing names the entry, and no half of one stays. */
static void test_full(void **state)
{
	const struct rlimit small = { 20, RLIM_INFINITY }, all = { RLIM_INFINITY, RLIM_INFINITY };
	struct err e = ERR_INIT;
	uint16_t number;
	int code;

	(void)state;
	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	code = efiboot_put(&ours, &number, &e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	assert_true(code < 0);
	assert_text_has(e.text, "Boot0001");
	assert_false(has_variable("Boot0001"));
	assert_order("2003");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clear_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_firmware),
		TEST(test_bad_requests),
		TEST(test_garbage_is_no_option),
		TEST(test_read),
		TEST(test_the_bytes_of_an_entry),
		TEST(test_a_new_entry_comes_last),
		TEST(test_places),
		TEST(test_right_is_not_written),
		TEST(test_a_number_that_is_named_is_not_free),
		TEST(test_firmware_that_says_it_in_its_own_way),
		TEST(test_firmware_that_keeps_something_else),
		TEST(test_what_makes_an_entry_another_one),
		TEST(test_an_old_entry_is_brought_up_to_date),
		TEST(test_several_become_one),
		TEST(test_without_an_order),
		TEST(test_next),
		TEST(test_remove),
		TEST(test_full),
	};

	return cmocka_run_group_tests_name("efiboot", tests, enter_folder, leave_folder);
}
