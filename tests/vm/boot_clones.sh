#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2119
#
# wubi-attach when more than one volume could be meant, and they come late, or cannot be read (yet): clones, members of a RAID
# set, file systems with another UUID, names that are hard to tell. Case C08.
#
# vm-setup: . "$TESTS/vm/lib_volumes.sh"
# vm-setup: base base.img && copy clone.img && copy absent.img && in_linux absent.img "rm .$image"
# vm-setup: uuid=6f1f0c52-3c3e-4d5c-9d7e-1b5a1d3a7c11 && map_with gpt-maps $uuid && disk gpt.img base.img gpt $uuid
# vm-setup: copy newserial.img && ntfslabel --new-serial newserial.img && disk gpt-new.img newserial.img gpt $uuid
# vm-setup: for i in 1 2; do copy raid$i.img && fx raid-member raid$i.img; done
# vm-setup: copy uuid.img && in_linux uuid.img "tune2fs -U random .$image"
# vm-setup: copy hangul.img && name=$(printf '가%.0s' $(seq 200))
# vm-setup: in_linux hangul.img "mkdir $name; mv .$image $name"
# vm-setup: copy newline.img && in_linux newline.img "mv .$image \$'two\nlines'"
# vm-setup: echo 'void *udev_monitor_new_from_netlink(void *u, const char *n) { (void)u; (void)n; return 0; }' >deaf.c
# vm-setup: cc -shared -fPIC -o deaf.so deaf.c
# vm-options: -t 300

. "$(dirname "$0")/lib_boot.sh"

late_clones() {
	timeout=20
	later 4 plug_as 1 base.img
	later 4.5 plug_as 2 clone.img
	boot
	plugged=/dev/loop1
	refused 'two clones that come late, one after the other' ambiguous 'both /dev/loop1 and /dev/loop2 hold' 'unplug it'
	fresh
	later 2 plug_as 1 base.img
	timeout=20
	LD_PRELOAD=$WUBI_WORK/deaf.so boot
	plugged=/dev/loop1
	attached 'no events: looks once a second' match
	says 'no events: is told' 'looking once a second'
	fresh
}

# A whole disk by dd, then another serial number for the NTFS: that is how one keeps both.
by_serial() {
	local order
	for order in 'gpt gpt-new' 'gpt-new gpt'; do
		plug "${order% *}.img" -P
		plug "${order#* }.img" -P
		plugged=/dev/loop0p1 maps=$WUBI_WORK/gpt-maps
		[ "$order" = 'gpt gpt-new' ] || plugged=/dev/loop1p1
		boot
		attached "the same PARTUUID, another serial number ($order)" match
		fresh
	done
}

# The other volume with that serial number is no news about the one that is not there yet.
impostor() {
	plug absent.img
	maps=$WUBI_WORK/gpt-maps timeout=20
	later 5 plug_as 5 gpt.img
	boot
	plugged=/dev/loop5p1
	attached 'the real one comes after one without the file' match 'waiting for the volume of .root.'
	fresh
}

bad_table() { # FIRST-BAD-SECTOR
	local sectors
	sectors=$(blockdev --getsz "$plugged")
	[ "$1" = 0 ] || echo "0 $1 linear $plugged 0"
	echo "$1 $((sectors - $1)) error"
}

mend() {
	dmsetup load bad --table "0 $(blockdev --getsz "$plugged") linear $plugged 0"
	dmsetup resume bad
}

read_errors() {
	local first
	for first in 0 64; do
		plug base.img
		dmsetup create bad --table "$(bad_table $first)"
		dmsetup mknodes bad
		later 3 mend
		timeout=20
		boot
		check_equal "a read error from sector $first on that passes: attached" "0 match $mapper" \
			"$status ${verdict[root]:-} ${device[root]:-}"
		wait
		dmsetup remove wubi-root
		fresh
	done
	plug base.img
	dmsetup create bad --table "$(bad_table 64)"
	dmsetup mknodes bad
	plug absent.img
	boot
	check_equal 'a read error, and a clone without the file: cannot tell' '1 unknown bad ' \
		"$status ${verdict[root]:-} $(devices)"
	says 'a read error, and a clone without the file: says so' 'root: not attached: unknown, on /dev/dm-0.*input/output error'
	fresh
}

# It looks like a whole volume, and a write to it alone would make the set differ.
raid() {
	plug raid1.img
	plug raid2.img
	boot
	check_equal 'members of a RAID set: refused' '3 -' "$status ${device[root]:-}"
	says 'members of a RAID set: says so' 'root: not attached: raid, on /dev/loop'
	says 'members of a RAID set: what to do' 'use the assembled device' "${reasons[root]:-}"
	says_not 'members of a RAID set: no other advice' 'new.serial|chkdsk' "${reasons[root]:-}"
	check_unwritten 'members of a RAID set' "$plugged"
	fresh
}

other_uuid() {
	one uuid.img refused 'another UUID by tune2fs' foreign 'has UUID' 'take it over with wubi-disk map'
	plug uuid.img
	boot
	says_not 'another UUID by tune2fs: no advice to go back' 'from a copy|restore'
	fresh
}

hard_names() {
	plug hangul.img
	boot
	attached 'a long name, not of ASCII' renamed
	check_equal 'a long name: the last reason says what to do' "move it back to '$image' in Windows, do not reinstall" \
		"$(jq -r '.maps[0].reasons[-1]' /run/wubi/boot.json)"
	check 'a long name: boot.json is UTF-8' python3 -c \
		'import json; json.loads(open("/run/wubi/boot.json", "rb").read().decode())'
	fresh
	plug newline.img
	boot
	attached 'a name of two lines' renamed 'two.lines'
	check_equal 'a name of two lines: each line of the text begins as all do' '' \
		"$(grep -v '^wubi: ' /run/boot.err /run/wubi/boot.log)"
	fresh
}

# What is plugged in comes first, the verdict and what to do stay on the screen.
order_of_text() {
	local seen verdict
	timeout=1
	plug absent.img
	boot
	seen=$(grep -n 'loop0: NTFS' /run/boot.err | head -n 1) verdict=$(grep -n 'not attached' /run/boot.err | head -n 1)
	check "the volumes come before the refusal: lines ${seen%%:*} and ${verdict%%:*}" test "${seen%%:*}" -lt "${verdict%%:*}"
	fresh
}

late_clones
by_serial
impostor
read_errors
raid
other_uuid
hard_names
order_of_text
finish
