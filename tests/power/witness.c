/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * witness - writes records that can be recognised, and tells the outside which calls have returned. What it told, and the disk
 * after a power cut, are then compared by judge.py, which knows the same formats.
 *
 *   witness DIRECTORY --tell FILE [--mark DM-NAME] [--operations N] [--seed N] [--per-second N] [--burst BYTES --burst-at N]...
 *           [--fsyncs always|phases|never] [--lie]
 *
 * Lines of FILE, which lies on another machine (hostfs), so that they survive this one:
 *   B SEQ MS KIND OBJECT OFFSET LENGTH SYNC   before the first call of an operation
 *   A SEQ MS                                  after its last call has returned; with SYNC not '-', that was the fsync
 *   S 0 MS                                    the start: everything before is on the disk
 *   T 0 MS                                    the time goes by, the disk has power
 * With --mark, A, S and T are also marks in the log of that dm-log-writes device, "A:SEQ:MS", made before the line is written.
 *
 * KIND: seq app bulk over (a record at OFFSET) ren (a new file, renamed over OBJECT) shrink grow (truncated to LENGTH) xattr
 * mkdir create link (a new name) rmdir unlink (a name goes).
 * SYNC: - none, f fsync, d fdatasync, s syncfs. A new name's fsync is that of its directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/dm-ioctl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define HEAD_BYTES 64
#define RECORD_MAX (128U << 10)
#define SLOT_BYTES 4096U
#define SLOTS 256U
#define TWINS 4U              /* objects of one kind */
#define NAMES_MAX 40U         /* live names in d/ */
#define SEQ_FILE_BYTES (1U << 20)
#define APP_FILE_BYTES (64U << 10)
#define BULK_BYTES (64U << 10)
#define TICK_MS 10
#define PHASE_OPERATIONS 1000U /* of these ... */
#define PHASE_FSYNCS 300U      /* ... so many may call fsync: what nobody syncs must get the time to be lost */
#define BURSTS_MAX 8U

enum fsyncs { FSYNCS_PHASES, FSYNCS_ALWAYS, FSYNCS_NEVER };

struct file {
	unsigned number;
	uint64_t bytes;
};

struct name {
	char path[32];
	bool is_dir;
};

static struct {
	const char *dir, *tell, *mark;
	unsigned operations, per_second;
	uint64_t burst_bytes;
	unsigned burst_at[BURSTS_MAX], bursts;
	enum fsyncs fsyncs;
	bool lies;
} par = { .operations = 500 };

