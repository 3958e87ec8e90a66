#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Moving out: the file system of an image becomes that of a partition. The partition is a plain file here.

load ../lib.sh
load lib_traced

# image SIZE [VOLUME-SIZE]: a volume with an image that has files in it. $P: the partition, $inside: the image for e2fsprogs.
image() {
	mkvol "${2:-160M}"
	create "${1:-32M}" --label wubi-root
	P=$T/p.img
	inside="$V?offset=$(wd show --map "$M" --json && json '.extents[0].physical_sector * 512')"
	mkdir -p "$T/files/etc" "$T/files/home/ada"
	head -c 3M /dev/urandom >"$T/files/home/ada/photo"
	seq 20000 >"$T/files/etc/numbers"
	: >"$T/files/etc/empty"
	debugfs -w -f - "$inside" >"$T/debugfs.log" 2>&1 <<-END
		mkdir etc
		mkdir home
		mkdir home/ada
		write $T/files/home/ada/photo home/ada/photo
		write $T/files/etc/numbers etc/numbers
		write $T/files/etc/empty etc/empty
		symlink etc/link numbers
	END
	before=$(sum)
}

partition() { # SIZE
	rm -f "$P"
	truncate -s "$1" "$P"
}

super() { # FIELD: of the copy's superblock
	dumpe2fs -h "$P" 2>/dev/null | sed -n "s/^$1: *//p"
}

found() { # what blkid sees on the partition
	blkid -p -o value -s TYPE "$P" || true
}

# whole: the copy is clean, is as large as the partition, and has all files
whole() {
	e2fsck -fn "$P" >"$T/fsck" 2>&1 || fail "$(cat "$T/fsck")"
	eq "$(super 'Filesystem state')" clean
	rm -rf "$T/out.d"
	mkdir "$T/out.d"
	debugfs -R "rdump etc home $T/out.d" "$P" >/dev/null 2>&1
	diff -r --no-dereference -x link "$T/files" "$T/out.d" || fail "the files differ"
	eq "$(readlink "$T/out.d/etc/link")" numbers
	eq "$(($(super 'Block count') * $(super 'Block size') / 1048576))" "$(($(stat -c %s "$P") / 1048576))" "MiB of the file system"
}

export_it() { ok export "$V" --map "$M" --to "$P" "$@"; }

@test "export: the copy has all files, is as large as the partition, has a UUID and a label of its own; the volume is untouched" {
	image
	partition 200M
	old=$(wd show --map "$M" --json && json .fs.uuid)
	export_it --json
	eq "$(json .status)" done
	whole
	eq "$(super 'Filesystem UUID')" "$(json .fs_uuid)"
	[ "$(super 'Filesystem UUID')" != "$old" ] || fail "the same UUID twice"
	eq "$(super 'Filesystem volume name')" linux-root
	lacks "$(super 'Filesystem features')" metadata_csum_seed
	eq "$(dumpe2fs -o superblock=32768 -o blocksize=4096 -h "$P" 2>/dev/null | sed -n 's/^Filesystem UUID: *//p')" "$(json .fs_uuid)" "the first backup"
	eq "$(json .next)" "wubi-install --repair --root $P"
	eq "$(sum)" "$before" "checksum of the volume"
	verdict_is match
	second_opinion
}

@test "export: what is not in use is not written" {
	image
	partition 32M
	export_it --json
	whole
	[ "$(json .copied_bytes)" -lt $((24 << 20)) ] || fail "$(json .copied_bytes) bytes"
	[ $(($(stat -c '%b * %B' "$P"))) -lt $((24 << 20)) ] || fail "$(stat -c '%b * %B' "$P")"
}

@test "export: a dry run says what it would do, and writes nothing" {
	image
	partition 64M
	empty=$(sum "$P")
	export_it --dry-run
	has "$out" 'empty'
	export_it --dry-run --json
	eq "$(json .status)" dry-run
	eq "$(sum "$P")" "$empty" "checksum of the partition"
	eq "$(sum)" "$before" "checksum of the volume"
}

@test "export: an image that was not unmounted is copied whole, and the journal is replayed in the copy" {
	image
	partition 64M
	block=$(debugfs -R 'blocks etc/numbers' "$inside" 2>/dev/null | cut -d ' ' -f 1)
	head -c 4096 /dev/zero | tr '\0' x >"$T/block"
	printf '%s\n' jo "jw -b $block $T/block" jc | debugfs -w -f - "$inside" >"$T/debugfs.log" 2>&1
	dumpe2fs -h "$inside" 2>/dev/null | grep -q needs_recovery || skip "this debugfs writes no journal"
	before=$(sum)
	export_it
	has "$out" 'not unmounted'
	dd if="$T/block" of="$T/files/etc/numbers" conv=notrunc status=none
	whole
	eq "$(sum)" "$before" "checksum of the volume"
}

@test "export: an image that Windows moved is copied from where it is now" {
	image
	partition 64M
	fx move "$V" "$IMG" >/dev/null
	before=$(sum)
	export_it
	whole
	eq "$(sum)" "$before" "checksum of the volume"
}

