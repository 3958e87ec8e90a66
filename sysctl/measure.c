/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measure: the order of things. The profiles take turns within each run, so that a disk that becomes slower or faster
 * meanwhile does so for all of them. What was in force before is so again after each turn, and no file stays.
 */
#include "measure.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "auto.h"
#include "progout.h"
#include "signals.h"
#include "verbs.h"

#define PARENT "/var/lib/wubi"
#define REDRAW_MS 200
#define SPARE_BYTES (128 * NUM_MIB) /* the other jobs' files, and room that the system needs meanwhile */

static const char *const job_names[] = {
	[MEASURE_FSYNC] = "4 KiB writes, each synced",
	[MEASURE_FILES] = "small files",
	[MEASURE_LARGE] = "a large file",
};

struct work {
	const struct options *o;
	struct measure *m;
	struct profctl_params par;
	char fio[PATH_MAX];
	int folder;          /* MEASURE_FOLDER, locked */
	const char *profile; /* what is being measured, for the progress */
	size_t run, done;
	enum measure_job job;
	bool shows;          /* progress on a terminal */
	int64_t start_ms, shown_ms;
};

/* fio makes no folders. */
static int clear_folder(const struct work *w, struct err *e)
{
	int fd = openat(w->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	int r = 0;

	if (!list) {
		r = err_errno(e, "folder '%s'", MEASURE_FOLDER);
		if (fd >= 0)
			(void)close(fd); /* it was only read */
		return r;
	}
	while (!r && (entry = readdir(list)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && unlinkat(w->folder, entry->d_name, 0))
			r = err_errno(e, "remove '%s/%s'", MEASURE_FOLDER, entry->d_name);
	(void)closedir(list); /* it was only read */
	return r;
}

static int make_folder(const char *path, mode_t mode, struct err *e)
{
	/* whatever the umask is: status, without rights, reads what is in it */
	if (mkdir(path, mode) == 0 ? chmod(path, mode) == 0 : errno == EEXIST)
		return 0;
	return err_errno(e, "make the folder '%s'", path);
}

/* One at a time; what one that was killed has left is removed. */
static int open_folder(struct work *w, struct err *e)
{
	struct statvfs fs;
	int r = make_folder(PARENT, 0755, e);

	if (!r)
		r = make_folder(MEASURE_FOLDER, 0700, e);
	if (r)
		return r;
	w->folder = open(MEASURE_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->folder < 0)
		return err_errno(e, "folder '%s'", MEASURE_FOLDER);
	if (flock(w->folder, LOCK_EX | LOCK_NB)) {
		r = errno == EWOULDBLOCK ? err_refuse(e, "phase-running", "another 'measure' runs: wait for its end") :
		    err_errno(e, "lock the folder '%s'", MEASURE_FOLDER);
		(void)close(w->folder); /* nothing was written */
		w->folder = -1;
		return r;
	}
	r = clear_folder(w, e);
	if (r)
		return r;
	if (fstatvfs(w->folder, &fs))
		return err_errno(e, "folder '%s'", MEASURE_FOLDER);
	if ((uint64_t)fs.f_bavail * fs.f_frsize < w->m->size_bytes + SPARE_BYTES)
		return err_set(e, -ENOSPC, "there is too little space in '%s': %llu MiB are needed; give a smaller --size",
			       PARENT, (unsigned long long)((w->m->size_bytes + SPARE_BYTES) / NUM_MIB));
	return 0;
}

static void close_folder(struct work *w)
{
	if (w->folder < 0)
		return;
	(void)clear_folder(w, NULL); /* what cannot be removed now, the next 'measure' removes */
	(void)rmdir(MEASURE_FOLDER);
	(void)close(w->folder); /* it was only read */
	w->folder = -1;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	return clock_gettime(CLOCK_MONOTONIC, &ts) ? 0 : (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void tick(void *ctx)
{
	struct work *w = ctx;
	int64_t now = now_ms(), seconds = (now - w->start_ms) / 1000;

	if (!w->shows || now - w->shown_ms < REDRAW_MS)
		return;
	w->shown_ms = now;
	/* progout_print() would let no escape through; a profile's name has none */
	(void)fprintf(stderr, "\r\033[K%zu of %zu: '%s', %s  %d:%02d", w->done + 1, w->m->runs * w->m->count * MEASURE_JOBS,
		      w->profile, job_names[w->job], (int)(seconds / 60), (int)(seconds % 60));
	(void)fflush(stderr);
}

static void end_progress(const struct work *w)
{
	if (!w->shows)
		return;
	(void)fputs("\r\033[K", stderr);
	(void)fflush(stderr);
}

/* What the profile means here, and are its mount options those of the folder? */
static int look(struct work *w, struct measure_profile *p, struct err *e)
{
	AUTO_FREE struct profctl_status *s = calloc(1, sizeof(*s));
	struct stat ours, theirs;
	int r;

	if (!s)
		return err_errno(e, "status");
	r = profctl_status(&w->par, s, e);
	if (r)
		return r;
	p->window = s->window;
	if (fstat(w->folder, &ours))
		return err_errno(e, "folder '%s'", MEASURE_FOLDER);
	for (size_t i = 0; i < s->now.mount_count; i++)
		if (stat(s->now.mounts[i].target, &theirs) == 0 && theirs.st_dev == ours.st_dev)
			w->m->in_image = true;
	return 0;
}

static int run_jobs(struct work *w, struct measure_profile *p, struct err *e)
{
	const struct fio f = {
		.program = w->fio, .folder = MEASURE_FOLDER, .size_bytes = w->m->size_bytes, .tick = tick, .ctx = w,
	};
	int r = look(w, p, e);

	for (int job = 0; !r && job < MEASURE_JOBS; job++) {
		w->job = (enum measure_job)job;
		w->shown_ms = 0;
		tick(w);
		if (syncfs(w->folder)) /* so that what others wrote is not written at our cost */
			return err_errno(e, "sync '%s'", MEASURE_FOLDER);
		r = fio_run(&f, w->job, &p->runs[job][w->run], e);
		if (!r)
			r = clear_folder(w, e);
		w->done++;
	}
	return r;
}

static int run_profile(struct work *w, struct measure_profile *p, struct err *e)
{
	AUTO(profctl_phase) struct profctl_phase *phase = NULL;
	struct err back = ERR_INIT;
	int r;

	w->profile = p->name;
	r = profctl_phase_enter_profile(&w->par, p->name, &phase, e);
	if (r)
		return err_wrap(e, r, "profile '%s'", p->name);
	r = run_jobs(w, p, e);
	if (profctl_phase_leave(phase, &back) == 0)
		return r ? err_wrap(e, r, "profile '%s'", p->name) : 0;
	*e = back; /* it outlasts the other one */
	return e->code;
}

/* Profiles whose limits are in seconds of the disk cannot be entered before its speed is known. */
static int provide_speed(const struct work *w, struct err *e)
{
	uint64_t speed;
	int r = profctl_speed_read(w->o->root, &speed, e);

	if (r || speed)
		return r;
	r = profctl_speed_probe(MEASURE_FOLDER, &speed, e);
	return r ? r : profctl_speed_write(w->o->root, speed, e);
}

/* Where the chosen profile goes by the disk's speed, which is another now, its values are others, too. */
static int apply_speed(struct work *w, struct err *e)
{
	const struct profctl_params par = { .root = w->o->root };
	struct profctl_result result = { .profile = NULL };
	int r = profctl_speed_write(w->o->root, w->m->disk_bytes_per_s, e);

	if (!r)
		r = profctl_apply(&par, &result, e);
	if (!r && result.changed && result.profile)
		report_add(&w->m->notes, "set-anew", "'%s' goes by the disk's speed: its values were set anew", result.profile);
	return r;
}

static int measure_all(struct work *w, struct err *e)
{
	struct measure *m = w->m;
	int r = open_folder(w, e);

	if (!r)
		r = provide_speed(w, e);
	for (w->run = 0; !r && w->run < m->runs; w->run++)
		for (size_t i = 0; !r && i < m->count; i++)
			r = run_profile(w, &m->profiles[i], e);
	close_folder(w);
	end_progress(w);
	if (r)
		return r;
	measure_conclude(m);
	return apply_speed(w, e);
}

static int prepare(struct work *w, struct err *e)
{
	struct conf c;
	int r = fio_find(w->fio, e);

	if (!r)
		r = profctl_conf_read(&w->par, &c, e);
	if (r)
		return r;
	for (; w->m->count < c.count; w->m->count++) {
		struct measure_profile *p = &w->m->profiles[w->m->count];

		memcpy(p->name, c.profiles[w->m->count].name, sizeof(p->name));
		p->promised_ms = c.profiles[w->m->count].loss_ms;
	}
	w->start_ms = now_ms();
	return 0;
}

int verb_measure(const struct options *o)
{
	AUTO_FREE struct measure *m = calloc(1, sizeof(*m));
	struct work w = { .o = o, .m = m, .par = verb_params(o), .folder = -1, .profile = "", .shows = isatty(STDERR_FILENO) };
	struct err e = ERR_INIT;

	if (!m) {
		(void)err_errno(&e, "measure");
		return progout_fail(&o->base, &e, NULL);
	}
	m->runs = o->runs ? (size_t)o->runs : MEASURE_RUNS_DEFAULT;
	m->size_bytes = o->size_bytes ? o->size_bytes : MEASURE_SIZE_DEFAULT;
	if (prepare(&w, &e) || measure_all(&w, &e))
		return progout_fail(&o->base, &e, NULL);
	return measure_print(o, m);
}
