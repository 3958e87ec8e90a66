#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2119
#
# rescue on block devices: sectors that the disk does not give, outputs that lie on the volume by way of device-mapper or a mount, a
# device as output, and the file again in place. Case C02.
#
# vm-setup: . "$TESTS/vm/lib_volumes.sh"
# vm-setup: base base.img
# vm-setup: mapfx extract maps/root.map base.img before.img
# vm-setup: state lost.img emptied $image
# vm-options: -d lost.img -d base.img -t 240

. "$(dirname "$0")/guest.sh"

disk=$WUBI_BUILD/wubi-disk
map=$WUBI_WORK/maps/root.map
before=$WUBI_WORK/before.img
lost=/dev/ubda
whole=/dev/ubdb

# refused WHAT REASON VOLUME ARG...: exit 3 with that reason, and the volume as before
refused() {
	local what=$1 reason=$2 volume=$3 sum
	sum=$(checksum "$volume")
	check_status "$what: refused" 3 "$disk" rescue "$volume" --map "$map" --json "${@:4}"
	check_output "$what: the reason is $reason" "\"reason\": *\"$reason\""
	check_equal "$what: the volume is unchanged" "$sum" "$(checksum "$volume")"
}

# The disk gives errors for 3 sectors of the image, and for the last one: O_DIRECT reads fail as a whole.
bad_sectors() {
	local start count total node
	read -r _ _ start count <<<"$(grep '^extent ' "$map")"
	total=$(blockdev --getsz $lost)
	dmsetup create bad <<-EOT
		0 $((start + 4001)) linear $lost 0
		$((start + 4001)) 3 error
		$((start + 4004)) $((count - 4005)) linear $lost $((start + 4004))
		$((start + count - 1)) 1 error
		$((start + count)) $((total - start - count)) linear $lost $((start + count))
	EOT
	node=/dev/dm-$(dmsetup info -c --noheadings -o minor bad)
	check_status 'bad sectors: exit 3' 3 "$disk" rescue "$node" --map "$map" --output /run/bad.img --json
	check_output 'bad sectors: the reason' '"reason": *"bad-sectors"'
	check_output 'bad sectors: both ranges' "\"offset_bytes\": *$((4001 * 512)), *\"length_bytes\": *1536.*\"offset_bytes\": *$(((count - 1) * 512)), *\"length_bytes\": *512"
	cp "$before" /run/want.img
	dd if=/dev/zero of=/run/want.img bs=512 seek=4001 count=3 conv=notrunc status=none
	dd if=/dev/zero of=/run/want.img bs=512 seek=$((count - 1)) count=1 conv=notrunc status=none
	check 'bad sectors: all others are right' cmp /run/bad.img /run/want.img
	check_equal 'bad sectors: the list' 2 "$(grep -vc '^#' /run/bad.img.bad)"
	dmsetup remove bad
}

on_the_volume() {
	check 'attach' "$disk" attach $whole --map "$map"
	refused 'the image itself, attached' same-volume $whole --output /dev/mapper/wubi-root --yes
	refused 'what the volume is made of' busy /dev/mapper/wubi-root --output $whole --yes
	check 'mount' mount -t ext4 -o ro,noload /dev/mapper/wubi-root /mnt
	refused 'a file in the attached image' same-volume $whole --output /mnt/out.img
	umount /mnt
	check 'detach' "$disk" detach root
	ntfs_mount -o ro $lost /run/n || fail 'ntfs-3g'
	refused 'a file on the mounted volume' same-volume $lost --output /run/n/out.img
	refused 'the mounted volume' busy $lost --output /run/another.img
	ntfs_umount /run/n
}

to_a_device() {
	local to
	truncate -s 9M /run/to.img
	to=$(losetup -f --show /run/to.img) || fail 'losetup'
	refused 'a device, without --yes' output-exists $lost --output "$to"
	tr '\0' x </dev/zero | head -c 9M >"$to"
	check 'a device' "$disk" rescue $lost --map "$map" --output "$to" --yes
	check 'a device: every byte, zeros too' cmp -n "$(stat -c %s "$before")" "$to" "$before"
	check_equal 'a device: nothing behind it' xxxx "$(tail -c 4 "$to")"
	losetup -d "$to"
}

in_place() {
	dd if=/dev/zero of=$whole bs=64k count=1 conv=fsync status=none # or it is a clone
	check 'in place' "$disk" rescue $lost --map "$map" --in-place
	check_status 'in place: match by the old map' 0 "$disk" verify $lost --map "$map"
	check 'in place: attach' "$disk" attach $lost --map "$map"
	check 'in place: every byte' cmp /dev/mapper/wubi-root "$before"
	refused 'in place, while it is attached' attached $lost --in-place
	check 'in place: detach' "$disk" detach root
	check 'in place: ntfsresize' ntfsresize -i -f $lost
}

load_module dm_mod loop fuse || fail 'load the modules'
check 'whole: copied' "$disk" rescue $lost --map "$map" --output /run/out.img
check 'whole: every byte' cmp /run/out.img "$before"
bad_sectors
on_the_volume
to_a_device
in_place
finish
