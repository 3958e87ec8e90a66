/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs fio and reads its figures. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auto.h"
#include "jsonin.h"
#include "measure.h"
#include "progout.h"
#include "runprog.h"
#include "signals.h"

#define OUTPUT_MAX (1U << 20) /* fio prints some 15 KiB a job */
#define TICK_MS 200
#define WORDS_MAX 24
#define FSYNC_TIME "--runtime=4" /* seconds: a hard disk does some hundred writes in that time */

int fio_find(char ret[PATH_MAX], struct err *e)
{
	if (runprog_find("fio", NULL, ret, PATH_MAX))
		return 0;
	return err_refuse(e, "no-fio", "fio, which measures, is not there: install the package fio ('apt install fio')");
}

/* The command line: what is the same each time, what a job is, and what depends on the caller. */
struct words {
	char directory[PATH_MAX + 16];
	char size[40], fsync[40], files[32];
	const char *argv[WORDS_MAX];
	size_t count;
};

static void add(struct words *w, const char *word)
{
	if (w->count < WORDS_MAX - 1)
		w->argv[w->count++] = word;
}

/*
 * fio counts the syncs that it makes between writes, and not the one of end_fsync: so the large file is synced after all
 * of it but the last block, which is left out of the figure. Small files are made when they are opened, so that making
 * them counts.
 */
static void describe(struct words *w, const struct fio *f, enum measure_job job)
{
	static const char *const of_all[] = { "--output-format=json", "--ioengine=psync", "--thread", NULL };
	static const char *const of_job[][8] = {
		[MEASURE_FSYNC] = { "--name=fsync", "--rw=randwrite", "--bs=4k", "--size=8m", "--fsync=1",
				    FSYNC_TIME, NULL },
		[MEASURE_FILES] = { "--name=files", "--rw=write", "--bs=4k", "--filesize=4k", "--openfiles=1",
				    "--file_service_type=sequential", "--create_on_open=1", NULL },
		[MEASURE_LARGE] = { "--name=large", "--rw=write", "--bs=1m", "--fallocate=none", NULL },
	};
	uint64_t blocks = f->size_bytes / NUM_MIB;

	memset(w, 0, sizeof(*w));
	(void)snprintf(w->directory, sizeof(w->directory), "--directory=%s", f->folder);
	(void)snprintf(w->size, sizeof(w->size), "--size=%" PRIu64 "m", blocks + 1);
	(void)snprintf(w->fsync, sizeof(w->fsync), "--fsync=%" PRIu64, blocks);
	(void)snprintf(w->files, sizeof(w->files), "--nrfiles=%d", MEASURE_SMALL_FILES);
	add(w, f->program);
	add(w, w->directory);
	for (size_t i = 0; of_all[i]; i++)
		add(w, of_all[i]);
	for (size_t i = 0; of_job[job][i]; i++)
		add(w, of_job[job][i]);
	if (job == MEASURE_FILES) {
		add(w, "--fallocate=none");
		add(w, w->files);
	} else if (job == MEASURE_LARGE) {
		add(w, w->size);
		add(w, w->fsync);
	}
}

/* In the child. fio's own words are on standard error. */
static _Noreturn void become_fio(const struct words *w, int out, pid_t parent)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	int in = open("/dev/null", O_RDONLY);

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* when we are killed, it does not go on writing */
	(void)sigaction(SIGPIPE, &usual, NULL);
	(void)sigaction(SIGXFSZ, &usual, NULL);
	if (getppid() == parent && in >= 0 && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
		(void)execv(w->argv[0], (char *const *)(uintptr_t)w->argv);
	progout_print(stderr, "wubi-profile: measure: '%s': %s\n", w->argv[0], strerror(errno));
	_exit(127);
}

