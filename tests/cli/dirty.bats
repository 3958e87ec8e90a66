#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The flags of $Volume around a commit.

load ../lib.sh
load lib_traced

@test "a chkdsk that was cut short counts as dirty" {
	mkvol 20M
	create 2M --fs none
	fx set-flags "$V" 0x4000
	refuses dirty 'chkdsk' create "$V" --size 2M --fs none --name two
	refuses dirty 'chkdsk' remove "$V" --image "$IMG" --yes
	eq "$(fx flags "$V")" 0x4000
}

@test "the volume is marked dirty while a commit is under way, whatever other flags it has" {
	mkvol 20M
	cp --sparse=always "$V" "$T/kept.img"
	for flags in 0x0000 0x4000 0x8000; do
		force=()
		[ $flags != 0x4000 ] || force=(--force-state dirty)
		cp --sparse=always "$T/kept.img" "$V"
		fx set-flags "$V" $flags
		cp --sparse=always "$V" "$T/flagged.img"
		faulted count 0 create "$V" --size 2M --fs none "${force[@]}" --map "$M"
		status_is 0
		eq "$(fx flags "$V")" $flags "flags afterwards"
		eq "$(ntfscheck "$V" | jq -c .mirror)" '[]'
		n=$(<"$T/count")
		for at in $((n / 3)) $((n / 2)) $((2 * n / 3)); do
			cp --sparse=always "$T/flagged.img" "$V"
			faulted kill $at create "$V" --size 2M --fs none "${force[@]}" --map "$M"
			status_is 137
			eq $(($(fx flags "$V") & 1)) 1 "VOLUME_IS_DIRTY, flags $flags, killed at $at of $n"
		done
	done
}

@test "--force-state dirty: a volume that was dirty is dirty during and after the commit" {
	mkvol 20M
	fx set-flags "$V" 0x4001
	cp --sparse=always "$V" "$T/kept.img"
	faulted count 0 create "$V" --size 2M --fs none --force-state dirty --map "$M"
	status_is 0
	eq "$(fx flags "$V")" 0x4001
	n=$(<"$T/count")
	cp --sparse=always "$T/kept.img" "$V"
	faulted kill $((n / 2)) create "$V" --size 2M --fs none --force-state dirty --map "$M"
	eq "$(fx flags "$V")" 0x4001
}

@test "flags of the volume that nobody knows stay as they are" {
	mkvol 20M
	fx set-flags "$V" 0x0080
	create 2M --fs none
	eq "$(fx flags "$V")" 0x0080
}
