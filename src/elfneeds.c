/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elfneeds.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENTS_MAX 1024
#define DYNAMIC_MAX 8192

/* A file in memory, and where in it the strings of its dynamic section are. */
struct file {
	Elf *elf;
	const char *data;
	size_t bytes;
	const char *strings;
	size_t string_bytes;
};

static const struct {
	unsigned machine, bits;
	const char *multiarch;
} machines[] = {
	{ EM_X86_64, 64, "x86_64-linux-gnu" },
	{ EM_X86_64, 32, "x86_64-linux-gnux32" },
	{ EM_386, 32, "i386-linux-gnu" },
	{ EM_AARCH64, 64, "aarch64-linux-gnu" },
	{ EM_ARM, 32, "arm-linux-gnueabihf" },
	{ EM_RISCV, 64, "riscv64-linux-gnu" },
	{ EM_PPC64, 64, "powerpc64le-linux-gnu" },
};

void elfneeds_free(struct elfneeds *needs)
{
	if (!needs)
		return;
	for (size_t i = 0; i < needs->library_count; i++)
		free(needs->libraries[i]);
	free(needs->libraries);
	free(needs->interpreter);
	free(needs->search);
	free(needs);
}

size_t elfneeds_bytes(const struct elfneeds *needs)
{
	size_t n = sizeof(*needs) + (needs->interpreter ? strlen(needs->interpreter) + 1 : 0) +
		   (needs->search ? strlen(needs->search) + 1 : 0);

	for (size_t i = 0; i < needs->library_count; i++)
		n += sizeof(needs->libraries[i]) + strlen(needs->libraries[i]) + 1;
	return n;
}

static int damaged(const char *what, struct err *e)
{
	return err_set(e, -EINVAL, "a damaged ELF file: %s", what);
}

/* Copies the text that starts at p, if it ends before 'end'. NULL: it does not, or no memory. */
static char *copy_text(const char *p, const char *end)
{
	size_t room = (size_t)(end - p), n = strnlen(p, room);

	return n < room && n < ELFNEEDS_TEXT_MAX ? strndup(p, n) : NULL;
}

static int read_interpreter(const struct file *f, const GElf_Phdr *segment, struct elfneeds *needs, struct err *e)
{
	if (segment->p_offset >= f->bytes || segment->p_filesz > f->bytes - segment->p_offset || needs->interpreter)
		return damaged("the interpreter", e);
	needs->interpreter = copy_text(f->data + segment->p_offset, f->data + segment->p_offset + segment->p_filesz);
	return needs->interpreter ? 0 : damaged("the interpreter", e);
}

/* The strings are told by their address in memory: which part of the file will be there? */
static int find_strings(struct file *f, size_t segments, GElf_Addr address, GElf_Xword bytes, struct err *e)
{
	for (size_t i = 0; i < segments; i++) {
		GElf_Phdr p;
		GElf_Off within;

		if (!gelf_getphdr(f->elf, (int)i, &p) || p.p_type != PT_LOAD || address < p.p_vaddr)
			continue;
		within = address - p.p_vaddr;
		if (within >= p.p_filesz || bytes > p.p_filesz - within)
			continue;
		if (p.p_offset > f->bytes || within > f->bytes - p.p_offset || bytes > f->bytes - p.p_offset - within)
			break;
		f->strings = f->data + p.p_offset + within;
		f->string_bytes = (size_t)bytes;
		return 0;
	}
	return damaged("the names of the libraries", e);
}

static int add_library(const struct file *f, GElf_Xword offset, struct elfneeds *needs, struct err *e)
{
	char **more;

	if (offset >= f->string_bytes || needs->library_count >= ELFNEEDS_LIBRARIES_MAX)
		return damaged("the name of a library", e);
	more = reallocarray(needs->libraries, needs->library_count + 1, sizeof(*more));
	if (!more)
		return err_set(e, -ENOMEM, "out of memory");
	needs->libraries = more;
	more[needs->library_count] = copy_text(f->strings + offset, f->strings + f->string_bytes);
	if (!more[needs->library_count])
		return damaged("the name of a library", e);
	needs->library_count++;
	return 0;
}

