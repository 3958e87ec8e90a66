#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# mountfs: options of a mounted ext4 are changed, and only those (case F08): neither the other options, nor the flags of its
# two mounts, nor whether it is read-only.
#
# vm-setup: truncate -s 64M ext4.img other.img
# vm-options: -d ext4.img -d other.img

. "$(dirname "$0")/guest.sh"

driver=$WUBI_BUILD/tests/kernel_driver

mounts() { # the flags of both mounts, then the super block's options, as mountinfo has them
	awk '$3 == "98:0" { printf "%s|", $6; options = $NF } END { print options }' /proc/self/mountinfo
}

change() { # OPTIONS SUPER-BLOCK-AFTERWARDS
	check "change '$1'" "$driver" reconfigure /run/m "$1"
	check_equal "changed '$1', and only that" "rw,nosuid,noatime|rw,nosuid,nodev,noexec,noatime|rw,$2" "$(mounts)"
}

refuse() { # OPTIONS WORDS
	local before
	before=$(mounts)
	check_status "'$1' is refused" 1 "$driver" reconfigure /run/m "$1"
	check_output "'$1': the reason is '$2'" "^EINVAL: '/run/m': .*'$1'.*$2"
	check_equal "'$1': nothing has changed" "$before" "$(mounts)"
}

changes() {
	change sync sync,errors=remount-ro
	change commit=30 sync,errors=remount-ro,commit=30
	change '' sync,errors=remount-ro,commit=30
	change async,commit=1 errors=remount-ro,commit=1
	change sync,commit=5 sync,errors=remount-ro
	change async errors=remount-ro
}

# What is possible beside what is not is not done either. The kernel's log has ext4's words, and is quiet about too many of them
# within five seconds.
refusals() {
	refuse data=writeback 'cannot change data mode on remount'
	refuse sync,data=journal 'cannot change data mode on remount'
	refuse nonsense "unknown parameter 'nonsense'"
	refuse sync,commit=x "bad value for 'commit'"
	mv /dev/kmsg /dev/kmsg.away
	refuse data=writeback 'invalid argument'
	mv /dev/kmsg.away /dev/kmsg
}

places() {
	check 'through the other mount' "$driver" reconfigure /run/n commit=9
	check_equal 'through the other mount: changed' \
		'rw,nosuid,noatime|rw,nosuid,nodev,noexec,noatime|rw,errors=remount-ro,commit=9' "$(mounts)"
	check_status 'a folder in it' 1 "$driver" reconfigure /run/m/sub sync
	check_output 'a folder in it: is no mount point' "EINVAL: '/run/m/sub' is not a mount point"
	check_status 'nowhere' 1 "$driver" reconfigure /run/nowhere sync
	check_output 'nowhere: named' "ENOENT: '/run/nowhere'"
	check_status 'without the right' 1 setpriv --reuid 1000 --regid 1000 --clear-groups "$driver" reconfigure /run/m ''
	check_output 'without the right: what to do' 'EPERM: .*/run/m.*as root'
}

supers() {
	mount /dev/ubdb "/run/with space"
	check_equal 'each file system once' '/run/m ext4 rw,errors=remount-ro,commit=9
/run/with space ext4 rw' "$("$driver" supers)"
	mount -t tmpfs tmpfs /run/m
	check_equal 'a mount that another one covers does not count' '/run/n' "$("$driver" supers | sed -n '1s/ ext4.*//p')"
	umount /run/m
}

# What is mounted read-only stays so, and nothing is written to its disk; a read-only mount of what is not is no reason to make it so.
read_only() {
	local sum options
	umount "/run/with space"
	mount -o ro,errors=remount-ro /dev/ubdb "/run/with space"
	sum=$(checksum /dev/ubdb)
	for options in '' commit=9 sync,barrier '' async,commit=5; do
		check "read-only, '$options'" "$driver" reconfigure "/run/with space" "$options"
		check "read-only, '$options': it still is" grep -q '/run/with.*space ro,.* - ext4 /dev/ubdb ro,' /proc/self/mountinfo
		check_equal "read-only, '$options': nothing was written" "$sum" "$(checksum /dev/ubdb)"
	done
	umount "/run/with space"
	mount /dev/ubdb "/run/with space"
	mount -o remount,bind,ro "/run/with space"
	check 'a read-only mount of one that is not' "$driver" reconfigure "/run/with space" commit=9
	check 'a read-only mount of one that is not: both stay' \
		grep -q '/run/with.*space ro,.* - ext4 /dev/ubdb rw,commit=9' /proc/self/mountinfo
}

mkdir -p /run/m /run/n '/run/with space'
mkfs.ext4 -q -F /dev/ubda || fail 'mkfs.ext4'
mkfs.ext4 -q -F /dev/ubdb || fail 'mkfs.ext4'
mount -o noatime,nosuid,errors=remount-ro /dev/ubda /run/m
mkdir /run/m/sub
mount --bind /run/m/sub /run/n
mount -o remount,bind,nosuid,nodev,noexec,noatime /run/n
refusals
changes
places
supers
read_only
finish
