#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The disk fails, or the system forbids a write: what could not be read is never called something else.

load ../lib.sh
load lib_traced

# each_read ARG...: EIO at every read of the volume; calls told() after each run
each_read() {
	local before k n
	traced pread64 '' "$@"
	n=$(grep -c 'pread64(' "$T/trace")
	rm -f "$T/new.map"
	before=$(sum)
	for ((k = 1; k <= n; k++)); do
		traced pread64 "error=EIO:when=$k" "$@"
		[ "$status" = 1 ] || fail "read $k of $n: exit status $status, not 1: $(hit)"
		told
	done
	eq "$(sum)" "$before" "checksum of the volume"
}

@test "verify with any read failed: exit 1, and no verdict" {
	needs_trace
	mkvol 24M
	create 8M
	told() { [ -z "$out" ] || fail "a verdict: $out"; }
	each_read verify "$V" --map "$M"
	has "$err" 'read|I/O|Input/output'
}

@test "verify of a swap that was renamed, with any read failed: exit 1, and no verdict" {
	needs_trace
	requires root fuse
	mkvol 20M
	create 4M --fs swap
	in_ntfs 'mkdir found.000; mv ubuntu/disks found.000/dir0000.chk'
	told() { [ -z "$out" ] || fail "a verdict: $out"; }
	verdict_is renamed
	each_read verify "$V" --map "$M"
}

@test "map with any read failed: exit 1, and no map" {
	needs_trace
	mkvol 24M
	create 8M
	told() { [ ! -e "$T/new.map" ] || fail "a map was written"; }
	each_read map "$V" --no-host-map --output "$T/new.map"
	eq "$(find "$T" -name 'new.map*')" ''
}

@test "info with any read failed: exit 1" {
	needs_trace
	mkvol 24M
	create 8M
	told() { [ -z "$out" ] || fail "a report: $out"; }
	each_read info "$V"
}

@test "the dirty mark cannot be written: nothing is changed, and nobody says otherwise" {
	mkvol 20M
	create 2M --fs none
	before=$(sum)
	for mode in eio dead; do
		faulted $mode 1 remove "$V" --image "$IMG" --yes
		status_is 1
		eq "$(sum)" "$before" "checksum of the volume ($mode)"
		lacks "$err" 'is marked dirty'
		# with 'dead' the old record cannot be written again either, and it may be said that nobody knows
		[ $mode = dead ] || lacks "$err" 'marked dirty|chkdsk'
	done
	verdict_is match
}

@test "the second write of the commit fails: what is said of the dirty mark is true" {
	mkvol 20M
	create 2M --fs none
	cp "$V" "$T/kept.img"
	for at in 2 3 4; do
		cp "$T/kept.img" "$V"
		before=$(fx allocated-sum "$V")
		faulted eio $at remove "$V" --image "$IMG" --yes
		status_is 1
		eq "$(ntfscheck "$V" | jq -c .mirror)" '[]' "records that differ from the mirror (write $at)"
		if [ "$(fx allocated-sum "$V")" = "$before" ]; then
			lacks "$err" 'is marked dirty'
		elif [ "$(fx flags "$V")" = 0x0001 ]; then
			has "$err" 'marked dirty|chkdsk'
		fi
	done
}

@test "a limit on the size of files (ulimit -f): exit 1, and MFT and mirror are equal" {
	mkvol 40M
	before=$(sum)
	for blocks in 1 100 10000 30000; do # the mirror lies at 20 MiB
		status=0
		(ulimit -f "$blocks" && exec "$WUBI_DISK" create "$V" --size 8M --map "$M") >"$T/out" 2>"$T/err" 3>&- || status=$?
		[ "$status" = 1 ] || [ "$blocks,$status" = 30000,0 ] || fail "ulimit -f $blocks: exit status $status"
		eq "$(ntfscheck "$V" | jq -c '[.mirror, .dirty]')" '[[],false]' "mirror and dirty mark"
		ntfs-3g.probe --readwrite "$V" || fail "ulimit -f $blocks: ntfs-3g.probe says $?"
		[ "$status" = 0 ] || [ "$blocks" -ge 10000 ] || eq "$(sum)" "$before"
		[ "$status" = 0 ] || absent "$M"
	done
}
