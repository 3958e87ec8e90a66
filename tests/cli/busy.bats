#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Somebody else uses the volume. With a real kernel's mounts and device-mapper: tests/vm.

load ../lib.sh

@test "B15 mounted by ntfs-3g: refused, and the mount goes on working" {
	requires root fuse
	mkvol 40M
	mkdir "$T/m"
	ntfs-3g "$V" "$T/m" 3>&-
	MOUNTED=$T/m
	wd create "$V" --size 8M --map "$M" --json
	status_is 3
	eq "$(reasons)" busy
	has "$err" 'unmount|umount'
	absent "$M"
	echo kept >"$T/m/file"
	eq "$(cat "$T/m/file")" kept
	eq "$(ls "$T/m")" file
}

@test "B15 mounted by ntfs-3g through a symlink and a hard link" {
	requires root fuse
	mkvol 40M
	ln -s "$V" "$T/link"
	ln "$V" "$T/hard"
	mkdir "$T/m"
	ntfs-3g "$V" "$T/m" 3>&-
	MOUNTED=$T/m
	for name in "$T/link" "$T/hard"; do
		wd create "$name" --size 8M --map "$M" --json
		status_is 3
		eq "$(reasons)" busy
	done
	wd remove "$V" --image "$IMG" --yes --json
	status_is 3
	eq "$(reasons)" busy
}

@test "B15 a loop device over the file: refused, and its name told" {
	requires loop
	mkvol 40M
	loop "$V"
	refuses busy "$L" create "$V" --size 8M --map "$M"
}

@test "B15 a second loop device over the same file" {
	requires loop
	mkvol 40M
	loop "$V"
	first=$L
	loop "$V"
	refuses busy 'loop' create "$first" --size 8M --map "$M"
}

@test "B15 a loop device that is mounted" {
	requires loop fuse
	mkvol 40M
	loop "$V"
	mkdir "$T/m"
	ntfs-3g "$L" "$T/m" 3>&-
	MOUNTED=$T/m
	wd create "$L" --size 8M --map "$M" --json
	status_is 3
	grep -qx busy <<<"$(reasons)"
	absent "$M"
}

@test "B15 a block device that nobody uses is fine" {
	requires loop
	mkvol 40M
	loop "$V"
	ok create "$L" --size 8M --map "$M"
	ok verify "$L" --map "$M"
	losetup -d "$L"
	second_opinion
}

@test "B15 locked by another program, as ntfsprogs lock it" {
	mkvol 40M
	before=$(sum)
	wd_locked() {
		"$PY" - "$V" "$WUBI_DISK" create "$V" --size 8M --map "$M" --json <<-'EOP'
			import fcntl, subprocess, sys
			f = open(sys.argv[1], 'r+b')
			fcntl.lockf(f, fcntl.LOCK_EX)
			sys.exit(subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL).returncode)
		EOP
	}
	status=0
	wd_locked >"$T/out" 2>"$T/err" || status=$?
	out=$(<"$T/out") err=$(<"$T/err")
	status_is 3
	grep -qx busy <<<"$(reasons)"
	eq "$(sum)" "$before"
}

@test "B15 mounted: info works, verify and map cannot tell what the driver keeps in memory" {
	requires root fuse
	mkvol 40M
	create 8M
	mkdir "$T/m"
	ntfs-3g -o ro "$V" "$T/m" 3>&-
	MOUNTED=$T/m
	ok info "$V"
	wd verify "$V" --map "$M"
	status_is 1
	has "$err" "cannot tell.*unmount"
	wd map "$V" --no-host-map --output "$T/other.map"
	status_is 3
	absent "$T/other.map"
}
