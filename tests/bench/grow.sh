#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# grow.sh: what it costs to make an image larger, beside cp of the same bytes, all in one run. Prints ratios; asserts none.
set -u
cd "$(dirname "$0")/../.." || exit 1
disk=${BUILD:-$PWD/build}/wubi-disk
rounds=${BENCH_ROUNDS:-3}
size=${BENCH_MIB:-512} # of the image before, in MiB; it grows by a quarter
work=$(mktemp -d "${TMPDIR:-/tmp}/wubi-bench.XXXXXX") || exit 1
trap 'rm -rf -- "$work"' EXIT
volume=$work/v.img image=$work/image.img copy=$work/copy.img map=$work/root.map

# The image's bytes are random, and as many lie in a file for cp.
prepare() {
	rm -f "$volume" "$map"
	truncate -s $((size * 4))M "$volume" && mkntfs -F -Q -q -c 4096 -p 2048 -H 255 -S 63 "$volume" >"$work/log" 2>&1 &&
		"$disk" create "$volume" --quiet --fs none --size "${size}M" --map "$map" || return 1
	local start count
	read -r _ _ start count < <(grep '^extent ' "$map")
	head -c $(((size - 64) << 20)) /dev/urandom |
		dd of="$volume" bs=1M oflag=seek_bytes seek=$((start * 512 + (32 << 20))) conv=notrunc,fsync status=none || return 1
	dd if="$volume" of="$image" bs=1M iflag=skip_bytes,count_bytes skip=$((start * 512)) count=$((count * 512)) \
		conv=fsync status=none
}

grow() { "$disk" grow "$volume" --map "$map" --size $((size * 5 / 4))M --yes --quiet "$@"; }

cp_same() {
	rm -f "$copy"
	cp --reflink=never --sparse=never "$image" "$copy" && sync "$copy"
}

cp_and_compare() { cp_same && cmp -s "$image" "$copy"; }

# median_ms COMMAND...: everything is made anew before each round, outside the clock
median_ms() {
	local start round
	for ((round = 0; round < rounds; round++)); do
		prepare || return 1
		start=$(date +%s%N)
		"$@" >"$work/log" 2>&1 || { echo "failed: $*" >&2; cat "$work/log" >&2; return 1; }
		echo $((($(date +%s%N) - start) / 1000))
	done | sort -n | awk '{ t[NR] = $1 } END { if (NR) printf "%.1f\n", t[int((NR + 1) / 2)] / 1000; exit !NR }'
}

row() { # NAME OURS THEIRS
	awk -v name="$1" -v ours="$2" -v theirs="$3" 'BEGIN {
		printf "%-40s %9.1f %9.1f %6.3f\n", name, ours, theirs, (theirs > 0 ? ours / theirs : 0)
	}'
}

copied=$(median_ms cp_same) || exit 1
compared=$(median_ms cp_and_compare) || exit 1
in_place=$(median_ms grow) || exit 1
moved=$(median_ms grow --relocate) || exit 1

printf '%-40s %9s %9s %6s\n' "median of $rounds, ms" wubi-disk cp ratio
row "$size MiB to $((size * 5 / 4)) MiB in place" "$in_place" "$copied"
row "$size MiB to $((size * 5 / 4)) MiB, --relocate" "$moved" "$copied"
row "the same, and cp with cmp behind it" "$moved" "$compared"
echo "cp: of a file with the image's $size MiB, and sync of the copy. There is no file system in the image that would have to grow."
echo "--relocate flushes and reads back what it has copied; in place no byte of the image is moved."
