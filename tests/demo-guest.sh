#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The part of the demo that runs in user-mode Linux. Lines for the demo start with 'demo| '.

. "$WUBI_TOP/tests/vm/guest.sh"

disk=$WUBI_BUILD/wubi-disk

say() {
	echo "demo| $*"
}

run() {
	say "guest\$ $*"
	"$@" >/run/out 2>&1
	local status=$?
	sed 's/^/demo| /' /run/out
	[ $status -eq 0 ] || {
		say "exit status $status"
		exit $status
	}
}

load_module dm_mod || say 'there is no device-mapper'
run "$disk" attach /dev/ubda --map "$WUBI_WORK/root.map"
run mount /dev/mapper/wubi-root /mnt
run dd if=/dev/urandom of=/mnt/hello.bin bs=1M count=32 conv=fsync status=none
run df -h /mnt
run umount /mnt
run mount -o ro /dev/mapper/wubi-root /mnt
say "sha256 $(checksum /mnt/hello.bin)"
run umount /mnt
run "$disk" detach root
