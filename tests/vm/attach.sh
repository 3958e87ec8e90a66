#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# wubi-disk attach and detach: promise 1 (not a byte of the host outside the extents changes), what Windows sees of what
# Linux wrote, and everything that has to be refused meanwhile (cases D06 D07 C20).
#
# vm-setup: truncate -s 160M v.img
# vm-setup: mkntfs -F -Q -q -p 2048 -H 255 -S 63 v.img
# vm-options: -d v.img -t 240

. "$(dirname "$0")/guest.sh"

disk=$WUBI_BUILD/wubi-disk
volume=/dev/ubda
map=/run/root.map
image=/ubuntu/disks/root.disk
mapper=/dev/mapper/wubi-root

# All bytes of the volume outside the extents of the maps, from the medium and not from a cache.
outside() { # MAP...
	local m
	sync
	blockdev --flushbufs $volume
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
		copy($end);' $volume "$(blockdev --getsz $volume)" | sha256sum
}

direct_sum() { # DEVICE: its content, past the page cache
	dd if="$1" iflag=direct bs=1M status=none | sha256sum
}

devices() {
	dmsetup ls | grep -v '^No devices' | sort | cut -f 1 | tr '\n' ' '
}

# refused WHAT WORDS COMMAND...: exit status 3, and the words.
refused() {
	local what=$1 words=$2
	shift 2
	check_status "$what: refused" 3 "$@"
	check_output "$what: says why" "$words"
}

prepare_volume() {
	put_photo $volume 5M
	check 'create' "$disk" create $volume --size 64M --map $map
	check_status 'verify: match' 0 "$disk" verify $volume --map $map --json
	check_output 'verify: match' '"verdict": *"match"'
	before=$(outside $map)
}

refused_while_mounted() {
	ntfs_mount $volume /run/n
	refused 'attach while ntfs-3g has it mounted' 'in use|mounted' "$disk" attach $volume --map $map
	check_equal 'attach while ntfs-3g has it mounted: leaves no device' '' "$(devices)"
	ntfs_umount /run/n
}

linux_session() {
	check 'attach' "$disk" attach $volume --map $map
	check 'attach: the node' test -b $mapper
	check_equal 'attach: the size' $((64 << 20)) "$(blockdev --getsize64 $mapper)"
	check 'attach again: done already' "$disk" attach $volume --map $map
	check_equal 'attach again: one device' 'wubi-root ' "$(devices)"
	check 'mount' mount -t ext4 $mapper /mnt
	head -c 20M /dev/urandom >/mnt/data || fail 'write a file'
	sync
	written=$(checksum /mnt/data)
	while_attached
	check 'unmount' umount /mnt
	check 'e2fsck' e2fsck -fn $mapper
	check 'mount again' mount -t ext4 $mapper /mnt
	check_equal 'read back' "$written" "$(checksum /mnt/data)"
	umount /mnt
	content=$(direct_sum $mapper)
}

# With the image mounted at /mnt: what others may and may not do.
while_attached() {
	check_status 'verify while attached: match' 0 "$disk" verify $volume --map $map --json
	check_output 'verify while attached: match' '"verdict": *"match"'
	check 'map while attached, without writing to the volume' \
		"$disk" map $volume --no-host-map --map $map --output /run/again.map
	check 'info while attached' "$disk" info $volume
	check 'show from the volume while attached' "$disk" show $volume --image $image
	refused 'remove while attached' 'attached|in use' "$disk" remove $volume --image $image --yes
	refused 'create while attached' 'attached|in use' "$disk" create $volume --size 16M --name home --map /run/x.map
	check 'create while attached: no map' test ! -e /run/x.map
	refused 'detach while mounted' 'in use|mounted' "$disk" detach root
	check 'detach while mounted: it still works' cmp -n 1048576 /mnt/data /mnt/data
	if ntfs-3g $volume /run/n 2>/dev/null; then
		fail 'ntfs-3g mounted the partition under the image'
		ntfs_umount /run/n
	else
		pass 'ntfs-3g cannot mount the partition under the image'
	fi
}

