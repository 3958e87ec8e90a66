#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# wubi-map-refresh on a running system, after a partition tool moved the image and shrank the partition (case C05): the map in its
# folder, the initramfs, the copy on the EFI system partition, in this order, whatever cuts a run short; never the volume.
#
# vm-setup: truncate -s 200M v.img
# vm-setup: mkntfs -F -Q -q -c 4096 -p 2048 -H 255 -S 63 v.img
# vm-setup: truncate -s 48M w.img
# vm-setup: mkntfs -F -Q -q -c 4096 -p 2048 -H 255 -S 63 w.img
# vm-options: -m 768M -t 300

. "$(dirname "$0")/guest.sh"
BUILD=$WUBI_BUILD
. "$(dirname "$0")/../cli/lib_initrd.bash"

disk=$WUBI_BUILD/wubi-disk
refresh=$WUBI_BUILD/wubi-map-refresh
fixtures=$WUBI_TOP/tests/fixtures
file=/run/v.img
maps=/run/maps
map=$maps/root.map
esp=/run/esp
boot=/run/boot
initrd=$boot/initrd.img-$KERNEL
volume=
mark=/run/state/map-refresh.unfinished

run_refresh() {
	PATH=/run/bin:$PATH "$refresh" --maps "$maps" --state-dir /run/state --esp "$esp" --boot "$boot" --modules /run/modules "$@"
}

