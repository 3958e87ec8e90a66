#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# wubi-disk grow on a block device: the file system grows with the image, its files are whole, the map of before attaches what is
# there now; and an image that is in use does not grow (case E07).
#
# vm-setup: truncate -s 320M v.img
# vm-setup: mkntfs -F -Q -q -p 2048 -H 255 -S 63 v.img
# vm-options: -d v.img -t 240

. "$(dirname "$0")/guest.sh"

disk=$WUBI_BUILD/wubi-disk
volume=/dev/ubda
map=/run/root.map
mapper=/dev/mapper/wubi-root

prepare() {
	put_photo $volume 5M
	check 'create' "$disk" create $volume --size 32M --map $map
	check 'attach' "$disk" attach $volume --map $map
	check 'mount' mount -t ext4 $mapper /mnt
	head -c 12M /dev/urandom >/mnt/data || fail 'write a file'
	written=$(checksum /mnt/data)
}

refused_in_use() {
	check_status 'grow while it is mounted: refused' 3 "$disk" grow $volume --map $map --size 64M --yes
	check_output 'grow while it is mounted: says attached, and to start the live system' 'in use as /dev/mapper/wubi-root.*live system'
	check_status 'the same, JSON' 3 "$disk" grow $volume --map $map --size 64M --yes --json
	check_output 'the same, JSON' '"reason": *"attached"'
	umount /mnt
	check_status 'grow while it is attached: refused' 3 "$disk" grow $volume --map $map --size 64M --yes
	check 'detach' "$disk" detach root
	check 'what was refused changed nothing' "$disk" verify $volume --map $map
}

# whole WHAT BYTES MAP: attached by the map, it has this size, and so has its file system; the files are as they were
whole() {
	check "$1: attach" "$disk" attach $volume --map "$3"
	check_equal "$1: the size" "$2" "$(blockdev --getsize64 $mapper)"
	check "$1: e2fsck" e2fsck -fn $mapper
	check_equal "$1: the file system's size" "$2" \
		"$(dumpe2fs -h $mapper 2>/dev/null | awk '/^Block count/ { c = $3 } /^Block size/ { print c * $3 }')"
	check "$1: mount" mount -t ext4 $mapper /mnt
	check_equal "$1: the file in it" "$written" "$(checksum /mnt/data)"
	check "$1: write to it" eval 'head -c 8M /dev/urandom >/mnt/more && sync && rm /mnt/more'
	umount /mnt
	check "$1: detach" "$disk" detach root
}

# grows WHAT OLD-VERDICT OPTION...
grows() {
	local what=$1 verdict=$2
	shift 2
	cp $map /run/old.map
	check_status "$what" 0 "$disk" grow $volume --map $map --yes --json "$@"
	check_output "$what: the file system, too" '"file_system": *"grown"'
	check_output "$what: the boot entry" '"boot_entry": *"stale"'
	check_equal "$what: no device is left" '' "$(dmsetup ls | grep -v '^No devices')"
	check "$what: verify" "$disk" verify $volume --map $map
	check_status "$what: verify, by the old map" 3 "$disk" verify $volume --map /run/old.map
	check_output "$what: verify, by the old map" "$verdict"
	check "$what: ntfsresize finds nothing" ntfsresize -i -f $volume
}

in_place() {
	grows 'grow in place' grown --size 64M
	whole 'in place' $((64 << 20)) $map
	whole 'in place, by the old map' $((64 << 20)) /run/old.map
	check_status 'the same again' 0 "$disk" grow $volume --map $map --size 64M --yes
	check_output 'the same again: nothing to do' 'nothing to do'
}

relocated() {
	grows 'grow --relocate' moved --size 80M --relocate
	whole 'relocated' $((80 << 20)) $map
	whole 'relocated, by the old map' $((80 << 20)) /run/old.map
}

# As after a kill behind the maps: the image has its size, the file system does not.
file_system_alone() {
	check 'attach' "$disk" attach $volume --map $map
	check 'the file system smaller than its image' eval "e2fsck -fp $mapper; resize2fs $mapper 48M"
	check 'detach' "$disk" detach root
	check_status 'a second run grows the file system alone' 0 "$disk" grow $volume --map $map --size 80M --yes --json
	check_output 'a second run grows the file system alone' '"file_system": *"grown"'
	check_output 'a second run: the boot entry is right' '"boot_entry": *"unchanged"'
	whole 'the file system alone' $((80 << 20)) $map
}

swap() {
	check 'create a swap' "$disk" create $volume --size 8M --fs swap --name swap --map /run/swap.map
	check 'grow it' "$disk" grow $volume --map /run/swap.map --size +8M --yes
	check 'attach it' "$disk" attach $volume --map /run/swap.map
	check 'swapon' swapon /dev/mapper/wubi-swap
	check_equal 'all of it is swap' $((16 * 1024 - 4)) "$(awk 'NR == 2 { print $3 }' /proc/swaps)"
	check_status 'grow an image beside one that is in use: refused' 3 "$disk" grow $volume --map $map --size 100M --yes
	swapoff -a
	check 'detach it' "$disk" detach swap
}

load_module dm_mod fuse || fail 'load the modules'
prepare
refused_in_use
in_place
relocated
file_system_alone
swap
check_equal "the user's file" "$photo" "$(ntfscat -f $volume /Users/holiday.jpg | sha256sum | cut -d ' ' -f 1)"
finish
