#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Refusals that fit the verb: the remedy that it has, the same with --dry-run, and on a volume that is in use.

load ../lib.sh

@test "a dirty volume: --force-state is told where the verb has it, and only there" {
	mkvol 40M
	create 8M
	fx dirty "$V"
	refuses dirty 'chkdsk&--force-state dirty' create "$V" --size 8M --name two
	refuses dirty 'chkdsk&--force-state dirty' map "$V" --output "$M"
	refuses dirty 'chkdsk' remove "$V" --image "$IMG" --yes
	lacks "$err$out" 'force-state'
}

@test "map --dry-run refuses what map refuses" {
	requires root fuse
	mkvol 40M
	create 8M --no-host-map
	cp "$V" "$T/kept.img"
	fx dirty "$V"
	refuses dirty 'chkdsk' map "$V" --dry-run
	refuses dirty 'chkdsk' map "$V" --output "$M" --dry-run
	ok map "$V" --dry-run --force-state dirty
	cp "$T/kept.img" "$V"
	fx fastboot "$V"
	refuses fast-startup 'fast startup' map "$V" --dry-run
	cp "$T/kept.img" "$V"
	in_ntfs "echo 'treasure at x' >ubuntu/disks/root.map"
	refuses map-exists 'root\.map' map "$V" --dry-run
	refuses map-file 'nonexistent' map "$V" --dry-run --no-host-map --output /nonexistent/x.map
}

@test "attach --dry-run refuses a plain file as attach does" {
	mkvol 40M
	create 8M
	cp "$M" "$T/true.map"
	refuses not-a-block-device 'v\.img' attach "$V" --map "$T/true.map"
	refuses not-a-block-device 'v\.img' attach "$V" --map "$T/true.map" --dry-run
}

@test "attach --dry-run refuses what no map is true for" {
	requires loop
	mkvol 40M
	create 8M
	fx emptied "$V" "$IMG"
	loop "$V"
	wd attach "$L" --map "$M" --dry-run --json
	status_is 3
	eq "$(reasons)" verdict-emptied
}

@test "a volume that ntfs-3g has mounted: map refuses, verify does not say match" {
	requires root fuse
	mkvol 40M
	create 8M
	cp "$M" "$T/true.map"
	mkdir "$T/m"
	ntfs-3g "$V" "$T/m" 3>&-
	MOUNTED=$T/m
	rm "$M"
	for args in "--output $M" "--output $M --no-host-map" '--no-host-map' '--dry-run'; do
		# shellcheck disable=SC2086
		wd map "$V" --json $args
		[ "$status" = 3 ] || fail "map $args: exit status $status"
		eq "$(reasons)" busy
		absent "$M"
	done
	wd verify "$V" --map "$T/true.map"
	[ "$status" = 1 ] || [ "$status" = 3 ] || fail "verify: exit status $status"
	lacks "$out" '^match'
}

@test "an image without a file system, and its map, in found.000: create refuses" {
	requires root fuse
	mkvol 40M
	create 8M --fs none
	in_ntfs "mkdir found.000; mv .$IMG found.000/file0000.chk; mv ubuntu/disks/root.map found.000/file0001.chk"
	refuses image-in-found 'found\.000.file000[01]\.chk&move' create "$V" --size 8M --map "$M" --fs none
	in_ntfs "rm -r ubuntu"
	refuses image-in-found 'found\.000.file000[01]\.chk' create "$V" --size 8M --map "$M"
}

@test "other files in found.000 are no reason to refuse" {
	requires root fuse
	mkvol 40M
	in_ntfs "mkdir found.000; head -c 1000000 /dev/zero >found.000/file0000.chk; echo text >found.000/file0001.chk"
	create 8M
	verdict_is match
}
