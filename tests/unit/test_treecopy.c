/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <time.h>

#include "cmocka_all.h"

#include "../../src/treecopy_private.h"

static char dir[] = "/tmp/wubi-test-treecopy-XXXXXX";

static int enter_folder(void **state)
{
	(void)state;
	return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int fresh(void **state)
{
	(void)state;
	return mkdir("source", 0755) == 0 && mkdir("target", 0755) == 0 ? 0 : -1;
}

static int wipe(void **state)
{
	(void)state;
	return nftw("source", remove_one, 16, FTW_DEPTH | FTW_PHYS) | nftw("target", remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int leave_folder(void **state)
{
	(void)state;
	return chdir("/") == 0 && rmdir(dir) == 0 ? 0 : -1;
}

static void put(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void put_text(const char *path, const char *text)
{
	put(path, text, strlen(text));
}

static void assert_file_is(const char *path, const char *text)
{
	char now[256] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	now[fread(now, 1, sizeof(now) - 1, f)] = '\0';
	assert_int_equal(fclose(f), 0);
	assert_string_equal(now, text);
}

static struct stat look(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		fail_msg("'%s' is not there", path);
	return st;
}

static int copy(struct treecopy_params par, const struct progress *p, struct treecopy_record **ret,
		struct treecopy_totals *totals, struct err *e)
{
	par.source = par.source ? par.source : "source";
	par.target = par.target ? par.target : "target";
	return treecopy_run(&par, p, ret, totals, e);
}

/* The copy has to succeed and to be right; the record is freed by the caller. */
static struct treecopy_record *copied(void)
{
	struct treecopy_record *record = NULL;
	struct treecopy_totals totals;
	struct err e = ERR_INIT;

	if (copy((struct treecopy_params){ .threads = 3 }, NULL, &record, &totals, &e) ||
	    treecopy_verify(record, "target", 2, NULL, &e))
		fail_msg("%s", e.text);
	return record;
}

static void cannot_copy(const char *source, const char *target, int code, const char *word)
{
	struct treecopy_record *record = NULL;
	struct treecopy_totals totals;
	struct err e = ERR_INIT;

	assert_int_equal(copy((struct treecopy_params){ .source = source, .target = target }, NULL, &record, &totals, &e), code);
	assert_text_has(e.text, word);
	assert_null(record);
}

static void what_cannot_be_copied(void **state)
{
	(void)state;
	cannot_copy("nowhere", "target", -ENOENT, "nowhere");
	cannot_copy("source", "nowhere", -ENOENT, "nowhere");
	put_text("source/file", "new");
	cannot_copy("source/file", "target", -ENOTDIR, "source/file");
	cannot_copy("source", "source/file", -ENOTDIR, "source/file");
	put_text("target/file", "old");
	cannot_copy("source", "target", -EEXIST, "'/file' in 'target'");
	assert_file_is("target/file", "old");
}

static void a_target_in_the_source(void **state)
{
	(void)state;
	assert_int_equal(mkdir("source/in", 0755), 0);
	cannot_copy("source", "source/in", -ELOOP, "source/in");
}

/* Nothing in the target leads outside it, whatever lies there. */
static void links_in_the_target_are_not_followed(void **state)
{
	(void)state;
	assert_int_equal(mkdir("source/a", 0755), 0);
	put_text("source/a/file", "new");
	assert_int_equal(mkdir("target/outside", 0755), 0);
	assert_int_equal(mkdir("target/top", 0755), 0);
	assert_int_equal(symlink("../outside", "target/top/a"), 0);
	cannot_copy("source", "target/top", -ENOTDIR, "'/a'");
	assert_int_equal(access("target/outside/file", F_OK), -1);
	assert_int_equal(unlink("target/top/a"), 0);
	assert_int_equal(mkdir("target/top/a", 0755), 0);
	assert_int_equal(symlink("../../outside/file", "target/top/a/file"), 0);
	cannot_copy("source", "target/top", -EEXIST, "'/a/file'");
	assert_int_equal(access("target/outside/file", F_OK), -1);
}

static void set_time(const char *path, time_t s, long ns)
{
	const struct timespec times[2] = { { s + 1, ns }, { s, ns } };

	assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void assert_same(const char *a, const char *b)
{
	struct stat x = look(a), y = look(b);

	assert_int_equal(x.st_mode, y.st_mode);
	assert_int_equal(x.st_uid, y.st_uid);
	assert_int_equal(x.st_gid, y.st_gid);
	assert_int_equal(x.st_mtim.tv_sec, y.st_mtim.tv_sec);
	assert_int_equal(x.st_mtim.tv_nsec, y.st_mtim.tv_nsec);
	if (!S_ISDIR(x.st_mode))
		assert_int_equal(x.st_size, y.st_size);
}

static void make_socket(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(close(fd), 0);
}

static void all_kinds(void **state)
{
	static const char *const names[] = { "file", "empty", "link",   "long",   "fifo",     "socket",
					     "dir",  "dir/in", "dir/ro", "dir/ro/x", "" };
	char a[300], b[300], to[201];

	(void)state;
	memset(to, 'x', 200);
	to[200] = '\0';
	put_text("source/file", "content");
	put_text("source/empty", "");
	assert_int_equal(symlink("/nowhere at all", "source/link") | symlink(to, "source/long"), 0);
	assert_int_equal(mkfifo("source/fifo", 0620), 0);
	make_socket("source/socket");
	assert_int_equal(mkdir("source/dir", 0755) | mkdir("source/dir/ro", 0755), 0);
	put_text("source/dir/in", "more");
	put_text("source/dir/ro/x", "y");
	assert_int_equal(chmod("source/file", 04751) | chmod("source/dir", 03770) | chmod("source/dir/ro", 0555), 0);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		(void)snprintf(a, sizeof(a), "source/%s", names[i]);
		set_time(a, 1000000000 + (time_t)i, 123456789 + (long)i);
	}
	treecopy_record_free(copied());
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		(void)snprintf(a, sizeof(a), "source/%s", names[i]);
		(void)snprintf(b, sizeof(b), "target/%s", names[i]);
		assert_same(a, b);
	}
	assert_file_is("target/file", "content");
	assert_file_is("target/dir/ro/x", "y");
	assert_int_equal(readlink("target/link", a, sizeof(a)), 15);
	assert_memory_equal(a, "/nowhere at all", 15);
	assert_int_equal(readlink("target/long", a, sizeof(a)), 200);
}

static void hard_links(void **state)
{
	struct treecopy_record *r;
	char name[64], again[64];

	(void)state;
	assert_int_equal(mkdir("source/a", 0755) | mkdir("source/b", 0755), 0);
	put_text("source/a/one", "same");
	assert_int_equal(symlink("to", "source/s1") | link("source/s1", "source/s2"), 0);
	for (int i = 0; i < 300; i++) { /* more files with two names than the first table holds */
		(void)snprintf(name, sizeof(name), "source/a/%d", i);
		put_text(name, i ? "" : "0");
		(void)snprintf(again, sizeof(again), "source/b/%d", i);
		assert_int_equal(link(name, again), 0);
	}
	assert_int_equal(link("source/a/one", "source/a/two") | link("source/a/one", "source/b/three"), 0);
	set_time("source/b", 1000000000, 5);
	r = copied();
	assert_int_equal(r->count, 301);
	treecopy_record_free(r);
	assert_int_equal(look("target/a/one").st_nlink, 3);
	assert_int_equal(look("target/a/one").st_ino, look("target/b/three").st_ino);
	assert_int_equal(look("target/a/299").st_ino, look("target/b/299").st_ino);
	assert_int_equal(look("target/s1").st_ino, look("target/s2").st_ino);
	assert_same("source/b", "target/b"); /* also after the linking */
}

static void holes_are_kept(void **state)
{
	static const off_t at[] = { 4096, 40960 + 17, 8 << 20, (off_t)1 << 34 };
	int fd = open("source/holes", O_WRONLY | O_CREAT | O_EXCL, 0600);
	struct treecopy_totals totals;
	char x = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(at); i++)
		assert_int_equal(pwrite(fd, "data", 4, at[i]), 4);
	assert_int_equal(ftruncate(fd, ((off_t)1 << 40) + 1), 0);
	assert_int_equal(close(fd), 0);
	put_text("source/only", "");
	assert_int_equal(truncate("source/only", 12345), 0);
	treecopy_record_free(copied());
	assert_same("source/holes", "target/holes");
	assert_true(look("target/holes").st_blocks <= 8 * 5);
	assert_int_equal(look("target/only").st_size, 12345);
	assert_int_equal(look("target/only").st_blocks, 0);
	fd = open("target/holes", O_RDONLY);
	for (size_t i = 0; i < COUNT_OF(at); i++) {
		assert_int_equal(pread(fd, &x, 1, at[i] + 3), 1);
		assert_int_equal(x, 'a');
		assert_int_equal(pread(fd, &x, 1, at[i] + 4), 1);
		assert_int_equal(x, 0);
	}
	assert_int_equal(close(fd), 0);
	assert_int_equal(treecopy_measure("target", NULL, NULL, &totals, NULL), 0);
	assert_int_equal(totals.content_bytes, 4 * 4096);
}

static void zeros_by_combination(void **state)
{
	static const uint64_t lengths[] = { 0, 1, 4095, 65536 };
	unsigned char *zeros = calloc(1, 65536);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lengths); i++)
		assert_int_equal(treecopy_crc_zeros(0x12345678, lengths[i]), crc32_z(0x12345678, zeros, lengths[i]));
	free(zeros);
}

