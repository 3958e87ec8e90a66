#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Which disks and volumes there are, what stands against each of them, and which one is meant: src/disks.c, src/volumes*.c and the
# installer's table of them, through a small program, on disk images and loop devices.

load ../lib.sh

DRIVER=$BUILD/tests/cli/volumes_driver
ESP=C12A7328-F81F-11D2-BA4B-00A0C93EC93B
BASIC=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7

# disk TABLE SIZE ROW...: a new $V with these partitions (rows of sfdisk)
disk() {
	rm -f "$V"
	truncate -s "$2" "$V"
	{
		echo "label: $1"
		printf '%s\n' "${@:3}"
	} | sfdisk -q "$V" >"$T/sfdisk.log" 2>&1 || fail "sfdisk: $(cat "$T/sfdisk.log")"
}

attach() { # OPTION...: $V as a loop device with its partitions
	loop "$@" "$V"
	partx -d "$L" 2>/dev/null || true # of who had this loop device before
	partx -a "$L"
}

format() { # DEVICE LABEL: an empty NTFS
	mkntfs -F -Q -q -L "$2" "$1" >"$T/mkntfs.log" 2>&1 || fail "mkntfs: $(tail -3 "$T/mkntfs.log")"
	"$TESTS_DIR/fixtures/own-serial" "$1" || fail "ntfslabel"
}

# windows [OPTION...]: a disk as Windows makes it: EFI system partition, reserved, C:, recovery
windows() {
	disk gpt 112M "start=2048, size=32768, type=$ESP, name=\"EFI system partition\"" \
		'start=34816, size=32768, type=E3C9E316-0B5C-4DB8-817D-F92DF00215AE' \
		"start=67584, size=122880, type=$BASIC, name=\"Basic data partition\"" \
		'start=190464, size=36864, type=DE94BBA4-06D1-4D40-A16A-BFD50179D6AC'
	attach
	mkfs.vfat -n SYSTEM -i 1234ABCD "${L}p1" >/dev/null
	format "${L}p3" Windows
	format "${L}p4" Recovery
}

# one TABLE TYPE: a disk with one NTFS partition, ${L}p1
one() {
	disk "$1" 44M "start=2048, size=81920, type=$2"
	attach
	format "${L}p1" Windows
}

vd() { # ARG...: $status, $out, $err. dmidecode, which libparted calls, may have a line on stderr, too
	status=0
	"$DRIVER" "$@" >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
	out=$(<"$T/out")
	err=$(<"$T/err")
}

list() { # NEEDED DISK...
	vd json "$@"
	status_is 0
}

# row N FILTER: of the N-th row of the first disk
row() { json ".disks[0].partitions[$1] | $2"; }

# unusable REASON STATE WORDS [NEEDED]: the first row of $L says so, and nothing of $V is changed by asking
unusable() {
	local before w
	before=$(sum)
	list "${4:-0}" "$L"
	eq "$(row 0 .usable)" false
	eq "$(row 0 .reason)" "$1" reason
	eq "$(row 0 .state)" "$2" state
	while read -r w; do has "$(row 0 .text)" "$w"; done <<<"${3//&/$'\n'}"
	eq "$(sum)" "$before" "checksum of the disk"
	vd text "${4:-0}" "$L"
	has "$out" " $2\$"
	has "$(tr -s '\n ' ' ' <<<"$out")" "${3%%&*}"
}

@test "a disk as Windows makes it: each partition with what it is" {
	requires loop
	windows
	list 0 "$L"
	eq "$(json '.disks | length')" 1
	eq "$(json '.disks[0] | [.path, .table, .size_bytes, .problem] | @csv')" "\"$L\",\"gpt\",117440512,"
	eq "$(json '[.disks[0].partitions[].kind] | join(" ")')" 'esp other ntfs ntfs'
	eq "$(row 0 '[.what, .label, .serial, .state] | join(" ")')" 'vfat SYSTEM 1234-ABCD ESP'
	eq "$(row 2 '[.path, .what, .label, .state, .usable] | join(" ")')" "${L}p3 ntfs Windows ok true"
	eq "$(row 2 .partuuid)" "$(blkid -p -s PART_ENTRY_UUID -o value "${L}p3")"
	eq "$(row 2 '.serial | ascii_upcase')" "$(blkid -p -s UUID -o value "${L}p3")"
	eq "$(row 2 .size_bytes)" 62914560
	wd info "${L}p3" --json
	free=$(json .free_bytes) run=$(json .largest_free_run_bytes)
	list 0 "$L"
	eq "$(row 2 .free_bytes)" "$free"
	eq "$(row 2 .largest_run_bytes)" "$run"
	eq "$(row 3 '[.reason, .usable] | join(" ")')" 'hidden false'
	has "$(row 3 .text)" 'recovery'
}

