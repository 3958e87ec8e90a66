/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bootmenu.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto.h"

#define SECTOR_BYTES 512
#define MARK "# wubi-tools boot menu 1\n"
#define PARTITION_MARK "# of a system in a partition: "
#define MBR_PARTUUID 11 /* "xxxxxxxx-nn", nn hexadecimal; of GPT it is a UUID */

/* The ones in no title and no file's name of ours. In single quotes all else is as it stands. */
#define NO_QUOTED "'"
/* GRUB puts a backslash before these when it hands words on to the kernel, and the kernel knows no such thing */
#define NO_CMDLINE "'\"\\"

static const char head[] =
	MARK
	"#\n"
	"# Made by wubi-boot. Do not edit: it is written anew when the system's kernel, or the place of its image on the\n"
	"# Windows partition, changes. The menu that is shown is the system's own, made by update-grub. If this system does\n"
	"# not start: start a live system and run 'wubi-install --repair' there.\n"
	"\n"
	"# GRUB 2.06's tpm would read the whole image into memory.\n"
	"if rmmod tpm; then true; else clear; fi\n"
	"\n";

static const char find_esp[] =
	"set wubi_esp=\"$root\"\n"
	"if [ ! -e ($wubi_esp)/" BOOTMENU_FOLDER "/grubx64.efi ]; then\n"
	"\tregexp --set=1:wubi_esp '^\\(([^)]*)\\)' \"$cmdpath\"\n"
	"fi\n"
	"export wubi_esp\n"
	"\n";

static const char found[] =
	"if [ \"$wubi_is_there\" = yes ]; then\n"
	"\tset root=wroot\n"
	"\tset prefix=($root)/boot/grub\n"
	"\texport root\n"
	"\texport prefix\n"
	"\tconfigfile $prefix/grub.cfg\n"
	"fi\n"
	"\n"
	"# Only reached when the image is not where it was, or has no menu that can be read.\n";

static const char image_menu[] =
	"if [ \"$wubi_is_there\" = yes ]; then\n"
	"\tmenuentry 'The menu in the image' {\n"
	"\t\tconfigfile (wroot)/boot/grub/grub.cfg\n"
	"\t}\n"
	"fi\n";

static const char others[] =
	"if [ -e ($wubi_esp)/" BOOTMENU_WINDOWS " ]; then\n"
	"\tmenuentry 'Windows' {\n"
	"\t\tchainloader ($wubi_esp)/" BOOTMENU_WINDOWS "\n"
	"\t}\n"
	"fi\n"
	"menuentry 'UEFI firmware settings' {\n"
	"\tfwsetup\n"
	"}\n";

/*
 * What the image's menu is told about the copies: it may be the one of another time, its blocks left where they were when Windows
 * moved the file, and what it names be gone.
 */
#define VAR_TITLE "wubi_title"
#define VAR_COPY "wubi_copy"
#define VAR_CMDLINE "wubi_cmdline"

/* Windows first: an entry's number, by which GRUB_DEFAULT may name it, stays. */
static const char system_entries[] =
	"set wubi_windows=\"$wubi_esp\"\n"
	"if [ -z \"$wubi_windows\" -o ! -e ($wubi_windows)/" BOOTMENU_WINDOWS " ]; then\n"
	"\tsearch --no-floppy --file --set=wubi_windows /" BOOTMENU_WINDOWS "\n"
	"fi\n"
	"if [ -n \"$wubi_windows\" -a -e ($wubi_windows)/" BOOTMENU_WINDOWS " ]; then\n"
	"\tmenuentry 'Windows' --class windows --class os {\n"
	"\t\tchainloader ($wubi_windows)/" BOOTMENU_WINDOWS "\n"
	"\t}\n"
	"fi\n"
	"if [ -n \"$wubi_esp\" -a -n \"$" VAR_COPY "\" -a -e ($wubi_esp)/" BOOTMENU_FOLDER "/vmlinuz-$" VAR_COPY " ]; then\n"
	"\tmenuentry \"$" VAR_TITLE " (kernel copy on the EFI system partition)\" --class gnu-linux --class os {\n"
	"\t\tlinux ($wubi_esp)/" BOOTMENU_FOLDER "/vmlinuz-$" VAR_COPY " $" VAR_CMDLINE "\n"
	"\t\tinitrd ($wubi_esp)/" BOOTMENU_FOLDER "/initrd.img-$" VAR_COPY "\n"
	"\t}\n"
	"fi\n";

