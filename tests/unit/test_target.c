/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cmocka_all.h"
#include "target_private.h"

static struct target t;

/* A system with links that would lead out of it. */
static int make_root(void **state)
{
	char folder[] = "/tmp/wubi-test-target-XXXXXX";

	(void)state;
	if (!mkdtemp(folder) || !realpath(folder, t.root))
		return -1;
	return chdir(folder) || mkdir("etc", 0755) || symlink("/etc/own", "etc/hostname") || symlink("/", "up") ||
	       symlink("../../../etc/other", "etc/climbs");
}

static int remove_root(void **state)
{
	(void)state;
	return target_remove_tree(&t, "/etc", NULL) || unlink("up") || chdir("/") || rmdir(t.root);
}

static void assert_text(char *text, const char *wanted)
{
	assert_non_null(text);
	assert_string_equal(text, wanted);
	free(text);
}

/* ---- paths ---- */

static void test_links_stay_in_the_target(void **state)
{
	AUTO_FREE char *text = NULL, *none = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(target_write(&t, "/etc/hostname", "ada\n", &e), 0);
	assert_int_equal(target_write(&t, "/etc/climbs", "x\n", &e), 0);
	assert_int_equal(target_read(&t, "/up/etc/own", &text, &e), 0);
	assert_string_equal(text, "ada\n");
	assert_int_equal(access("etc/own", F_OK) | access("etc/other", F_OK), 0);
	assert_int_equal(target_read(&t, "/etc/nowhere", &none, &e), 0);
	assert_null(none);
	assert_true(target_has(&t, "/etc/hostname"));
	assert_false(target_has(&t, "/etc/passwd"));
	assert_int_equal(target_read(&t, "/etc", &none, &e), -EISDIR);
	assert_int_equal(target_write(&t, "/etc/x", NULL, &e), -ENOMEM);
}

static void test_a_link_is_removed_itself(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(symlink("/etc/own", "etc/link") | symlink("/etc", "etc/self"), 0);
	assert_int_equal(target_remove(&t, "/up/etc/link", &e), 0);
	assert_int_equal(target_remove(&t, "/etc/link", &e), 0);
	assert_int_equal(access("etc/own", F_OK), 0);
	assert_int_equal(target_remove_tree(&t, "/etc/self", &e), 0);
	assert_int_equal(access("etc/own", F_OK), 0);
}