# Instead of the distribution's program: takes the maps, as the hook does. /run/bin/how says what becomes of it.
tools() {
	mkdir -p /run/bin $maps $esp/EFI/wubi $boot "/run/modules/$KERNEL"
	cat >/run/bin/update-initramfs <<-EOS
		#!/bin/sh
		echo "\$*" >>/run/calls
		case \$(cat /run/bin/how 2>/dev/null) in
		fail) echo 'no space'; exit 3 ;;
		kill) kill -9 \$PPID; exit 1 ;;
		not) echo 'not updating initramfs'; exit 0 ;;
		esac
		rm -f $TREE/etc/wubi/maps/*
		cp $maps/*.map $TREE/etc/wubi/maps/
		python3 $fixtures/cpiofx.py $TREE >$boot/initrd.img-\$3
	EOS
	chmod +x /run/bin/update-initramfs
	: >$boot/initrd.img-without-modules
	: >"$initrd"
}

initramfs_tree() {
	TREE=/run/tree
	mkdir -p $TREE/etc/wubi/maps
	fill_tree
}

initramfs_is_right() { # WHAT
	check "$1: the initramfs" "$WUBI_INITRD" check "$initrd" --kernel "$KERNEL" --maps $maps
}

calls() {
	grep -c . /run/calls 2>/dev/null || [ -e /run/calls ] || echo 0
}

generation() { # MAP
	sed -n 's/^generation //p' "$1"
}

attach() {
	volume=$(losetup -f --show "$@" $file) || fail 'losetup'
	check 'attach' "$disk" attach "$volume" --map $map
}

detach() {
	"$disk" detach root && losetup -d "$volume"
	volume=''
}

verdict() { # VERDICT [MAP]
	"$disk" verify "${volume:-$file}" --map "${2:-$map}" --json >/run/check.out 2>&1
	check_output "verify ${2:-}: $1" "\"verdict\": *\"$1\""
}

prepare() {
	cp --sparse=always "$WUBI_WORK/v.img" $file
	check_status 'no maps: nothing to do' 0 run_refresh --json
	check_output 'no maps: nothing to do' '"status": *"unchanged"'
	# a pad takes the low end, so that the image lies high
	python3 - "$fixtures" $file <<-'EOP'
		import sys
		sys.path.insert(0, sys.argv[1])
		import ntfsfx
		low = [(lcn, min(n, 30000 - lcn)) for lcn, n in ntfsfx.vol(sys.argv[2], False).free_runs() if lcn < 30000]
		ntfsfx.fill(sys.argv[2], 'pad', low[2:])
	EOP
	check 'create' "$disk" create $file --size 30M --map $map
	ntfs_mount $file /run/n && rm -f /run/n/pad*
	ntfs_umount /run/n
	id=$(sed -n 's/^id //p' $map)
}

nothing_to_do() {
	check_status 'not attached: kept' 0 run_refresh --json
	check_output 'not attached: kept' '"attached": *false.*"action": *"keep"'
	attach
	check_status 'match: nothing to do but the copy' 0 run_refresh --json
	check_output 'match: kept' '"action": *"keep".*"esp_copy": *true'
	check 'match: the copy on the ESP is written' cmp $map $esp/EFI/wubi/root.map
	check_status 'match, again' 0 run_refresh --json
	check_output 'match, again: nothing to do' '"status": *"unchanged"'
	check_equal 'match: no initramfs is built' 0 "$(calls)"
	detach
}

moved() {
	echo y | ntfsresize -f -s 110M $file >/run/resize.log 2>&1 || fail 'ntfsresize' "$(cat /run/resize.log)"
	verdict unsettled
	python3 "$fixtures/ntfsfx.py" clear-dirty $file
	verdict moved
	cp $map /run/stale.map
	attach
	before=$(checksum $file)
	check_status 'moved: --dry-run' 0 run_refresh --dry-run --json
	check_output 'moved: --dry-run says what' '"action": *"write".*"generation": *2.*"initramfs": *"update-initramfs"'
	check 'moved: --dry-run changes nothing' cmp $map /run/stale.map
	check_equal 'moved: --dry-run builds nothing' 0 "$(calls)"
}

# apt, amid an upgrade.
packages_are_installed() {
	local pid
	mount -t tmpfs tmpfs /var/lib/dpkg || fail 'a dpkg of our own'
	python3 - <<-'EOP' &
		import fcntl, signal
		f = open('/var/lib/dpkg/lock-frontend', 'w')
		fcntl.lockf(f, fcntl.LOCK_EX)
		open('/run/locked', 'w').close()
		signal.pause()
	EOP
	pid=$!
	until [ -e /run/locked ]; do sleep 0.1; done # until the other process has it
	check_status 'dpkg is locked: exit 1' 1 run_refresh --lock-timeout 1
	check_output 'dpkg is locked: what is waited for' 'waiting.*process'
	check_output 'dpkg is locked: what to do' 'let it finish'
	check 'dpkg is locked: no map is written' cmp $map /run/stale.map
	check_equal 'dpkg is locked: nothing is built' 0 "$(calls)"
	kill $pid
	wait $pid
}

# update_initramfs=no, /boot is read-only: status 0, and nothing built.
not_built() {
	echo not >/run/bin/how
	check_status 'nothing is built: exit 1' 1 run_refresh
	check_output 'nothing is built: what is wrong' 'initrd.img-6.1.0-test'
	check 'nothing is built: remembered' test -e $mark
	check_equal 'nothing is built: the copy is old' 1 "$(generation $esp/EFI/wubi/root.map)"
}

failed_build() {
	echo fail >/run/bin/how
	check_status 'the initramfs fails: exit 1' 1 run_refresh
	check_output 'the initramfs fails: what it means' 'follows'
	check_equal 'the initramfs fails: the map is new' 2 "$(generation $map)"
	check_equal 'the initramfs fails: the copy is old' 1 "$(generation $esp/EFI/wubi/root.map)"
	check 'the initramfs fails: remembered' test -e $mark
	echo kill >/run/bin/how
	check_status 'killed meanwhile' 137 run_refresh
	check 'killed meanwhile: remembered' test -e $mark
	rm /run/bin/how
	check_status 'the next run completes it' 0 run_refresh
	check_equal 'completed: the generation is not counted on' 2 "$(generation $map)"
	initramfs_is_right completed
	check 'completed: the ESP' cmp $map $esp/EFI/wubi/root.map
	check 'completed: no mark' test ! -e $mark
	check_equal 'completed: four builds' 4 "$(calls)"
	check_equal 'of the kernel that has modules' "-u -k $KERNEL" "$(tail -n 1 /run/calls)"
	check_equal 'the id stays' "$id" "$(sed -n 's/^id //p' $map)"
	verdict match
	verdict moved /run/stale.map
	check_status 'once more: nothing to do' 0 run_refresh --json
	check_output 'once more: nothing to do' '"status": *"unchanged"'
	check_equal 'the volume is as before' "$before" "$(checksum $file)"
	detach
}

# home on a disk of its own, which gives errors.
broken_disk() {
	local size node
	cp --sparse=always "$WUBI_WORK/w.img" /run/w.img
	other=$(losetup -f --show /run/w.img) || fail 'losetup'
	size=$(blockdev --getsz "$other")
	echo "0 $size linear $other 0" | dmsetup create other || fail 'dmsetup create'
	node=/dev/dm-$(dmsetup info -c --noheadings -o minor other)
	check 'create home on another disk' "$disk" create "$node" --size 8M --name home --map $maps/home.map
	check 'attach home' "$disk" attach "$node" --map $maps/home.map
	cp $maps/home.map /run/home.map
	echo "0 $size error" | dmsetup load other
	dmsetup resume other || fail 'dmsetup resume'
}

mended_disk() {
	echo "0 $(blockdev --getsz "$other") linear $other 0" | dmsetup load other
	dmsetup resume other
	"$disk" detach home && dmsetup remove other && losetup -d "$other"
	rm $maps/home.map
}

shrunk_partition() {
	attach --sizelimit 120M
	broken_disk
	head -c 700 /dev/zero >$esp/EFI/wubi/root.map
	check_status "home's disk is broken: exit 1" 1 run_refresh --json
	check_output "home's disk is broken: the others are done" '"status": *"failed".*home.map.*"action": *"fail".*"action": *"write"'
	check_output 'the partition is smaller: said' "partition's size"
	check "home's disk is broken: its map stays" cmp $maps/home.map /run/home.map
	check 'a copy full of zeros is replaced' cmp $map $esp/EFI/wubi/root.map
	check_equal 'the partition is smaller: the map has it' $((120 << 11)) "$(sed -n 's/^host_partition_sectors //p' $map)"
	check_equal 'the partition is smaller: generation' 3 "$(generation $map)"
	initramfs_is_right 'the partition is smaller'
	check_equal 'the partition is smaller: no mark' 'no mark' "$(cat $mark 2>/dev/null || echo 'no mark')"
	mended_disk
}

# Each boot would build for nothing.
lasting_failure() {
	local before i
	detach
	attach
	echo fail >/run/bin/how
	for i in 1 2 3; do
		check_status "the unit's try $i fails" 1 run_refresh --unit
	done
	before=$(calls)
	check_status 'the fourth is none: exit 1' 1 run_refresh --unit
	check_output 'the fourth is none: said' 'not tried again'
	check_equal 'the fourth is none: nothing was run' "$before" "$(calls)"
	check_status 'by hand it is tried' 1 run_refresh
	check_equal 'by hand it is tried: run' $((before + 1)) "$(calls)"
	rm /run/bin/how
	check_status 'still none of the unit' 1 run_refresh --unit
	: >$boot/vmlinuz-new
	check 'a kernel is newer: the unit tries' run_refresh --unit
	initramfs_is_right 'a kernel is newer'
	check 'a kernel is newer: no mark' test ! -e $mark
}

# A driver that writes the host has the truth in its memory.
host_is_written() {
	check 'wubi-host --read-write' "$WUBI_BUILD/wubi-host" start --read-write --maps $maps --mount /run/host
	check_status 'the host is mounted for writing: cannot tell' 1 run_refresh
	check_output 'the host is mounted for writing: what to do' 'wubi-host stop'
	check 'wubi-host stop' "$WUBI_BUILD/wubi-host" stop
	check 'wubi-host, read-only' "$WUBI_BUILD/wubi-host" start --maps $maps --mount /run/host
	check 'the host is mounted read-only: fine' run_refresh
	"$WUBI_BUILD/wubi-host" stop
}

# What must never be made the map: somebody gave the image other clusters while it is in use.
changed_meanwhile() {
	local was
	was=$(checksum $map)
	python3 - "$fixtures" $file <<-'EOP'
		import sys
		sys.path.insert(0, sys.argv[1])
		import ntfsfx, ntfslib as nt
		v = ntfsfx.vol(sys.argv[2])
		n = v.find('/ubuntu/disks/root.disk')
		runs = v.stream_runs(n, nt.DATA)
		count = sum(c for _, _, c in runs)
		data = v.read_runs(runs, 0, count * v.cluster)
		bits = v.bitmap()
		start = next(lcn for lcn, c in v.free_runs(bits) if c >= count)
		v.set_bits(bits, start, count)
		v.write_bitmap(bits)
		v.write_runs([(0, start, count)], 0, data)
		ntfsfx._remake_data(v, n, runs=[(start, count)])
	EOP
	check_status 'other clusters than are in use: refused' 3 run_refresh --json
	check_output 'other clusters than are in use: the reason' '"reason": *"changed"'
	check_equal 'other clusters than are in use: the map stays' "$was" "$(checksum $map)"
}

damaged_map() {
	sed 's/^generation .*/generation 99/' $map >$maps/bad.map
	check_status 'a damaged map: refused' 3 run_refresh --json
	check_output 'a damaged map: the reason' '"reason": *"invalid-map"'
	rm $maps/bad.map
}

