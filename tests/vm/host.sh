#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# wubi-host: the Windows files while images on the same partition are attached (case C20). The first volume ends in half a
# cluster, and one image has its last cluster; the second has sectors of 4096 bytes.
#
# vm-setup: truncate -s 167773696 v.img
# vm-setup: truncate -s 48M w.img
# vm-setup: mkntfs -F -Q -q -p 2048 -H 255 -S 63 v.img
# vm-setup: mkntfs -F -Q -q -s 4096 -p 256 -H 255 -S 63 w.img
# vm-setup: ntfslabel --new-serial=5A5A5A5A5A5A5A5A w.img
# vm-options: -d v.img -t 300

. "$(dirname "$0")/guest.sh"

disk=$WUBI_BUILD/wubi-disk
host=$WUBI_BUILD/wubi-host
fixture=$WUBI_TOP/tests/fixtures/ntfsfx.py
volume=/dev/ubda
maps=/run/maps
at=/run/host
node=/dev/mapper/wubi-host

refused() { # WHAT REASON COMMAND...
	local what=$1 reason=$2
	shift 2
	check_status "$what: refused" 3 "$@" --json
	check_output "$what: the reason is '$reason'" "\"reason\": *\"$reason\""
}

# shellcheck disable=SC2120 # by check and refused, with arguments
start() {
	"$host" start --maps $maps --mount $at "$@"
}

# The bytes that no image has, of the volume or of the host device over it, from the medium.
outside() { # DEVICE MAP...
	local device=$1 m
	shift
	sync
	blockdev --flushbufs "$device"
	echo 3 >/proc/sys/vm/drop_caches
	for m in "$@"; do
		"$disk" show --map "$m" --json | jq -r '.extents[] | "\(.physical_sector) \(.sectors)"'
	done | sort -n | perl -e '
		my ($at, $end) = (0, 512 * pop @ARGV);
		open(my $f, "<:raw", $ARGV[0]) or die "$ARGV[0]: $!\n";
		sub copy { my ($to) = @_; while ($at < $to) {
			my $n = $to - $at > 1 << 20 ? 1 << 20 : $to - $at;
			seek($f, $at, 0) && read($f, my $b, $n) == $n or die "$ARGV[0]: $!\n";
			print $b; $at += $n; } }
		while (<STDIN>) { my ($start, $n) = split; copy(512 * $start); $at = 512 * ($start + $n); $extents++; }
		die "no extents\n" unless $extents;
		copy($end);' "$device" "$(blockdev --getsz "$device")" | sha256sum
}

is_zero() { # FILE
	[ -s "$1" ] && cmp -n "$(stat -c %s "$1")" "$1" /dev/zero
}

prepare() {
	mkdir -p $maps
	check 'create root' "$disk" create $volume --size 40M --map $maps/root.map
	check 'create home' "$disk" create $volume --size 8M --name home --map $maps/home.map
	check 'create one whose map lies elsewhere' "$disk" create $volume --size 8M --name late --map /run/late.map
	put_photo $volume 3M
	ntfs_mount $volume /run/n || fail 'ntfs-3g mounts the volume'
	dd if=/dev/urandom of=/run/n/ubuntu/disks/fill.disk bs=4096 2>/dev/null # until the volume is full: the last cluster, too
	ntfs_umount /run/n || fail 'ntfs-3g lets go'
	check 'map of the image that fills the volume' \
		"$disk" map $volume --image /ubuntu/disks/fill.disk --no-host-map --output $maps/fill.map
	all=("$maps/root.map" "$maps/home.map" "$maps/fill.map")
}

nothing_attached() {
	check_status 'status: nothing there' 0 "$host" status --json
	check_output 'status: nothing there' '"active": *false'
	refused 'start without an image' no-image start
	check_status 'stop without one' 0 "$host" stop
}

# What Windows' own drivers and tools get when they try the partition itself.
partition_is_held() {
	check_status 'an exclusive open of the partition fails' 16 perl -MFcntl -e \
		'sysopen(my $f, $ARGV[0], O_RDWR | O_EXCL) and exit 0; exit $!' $volume
	if ntfs-3g $volume /run/n 2>/dev/null; then
		fail 'ntfs-3g mounted the partition under the image'
		ntfs_umount /run/n
	else
		pass 'ntfs-3g cannot mount the partition under the image'
	fi
}

table_is_whole() {
	dmsetup table wubi-host | awk -v size="$(blockdev --getsz "$volume")" '
		{ if ($1 != at) exit 1; at += $2; if ($3 == "zero") { zero++; last = $1 + $2 } else if ($3 != "linear" || $5 != $1) exit 1 }
		END { exit !(at == size && zero) }'
}

