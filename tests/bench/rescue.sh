#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# rescue.sh: copying an image out by its map, beside cp of the same bytes in a plain file, in turn and in one run. Prints ratios; asserts
# none. BENCH_SIZE: of the image in MiB.
set -u
cd "$(dirname "$0")/../.." || exit 1
disk=${BUILD:-$PWD/build}/wubi-disk
rounds=${BENCH_ROUNDS:-5}
mib=${BENCH_SIZE:-1024}
work=$(mktemp -d "${TMPDIR:-/tmp}/wubi-bench.XXXXXX") || exit 1
trap 'rm -rf -- "$work"' EXIT
volume=$work/v.img plain=$work/plain.img map=$work/root.map

fresh_volume() { # FS
	rm -f "$volume" "$plain" "$map"
	truncate -s "$((3 * mib))M" "$volume" && mkntfs -F -Q -q -c 4096 -p 2048 -H 255 -S 63 "$volume" >"$work/log" 2>&1 &&
		"$disk" create "$volume" --size "${mib}M" --fs "$1" --no-host-map --quiet --map "$map"
}

extent() { # first and number of 4 KiB blocks of the image, which is in one piece
	awk '$1 == "extent" { print $3 / 8, $4 / 8 }' "$map"
}

# fill SHARE: so many percent of the image, up to its end, are random bytes; the plain file has all its bytes, and holes
fill() {
	local first count n=$((mib * 256 * $1 / 100))
	read -r first count < <(extent)
	dd if=/dev/urandom of="$volume" bs=4096 seek=$((first + count - n)) count="$n" conv=notrunc status=none &&
		dd if="$volume" of="$plain" bs=4096 skip="$first" count="$count" conv=sparse status=none &&
		truncate -s "${mib}M" "$plain"
}

cold() { # the next read comes from the disk
	sync "$1" && dd if="$1" iflag=nocache count=0 status=none
}

ours() { "$disk" rescue "$volume" --map "$map" --output "$work/ours" --quiet; }
theirs() { cp --sparse=always "$plain" "$work/theirs" && sync "$work/theirs"; }

ms() { # FILE COMMAND: the file is read cold
	local start
	cold "$1" || return 1
	start=$(date +%s%N)
	"$2" || { echo "failed: $2" >&2; return 1; }
	echo $((($(date +%s%N) - start) / 1000))
}

median() { sort -n "$1" | awk '{ t[NR] = $1 } END { if (NR) printf "%.1f\n", t[int((NR + 1) / 2)] / 1000 }'; }

row() { # NAME
	local round
	: >"$work/ours.us"
	: >"$work/theirs.us"
	for ((round = 0; round < rounds; round++)); do
		rm -f "$work/ours" "$work/theirs"
		ms "$volume" ours >>"$work/ours.us" && ms "$plain" theirs >>"$work/theirs.us" || return 1
	done
	cmp "$work/ours" "$work/theirs" || return 1
	awk -v name="$1" -v ours="$(median "$work/ours.us")" -v theirs="$(median "$work/theirs.us")" 'BEGIN {
		ratio = theirs > 0 ? ours / theirs : 0
		bar = ""
		for (i = 0; i < ratio * 20 && i < 40; i++) bar = bar "#"
		printf "%-34s %9.1f %9.1f %6.2f %s\n", name, ours, theirs, ratio, bar
	}'
}

printf '%-34s %9s %9s %6s %s\n' "median of $rounds, ms" rescue cp ratio "1.0 = 20 #"
fresh_volume none && fill 95 && row "$mib MiB, full" || exit 1
fresh_volume none && fill 25 && row "$mib MiB, a quarter full" || exit 1
fresh_volume ext4 && fill 0 && row "$mib MiB, empty ext4, and e2fsck" || exit 1
echo "cp: --sparse=always of a plain file with the same bytes, then sync; what is read was dropped from the cache before."
echo "rescue also looks for the owner of each old cluster before the copy, and flushes about each second; of an ext4, e2fsck looks at the copy."
