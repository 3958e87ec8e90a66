/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "treecopy_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#include "auto.h"
#include "num.h"

#define FLUSH_MS 500 /* between two beginnings: each flush ends a transaction of the target's journal */
#define STEP_MS 100
#define PHASE "copying"

static int64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail */
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void has_ended(struct treecopy_job *j)
{
	(void)pthread_mutex_lock(&j->lock);
	j->running--;
	(void)pthread_cond_broadcast(&j->changed);
	(void)pthread_mutex_unlock(&j->lock);
}

static void *walk_main(void *ctx)
{
	struct treecopy_job *j = ctx;

	(void)treecopy_walk(j); /* an error is in the job */
	(void)pthread_mutex_lock(&j->lock);
	j->walked = true;
	(void)pthread_mutex_unlock(&j->lock);
	has_ended(j);
	return NULL;
}

static void *copy_main(void *ctx)
{
	struct treecopy_job *j = ctx;
	AUTO_FREE void *buffer = malloc(TREECOPY_BUFFER);
	struct treecopy_piece piece;

	if (!buffer)
		(void)treecopy_fail(j, -ENOMEM, "out of memory");
	while (buffer && treecopy_queue_take(j, &piece)) {
		for (size_t i = piece.first; i < piece.end && !treecopy_stopped(j); i++)
			if (piece.folder->entries[i].st.st_mode)
				(void)treecopy_entry_copy(j, piece.folder, &piece.folder->entries[i], buffer);
		treecopy_folder_drop(piece.folder);
	}
	has_ended(j);
	return NULL;
}

/* What was written before it begins is on the disk when it ends. */
static int flush(struct treecopy_job *j)
{
	uint64_t written;
	size_t count;

	(void)pthread_mutex_lock(&j->lock);
	written = atomic_load(&j->written_bytes);
	count = j->sync_count;
	(void)pthread_mutex_unlock(&j->lock);
	for (size_t i = 0; i < count; i++)
		if (syncfs(j->syncs[i]) < 0)
			return treecopy_target_error(j, "", NULL, "flush to the disk");
	atomic_store(&j->flushed_bytes, written);
	return 0;
}

static void *flush_main(void *ctx)
{
	struct treecopy_job *j = ctx;
	int64_t begun = now_ms();

	for (;;) {
		bool is_last, is_over;
		int64_t left;

		(void)pthread_mutex_lock(&j->lock);
		while ((left = begun + FLUSH_MS - now_ms()) > 0 && !j->is_finishing && !j->code)
			treecopy_wait(j, (unsigned)left);
		is_last = j->is_finishing;
		is_over = j->code != 0;
		(void)pthread_mutex_unlock(&j->lock);
		if (is_over)
			return NULL;
		begun = now_ms();
		if (!is_last && atomic_load(&j->written_bytes) == atomic_load(&j->flushed_bytes))
			continue;
		if (flush(j) || is_last)
			break;
	}
	(void)pthread_mutex_lock(&j->lock);
	j->is_flushed = true; /* if it failed, that is in the job */
	(void)pthread_cond_broadcast(&j->changed);
	(void)pthread_mutex_unlock(&j->lock);
	return NULL;
}

static void tell(struct treecopy_job *j, const struct progress *p, uint64_t total_bytes)
{
	uint64_t done = atomic_load(&j->flushed_bytes);
	struct err e = ERR_INIT;

	if (progress_step(p, PHASE, done < total_bytes ? done : total_bytes, total_bytes, &e))
		(void)treecopy_fail(j, e.code, "%s", e.text);
}

/* With progress, until the threads have ended, or all is flushed, or there is an error. */
static void attend(struct treecopy_job *j, const struct progress *p, uint64_t total_bytes)
{
	bool is_over = false;

	while (!is_over) {
		int64_t until = now_ms() + STEP_MS, left;

		(void)pthread_mutex_lock(&j->lock);
		while (!(is_over = j->code != 0 || (j->is_finishing ? j->is_flushed : j->running == 0)) &&
		       (left = until - now_ms()) > 0)
			treecopy_wait(j, (unsigned)left);
		is_over = is_over || j->code != 0;
		(void)pthread_mutex_unlock(&j->lock);
		if (!treecopy_stopped(j))
			tell(j, p, total_bytes);
	}
}

struct threads {
	pthread_t ids[TREECOPY_THREADS_MAX + 1], flusher;
	size_t count;
	bool has_flusher;
};

static bool start_one(struct treecopy_job *j, pthread_t *id, void *(*main)(void *))
{
	int problem = pthread_create(id, NULL, main, j);

	if (problem)
		(void)treecopy_fail(j, -problem, "start a thread: %s", strerror(problem));
	return !problem;
}

