/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "cpio.h"

struct bytes {
	char data[4096];
	size_t have, used;
	size_t step; /* so many at a time */
};

struct seen {
	char text[512];
	int ends;
	int fail; /* what visit() returns */
};

static void put(struct bytes *b, const char *text, size_t n)
{
	assert_true(b->have + n <= sizeof(b->data));
	memcpy(b->data + b->have, text, n);
	b->have += n;
}

static void put_padding(struct bytes *b)
{
	while (b->have & 3)
		put(b, "", 1);
}

static void put_file(struct bytes *b, const char *name, unsigned mode, const char *text)
{
	char header[111];

	(void)snprintf(header, sizeof(header), "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", 5u, mode, 0u, 0u, 2u,
		       0u,
		       (unsigned)strlen(text), 8u, 1u, 0u, 0u, (unsigned)strlen(name) + 1, 0u);
	put(b, header, 110);
	put(b, name, strlen(name) + 1);
	put_padding(b);
	put(b, text, strlen(text));
	put_padding(b);
}

static void put_end(struct bytes *b)
{
	put_file(b, "TRAILER!!!", 0, "");
}

static int read_bytes(void *ctx, void *buf, size_t n, size_t *ret_n, struct err *e)
{
	struct bytes *b = ctx;
	size_t left = b->have - b->used;

	(void)e;
	n = n < b->step ? n : b->step;
	*ret_n = n < left ? n : left;
	memcpy(buf, b->data + b->used, *ret_n);
	b->used += *ret_n;
	return 0;
}

static bool wants(void *ctx, const struct cpio_entry *entry)
{
	(void)ctx;
	return entry->path[0] != 'u';
}

static int visit(void *ctx, const struct cpio_entry *entry, void *data, struct err *e)
{
	struct seen *s = ctx;
	size_t used = strlen(s->text);

	assert_int_equal(entry->inode, 5);
	assert_int_equal(entry->links, 2);
	assert_int_equal(entry->device_major, 8);
	assert_int_equal(entry->device_minor, 1);
	(void)snprintf(s->text + used, sizeof(s->text) - used, "%s %o %u '%.*s' %s;", entry->path, (unsigned)entry->mode,
		       (unsigned)entry->size_bytes, data ? (int)entry->size_bytes : 0, data ? (char *)data : "",
		       entry->target ? entry->target : "-");
	return s->fail ? err_set(e, s->fail, "as wanted") : 0;
}

static void end(void *ctx)
{
	((struct seen *)ctx)->ends++;
}

static int run(struct bytes *b, struct seen *s, struct err *e)
{
	struct cpio_source source = { .read = read_bytes, .ctx = b };
	const struct cpio_visitor visitor = { wants, visit, end, s };
	int r;

	b->used = 0;
	memset(s->text, 0, sizeof(s->text));
	s->ends = 0;
	r = cpio_read(&source, &visitor, e);
	assert_true(source.position <= b->have);
	return r;
}

static void fill(struct bytes *b)
{
	*b = (struct bytes){ .step = 4096 };
	put_file(b, "a", 0100755, "hello");
	put_file(b, "empty", 0100644, "");
	put_file(b, "link", 0120777, "usr/lib");
	put_file(b, "unwanted", 0100644, "x");
	put_file(b, "folder", 0040755, "");
	put_end(b);
}

static const char all[] = "a 100755 5 'hello' -;empty 100644 0 '' -;link 120777 7 '' usr/lib;unwanted 100644 1 '' -;folder 40755 "
	"0 '' -;";

static void a_whole_archive_is_read(void **state)
{
	struct seen s = { .fail = 0 };
	struct err e = ERR_INIT;
	struct bytes b;

	(void)state;
	fill(&b);
	for (b.step = 1; b.step < 300; b.step += 7) {
		assert_int_equal(run(&b, &s, &e), 0);
		assert_string_equal(s.text, all);
		assert_int_equal(s.ends, 1);
	}
}

static void cut_anywhere_it_is_damaged(void **state)
{
	struct seen s = { .fail = 0 };
	struct bytes b;
	size_t whole;

	(void)state;
	fill(&b);
	whole = b.have;
	for (b.have = 0; b.have < whole; b.have++) {
		struct err e = ERR_INIT;

		assert_int_equal(run(&b, &s, &e), -EINVAL);
		assert_int_equal(s.ends, 0);
		assert_text_has(e.text, "byte");
	}
}

static void damaged(size_t offset, char byte, const char *words)
{
	struct seen s = { .fail = 0 };
	struct err e = ERR_INIT;
	struct bytes b;

	fill(&b);
	b.data[offset] = byte;
	assert_int_equal(run(&b, &s, &e), -EINVAL);
	assert_text_has(e.text, words);
}

static void damage_is_seen(void **state)
{
	(void)state;
	damaged(5, '7', "old format");
	damaged(0, 'x', "no header");
	damaged(5, '3', "no header");
	damaged(6, 'g', "damaged header");
	damaged(13, '\0', "damaged header");
	damaged(54, '/', "damaged header");      /* size */
	damaged(98, '8', "a name of");           /* name's size: > PATH_MAX */
	damaged(101, '1', "a name of");
	damaged(111, 'x', "damaged name");       /* the NUL behind it */
	damaged(110, '\0', "damaged name");
}

static void a_link_has_a_target(void **state)
{
	struct seen s = { .fail = 0 };
	struct err e = ERR_INIT;
	struct bytes b = { .step = 100 };

	(void)state;
	put_file(&b, "link", 0120777, "");
	put_end(&b);
	assert_int_equal(run(&b, &s, &e), -EINVAL);
	assert_text_has(e.text, "'link'");
}

static void the_visitor_ends_it(void **state)
{
	struct seen s = { .fail = -E2BIG };
	struct err e = ERR_INIT;
	struct bytes b;

	(void)state;
	fill(&b);
	assert_int_equal(run(&b, &s, &e), -E2BIG);
	assert_string_equal(e.text, "as wanted");
	assert_int_equal(s.ends, 0);
}

static void zeros_are_skipped_and_the_next_byte_stays(void **state)
{
	struct bytes b = { .step = 3 };
	struct cpio_source source = { .read = read_bytes, .ctx = &b };
	struct seen s = { .fail = 0 };
	const struct cpio_visitor visitor = { wants, visit, NULL, &s };
	struct err e = ERR_INIT;
	int next;

	(void)state;
	put(&b, "\0\0\0\0\0\0\0\0", 8);
	put_end(&b);
	assert_int_equal(cpio_next_byte(&source, &next, &e), 0);
	assert_int_equal(next, '0');
	assert_int_equal(source.position, 8);
	assert_int_equal(cpio_next_byte(&source, &next, &e), 0);
	assert_int_equal(next, '0');
	assert_int_equal(cpio_read(&source, &visitor, &e), 0);
	assert_int_equal(source.position, b.have);
	assert_int_equal(cpio_next_byte(&source, &next, &e), 0);
	assert_int_equal(next, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_anywhere_it_is_damaged),
		cmocka_unit_test(damage_is_seen),
		cmocka_unit_test(a_link_has_a_target),
		cmocka_unit_test(the_visitor_ends_it),
		cmocka_unit_test(a_whole_archive_is_read),
		cmocka_unit_test(zeros_are_skipped_and_the_next_byte_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
