#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2119
#
# wubi-attach finds the host by what is on it: among other disks, in any order, on any partition table, late, encrypted, cloned.
# Cases A05 A10 A11 C08 C10 D04 D10 D17 D20, and the verdicts encrypted and ambiguous.
#
# vm-setup: . "$TESTS/vm/lib_volumes.sh"
# vm-setup: base base.img && copy clone.img && copy late.img
# vm-setup: uuid=6f1f0c52-3c3e-4d5c-9d7e-1b5a1d3a7c11 && other=6f1f0c52-3c3e-4d5c-9d7e-1b5a1d3a7c12
# vm-setup: map_with gpt-maps $uuid && map_with mbr-maps 1a2b3c4d-05
# vm-setup: disk gpt.img base.img gpt $uuid && disk gpt-other.img base.img gpt $other
# vm-setup: disk primary.img base.img primary 1a2b3c4d-01 && disk logical.img base.img logical 1a2b3c4d-05
# vm-setup: ciphertext fve.img && copy fve-big.img fve.img && truncate -s 32M fve-big.img
# vm-setup: disk fve-gpt.img fve-big.img gpt $uuid
# vm-setup: for i in 1 2 3 4 5; do ciphertext cipher$i.img; done; ciphertext like.img base.img
# vm-setup: state dirty.img dirty && copy absent.img && in_linux absent.img "rm .$image"
# vm-setup: truncate -s 32M ext.img && mke2fs -q -t ext4 ext.img && disk ext-gpt.img ext.img gpt $uuid
# vm-setup: copy newserial.img && ntfslabel --new-serial newserial.img
# vm-setup: mapfx extract maps/root.map base.img rawcopy.img && truncate -s 32M blank.img
# vm-setup: mkvol 4k.img 32M -s 4096 && mkdir 4k-maps && wubi-disk create 4k.img --size 8M --map 4k-maps/root.map --quiet
# vm-setup: sum_of 4k-maps/root.map 4k.img >4k.sum
# vm-setup: python3 "$TESTS/vm/mconsole.py" 400 >mconsole.log 2>&1 </dev/null &
# vm-options: -t 360

. "$(dirname "$0")/lib_boot.sh"

# plug_all VOLUME...: in this order; then $plugged is the one named last, $all are all.
plug_all() {
	local volume
	all=''
	for volume in "$@"; do
		plug "$volume" -P
		all="$all $plugged"
	done
}

check_all_unwritten() { # WHAT
	local one
	for one in $all; do
		check_unwritten "$1: $one" "$one"
	done
}

