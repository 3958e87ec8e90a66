/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was copied, and whether the target has it. */
#include "treecopy_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "auto.h"

#define STEP_MS 100
#define PHASE "checking the copy"

struct treecopy_record *treecopy_record_new(void)
{
	struct treecopy_record *r = calloc(1, sizeof(*r));

	if (r)
		(void)pthread_mutex_init(&r->lock, NULL); /* does not fail in glibc */
	return r;
}

int treecopy_record_add(struct treecopy_record *r, char *path, uint64_t length_bytes, uint32_t crc)
{
	int code = 0;

	(void)pthread_mutex_lock(&r->lock);
	if (treecopy_grow((void *)&r->items, r->count, &r->room, sizeof(*r->items))) {
		r->items[r->count++] = (struct treecopy_item){ TAKE(path), length_bytes, crc };
		r->length_bytes += length_bytes;
	} else {
		code = -ENOMEM;
	}
	(void)pthread_mutex_unlock(&r->lock);
	free(path);
	return code;
}

void treecopy_record_free(struct treecopy_record *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		free(r->items[i].path);
	free(r->items);
	(void)pthread_mutex_destroy(&r->lock);
	free(r);
}

/* By doubling: a hole of a terabyte takes 40 steps. */
uint32_t treecopy_crc_zeros(uint32_t crc, uint64_t bytes)
{
	static const unsigned char zero;
	unsigned long sum = crc, piece = crc32_z(0, &zero, 1);

	for (uint64_t n = 1; bytes; n *= 2, bytes >>= 1) {
		if (bytes & 1)
			sum = crc32_combine(sum, piece, (z_off_t)n);
		piece = crc32_combine(piece, piece, (z_off_t)n);
	}
	return (uint32_t)sum;
}

struct check {
	struct treecopy_job *job;
	const struct treecopy_record *record;
	atomic_size_t next;
};

static int differs(struct treecopy_job *j, const char *path, const char *how)
{
	return treecopy_fail(j, -EBADMSG, "'%s' in '%s' is not what was copied: %s: the disk or the memory may be bad", path,
			     j->target, how);
}

/* Over a hole, if there is one. */
static uint64_t next_data(int fd, const struct treecopy_item *item, uint64_t at, uint32_t *crc)
{
	off_t data = lseek(fd, (off_t)at, SEEK_DATA);
	uint64_t next = at;

	if (data < 0 && errno == ENXIO)
		next = item->length_bytes;
	else if (data > (off_t)at)
		next = (uint64_t)data < item->length_bytes ? (uint64_t)data : item->length_bytes;
	*crc = treecopy_crc_zeros(*crc, next - at);
	return next;
}

static int check_content(struct treecopy_job *j, const struct treecopy_item *item, int fd, bool has_holes, unsigned char *buffer)
{
	uint64_t at = 0;
	uint32_t crc = 0;

	while (at < item->length_bytes) {
		ssize_t n;

		if (treecopy_stopped(j))
			return -ECANCELED;
		if (has_holes) {
			uint64_t from = at;

			at = next_data(fd, item, at, &crc);
			atomic_fetch_add(&j->written_bytes, at - from);
			if (at == item->length_bytes)
				break;
		}
		n = pread(fd, buffer, TREECOPY_BUFFER, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return treecopy_target_error(j, item->path, NULL, "read");
		if (n == 0)
			return differs(j, item->path, "it is shorter");
		crc = (uint32_t)crc32_z(crc, buffer, (size_t)n);
		at += (uint64_t)n;
		atomic_fetch_add(&j->written_bytes, (uint64_t)n);
	}
	return crc == item->crc ? 0 : differs(j, item->path, "its content differs");
}

static int check_file(struct treecopy_job *j, const struct treecopy_item *item, unsigned char *buffer)
{
	AUTO_FD int fd = openat(j->target_fd, item->path + 1, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ELOOP || errno == ENOTDIR))
		return differs(j, item->path, strerror(errno));
	if (fd < 0 || fstat(fd, &st) < 0)
		return treecopy_target_error(j, item->path, NULL, "open");
	if (!S_ISREG(st.st_mode))
		return differs(j, item->path, "it is no regular file");
	if ((uint64_t)st.st_size != item->length_bytes)
		return differs(j, item->path, "its length differs");
	/* from the disk, and not from what is in memory of the writing */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return check_content(j, item, fd, treecopy_content(&st) < item->length_bytes, buffer);
}

static void *check_main(void *ctx)
{
	struct check *c = ctx;
	struct treecopy_job *j = c->job;
	AUTO_FREE unsigned char *buffer = malloc(TREECOPY_BUFFER);
	size_t i;

	if (!buffer)
		(void)treecopy_fail(j, -ENOMEM, "out of memory");
	while (!treecopy_stopped(j) && (i = atomic_fetch_add(&c->next, 1)) < c->record->count)
		(void)check_file(j, &c->record->items[i], buffer);
	(void)pthread_mutex_lock(&j->lock);
	j->running--;
	(void)pthread_cond_broadcast(&j->changed);
	(void)pthread_mutex_unlock(&j->lock);
	return NULL;
}

static void attend(struct treecopy_job *j, const struct progress *p, uint64_t total_bytes)
{
	struct err e = ERR_INIT;
	bool is_over = false;

	while (!is_over) {
		(void)pthread_mutex_lock(&j->lock);
		if (j->running)
			treecopy_wait(j, STEP_MS);
		is_over = j->running == 0;
		(void)pthread_mutex_unlock(&j->lock);
		if (!treecopy_stopped(j) && progress_step(p, PHASE, atomic_load(&j->written_bytes), total_bytes, &e))
			(void)treecopy_fail(j, e.code, "%s", e.text);
	}
}

static void check_all(struct check *c, unsigned threads, const struct progress *p)
{
	struct treecopy_job *j = c->job;
	pthread_t ids[TREECOPY_THREADS_MAX];
	sigset_t all, old;
	unsigned count = 0;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the thread of the caller */
	j->running = threads;
	while (count < threads) {
		int problem = pthread_create(&ids[count], NULL, check_main, c);

		if (problem) {
			(void)treecopy_fail(j, -problem, "start a thread: %s", strerror(problem));
			break;
		}
		count++;
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_mutex_lock(&j->lock);
	j->running -= threads - count;
	(void)pthread_mutex_unlock(&j->lock);
	attend(j, p, c->record->length_bytes);
	for (unsigned i = 0; i < count; i++)
		(void)pthread_join(ids[i], NULL);
}

int treecopy_verify(const struct treecopy_record *r, const char *target, unsigned threads, const struct progress *p,
		    struct err *e)
{
	struct treecopy_job j;
	struct check c = { .job = &j, .record = r };
	int code = treecopy_job_init(&j, target, target, NULL, e);

	if (!code) {
		check_all(&c, treecopy_threads(threads), p);
		code = j.code;
		if (code)
			(void)err_set(e, code, "%s", j.err.text);
	}
	treecopy_job_free(&j);
	return code;
}
