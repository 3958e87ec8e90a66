/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the threads of a copy share: the first error, the queue, and the waiting. */
#include "treecopy_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "auto.h"

static int open_top(const char *folder, int *ret, struct err *e)
{
	*ret = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret < 0 ? err_errno(e, "folder '%s'", folder) : 0;
}

static void init_lock(struct treecopy_job *j)
{
	pthread_condattr_t attr;

	/* none of these fails in glibc: there is nothing to allocate */
	(void)pthread_mutex_init(&j->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&j->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
}

int treecopy_job_init(struct treecopy_job *j, const char *source, const char *target, const char *const *exclude, struct err *e)
{
	struct stat st;
	int code;

	memset(j, 0, sizeof(*j));
	j->source = source;
	j->target = target;
	j->exclude = exclude;
	j->source_fd = j->target_fd = -1;
	init_lock(j);
	code = open_top(source, &j->source_fd, e);
	if (code || !target)
		return code;
	code = open_top(target, &j->target_fd, e);
	if (code)
		return code;
	if (fstat(j->target_fd, &st) < 0)
		return err_errno(e, "folder '%s'", target);
	j->target_dev = st.st_dev;
	j->target_ino = st.st_ino;
	return 0;
}

void treecopy_job_free(struct treecopy_job *j)
{
	while (j->queue_count) {
		treecopy_folder_drop(j->queue[j->queue_first].folder);
		j->queue_first = (j->queue_first + 1) % TREECOPY_QUEUE;
		j->queue_count--;
	}
	for (size_t i = 0; i < j->sync_count; i++)
		(void)close(j->syncs[i]); /* folders */
	for (size_t i = 0; i < j->made_count; i++)
		free(j->made[i].path);
	free(j->made);
	treecopy_links_free(&j->links);
	treecopy_record_free(j->record);
	free(j->full);
	auto_close(&j->source_fd);
	auto_close(&j->target_fd);
	(void)pthread_cond_destroy(&j->changed);
	(void)pthread_mutex_destroy(&j->lock);
}

bool treecopy_stopped(struct treecopy_job *j)
{
	return atomic_load_explicit(&j->stop, memory_order_relaxed);
}

static void fail(struct treecopy_job *j, const struct err *why, char *full)
{
	(void)pthread_mutex_lock(&j->lock);
	if (!j->code) {
		j->code = why->code;
		j->err = *why;
		j->full = TAKE(full);
	}
	atomic_store(&j->stop, true);
	(void)pthread_cond_broadcast(&j->changed);
	(void)pthread_mutex_unlock(&j->lock);
	free(full);
}

int treecopy_fail(struct treecopy_job *j, int code, const char *fmt, ...)
{
	struct err e = ERR_INIT;
	char text[sizeof(e.text)];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	(void)err_set(&e, code, "%s", text);
	fail(j, &e, NULL);
	return code;
}

static const char *shown(const char *folder, const char *name)
{
	return folder[0] || name ? folder : "/";
}

int treecopy_source_error(struct treecopy_job *j, const char *folder, const char *name, const char *what)
{
	int problem = errno;
	const char *why = problem == EIO ? ": the medium may be bad, or was removed" : "";

	return treecopy_fail(j, -problem, "'%s%s%s' of '%s': %s: %s%s", shown(folder, name), name ? "/" : "", name ? name : "",
			     j->source, what, strerror(problem), why);
}

int treecopy_target_error(struct treecopy_job *j, const char *folder, const char *name, const char *what)
{
	int problem = errno;
	struct err e = ERR_INIT;

	(void)err_set(&e, -problem, "'%s%s%s' in '%s': %s: %s", shown(folder, name), name ? "/" : "", name ? name : "", j->target,
		      what, strerror(problem));
	fail(j, &e, problem == ENOSPC ? name ? treecopy_join(folder, name) : strdup(folder) : NULL);
	return -problem;
}

int treecopy_queue_put(struct treecopy_job *j, const struct treecopy_piece *piece)
{
	bool is_put = false;

	(void)pthread_mutex_lock(&j->lock);
	while (j->queue_count == TREECOPY_QUEUE && !j->code)
		(void)pthread_cond_wait(&j->changed, &j->lock);
	if (!j->code) {
		j->queue[(j->queue_first + j->queue_count) % TREECOPY_QUEUE] = *piece;
		j->queue_count++;
		is_put = true;
		(void)pthread_cond_broadcast(&j->changed);
	}
	(void)pthread_mutex_unlock(&j->lock);
	return is_put ? 0 : -ECANCELED;
}

bool treecopy_queue_take(struct treecopy_job *j, struct treecopy_piece *ret)
{
	bool is_taken = false;

	(void)pthread_mutex_lock(&j->lock);
	while (j->queue_count == 0 && !j->walked && !j->code)
		(void)pthread_cond_wait(&j->changed, &j->lock);
	if (!j->code && j->queue_count) {
		*ret = j->queue[j->queue_first];
		j->queue_first = (j->queue_first + 1) % TREECOPY_QUEUE;
		if (j->queue_count-- == TREECOPY_QUEUE)
			(void)pthread_cond_broadcast(&j->changed);
		is_taken = true;
	}
	(void)pthread_mutex_unlock(&j->lock);
	return is_taken;
}

void treecopy_wait(struct treecopy_job *j, unsigned ms)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail */
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	(void)pthread_cond_timedwait(&j->changed, &j->lock, &until); /* the caller looks whether anything has changed */
}

unsigned treecopy_threads(unsigned wanted)
{
	long processors = wanted ? (long)wanted : sysconf(_SC_NPROCESSORS_ONLN);

	if (processors < 1)
		return 1;
	return processors < (long)TREECOPY_THREADS_MAX ? (unsigned)processors : TREECOPY_THREADS_MAX;
}