order_of_disks() {
	plug_all base.img blank.img ext.img
	plugged=${all%% /dev/loop1*} plugged=${plugged# }
	boot
	attached 'C10 the host is the first disk' match
	fresh
	plug_all blank.img ext.img base.img
	boot
	attached 'C10 the host is the last disk' match
	check_all_unwritten 'C10'
	fresh
	says_not 'C10 no kernel device in the map' '/dev/|sd[a-z]|nvme|ubd|loop[0-9]' "$(<"$WUBI_WORK/maps/root.map")"
}

partition_tables() {
	local disk part
	for disk in gpt primary logical; do
		part=p1
		[ $disk != logical ] || part=p5
		plug $disk.img -P
		plugged=$plugged$part
		boot
		attached "D17 $disk, by serial number" match
		fresh
	done
	plug logical.img -P
	plugged=${plugged}p5 maps=$WUBI_WORK/mbr-maps
	boot
	attached 'D17 logical, by PARTUUID' match
	fresh
	plug gpt.img -P
	plugged=${plugged}p1 maps=$WUBI_WORK/gpt-maps
	boot
	attached 'D17 gpt, by PARTUUID' match
	fresh
	plug gpt-other.img -P
	plugged=${plugged}p1 maps=$WUBI_WORK/gpt-maps
	boot
	attached 'PARTUUID changed, all else fits' match 'PARTUUID is 6f1f0c52-3c3e-4d5c-9d7e-1b5a1d3a7c12, the map'
	fresh
	plug 4k.img -b 4096
	maps=$WUBI_WORK/4k-maps
	boot
	content_sum=$(<"$WUBI_WORK/4k.sum") attached 'D17 no table, sectors of 4096 bytes' match
	fresh
}

# A10: the boot sector is BitLocker's, the rest is ciphertext.
encrypted() {
	plug fve-gpt.img -P
	plugged=${plugged}p1 maps=$WUBI_WORK/gpt-maps
	boot
	refused 'A10 encrypted later' encrypted 'encrypted by BitLocker now' 'decrypt it in Windows'
	fresh
	timeout=1
	one fve.img refused 'A10 encrypted later, a disk without a table' missing 'no volume with'
	says 'A10 the console has what the volume is' 'encrypted by BitLocker'
	plug_all cipher1.img cipher2.img cipher3.img like.img cipher4.img cipher5.img base.img
	boot
	attached 'A11 the good one behind six with ciphertext' match
	took=$(jq .elapsed_ms /run/wubi/boot.json)
	check "A11 in bounded time: $took ms" test "$took" -lt 10000
	check_all_unwritten 'A11'
	fresh
}

# The state of each volume is told by itself.
three_messages() {
	one absent.img refused 'A05 the file is absent' missing 'there is no file .*/root.disk'
	one dirty.img refused 'A05 dirty' unsettled 'marked dirty: run chkdsk'
	plug ext-gpt.img -P
	plugged=${plugged}p1 maps=$WUBI_WORK/gpt-maps
	boot
	refused 'A05 not NTFS' missing 'there is no NTFS on this volume'
	fresh
	plug_all ext.img absent.img dirty.img
	boot
	refused 'A05 all three' unsettled 'marked dirty: run chkdsk'
	says 'A05 the log has each volume: not NTFS' 'loop0: no NTFS \(ext' "$(</run/wubi/boot.log)"
	says 'A05 the log has each volume: absent' 'loop1: NTFS, .*; root: missing: there is no file' "$(</run/wubi/boot.log)"
	says 'A05 the log has each volume: dirty' 'loop2: NTFS, .*; root: unsettled: the volume is marked dirty' \
		"$(</run/wubi/boot.log)"
	fresh
}

ambiguous() {
	local order
	for order in 'base.img clone.img' 'clone.img base.img' 'gpt.img clone.img'; do
		# shellcheck disable=SC2086 # two words
		plug_all $order
		boot
		refused "a clone ($order)" ambiguous 'both /dev/loop0.* and /dev/loop1 hold this image' 'unplug it'
		check_all_unwritten "a clone ($order)"
		fresh
	done
	plug_all newserial.img base.img
	boot
	attached 'a clone with a new serial number' match
	fresh
	plug_all dirty.img base.img
	boot
	refused 'a clone, one of them dirty' ambiguous 'both '
	fresh
	plug_all absent.img base.img
	boot
	attached 'a clone that has lost the file' match
	fresh
}

# D20: somebody's dd of root.disk: the same ext4, with the same UUID, on a disk of its own.
uuid_twice() {
	plug_all rawcopy.img base.img
	boot
	attached 'D20 a raw copy with the same UUID' match
	check_all_unwritten 'D20'
	fresh
	cmdline="root=UUID=$(sed -n 's/^fs_uuid //p' "$maps/root.map") ro"
	plug_all rawcopy.img dirty.img
	boot
	refused 'root by the UUID of the file system is needed, too' unsettled 'chkdsk'
	fresh
}

read_only() {
	plug base.img -r
	boot
	check 'D10 a read-only disk: not attached' test "$status" -ne 0
	check_equal 'D10 a read-only disk: no device' '' "$(devices)"
	says 'D10 a read-only disk: says so' 'read-only'
	fresh
}

# D04: the clock decides. The disk is plugged in by the guest's own kernel, as a new one.
late() {
	cmdline="$cmdline wubi.timeout=12"
	boot
	check_equal 'D04 no disk: refused' '3 missing' "$status ${verdict[root]:-}"
	took=$(jq .elapsed_ms /run/wubi/boot.json)
	check "D04 no disk: 12 s by the clock ($took ms)" test "$took" -ge 12000 -a "$took" -lt 20000
	check_equal 'D04 no disk: a line when it begins to wait, and every 10 s' 2 "$(grep -c "waiting for the volume of 'root'" /run/boot.err)"
	says 'D04 no disk: what it waits for, and how long' "waiting for the volume of 'root' .*serial number [0-9a-f]{16}.* s left"
	says 'D04 no disk: what to do' 'is the disk connected'
	echo "4 config ubdb=$WUBI_WORK/late.img" >"$WUBI_WORK/plug.new"
	mv "$WUBI_WORK/plug.new" "$WUBI_WORK/plug"
	cmdline="root=$mapper ro" timeout=60
	boot
	plugged=/dev/ubdb
	attached 'D04 a disk that is late' match
	took=$(jq .elapsed_ms /run/wubi/boot.json)
	check "D04 a disk that is late: at once when it is there ($took ms)" test "$took" -ge 1000 -a "$took" -lt 40000
	fresh
}

order_of_disks
partition_tables
encrypted
three_messages
ambiguous
uuid_twice
read_only
late
finish
