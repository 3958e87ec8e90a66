#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2119
#
# wubi-attach for an old Wubi disk: no map, root= is the NTFS volume and loop= the path on it. The map is derived from the MFT,
# so there is nothing that it could be compared with.
#
# vm-setup: . "$TESTS/vm/lib_volumes.sh"
# vm-setup: base base.img && mkdir no-maps && state dirty.img dirty && copy absent.img && in_linux absent.img "rm .$image"
# vm-setup: mkvol old.img 32M && wubi-disk create old.img --size 8M --no-host-map --map old.map --quiet
# vm-setup: sum_of old.map old.img >old.sum
# vm-options: -t 300

. "$(dirname "$0")/lib_boot.sh"

serial=$(sed -n 's/^host_serial //p' "$WUBI_WORK/maps/root.map")

ask() { # [LOOP]
	maps=$WUBI_WORK/no-maps cmdline="root=UUID=${serial^^} loop=${1:-$image} ro"
}

plain() {
	local path old
	for path in "$image" //ubuntu/disks//root.disk ubuntu/disks/root.disk; do
		ask "$path"
		plug base.img
		boot --root-conf /run/param.conf
		attached "loop=$path without a map" match
		check_equal "loop=$path: what root is" "ROOT=$mapper" "$(</run/param.conf)"
		rm /run/param.conf
		boot
		check_equal "loop=$path a second time" "0 match $mapper" "$status ${verdict[root]} ${device[root]}"
		fresh
	done
	old=$(sed -n 's/^host_serial //p' "$WUBI_WORK/old.map")
	ask
	cmdline="root=UUID=${old^^} loop=$image ro"
	plug old.img
	boot
	content_sum=$(<"$WUBI_WORK/old.sum") attached 'loop= on a volume that has no copy of a map' match
	boot
	check_equal 'loop= on a volume that has no copy of a map, a second time' "0 match $mapper" \
		"$status ${verdict[root]} ${device[root]}"
	fresh
}

not_there() {
	ask /ubuntu/disks/none.disk
	plug base.img
	boot
	check_equal 'loop= that is not there: refused' '3 ' "$status $(devices)"
	says 'loop= that is not there: says so' 'none.disk'
	check_unwritten 'loop= that is not there' "$plugged"
	fresh
	timeout=1
	ask
	cmdline="root=UUID=0123456789ABCDEF loop=$image ro"
	plug base.img
	boot
	check_equal 'loop= on a volume that is not there: refused' '3 ' "$status $(devices)"
	says 'loop= on a volume that is not there: says so' 'UUID=0123456789ABCDEF'
	fresh
	ask /ubuntu/../x
	plug base.img
	boot
	check_equal 'loop= that is no path: ignored' '0 ' "$status $(devices)"
	says 'loop= that is no path: is told' 'loop=/ubuntu/../x is no path on a volume, it is ignored'
	fresh
}

# What Windows has in its memory could be anything: a map from before would tell, and there is none.
unsettled() {
	local allow
	for allow in '' wubi.unsettled=allow; do
		ask
		cmdline="$cmdline $allow"
		plug dirty.img
		boot
		refused "loop= on a dirty volume ${allow:-, nothing allowed}" unsettled 'marked dirty: run chkdsk /f'
		says_not "loop= on a dirty volume ${allow:-, nothing allowed}: not offered" 'wubi.unsettled=allow on the kernel'
		fresh
	done
}

# bad_sectors FILE: /dev/dm-0, of which nothing behind the boot sector can be read.
bad_sectors() {
	local sectors
	plug "$1"
	sectors=$(blockdev --getsz "$plugged")
	dmsetup create bad --table "0 64 linear $plugged 0
64 $((sectors - 64)) error"
	dmsetup mknodes bad
}

several_volumes() {
	local order
	ask
	plug absent.img
	plug base.img
	boot
	attached 'loop=: the second volume with that number has the file' match
	fresh
	ask
	bad_sectors base.img
	boot
	check_equal 'loop=: cannot be read' '1 unknown bad ' "$status ${verdict[root]:-} $(devices)"
	says 'loop=: cannot be read: says so' 'root: not attached: unknown.*input/output error'
	says_not 'loop=: cannot be read: not said to be missing' 'missing|there is no file|chkdsk[^,]*restore'
	fresh
	for order in 'base absent' 'absent base'; do
		ask
		bad_sectors "${order% *}.img"
		plug "${order#* }.img"
		boot
		if [ "$order" = 'base absent' ]; then
			check_equal "loop=: one lacks the file, one cannot be read" '1 unknown' "$status ${verdict[root]:-}"
		else
			attached 'loop=: one cannot be read, another has the file' match
			dmsetup remove wubi-root
		fi
		fresh
	done
}

plain
not_there
unsettled
several_volumes
finish