static struct {
	uint64_t random;
	unsigned seq;
	char sync;                  /* of the operation that runs */
	int tell_fd, control_fd;
	pthread_mutex_t lock;
	struct file seq_file, app_file, bulk_file;
	struct name names[NAMES_MAX];
	unsigned name_count;
} w = { .tell_fd = -1, .control_fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "witness: operation %u: %s: %s\n", w.seq, what, strerror(errno));
	exit(1);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail */
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void sleep_ms(uint64_t ms)
{
	/* time is what is measured */
	(void)nanosleep(&(struct timespec){ (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 }, NULL);
}

/* splitmix64: the same operations for the same seed */
static uint64_t random_next(void)
{
	uint64_t z = (w.random += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static unsigned random_below(unsigned n)
{
	return (unsigned)(random_next() % n);
}

/* Telling */

static void mark(const char *text)
{
	union {
		struct dm_ioctl head;
		char bytes[sizeof(struct dm_ioctl) + sizeof(struct dm_target_msg) + 128];
	} io;
	struct dm_target_msg *message = (void *)(io.bytes + sizeof(io.head));

	memset(&io, 0, sizeof(io));
	io.head.version[0] = DM_VERSION_MAJOR;
	io.head.data_size = sizeof(io);
	io.head.data_start = sizeof(io.head);
	(void)snprintf(io.head.name, sizeof(io.head.name), "%s", par.mark);
	(void)snprintf(message->message, 128, "mark %s", text);
	if (ioctl(w.control_fd, DM_TARGET_MSG, &io) != 0)
		die("the mark in the log");
}

static void tell(const char *line)
{
	size_t n = strlen(line);

	if (write(w.tell_fd, line, n) != (ssize_t)n)
		die(par.tell);
}

/* The mark first: what the log says must never be less than what the file says of the same moment. */
static void tell_event(char event, unsigned seq)
{
	uint64_t ms;
	char text[64];

	(void)pthread_mutex_lock(&w.lock);
	ms = now_ms();
	if (par.mark) {
		(void)snprintf(text, sizeof(text), "%c:%u:%" PRIu64, event, seq, ms);
		mark(text);
	}
	(void)snprintf(text, sizeof(text), "%c %u %" PRIu64 "\n", event, seq, ms);
	tell(text);
	(void)pthread_mutex_unlock(&w.lock);
}

/* So that the time of a cut is known to a few milliseconds, also while a call is blocked for seconds. */
static void *tick(void *unused)
{
	(void)unused;
	for (;;) {
		sleep_ms(TICK_MS);
		tell_event('T', 0);
	}
	return NULL;
}

static void begin(const char *kind, const char *object, uint64_t off, uint64_t len)
{
	char line[160];

	w.seq++;
	(void)snprintf(line, sizeof(line), "B %u %" PRIu64 " %s %s %" PRIu64 " %" PRIu64 " %c\n", w.seq, now_ms(), kind, object,
		       off, len, w.sync);
	(void)pthread_mutex_lock(&w.lock);
	tell(line);
	(void)pthread_mutex_unlock(&w.lock);
}

static void sync_fd(int fd)
{
	if (w.sync == 'f' ? fsync(fd) : w.sync == 'd' ? fdatasync(fd) : syncfs(fd))
		die("fsync");
}

/* The last call but the sync has returned. */
static void complete(int fd)
{
	if (w.sync == '-' || par.lies)
		tell_event('A', w.seq);
	if (w.sync == '-')
		return;
	sync_fd(fd);
	if (!par.lies)
		tell_event('A', w.seq);
}

/* Records */

static char *record(unsigned seq, uint32_t len)
{
	static uint64_t buf[RECORD_MAX / 8 + 1];
	char *bytes = (char *)buf;
	uint64_t value = seq * 0x9e3779b97f4a7c15ULL;
	uint32_t i;

	for (i = HEAD_BYTES / 8; i <= len / 8; i++)
		buf[i] = value ^ (i * 0xbf58476d1ce4e5b9ULL);
	memset(bytes, '.', HEAD_BYTES);
	i = (uint32_t)crc32(0, (const unsigned char *)bytes + HEAD_BYTES, len - HEAD_BYTES);
	bytes[snprintf(bytes, HEAD_BYTES, "wubi-record seq=%010u len=%010u crc=%08x\n", seq, len, i)] = '.';
	return bytes;
}

static void write_record(int fd, uint64_t off, uint32_t len)
{
	if (pwrite(fd, record(w.seq, len), len, (off_t)off) != (ssize_t)len)
		die("write");
}

static int open_file(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		die(path);
	return fd;
}

static void unlink_operation(const char *path)
{
	int dir;

	begin("unlink", path, 0, 0);
	if (unlink(path) != 0)
		die(path);
	dir = open_file(".", O_RDONLY | O_DIRECTORY);
	complete(dir);
	(void)close(dir); /* read-only */
}

/* At the end of FILE, a new one every 'limit' bytes; of the old ones three stay. */
static void add_record(const char *kind, struct file *f, uint64_t limit, uint32_t len)
{
	char path[32];
	char sync = w.sync;
	int fd;

	if (f->bytes + len > limit) {
		f->number++;
		f->bytes = 0;
		if (f->number >= 3) {
			(void)snprintf(path, sizeof(path), "%s.%u", kind, f->number - 3);
			unlink_operation(path);
		}
	}
	w.sync = sync;
	(void)snprintf(path, sizeof(path), "%s.%u", kind, f->number);
	begin(kind, path, f->bytes, len);
	fd = open_file(path, O_WRONLY | O_CREAT);
	write_record(fd, f->bytes, len);
	complete(fd);
	if (close(fd) != 0)
		die("close");
	f->bytes += len;
}

static void overwrite(void)
{
	uint64_t off = (uint64_t)random_below(SLOTS) * SLOT_BYTES;
	int fd;

	begin("over", "over", off, SLOT_BYTES);
	fd = open_file("over", O_WRONLY);
	write_record(fd, off, SLOT_BYTES);
	complete(fd);
	if (close(fd) != 0)
		die("close");
}

static void replace_file(void)
{
	uint32_t len = HEAD_BYTES + random_below(12000);
	char path[32];
	int fd, dir;

	(void)snprintf(path, sizeof(path), "ren.%u", random_below(2 * TWINS));
	begin("ren", path, 0, len);
	fd = open_file("ren.tmp", O_WRONLY | O_CREAT | O_TRUNC);
	write_record(fd, 0, len);
	if (w.sync != '-' && !par.lies)
		sync_fd(fd);
	if (close(fd) != 0)
		die("close");
	if (rename("ren.tmp", path) != 0)
		die("rename");
	dir = open_file(".", O_RDONLY | O_DIRECTORY);
	complete(dir);
	(void)close(dir); /* read-only */
}

/* No size comes twice: it tells which call it was. */
static void truncate_file(void)
{
	uint64_t len = (uint64_t)(w.seq + 1) * 16;
	bool grows = random_below(2);
	char path[32];
	int fd;

	len += grows ? 1U << 20 : 0;
	(void)snprintf(path, sizeof(path), "trunc.%u", random_below(TWINS));
	fd = open_file(path, O_WRONLY);
	if (!grows) { /* something to cut off */
		struct stat st;

		if (fstat(fd, &st) != 0)
			die("fstat");
		len += (uint64_t)st.st_size < len ? 1U << 20 : 0;
		grows = (uint64_t)st.st_size < len;
	}
	begin(grows ? "grow" : "shrink", path, 0, len);
	if (ftruncate(fd, (off_t)len) != 0)
		die("ftruncate");
	complete(fd);
	if (close(fd) != 0)
		die("close");
}

static void set_xattr(void)
{
	char value[1600], path[32];
	unsigned len = 14 + (random_below(2) ? random_below(40) : random_below(1500));
	int fd;

	memset(value, 'x', sizeof(value));
	(void)snprintf(path, sizeof(path), "attr.%u", random_below(TWINS));
	begin("xattr", path, 0, len);
	value[snprintf(value, sizeof(value), "seq=%010u", w.seq)] = 'x';
	fd = open_file(path, O_RDONLY);
	if (fsetxattr(fd, "user.witness", value, len, 0) != 0)
		die("fsetxattr");
	complete(fd);
	(void)close(fd); /* read-only */
}

static void remove_name(struct name *n)
{
	begin(n->is_dir ? "rmdir" : "unlink", n->path, 0, 0);
	if (n->is_dir ? rmdir(n->path) : unlink(n->path))
		die(n->path);
	*n = w.names[--w.name_count];
}

static void add_name(struct name *n)
{
	static const char *const kinds[] = { "mkdir", "create", "link" };
	unsigned kind = random_below(3);

	(void)snprintf(n->path, sizeof(n->path), "d/%c.%u", kinds[kind][0], w.seq + 1);
	n->is_dir = kind == 0;
	begin(kinds[kind], n->path, 0, 0);
	if (kind == 0 ? mkdir(n->path, 0755) :
	    kind == 1 ? close(open_file(n->path, O_WRONLY | O_CREAT | O_EXCL)) :
			link("over", n->path))
		die(n->path);
	w.name_count++;
}

static void change_directory(void)
{
	int dir = open_file("d", O_RDONLY | O_DIRECTORY);

	if (w.name_count == NAMES_MAX || (w.name_count > NAMES_MAX / 2 && random_below(2)))
		remove_name(&w.names[random_below(w.name_count)]);
	else
		add_name(&w.names[w.name_count]);
	complete(dir);
	(void)close(dir); /* read-only */
}

/* A copy that fills what may be dirty, and goes on. */
static void burst(void)
{
	uint64_t done;

	w.sync = '-';
	if (w.bulk_file.bytes) {
		char path[32];

		(void)snprintf(path, sizeof(path), "bulk.%u", w.bulk_file.number++);
		unlink_operation(path);
	}
	w.bulk_file.bytes = 0;
	for (done = 0; done < par.burst_bytes; done += BULK_BYTES)
		add_record("bulk", &w.bulk_file, UINT64_MAX, BULK_BYTES);
}

static char choose_sync(unsigned number)
{
	unsigned dice = random_below(100);

	if (par.fsyncs == FSYNCS_NEVER || (par.fsyncs == FSYNCS_PHASES && number % PHASE_OPERATIONS >= PHASE_FSYNCS))
		return '-';
	return dice < 30 ? 'f' : dice < 36 ? 'd' : dice < 40 ? 's' : '-';
}

static void operation(unsigned number)
{
	unsigned dice = random_below(100), i;

	for (i = 0; i < par.bursts; i++)
		if (par.burst_at[i] == number)
			burst();
	w.sync = choose_sync(number);
	if (w.sync == 'd' && dice >= 48) /* fdatasync owes nobody a name or an attribute */
		w.sync = 'f';
	if (dice < 12)
		add_record("seq", &w.seq_file, SEQ_FILE_BYTES, HEAD_BYTES + random_below(32U << 10));
	else if (dice < 30)
		add_record("app", &w.app_file, APP_FILE_BYTES, HEAD_BYTES + random_below(4000));
	else if (dice < 48)
		overwrite();
	else if (dice < 60)
		replace_file();
	else if (dice < 70)
		truncate_file();
	else if (dice < 80)
		set_xattr();
	else
		change_directory();
}

/* What is there from the beginning is on the disk before the first operation. Its records have the number 0. */
static void set_up(void)
{
	char path[32];
	unsigned i, fd;

	if (chdir(par.dir) != 0 || mkdir("d", 0755) != 0)
		die(par.dir);
	fd = (unsigned)open_file("over", O_WRONLY | O_CREAT);
	for (i = 0; i < SLOTS; i++)
		write_record((int)fd, i * SLOT_BYTES, SLOT_BYTES);
	for (i = 0; i < 2 * TWINS; i++) {
		(void)snprintf(path, sizeof(path), "ren.%u", i);
		write_record(open_file(path, O_WRONLY | O_CREAT), 0, 1000);
		(void)snprintf(path, sizeof(path), i < TWINS ? "trunc.%u" : "attr.%u", i % TWINS);
		write_record(open_file(path, O_WRONLY | O_CREAT), 0, RECORD_MAX);
		if (i >= TWINS && setxattr(path, "user.witness", "seq=0000000000", 14, 0) != 0)
			die("setxattr");
	}
	if (syncfs((int)fd) != 0)
		die("syncfs");
	tell_event('S', 0);
}

static void run(void)
{
	uint64_t start = now_ms(), due, now;
	unsigned i;

	for (i = 0; i < par.operations; i++) {
		due = par.per_second ? start + (uint64_t)i * 1000 / par.per_second : 0;
		now = now_ms();
		/* the kernel's intervals have to go by while calls are made */
		if (due > now)
			sleep_ms(due - now);
		else if (due) /* a call was blocked for long: the rest does not catch up */
			start += now - due;
		operation(i);
	}
}

static unsigned long number(const char *text)
{
	char *end = NULL;
	unsigned long value = strtoul(text, &end, 10);

	if (!*text || *end) {
		fprintf(stderr, "witness: '%s' is no number\n", text);
		exit(2);
	}
	return value;
}

static enum fsyncs fsyncs_of(const char *text)
{
	return !strcmp(text, "always") ? FSYNCS_ALWAYS : !strcmp(text, "never") ? FSYNCS_NEVER : FSYNCS_PHASES;
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "tell", 1, NULL, 't' },	{ "mark", 1, NULL, 'm' },     { "operations", 1, NULL, 'o' },
		{ "seed", 1, NULL, 's' },	{ "per-second", 1, NULL, 'p' }, { "burst", 1, NULL, 'b' },
		{ "burst-at", 1, NULL, 'a' },	{ "fsyncs", 1, NULL, 'f' },   { "lie", 0, NULL, 'l' }, { 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 't': par.tell = optarg; break;
		case 'm': par.mark = optarg; break;
		case 'o': par.operations = (unsigned)number(optarg); break;
		case 's': w.random = number(optarg); break;
		case 'p': par.per_second = (unsigned)number(optarg); break;
		case 'b': par.burst_bytes = number(optarg); break;
		case 'a':
			if (par.bursts == BURSTS_MAX)
				exit(2);
			par.burst_at[par.bursts++] = (unsigned)number(optarg);
			break;
		case 'f': par.fsyncs = fsyncs_of(optarg); break;
		case 'l': par.lies = true; break;
		default: exit(2);
		}
	}
	if (optind != argc - 1 || !par.tell) {
		fprintf(stderr, "witness: see the head of witness.c for its options\n");
		exit(2);
	}
	par.dir = argv[optind];
}

int main(int argc, char **argv)
{
	pthread_t ticker;

	parse(argc, argv);
	w.tell_fd = open_file(par.tell, O_WRONLY | O_CREAT | O_TRUNC);
	if (par.mark)
		w.control_fd = open_file("/dev/mapper/control", O_RDWR);
	set_up();
	if (pthread_create(&ticker, NULL, tick, NULL) != 0)
		die("pthread_create");
	run();
	tell_event('T', 0);
	return 0;
}
