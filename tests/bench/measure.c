/* SPDX-License-Identifier: GPL-2.0-or-later */
/* measure COMMAND...: its wall-clock time in microseconds and its peak memory in KiB on stdout; its exit status. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail */
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	long long start;
	int status;
	pid_t child;

	if (argc < 2)
		return 2;
	start = now_us();
	child = fork();
	if (child == 0) {
		if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
			(void)execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) != child) {
		perror("measure");
		return 126;
	}
	printf("%lld %ld\n", now_us() - start, usage.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