static int check_text(const char *what, const char *text, const char *forbidden, struct err *e)
{
	for (const char *c = text; *c; c++)
		if (iscntrl((unsigned char)*c) || strchr(forbidden, *c))
			return err_set(e, -EINVAL, "boot menu: the %s has the character 0x%02x, which cannot be in one", what,
				       (unsigned)(unsigned char)*c);
	return 0;
}

static bool is_uuid_text(const char *text)
{
	return text[0] && !text[strspn(text, "0123456789abcdefABCDEF-")];
}

static int check_extents(const struct extent_list *l, struct err *e)
{
	if (l->count == 0)
		return err_set(e, -EINVAL, "boot menu: the image has no extents");
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].physical_bytes % SECTOR_BYTES || l->items[i].length_bytes % SECTOR_BYTES ||
		    l->items[i].length_bytes == 0)
			return err_set(e, -EINVAL, "boot menu: extent %zu is not whole sectors", i);
	return 0;
}

static int check_copy(const char *version, struct err *e)
{
	if (!version[0] || strpbrk(version, " /"))
		return err_set(e, -EINVAL, "boot menu: '%s' is no version of a kernel", version);
	return check_text("version", version, NO_QUOTED, e);
}

static int check(const struct bootmenu *m, struct err *e)
{
	int code = check_text("title", m->title, NO_QUOTED, e);

	if (!code)
		code = check_text("command line", m->cmdline, NO_CMDLINE, e);
	if (!code && (!is_uuid_text(m->host_partuuid) || !is_uuid_text(m->fs_uuid)))
		code = err_set(e, -EINVAL, "boot menu: '%s' and '%s' should be the UUIDs of the partition and the file system",
			       m->host_partuuid, m->fs_uuid);
	if (!code && m->copy_count > BOOTMENU_COPIES_MAX)
		code = err_set(e, -EINVAL, "boot menu: more than %d kernels", BOOTMENU_COPIES_MAX);
	for (size_t i = 0; !code && i < m->copy_count; i++)
		code = check_copy(m->copies[i].version, e);
	return code ? code : check_extents(m->extents, e);
}

/* As GRUB prints it. */
static void put_lower(FILE *f, const char *text)
{
	for (; *text; text++)
		(void)fputc(tolower((unsigned char)*text), f); /* fclose() tells of a failure */
}

static void put_ranges(FILE *f, const struct extent_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		(void)fprintf(f, "%s%" PRIu64 "+%" PRIu64, i ? "," : "", l->items[i].physical_bytes / SECTOR_BYTES,
			      l->items[i].length_bytes / SECTOR_BYTES);
}

/*
 * The partition is in $wubi_part. The file comes before the UUID: asked for the UUID of what is no file system, GRUB 2.06
 * complains and keeps the device open, and then it cannot be removed.
 */
static void put_try(FILE *f, const struct bootmenu *m)
{
	(void)fputs("\t\t\tif loopback wroot ${wubi_part}", f);
	put_ranges(f, m->extents);
	(void)fputs("; then\n"
		    "\t\t\t\tset wubi_uuid=none\n"
		    "\t\t\t\tif [ -s (wroot)/boot/grub/grub.cfg ]; then\n"
		    "\t\t\t\t\tprobe --set=wubi_uuid --fs-uuid (wroot)\n"
		    "\t\t\t\tfi\n"
		    "\t\t\t\tif [ \"$wubi_uuid\" = '", f);
	put_lower(f, m->fs_uuid);
	(void)fputs("' ]; then\n"
		    "\t\t\t\t\tset wubi_is_there=yes\n"
		    "\t\t\t\telse\n"
		    "\t\t\t\t\tloopback -d wroot\n"
		    "\t\t\t\tfi\n"
		    "\t\t\tfi\n", f);
}

/*
 * Of all partitions with this PARTUUID, which a cloned disk has as well, the one with the file system. GRUB 2.06 has no
 * PARTUUID for an MBR's partitions: there the number counts, and the file system.
 */
