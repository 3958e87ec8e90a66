#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Case B15: create refuses a volume that somebody uses, by whatever name, and changes nothing on it.
#
# vm-setup: truncate -s 48M v.img w.img
# vm-setup: mkntfs -F -Q -q -p 2048 -H 255 -S 63 v.img
# vm-setup: mkntfs -F -Q -q -p 2048 -H 255 -S 63 w.img
# vm-options: -d v.img -t 240

. "$(dirname "$0")/guest.sh"

disk=$WUBI_BUILD/wubi-disk
volume=/dev/ubda
file=/run/w.img
map=/run/root.map

# busy WHAT VOLUME [WORDS]: exit 3, reason "busy", a remedy, the volume as before, no map.
busy() {
	local before
	before=$(checksum "$2")
	check_status "$1: create is refused" 3 "$disk" create "$2" --size 8M --map $map
	check_output "$1: says so" "${3:-in use|mounted|busy}"
	check_status "$1: create --json is refused" 3 "$disk" create "$2" --size 8M --map $map --json
	check_output "$1: the reason is 'busy'" '"reason": *"busy"'
	check_equal "$1: the volume is unchanged" "$before" "$(checksum "$2")"
	check "$1: no map" test ! -e $map
}

by_ntfs_3g() {
	ntfs_mount $volume /run/n || fail 'ntfs-3g'
	busy 'mounted by ntfs-3g' $volume '/run/n'
	mkdir -p /dev/disk/by-uuid
	ln -s ../../ubda /dev/disk/by-uuid/0123456789ABCDEF
	busy 'mounted, asked by its /dev/disk/by-uuid name' /dev/disk/by-uuid/0123456789ABCDEF '/run/n'
	mknod /run/other-name b 98 0
	busy 'mounted, asked by another node' /run/other-name
	ntfs_umount /run/n
	ntfs_mount -o ro /dev/disk/by-uuid/0123456789ABCDEF /run/n || fail 'ntfs-3g by uuid'
	busy 'mounted by its /dev/disk/by-uuid name, read-only' $volume
	ntfs_umount /run/n
}

by_another_namespace() {
	mkfifo /run/ready /run/go
	# shellcheck disable=SC2016
	unshare -m bash -c '. "$1"; ntfs_mount "$2" /run/n || echo "no mount"
		findmnt -n /run/n >/dev/null && echo mounted >/run/ready
		read -r _ </run/go; ntfs_umount /run/n' _ "$(dirname "$0")/guest.sh" $volume &
	read -r _ </run/ready
	check 'another namespace: the mount is not seen here' sh -c '! findmnt -n /run/n'
	busy 'mounted in another mount namespace' $volume
	echo >/run/go
	wait
}

by_dm() {
	dmsetup create host --table "0 $(blockdev --getsz $volume) linear 98:0 0"
	busy 'a dm device lies over it' $volume "'host'"
	dmsetup mknodes host # dmsetup leaves it to udev
	ntfs_mount /dev/mapper/host /run/n || fail 'ntfs-3g on the dm device'
	busy 'mounted through a dm device' $volume
	busy 'the mounted dm device itself' /dev/mapper/host '/run/n'
	ntfs_umount /run/n
	dmsetup remove host
}

by_loop() {
	local loop second
	cp --sparse=always "$WUBI_WORK/w.img" $file
	loop=$(losetup -f --show $file) || fail 'losetup'
	busy 'a loop device over the file' $file 'loop'
	ntfs_mount "$loop" /run/n || fail 'ntfs-3g on the loop device'
	busy 'mounted through a loop device, asked for the file' $file
	busy 'the mounted loop device itself' "$loop" '/run/n'
	ntfs_umount /run/n
	second=$(losetup -f --show $file) || fail 'losetup again'
	busy 'another loop device over the same file' "$loop" 'loop'
	losetup -d "$loop" "$second"
	loop=$(losetup -f --show $volume) || fail 'losetup over the device'
	ntfs_mount "$loop" /run/n || fail 'ntfs-3g on the loop device over the device'
	busy 'mounted through a loop device over the device' $volume 'loop'
	ntfs_umount /run/n
	busy 'a loop device over the device' $volume 'loop'
	losetup -d "$loop"
	ntfs_mount $file /run/n || fail 'ntfs-3g on the file'
	busy 'the plain file mounted by ntfs-3g' $file
	ntfs_umount /run/n
}

by_kernel() {
	local type
	for type in ntfs3 ntfs; do
		load_module $type 2>/dev/null
		if grep -qw $type /proc/filesystems; then
			mkdir -p /run/n
			mount -t $type -o ro $volume /run/n || fail "mount -t $type"
			busy "mounted by the kernel's $type" $volume '/run/n'
			umount /run/n
		else
			skip "this kernel has no $type"
		fi
	done
}

# Nobody gets in between the check and the last write: create is stopped at its first write to the volume.
during_create() {
	local tracer pid tries=400
	strace -f -o /run/trace -P $volume -e trace=pwrite64,pwritev,pwritev2,fallocate \
		-e inject=pwrite64,pwritev,pwritev2,fallocate:signal=SIGSTOP:when=1 \
		"$disk" create $volume --size 20M --map $map >/run/create.out 2>&1 &
	tracer=$!
	while [ $tries -gt 0 ] && ! grep -q 'stopped by SIGSTOP' /run/trace 2>/dev/null; do
		sleep 0.05 # until strace has stopped it
		tries=$((tries - 1))
	done
	check 'during create: it is stopped at a write' grep 'stopped by SIGSTOP' /run/trace
	pid=$(pgrep -P $tracer)
	if ntfs_mount $volume /run/n 2>/dev/null; then
		fail 'during create: ntfs-3g could mount it'
		ntfs_umount /run/n
	else
		pass 'during create: ntfs-3g cannot mount it'
	fi
	busy 'during create: a second create' $volume
	# It stops again at the first call of each kind.
	while kill -CONT "$pid" 2>/dev/null; do
		sleep 0.1 # until it has gone on to the next stop
	done
	wait $tracer
	check_equal 'during create: it ends well' 0 $?
	check 'during create: its map is true' "$disk" verify $volume --map $map
}

load_module dm_mod loop fuse || fail 'load the modules'
by_ntfs_3g
by_another_namespace
by_dm
by_loop
by_kernel
# The control: nobody uses them now, and create has nothing against either.
check 'free again: the file' "$disk" create $file --size 8M --map /run/file.map
during_create
finish