/* RUNPATH counts, and RPATH where there is none. */
static int take_search(const struct file *f, const GElf_Dyn *d, struct elfneeds *needs, struct err *e)
{
	if (d->d_un.d_val >= f->string_bytes)
		return damaged("the search path", e);
	if (needs->search && d->d_tag == DT_RPATH)
		return 0;
	free(needs->search);
	needs->search = copy_text(f->strings + d->d_un.d_val, f->strings + f->string_bytes);
	return needs->search ? 0 : damaged("the search path", e);
}

static int read_dynamic(struct file *f, size_t segments, const GElf_Phdr *segment, struct elfneeds *needs, struct err *e)
{
	Elf_Data *dynamic = elf_getdata_rawchunk(f->elf, (int64_t)segment->p_offset, segment->p_filesz, ELF_T_DYN);
	GElf_Addr strings = 0;
	GElf_Xword string_bytes = 0;
	GElf_Dyn d;
	int r;

	if (!dynamic)
		return damaged("the dynamic section", e);
	for (int i = 0; i < DYNAMIC_MAX && gelf_getdyn(dynamic, i, &d) && d.d_tag != DT_NULL; i++) {
		strings = d.d_tag == DT_STRTAB ? d.d_un.d_ptr : strings;
		string_bytes = d.d_tag == DT_STRSZ ? d.d_un.d_val : string_bytes;
	}
	r = find_strings(f, segments, strings, string_bytes, e);
	for (int i = 0; !r && i < DYNAMIC_MAX && gelf_getdyn(dynamic, i, &d) && d.d_tag != DT_NULL; i++) {
		if (d.d_tag == DT_NEEDED)
			r = add_library(f, d.d_un.d_val, needs, e);
		else if (d.d_tag == DT_RUNPATH || d.d_tag == DT_RPATH)
			r = take_search(f, &d, needs, e);
	}
	return r;
}

static int read_segments(struct file *f, struct elfneeds *needs, struct err *e)
{
	bool has_dynamic = false;
	size_t segments;
	int r = 0;

	if (elf_getphdrnum(f->elf, &segments) || segments > SEGMENTS_MAX)
		return damaged("the program headers", e);
	for (size_t i = 0; !r && i < segments; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(f->elf, (int)i, &p))
			return damaged("the program headers", e);
		if (p.p_type == PT_INTERP)
			r = read_interpreter(f, &p, needs, e);
		else if (p.p_type == PT_DYNAMIC && has_dynamic)
			r = damaged("two dynamic sections", e);
		else if (p.p_type == PT_DYNAMIC)
			r = read_dynamic(f, segments, &p, needs, e);
		has_dynamic = has_dynamic || p.p_type == PT_DYNAMIC;
	}
	return r;
}

static int read_file(struct file *f, struct elfneeds *needs, struct err *e)
{
	GElf_Ehdr header;

	if (elf_kind(f->elf) != ELF_K_ELF)
		return err_set(e, -ENOEXEC, "no ELF file");
	if (!gelf_getehdr(f->elf, &header))
		return damaged("the header", e);
	needs->machine = header.e_machine;
	needs->bits = gelf_getclass(f->elf) == ELFCLASS64 ? 64 : 32;
	needs->multiarch = "";
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].machine == needs->machine && machines[i].bits == needs->bits)
			needs->multiarch = machines[i].multiarch;
	return read_segments(f, needs, e);
}

int elfneeds_read(void *data, size_t n, struct elfneeds **ret, struct err *e)
{
	AUTO(elfneeds) struct elfneeds *needs = calloc(1, sizeof(*needs));
	struct file f = { NULL, data, n, NULL, 0 };
	int r;

	if (!needs)
		return err_set(e, -ENOMEM, "out of memory");
	if (n < SELFMAG || memcmp(data, ELFMAG, SELFMAG) != 0)
		return err_set(e, -ENOEXEC, "no ELF file");
	if (elf_version(EV_CURRENT) == EV_NONE)
		return err_set(e, -ENOTSUP, "libelf: %s", elf_errmsg(-1));
	f.elf = elf_memory(data, n);
	if (!f.elf)
		return damaged(elf_errmsg(-1), e);
	r = read_file(&f, needs, e);
	(void)elf_end(f.elf); /* the count of references to it */
	if (!r)
		*ret = TAKE(needs);
	return r;
}