# refused REASON WORDS [OPTION...]: exit 3, and neither volume nor partition is another afterwards
refused() {
	local reason=$1 words=$2 kept
	shift 2
	kept=$(sum "$P")
	before=$(sum)
	wd export "$V" --map "$M" --to "$P" "$@" --json
	status_is 3
	grep -qxF "$reason" <<<"$(reasons)" || fail "reason is not $reason: $(reasons)"
	has "$err" "$words"
	eq "$(sum "$P")" "$kept" "checksum of the partition"
	eq "$(sum)" "$before" "checksum of the volume"
}

@test "export: something on the partition is overwritten with --yes alone" {
	image
	for what in 'mke2fs -q -F' mkswap 'mkntfs -F -Q -q' mkfs.vfat 'md5sum'; do
		partition 64M
		if [ "$what" = md5sum ]; then
			printf x | dd of="$P" seek=$(((64 << 20) - 1)) bs=1 conv=notrunc status=none
		else
			$what "$P" >/dev/null 2>&1
		fi
		refused not-empty 'not empty'
		refused not-empty 'not empty' --dry-run
		[ "$what" != mkswap ] || has "$err" "'swap'"
	done
	mkswap "$P" >/dev/null 2>&1
	export_it --yes
	whole
	eq "$(found)" ext4
}

@test "export: on a terminal 'yes' overwrites it, anything else does not" {
	requires script
	image
	partition 64M
	mkswap "$P" >/dev/null 2>&1
	kept=$(sum "$P")
	for answer in no yes; do
		status=0
		out=$(echo $answer | script -qec "'$WUBI_DISK' export '$V' --map '$M' --to '$P'" /dev/null 3>&-) || status=$?
		if [ $answer = no ]; then
			status_is 4
			has "$out" 'nothing was written'
			eq "$(sum "$P")" "$kept" "checksum of the partition"
		else
			status_is 0
		fi
	done
	whole
}

@test "export: a partition that is too small, by one byte" {
	image
	partition $(((32 << 20) - 1))
	refused too-small '32.0 MiB'
	refused too-small '' --yes
	partition 32M
	export_it
	whole
}

@test "export: not to the volume itself, under whatever name, nor over a partition table" {
	image
	P=$V
	refused same-volume 'overwritten' --yes
	P=$T/link
	ln -s "$V" "$P"
	refused same-volume '' --yes
	P=$T/p.img
	partition 64M
	printf 'label: gpt\nsize=8M\n' | sfdisk -q "$P"
	refused partitioned 'partition table' --yes
}

@test "export: reserved partitions of firmware and Windows are never overwritten" {
	requires root loop partx
	image
	truncate -s 300M "$T/disk.img"
	printf 'label: gpt\n%s\n%s\n%s\n' 'size=64M,type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B' \
		'size=64M,type=E3C9E316-0B5C-4DB8-817D-F92DF00215AE' 'size=64M,type=0FC63DAF-8483-4772-8E79-3D69D8477DE4' | sfdisk -q "$T/disk.img"
	loop -P "$T/disk.img"
	[ -b "${L}p1" ] || partx -a "$L"
	[ -b "${L}p3" ] || skip "no nodes for the partitions of a loop device"
	for P in "${L}p1" "${L}p2"; do
		wd export "$V" --map "$M" --to "$P" --yes --json
		status_is 3
		eq "$(reasons)" reserved
	done
	wd export "$V" --map "$M" --to "$L" --yes --json
	status_is 3
	has "$(reasons)" 'partitioned|busy'
	P=${L}p3
	export_it
	e2fsck -fn "$P" >/dev/null 2>&1 || fail "the copy on $P"
	wd export "$V" --map "$M" --to "$P" --json
	status_is 3
	eq "$(reasons)" not-empty
}

@test "export: a partition that is mounted" {
	requires root loop
	image
	partition 64M
	mke2fs -q -F "$P"
	loop "$P"
	mkdir "$T/m"
	mount "$L" "$T/m"
	MOUNTED="$MOUNTED $T/m"
	refused busy 'mounted|loop' --yes
	file=$P P=$L
	refused busy 'mounted' --yes
	P=$file
}

@test "export: a volume that is not what the map says, or not settled" {
	image
	partition 64M
	cp "$V" "$T/kept.img"
	fx dirty "$V"
	refused verdict-unsettled 'chkdsk'
	cp "$T/kept.img" "$V"
	fx emptied "$V" "$IMG"
	refused verdict-emptied ''
	cp "$T/kept.img" "$V"
	ok remove "$V" --image "$IMG" --yes
	refused verdict-missing ''
}

@test "export: a volume that ntfs-3g has mounted" {
	requires root fuse
	image
	partition 64M
	kept=$(sum "$P")
	in_ntfs "'$WUBI_DISK' export '$V' --map '$M' --to '$P' --json >'$T/out' 2>'$T/err' || echo \$? >'$T/status'"
	eq "$(cat "$T/status")" 3
	eq "$(reasons)" busy
	eq "$(sum "$P")" "$kept" "checksum of the partition"
}