/* Signals are for the thread of the caller. */
static void start_all(struct treecopy_job *j, unsigned workers, struct threads *t)
{
	sigset_t all, old;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	(void)pthread_mutex_lock(&j->lock);
	j->running = workers + 1;
	(void)pthread_mutex_unlock(&j->lock);
	for (unsigned i = 0; i < workers + 1; i++) {
		if (start_one(j, &t->ids[t->count], i ? copy_main : walk_main))
			t->count++;
		else
			has_ended(j);
	}
	t->has_flusher = start_one(j, &t->flusher, flush_main);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void run_threads(struct treecopy_job *j, const struct treecopy_params *par, const struct progress *p)
{
	struct threads t = { .count = 0 };

	start_all(j, treecopy_threads(par->threads), &t);
	attend(j, p, par->total_bytes);
	for (size_t i = 0; i < t.count; i++)
		(void)pthread_join(t.ids[i], NULL);
	if (!treecopy_stopped(j) && treecopy_finish(j) == 0) {
		(void)pthread_mutex_lock(&j->lock);
		j->is_finishing = true;
		(void)pthread_cond_broadcast(&j->changed);
		(void)pthread_mutex_unlock(&j->lock);
		attend(j, p, par->total_bytes);
	}
	if (t.has_flusher)
		(void)pthread_join(t.flusher, NULL);
}

/* Of the file system where there was no room: free blocks for all, since what is reserved is used up already. */
static int free_space(const struct treecopy_job *j, struct statvfs *ret)
{
	AUTO_FREE char *folder = strdup(j->full);
	AUTO_FD int fd = -1;

	if (!folder)
		return -1;
	*strrchr(folder, '/') = '\0';
	fd = openat(j->target_fd, folder[0] ? folder + 1 : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -1 : fstatvfs(fd, ret);
}

static void explain_full(struct treecopy_job *j, const struct treecopy_params *par)
{
	char more[NUM_BYTES_TEXT], rest[NUM_BYTES_TEXT], left[NUM_BYTES_TEXT];
	uint64_t remaining, available, names, copied = atomic_load(&j->disk_bytes);
	struct treecopy_totals totals;
	struct statvfs vfs;

	if (!strchr(j->full, '/') || free_space(j, &vfs) < 0 || treecopy_measure(par->source, par->exclude, NULL, &totals, NULL))
		return; /* what went wrong is told already */
	names = totals.files + totals.folders;
	if (vfs.f_files && !vfs.f_ffree) {
		(void)err_set(&j->err, -ENOSPC, "'%s': no inodes left: the target has %llu, %llu are needed", j->full,
			      (unsigned long long)vfs.f_files, (unsigned long long)names);
		return;
	}
	remaining = totals.disk_bytes > copied + TREECOPY_BLOCK ? totals.disk_bytes - copied : TREECOPY_BLOCK;
	available = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	(void)err_set(&j->err, -ENOSPC, "'%s': no space left: %s more are needed: %s are still to be copied, %s are free",
		      j->full, num_format_bytes(remaining > available ? remaining - available : remaining, more),
		      num_format_bytes(remaining, rest), num_format_bytes(available, left));
}

int treecopy_run(const struct treecopy_params *par, const struct progress *p, struct treecopy_record **ret,
		 struct treecopy_totals *ret_totals, struct err *e)
{
	struct treecopy_job j;
	int code = treecopy_job_init(&j, par->source, par->target, par->exclude, e);

	if (!code) {
		j.record = treecopy_record_new();
		code = j.record ? 0 : err_set(e, -ENOMEM, "'%s': out of memory", par->target);
	}
	if (!code) {
		run_threads(&j, par, p);
		code = j.code;
		if (j.full)
			explain_full(&j, par);
		if (code)
			(void)err_set(e, code, "%s", j.err.text);
	}
	if (!code) {
		*ret_totals = (struct treecopy_totals){ .files = j.files, .folders = j.folders, .content_bytes = j.written_bytes,
							.disk_bytes = j.disk_bytes };
		*ret = TAKE(j.record);
		(void)progress_step(p, PHASE, par->total_bytes, par->total_bytes, NULL); /* nothing is left to be cancelled */
	}
	treecopy_job_free(&j);
	return code;
}

int treecopy_measure(const char *source, const char *const *exclude, const struct progress *p, struct treecopy_totals *ret,
		     struct err *e)
{
	struct treecopy_job j;
	int code = treecopy_job_init(&j, source, NULL, exclude, e);

	j.progress = p;
	if (!code) {
		code = treecopy_walk(&j);
		if (code)
			(void)err_set(e, code, "%s", j.err.text);
	}
	if (!code)
		*ret = (struct treecopy_totals){ .files = j.files, .folders = j.folders, .content_bytes = j.written_bytes,
						 .disk_bytes = j.disk_bytes };
	treecopy_job_free(&j);
	return code;
}
