/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replay - a fuzz target without a fuzzer: runs the inputs in the files that are named. For 'make check'. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	long size = -1;
	int failed = 1;

	if (f && !fseek(f, 0, SEEK_END))
		size = ftell(f);
	if (size >= 0)
		data = malloc((size_t)size + 1);
	if (data && !fseek(f, 0, SEEK_SET) && fread(data, 1, (size_t)size, f) == (size_t)size)
		failed = LLVMFuzzerTestOneInput(data, (size_t)size);
	else
		(void)fprintf(stderr, "'%s' cannot be read\n", path);
	if (f)
		(void)fclose(f); /* only read */
	free(data);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (LLVMFuzzerInitialize)
		failed = LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++)
		failed |= run_file(argv[i]);
	return failed || argc < 2;
}