@test "MBR: partitions by their type numbers, logical ones, and not the extended one" {
	requires loop
	disk dos 80M 'start=2048, size=32768, type=7' 'start=34816, size=32768, type=ef' 'start=67584, size=90000, type=f' \
		'start=69632, size=32768, type=7'
	attach
	format "${L}p1" Windows
	mkfs.vfat "${L}p2" >/dev/null
	format "${L}p5" Data
	list 0 "$L"
	eq "$(json '.disks[0].table')" msdos
	eq "$(json '[.disks[0].partitions[] | .path + " " + .kind] | join(", ")')" "${L}p1 ntfs, ${L}p2 esp, ${L}p5 ntfs"
	eq "$(row 0 .partuuid)" "$(blkid -p -s PART_ENTRY_UUID -o value "${L}p1")"
}

@test "reading writes nothing: not to the disk, not to its partitions" {
	requires loop strace
	[ -z "${WUBI_ASAN:-}" ] || skip "the leak sanitizer does not work under strace"
	windows
	before=$(sum)
	strace -f -y -e trace=write,pwrite64,writev,pwritev,pwritev2,fallocate,ftruncate -o "$T/trace" "$DRIVER" json 0 "$L" >/dev/null
	lacks "$(cat "$T/trace")" '\([0-9]+<[^>]*(/dev/loop|v\.img)'
	strace -f -y -e trace=write,pwrite64,writev,pwritev,pwritev2,fallocate,ftruncate -o "$T/trace" "$DRIVER" json 0 "$V" >/dev/null
	lacks "$(cat "$T/trace")" '\([0-9]+<[^>]*(/dev/loop|v\.img)'
	eq "$(sum)" "$before"
}

@test "a damaged copy of the GPT is told and not mended" {
	requires loop
	windows
	for at in 512 $((112 * 1048576 - 512)); do
		cp --sparse=always "$V" "$T/broken.img"
		printf xxxx | dd of="$T/broken.img" bs=1 seek=$((at + 16)) conv=notrunc status=none # the header's CRC
		before=$(sum "$T/broken.img")
		list 0 "$T/broken.img"
		eq "$(json '.disks[0].table')" gpt
		has "$(json '.disks[0].problem')" 'corrupt'
		eq "$(json '.disks[0].partitions | length')" 4
		vd text 0 "$T/broken.img"
		has "$out" 'corrupt'
		eq "$(sum "$T/broken.img")" "$before"
	done
	# a disk that has become larger: libparted offers to move the backup
	truncate -s 200M "$V"
	before=$(sum)
	list 0 "$V"
	eq "$(json '.disks[0].partitions | length')" 4
	eq "$(sum)" "$before"
}

@test "both copies of the GPT damaged: the disk is there with its problem" {
	requires loop
	windows
	for at in 512 $((112 * 1048576 - 512)); do
		dd if=/dev/zero of="$V" bs=512 seek=$((at / 512)) count=1 conv=notrunc status=none
	done
	list 0 "$V"
	eq "$(json '.disks | length')" 1
	[ "$(json '.disks[0].problem')" != null ] || fail "no problem"
	eq "$(json '[.disks[0].partitions[] | select(.usable)] | length')" 0
}

@test "a disk without a table that is NTFS as a whole; an empty one; none" {
	mkvol 40M '' 512 -L Whole
	list 0 "$V"
	eq "$(json '.disks[0].table')" loop
	eq "$(row 0 '[.path, .label, .usable] | join(" ")')" "$V Whole true"
	truncate -s 0 "$V"
	truncate -s 40M "$V"
	list 0 "$V" "$T/nothing"
	eq "$(json '.disks | length')" 2
	eq "$(json '[.disks[].partitions[] | select(.usable)] | length')" 0
	has "$(json '.disks[0].partitions[0].text')" 'no such file'
	vd text 0
	eq "$out" 'no disks'
}

@test "A01 hibernated Windows: the row says so, with what to do" {
	requires loop
	one gpt "$BASIC"
	printf hibr >"$T/h"
	truncate -s 4096 "$T/h"
	ntfscp -q -f "${L}p1" "$T/h" /hiberfil.sys >/dev/null 2>&1
	unusable hibernated hibernated 'hibernated&shut it down|powercfg'
}

