#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2119
#
# wubi-attach with more than one image, with many extents, after a repair by other tools, run twice, and what the kernel's
# command line asks for. Cases C13 C19 D06 D09 E03.
#
# vm-setup: . "$TESTS/vm/lib_volumes.sh"
# vm-setup: base base.img && mkvol empty.img 32M
# vm-setup: three_images three.img three
# vm-setup: copy swap-moved.img three.img && fx move swap-moved.img /ubuntu/disks/swap.disk
# vm-setup: copy home-moved.img three.img && fx move home-moved.img /ubuntu/disks/home.disk
# vm-setup: copy home-gone.img three.img && fx emptied home-gone.img /ubuntu/disks/home.disk
# vm-setup: copy dirty.img three.img && fx dirty dirty.img
# vm-setup: mkdir broken && cp three/* broken && echo junk >>broken/home.map
# vm-setup: many_runs 2 && many_runs 1024
# vm-setup: copy repaired.img && repair repaired.img
# vm-setup: mkdir no-maps
# vm-options: -t 360

. "$(dirname "$0")/lib_boot.sh"

all_three() {
	three three.img
	check_equal 'root, home and swap' '0 root:match:wubi-root home:match:wubi-home swap:match:wubi-swap' "$(state_of_three)"
	check 'swap can be used' swapon /dev/mapper/wubi-swap
	check 'home can be mounted' mount -t ext4 -o ro,noload /dev/mapper/wubi-home /mnt
	swapoff -a
	umount /mnt
	says 'E03 hibernation is off' 'AllowHibernation=no' "$(</run/systemd/sleep.conf.d/50-wubi.conf)"
	fresh
}

# D06: the same again, with everything in place, changes nothing.
twice() {
	local before
	three three.img
	before=$(dmsetup table; dmsetup info -c --noheadings -o name,uuid,open)
	boot
	check_equal 'D06 a second run: the same end' '0 root:match:wubi-root home:match:wubi-home swap:match:wubi-swap' "$(state_of_three)"
	check_equal 'D06 a second run: the same devices' "$before" "$(dmsetup table; dmsetup info -c --noheadings -o name,uuid,open)"
	says 'D06 a second run: says so' 'wubi-root is active already'
	dmsetup remove wubi-home
	boot
	check_equal 'D06 what is missing is added' "$before" "$(dmsetup table; dmsetup info -c --noheadings -o name,uuid,open)"
	fresh
	plug three.img
	load_module dm_zero
	dmsetup create wubi-root --table "0 8 zero"
	maps=$WUBI_WORK/three
	boot
	check_equal 'D06 the name is taken: refused' '3 match -' "$status ${verdict[root]} ${device[root]}"
	says 'D06 the name is taken: says so' 'root: not attached: exists'
	fresh
}

# What root does not need never fails the boot.
home_and_swap() {
	three swap-moved.img
	check_equal 'E03 a swap that moved is left off' '0 root:match:wubi-root home:match:wubi-home swap:moved:-' "$(state_of_three)"
	says 'E03 a swap that moved: is told' 'wubi: swap: not attached: moved'
	fresh
	three home-moved.img
	check_equal 'a home that moved is followed' '0 root:match:wubi-root home:moved:wubi-home swap:match:wubi-swap' "$(state_of_three)"
	fresh
	three home-gone.img
	check_equal 'a home that is emptied is left out' '0 root:match:wubi-root home:emptied:- swap:match:wubi-swap' "$(state_of_three)"
	says 'a home that is emptied: is told' 'wubi: home: not attached: emptied.*rescue'
	fresh
	plug three.img
	maps=$WUBI_WORK/broken
	boot
	check_equal 'a damaged map of home' '0 root:match:wubi-root home:invalid:- swap:match:wubi-swap' "$(state_of_three)"
	fresh
	three dirty.img
	check_equal 'unsettled: none of them' '3 root:unsettled:- home:unsettled:- swap:unsettled:-' "$(state_of_three)"
	check 'nothing attached: no word on hibernation' test ! -e /run/systemd/sleep.conf.d/50-wubi.conf
	fresh
}

# C13: whatever the number of runs, before and after.
many_extents() {
	local n
	for n in 2 1024; do
		maps=$WUBI_WORK/runs$n
		content_sum=$(<"$WUBI_WORK/runs$n.sum") one runs$n.img attached "C13 $n extents" match
		says "C13 $n extents: counted" "\($n extents\)"
		maps=$WUBI_WORK/runs$n-stale
		content_sum=$(<"$WUBI_WORK/runs$n.sum") one runs$n.img attached "C13 moved to $n extents" moved "in $n other extents"
		maps=$WUBI_WORK/runs$n
		content_sum=$(<"$WUBI_WORK/runs$n.sum") one runs$n-moved.img attached "C13 moved from $n extents to 1" moved \
			'in 1 other extents?'
	done
}

