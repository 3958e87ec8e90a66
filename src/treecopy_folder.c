/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder of the source with what is in it, and the files that have several names. */
#include "treecopy_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"

static void dir_close(DIR *d)
{
	if (d)
		(void)closedir(d); /* was only read */
}
DEFINE_AUTO(dir, DIR *, dir_close);

char *treecopy_join(const char *folder, const char *name)
{
	size_t room = strlen(folder) + strlen(name) + 2;
	char *path = malloc(room);

	if (path)
		(void)snprintf(path, room, "%s/%s", folder, name);
	return path;
}

bool treecopy_grow(void *items_pointer, size_t count, size_t *room, size_t size)
{
	void *items, *moved;
	size_t wanted = *room ? *room * 2 : 16;

	if (count < *room)
		return true;
	memcpy(&items, items_pointer, sizeof(items)); /* of whatever type they are */
	moved = reallocarray(items, wanted, size);
	if (!moved)
		return false;
	memcpy(items_pointer, &moved, sizeof(moved));
	*room = wanted;
	return true;
}

void treecopy_folder_drop(struct treecopy_folder *f)
{
	if (!f || atomic_fetch_sub(&f->users, 1) > 1)
		return;
	for (size_t i = 0; i < f->count; i++)
		free(f->entries[i].name);
	free(f->entries);
	free(f->path);
	auto_close(&f->source_fd);
	auto_close(&f->target_fd);
	free(f);
}
DEFINE_AUTO(folder, struct treecopy_folder *, treecopy_folder_drop);

static bool is_left_out(const struct treecopy_job *j, const char *folder, const char *name)
{
	size_t n = strlen(folder);

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (n == 0 && strcmp(name, "lost+found") == 0))
		return true;
	for (size_t i = 0; j->exclude && j->exclude[i]; i++) {
		const char *path = j->exclude[i];

		if (strncmp(path, folder, n) == 0 && path[n] == '/' && strcmp(path + n + 1, name) == 0)
			return true;
	}
	return false;
}

static int by_inode(const void *a, const void *b)
{
	const struct treecopy_entry *x = a, *y = b;

	return x->st.st_ino < y->st.st_ino ? -1 : x->st.st_ino > y->st.st_ino;
}

static int read_entries(struct treecopy_job *j, struct treecopy_folder *f, DIR *d)
{
	size_t room = 0;

	for (;;) {
		struct treecopy_entry *at;
		const struct dirent *entry;

		errno = 0;
		entry = readdir(d);
		if (!entry)
			break;
		if (is_left_out(j, f->path, entry->d_name))
			continue;
		if (!treecopy_grow((void *)&f->entries, f->count, &room, sizeof(*f->entries)))
			return treecopy_fail(j, -ENOMEM, "out of memory");
		at = &f->entries[f->count];
		if (fstatat(f->source_fd, entry->d_name, &at->st, AT_SYMLINK_NOFOLLOW) < 0)
			return treecopy_source_error(j, f->path, entry->d_name, "look at it");
		at->name = strdup(entry->d_name);
		if (!at->name)
			return treecopy_fail(j, -ENOMEM, "out of memory");
		f->count++;
	}
	if (errno)
		return treecopy_source_error(j, f->path, NULL, "read the folder");
	if (f->count)
		qsort(f->entries, f->count, sizeof(*f->entries), by_inode);
	return 0;
}

int treecopy_folder_read(struct treecopy_job *j, char *path, struct treecopy_folder **ret)
{
	AUTO(folder) struct treecopy_folder *f = calloc(1, sizeof(*f));
	AUTO(dir) DIR *d = NULL;
	int fd, code;

	if (!f) {
		free(path);
		return treecopy_fail(j, -ENOMEM, "out of memory");
	}
	atomic_init(&f->users, 1);
	f->target_fd = -1;
	f->path = path;
	f->source_fd = openat(j->source_fd, path[0] ? path + 1 : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->source_fd < 0)
		return treecopy_source_error(j, path, NULL, "open");
	fd = fcntl(f->source_fd, F_DUPFD_CLOEXEC, 0);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		code = treecopy_source_error(j, path, NULL, "open");
		auto_close(&fd);
		return code;
	}
	code = read_entries(j, f, d);
	if (code)
		return code;
	*ret = TAKE(f);
	return 0;
}

static size_t slot_of(const struct treecopy_links *l, dev_t dev, ino_t ino)
{
	uint64_t hash = ((uint64_t)ino ^ (uint64_t)dev << 40) * UINT64_C(0x9e3779b97f4a7c15);
	size_t slot = (size_t)(hash >> 20) & (l->slot_count - 1);

	while (l->slots[slot]) {
		const struct treecopy_link *at = &l->links[l->slots[slot] - 1];

		if (at->dev == dev && at->ino == ino)
			break;
		slot = (slot + 1) & (l->slot_count - 1);
	}
	return slot;
}

/* At most half of the slots are used, and their number is a power of two. */
static bool make_slots(struct treecopy_links *l)
{
	size_t *old = l->slots, wanted = l->slot_count ? l->slot_count * 2 : 256;

	if (l->count * 2 < l->slot_count)
		return true;
	l->slots = calloc(wanted, sizeof(*l->slots));
	if (!l->slots) {
		l->slots = old;
		return false;
	}
	free(old);
	l->slot_count = wanted;
	for (size_t i = 0; i < l->count; i++)
		l->slots[slot_of(l, l->links[i].dev, l->links[i].ino)] = i + 1;
	return true;
}

int treecopy_links_find(struct treecopy_job *j, const struct treecopy_folder *f, const struct treecopy_entry *entry,
			bool *ret_is_new)
{
	struct treecopy_links *l = &j->links;
	AUTO_FREE char *path = treecopy_join(f->path, entry->name);
	size_t slot;

	if (!path || !make_slots(l) || !treecopy_grow((void *)&l->links, l->count, &l->links_room, sizeof(*l->links)) ||
	    !treecopy_grow((void *)&l->again, l->again_count, &l->again_room, sizeof(*l->again)))
		return treecopy_fail(j, -ENOMEM, "out of memory");
	slot = slot_of(l, entry->st.st_dev, entry->st.st_ino);
	*ret_is_new = !l->slots[slot];
	if (*ret_is_new) {
		l->links[l->count] = (struct treecopy_link){ entry->st.st_dev, entry->st.st_ino, TAKE(path) };
		l->slots[slot] = ++l->count;
	} else {
		l->again[l->again_count++] = (struct treecopy_again){ l->slots[slot] - 1, TAKE(path) };
	}
	return 0;
}

void treecopy_links_free(struct treecopy_links *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->links[i].path);
	for (size_t i = 0; i < l->again_count; i++)
		free(l->again[i].path);
	free(l->links);
	free(l->again);
	free(l->slots);
}