readonly_host() {
	check 'start --dry-run' start --dry-run
	check 'start --dry-run: no device' test ! -e $node
	check_status 'start' 0 start --json
	check_output 'start: done' '"status": *"done".*"read_only": *true'
	check "the user's file" test "$photo" = "$(checksum $at/Users/holiday.jpg)"
	check 'zeros where root.disk lies' is_zero $at/ubuntu/disks/root.disk
	check 'zeros where home.disk lies, which is not attached' is_zero $at/ubuntu/disks/home.disk
	check 'zeros where the image at the end of the volume lies' is_zero $at/ubuntu/disks/fill.disk
	check 'the table is the whole partition' table_is_whole
	check_equal 'the size' "$(blockdev --getsz $volume)" "$(blockdev --getsz $node)"
	check_equal 'what no image has is the same' "$(outside $volume "${all[@]}")" "$(outside $node "${all[@]}")"
	check_equal 'a read-only device' 1 "$(blockdev --getro $node)"
	check_status 'no file can be made' 1 touch $at/Users/new
	check_status 'no byte can be written' 1 dd if=/dev/zero of=$node bs=512 count=1 conv=notrunc
	check 'status' "$host" status
	check_output 'status: where' "$at"
}

while_started() {
	check_status 'start again' 0 start --json
	check_output 'start again: nothing to do' '"status": *"unchanged"'
	refused 'start --read-write over it' other-mode start --read-write
	refused 'start at another place' other-mode "$host" start --maps $maps --mount /run/elsewhere
	check 'verify goes on' "$disk" verify $volume --map $maps/root.map
	check 'an image that was cut out can be attached' "$disk" attach $volume --map $maps/home.map
	check 'and detached' "$disk" detach home
	check_status 'an image that it shows cannot' 3 "$disk" attach $volume --map /run/late.map
	check_output 'an image that it shows cannot: what to do' 'wubi-host stop'
}

stop() {
	exec 7<$at/Users/holiday.jpg
	refused 'stop while a file is open' busy "$host" stop
	check 'stop while a file is open: it is still there' cmp -n 100 $at/Users/holiday.jpg $at/Users/holiday.jpg
	exec 7<&-
	check_status 'stop' 0 "$host" stop --json
	check_output 'stop: done' '"status": *"done"'
	check 'stop: no device' test ! -e $node
	check 'stop: not mounted' sh -c "! grep -q ' $at ' /proc/self/mounts"
	check_status 'stop again' 0 "$host" stop --json
	check_output 'stop again: nothing to do' '"status": *"unchanged"'
	check_equal 'reading changed nothing' "$before" "$(outside $volume "${all[@]}")"
}

# A run that was killed before its device had a table: no list of active devices has it.
without_table() {
	dmsetup create wubi-host --notable --uuid WUBI-host-0123456789abcdef || fail 'dmsetup create'
	check_status 'a leftover of another volume: start is refused' 3 start
	check_output 'a leftover of another volume: what to do' 'wubi-host stop'
	check_status 'a leftover: stop removes it' 0 "$host" stop --json
	check_output 'a leftover: stop removes it: said' '"status": *"done"'
	check 'a leftover: gone' sh -c "! dmsetup info wubi-host"
}

# A start must not take the other's device away, whichever fails or is first.
two_at_once() {
	local pid
	start >/run/first.out 2>&1 &
	pid=$!
	check 'two starts at once: one' start
	check 'two starts at once: the other' wait $pid
	check 'two starts at once: the files' test -e $at/Users/holiday.jpg
	check_equal 'two starts at once: mounted once' 1 "$(grep -c " $at " /proc/self/mounts)"
	ln -sfn $at /run/link
	check_status 'the same place by a link and a slash' 0 "$host" start --maps $maps --mount /run/link/ --json
	check_output 'the same place by a link and a slash: nothing to do' '"status": *"unchanged"'
	check 'stop it' "$host" stop
}

# A run that was killed between the device and the mount.
half_started() {
	# shellcheck disable=SC2119
	start >/dev/null || fail 'start'
	ntfs_umount $at
	check 'started, but not mounted: status' "$host" status
	check_output 'started, but not mounted: status says so' 'not mounted'
	check 'started, but not mounted: start completes it' start
	check 'started, but not mounted: the files' test -e $at/Users/holiday.jpg
	check 'stop it' "$host" stop
	# shellcheck disable=SC2119
	start >/dev/null || fail 'start'
	ntfs_umount $at
	mount -t tmpfs tmpfs /usr/sbin
	check_status 'started, but not mounted: start fails' 3 "$host" start --maps $maps --mount $at
	umount /usr/sbin
	check 'started, but not mounted: a device that was there before stays' test -e $node
	check 'stop it, again' "$host" stop
}

