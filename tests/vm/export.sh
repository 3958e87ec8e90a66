#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# wubi-disk export to partitions, of the same disk and of another: what the kernel mounts there, that the volume stays as it is, and
# what has to be refused.
#
# vm-setup: . "$TESTS/vm/lib_volumes.sh"
# vm-setup: mkvol v.img 192M
# vm-setup: truncate -s 400M d.img
# vm-setup: printf 'label: gpt\nstart=2048,size=192M,type=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7\nsize=96M\nsize=48M\n' | sfdisk -q d.img
# vm-setup: dd if=v.img of=d.img bs=1M seek=1 conv=notrunc,sparse status=none
# vm-setup: truncate -s 140M o.img
# vm-setup: printf 'label: gpt\nsize=128M\n' | sfdisk -q o.img
# vm-options: -d d.img -d o.img -t 300

. "$(dirname "$0")/guest.sh"

disk=$WUBI_BUILD/wubi-disk
volume=/dev/ubda1 same=/dev/ubda2 small=/dev/ubda3 other=/dev/ubdb1
map=/run/root.map
mapper=/dev/mapper/wubi-root

direct_sum() { # DEVICE: its content, past the page cache
	dd if="$1" iflag=direct bs=1M status=none | sha256sum
}

json() {
	grep '^{' /run/check.out | tail -n 1 | jq -r "$1"
}

tree() { # of what is mounted at /mnt: names, kinds, owners, modes, times, links, contents
	(cd /mnt && find . ! -path './lost+found*' -printf '%p %y %u %m %T@ %n %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

# refused WHAT REASON TARGET [OPTION...]
refused() {
	local what=$1 reason=$2 target=$3 sum
	sum=$(direct_sum "$target")
	check_status "$what: refused" 3 "$disk" export $volume --map $map --to "$target" --json "${@:4}"
	check_equal "$what: why" "$reason" "$(json '[.findings[]?.reason, .reason] | unique | join(" ")')"
	check_equal "$what: nothing was written" "$sum" "$(direct_sum "$target")"
}

mount_image() {
	check 'attach' "$disk" attach $volume --map $map
	check 'mount' mount -t ext4 $mapper /mnt
}

fill_image() {
	check 'make the image' "$disk" create $volume --size 64M --map $map --quiet
	mount_image
	mkdir -p /mnt/home/ada /mnt/etc
	head -c 12M /dev/urandom >/mnt/home/ada/photo
	seq 50000 >/mnt/etc/numbers
	ln /mnt/etc/numbers /mnt/etc/again
	ln -s numbers /mnt/etc/link
	chown 1000:1000 /mnt/home/ada
	chmod 4750 /mnt/etc/numbers
	truncate -s 32M /mnt/home/ada/holes
	mkfifo /mnt/etc/pipe
	refused 'while it is attached' attached $same
	files=$(tree)
	umount /mnt && "$disk" detach root
}

refusals() {
	check 'a partition with something on it' mke2fs -q -F $other
	check 'which is mounted' mount -t ext2 $other /mnt
	refused 'a mounted partition' busy $other --yes
	umount /mnt
	refused 'a partition with a file system' not-empty $other
	dd if=/dev/zero of=$other bs=1M count=1 status=none && sync
	dmsetup create held --table "0 8 linear $other 0" || fail 'hold the partition'
	refused 'a partition that device-mapper holds' busy $other --yes
	dmsetup remove held
	refused 'the volume itself' same-volume $volume --yes
	refused 'its disk' same-volume /dev/ubda --yes
	refused 'another disk as a whole' partitioned /dev/ubdb --yes
	refused 'too small' too-small $small --yes
	ntfs_mount $volume /run/n
	refused 'while ntfs-3g has the volume mounted' busy $same
	ntfs_umount /run/n
}

# moved_to WHAT PARTITION: exported there, and as it was
moved_to() {
	local what=$1 target=$2 before uuid
	before=$(direct_sum $volume)
	check_status "$what" 0 "$disk" export $volume --map $map --to "$target" --json
	uuid=$(json .fs_uuid)
	check_equal "$what: the volume is untouched" "$before" "$(direct_sum $volume)"
	check_status "$what: verify" 0 "$disk" verify $volume --map $map
	check "$what: e2fsck" e2fsck -fn "$target"
	check_equal "$what: its UUID" "$uuid" "$(blkid -p -o value -s UUID "$target")"
	check_equal "$what: its label" linux-root "$(blkid -p -o value -s LABEL "$target")"
	check "$what: no twin" test "$uuid" != "$("$disk" show --map $map --json | jq -r .fs.uuid)"
	check "$what: the kernel mounts it" mount -t ext4 "$target" /mnt
	check_equal "$what: all files" "$files" "$(tree)"
	check_equal "$what: as large as the partition" $(($(blockdev --getsize64 "$target") >> 20)) \
		$(($(stat -f -c '%b * %S' /mnt) + ($(dumpe2fs -h "$target" 2>/dev/null | sed -n 's/^Overhead clusters: *//p') << 12) >> 20))
	check "$what: it can be written" sh -c 'head -c 20M /dev/urandom >/mnt/more && sync'
	umount /mnt
	check "$what: e2fsck again" e2fsck -fn "$target"
}

# What a power cut leaves, a journal to be replayed: what is on the disk while it is mounted is put back when it is not.
unclean() {
	local before
	mount_image
	echo 'written last' >/mnt/etc/last
	files=$(tree)
	sync
	dd if=$mapper of="$WUBI_WORK/cut.img" iflag=direct bs=1M status=none
	umount /mnt
	check 'as after a cut' dd if="$WUBI_WORK/cut.img" of=$mapper oflag=direct bs=1M status=none
	"$disk" detach root
	dd if=/dev/zero of=$same bs=1M count=1 status=none && sync
	before=$(direct_sum $volume)
	check_status 'not unmounted: exported' 0 "$disk" export $volume --map $map --to $same
	check_output 'not unmounted: it says so' 'all of it: it was not unmounted'
	check_equal 'not unmounted: the volume is untouched' "$before" "$(direct_sum $volume)"
	mount -t ext4 $same /mnt
	check_equal 'not unmounted: all files' "$files" "$(tree)"
	umount /mnt
	check 'not unmounted: e2fsck' e2fsck -fn $same
	check_equal 'not unmounted: its label' linux-root "$(blkid -p -o value -s LABEL $same)"
	check 'not unmounted: no twin' test "$(blkid -p -o value -s UUID $same)" != "$("$disk" show --map $map --json | jq -r .fs.uuid)"
}

load_module dm_mod fuse || fail 'load the modules'
mkdir -p /run/n
fill_image
refusals
moved_to 'to the same disk' $same
moved_to 'to another disk' $other
unclean
finish