@test "A02 Fast Startup: the row says so, with what to do" {
	requires loop
	one gpt "$BASIC"
	fx fastboot "${L}p1"
	unusable fast-startup 'Fast Startup' 'fast startup&powercfg'
}

@test "A04 dirty: the row says so, with what to do, and names what else there is" {
	requires loop
	one dos 7
	fx dirty "${L}p1"
	unusable dirty dirty 'dirty&chkdsk'
	unusable dirty dirty 'dirty&chkdsk&also: too small' $((1 << 40))
}

@test "A06 unclean journal, A07 MFT copies that differ: the rows say so" {
	requires loop
	one dos 7
	fx logdirty "${L}p1"
	unusable journal 'unclean journal' 'journal&start windows'
	one dos 7
	fx dirty-mft-only "${L}p1"
	unusable mft-mirror damaged 'chkdsk'
}

@test "A09 BitLocker: the row says so; its size is known and nothing else" {
	requires loop
	one gpt "$BASIC"
	fx bitlocker "${L}p1"
	unusable bitlocker BitLocker 'bitlocker'
	list 0 "$L"
	eq "$(row 0 '[.what, .label, .free_bytes] | @csv')" '"BitLocker",,'
	one gpt "$BASIC"
	fx bitlocker-togo "${L}p1"
	unusable bitlocker BitLocker 'bitlocker'
}

@test "A12 dynamic disk, Storage Spaces, member of a RAID set: the rows say so" {
	requires loop
	one dos 42
	unusable ldm 'dynamic disk' 'dynamic disk'
	one gpt AF9B60A0-1431-4F62-BC68-3311714A69AD
	unusable ldm 'dynamic disk' 'dynamic disk'
	# one that has no NTFS at its start, as a spanned volume's second part
	dd if=/dev/zero of="${L}p1" bs=1M count=8 status=none
	unusable ldm 'dynamic disk' 'dynamic disk'
	vd choose "${L}p1" "$L"
	status_is 3
	has "$err" '^ldm: '
	one gpt E75CAF8F-F680-4CEE-AFA3-B001E56EFC2D
	unusable storage-spaces 'Storage Spaces' 'storage spaces'
	one dos 7
	printf 'Intel Raid ISM Cfg Sig. 1.3.00' | dd of="$V" bs=1 seek=$((44 * 1048576 - 1024)) conv=notrunc status=none
	blockdev --flushbufs "$L"
	unusable raid 'RAID member' 'raid'
}

@test "too small, and free space in pieces" {
	requires loop
	one gpt "$BASIC"
	list 0 "$L"
	free=$(row 0 .free_bytes) run=$(row 0 .largest_run_bytes)
	[ "$run" -lt "$free" ] || fail "mkntfs left the free space in one piece"
	unusable no-space 'too small' 'needs&free' $((free + 1))
	unusable fragmented fragmented 'fragmented&in one run&defragment' $((run + 1048576))
	list $((run - 2 * 1048576)) "$L"
	eq "$(row 0 .state)" ok
}

@test "a read-only disk: told, and no place for an image" {
	requires loop
	one gpt "$BASIC"
	partx -d "$L"
	losetup -d "$L"
	attach -r
	unusable read-only read-only 'read-only'
	vd text 0 "$L"
	has "$out" '^/dev/loop.*, read-only$'
}

@test "partitions that overlap, and a table that is not the kernel's: the row says so" {
	requires loop
	one dos 7
	# the second one over the end of the first
	printf '\x00\x00\x00\x00\x07\x00\x00\x00\x00\x90\x00\x00\x00\xb8\x00\x00' | dd of="$V" bs=1 seek=462 conv=notrunc status=none
	blockdev --flushbufs "$L"
	unusable overlap overlap 'overlap'
	one dos 7
	sfdisk -q --no-reread --force "$V" >/dev/null 2>&1 <<<'start=2048, size=40960, type=7'
	blockdev --flushbufs "$L"
	unusable stale-table 'other table' 'partition table&restart'
}

@test "an NTFS volume whose first records are gone: damaged, not just unknown" {
	requires loop
	one gpt "$BASIC"
	fx corrupt "${L}p1" mft0
	unusable corrupt damaged 'chkdsk'
}

