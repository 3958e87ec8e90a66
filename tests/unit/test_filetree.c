/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cmocka_all.h"
#include "filetree.h"

#define FILE_MODE (S_IFREG | 0644)
#define LINK_MODE (S_IFLNK | 0777)

static struct filetree_node *add(struct filetree *t, const char *path, mode_t mode, const char *target)
{
	struct filetree_node *node;
	struct err e = ERR_INIT;

	assert_int_equal(filetree_add(t, path, mode, target, &node, &e), 0);
	return node;
}

static void refused(struct filetree *t, const char *path)
{
	struct filetree_node *node;
	struct err e = ERR_INIT;

	assert_int_equal(filetree_add(t, path, FILE_MODE, NULL, &node, &e), -EINVAL);
	assert_null(node);
}

static void bad_paths_are_refused(void **state)
{
	AUTO(filetree) struct filetree *t = filetree_new(NULL);
	char *long_path = malloc(PATH_MAX + 2);

	(void)state;
	refused(t, "..");
	refused(t, "a/../../etc/passwd");
	refused(t, "/a/b/..");
	memset(long_path, 'x', PATH_MAX + 1);
	long_path[PATH_MAX + 1] = '\0';
	refused(t, long_path);
	free(long_path);
	add(t, "loop", LINK_MODE, "loop");
	add(t, "one", LINK_MODE, "two/x");
	add(t, "two", LINK_MODE, "one/x");
	refused(t, "loop/file");
	refused(t, "one/file");
	assert_null(filetree_find(t, "loop"));
	assert_non_null(filetree_find_link(t, "loop"));
	assert_null(filetree_find(t, "one"));
}

static void paths_have_many_spellings(void **state)
{
	AUTO(filetree) struct filetree *t = filetree_new(NULL);
	static const char *const spellings[] = { "usr/sbin/x", "/usr/sbin/x", "./usr//sbin/./x", "usr/lib/../sbin/x",
						"usr/sbin/x/" };
	struct filetree_node *node = add(t, ".//usr/sbin/x", FILE_MODE, NULL);

	(void)state;
	assert_string_equal(node->path, "usr/sbin/x");
	for (size_t i = 0; i < COUNT_OF(spellings); i++)
		assert_ptr_equal(filetree_find(t, spellings[i]), node);
	assert_null(filetree_find(t, "usr/sbin"));
	assert_null(filetree_find(t, "usr/sbin/xy"));
	assert_null(add(t, ".", S_IFDIR | 0755, NULL));
}

static void links_are_followed(void **state)
{
	AUTO(filetree) struct filetree *t = filetree_new(NULL);
	struct filetree_node *node;

	(void)state;
	add(t, "lib", LINK_MODE, "usr/lib");
	add(t, "lib64", LINK_MODE, "/usr/lib");
	add(t, "usr/lib/a.so", LINK_MODE, "../lib/./a.so.1");
	add(t, "usr/lib/gone", LINK_MODE, "nowhere");
	add(t, "usr/lib/up", LINK_MODE, "../../../../lib/a.so.1");
	node = add(t, "lib/a.so.1", FILE_MODE, NULL);
	assert_string_equal(node->path, "usr/lib/a.so.1");
	assert_ptr_equal(filetree_find(t, "lib64/a.so"), node);
	assert_ptr_equal(filetree_find(t, "lib/a.so"), node);
	assert_ptr_equal(filetree_find(t, "lib/up"), node);
	assert_int_equal(filetree_find_link(t, "lib64/a.so")->target[0], '.');
	assert_null(filetree_find(t, "lib/gone"));
	assert_non_null(filetree_find_link(t, "lib/gone"));
	assert_ptr_equal(filetree_find_file(t, "lib/a.so", false), node);
	assert_null(filetree_find_file(t, "lib/a.so", true));
	node->mode = S_IFREG | 0711;
	assert_ptr_equal(filetree_find_file(t, "lib/a.so", true), node);
}

static int notes_freed;

static void free_note(void *note)
{
	free(note);
	notes_freed++;
}

static void what_comes_later_counts(void **state)
{
	struct filetree *t = filetree_new(free_note);
	struct filetree_node *node = add(t, "a", FILE_MODE, NULL);
	struct err e = ERR_INIT;

	(void)state;
	notes_freed = 0;
	assert_int_equal(filetree_set_note(t, node, malloc(1), 1, &e), 0);
	assert_int_equal(filetree_set_text(t, node, "old", 3, &e), 0);
	assert_int_equal(filetree_set_text(t, node, "older", 5, &e), 0);
	assert_string_equal(node->text, "older");
	assert_ptr_equal(add(t, "a", LINK_MODE, "b"), node);
	assert_int_equal(notes_freed, 1);
	assert_null(node->text);
	assert_null(node->note);
	assert_string_equal(node->target, "b");
	assert_int_equal(filetree_set_note(t, node, malloc(1), 1, &e), 0);
	filetree_free(t);
	assert_int_equal(notes_freed, 2);
	filetree_free(NULL);
}

