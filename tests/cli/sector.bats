#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Disks with 512-byte and with 4096-byte sectors.

load ../lib.sh

# cell VOLUME-SECTOR DEVICE-SECTOR
cell() {
	mkvol 40M 4096 "$1"
	loop --sector-size "$2" "$V"
}

@test "A14 sectors 512 on 512, 4096 on 4096: the map is in 512-byte sectors" {
	requires loop
	for s in 512 4096; do
		cell "$s" "$s"
		ok create "$L" --size 8M --map "$M"
		eq "$(mapfx extents "$M" | wc -l)" 1
		read -r logical physical count <<<"$(mapfx extents "$M")"
		eq "$logical $count" "0 16384"
		eq "$((physical * 512 % 4096))" 0
		ok verify "$L" --map "$M"
		eq "$(fx runs "$V" "$IMG")" "$((physical / 8)) 2048"
		losetup -d "$L"
		rm "$M"
	done
}

@test "A14 NTFS of 4096 on a 512 device, and the reverse: create refuses" {
	requires loop
	cell 4096 512
	refuses sector-size '4096&512' create "$L" --size 8M --map "$M"
	losetup -d "$L"
	cell 512 4096
	refuses sector-size '4096&512' create "$L" --size 8M --map "$M"
}

@test "A14 a plain file has no sectors: both volumes work, offsets in 512-byte sectors" {
	for s in 512 4096; do
		mkvol 40M 4096 "$s"
		create 8M
		read -r _ physical _ <<<"$(mapfx extents "$M")"
		eq "$(fx runs "$V" "$IMG")" "$((physical / 8)) 2048"
		verdict_is match
		second_opinion
	done
}

@test "A14 an extent that the device's sectors cannot hold is refused by table and verify" {
	mkvol 40M 4096 4096
	create 8M
	read -r _ physical count <<<"$(mapfx extents "$M")"
	mapfx set-extents "$M" "0,$((physical + 1)),$count"
	wd table --map "$M" --device /dev/sda2
	status_is 3
	verdict_is invalid
}
