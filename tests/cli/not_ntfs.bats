#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What is no NTFS volume that a boot loader could reach, or is the wrong device.

load ../lib.sh

# disk TABLE TYPE: $V becomes a disk with one partition of that type that holds an NTFS; the partition is ${L}p1.
disk() {
	mkvol 40M
	mv "$V" "$T/part.img"
	truncate -s 44M "$V"
	printf 'label: %s\nstart=2048, size=81920, type=%s\n' "$1" "$2" | sfdisk -q "$V"
	dd if="$T/part.img" of="$V" bs=1M seek=1 conv=notrunc,sparse status=none
	[ "${3:-}" = no-loop ] || {
		loop "$V"
		partx -a "$L"
	}
}

@test "B08 FAT and exFAT: one clear refusal" {
	truncate -s 40M "$V"
	mkfs.vfat "$V" >/dev/null
	refuses not-ntfs 'FAT' create "$V" --size 8M --map "$M"
	eq "$(wc -l <"$T/err")" 1 "lines of the refusal"
	rm "$V"
	truncate -s 40M "$V"
	mkfs.exfat "$V" >/dev/null
	refuses not-ntfs 'exfat' create "$V" --size 8M --map "$M"
}

@test "not NTFS: ext4, zeros, noise, an empty file, a folder, a missing file" {
	truncate -s 40M "$V"
	refuses not-ntfs 'ntfs' create "$V" --size 8M --map "$M"
	mkfs.ext4 -q "$V"
	refuses not-ntfs 'ntfs' create "$V" --size 8M --map "$M"
	seq 1 100000 >"$V"
	refuses not-ntfs 'ntfs' info "$V"
	: >"$V"
	wd create "$V" --size 8M
	[ "$status" = 1 ] || [ "$status" = 3 ] || fail "exit status $status"
	eq "$(stat -c %s "$V")" 0
	wd create "$T" --size 8M
	[ "$status" = 1 ] || [ "$status" = 3 ] || fail "exit status $status"
	wd create "$T/nothing" --size 8M
	status_is 1
	has "$err" 'nothing.*no such file'
	absent "$T/nothing"
}

@test "A12 LDM: MBR type 0x42 is refused although the NTFS is readable" {
	requires loop
	disk dos 42
	refuses ldm 'dynamic&basic|convert' create "${L}p1" --size 8M --map "$M"
}

@test "A12 LDM: the GPT types are refused" {
	requires loop
	for type in AF9B60A0-1431-4F62-BC68-3311714A69AD 5808C8AA-7E8F-42E0-85D2-E1E90434CFB3; do
		disk gpt "$type"
		refuses ldm 'dynamic' create "${L}p1" --size 8M --map "$M"
		cleanup
		LOOPS=''
	done
}

@test "A12 Storage Spaces is refused" {
	requires loop
	disk gpt E75CAF8F-F680-4CEE-AFA3-B001E56EFC2D
	refuses storage-spaces 'storage spaces' create "${L}p1" --size 8M --map "$M"
}

@test "A12 member of a RAID set: the signature on the disk counts for its partition" {
	requires loop
	disk dos 7
	create_before=$(sum)
	printf 'Intel Raid ISM Cfg Sig. 1.3.00' |
		dd of="$V" bs=1 seek=$((44 * 1048576 - 1024)) conv=notrunc status=none
	[ "$(sum)" != "$create_before" ]
	refuses raid 'raid' create "${L}p1" --size 8M --map "$M"
}

@test "A12 member of a RAID set: the signature on the volume itself" {
	mkvol 40M
	truncate -s 41M "$V"
	printf 'Intel Raid ISM Cfg Sig. 1.3.00' |
		dd of="$V" bs=1 seek=$((41 * 1048576 - 1024)) conv=notrunc status=none
	refuses raid 'raid' create "$V" --size 8M --map "$M"
}

@test "A12 a basic partition, MBR or GPT, is fine, and its PARTUUID is in the map" {
	requires loop
	disk dos 7
	ok create "${L}p1" --size 8M --map "$M"
	uuid=$(blkid -p -s PART_ENTRY_UUID -o value "${L}p1")
	grep -qx "host_partuuid $uuid" "$M" || fail "PARTUUID $uuid is not in the map: $(cat "$M")"
	ok verify "${L}p1" --map "$M"
	rm "$M"
	cleanup
	LOOPS=''
	disk gpt EBD0A0A2-B9E5-4433-87C0-68B6B72699C7
	ok create "${L}p1" --size 8M --map "$M"
	ok verify "${L}p1" --map "$M"
	lacks "$(cat "$M")" '/dev/|loop|sd[a-z]'
}

@test "B14 no default device: a size alone is a usage error" {
	wd create --size 8M
	status_is 2
	has "$err" 'volume'
}

@test "B14 a whole disk with partitions is refused, as a device and as a file" {
	disk dos 7 no-loop
	refuses partitioned 'partition' create "$V" --size 8M --map "$M"
	requires loop
	loop "$V"
	partx -a "$L"
	refuses partitioned 'partition' create "$L" --size 8M --map "$M"
}

@test "B14 a whole disk whose first sector is NTFS and holds a partition table too is refused" {
	mkvol 40M
	printf '\x00\x00\x00\x00\x07\x00\x00\x00\x00\x08\x00\x00\x00\x00\x01\x00' |
		dd of="$V" bs=1 seek=446 conv=notrunc status=none
	refuses partitioned 'partition' create "$V" --size 8M --map "$M"
}

@test "B14 the report shows label, serial and size before anything is written" {
	mkvol 40M '' 512 -L 'My Data'
	before=$(sum)
	ok create "$V" --size 8M --dry-run
	has "$out" 'My Data'
	has "$out" '40(\.0)? MiB|39\.9+ MiB'
	ok info "$V" --json
	serial=$(json .serial)
	ok create "$V" --size 8M --dry-run
	has "$out" "$serial"
	eq "$(sum)" "$before"
}