static void what_is_left_out(void **state)
{
	static const char *const exclude[] = { "/proc/one", "/sys", NULL };
	struct treecopy_record *record = NULL;
	struct treecopy_totals totals, counted;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(mkdir("source/proc", 0755) | mkdir("source/sys", 0755) | mkdir("source/sys/in", 0755), 0);
	assert_int_equal(mkdir("source/lost+found", 0700) | mkdir("source/proc/lost+found", 0700), 0);
	assert_int_equal(mkdir("target/lost+found", 0711), 0);
	put_text("source/proc/one", "");
	put_text("source/proc/one2", "12");
	put_text("source/lost+found/file", "");
	assert_int_equal(copy((struct treecopy_params){ .exclude = exclude }, NULL, &record, &totals, &e), 0);
	treecopy_record_free(record);
	assert_int_equal(access("target/proc/one", F_OK), -1);
	assert_int_equal(access("target/sys", F_OK), -1);
	assert_int_equal(access("target/lost+found/file", F_OK), -1);
	assert_int_equal(look("target/lost+found").st_mode, S_IFDIR | 0711);
	assert_int_equal(access("target/proc/one2", F_OK) | access("target/proc/lost+found", F_OK), 0);
	assert_int_equal(treecopy_measure("source", exclude, NULL, &counted, &e), 0);
	assert_memory_equal(&counted, &totals, sizeof(totals));
	assert_int_equal(counted.files, 1);
	assert_int_equal(counted.folders, 3);
	assert_int_equal(counted.content_bytes, 2);
	assert_int_equal(counted.disk_bytes, 4 * 4096);
}

