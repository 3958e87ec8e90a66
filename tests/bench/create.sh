#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# create.sh: what an image costs, beside the tools that one would use by hand, all in one run. Prints ratios; asserts none.
set -u
cd "$(dirname "$0")/../.." || exit 1
disk=${BUILD:-$PWD/build}/wubi-disk
rounds=${BENCH_ROUNDS:-5}
work=$(mktemp -d "${TMPDIR:-/tmp}/wubi-bench.XXXXXX") || exit 1
trap 'rm -rf -- "$work"' EXIT
volume=$work/v.img image=$work/fs.img map=$work/root.map

fresh_volume() { # SIZE
	rm -f "$volume"
	truncate -s "$1" "$volume" && mkntfs -F -Q -q -c 4096 -p 2048 -H 255 -S 63 "$volume" >"$work/log" 2>&1
}

by_hand() { # SIZE: an empty file in the volume, then its clusters
	: >"$work/empty"
	ntfscp -f "$volume" "$work/empty" root.disk >"$work/log" 2>&1 &&
		ntfsfallocate -f -l "$1" "$volume" root.disk >"$work/log" 2>&1 && sync "$volume"
}

mke2fs_same() { # SIZE
	rm -f "$image"
	truncate -s "$1" "$image" && mke2fs -q -F -t ext4 -b 4096 -O \
		none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum \
		-E lazy_itable_init=1 "$image" >"$work/log" 2>&1 && sync "$image"
}

create() { "$disk" create "$volume" --quiet --map "$map" "$@"; }

# median_ms VOLUME-SIZE COMMAND...: the volume is made anew before each round, outside the clock
median_ms() {
	local size=$1 start round
	shift
	for ((round = 0; round < rounds; round++)); do
		fresh_volume "$size" || return 1
		start=$(date +%s%N)
		"$@" || { echo "failed: $*" >&2; cat "$work/log" >&2; return 1; }
		echo $((($(date +%s%N) - start) / 1000))
	done | sort -n | awk '{ t[NR] = $1 } END { if (NR) printf "%.1f\n", t[int((NR + 1) / 2)] / 1000 }'
}

row() { # NAME OURS THEIRS
	awk -v name="$1" -v ours="$2" -v theirs="$3" 'BEGIN {
		ratio = theirs > 0 ? ours / theirs : 0
		bar = ""
		for (i = 0; i < ratio * 20 && i < 40; i++) bar = bar "#"
		printf "%-34s %9.1f %9.1f %6.2f %s\n", name, ours, theirs, ratio, bar
	}'
}

hand=$(median_ms 64G by_hand 30G) || exit 1
mke2fs=$(median_ms 64G mke2fs_same 30G) || exit 1
none=$(median_ms 64G create --size 30G --fs none) || exit 1
ext4=$(median_ms 64G create --size 30G) || exit 1
hand_1t=$(median_ms 2T by_hand 1000G) || exit 1
none_1t=$(median_ms 2T create --size 1000G --fs none) || exit 1

printf '%-34s %9s %9s %6s %s\n' "median of $rounds, ms" wubi-disk "by hand" ratio "1.0 = 20 #"
row "30 GiB of 64 GiB, no file system" "$none" "$hand"
row "30 GiB of 64 GiB, ext4" "$ext4" "$(awk -v a="$hand" -v b="$mke2fs" 'BEGIN { print a + b }')"
row "1000 GiB of 2 TiB, no file system" "$none_1t" "$hand_1t"
echo "by hand: ntfscp of an empty file, ntfsfallocate, sync; for ext4 plus mke2fs of the same features on a sparse file."
echo "wubi-disk also checks the volume first, flushes in order, writes the map, and verifies the result from a fresh open."
