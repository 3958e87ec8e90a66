#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# copy.sh: the copy of a squashfs onto ext4, beside unsquashfs, in turn and in one run. Prints medians and a ratio; asserts none.
#
# BENCH_SOURCE="FOLDER..." (/usr/share /usr/bin), BENCH_COMP (zstd), BENCH_SQUASHFS=FILE instead, BENCH_ROUNDS (3)
# BENCH_PARTITION=DEVICE BENCH_IMAGE=DEVICE: what is written to is there, instead of a file: unsquashfs to the one, ours to the other
# (copy_debian.py: a partition, and an image through device-mapper, of one disk). What is on them is lost.
set -u
cd "$(dirname "$0")/../.." || exit 1
driver=${COPY_DRIVER:-${BUILD:-$PWD/build}/tests/cli/treecopy_driver}
rounds=${BENCH_ROUNDS:-3}
if [ "$(id -u)" != 0 ] || ! losetup -f >/dev/null 2>&1; then
	echo "skipped: needs root and loop devices"
	exit 0
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/wubi-bench.XXXXXX") || exit 1
source=$work/source target=$work/target
cleanup() {
	umount "$target" 2>/dev/null
	umount "$source" 2>/dev/null
	rm -rf -- "$work"
}
trap cleanup EXIT
mkdir "$source" "$target"

squashfs=${BENCH_SQUASHFS:-$work/source.squashfs}
if [ ! -e "$squashfs" ]; then
	read -ra folders <<<"${BENCH_SOURCE:-/usr/share /usr/bin}"
	level=()
	[ "${BENCH_COMP:-zstd}" != zstd ] || level=(-Xcompression-level 3)
	mksquashfs "${folders[@]}" "$squashfs" -comp "${BENCH_COMP:-zstd}" "${level[@]}" -no-progress >"$work/log" 2>&1 ||
		{ cat "$work/log" >&2; exit 1; }
fi
mount -o loop,ro "$squashfs" "$source" || exit 1
read -r _ files folders content disk < <("$driver" measure "$source") || exit 1
bytes=${content#*=}
room=$((${disk#*=} * 13 / 10 + (256 << 20)))
umount "$source" || exit 1

# The same file each time; all of it is in the page cache of the host or none, and the source's is dropped.
fresh() { # DEVICE, or '': a file
	local option=()
	[ -n "$1" ] || { rm -f "$work/target.img" && truncate -s "$room" "$work/target.img" && option=(-o loop); } || return 1
	mke2fs -q -F -t ext4 -b 4096 -i 8192 -E lazy_itable_init=0,lazy_journal_init=0 "${1:-$work/target.img}" >"$work/log" 2>&1 &&
		mount "${option[@]}" "${1:-$work/target.img}" "$target" && sync || return 1
	echo 3 >/proc/sys/vm/drop_caches
}

unsquash() { unsquashfs -no-progress -f -d "$target" "$squashfs" >"$work/log" 2>&1 && sync -f "$target"; }
ours() {
	mount -o loop,ro "$squashfs" "$source" && "$driver" copy "$source" "$target" >"$work/log" 2>&1 && umount "$source"
}
# What any copy from a mount has to pay: the kernel's own squashfs, whose decompressor may be one for all (SQUASHFS_DECOMP_SINGLE).
reading() { mount -o loop,ro "$squashfs" "$source" && tar -cf - -C "$source" . | cat >/dev/null && umount "$source"; }

one() { # COMMAND [DEVICE]: its time in microseconds
	local start us
	fresh "${2-}" || return 1
	start=$(date +%s%N)
	"$1" || { echo "failed: $1" >&2; tail -n 5 "$work/log" >&2; return 1; }
	us=$((($(date +%s%N) - start) / 1000))
	umount "$target" || return 1
	echo "$us"
}

for ((round = 0; round < rounds; round++)); do
	one unsquash "${BENCH_PARTITION-}" >>"$work/unsquash" && one ours "${BENCH_IMAGE-}" >>"$work/ours" &&
		one reading "${BENCH_PARTITION-}" >>"$work/reading" || exit 1
done

median() { sort -n "$1" | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'; }
theirs=$(median "$work/unsquash")
mine=$(median "$work/ours")
reading=$(median "$work/reading")
echo "$files $folders, $((bytes >> 20)) MiB in $(($(stat -c %s "$squashfs") >> 20)) MiB of squashfs; median of $rounds"
awk -v ours="$mine" -v theirs="$theirs" -v reading="$reading" -v bytes="$bytes" 'BEGIN {
	printf "%-34s %9s %9s\n", "", "s", "MB/s"
	printf "%-34s %9.2f %9.1f\n", "unsquashfs and sync", theirs / 1e6, bytes / theirs
	printf "%-34s %9.2f %9.1f\n", "ours, with its last flush", ours / 1e6, bytes / ours
	printf "%-34s %9.2f %9.1f\n", "tar of the mount, to nowhere", reading / 1e6, bytes / reading
	printf "%-34s %9.2f   (more is better for us)\n", "speed, ours to theirs", theirs / ours
}'