@test "export: swap is nothing to move out" {
	mkvol 60M
	create 16M --fs swap
	P=$T/p.img
	partition 64M
	refused not-ext4 'swap'
}

# nothing_there: after a failure, the partition holds no file system, and the volume is as it was
nothing_there() { # WHAT
	eq "$(found)" '' "$1: on the partition is"
	eq "$(sum)" "$before" "$1: checksum of the volume"
}

# target_faulted MODE AT: as faulted(), at writes of the partition; those of e2fsprogs count for themselves
target_faulted() {
	status=0
	(
		ulimit -c 0
		LD_PRELOAD=$FAULTSHIM FAULT_TARGET=$P FAULT_MODE=$1 FAULT_AT=$2 FAULT_SIGNAL=15 FAULT_COUNT=$T/count \
			exec "$WUBI_DISK" export "$V" --map "$M" --to "$P" --yes
	) >"$T/out" 2>"$T/err" </dev/null 3>&- || status=$?
	out=$(<"$T/out")
	err=$(<"$T/err")
}

# steps: places among $count writes; the begin and the end matter most
steps() {
	local k
	for ((k = 1; k <= count; k++)); do
		[ $k -gt 4 ] && [ $k -lt $((count - 6)) ] && [ $((k % 5)) -ne 0 ] || echo $k
	done
}

@test "export: a write or flush of the partition fails: exit 1, nothing that is taken for a file system, and again it works" {
	slow_one
	image 16M 80M
	partition 24M
	target_faulted count 0
	status_is 0
	count=$(<"$T/count")
	count=$((count < 24 ? 24 : count))
	for k in $(steps); do
		partition 24M
		mkswap "$P" >/dev/null 2>&1
		target_faulted eio "$k"
		[ "$status" != 0 ] || { whole; continue; } # one of e2fsprogs that it went on without
		status_is 1
		has "$err" 'input/output|says'
		has "$err" 'image is as it was'
		if [[ $err == *"may be damaged"* ]]; then # the wipe itself
			eq "$(sum)" "$before" "checksum of the volume"
			continue
		fi
		nothing_there "write $k"
	done
	export_it --yes
	whole
}

@test "export: the disk is gone in the middle: exit 1, and it says so" {
	image 16M 80M
	partition 24M
	target_faulted dead 3
	status_is 1
	has "$err" 'input/output'
	nothing_there dead
}

@test "export: killed at a write: nothing that is taken for a file system, or one that says that it is not complete" {
	slow_one
	image 16M 80M
	partition 24M
	target_faulted count 0
	count=$(<"$T/count")
	count=$((count < 24 ? 24 : count))
	for k in $(steps); do
		partition 24M
		mke2fs -q -F "$P"
		target_faulted kill "$k"
		[ "$status" != 0 ] || { whole; continue; }
		case $(found) in
		'') ;;
		ext4) [ "$k" -eq 1 ] || eq "$(super 'Filesystem volume name')" linux-incomplete "label after kill $k" ;;
		ext2) [ "$k" -eq 1 ] || fail "kill $k: what was there before is still there" ;;
		*) fail "kill $k: $(found)" ;;
		esac
		eq "$(sum)" "$before" "kill $k: checksum of the volume"
	done
	export_it --yes
	whole
}

@test "export: SIGTERM at a write: exit 4, and nothing that is taken for a file system" {
	image 16M 80M
	for k in 1 3 5 9; do
		partition 24M
		target_faulted signal $k
		status_is 4
		has "$err" 'interrupted'
		nothing_there "signal at write $k"
	done
}

@test "export: no room behind the file that stands for the partition: exit 1" {
	requires root
	image
	mkdir "$T/small"
	mount -t tmpfs -o size=5m tmpfs "$T/small"
	MOUNTED="$MOUNTED $T/small"
	P=$T/small/p.img
	partition 64M
	wd export "$V" --map "$M" --to "$P"
	status_is 1
	has "$err" 'no space left'
	nothing_there ENOSPC
}

@test "export: a read of the volume fails: exit 1, with the place, and no copy" {
	needs_trace
	image 16M 80M
	partition 24M
	traced pread64 '' export "$V" --map "$M" --to "$P"
	status_is 0
	n=$(grep -c 'pread64(' "$T/trace")
	for k in 1 2 $((n / 4)) $((n / 2)) $((n * 3 / 4)) $((n - 1)) "$n"; do
		partition 24M
		traced pread64 "error=EIO:when=$k" export "$V" --map "$M" --to "$P"
		status_is 1
		has "$err" 'input/output|read'
		nothing_there "read $k of $n"
	done
	has "$err" "$V.*[0-9]+"
}

@test "export: usage" {
	image
	partition 64M
	wd export "$V" --map "$M"
	status_is 2
	has "$err" "--to"
	wd export "$V" --to "$P"
	status_is 2
	has "$err" "--map"
	wd export "$V" --map "$M" --to "$T/none"
	status_is 1
	has "$err" 'none.*no such file'
}