# C06: a copy that was put back is another file. 'map' wrote its map beside it, by which wubi-attach started the system.
put_back() {
	local last
	last=$(generation $map)
	cp $map /run/old.map
	ntfs_mount $file /run/n
	(cd /run/n/ubuntu/disks && cp root.disk copy && rm root.disk && mv copy root.disk) || fail 'put the image back'
	ntfs_umount /run/n
	verdict replaced
	check 'put back: one command takes it over' "$disk" map $file --quiet --output /run/adopted.map
	volume=$(losetup -f --show $file) || fail 'losetup'
	check 'put back: attach' "$disk" attach "$volume" --map /run/adopted.map
	check_status 'put back: refresh' 0 run_refresh --json
	check_output 'put back: the map is written' '"action": *"write"'
	verdict match
	check_equal 'put back: the id stays' "$id" "$(sed -n 's/^id //p' $map)"
	check_equal 'put back: generations count on' $((last + 1)) "$(generation $map)"
	check 'put back: the ESP' cmp $map $esp/EFI/wubi/root.map
	initramfs_is_right 'put back'
	check_status 'put back, once more: nothing to do' 0 run_refresh --json
	check_output 'put back, once more' '"status": *"unchanged"'
	detach
}

load_module dm_mod dm_zero loop fuse || fail 'load the modules'
initramfs_tree
tools
prepare
nothing_to_do
moved
packages_are_installed
not_built
failed_build
shrunk_partition
lasting_failure
damaged_map
host_is_written
changed_meanwhile
detach
put_back
finish