static void test_folders_and_copies(void **state)
{
	AUTO_FREE char *text = NULL;
	struct stat st;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(target_make_folder(&t, "/up/etc/a/b/c", &e), 0);
	assert_int_equal(target_make_folder(&t, "/etc/a/b/c", &e), 0);
	assert_int_equal(stat("etc/a/b/c", &st), 0);
	assert_int_equal(target_write(&t, "/etc/from", "text\n", &e), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(target_copy_in(&t, "etc/from", "/etc/a/b/c/file", &e), 0);
	assert_int_equal(target_read(&t, "/etc/a/b/c/file", &text, &e), 0);
	assert_string_equal(text, "text\n");
	assert_int_equal(target_copy_in(&t, "/nowhere", "/etc/a/b/c/file", &e), -ENOENT);
	assert_int_equal(target_remove_tree(&t, "/etc/a", &e), 0);
	assert_int_equal(target_remove_tree(&t, "/etc/a", &e), 0);
	assert_int_equal(stat("etc/a", &st), -1);
}

static void test_no_such_program(void **state)
{
	static const char *const arguments[] = { "update-grub", NULL };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(target_run(&t, arguments, &e), -ENOENT);
	assert_text_has(e.text, "'update-grub'");
	assert_int_equal(target_run_if_there(&t, arguments, &e), 0);
}

/* ---- texts ---- */

static void test_fstab(void **state)
{
	static const struct map root = { .name = "root", .fs_type = "ext4" }, home = { .name = "home", .fs_type = "ext4" },
				swap = { .name = "swap", .fs_type = "swap" };
	const struct map *const maps[] = { &root, &home, &swap };
	struct target_settings s = { .maps = maps, .map_count = 3, .esp_partuuid = "aa-1" };
	AUTO_FREE char *text = target_fstab_text(&s);

	(void)state;
	assert_text_has(text, "\n/dev/mapper/wubi-root / ext4 defaults,errors=remount-ro 0 1\n");
	assert_text_has(text, "\n/dev/mapper/wubi-home /home ext4 defaults,nofail 0 2\n");
	assert_text_has(text, "\n/dev/mapper/wubi-swap none swap sw,nofail 0 0\n");
	assert_text_has(text, "\nPARTUUID=aa-1 /boot/efi vfat umask=0077,nofail 0 1\n");
	free(text);
	s = (struct target_settings){ .maps = maps, .map_count = 1, .esp_partuuid = "" };
	text = target_fstab_text(&s);
	assert_null(strstr(text, "efi"));
	assert_null(strstr(text, "swap"));
}

static void test_images_added_to_fstab(void **state)
{
	static const struct map home = { .name = "home", .fs_type = "ext4", .fs_uuid = "1-2" },
				swap = { .name = "swap", .fs_type = "swap", .fs_uuid = "3-4" };
	static const char *const have_home[] = { "/dev/mapper/wubi-home /home ext4 defaults 0 2\n", "  UUID=1-2\t/data ext4",
						 "# own\nUUID=other\t /home  xfs defaults 0 0" };
	static const char *const have_not[] = { "", "# /dev/mapper/wubi-home /home ext4\n", "#UUID=1-2\t/home\n", "\n\n",
						"/dev/mapper/wubi-home2 /x", "UUID=1-23 /x ext4\n/x /home/ada none bind\n" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(have_home); i++)
		assert_true(target_fstab_has(have_home[i], &home));
	for (size_t i = 0; i < COUNT_OF(have_not); i++)
		assert_false(target_fstab_has(have_not[i], &home));
	assert_true(target_fstab_has("UUID=3-4 none swap sw 0 0\n", &swap));
	assert_false(target_fstab_has("/swap none swap sw 0 0\n/x /swap ext4\n", &swap));
	assert_text(target_fstab_text_with("# all\n", &home), "# all\n/dev/mapper/wubi-home /home ext4 defaults,nofail 0 2\n");
	assert_text(target_fstab_text_with("/x /y", &swap), "/x /y\n/dev/mapper/wubi-swap none swap sw,nofail 0 0\n");
}

/* Root's line alone, whatever it had been on, and the options that it has. */
static void test_fstab_of_what_has_moved_out(void **state)
{
	char *source = NULL;

	(void)state;
	assert_text(target_fstab_moved_text("# / is root\n/dev/mapper/wubi-root / ext4 defaults,errors=remount-ro 0 1\n"
					    "/dev/mapper/wubi-home /home ext4 defaults,nofail 0 2\n", "aa-1", &source),
		    "# / is root\nUUID=aa-1 / ext4 defaults,errors=remount-ro 0 1\n"
		    "/dev/mapper/wubi-home /home ext4 defaults,nofail 0 2\n");
	assert_text(source, "/dev/mapper/wubi-root");
	assert_text(target_fstab_moved_text("  LABEL=x\t/\text4 noatime", "aa-1", &source), "UUID=aa-1\t/\text4 noatime\n");
	assert_text(source, "LABEL=x");
	assert_text(target_fstab_moved_text("tmpfs /tmp tmpfs\nshort\n\n", "aa-1", &source),
		    "tmpfs /tmp tmpfs\nshort\n\nUUID=aa-1 / ext4 defaults,errors=remount-ro 0 1\n");
	assert_null(source);
	assert_text(target_fstab_moved_text("", "aa-1", &source), "UUID=aa-1 / ext4 defaults,errors=remount-ro 0 1\n");
	assert_null(source);
}

static void test_hosts(void **state)
{
	(void)state;
	assert_text(target_hosts_text("127.0.0.1\tlocalhost\n127.0.1.1 old\n::1 x\n", "ada"),
		    "127.0.0.1\tlocalhost\n127.0.1.1\tada\n::1 x\n");
	assert_text(target_hosts_text("# no end\n127.0.0.1 localhost", "ada.example.org"),
		    "# no end\n127.0.0.1 localhost\n127.0.1.1\tada.example.org ada\n");
	assert_text(target_hosts_text("::1 x\n127.0.1.10 y\n", "ada"), "127.0.1.1\tada\n::1 x\n127.0.1.10 y\n");
	assert_text(target_hosts_text("#127.0.0.1 x\n", "ada"), "#127.0.0.1 x\n127.0.1.1\tada\n");
	assert_text(target_hosts_text(NULL, "ada"),
		    "127.0.0.1\tlocalhost\n127.0.1.1\tada\n::1\t\tlocalhost ip6-localhost ip6-loopback\n");
}

static void test_clock(void **state)
{
	(void)state;
	assert_text(target_adjtime_text(NULL, false), "0.0 0 0.0\n0\nLOCAL\n");
	assert_text(target_adjtime_text("", true), "0.0 0 0.0\n0\nUTC\n");
	assert_text(target_adjtime_text("1.5 2 3\n99\nUTC\n", false), "1.5 2 3\n99\nLOCAL\n");
	assert_text(target_adjtime_text("1.5 2 3", true), "1.5 2 3\n0\nUTC\n");
}

static void test_variables(void **state)
{
	(void)state;
	assert_text(target_variable_text(NULL, "A", "x"), "A=\"x\"\n");
	assert_text(target_variable_text("B=1", "A", "x"), "B=1\nA=\"x\"\n");
	assert_text(target_variable_text("A=1\nAB=2\n#A=3\nA=4\n", "A", ""), "A=\"\"\nAB=2\n#A=3\n");
}

static void test_lines_with_a_word(void **state)
{
	bool changed = true, left = true;

	(void)state;
	assert_text(target_text_without("# force-unsafe-io\n", "force-unsafe-io", &changed, &left), "# force-unsafe-io\n");
	assert_false(changed);
	assert_text(target_text_without("# why\n\n  force-unsafe-io\n", "force-unsafe-io", &changed, &left), "# why\n\n");
	assert_true(changed);
	assert_false(left);
	assert_text(target_text_without("force-unsafe-io\nno-pager", "force-unsafe-io", &changed, &left), "no-pager\n");
	assert_true(changed && left);
	assert_text(target_text_without("", "x", &changed, &left), "");
	assert_false(changed || left);
}

static void test_locales(void **state)
{
	static const char supported[] = "de_DE.UTF-8 UTF-8\nde_DE ISO-8859-1\nde_DE@euro ISO-8859-15\n";
	bool known = false;

	(void)state;
	assert_text(target_localegen_text("# all\n# de_DE ISO-8859-1\n# de_DE.UTF-8 UTF-8\n", supported, "de_DE.UTF-8", &known),
		    "# all\n# de_DE ISO-8859-1\nde_DE.UTF-8 UTF-8\n");
	assert_true(known);
	assert_text(target_localegen_text("de_DE.UTF-8 UTF-8\n", NULL, "de_DE.UTF-8", &known), "de_DE.UTF-8 UTF-8\n");
	assert_true(known);
	assert_text(target_localegen_text(NULL, supported, "de_DE", &known), "de_DE ISO-8859-1\n");
	assert_true(known);
	assert_text(target_localegen_text("x\n", supported, "de_XX.UTF-8", &known), "x\n");
	assert_false(known);
}

static void test_live_packages(void **state)
{
	static const char *const live[] = { "live-boot", "live-boot-initramfs-tools", "live-config-systemd", "live-tools",
					    "live-task-gnome", "casper", "calamares-settings-debian", "ubiquity-frontend-kde" };
	static const char *const others[] = { "", "initramfs-tools", "wubi-tools", "livecd", "gnome", "calamaresx", "casperx" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(live); i++)
		assert_true(target_is_live_package(live[i]));
	for (size_t i = 0; i < COUNT_OF(others); i++)
		assert_false(target_is_live_package(others[i]));
}

static void test_what_apt_would_remove(void **state)
{
	static const char quiet[] = "Reading package lists...\nThe following packages will be REMOVED:\n  gnome* live-boot*\n";

	(void)state;
	assert_true(target_is_live_only(""));
	assert_true(target_is_live_only(quiet));
	assert_true(target_is_live_only("Purg live-boot [1:20230131]\nRemv live-tools:amd64 [1]\nPurg casper"));
	assert_false(target_is_live_only("Purg live-boot [1]\nRemv gnome [1] [live-boot ]\n"));
	assert_false(target_is_live_only("Purg gnome\n"));
	assert_false(target_is_live_only("Purg live-boot [1]\nPurg gnome:amd64 [1]"));
	assert_false(target_is_live_only("Purg live-boot [1]\nInst live-boot-doc (1 Debian:12)\n"));
	assert_false(target_is_live_only("Remv\n"));
}

static void test_sources_in_lines(void **state)
{
	static const char others[] = "# deb cdrom:[x]/ y z\n\ndeb http://deb.debian.org/debian bookworm main\n"
				     "deb [ arch=amd64 ] file:/srv/mirror x y\ndeb file:/cdromish x y\ndeb\ndeb [\ndeb [a] \n";
	bool changed = true;

	(void)state;
	assert_text(target_apt_lines_text(others, &changed), others);
	assert_false(changed);
	assert_text(target_apt_lines_text("deb cdrom:[Debian 12 _x_]/ bookworm main\n"
					  "  deb-src [trusted=yes a=b]\tfile:///cdrom/ ./\ndeb http://x y z\n"
					  "deb [trusted=yes] file:/run/live/medium bookworm main", &changed),
		    "# deb cdrom:[Debian 12 _x_]/ bookworm main\n#   deb-src [trusted=yes a=b]\tfile:///cdrom/ ./\n"
		    "deb http://x y z\n# deb [trusted=yes] file:/run/live/medium bookworm main\n");
	assert_true(changed);
	assert_text(target_apt_lines_text("deb copy:/media/cdrom0 x y", &changed), "# deb copy:/media/cdrom0 x y\n");
	assert_text(target_apt_lines_text("", &changed), "");
	assert_false(changed);
}

static void test_sources_in_stanzas(void **state)
{
	static const char others[] = "Types: deb\nURIs: http://deb.debian.org/debian\n# file:/cdrom\nSuites: file:/cdrom\n\n\n"
				     "Enabled: no\n x: y\nURIs:\n";
	static const char off[] = "Enabled: no\n# why\nTypes: deb\nURIs: file:/cdrom\n  cdrom:[x]/\nSuites: y\n";
	bool changed = true;

	(void)state;
	assert_text(target_apt_stanzas_text(others, &changed), others);
	assert_false(changed);
	assert_text(target_apt_stanzas_text("# why\nTypes: deb\nURIs: file:/cdrom\n  cdrom:[x]/\nEnabled: yes\nSuites: y",
					    &changed), off);
	assert_true(changed);
	assert_text(target_apt_stanzas_text(off, &changed), off);
	assert_text(target_apt_stanzas_text("Types: deb\nuris: file:/run/live/medium http://x\n http://y\nSuites: z\n\n"
					    "Types: deb\n", &changed),
		    "URIs: http://x http://y\nTypes: deb\nSuites: z\n\nTypes: deb\n");
	assert_true(changed);
	assert_text(target_apt_stanzas_text("", &changed), "");
	assert_false(changed);
}

static void put_version(unsigned char *head, unsigned at, const char *text)
{
	memset(head, 0, 4096);
	memcpy(head + 0x202, "HdrS", 4);
	head[0x20e] = (unsigned char)at;
	head[0x20f] = (unsigned char)(at >> 8);
	if (text)
		memcpy(head + 0x200 + at, text, strlen(text) + 1);
}

static void test_kernel_versions(void **state)
{
	unsigned char head[4096];
	char version[32];

	(void)state;
	put_version(head, 0x300, "6.1.0-18-amd64 (debian-kernel@lists.debian.org) #1 SMP");
	assert_true(target_kernel_version(head, sizeof(head), version, sizeof(version)));
	assert_string_equal(version, "6.1.0-18-amd64");
	assert_false(target_kernel_version(head, 0x200, version, sizeof(version)));
	assert_false(target_kernel_version(head, 0x505, version, sizeof(version))); /* ends within */
	assert_false(target_kernel_version(head, sizeof(head), version, 5));
	put_version(head, 0x300, "../../etc/passwd");
	if (target_kernel_version(head, sizeof(head), version, sizeof(version)))
		assert_null(strchr(version, '/'));
	put_version(head, 0, NULL);
	assert_false(target_kernel_version(head, sizeof(head), version, sizeof(version)));
	put_version(head, 0xffff, NULL);
	assert_false(target_kernel_version(head, sizeof(head), version, sizeof(version)));
	put_version(head, 0x300, "");
	assert_false(target_kernel_version(head, sizeof(head), version, sizeof(version)));
	put_version(head, 0x300, "6.1");
	head[0x202] = 'X';
	assert_false(target_kernel_version(head, sizeof(head), version, sizeof(version)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links_stay_in_the_target),
		cmocka_unit_test(test_a_link_is_removed_itself),
		cmocka_unit_test(test_folders_and_copies),
		cmocka_unit_test(test_no_such_program),
		cmocka_unit_test(test_fstab),
		cmocka_unit_test(test_images_added_to_fstab),
		cmocka_unit_test(test_fstab_of_what_has_moved_out),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_lines_with_a_word),
		cmocka_unit_test(test_locales),
		cmocka_unit_test(test_live_packages),
		cmocka_unit_test(test_what_apt_would_remove),
		cmocka_unit_test(test_sources_in_lines),
		cmocka_unit_test(test_sources_in_stanzas),
		cmocka_unit_test(test_kernel_versions),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
