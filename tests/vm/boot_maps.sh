#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2119
#
# wubi-attach and a folder of maps that is not tidy: two of one image, two of one name, damaged ones, too many.
#
# vm-setup: . "$TESTS/vm/lib_volumes.sh"
# vm-setup: base base.img && state dirty.img dirty && sectors=$((8 * 1024 * 1024 / 512))
# vm-setup: maps_of alt maps/root.map && cp maps/root.map alt/alt.map && mapfx set-value alt/alt.map name alt
# vm-setup: cp maps/root.map stale.map && mapfx set-extents stale.map 0,32768,$sectors
# vm-setup: cp maps/root.map second.map && mapfx set-value second.map generation 2
# vm-setup: cp stale.map foreign.map && mapfx set-value foreign.map id 0f2a6ab0-1cda-4a3e-a2d5-7f3b5b9a5d11
# vm-setup: for f in a-root z-root; do
# vm-setup:   maps_of $f-old second.map && cp stale.map $f-old/$f.map
# vm-setup:   maps_of $f-new stale.map && cp second.map $f-new/$f.map
# vm-setup:   maps_of $f-other maps/root.map && cp foreign.map $f-other/$f.map
# vm-setup:   echo junk | maps_of $f-junk && cp maps/root.map $f-junk/$f.map
# vm-setup:   maps_of $f-beside maps/root.map && echo junk >$f-beside/$f.map
# vm-setup: done
# vm-setup: maps_of many maps/root.map && for i in $(seq 10 79); do echo junk >many/a$i.map; done
# vm-setup: maps_of many-good maps/root.map && mapfx crowd maps/root.map many-good 70
# vm-setup: echo junk | maps_of junk && cp -r many many-junk && echo junk >many-junk/root.map
# vm-options: -t 300

. "$(dirname "$0")/lib_boot.sh"

by_uuid=$(sed -n 's/^fs_uuid //p' "$WUBI_WORK/maps/root.map")

# Nobody may write to the same bytes by two devices.
overlap() {
	plug base.img
	maps=$WUBI_WORK/alt
	boot
	attached 'two maps of one image: root' match
	check_equal 'two maps of one image: one device' 'wubi-root ' "$(devices)"
	says 'two maps of one image: the other is refused' 'wubi: alt: not attached: overlap'
	says 'two maps of one image: why' "the maps 'root' and 'alt' are of the same bytes" "${reasons[alt]:-}"
	fresh
	plug base.img
	maps=$WUBI_WORK/alt cmdline='root=/dev/mapper/wubi-alt ro'
	boot
	check_equal 'two maps of one image: the one that root= names' '0 - /dev/mapper/wubi-alt' \
		"$status ${device[root]:-} ${device[alt]:-}"
	says 'two maps of one image: not the other' 'wubi: root: not attached: overlap'
	fresh
	maps=$WUBI_WORK/alt cmdline="root=UUID=$by_uuid ro"
	one base.img attached 'two maps of one image, root= by the UUID in it: one of them will do' match
}

# Whichever is found first: the names of the files sort before and after root.map.
one_name() {
	local name
	for name in a-root z-root; do
		maps=$WUBI_WORK/$name-old
		one base.img attached "$name.map is an older generation" match 'two maps of that name' 'remove the other'
		maps=$WUBI_WORK/$name-new
		one base.img attached "$name.map is a newer generation" match 'two maps of that name'
		maps=$WUBI_WORK/$name-other
		one base.img attached "$name.map is of another image" match 'two maps of that name'
		maps=$WUBI_WORK/$name-junk
		one base.img attached "root.map is damaged, $name.map is good" match
		maps=$WUBI_WORK/$name-beside
		one base.img attached "$name.map is damaged" match
	done
}

# A root that is not to be had is never passed over in silence.
too_many() {
	local root folder
	for root in "$mapper" "UUID=$by_uuid" "/dev/disk/by-uuid/$by_uuid" ''; do
		for folder in many many-good; do
			maps=$WUBI_WORK/$folder cmdline="${root:+root=$root} ro" timeout=1
			one base.img attached "71 maps in $folder, root='$root'" match
			says "71 maps in $folder, root='$root': is told" 'more than 64 maps, it is left out'
		done
	done
	maps=$WUBI_WORK/many-junk cmdline="root=$mapper ro"
	one base.img refused '71 damaged maps' invalid
}

damaged() {
	local root
	for root in "UUID=$by_uuid" "/dev/disk/by-uuid/$by_uuid"; do
		cmdline="root=$root ro"
		one dirty.img refused "root=$root is ours" unsettled 'marked dirty'
		maps=$WUBI_WORK/junk cmdline="root=$root ro"
		plug base.img
		boot --quiet
		says "root=$root, a damaged map: told as an error" 'root: not attached: invalid'
		check_equal "root=$root, a damaged map: no device" '' "$(devices)"
		fresh
	done
}

overlap
one_name
too_many
damaged
finish
