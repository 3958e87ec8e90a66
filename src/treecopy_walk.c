/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk over the source, one folder after the other: folders are made, what is in them is queued. Folders get their owners,
 * modes and times when all else is there, since each name that is made in one changes its time.
 */
#include "treecopy_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "auto.h"

#define PIECE_ENTRIES 64
#define PIECE_BYTES (4u * 1024 * 1024)

struct pending {
	char *path;
	struct stat st;
};

struct stack {
	struct pending *items;
	size_t count, room;
};

static void stack_free(struct stack *s)
{
	while (s->count)
		free(s->items[--s->count].path);
	free(s->items);
}

static void auto_stack(struct stack *s)
{
	stack_free(s);
}

static int push(struct treecopy_job *j, struct stack *s, char *path, const struct stat *st)
{
	if (!path || !treecopy_grow((void *)&s->items, s->count, &s->room, sizeof(*s->items))) {
		free(path);
		return treecopy_fail(j, -ENOMEM, "out of memory");
	}
	s->items[s->count++] = (struct pending){ path, *st };
	return 0;
}

/* The folders of this one: the last pushed is the next one, so backwards. Nothing of them is for the queue. */
static int push_folders(struct treecopy_job *j, struct stack *s, struct treecopy_folder *f)
{
	for (size_t i = f->count; i-- > 0;) {
		struct treecopy_entry *entry = &f->entries[i];
		int code;

		if (!S_ISDIR(entry->st.st_mode))
			continue;
		if (j->target && entry->st.st_dev == j->target_dev && entry->st.st_ino == j->target_ino)
			return treecopy_fail(j, -ELOOP, "'%s' lies in '%s', which would be copied into itself", j->target,
					     j->source);
		code = push(j, s, treecopy_join(f->path, entry->name), &entry->st);
		if (code)
			return code;
		entry->st.st_mode = 0;
	}
	return 0;
}

static bool is_first_name(const struct treecopy_entry *entry)
{
	return entry->st.st_mode != 0;
}

/* Further names of what there is already: not for the queue either. */
static int find_links(struct treecopy_job *j, struct treecopy_folder *f)
{
	for (size_t i = 0; i < f->count; i++) {
		struct treecopy_entry *entry = &f->entries[i];
		bool is_new = true;
		int code;

		if (!is_first_name(entry))
			continue;
		atomic_fetch_add(&j->files, 1);
		if (entry->st.st_nlink < 2)
			continue;
		code = treecopy_links_find(j, f, entry, &is_new);
		if (code)
			return code;
		if (!is_new)
			entry->st.st_mode = 0;
	}
	return 0;
}

static int queue_entries(struct treecopy_job *j, struct treecopy_folder *f)
{
	struct treecopy_piece piece = { f, 0, 0 };
	uint64_t bytes = 0;
	size_t used = 0;
	int code = 0;

	for (size_t i = 0; i < f->count && !code; i++) {
		if (!is_first_name(&f->entries[i]))
			continue;
		bytes += S_ISREG(f->entries[i].st.st_mode) ? (uint64_t)f->entries[i].st.st_size : 0;
		piece.end = i + 1;
		if (++used < PIECE_ENTRIES && bytes < PIECE_BYTES)
			continue;
		atomic_fetch_add(&f->users, 1);
		code = treecopy_queue_put(j, &piece);
		if (code)
			treecopy_folder_drop(f);
		piece.first = i + 1;
		used = 0;
		bytes = 0;
	}
	if (code || !used)
		return code;
	atomic_fetch_add(&f->users, 1);
	code = treecopy_queue_put(j, &piece);
	if (code)
		treecopy_folder_drop(f);
	return code;
}