static int start(const struct words *w, pid_t *ret_pid, int *ret_fd, struct err *e)
{
	pid_t parent = getpid();
	AUTO_FD int reading = -1;
	AUTO_FD int writing = -1;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return err_errno(e, "run fio");
	reading = ends[0];
	writing = ends[1];
	*ret_pid = fork();
	if (*ret_pid < 0)
		return err_errno(e, "run fio");
	if (*ret_pid == 0)
		become_fio(w, writing, parent);
	*ret_fd = TAKE_FD(reading);
	return 0;
}

/* What fio prints, up to its end. -ECANCELED after a signal. */
static int collect(const struct fio *f, int fd, char *text, size_t size, struct err *e)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	size_t used = 0;

	for (;;) {
		ssize_t n;

		f->tick(f->ctx);
		if (signals_pending())
			return err_set(e, -ECANCELED, "interrupted");
		if (poll(&ready, 1, TICK_MS) <= 0)
			continue;
		n = read(fd, text + used, size - 1 - used);
		if (n < 0)
			return err_errno(e, "read what fio prints");
		used += (size_t)n;
		text[used] = '\0';
		if (n == 0)
			return 0;
		if (used == size - 1)
			return err_set(e, -EFBIG, "fio prints more than %u bytes", OUTPUT_MAX);
	}
}

static int end(pid_t pid, bool cut, struct err *e)
{
	int status = 0;

	if (cut)
		(void)kill(pid, SIGKILL); /* its files are removed by us, and it has nothing else to tidy up */
	if (waitpid(pid, &status, 0) < 0)
		return err_errno(e, "wait for fio");
	if (cut)
		return 0;
	if (WIFSIGNALED(status))
		return err_set(e, -EIO, "fio was ended by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status) ? err_set(e, -EIO, "fio failed with status %d", WEXITSTATUS(status)) : 0;
}

/* It may print a warning before the JSON. */
static int parse(const struct fio *f, enum measure_job job, const char *text, uint64_t *ret, struct err *e)
{
	AUTO(jsonin) struct jsonin *root = NULL;
	const char *object = strchr(text, '{');
	uint64_t error = 0, ms = 0, count = 0, syncs = 0, amount;
	const struct jsonin *first, *write;
	int r;

	r = object ? jsonin_parse(object, &root, e) : err_set(e, -EINVAL, "there is no JSON");
	if (r)
		return err_wrap(e, r, "what fio printed");
	first = jsonin_at(jsonin_get(root, "jobs"), 0);
	write = jsonin_get(first, "write");
	if (!jsonin_get_u64(first, "error", &error) || !jsonin_get_u64(write, "runtime", &ms) ||
	    !jsonin_get_u64(write, "total_ios", &count))
		return err_set(e, -EINVAL, "what fio printed: there is no figure in it");
	(void)jsonin_get_u64(jsonin_get(first, "sync"), "total_ios", &syncs);
	if (error)
		return err_set(e, -(int)error, "fio: %s", strerror((int)error));
	if (count == 0 || (job == MEASURE_FILES && count != MEASURE_SMALL_FILES) || (job != MEASURE_FILES && syncs == 0))
		return err_set(e, -EIO, "fio wrote %" PRIu64 " blocks and synced %" PRIu64 " times, which is not all", count,
			       syncs);
	amount = job == MEASURE_LARGE ? f->size_bytes / NUM_MIB * NUM_MIB : count * 1000;
	*ret = amount * 1000 / (ms ? ms : 1);
	return 0;
}

int fio_run(const struct fio *f, enum measure_job job, uint64_t *ret, struct err *e)
{
	AUTO_FREE char *text = malloc(OUTPUT_MAX);
	AUTO_FD int fd = -1;
	struct words w;
	pid_t pid = -1;
	int r, ended;

	if (!text)
		return err_errno(e, "run fio");
	text[0] = '\0';
	describe(&w, f, job);
	r = start(&w, &pid, &fd, e);
	if (r)
		return r;
	r = collect(f, fd, text, OUTPUT_MAX, e);
	ended = end(pid, r != 0, r ? NULL : e);
	if (r || ended)
		return r ? r : ended;
	return parse(f, job, text, ret, e);
}