static void too_large_a_note_is_refused(void **state)
{
	AUTO(filetree) struct filetree *t = filetree_new(free_note);
	struct filetree_node *a = add(t, "a", FILE_MODE, NULL), *b = add(t, "b", FILE_MODE, NULL);
	struct err e = ERR_INIT;

	(void)state;
	notes_freed = 0;
	assert_int_equal(filetree_set_note(t, a, malloc(1), FILETREE_TEXT_MAX - 4096, &e), 0);
	assert_int_equal(filetree_set_note(t, b, malloc(1), 4096, &e), -E2BIG);
	assert_null(b->note);
	assert_int_equal(notes_freed, 1);
	assert_int_equal(filetree_set_note(t, a, malloc(1), 1, &e), 0);
	assert_int_equal(filetree_set_note(t, b, malloc(1), 4096, &e), 0);
	assert_int_equal(notes_freed, 2);
}

static void too_much_text_is_refused(void **state)
{
	AUTO(filetree) struct filetree *t = filetree_new(NULL);
	struct filetree_node *a = add(t, "a", FILE_MODE, NULL), *b = add(t, "b", FILE_MODE, NULL);
	char *text = calloc(1, FILETREE_TEXT_MAX);
	struct err e = ERR_INIT;

	(void)state;
	/* paths count too */
	assert_int_equal(filetree_set_text(t, a, text, FILETREE_TEXT_MAX, &e), -E2BIG);
	assert_int_equal(filetree_set_text(t, a, text, FILETREE_TEXT_MAX - 4096, &e), 0);
	assert_int_equal(filetree_set_text(t, b, text, 4096, &e), -E2BIG);
	assert_int_equal(filetree_set_text(t, b, text, 2048, &e), 0);
	assert_int_equal(filetree_set_text(t, b, text, 4096, &e), -E2BIG);
	assert_int_equal(filetree_set_text(t, a, text, 1, &e), 0);
	assert_int_equal(filetree_set_text(t, b, text, 4096, &e), 0);
	assert_int_equal(filetree_set_text(t, b, text, FILETREE_TEXT_MAX + 1ul, &e), -E2BIG);
	assert_int_equal(b->text_bytes, 4096);
	free(text);
}

static void too_many_files_are_refused(void **state)
{
	AUTO(filetree) struct filetree *t = filetree_new(NULL);
	struct filetree_node *node;
	struct err e = ERR_INIT;
	char name[16];
	int r = 0;
	unsigned i;

	(void)state;
	for (i = 0; !r && i <= FILETREE_NODES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "%u", i);
		r = filetree_add(t, name, FILE_MODE, NULL, &node, &e);
	}
	assert_int_equal(r, -E2BIG);
	assert_int_equal(i, FILETREE_NODES_MAX + 1);
	assert_int_equal(filetree_add(t, "7", FILE_MODE, NULL, &node, &e), 0); /* that one is there already */
}

static int collect(void *ctx, const struct filetree_node *node)
{
	char *text = ctx;

	strcat(strcat(text, node->path), " "); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy): three names */
	return strcmp(node->path, "b/c") == 0 ? 7 : 0;
}

static void all_are_visited_in_order(void **state)
{
	AUTO(filetree) struct filetree *t = filetree_new(NULL);
	char text[64] = "";

	(void)state;
	add(t, "d", FILE_MODE, NULL);
	add(t, "b/c", FILE_MODE, NULL);
	add(t, "a", FILE_MODE, NULL);
	assert_int_equal(filetree_each(t, collect, text), 7);
	assert_string_equal(text, "a b/c ");
}

static void a_file_with_two_names_is_one(void **state)
{
	AUTO(filetree) struct filetree *t = filetree_new(NULL);
	struct filetree_node *first = add(t, "a", FILE_MODE, NULL);

	(void)state;
	add(t, "b", FILE_MODE, NULL)->same = first;
	assert_ptr_equal(filetree_find(t, "b"), first);
	assert_ptr_equal(filetree_find_file(t, "b", false), first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_paths_are_refused),
		cmocka_unit_test(paths_have_many_spellings),
		cmocka_unit_test(links_are_followed),
		cmocka_unit_test(what_comes_later_counts),
		cmocka_unit_test(too_much_text_is_refused),
		cmocka_unit_test(too_large_a_note_is_refused),
		cmocka_unit_test(too_many_files_are_refused),
		cmocka_unit_test(all_are_visited_in_order),
		cmocka_unit_test(a_file_with_two_names_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