/* Home may have a file system of its own in the target: it is flushed, too. Before anything is written to it. */
static int note_device(struct treecopy_job *j, const struct treecopy_folder *f)
{
	struct stat st;
	int fd;

	if (fstat(f->target_fd, &st) < 0)
		return treecopy_target_error(j, f->path, NULL, "look at it");
	for (size_t i = 0; i < j->sync_count; i++)
		if (j->sync_devs[i] == st.st_dev)
			return 0;
	if (j->sync_count == TREECOPY_SYNCS_MAX)
		return treecopy_fail(j, -EMFILE, "'%s' in '%s': more than %u file systems are mounted in the target", f->path,
				     j->target, TREECOPY_SYNCS_MAX);
	fd = fcntl(f->target_fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return treecopy_target_error(j, f->path, NULL, "open");
	(void)pthread_mutex_lock(&j->lock);
	j->sync_devs[j->sync_count] = st.st_dev;
	j->syncs[j->sync_count++] = fd;
	(void)pthread_mutex_unlock(&j->lock);
	return 0;
}

static int make_folder(struct treecopy_job *j, struct treecopy_folder *f, const struct stat *st)
{
	const char *path = f->path[0] ? f->path + 1 : ".";

	if (f->path[0] && mkdirat(j->target_fd, path, 0700) < 0 && errno != EEXIST)
		return treecopy_target_error(j, f->path, NULL, "make the folder");
	/* what is there already is a mount point, or else no folder: a link is not followed */
	f->target_fd = openat(j->target_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->target_fd < 0)
		return treecopy_target_error(j, f->path, NULL, "open");
	if (!treecopy_grow((void *)&j->made, j->made_count, &j->made_room, sizeof(*j->made)))
		return treecopy_fail(j, -ENOMEM, "out of memory");
	j->made[j->made_count].path = strdup(f->path);
	if (!j->made[j->made_count].path)
		return treecopy_fail(j, -ENOMEM, "out of memory");
	j->made[j->made_count++].st = *st;
	return note_device(j, f);
}

static void count_entries(struct treecopy_job *j, const struct treecopy_folder *f)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct stat *st = &f->entries[i].st;
		uint64_t bytes = S_ISREG(st->st_mode) ? treecopy_content(st) : 0;

		if (S_ISLNK(st->st_mode) && st->st_size >= TREECOPY_LONG_LINK)
			atomic_fetch_add(&j->disk_bytes, TREECOPY_BLOCK);
		atomic_fetch_add(&j->written_bytes, bytes);
		atomic_fetch_add(&j->disk_bytes, treecopy_blocks(bytes));
	}
}

static int walk_folder(struct treecopy_job *j, struct stack *s, char *path, const struct stat *st)
{
	struct treecopy_folder *f = NULL;
	int code = treecopy_folder_read(j, path, &f);

	if (code)
		return code;
	j->folders++;
	atomic_fetch_add(&j->disk_bytes, TREECOPY_BLOCK);
	code = j->target ? make_folder(j, f, st) : 0;
	if (!code)
		code = push_folders(j, s, f);
	if (!code)
		code = find_links(j, f);
	if (!code && j->target)
		code = queue_entries(j, f);
	if (!code && !j->target)
		count_entries(j, f);
	treecopy_folder_drop(f);
	return code;
}

static int tell(struct treecopy_job *j)
{
	struct err e = ERR_INIT;

	if (progress_step(j->progress, "counting", atomic_load(&j->written_bytes), 0, &e))
		return treecopy_fail(j, e.code, "%s", e.text);
	return 0;
}

int treecopy_walk(struct treecopy_job *j)
{
	__attribute__((cleanup(auto_stack))) struct stack s = { NULL, 0, 0 };
	struct stat st;
	int code;

	if (fstat(j->source_fd, &st) < 0)
		return treecopy_source_error(j, "", NULL, "look at it");
	code = push(j, &s, strdup(""), &st);
	while (!code && s.count && !treecopy_stopped(j)) {
		struct pending next = s.items[--s.count];

		code = walk_folder(j, &s, next.path, &next.st);
		if (!code)
			code = tell(j);
	}
	return code;
}

int treecopy_finish(struct treecopy_job *j)
{
	for (size_t i = 0; i < j->links.again_count && !treecopy_stopped(j); i++) {
		const struct treecopy_again *a = &j->links.again[i];

		if (linkat(j->target_fd, j->links.links[a->first].path + 1, j->target_fd, a->path + 1, 0) < 0)
			return treecopy_target_error(j, a->path, NULL, "link");
	}
	for (size_t i = j->made_count; i-- > 0 && !treecopy_stopped(j);) {
		int code = treecopy_attr_copy(j, j->made[i].path, &j->made[i].st, -1, -1);

		if (code)
			return code;
	}
	return 0;
}