/* What a mount point is to the copy: a folder that is there. */
static void folders_that_are_there(void **state)
{
	(void)state;
	assert_int_equal(mkdir("source/home", 0751) | mkdir("source/home/user", 0700) | mkdir("target/home", 0700), 0);
	set_time("source/home", 1000000000, 7);
	treecopy_record_free(copied());
	assert_same("source/home", "target/home");
	assert_same("source/home/user", "target/home/user");
}

struct watch {
	pthread_t thread;
	uint64_t done, total;
	unsigned count;
	uint64_t cancel_at;
	bool is_wrong;
};

static int watch_step(void *ctx, const char *phase, uint64_t done_bytes, uint64_t total_bytes)
{
	struct watch *w = ctx;

	if (!pthread_equal(w->thread, pthread_self()) || done_bytes < w->done || done_bytes > total_bytes || !phase[0])
		w->is_wrong = true;
	w->done = done_bytes;
	w->total = total_bytes;
	w->count++;
	return w->cancel_at && w->count >= w->cancel_at;
}

static void many_files(unsigned folders, unsigned files)
{
	char path[64];

	for (unsigned i = 0; i < folders; i++) {
		(void)snprintf(path, sizeof(path), "source/%u", i);
		assert_int_equal(mkdir(path, 0755), 0);
		for (unsigned k = 0; k < files; k++) {
			(void)snprintf(path, sizeof(path), "source/%u/%u", i, k);
			put(path, path, sizeof(path));
		}
	}
}

static void progress_is_of_one_thread_and_ends_with_the_whole(void **state)
{
	struct watch w = { .thread = pthread_self() };
	struct progress p = { watch_step, &w };
	struct treecopy_record *record = NULL;
	struct treecopy_totals totals;
	struct err e = ERR_INIT;

	(void)state;
	many_files(20, 150);
	if (copy((struct treecopy_params){ .threads = 4, .total_bytes = 20 * 150 * 64 }, &p, &record, &totals, &e))
		fail_msg("%s", e.text);
	assert_false(w.is_wrong);
	assert_int_equal(w.done, 20 * 150 * 64);
	assert_int_equal(w.total, 20 * 150 * 64);
	assert_int_equal(totals.content_bytes, 20 * 150 * 64);
	w.done = 0;
	assert_int_equal(treecopy_verify(record, "target", 0, &p, &e), 0);
	assert_false(w.is_wrong);
	assert_int_equal(w.done, 20 * 150 * 64);
	w = (struct watch){ .thread = pthread_self(), .cancel_at = 1 };
	assert_int_equal(treecopy_verify(record, "target", 0, &p, &e), -ECANCELED);
	assert_text_has(e.text, "interrupted");
	treecopy_record_free(record);
}

static void cancelled(void **state)
{
	struct watch w = { .thread = pthread_self(), .cancel_at = 1 };
	struct progress p = { watch_step, &w };
	struct treecopy_record *record = NULL;
	struct treecopy_totals totals;
	struct err e = ERR_INIT;

	(void)state;
	many_files(5, 20);
	assert_int_equal(copy((struct treecopy_params){ .total_bytes = 1 }, &p, &record, &totals, &e), -ECANCELED);
	assert_text_has(e.text, "interrupted");
	assert_null(record);
	assert_int_equal(w.count, 1); /* not asked again */
	assert_int_equal(treecopy_measure("source", NULL, &p, &totals, &e), -ECANCELED);
}