@test "a disk that cannot be read to its end: its rows say so, without a reason, and the other disks are as ever" {
	requires loop
	one dos 7
	good=$L
	V=$T/bad.img
	one dos 7
	blockdev --flushbufs "$L"
	truncate -s 34M "$V" # what lies behind is an I/O error
	list 0 "$good" "$L"
	eq "$(json ".disks[] | select(.path == \"$good\") | .partitions[0].state")" ok
	eq "$(json ".disks[] | select(.path == \"$L\") | .partitions[0] | [.state, .reason, .usable] | @csv")" '"unreadable",,false'
	vd choose "${L}p1" "$good" "$L"
	status_is 1
	has "$err" 'error'
}

@test "images of ours are counted and named" {
	requires loop
	one gpt "$BASIC"
	ok create "${L}p1" --size 8M
	list 0 "$L"
	eq "$(row 0 '[.images, .state] | join(" ")')" '1 ok'
	vd text 0 "$L"
	has "$out" 'images of Linux here: 1 \(/ubuntu/disks/root.disk\)'
}

@test "a label from the volume cannot write to the terminal, and the table fits" {
	requires loop
	one gpt "$BASIC"
	ntfslabel -f "${L}p1" $'a\e[31mb\nc\td' >/dev/null 2>&1
	list 0 "$L"
	eq "$(row 0 .label)" $'a\e[31mb\nc\td'
	vd text $((1 << 40)) "$L"
	lacks "$out" $'\e|\t'
	has "$out" 'a\?\[31mb\?c\?d'
	[ "$(wc -L <"$T/out")" -le 100 ] || fail "$(wc -L <"$T/out") columns"
	ntfslabel -f "${L}p1" 'Übergrößenträger-Fußnoten-äöüß' >/dev/null 2>&1
	LC_ALL=C.UTF-8 vd text 0 "$L"
	has "$out" ' Übergrößenträger-Fuß +40.0 MiB .* ok$'
}

@test "B14 two NTFS volumes: none is taken by itself, each is named by device, label, serial number and PARTUUID" {
	requires loop
	disk gpt 80M "start=2048, size=65536, type=$BASIC" "start=67584, size=65536, type=$BASIC"
	attach
	format "${L}p1" Windows
	format "${L}p2" Data
	vd choose '' "$L"
	status_is 3
	has "$err" "^no-volume: .*${L}p1 \(ntfs 'Windows', 32.0 MiB\), ${L}p2"
	serial=$(blkid -p -s UUID -o value "${L}p2") partuuid=$(blkid -p -s PART_ENTRY_UUID -o value "${L}p2")
	ln -s "${L}p2" "$T/link"
	for spec in "${L}p2" "$T/link" LABEL=Data Data "SERIAL=$serial" "SERIAL=${serial,,}" "UUID=$serial" "$serial" \
		"PARTUUID=$partuuid" "PARTUUID=${partuuid^^}" "$partuuid"; do
		vd choose "$spec" "$L"
		status_is 0
		eq "$out" "${L}p2" "$spec"
	done
	for spec in LABEL=data "$L" /dev/null LABEL= "SERIAL=${serial}0"; do
		vd choose "$spec" "$L"
		status_is 3
		has "$err" '^no-volume: '
		eq "$out" ''
	done
}

@test "B14 two volumes of one name: refused, with the devices of both" {
	requires loop
	disk gpt 80M "start=2048, size=65536, type=$BASIC" "start=67584, size=65536, type=$BASIC"
	attach
	format "${L}p1" Windows
	format "${L}p2" Windows
	vd choose LABEL=Windows "$L"
	status_is 3
	has "$err" "^several-volumes: .*${L}p1.*${L}p2"
	# clones: the serial number is the same, too
	dd if="${L}p1" of="${L}p2" bs=1M status=none
	vd choose "SERIAL=$(blkid -p -s UUID -o value "${L}p1")" "$L"
	status_is 3
	has "$err" "^several-volumes: "
	vd choose "${L}p2" "$L"
	eq "$out" "${L}p2"
}

@test "the EFI system partition: of the volume's disk; several are a refusal" {
	requires loop
	windows
	first=$L
	vd esp Windows "$first"
	eq "$out" "${first}p1"
	V=$T/second.img
	disk gpt 80M "start=2048, size=65536, type=$BASIC" "start=67584, size=16384, type=$ESP" "start=83968, size=16384, type=$ESP"
	attach
	format "${L}p1" Data
	vd esp Windows "$first" "$L"
	eq "$out" "${first}p1"
	vd esp Data "$first" "$L"
	status_is 3
	has "$err" "^several-esps: .*--esp: ${L}p2.*${L}p3"
	V=$T/third.img
	one dos 7
	vd esp "${L}p1" "$first" "$L"
	eq "$out" "${first}p1"
	vd esp "${L}p1" "$L"
	status_is 3
	has "$err" '^no-esp: .*--esp'
}