# C19: e2fsck through ntfs-3g and a loop device, then by the map.
repaired() {
	content_sum=$(<"$WUBI_WORK/repaired.sum") one repaired.img attached 'C19 repaired from outside' match
	plug repaired.img
	boot
	check 'C19 repaired from outside: e2fsck by the map' e2fsck -fn $mapper
	fresh
}

parameters() {
	cmdline="$cmdline wubi=off"
	plug base.img
	boot
	check_equal 'wubi=off: nothing is done' '0 ' "$status $(devices)"
	fresh
	cmdline="$cmdline wubi.map=$WUBI_WORK/maps/root.map"
	maps=$WUBI_WORK/cut
	one base.img attached 'wubi.map=' match
	cmdline="$cmdline wubi.map=$WUBI_WORK/nowhere/root.map"
	one base.img refused 'wubi.map= that is not there' invalid 'nowhere/root.map'
	cmdline="$cmdline wubi.timeout=1" timeout=60
	one empty.img refused 'wubi.timeout=' missing 'within 1 s'
	cmdline="$cmdline wubi.timeout=soon" timeout=1
	one empty.img refused 'wubi.timeout= with nonsense' missing 'within 1 s'
	says 'wubi.timeout= with nonsense is told' 'wubi.timeout=soon'
	cmdline='root=/dev/sda1 ro'
	plug empty.img
	boot
	check_equal 'root is not ours: no failure' '0 missing' "$status ${verdict[root]}"
	fresh
	maps=$WUBI_WORK/no-maps cmdline='root=/dev/sda1 ro' timeout=60
	plug base.img
	boot
	check_equal 'no maps, and root is not ours: nothing is done' '0 ' "$status $(devices)$text"
	check_equal 'no maps: the report says so' '[]' "$(jq -c .maps /run/wubi/boot.json)"
	fresh
	plug base.img
	boot --dry-run
	check_equal '--dry-run: no device, no report' '0 ' "$status $(devices)$(ls /run/wubi 2>/dev/null)"
	says '--dry-run: what would be' 'root: match, would be attached'
	boot --json
	check_equal '--json: the report' "$(jq -S 'del(.elapsed_ms)' /run/wubi/boot.json)" "$(jq -S 'del(.elapsed_ms)' /run/boot.out)"
	fresh
}

# D09: what a person sees in front of the machine: /dev/console, and one line in the kernel's log; even with 'quiet'.
console() {
	: >/run/console
	mount --bind /run/console /dev/console
	plug dirty.img
	maps=$WUBI_WORK/three
	boot --console
	check_equal 'D09 --console: refused' 3 "$status"
	check_equal 'D09 --console: nothing on standard error' '' "$text"
	says 'D09 --console: the reason' 'wubi: root: not attached: unsettled.*the volume is marked dirty: run chkdsk /f' "$(</run/console)"
	says 'D09 --console: in the log' 'root: not attached: unsettled' "$(</run/wubi/boot.log)"
	check 'D09 --console: in the kernel log, as an error' grep -q '^<3>.*wubi: root: not attached' <(dmesg -r)
	fresh
	: >/run/console
	echo 4 >/proc/sys/kernel/printk
	plug three.img
	maps=$WUBI_WORK/three
	boot --console
	check_equal 'D09 --console, quiet, all is well: no text' '0 ' "$status $(</run/console)"
	umount /dev/console
	fresh
}

# A device that cannot be read is no verdict: exit status 1. What another driver built its device on is left to it.
unreadable() {
	local sectors
	plug base.img
	sectors=$(blockdev --getsz "$plugged")
	dmsetup create bad --table "0 64 linear $plugged 0
64 $((sectors - 64)) error"
	dmsetup mknodes bad
	boot
	check_equal 'cannot be read: failed, and no device' '1 unknown bad ' "$status ${verdict[root]} $(devices)"
	says 'cannot be read: says so' 'root: not attached: unknown.*look for signatures: input/output error'
	fresh
	plug base.img
	dmsetup create path --table "0 $sectors linear $plugged 0"
	dmsetup mknodes path
	boot
	check_equal 'under another driver: that device is the host' "0 match $mapper" "$status ${verdict[root]} ${device[root]}"
	says 'under another driver: the table' "$(cat /sys/block/dm-0/dev)" "$(dmsetup table wubi-root)"
	dmsetup remove wubi-root
	fresh
	load_module fuse
	plug base.img
	ntfs_mount "$plugged" /run/n
	boot
	check_equal 'mounted: refused' '3 ' "$status $(devices)"
	says 'mounted: says so' 'busy|in use|mounted'
	ntfs_umount /run/n
	fresh
}

all_three
twice
home_and_swap
many_extents
repaired
parameters
console
unreadable
finish
