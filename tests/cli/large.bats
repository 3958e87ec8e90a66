#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A large volume costs what its metadata costs: memory and reads, not time, are what a test can hold to a bound.

load ../lib.sh
# LeakSanitizer does not work under strace, so a sanitized program looks for no leaks there.

@test "1 TiB on 2 TiB: at most 160 MiB of memory" {
	[ -z "${WUBI_VALGRIND:-}${WUBI_ASAN:-}" ] || skip "the tool's own memory would be measured"
	mkvol 2T 4096
	peak_kib=$("$PY" -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' \
		"$WUBI_DISK" create "$V" --size 1T --max-extents 2 --map "$M")
	echo "peak: $peak_kib KiB"
	[ "$peak_kib" -le $((160 * 1024)) ]
	ok verify "$V" --map "$M"
}

@test "1 TiB on 2 TiB: \$Bitmap is read once, and the image's part of it once more from the fresh open" {
	slow_one
	mkvol 2T 4096
	ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 \
		strace -f -o "$T/trace" -e trace=pread64 "$WUBI_DISK" create "$V" --size 1T --max-extents 2 --map "$M" --quiet
	bytes=$(awk '/pread64/ { sum += $NF } END { printf "%.0f", sum }' "$T/trace")
	echo "read: $bytes bytes"
	# 2 TiB in clusters of 4 KiB: 64 MiB of bits; the verification reads the 32 MiB of the image's clusters again
	[ "$bytes" -ge $((64 * 1048576)) ]
	[ "$bytes" -le $(((64 + 32 + 4) * 1048576)) ]
}

@test "the writes of a large image are metadata" {
	slow_one
	mkvol 64G 4096
	ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 \
		strace -f -o "$T/trace" -e trace=pwrite64 "$WUBI_DISK" create "$V" --size 30G --fs none --map "$M" --quiet
	bytes=$(awk '/pwrite64/ { sum += $NF } END { printf "%.0f", sum }' "$T/trace")
	echo "written: $bytes bytes"
	[ "$bytes" -le $((4 * 1048576)) ]
}