no_driver() { # WORDS
	mount -t tmpfs tmpfs /usr/sbin
	check_status "without a driver, $1: refused" 3 "$host" start --maps $maps --mount $at --json
	umount /usr/sbin
	check_output "without a driver, $1: the reason" '"reason": *"no-driver"'
	check_output "without a driver, $1: why" "$1"
	check_output "without a driver, $1: the package" "package 'ntfs-3g'"
	check "without a driver, $1: no device" test ! -e $node
}

mount_points() {
	: >/run/file
	refused 'a file as mount point' mount-point "$host" start --maps $maps --mount /run/file
	refused 'a mount point that is taken' mount-point "$host" start --maps $maps --mount /mnt
	refused 'a device without an image' not-this-volume "$host" start --maps $maps --mount $at --device /dev/loop0
}

readwrite_host() {
	check_status 'start --read-write' 0 start --read-write --json
	check_output 'start --read-write: done' '"read_only": *false'
	check 'a file can be made' sh -c "echo hello >$at/Users/new.txt"
	check_status 'verify cannot tell meanwhile' 1 "$disk" verify $volume --map $maps/root.map
	check_output 'verify cannot tell meanwhile: why' 'wubi-host stop'
	refused 'start read-only over it' other-mode start
	check 'stop it' "$host" stop
	check 'verify: match' "$disk" verify $volume --map $maps/root.map
	check_equal 'the image is as before' "$image" "$(dd if=/dev/mapper/wubi-root iflag=direct bs=1M status=none | sha256sum)"
	check 'the file is there' start
	check_equal 'the file is there: the content' hello "$(cat $at/Users/new.txt)"
	"$host" stop
	mv $maps/root.map /run/root.map
	refused 'start --read-write without the map of the attached image' lost-image start --read-write
	check 'read-only it is fine' start
	check 'zeros where root.disk lies, without a map' is_zero $at/ubuntu/disks/root.disk
	"$host" stop
	mv /run/root.map $maps/root.map
}

unsettled() {
	python3 "$fixture" dirty $volume
	refused 'start --read-write on a dirty volume' dirty start --read-write
	check 'read-only it is fine on a dirty volume' start
	"$host" stop
	no_driver 'not settled'
	python3 "$fixture" clear-dirty $volume
	python3 "$fixture" fastboot $volume
	refused 'start --read-write under Fast Startup' fast-startup start --read-write
	check 'read-only it is fine under Fast Startup' start
	check "the user's file under Fast Startup" test "$photo" = "$(checksum $at/Users/holiday.jpg)"
	"$host" stop
}

big_sectors() {
	local loop
	cp --sparse=always "$WUBI_WORK/w.img" /run/w.img
	loop=$(losetup -f --show -b 4096 /run/w.img) || fail 'losetup'
	check 'create on sectors of 4096' "$disk" create "$loop" --size 8M --name big --map /run/big.map
	check 'attach on sectors of 4096' "$disk" attach "$loop" --map /run/big.map
	check 'two volumes: the one of wubi-root' start
	check_output 'two volumes: the one of wubi-root' 'ubda'
	"$host" stop
	"$disk" detach root
	check 'attach home' "$disk" attach $volume --map $maps/home.map
	refused 'two volumes, none of the system' several-volumes start
	check 'two volumes: one that was named' start --device "$loop"
	check_output 'two volumes: one that was named' "$loop"
	check_equal 'sectors of 4096' 4096 "$(blockdev --getss $node)"
	check 'sectors of 4096: zeros' is_zero $at/ubuntu/disks/big.disk
	check 'sectors of 4096: what no image has' test "$(outside "$loop" /run/big.map)" = "$(outside $node /run/big.map)"
	check 'stop on sectors of 4096' "$host" stop
	"$disk" detach big
	"$disk" detach home
	losetup -d "$loop"
}

# Nobody knows whether it is of this volume.
homeless_map() {
	cp /run/big.map $maps/big.map
	check 'a map that fits no volume: start --read-write' start --read-write
	check_output 'a map that fits no volume: noted' "map 'big' fits no volume"
	check_output 'start --read-write: what a power cut means' 'wubi.unsettled=allow'
	"$host" stop
	check 'a map of another volume: start' start
	"$host" stop
	rm $maps/big.map
}

load_module dm_mod dm_zero loop fuse || fail 'load the modules'
prepare
nothing_attached
check 'attach root' "$disk" attach $volume --map $maps/root.map
before=$(outside $volume "${all[@]}")
image=$(dd if=/dev/mapper/wubi-root iflag=direct bs=1M status=none | sha256sum)
partition_is_held
readonly_host
while_started
stop
half_started
without_table
two_at_once
no_driver 'neither'
mount_points
readwrite_host
big_sectors
check 'attach root again' "$disk" attach $volume --map $maps/root.map
homeless_map
unsettled
check 'detach root' "$disk" detach root
check_equal 'nothing is left at the end' 'No devices found' "$(dmsetup ls)"
finish
