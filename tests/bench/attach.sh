#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# attach.sh: wubi-attach's time and peak memory for an image of 625 MiB in 1, 100 and 10,000 extents, on the kernel of a
# user-mode Linux guest. Prints ratios; asserts none. 'attach.sh guest' is what runs in the guest.
set -u
counts="1 100 10000"
image_bytes=$((625 << 20))
rounds=${BENCH_ROUNDS:-7}

in_guest() { # EXTENTS MICROSECONDS KIB MILLISECONDS-AT-WORK, a line a round
	local count round
	# shellcheck source=tests/vm/guest.sh
	. "$WUBI_TOP/tests/vm/guest.sh"
	load_module dm_mod loop || exit 1
	echo "root=/dev/mapper/wubi-root ro quiet" >/run/cmdline
	for count in $counts; do
		losetup -f "$WUBI_WORK/v$count.img" || exit 1
		for ((round = 0; round < rounds; round++)); do
			printf '%s ' "$count"
			"$WUBI_BUILD/tests/bench/measure" "$WUBI_BUILD/wubi-attach" --cmdline /run/cmdline --run-dir /run/wubi \
				--maps "$WUBI_WORK/maps$count" 2>/run/log >/run/measured ||
				{ cat /run/log; exit 1; }
			echo "$(cat /run/measured) $(jq .elapsed_ms /run/wubi/boot.json)"
			[ "$(dmsetup table wubi-root | wc -l)" -eq "$count" ] || { echo "not $count extents"; exit 1; }
			dmsetup remove wubi-root
		done
		losetup -D
	done >"$WUBI_WORK/measured"
}

make_volume() { # EXTENTS
	local v=$work/v$1.img
	truncate -s 1500M "$v"
	mkntfs -F -Q -q -c 4096 -p 2048 -H 255 -S 63 "$v" >"$work/log" 2>&1 || return 1
	if [ "$1" -gt 1 ]; then
		python3 tests/fixtures/ntfsfx.py holes "$v" $((image_bytes / $1)) "$1" 4096 8388608 >>"$work/log" 2>&1 || return 1
	fi
	mkdir "$work/maps$1"
	"$BUILD/wubi-disk" create "$v" --size 625MiB --max-extents "$1" --no-host-map --map "$work/maps$1/root.map" --quiet \
		2>>"$work/log" || return 1
	[ "$(grep -c '^extent ' "$work/maps$1/root.map")" -eq "$1" ]
}

median() { # EXTENTS COLUMN
	awk -v n="$1" -v c="$2" '$1 == n { print $c }' "$work/measured" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

row() { # EXTENTS
	awk -v n="$1" -v us="$(median "$1" 2)" -v kib="$(median "$1" 3)" -v ms="$(median "$1" 4)" -v one="$(median 1 2)" 'BEGIN {
		printf "%8d extents %9.1f ms %6.2f %9d ms %8.1f MiB\n", n, us / 1000, us / one, ms, kib / 1024 }'
}

if [ "${1:-}" = guest ]; then
	in_guest
	exit
fi
cd "$(dirname "$0")/../.." || exit 1
export BUILD=${BUILD:-$PWD/build} PYTHONDONTWRITEBYTECODE=1 PATH=$PATH:/usr/sbin:/sbin
command -v linux.uml >/dev/null || { echo "attach.sh: no linux.uml, nothing measured"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/wubi-bench.XXXXXX") || exit 1
trap 'rm -rf -- "$work"' EXIT
for count in $counts; do
	make_volume "$count" || { echo "attach.sh: no volume of $count extents" >&2; cat "$work/log" >&2; exit 1; }
done
tests/vm/run.sh -w "$work" -t 300 -e "BENCH_ROUNDS=$rounds" "$PWD/tests/bench/attach.sh" guest || exit 1
printf 'wubi-attach, median of %s %10s %6s %12s %12s\n' "$rounds" time "to 1" "at work" memory
for count in $counts; do
	row "$count"
done
echo "aim: 10,000 extents within twice the time of 1, under 64 MiB. The rest of the time is the start of the program: the guest"
echo "reads it and its libraries from the host."
