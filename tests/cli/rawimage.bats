#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Images whose content proves nothing, and files that are larger than they say.

load ../lib.sh

# attach looks at all block devices for clones, and mkntfs takes the serial number from the clock
own_serial() { ntfslabel --new-serial="$(md5sum <<<"$T" | head -c 16)" "$V" >/dev/null 2>&1; }

# no_attach REASON: neither attach nor its dry run goes on
no_attach() {
	local args
	loop "$V"
	for args in --dry-run ''; do
		# shellcheck disable=SC2086
		wd attach "$L" --map "$M" --json $args
		[ "$status" = 3 ] || fail "attach $args: exit status $status"
		eq "$(reasons)" "$1"
	done
	losetup -d "$L"
}

@test "an image without a file system: create says what verify says later" {
	mkvol 40M
	create 8M --fs none --json
	eq "$(json '[.status, .fs.type] | join(" ")')" 'done none'
	verdict_is match
	mapfx poke "$M" "$V" 4096 'the data of some other system'
	verdict_is match
	second_opinion
}

@test "an image without a file system that was moved: moved, and attach refuses" {
	requires loop
	mkvol 60M
	own_serial
	create 8M --fs none
	mapfx poke "$M" "$V" 4096 'the data of some other system'
	fx move "$V" "$IMG"
	second_opinion
	verdict_is moved
	has "$(why)" 'wubi-disk map'
	no_attach verdict-moved
	cp "$M" "$T/old.map"
	ok map "$V" --map "$T/old.map" --output "$M"
	verdict_is match
}

@test "an image with a file system that was moved: moved, and its file system is right there" {
	mkvol 60M
	create 8M
	fx move "$V" "$IMG"
	second_opinion
	verdict_is moved
	has "$(why)" 'file system is right there'
}

@test "a file with more clusters than its size: foreign, and attach and map refuse" {
	requires loop
	for fs in ext4 none; do
		mkvol 40M
		own_serial
		create 8M --fs $fs
		cp "$M" "$T/kept.map"
		fx overallocated "$V" "$IMG"
		second_opinion
		verdict_is foreign
		has "$(why)" 'alloc|cluster'
		refuses size 'cluster' map "$V" --output "$M"
		cp "$T/kept.map" "$M"
		no_attach verdict-foreign
	done
}