static void verify_says(const struct treecopy_record *r, const char *word)
{
	struct err e = ERR_INIT;

	assert_int_equal(treecopy_verify(r, "target", 2, NULL, &e), -EBADMSG);
	assert_text_has(e.text, "'/file'");
	assert_text_has(e.text, word);
}

static void verify_finds(void **state)
{
	AUTO(treecopy_record) struct treecopy_record *r = NULL;

	(void)state;
	put_text("source/file", "content");
	put_text("source/other", "content");
	r = copied();
	put_text("target/file", "conTent");
	verify_says(r, "content differs");
	put_text("target/file", "conten");
	verify_says(r, "length");
	assert_int_equal(unlink("target/file"), 0);
	verify_says(r, "No such file");
	assert_int_equal(symlink("other", "target/file"), 0);
	verify_says(r, "symbolic link");
	assert_int_equal(unlink("target/file") | mkfifo("target/file", 0600), 0);
	verify_says(r, "regular");
	assert_int_equal(treecopy_verify(r, "nowhere", 0, NULL, NULL), -ENOENT);
}

static void assert_xattr(const char *path, const char *name, const char *value, size_t n)
{
	char now[256];

	assert_int_equal(lgetxattr(path, name, now, sizeof(now)), n);
	assert_memory_equal(now, value, n);
}

static void user_attributes(void **state)
{
	char name[64];

	(void)state;
	put_text("source/file", "x");
	assert_int_equal(mkdir("source/dir", 0755), 0);
	if (setxattr("source/file", "user.note", "v\0w", 3, 0) < 0 && errno == ENOTSUP) {
		print_message("the file system of /tmp has no extended attributes\n");
		skip();
	}
	assert_int_equal(setxattr("source/dir", "user.of.dir", "", 0, 0), 0);
	for (int i = 0; i < 40; i++) { /* a longer list than the small buffer */
		(void)snprintf(name, sizeof(name), "user.a-rather-long-name-of-an-attribute.%d", i);
		assert_int_equal(setxattr("source/file", name, "1", 1, 0), 0);
	}
	treecopy_record_free(copied());
	assert_xattr("target/file", "user.note", "v\0w", 3);
	assert_xattr("target/file", name, "1", 1);
	assert_xattr("target/dir", "user.of.dir", "", 0);
}

/* cap_net_raw=ep, revision 2: <linux/capability.h> */
static const char capability[20] = { 1, 0, 0, 2, 0, 0x20 };

static void what_only_root_can_copy(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("owners, devices and capabilities need root\n");
		skip();
	}
	put_text("source/file", "x");
	assert_int_equal(mknod("source/null", S_IFCHR | 0666, makedev(1, 3)), 0);
	assert_int_equal(symlink("x", "source/link"), 0);
	assert_int_equal(mkdir("source/dir", 0755), 0);
	assert_int_equal(lchown("source/file", 12, 34) | lchown("source/link", 56, 78) | lchown("source/dir", 9, 10), 0);
	assert_int_equal(chmod("source/file", 06755) | chmod("source/dir", 02755), 0);
	assert_int_equal(setxattr("source/file", "security.capability", capability, sizeof(capability), 0), 0);
	assert_int_equal(lsetxattr("source/link", "trusted.note", "t", 1, 0), 0);
	assert_int_equal(setxattr("source/dir", "trusted.overlay.opaque", "y", 1, 0), 0);
	treecopy_record_free(copied());
	assert_same("source/file", "target/file");
	assert_same("source/link", "target/link");
	assert_same("source/dir", "target/dir");
	assert_same("source/null", "target/null");
	assert_int_equal(look("target/null").st_rdev, makedev(1, 3));
	assert_xattr("target/file", "security.capability", capability, sizeof(capability));
	assert_xattr("target/link", "trusted.note", "t", 1);
	assert_int_equal(lgetxattr("target/dir", "trusted.overlay.opaque", NULL, 0), -1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fresh, wipe)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_cannot_be_copied),
		CASE(a_target_in_the_source),
		CASE(links_in_the_target_are_not_followed),
		CASE(all_kinds),
		CASE(hard_links),
		CASE(holes_are_kept),
		CASE(zeros_by_combination),
		CASE(what_is_left_out),
		CASE(folders_that_are_there),
		CASE(progress_is_of_one_thread_and_ends_with_the_whole),
		CASE(cancelled),
		CASE(verify_finds),
		CASE(user_attributes),
		CASE(what_only_root_can_copy),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
