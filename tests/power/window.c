/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window DIRTY_BYTES DIRTY_RATIO EXPIRE_CS WRITEBACK_CS MEMORY_BYTES SPEED OPTIONS: what 'wubi-profile status' would say that a
 * power cut may cost, by the same function: "durable|not MS BYTES".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "num.h"
#include "profile.h"

int main(int argc, char **argv)
{
	struct profile_knobs k = { .background_ratio = 1 }; /* has no part in it */
	struct profile_machine m = { .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE) };
	uint64_t *const values[] = { &k.dirty_bytes,  &k.dirty_ratio,  &k.expire_cs,
				     &k.writeback_cs, &m.memory_bytes, &m.disk_bytes_per_s };
	const int count = sizeof(values) / sizeof(values[0]);
	struct profile_window w;
	struct err e = ERR_INIT;

	if (argc != count + 2) {
		(void)fprintf(stderr, "window: %d arguments are needed\n", count + 1);
		return EXIT_FAILURE;
	}
	for (int i = 0; i < count; i++)
		if (num_parse_u64(argv[i + 1], values[i], &e)) {
			(void)fprintf(stderr, "window: '%s': %s\n", argv[i + 1], e.text);
			return EXIT_FAILURE;
		}
	profile_window(&k, &m, argv[count + 1], &w);
	(void)printf("%s %" PRIu64 " %" PRIu64 "\n", w.calls_are_durable ? "durable" : "not", w.ms, w.bytes);
	return EXIT_SUCCESS;
}