@test "B15 mounted, as a live desktop does by itself: the row names the place and --unmount, and volumes_unmount undoes it" {
	requires loop fuse
	one gpt "$BASIC"
	mkdir "$T/m" "$T/m2"
	ntfs-3g "${L}p1" "$T/m" 3>&-
	MOUNTED="$T/m"
	list 0 "$L"
	eq "$(row 0 '[.state, .reason, .mounted, .usable] | join(" ")')" "mounted busy $T/m false"
	has "$(row 0 .text)" "'$T/m'.*--unmount"
	eq "$(row 0 .label)" Windows
	mount --bind "$T/m" "$T/m2"
	MOUNTED="$T/m2 $T/m"
	vd unmount "${L}p1"
	status_is 0
	! grep -q "$T/m" /proc/self/mountinfo || fail "still mounted"
	ok create "${L}p1" --size 8M
	list 0 "$L"
	eq "$(row 0 '[.state, .mounted] | @csv')" '"ok",'
	vd unmount "${L}p1"
	status_is 0
}

@test "B15 mounted and in use: volumes_unmount says where and what to do, and the mount goes on working" {
	requires loop fuse
	one gpt "$BASIC"
	mkdir "$T/m"
	ntfs-3g "${L}p1" "$T/m" 3>&-
	MOUNTED=$T/m
	exec 7>"$T/m/open"
	vd unmount "${L}p1"
	status_is 1
	has "$err" "'$T/m' is in use.*fuser -vm"
	echo kept >&7
	exec 7>&-
	eq "$(cat "$T/m/open")" kept
	vd unmount "${L}p1"
	status_is 0
}

@test "B15 something else is mounted on top: that is not unmounted" {
	requires loop fuse
	one gpt "$BASIC"
	mkdir "$T/m"
	ntfs-3g "${L}p1" "$T/m" 3>&-
	mount -t tmpfs tmpfs "$T/m"
	MOUNTED="$T/m $T/m"
	vd unmount "${L}p1"
	status_is 1
	has "$err" 'mounted over'
	has "$(cat /proc/self/mountinfo)" " $T/m .* tmpfs "
	umount "$T/m"
	vd unmount "${L}p1"
	status_is 0
}

@test "B15 in use by another name: the row says busy and names the user" {
	requires loop
	one gpt "$BASIC"
	part=${L}p1 whole=$L
	loop "$part"
	list 0 "$whole"
	losetup -d "$L" # the teardown knows only those of files
	eq "$(row 0 '[.state, .reason] | join(",")')" 'in use,busy'
	has "$(row 0 .text)" "$L"
}

@test "B15 claimed by somebody who cannot be seen: the row says busy" {
	requires loop
	one gpt "$BASIC"
	claimed() {
		"$PY" - "${L}p1" "$DRIVER" json 0 "$L" <<-'EOP'
			import os, subprocess, sys
			fd = os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)
			sys.exit(subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL).returncode)
		EOP
	}
	claimed >"$T/out"
	eq "$(row 0 '[.state, .reason] | join(",")')" 'in use,busy'
	has "$(row 0 .text)" 'another mount namespace'
}

@test "mounted, and unsafe for another reason: unmounting would not help, so that reason comes first" {
	requires loop fuse
	one gpt "$BASIC"
	fx fastboot "${L}p1"
	mkdir "$T/m"
	ntfs-3g -o ro "${L}p1" "$T/m" 3>&- 2>"$T/log" || skip "ntfs-3g mounts it not even read-only: $(tail -1 "$T/log")"
	# shellcheck disable=SC2034 # teardown's
	MOUNTED=$T/m
	list 0 "$L"
	eq "$(row 0 '[.reason, .mounted] | join(" ")')" "fast-startup $T/m"
	has "$(row 0 .text)" 'also: in use'
	vd unmount "${L}p1"
	status_is 0
}

@test "all disks of this machine: loop, optical and device-mapper devices are not among them" {
	requires loop
	one gpt "$BASIC"
	vd json 0 --all
	status_is 0
	eq "$(json '[.disks[].path | select(test("/(loop|ram|zram|sr|fd|dm-)[0-9]"))] | length')" 0
}
