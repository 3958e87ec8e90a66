/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "elfneeds.h"

/* A whole program in memory: header, three segments, a dynamic section, its strings. */
struct program {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	Elf64_Dyn dynamic[6];
	char interpreter[16];
	char strings[48];
};

#define ADDRESS 0x400000
#define STRINGS "\0libone.so.1\0libtwo.so.2\0$ORIGIN/x:/y"

static struct program make(void)
{
	struct program p = {
		.header = { .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_phoff = sizeof(Elf64_Ehdr),
			    .e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 3 },
		.segments = {
			{ .p_type = PT_LOAD, .p_vaddr = ADDRESS, .p_filesz = sizeof(p), .p_memsz = sizeof(p) },
			{ .p_type = PT_INTERP, .p_offset = offsetof(struct program, interpreter),
			 .p_filesz = sizeof(p.interpreter) },
			{ .p_type = PT_DYNAMIC, .p_offset = offsetof(struct program, dynamic), .p_filesz = sizeof(p.dynamic) },
		},
		.dynamic = {
			{ .d_tag = DT_NEEDED, .d_un.d_val = 1 },
			{ .d_tag = DT_STRTAB, .d_un.d_ptr = ADDRESS + offsetof(struct program, strings) },
			{ .d_tag = DT_STRSZ, .d_un.d_val = sizeof(p.strings) },
			{ .d_tag = DT_NEEDED, .d_un.d_val = 13 },
			{ .d_tag = DT_RUNPATH, .d_un.d_val = 25 },
			{ .d_tag = DT_NULL },
		},
		.interpreter = "/lib/ld.so",
		.strings = STRINGS,
	};

	memcpy(p.header.e_ident, ELFMAG "\2\1\1", 7);
	return p;
}

static int read_it(const void *data, size_t n, struct elfneeds **ret, struct err *e)
{
	void *copy = malloc(n ? n : 1); /* so that valgrind and ASan see what is read beyond its end */
	int r;

	memcpy(copy, data, n);
	*ret = NULL;
	r = elfneeds_read(copy, n, ret, e);
	free(copy);
	return r;
}

static void a_program_tells_what_it_needs(void **state)
{
	struct program p = make();
	struct elfneeds *needs;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(read_it(&p, sizeof(p), &needs, &e), 0);
	assert_int_equal(needs->machine, EM_X86_64);
	assert_int_equal(needs->bits, 64);
	assert_string_equal(needs->multiarch, "x86_64-linux-gnu");
	assert_string_equal(needs->interpreter, "/lib/ld.so");
	assert_string_equal(needs->search, "$ORIGIN/x:/y");
	assert_int_equal(needs->library_count, 2);
	assert_string_equal(needs->libraries[0], "libone.so.1");
	assert_string_equal(needs->libraries[1], "libtwo.so.2");
	elfneeds_free(needs);
	elfneeds_free(NULL);
}

static void without_sections_it_needs_nothing(void **state)
{
	struct program p = make();
	struct elfneeds *needs;
	struct err e = ERR_INIT;

	(void)state;
	p.header.e_phnum = 1;
	assert_int_equal(read_it(&p, sizeof(p), &needs, &e), 0);
	assert_null(needs->interpreter);
	assert_int_equal(needs->library_count, 0);
	elfneeds_free(needs);
}

static void other_files_are_told_apart(void **state)
{
	struct elfneeds *needs;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(read_it("", 0, &needs, &e), -ENOEXEC);
	assert_int_equal(read_it("\177EL", 3, &needs, &e), -ENOEXEC);
	assert_int_equal(read_it("GROUP ( libc.so.6 )", 19, &needs, &e), -ENOEXEC);
	assert_int_equal(read_it("!<arch>\n", 8, &needs, &e), -ENOEXEC);
	assert_int_not_equal(read_it("\177ELF", 4, &needs, &e), 0);
}

static void damaged(struct program p)
{
	struct elfneeds *needs;
	struct err e = ERR_INIT;

	assert_int_equal(read_it(&p, sizeof(p), &needs, &e), -EINVAL);
	assert_null(needs);
	assert_text_has(e.text, "damaged");
}

static void damage_is_refused(void **state)
{
	struct program p = make();

	(void)state;
#define DAMAGE(field, value)           \
	do {                           \
		p = make();            \
		p.field = (value);     \
		damaged(p);            \
	} while (0)
	DAMAGE(segments[0].p_type, PT_NOTE);
	DAMAGE(segments[0].p_filesz, 100);
	DAMAGE(segments[0].p_offset, UINT64_MAX - 4);
	DAMAGE(segments[1].p_offset, sizeof(p));
	DAMAGE(segments[1].p_filesz, UINT64_MAX);
	DAMAGE(segments[1].p_filesz, 4);
	DAMAGE(segments[1].p_type, PT_DYNAMIC);
	DAMAGE(segments[2].p_offset, UINT64_MAX - 16);
	DAMAGE(segments[2].p_filesz, UINT64_MAX / 2);
	DAMAGE(dynamic[0].d_un.d_val, sizeof(p.strings));
	DAMAGE(dynamic[0].d_un.d_val, UINT64_MAX);
	DAMAGE(dynamic[1].d_un.d_val, 0);
	DAMAGE(dynamic[2].d_un.d_val, UINT64_MAX);
	DAMAGE(dynamic[2].d_un.d_val, 14);
	DAMAGE(dynamic[4].d_un.d_val, 4096);
	DAMAGE(header.e_phoff, UINT64_MAX - 8);
}

static void changed_or_cut_anywhere_it_does_no_harm(void **state)
{
	struct program p = make();

	(void)state;
	for (size_t i = 0; i < sizeof(p); i++) {
		static const unsigned char values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
		struct program q = p;
		struct elfneeds *needs;

		(void)read_it(&p, i, &needs, NULL);
		elfneeds_free(needs);
		for (size_t v = 0; v < sizeof(values); v++) {
			((unsigned char *)&q)[i] = values[v];
			(void)read_it(&q, sizeof(q), &needs, NULL);
			elfneeds_free(needs);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_files_are_told_apart),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(changed_or_cut_anywhere_it_does_no_harm),
		cmocka_unit_test(without_sections_it_needs_nothing),
		cmocka_unit_test(a_program_tells_what_it_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