static void put_search(FILE *f, const struct bootmenu *m)
{
	bool is_mbr = strlen(m->host_partuuid) == MBR_PARTUUID;
	char pattern[32] = "(hd*,gpt*)";

	if (is_mbr)
		(void)snprintf(pattern, sizeof(pattern), "(hd*,msdos%lu)", strtoul(m->host_partuuid + 9, NULL, 16));
	(void)fprintf(f, "for wubi_part in %s; do\n", pattern);
	/* what matches nothing stays as it stands */
	(void)fprintf(f, "\tif [ \"$wubi_is_there\" = no -a \"$wubi_part\" != '%s' ]; then\n", pattern);
	(void)fputs("\t\tset wubi_uuid=none\n", f);
	if (!is_mbr)
		(void)fputs("\t\tprobe --set=wubi_uuid --part-uuid $wubi_part\n", f);
	(void)fputs("\t\tif [ \"$wubi_uuid\" = '", f);
	put_lower(f, is_mbr ? "none" : m->host_partuuid);
	(void)fputs("' ]; then\n", f);
	put_try(f, m);
	(void)fputs("\t\tfi\n\tfi\ndone\n\n", f);
}

/* Word by word: GRUB would give the kernel one word with spaces in quotation marks. */
static void put_cmdline(FILE *f, const char *cmdline)
{
	while (cmdline[strspn(cmdline, " ")]) {
		size_t n;

		cmdline += strspn(cmdline, " ");
		n = strcspn(cmdline, " ");
		(void)fprintf(f, " '%.*s'", (int)n, cmdline);
		cmdline += n;
	}
}

/* The newest copy is the one that the image's menu gets an entry of. */
static void put_variables(FILE *f, const struct bootmenu *m)
{
	if (!m->copy_count)
		return;
	(void)fprintf(f, "set " VAR_TITLE "='%s'\nset " VAR_COPY "='%s'\nset " VAR_CMDLINE "='%s'\n", m->title,
		      m->copies[0].version, m->cmdline);
	(void)fputs("export " VAR_TITLE "\nexport " VAR_COPY "\nexport " VAR_CMDLINE "\n\n", f);
}

/* One that somebody has deleted is no entry. */
static void put_copies(FILE *f, const struct bootmenu *m)
{
	(void)fputs("set default=0\nset timeout=5\nset wubi_has_copy=no\n\n", f);
	for (size_t i = 0; i < m->copy_count; i++) {
		const char *v = m->copies[i].version;

		(void)fprintf(f, "if [ -s ($wubi_esp)/" BOOTMENU_FOLDER "/'vmlinuz-%s' -a -s ($wubi_esp)/" BOOTMENU_FOLDER
			      "/'initrd.img-%s' ]; then\n\tset wubi_has_copy=yes\n", v, v);
		(void)fprintf(f, "\tmenuentry '%s%s%s (kernel copy; the image was moved or its menu cannot be read)' {\n",
			      m->title, m->copy_count > 1 ? ", Linux " : "", m->copy_count > 1 ? v : "");
		(void)fprintf(f, "\t\tlinux ($wubi_esp)/" BOOTMENU_FOLDER "/'vmlinuz-%s'", v);
		put_cmdline(f, m->cmdline);
		(void)fprintf(f, "\n\t\tinitrd ($wubi_esp)/" BOOTMENU_FOLDER "/'initrd.img-%s'\n\t}\nfi\n", v);
	}
}

/* Without a time-out: whoever comes back to the machine is to read it. */
static void put_advice(FILE *f, const struct bootmenu *m)
{
	(void)fprintf(f,
		      "if [ \"$wubi_has_copy\" = no ]; then\n"
		      "\tset timeout=-1\n"
		      "\tmenuentry 'Cannot start: run wubi-install --repair in a live system (Enter: why)' {\n"
		      "\t\techo '%s cannot be started: the file on the Windows partition that it is in was moved,'\n"
		      "\t\techo 'or its boot menu cannot be read. Nothing is lost by that.'\n"
		      "\t\techo\n"
		      "\t\techo 'Start a live system and run there, as root:'\n"
		      "\t\techo\n"
		      "\t\techo '    wubi-install --repair'\n"
		      "\t\techo\n"
		      "\t\techo 'Esc goes back to the menu.'\n"
		      "\t\tsleep --interruptible 86400\n"
		      "\t}\n"
		      "fi\n", m->title);
}

