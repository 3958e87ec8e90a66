/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the files of treecopy. Paths are from the top: "" is the top itself, "/usr/bin" is below it.
 *
 * Who touches what: the walk alone has links, made and syncs (but for their count); workers take pieces of folders from the
 * queue; the counters are atomic; the error is set once, under the lock, and stops all.
 */
#ifndef WUBI_TREECOPY_PRIVATE_H
#define WUBI_TREECOPY_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <zlib.h>

#include "treecopy.h"

#define TREECOPY_BLOCK 4096u
#define TREECOPY_LONG_LINK 60 /* ext4 has a shorter one in its inode */
#define TREECOPY_BUFFER (1024u * 1024)
#define TREECOPY_THREADS_MAX 8u
#define TREECOPY_QUEUE 32u /* pieces; each may hold two descriptors, and 1024 is the usual limit */
#define TREECOPY_SYNCS_MAX 16u

struct treecopy_entry {
	char *name;
	struct stat st;
};

struct treecopy_folder {
	atomic_uint users;
	int source_fd, target_fd; /* -1: none */
	char *path;
	struct treecopy_entry *entries; /* by inode, which is nearly the order of their data in a squashfs; folders, too */
	size_t count;
};

struct treecopy_piece { /* some entries of a folder */
	struct treecopy_folder *folder;
	size_t first, end;
};

struct treecopy_made { /* folders, in the order of their making: a parent is before what is in it */
	char *path;
	struct stat st;
};

struct treecopy_link {
	dev_t dev;
	ino_t ino;
	char *path; /* the first name */
};

struct treecopy_again { /* a further name */
	size_t first; /* of links */
	char *path;
};

struct treecopy_links {
	struct treecopy_link *links; /* in the order of their finding */
	size_t count, links_room;
	size_t *slots; /* hash to number + 1 */
	size_t slot_count;
	struct treecopy_again *again;
	size_t again_count, again_room;
};

struct treecopy_item {
	char *path;
	uint64_t length_bytes;
	uint32_t crc;
};

struct treecopy_record {
	pthread_mutex_t lock;
	struct treecopy_item *items;
	size_t count, room;
	uint64_t length_bytes;
};

struct treecopy_job {
	const char *source, *target; /* target NULL: only the source is looked at */
	const char *const *exclude;
	const struct progress *progress; /* of the walk, if there is no target */
	int source_fd, target_fd;
	dev_t target_dev;
	ino_t target_ino;

	pthread_mutex_t lock;   /* of what follows */
	pthread_cond_t changed; /* CLOCK_MONOTONIC */
	struct err err;
	int code;
	char *full;             /* what could not be written for want of space */
	struct treecopy_piece queue[TREECOPY_QUEUE];
	size_t queue_first, queue_count;
	unsigned running;       /* threads that walk or copy */
	bool walked;            /* nothing more will be queued */
	bool is_finishing, is_flushed; /* the last flush is wanted; has succeeded */
	int syncs[TREECOPY_SYNCS_MAX];
	dev_t sync_devs[TREECOPY_SYNCS_MAX];
	size_t sync_count;

	atomic_bool stop;
	atomic_uint_least64_t written_bytes, flushed_bytes, disk_bytes, files;

	struct treecopy_links links;
	struct treecopy_made *made;
	size_t made_count, made_room;
	uint64_t folders;
	struct treecopy_record *record;
};

/* treecopy_job.c */
int treecopy_job_init(struct treecopy_job *j, const char *source, const char *target, const char *const *exclude, struct err *e);
void treecopy_job_free(struct treecopy_job *j);
unsigned treecopy_threads(unsigned wanted); /* 0: as many as processors */
bool treecopy_stopped(struct treecopy_job *j);
/* The first one counts, and stops all. They take errno, and return -errno. */
int treecopy_source_error(struct treecopy_job *j, const char *folder, const char *name, const char *what);
int treecopy_target_error(struct treecopy_job *j, const char *folder, const char *name, const char *what);
int treecopy_fail(struct treecopy_job *j, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Ends when the queue is full no more, or all has stopped: then not queued, and an error. */
int treecopy_queue_put(struct treecopy_job *j, const struct treecopy_piece *piece);
bool treecopy_queue_take(struct treecopy_job *j, struct treecopy_piece *ret); /* false: there is nothing more to do */
void treecopy_wait(struct treecopy_job *j, unsigned ms); /* for a change, at most so long; with the lock held */

/* treecopy_folder.c */
/* Takes path over, in any case. */
int treecopy_folder_read(struct treecopy_job *j, char *path, struct treecopy_folder **ret);
void treecopy_folder_drop(struct treecopy_folder *f);
/* *ret_is_new false: a further name of what was found before. Room for the path is taken only then, or when it is new. */
int treecopy_links_find(struct treecopy_job *j, const struct treecopy_folder *f, const struct treecopy_entry *entry,
			bool *ret_is_new);
void treecopy_links_free(struct treecopy_links *l);
char *treecopy_join(const char *folder, const char *name); /* NULL: no memory */
/* Makes room for one more; items of 'size' bytes. */
bool treecopy_grow(void *items_pointer, size_t count, size_t *room, size_t size);

/* treecopy_walk.c: into the queue, with the folders made; then what comes when all is copied. */
int treecopy_walk(struct treecopy_job *j);
int treecopy_finish(struct treecopy_job *j);

/* treecopy_file.c */
int treecopy_entry_copy(struct treecopy_job *j, const struct treecopy_folder *f, const struct treecopy_entry *entry,
			void *buffer);

/* treecopy_attr.c: owner, mode, extended attributes, times. fds -1: by the path; a link is not followed. */
int treecopy_attr_copy(struct treecopy_job *j, const char *path, const struct stat *st, int source_fd, int target_fd);

/* treecopy_verify.c */
struct treecopy_record *treecopy_record_new(void);
/* Takes path over, in any case. */
int treecopy_record_add(struct treecopy_record *r, char *path, uint64_t length_bytes, uint32_t crc);
uint32_t treecopy_crc_zeros(uint32_t crc, uint64_t bytes);

static inline uint64_t treecopy_blocks(uint64_t bytes)
{
	return (bytes + TREECOPY_BLOCK - 1) / TREECOPY_BLOCK * TREECOPY_BLOCK;
}

/* What a file has of content, by its numbers alone. */
static inline uint64_t treecopy_content(const struct stat *st)
{
	uint64_t allocated = (uint64_t)st->st_blocks * 512, size = (uint64_t)st->st_size;

	return allocated < size ? allocated : size;
}

#endif
