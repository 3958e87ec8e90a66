#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Signals: nothing is done, or all of it; never half of a commit.

load ../lib.sh
load lib_traced

# each_write SIGNAL: the signal at every write of the commit of a create
each_write() {
	local k n
	mkvol 20M
	cp --sparse=always "$V" "$T/kept.img"
	calls pwrite64 create "$V" --size 1M --fs none --map "$M"
	n=$count
	for ((k = 1; k <= n; k++)); do
		rm -f "$M"
		cp --sparse=always "$T/kept.img" "$V"
		traced pwrite64 "signal=$1:when=$k" create "$V" --size 1M --fs none --map "$M"
		ntfs-3g.probe --readwrite "$V" || fail "$1 at write $k of $n: ntfs-3g.probe says $?"
		# the bytes of the image of 1 MiB, which has no file system, are not touched: a plain comparison will do
		if cmp -s "$V" "$T/kept.img"; then
			[ "$status" != 0 ] || fail "$1 at write $k of $n: exit status 0, and nothing was done"
			absent "$M"
			continue
		fi
		# done: then all of it, and the map is there, or at least the copy on the volume
		[ "$status" != 4 ] || fail "$1 at write $k of $n: exit status 4, but the volume is changed"
		[ "$status" != 0 ] || [ -s "$M" ] || fail "$1 at write $k of $n: exit status 0, and no map"
		[ -s "$M" ] || ntfscat -f "$V" /ubuntu/disks/root.map >"$M"
		ok verify "$V" --map "$M"
	done
	second_opinion
}

@test "SIGQUIT at each write of the commit: nothing, or all of it" {
	needs_trace
	each_write SIGQUIT
}

@test "SIGUSR1 at each write of the commit: nothing, or all of it" {
	needs_trace
	each_write SIGUSR1
}

@test "other deadly signals in the middle of the commit: nothing, or all of it" {
	needs_trace
	mkvol 20M
	cp --sparse=always "$V" "$T/kept.img"
	before=$(fx allocated-sum "$V")
	calls pwrite64 create "$V" --size 1M --fs none --map "$M"
	middle=$((count / 2 + 1))
	for signal in HUP INT TERM USR2 ALRM PIPE VTALRM PROF XCPU XFSZ IO PWR; do
		rm -f "$M"
		cp --sparse=always "$T/kept.img" "$V"
		traced pwrite64 "signal=SIG$signal:when=$middle" create "$V" --size 1M --fs none --map "$M"
		eq "$(ntfscheck "$V" | jq -c '[.mirror, .dirty, .errors]')" '[[],false,[]]' "SIG$signal: mirror, dirty, errors"
		[ "$(fx allocated-sum "$V")" != "$before" ] || continue
		[ -s "$M" ] || ntfscat -f "$V" /ubuntu/disks/root.map >"$M"
		ok verify "$V" --map "$M"
	done
}

# before_commit ARG...: SIGTERM at reads before the first write
before_commit() {
	local k n before
	cp --sparse=always "$V" "$T/kept.img"
	traced pread64,pwrite64 '' "$@"
	status_is 0
	n=$(awk '/pwrite64\(/ { exit } /pread64\(/ { n++ } END { print n }' "$T/trace")
	[ "$n" -gt 10 ] || fail "only $n reads before the first write"
	cp --sparse=always "$T/kept.img" "$V"
	before=$(sum)
	for k in 1 2 $((n / 4)) $((n / 3)) $((n / 2)); do
		rm -f "$T/new.map"
		traced pread64 "signal=SIGTERM:when=$k" "$@"
		[ "$status" = 4 ] || fail "SIGTERM at read $k of $n: exit status $status, not 4"
		eq "$(sum)" "$before" "checksum of the volume, SIGTERM at read $k of $n"
		absent "$T/new.map"
	done
}

@test "SIGTERM before the commit of map: exit 4, nothing is changed" {
	needs_trace
	mkvol 20M
	create 2M --fs none
	before_commit map "$V" --output "$T/new.map"
}

@test "SIGTERM before the commit of remove: exit 4, nothing is changed" {
	needs_trace
	mkvol 20M
	create 2M --fs none
	before_commit remove "$V" --image "$IMG" --yes
	verdict_is match
}

@test "SIGTERM before the commit of create: exit 4, nothing is changed" {
	needs_trace
	mkvol 20M
	before_commit create "$V" --size 2M --fs none --map "$T/new.map"
}