int bootmenu_format(const struct bootmenu *m, char **ret_text, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t n = 0;
	FILE *f;
	int code = check(m, e);

	if (code)
		return code;
	f = open_memstream(&text, &n);
	if (!f)
		return err_set(e, -ENOMEM, "boot menu: out of memory");
	(void)fputs(head, f); /* the stream remembers a failure */
	(void)fputs(find_esp, f);
	(void)fputs("set wubi_is_there=no\n", f);
	put_search(f, m);
	put_variables(f, m);
	(void)fputs(found, f);
	put_copies(f, m);
	put_advice(f, m);
	(void)fputs(image_menu, f);
	(void)fputs(others, f);
	code = ferror(f);
	if (fclose(f) || code)
		return err_set(e, -ENOMEM, "boot menu: out of memory");
	*ret_text = TAKE(text);
	return 0;
}

/* ---- a system that has moved out, into a partition ---- */

/* A file system that is found can be read: no disk, no place, no loopback. */
static void put_partition(FILE *f, const char *title, const char *uuid)
{
	(void)fputs(MARK PARTITION_MARK, f);
	put_lower(f, uuid);
	(void)fputs("\n#\n"
		    "# Made by 'wubi-install --repair --root'. Do not edit: the menu that is shown is the system's own, made by\n"
		    "# update-grub. If this system does not start: start a live system and run that again there.\n\n", f);
	(void)fputs(find_esp, f);
	(void)fputs("if search --no-floppy --fs-uuid --set=wubi_root ", f);
	put_lower(f, uuid);
	(void)fputs("; then\n"
		    "\tset root=$wubi_root\n"
		    "\tset prefix=($root)/boot/grub\n"
		    "\texport root\n"
		    "\texport prefix\n"
		    "\tconfigfile $prefix/grub.cfg\n"
		    "fi\n\n"
		    "# Only reached when the partition is not there, or has no menu that can be read.\n"
		    "set default=0\nset timeout=-1\n\n"
		    "menuentry 'Cannot start: the partition of the system was not found (Enter: why)' {\n", f);
	(void)fprintf(f, "\techo '%s cannot be started: no partition has the file system'\n\techo '", title);
	put_lower(f, uuid);
	(void)fputs(",'\n"
		    "\techo 'or the boot menu in it cannot be read.'\n"
		    "\techo\n"
		    "\techo 'Is its disk connected? Else start a live system and run there, as root:'\n"
		    "\techo\n"
		    "\techo '    wubi-install --repair --root PARTITION'\n"
		    "\techo\n"
		    "\techo 'Esc goes back to the menu.'\n"
		    "\tsleep --interruptible 86400\n"
		    "}\n", f);
	(void)fputs(others, f);
}

int bootmenu_format_partition(const char *title, const char *fs_uuid, char **ret_text, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t n = 0;
	FILE *f;
	int code = check_text("title", title, NO_QUOTED, e);

	if (!code && !is_uuid_text(fs_uuid))
		code = err_set(e, -EINVAL, "boot menu: '%s' should be the UUID of the file system", fs_uuid);
	if (code)
		return code;
	f = open_memstream(&text, &n);
	if (!f)
		return err_set(e, -ENOMEM, "boot menu: out of memory");
	put_partition(f, title, fs_uuid); /* the stream remembers a failure */
	code = ferror(f);
	if (fclose(f) || code)
		return err_set(e, -ENOMEM, "boot menu: out of memory");
	*ret_text = TAKE(text);
	return 0;
}

bool bootmenu_is_partition(const char *text)
{
	const char *line = strchr(text, '\n');

	return bootmenu_is_ours(text) && line && strncmp(line + 1, PARTITION_MARK, sizeof(PARTITION_MARK) - 1) == 0;
}

/* Of every version: a newer program's may be replaced, too. */
bool bootmenu_is_ours(const char *text)
{
	static const char start[] = "# wubi-tools boot menu ";

	return strncmp(text, start, sizeof(start) - 1) == 0;
}

const char *bootmenu_system_entries(void)
{
	return system_entries;
}
