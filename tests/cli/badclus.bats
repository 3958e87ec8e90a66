#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Clusters that cannot be used, and a medium that fails.

load ../lib.sh

# a volume whose free space is one run of 32 MiB, and small change; $bad is the run's middle
one_run() {
	mkvol 128M 4096
	fx holes "$V" 33554432 1 65536
	read -r lcn n <<<"$(fx free-list "$V" | sort -k2n | tail -1)"
	eq "$n" 8192
	bad=$((lcn + n / 2))
}

@test "A16 bad clusters in the largest free run: not across them, and never one of them" {
	one_run
	fx badclus "$V" "$bad" 3
	refuses fragmented 'largest&extents' create "$V" --size 24M --map "$M"
	create 24M --max-extents 8
	while read -r at count; do
		[ "$((at + count))" -le "$bad" ] || [ "$at" -ge "$((bad + 3))" ] || fail "$at+$count holds a bad cluster"
	done <<<"$(fx runs "$V" "$IMG")"
	verdict_is match
	ntfsresize -i -f -b "$V" >"$T/log" 2>&1 || fail "$(cat "$T/log")"
}

@test "A16 bad clusters that \$Bitmap calls free are not taken either" {
	one_run
	fx badclus "$V" "$bad" 3
	"$PY" - "$TESTS_DIR/fixtures" "$V" "$bad" <<-'EOP'
		import sys
		sys.path.insert(0, sys.argv[1])
		import ntfslib
		v = ntfslib.Volume.open(sys.argv[2], True)
		bits = v.bitmap()
		v.set_bits(bits, int(sys.argv[3]), 3, False)
		v.write_bitmap(bits)
	EOP
	refuses fragmented '' create "$V" --size 24M --map "$M"
}

@test "A16 a write error while formatting: file and clusters as before, no map, exit 1" {
	mkvol 128M 4096
	create 32M
	read -r _ physical _ <<<"$(mapfx extents "$M")"
	ok remove "$V" --image "$IMG" --yes
	rm "$M"
	free=$(fx free-clusters "$V")
	before=$(ntfscheck "$V")
	# the first 4 KiB of the image hold its superblock, its middle a group's bitmap or inode table
	for at in 0 16777216 8388608; do
		export LD_PRELOAD=$FAULTSHIM FAULT_TARGET=$V FAULT_MODE=range \
			FAULT_OFF=$((physical * 512 + at)) FAULT_LEN=4096
		wd create "$V" --size 32M --zero --map "$M"
		unset LD_PRELOAD
		status_is 1
		has "$err" "$V.*(input/output|i/o) error"
		absent "$M"
		eq "$(fx free-clusters "$V")" "$free"
		eq "$(ntfscheck "$V")" "$before"
	done
	create 32M
}

@test "A16 a volume that is shorter than NTFS says: refused before anything is written" {
	mkvol 64M 4096
	truncate -s 40M "$V"
	before=$(sum)
	wd create "$V" --size 8M --map "$M"
	[ "$status" = 1 ] || [ "$status" = 3 ] || fail "exit status $status"
	absent "$M"
	eq "$(sum)" "$before"
}