detach() {
	check 'detach' "$disk" detach root
	check 'detach: no node' test ! -e $mapper
	check_equal 'detach: no device' '' "$(devices)"
	if "$disk" detach root >/run/check.out 2>&1; then
		pass 'detach again: the same end'
	else
		check_output 'detach again: says that there is none' 'no device|not attached'
	fi
	check_equal 'promise 1: not a byte outside the extents changed' "$before" "$(outside $map)"
	check_status 'verify after detach: match' 0 "$disk" verify $volume --map $map --json
}

# One byte beside the image is enough: the check of promise 1 must be able to fail.
control() {
	local at saved
	at=$((512 * $("$disk" show --map $map --json | jq '.extents[0].physical_sector') - 1))
	saved=$(dd if=$volume bs=1 skip=$at count=1 status=none | od -An -tu1 | tr -d ' ')
	# shellcheck disable=SC2059 # an octal escape
	printf "\\$(printf %03o $((saved ^ 1)))" | dd of=$volume bs=1 seek=$at conv=notrunc status=none
	check 'control: one changed byte beside the image is seen' test "$before" != "$(outside $map)"
	# shellcheck disable=SC2059
	printf "\\$(printf %03o "$saved")" | dd of=$volume bs=1 seek=$at conv=notrunc status=none
	check_equal 'control: put right again' "$before" "$(outside $map)"
}

# The same bytes, and the same file, through the file system of Windows.
as_windows_sees_it() {
	check_equal 'the image is what Linux wrote (ntfscat)' "$content" "$(ntfscat $volume $image | sha256sum)"
	check 'ntfs-3g mounts it read-only' ntfs_mount -o ro $volume /run/n
	check_equal 'the image is what Linux wrote (ntfs-3g)' "$content" "$(sha256sum </run/n$image)"
	check_equal "the user's file" "$photo" "$(checksum /run/n/Users/holiday.jpg)"
	check 'a loop over the image mounts' mount -t ext4 -o loop,ro /run/n$image /mnt
	check_equal 'the file in it' "$written" "$(checksum /mnt/data)"
	umount /mnt
	ntfs_umount /run/n
}

readonly_session() {
	check 'attach --readonly' "$disk" attach $volume --map $map --readonly
	check_equal 'attach --readonly: a read-only device' 1 "$(blockdev --getro $mapper)"
	check_equal 'attach --readonly: the content' "$content" "$(direct_sum $mapper)"
	check 'detach it' "$disk" detach $mapper
}

# One partition, two devices: root and home.
two_images() {
	check 'create a second image' "$disk" create $volume --size 16M --name home --map /run/home.map
	before=$(outside $map /run/home.map)
	check 'attach the first' "$disk" attach $volume --map $map
	check 'attach the second beside it' "$disk" attach $volume --map /run/home.map
	check_equal 'both are there' 'wubi-home wubi-root ' "$(devices)"
	check 'detach the first' "$disk" detach root
	refused 'remove the attached one' 'attached|in use' "$disk" remove $volume --name home --yes
	check 'detach the second' "$disk" detach home
	check_equal 'promise 1 with two images' "$before" "$(outside $map /run/home.map)"
}

silent_udev() {
	local start took
	mkdir -p /run/udev && : >/run/udev/control
	start=$(now_ms)
	check 'udev that never answers: attach' "$disk" attach $volume --map $map
	check 'udev that never answers: the node' test -b $mapper
	check 'udev that never answers: detach' "$disk" detach root
	took=$(($(now_ms) - start))
	check "udev that never answers: took $took ms" test $took -le 70000
	rm -r /run/udev
}

remove() {
	check 'remove' "$disk" remove $volume --image $image --yes
	refused 'attach after remove' 'missing|no such|not there|replaced' "$disk" attach $volume --map $map
	check_equal 'attach after remove: leaves no device' '' "$(devices)"
}

load_module dm_mod loop fuse || fail 'load the modules'
prepare_volume
refused_while_mounted
linux_session
detach
control
as_windows_sees_it
check_equal 'looking changed nothing either' "$before" "$(outside $map)"
readonly_session
two_images
silent_udev
remove
finish
